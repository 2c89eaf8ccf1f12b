//! One brain as a value. A process may hold thousands.

pub mod anatomy;
pub mod containment;
mod kit;
mod models;
pub mod population;
mod settings;
pub mod wiring;

use std::sync::Arc;

use jiff::Timestamp;
use maxim_actors::effectors::body::MotorThread;
use maxim_actors::effectors::door::Door;
use maxim_actors::perception::preemption_circuit::PreemptionCircuit;
use maxim_actors::region::{Frame, Stepper, Supervision, Tap, Watchdog, state_of};
use maxim_actors::store::{AgentStore, StoreError};
use maxim_bus::latch::{LatchState, StopLatch};
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::{AgentId, SharedClock, Stage, Trust, WiringError};
use tokio::runtime::{Builder, Runtime};

use kit::Seated;
pub use kit::{Doors, Kit, Outside, Part, Waking};
pub use settings::AgentSettings;

/// What an agent gets from outside.
pub struct AgentWorld {
    pub id: AgentId,
    pub store: AgentStore,
    pub clock: SharedClock,
    pub latch: StopLatch,
    /// The seed of all random numbers, in every room.
    pub seed: u64,
    pub tap: Option<Arc<dyn Tap>>,
}

/// An agent that can't be started.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("the rooms are wired wrongly: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Wiring(Vec<WiringError>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the system gives no thread, or no file handle to wait with: {0}")]
    Thread(#[from] std::io::Error),
}

/// What a start found of the previous run.
#[derive(Clone, Debug, Default)]
pub struct Resumed {
    /// Messages that were on their way when the process ended, and are redelivered.
    pub redelivered: usize,
    /// Messages that can't be read any more, with the reason.
    pub unreadable: Vec<String>,
}

/// A running brain.
pub struct Agent {
    handle: AgentHandle,
    driver: Driver,
}

/// A handle to a running brain: any thread may use it.
#[derive(Clone)]
pub struct AgentHandle {
    pub frame: Frame,
    pub outside: Outside,
    pub supervision: Arc<Supervision>,
    pub parts: Arc<Vec<Part>>,
    pub resumed: Arc<Resumed>,
}

impl std::ops::Deref for Agent {
    type Target = AgentHandle;

    fn deref(&self) -> &AgentHandle {
        &self.handle
    }
}

enum Driver {
    /// Actors in real time. The watchdog and the motor run until they are dropped.
    Live { _watchdog: Watchdog, _motor: Option<MotorThread> },
    /// One step after another, in the order of the anatomy.
    Stepped(Vec<Box<dyn Stepper>>),
}

impl Agent {
    /// Runs on actors, in real time. Must be called where an actix `System` is current.
    pub fn live(world: AgentWorld, settings: &AgentSettings, threads: usize) -> Result<Self, AgentError> {
        let latch = world.latch.clone();
        Self::assemble(world, settings, |supervision, seated, door| {
            supervision.start(seated.into_iter().map(|room| (room.ward, room.placement)).collect(), threads);
            let watchdog = Watchdog::start(Arc::clone(supervision), actix::System::current())?;
            let motor = settings.effectors.body.start(&latch, stops(door))?;
            Ok(Driver::Live { _watchdog: watchdog, _motor: motor })
        })
    }

    /// Runs only the rooms that remember, learn and answer questions about the brain, and their door. It can be asked
    /// and filled, and does nothing else. Mail of the other rooms waits, in order, for a whole start. Must be called
    /// where an actix `System` is current.
    pub fn remembering(world: AgentWorld, settings: &AgentSettings, threads: usize) -> Result<Self, AgentError> {
        // The outbox reports what it holds, and sends nothing.
        let mut settings = settings.clone();
        (settings.action.outbox.sends, settings.acts) = (false, false);
        Self::assemble(world, &settings, |supervision, seated, _| {
            let remembering = seated.into_iter().filter(remembers);
            supervision.start(remembering.map(|room| (room.ward, room.placement)).collect(), threads);
            let watchdog = Watchdog::start(Arc::clone(supervision), actix::System::current())?;
            Ok(Driver::Live { _watchdog: watchdog, _motor: None })
        })
    }

