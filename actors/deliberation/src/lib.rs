//! What to do.

#![deny(clippy::disallowed_methods)]

pub mod goals;
pub mod initiative;
pub mod prefrontal_cortex;
pub mod prompt;
mod recollection;
pub mod reply;
mod section;
pub mod turns;
pub mod working_memory;

use maxim_bus::signals::concepts::RecallKnowledge;
use maxim_region::Placement::Pool;
use maxim_region::{Room, hearers};

use goals::Goals;
use prefrontal_cortex::{PrefrontalCortex, PrefrontalSettings};
pub use section::HabitKeys;
use turns::{Turns, TurnsSettings};
use working_memory::WorkingMemory;

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections { habit: HabitKeys }
}

/// What the stage is set up with.
#[derive(Clone)]
pub struct Settings {
    pub turns: TurnsSettings,
    pub prefrontal: PrefrontalSettings,
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    let Settings { turns, prefrontal } = settings.clone();
    let knowing = move |knowledge_rooms| PrefrontalSettings { knowledge_rooms, ..prefrontal };
    vec![
        Goals::room(Pool, ()).tells(),
        WorkingMemory::room(Pool, ()).tells(),
        Turns::room(Pool, turns),
        Room::among::<PrefrontalCortex>(Pool, move |parts| knowing(hearers::<RecallKnowledge>(parts))),
    ]
}
