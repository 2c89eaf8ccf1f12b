//! The sense of the brain's own health: reads the state of its rooms, and how often each was rebuilt.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::rooms;
use maxim_bus::signals::introspection::{RoomVitals, SenseVitals, VitalsSensed};
use maxim_bus::{RegionName, Stage};

use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};

/// Reads the hearts of all rooms.
pub struct VitalSigns;

impl VitalSigns {
    /// The room as a value, for the parts list.
    pub fn room() -> Room {
        Room::acting(Placement::Pool, Box::new(|| Self))
    }
}

impl Effector for VitalSigns {
    const NAME: RegionName = rooms::VITAL_SIGNS;
    const STAGE: Stage = Stage::Perception;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<SenseVitals>().says::<VitalsSensed>()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(1)
    }
}

impl Performs<SenseVitals> for VitalSigns {
    async fn perform(self: Arc<Self>, _sense: SenseVitals, operation: Operation<Self>) {
        let hearts = operation.hands.hearts();
        let rooms: Vec<RoomVitals> = hearts
            .iter()
            .map(|heart| {
                let state = heart.state().as_str().to_owned();
                RoomVitals { room: heart.name().to_owned(), state, restarts: heart.restarts() }
            })
            .collect();
        let reason = rooms.is_empty().then(|| "the rooms are stepped one by one here, without supervision".into());
        operation.say(VitalsSensed { rooms, reason });
    }

    fn abandoned(_sense: &SenseVitals, why: &str, operation: &Operation<Self>) {
        operation
            .say(VitalsSensed { rooms: Vec::new(), reason: Some(format!("the rooms could not be looked at: {why}")) });
    }
}