    /// Runs when it is told to, deterministically: for simulations and tests.
    pub fn stepped(world: AgentWorld, settings: &AgentSettings) -> Result<Self, AgentError> {
        Self::stepped_on(&Arc::new(Builder::new_current_thread().enable_all().build()?), world, settings)
    }

    /// The same. Its effectors run on this runtime, each operation to its end before anything else happens.
    pub fn stepped_on(runtime: &Arc<Runtime>, world: AgentWorld, settings: &AgentSettings) -> Result<Self, AgentError> {
        let (latch, clock) = (world.latch.clone(), Arc::clone(&world.clock));
        Self::assemble(world, settings, |_, seated, door| {
            settings.effectors.body.attach(&latch, &clock, stops(door));
            let mut steppers: Vec<_> = seated.into_iter().map(|room| room.stepper).collect();
            for stepper in &mut steppers {
                stepper.perform_on(runtime);
                stepper.start()?;
            }
            Ok(Driver::Stepped(steppers))
        })
    }

    fn assemble(
        world: AgentWorld,
        settings: &AgentSettings,
        drive: impl FnOnce(&Arc<Supervision>, Vec<Seated>, &Arc<Door>) -> Result<Driver, AgentError>,
    ) -> Result<Self, AgentError> {
        let mut kit = Kit::new(settings.deadline);
        anatomy::furnish(&mut kit, settings);
        let bus = Arc::new(kit.take_wires().build().map_err(AgentError::Wiring)?);
        let AgentWorld { id, store, clock, latch, seed, tap } = world;
        let frame = Frame { agent: id, bus, store, clock, latch: latch.clone(), seed, tap };
        let supervision = Supervision::new(settings.supervision.clone(), latch);
        let outside =
            Outside::new(frame.clone(), settings.perception.gateway.stop.clone(), settings.effectors.body.clone());
        let parts = kit.parts.clone();
        let resumed = resume(&frame, &parts)?;
        keep_low_water(&frame);
        let door = Arc::clone(&outside.door);
        supervision.on_change(move |changed| door.tell_change(changed));
        let door = Arc::clone(&outside.door);
        supervision.on_notice(move |text| door.tell_person(text));
        let seated = kit.seat(&frame, &supervision, &outside);
        let amends = if settings.acts { amends(&frame)? } else { Vec::new() };
        let driver = drive(&supervision, seated, &outside.door)?;
        for request in amends {
            outside.door.put("door", outside.door.fresh_id(), Trust::Owner, request);
        }
        let (parts, resumed) = (Arc::new(parts), Arc::new(resumed));
        Ok(Self { handle: AgentHandle { frame, outside, supervision, parts, resumed }, driver })
    }

    /// Lets every room do what it can at this time, in the order of the anatomy, until none has anything left to do.
    /// Returns the number of steps. Does nothing for a live agent.
    pub fn settle(&mut self) -> usize {
        let Driver::Stepped(steppers) = &mut self.driver else { return 0 };
        let mut steps = 0;
        loop {
            let before = steps;
            for stepper in steppers.iter_mut() {
                while stepper.step() {
                    steps += 1;
                }
            }
            if steps == before {
                return steps;
            }
        }
    }

    /// Cuts a room off: from now on it gets no mail and does nothing. For experiments on the worth of a room; does
    /// nothing for a live agent. Returns false if there is no such room.
    pub fn cut(&mut self, room: &str) -> bool {
        let Driver::Stepped(steppers) = &mut self.driver else { return false };
        let before = steppers.len();
        steppers.retain(|stepper| stepper.name() != room);
        steppers.len() < before
    }

    /// One step of the first room that has something to do. Returns false if none has. For crash tests between any two
    /// steps.
    pub fn step(&mut self) -> bool {
        let Driver::Stepped(steppers) = &mut self.driver else { return false };
        steppers.iter_mut().any(|stepper| stepper.step())
    }

