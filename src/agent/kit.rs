//! Collects the rooms of an agent, wires them, and seats them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::effectors::body::Body;
use maxim_actors::effectors::channels::{
    Channel, Console, Desk, Discord, Email, Http, Mqtt, Slack, Telegram, Twilio, WebSocket,
};
use maxim_actors::effectors::door::Door;
use maxim_actors::language::stop_phrase::StopGrammar;
use maxim_actors::region::{
    Effector, EffectorPost, EffectorStepper, Frame, Heart, Listed, Placement, Post, Region, RegionStepper, Stepper,
    Supervision, Ward, WardKind, Wire, state_of, woken_by,
};
use maxim_actors::store::{AgentStore, Frozen, StoreError};
use maxim_bus::{AgentId, BusBuilder, RegionName, Stage};

/// The doors and desks by which the outside reaches an agent.
#[derive(Clone)]
pub struct Outside {
    pub door: Arc<Door>,
    pub console: Arc<Desk>,
    pub http: Arc<Desk>,
    pub websocket: Arc<Desk>,
    /// Those of the channels that reach outside, by their names.
    pub channels: Arc<BTreeMap<&'static str, Arc<Desk>>>,
}

impl Outside {
    pub fn new(frame: Frame, stop: StopGrammar, body: Body) -> Self {
        let door = Door::new(frame, stop, Box::new(move || body.moves()));
        let outside = [
            (Mqtt::CHANNEL, Mqtt::ACTOR),
            (Telegram::CHANNEL, Telegram::ACTOR),
            (Slack::CHANNEL, Slack::ACTOR),
            (Twilio::CHANNEL, Twilio::ACTOR),
            (Discord::CHANNEL, Discord::ACTOR),
            (Email::CHANNEL, Email::ACTOR),
        ];
        let channels = outside.map(|(name, actor)| (name, Desk::new(Arc::clone(&door), actor)));
        Self {
            console: Desk::new(Arc::clone(&door), Console::ACTOR),
            http: Desk::new(Arc::clone(&door), Http::ACTOR),
            websocket: Desk::new(Arc::clone(&door), WebSocket::ACTOR),
            channels: Arc::new(channels.into()),
            door,
        }
    }

    /// Somebody outside waits for something of the agent.
    pub fn is_awaited(&self) -> bool {
        let mut desks = [&self.console, &self.http, &self.websocket].into_iter().chain(self.channels.values());
        self.door.is_awaited() || desks.any(|desk| desk.is_awaited())
    }

    /// The desk of a channel that reaches outside.
    pub fn desk(&self, channel: &str) -> Option<Arc<Desk>> {
        self.channels.get(channel).cloned()
    }
}

/// A line of the parts list.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: RegionName,
    pub stage: Stage,
    pub kind: WardKind,
    pub hears: Vec<Wire>,
    pub says: Vec<Wire>,
    /// Its state as the store has it, for who compares two lives; none for what has no state.
    pub state: Option<StateOf>,
}

/// Reads a region's state out of an agent's store.
pub type StateOf = fn(&AgentStore) -> Result<serde_json::Value, StoreError>;

fn state<R: Region>(store: &AgentStore) -> Result<serde_json::Value, StoreError> {
    let state = state_of::<R>(store.id(), store)?;
    Ok(serde_json::to_value(state).unwrap_or_default()) // what stands in the store as JSON is JSON
}

/// A room that is ready to run, by its own actor or step by step.
pub struct Seated {
    pub ward: Arc<dyn Ward>,
    pub placement: Placement,
    pub stepper: Box<dyn Stepper>,
}

/// The records that a region, as it was, is woken by.
pub type Waking = Box<dyn Fn(&Frozen, &AgentId) -> Result<Vec<Listed>, String> + Send>;

type Seating = Box<dyn FnOnce(&Frame, &Arc<Supervision>, &Outside) -> Seated>;

/// What the anatomy puts its rooms into.
pub struct Kit {
    pub wires: BusBuilder,
    pub parts: Vec<Part>,
    wakings: Vec<(RegionName, Waking)>,
    seatings: Vec<Seating>,
    /// How long a region may be busy with one message.
    deadline: Duration,
}

impl Kit {
    pub fn new(deadline: Duration) -> Self {
        Self { wires: BusBuilder::default(), parts: Vec::new(), wakings: Vec::new(), seatings: Vec::new(), deadline }
    }

    /// A room that decides.
    pub fn region<R: Region>(&mut self, placement: Placement, settings: R::Settings) {
        let card = R::card();
        let kind = WardKind::Region;
        let (hears, says) = (card.heard().collect(), card.emitted().collect());
        self.parts.push(Part { name: R::NAME, stage: R::STAGE, kind, hears, says, state: Some(state::<R>) });
        let inbox = card.enter(&mut self.wires);
        let deadline = self.deadline;
        let settings = Arc::new(settings);
        let as_set = Arc::clone(&settings);
        self.wakings.push((R::NAME, Box::new(move |frozen, agent| woken_by::<R>(frozen, agent, &as_set))));
        self.seatings.push(Box::new(move |frame, supervision, _| {
            let heart = Arc::new(Heart::new(R::NAME, kind, deadline));
            let post = Post::new(frame.clone(), inbox, card, settings, heart, Arc::clone(supervision));
            Seated { ward: Arc::new(Arc::clone(&post)), placement, stepper: Box::new(RegionStepper::new(post)) }
        }));
    }

    /// A room that acts; `make` gives a fresh value of it at each restart.
    pub fn effector<E: Effector>(
        &mut self,
        placement: Placement,
        make: impl FnOnce(&Outside) -> Box<dyn Fn() -> E + Send + Sync> + 'static,
    ) {
        let card = E::card();
        let kind = WardKind::Effector;
        let (hears, says) = (card.heard().collect(), card.said().collect());
        self.parts.push(Part { name: E::NAME, stage: E::STAGE, kind, hears, says, state: None });
        let inbox = card.enter(&mut self.wires);
        let deadline = self.deadline;
        self.seatings.push(Box::new(move |frame, supervision, outside| {
            let heart = Arc::new(Heart::new(E::NAME, kind, deadline));
            let post = EffectorPost::new(frame.clone(), inbox, card, heart, Arc::clone(supervision), make(outside));
            Seated { ward: Arc::new(Arc::clone(&post)), placement, stepper: Box::new(EffectorStepper::new(post)) }
        }));
    }

    pub fn seat(self, frame: &Frame, supervision: &Arc<Supervision>, outside: &Outside) -> Vec<Seated> {
        self.seatings.into_iter().map(|seating| seating(frame, supervision, outside)).collect()
    }

    /// How each region is woken, for who takes down what it rests on.
    pub fn wakings(self) -> Vec<(RegionName, Waking)> {
        self.wakings
    }

    /// Takes the wires out, to build the bus that the frame needs.
    pub fn take_wires(&mut self) -> BusBuilder {
        std::mem::take(&mut self.wires)
    }
}
