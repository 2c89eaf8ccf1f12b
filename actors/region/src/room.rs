//! A room as a value: its line of the parts list, and how it is placed in an agent.
//!
//! The constructors are generic, and are called once per room in the room's own crate (for a region by
//! [`wiring!`](crate::wiring)). So a room's shell, serde and stepper are compiled there, and not in the assembly.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::{AgentId, BusBuilder, RegionName, Signal, Stage};
use maxim_store::{AgentStore, Frozen, StoreError};

use crate::{
    Effector, EffectorPost, EffectorStepper, Frame, Heart, Listed, Placement, Post, Region, RegionStepper, Stepper,
    Supervision, Ward, WardKind, Wire, state_of, woken_by,
};

/// A line of the parts list.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: RegionName,
    pub stage: Stage,
    pub kind: WardKind,
    pub hears: Vec<Wire>,
    pub says: Vec<Wire>,
    /// Reads its state from a store, to compare two runs. `None` for an effector, which has no state.
    pub state: Option<StateOf>,
}

/// Reads a region's state from an agent's store.
pub type StateOf = fn(&AgentStore) -> Result<serde_json::Value, StoreError>;

/// The records that a region reads on waking, with its settings.
pub type Waking = Box<dyn Fn(&Frozen, &AgentId) -> Result<Vec<Listed>, String> + Send>;

/// A room that is ready to run, as an actor or step by step.
pub struct Seated {
    pub ward: Arc<dyn Ward>,
    pub placement: Placement,
    /// It also runs in an agent that only remembers, whatever its stage.
    pub tells: bool,
    pub stepper: Box<dyn Stepper>,
}

/// Puts the room into a frame.
pub type Seating = Box<dyn FnOnce(&Frame, &Arc<Supervision>) -> Seated>;

/// A wired room.
pub struct Wired {
    /// `None` for an effector.
    pub waking: Option<Waking>,
    pub seating: Seating,
}

type Wiring = Box<dyn FnOnce(&mut BusBuilder, &[Part], Duration) -> Wired>;

/// A room that isn't part of an agent yet.
pub struct Room {
    pub part: Part,
    /// The room after which it comes in the parts list. `None`: after the room that was listed before it.
    pub behind: Option<RegionName>,
    tells: bool,
    wiring: Wiring,
}

impl Room {
    /// A room that decides.
    pub fn deciding<R: Region>(placement: Placement, settings: R::Settings) -> Self {
        Self::among::<R>(placement, move |_| settings)
    }

    /// A room that decides and whose settings depend on the other rooms: `settings` gets the whole parts list.
    pub fn among<R: Region>(placement: Placement, settings: impl FnOnce(&[Part]) -> R::Settings + 'static) -> Self {
        let card = R::card();
        let (hears, says) = (card.heard().collect(), card.emitted().collect());
        let kind = WardKind::Region;
        let part = Part { name: R::NAME, stage: R::STAGE, kind, hears, says, state: Some(state::<R>) };
        let wiring: Wiring = Box::new(move |bus, parts, deadline| {
            let inbox = card.enter(bus);
            let settings = Arc::new(settings(parts));
            let as_set = Arc::clone(&settings);
            let waking: Waking = Box::new(move |frozen, agent| woken_by::<R>(frozen, agent, &as_set));
            let seating: Seating = Box::new(move |frame, supervision| {
                let heart = Arc::new(Heart::new(R::NAME, kind, deadline));
                let post = Post::new(frame.clone(), inbox, card, settings, heart, Arc::clone(supervision));
                Seated {
                    ward: Arc::new(Arc::clone(&post)),
                    placement,
                    tells: false,
                    stepper: Box::new(RegionStepper::new(post)),
                }
            });
            Wired { waking: Some(waking), seating }
        });
        Self { part, behind: None, tells: false, wiring }
    }

    /// A room that acts; `make` makes a fresh value at each restart.
    pub fn acting<E: Effector>(placement: Placement, make: Box<dyn Fn() -> E + Send + Sync>) -> Self {
        let card = E::card();
        let kind = WardKind::Effector;
        let (hears, says) = (card.heard().collect(), card.said().collect());
        let part = Part { name: E::NAME, stage: E::STAGE, kind, hears, says, state: None };
        let wiring: Wiring = Box::new(move |bus, _, deadline| {
            let inbox = card.enter(bus);
            let seating: Seating = Box::new(move |frame, supervision| {
                let heart = Arc::new(Heart::new(E::NAME, kind, deadline));
                let post = EffectorPost::new(frame.clone(), inbox, card, heart, Arc::clone(supervision), make);
                Seated {
                    ward: Arc::new(Arc::clone(&post)),
                    placement,
                    tells: false,
                    stepper: Box::new(EffectorStepper::new(post)),
                }
            });
            Wired { waking: None, seating }
        });
        Self { part, behind: None, tells: false, wiring }
    }

    /// Places it after this room in the parts list, for an effector that works for that room.
    #[must_use]
    pub fn behind(mut self, room: RegionName) -> Self {
        self.behind = Some(room);
        self
    }

    /// Lets it run in an agent that only remembers, whatever its stage: it never acts by itself, and has something to
    /// report.
    #[must_use]
    pub fn tells(mut self) -> Self {
        self.tells = true;
        self
    }

    /// Wires it. `parts` are all rooms of the agent; `deadline` is how long it may be busy with one message.
    pub fn wire(self, bus: &mut BusBuilder, parts: &[Part], deadline: Duration) -> Wired {
        let Wired { waking, seating } = (self.wiring)(bus, parts, deadline);
        let tells = self.tells;
        let seating: Seating = Box::new(move |frame, supervision| Seated { tells, ..seating(frame, supervision) });
        Wired { waking, seating }
    }
}

/// The rooms that hear `S`, in the order of the parts list.
pub fn hearers<S: Signal>(parts: &[Part]) -> Vec<RegionName> {
    let hears = |part: &&Part| part.hears.iter().any(|wire| wire.signal == S::NAME);
    parts.iter().filter(hears).map(|part| part.name).collect()
}

fn state<R: Region>(store: &AgentStore) -> Result<serde_json::Value, StoreError> {
    let state = state_of::<R>(store.id(), store)?;
    Ok(serde_json::to_value(state).unwrap_or_default()) // JSON from the store is valid JSON
}
