//! The regions of a recording on a store, to be given their inputs again. There is no mail and no effector: an
//! effector's words are inputs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use maxim_actors::action::tools::ToolRegistry;
use maxim_actors::gate::ClearedIntent;
use maxim_actors::region::{Frame, InputRecord, Stepper, Supervision, Tap};
use maxim_actors::store::AgentStore;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentBus, BusBuilder, Envelope, Lsn, MessageId, RegionName, Signal, VirtualClock};
use parking_lot::Mutex;

use super::{RecorderError, Recording};
use crate::agent::{Kit, Outside, anatomy};

/// Hears what the regions decide.
#[derive(Default)]
pub struct Ear {
    pub input: Mutex<Option<InputRecord>>,
    /// The places in the store's journal of each message that they said.
    pub said: Mutex<HashMap<MessageId, Lsn>>,
    /// A clearance can't be read back, so the gate's own new one is used.
    clearances: Mutex<HashMap<MessageId, Arc<Envelope>>>,
}

impl Tap for Ear {
    fn input(&self, input: InputRecord) {
        *self.input.lock() = Some(input);
    }

    fn emitted(&self, lsn: Lsn, envelope: &Arc<Envelope>) {
        self.said.lock().insert(envelope.meta.id, lsn);
        if envelope.body().name() == ClearedIntent::NAME {
            self.clearances.lock().insert(envelope.meta.id, Arc::clone(envelope));
        }
    }
}

/// The rooms, made by the recording's settings. Nobody listens on their bus.
pub struct Cast {
    pub steppers: BTreeMap<RegionName, Box<dyn Stepper>>,
    /// Reads signals.
    script: AgentBus,
    ear: Arc<Ear>,
}

impl Cast {
    /// # Errors
    /// The recorded settings make no agent in this program.
    pub fn new(
        recording: &Recording,
        registry: ToolRegistry,
        store: &AgentStore,
        ear: &Arc<Ear>,
    ) -> Result<Self, RecorderError> {
        let header = &recording.header;
        let rooms = recording.agent_settings(registry)?;
        let mut kit = Kit::new(rooms.deadline);
        anatomy::furnish(&mut kit, &rooms);
        let script = kit.take_wires().build().map_err(|errors| {
            RecorderError::Settings(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let latch = StopLatch::in_memory();
        let beginning = recording.inputs.first().map(|input| input.taken_at).unwrap_or_default();
        let frame = Frame {
            agent: header.agent.clone(),
            bus: Arc::new(BusBuilder::default().build_unchecked()),
            store: store.clone(),
            clock: Arc::new(VirtualClock::at(beginning)),
            latch: latch.clone(),
            seed: header.seed,
            tap: Some(Arc::clone(ear) as Arc<dyn Tap>),
        };
        let supervision = Supervision::new(rooms.supervision.clone(), latch);
        let outside = Outside::new(frame.clone(), rooms.perception.gateway.stop.clone(), rooms.effectors.body.clone());
        let seated = kit.seat(&frame, &supervision, &outside).into_iter();
        let steppers = seated.map(|room| (room.stepper.name(), room.stepper)).collect();
        Ok(Self { steppers, script, ear: Arc::clone(ear) })
    }

    /// A message of the recording, in the form that a region takes, or why there is none.
    pub fn message(&self, recording: &Recording, id: MessageId) -> Result<Arc<Envelope>, String> {
        if let Some(envelope) = self.ear.clearances.lock().get(&id) {
            return Ok(Arc::clone(envelope));
        }
        let encoded = recording.signals.get(&id).ok_or_else(|| format!("message {id} is not in the file"))?;
        if Envelope::split(encoded).is_ok_and(|(meta, _)| meta.name == ClearedIntent::NAME) {
            return Err(format!(
                "the clearance {id} was given before this file began, and only the gate can make one: replay the file \
                before it"
            ));
        }
        self.script.decode(encoded).map(Arc::new).map_err(|error| error.to_string())
    }
}