    /// The next time at which a room of a stepped agent wants to act.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines().map(|(at, _)| at).min()
    }

    /// When each room of a stepped agent wants to act, and its name.
    pub fn deadlines(&self) -> impl Iterator<Item = (Timestamp, &'static str)> {
        let steppers = match &self.driver {
            Driver::Stepped(steppers) => steppers.as_slice(),
            Driver::Live { .. } => &[],
        };
        steppers.iter().filter_map(|stepper| Some((stepper.next_deadline()?, stepper.name())))
    }

    /// The state hash of each region of a stepped agent, in the order of the anatomy.
    pub fn state_hashes(&self) -> Vec<(&'static str, u64)> {
        let Driver::Stepped(steppers) = &self.driver else { return Vec::new() };
        steppers.iter().filter_map(|stepper| Some((stepper.name(), stepper.state_hash()?))).collect()
    }

    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// Ends the rooms' threads. Everything accepted is in the store.
    pub fn stop(&self) {
        self.supervision.stop();
    }
}

/// Requests that bring the room of the latch up to date. Its mail isn't in the journal, and the latch decides.
fn amends(frame: &Frame) -> Result<Vec<PreemptionRequested>, StoreError> {
    if frame.latch.is_stopped() {
        return Ok(frame.latch.detail().map(PreemptionRequested::Stop).into_iter().collect());
    }
    if !state_of::<PreemptionCircuit>(&frame.agent, &frame.store)?.is_stopped() {
        return Ok(Vec::new());
    }
    let by = || "the latch".to_owned();
    let mut missed = vec![PreemptionRequested::Reset { by: by() }];
    if frame.latch.state() == LatchState::Clear {
        missed.push(PreemptionRequested::Resume { by: by() });
    }
    Ok(missed)
}

/// The reaction to the loss of a body: a stop with the reason.
fn stops(door: &Arc<Door>) -> impl Fn(&str) + Send + Sync + 'static {
    let door = Arc::clone(door);
    move |why| drop(door.stop(why.to_owned(), "body".into()))
}

/// True if a room runs in an agent that only remembers.
fn remembers(room: &Seated) -> bool {
    room.tells || matches!(room.ward.stage(), Stage::Memory | Stage::Learning | Stage::Sleep)
}

/// Redelivers what was on its way to the regions that had not passed it. Effectors remember nothing, so nothing is
/// redelivered to them: the regions ask again.
fn resume(frame: &Frame, parts: &[Part]) -> Result<Resumed, StoreError> {
    let mut resumed = Resumed::default();
    let is_region = |owner: &str| {
        parts.iter().any(|part| part.name == owner && part.kind != maxim_actors::region::WardKind::Effector)
    };
    let delivered = frame.store.delivered();
    for (lsn, bytes) in frame.store.undelivered()?.into_iter().filter(|(lsn, _)| *lsn > delivered) {
        let delivered = frame.bus.redeliver(lsn, &bytes, |owner, lane| {
            let cursors = frame.store.cursors(owner);
            let passed = match lane {
                maxim_bus::Lane::Control => cursors.control,
                maxim_bus::Lane::Data => cursors.data,
            };
            is_region(owner) && lsn > passed
        });
        match delivered {
            Ok(count) => resumed.redelivered += count,
            Err(error) => resumed.unreadable.push(format!("{lsn}: {error}")),
        }
    }
    Ok(resumed)
}

/// Keeps the journal from the oldest message that some inbox still holds.
fn keep_low_water(frame: &Frame) {
    let bus = Arc::downgrade(&frame.bus);
    let same = bus.clone();
    frame.store.set_low_water(move || bus.upgrade().map_or(maxim_bus::Lsn(0), |bus| bus.low_water()));
    frame.store.set_unread(move |below| same.upgrade().map(|bus| bus.unread_below(below)));
}
