//! The gate stage: decides whether an intent may become an action.

#![deny(clippy::disallowed_methods)]

pub mod autonomy;
mod cleared_intent;
pub mod fear_agent;

use maxim_region::Placement::{Own, Pool};
use maxim_region::Room;

use autonomy::{Autonomy, AutonomySettings, Rails};
pub use cleared_intent::{ClearedIntent, Terms};
use fear_agent::{FearAgent, FearLaw, FearSettings};

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections { gate: FearLaw, autonomy: Rails }
}

/// What the stage is set up with.
#[derive(Clone)]
pub struct Settings {
    pub autonomy: AutonomySettings,
    pub fear: FearSettings,
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    vec![Autonomy::room(Pool, settings.autonomy.clone()), FearAgent::room(Own, settings.fear.clone())]
}
