//! The action stage: carries out cleared intents.

#![deny(clippy::disallowed_methods)]

pub mod cause_ledger;
pub mod execution_tracker;
pub mod executor;
pub mod introspector;
pub mod outbox;
pub mod tool_index;

use std::sync::Arc;

use maxim_bus::RegionName;
use maxim_bus::rooms::{FEAR_AGENT, PAIN_DETECTOR, PREEMPTION_CIRCUIT};
use maxim_bus::signals::recall::ReportStats;
use maxim_region::Placement::{Own, Pool};
use maxim_region::{Room, hearers};
use maxim_tools::{Hands, ToolRegistry};

use cause_ledger::{CauseLedger, LedgerSettings};
use execution_tracker::{ExecutionTracker, TrackerSettings};
use executor::Executor;
use introspector::{Introspector, IntrospectorSettings};
use outbox::{Outbox, OutboxSettings};
use tool_index::{ToolIndexRoom, ToolIndexSettings};

/// What the stage is set up with.
#[derive(Clone)]
pub struct Settings {
    pub tracker: TrackerSettings,
    pub registry: Arc<ToolRegistry>,
    pub hands: Hands,
    pub outbox: OutboxSettings,
    pub ledger: LedgerSettings,
    pub tool_index: ToolIndexSettings,
    pub introspector: IntrospectorSettings,
}

/// The rooms of the stage, in the order of a percept; the introspector stands apart.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    vec![
        ExecutionTracker::room(Own, settings.tracker.clone()),
        Executor::room(Arc::clone(&settings.registry), settings.hands.clone()),
        Outbox::room(Pool, settings.outbox.clone()).tells(),
        CauseLedger::room(Pool, settings.ledger.clone()),
        ToolIndexRoom::room(Pool, settings.tool_index.clone()).tells(),
    ]
}

/// Looks inward, and so comes last: asks every room that reports stats. A brain that only remembers doesn't run three of
/// these rooms.
pub fn introspector(settings: &Settings, acts: bool) -> Room {
    const OF_ACTING: [RegionName; 3] = [PREEMPTION_CIRCUIT, FEAR_AGENT, PAIN_DETECTOR];
    let introspector = settings.introspector.clone();
    let asking = move |mut rooms: Vec<RegionName>| {
        rooms.retain(|room| acts || !OF_ACTING.contains(room));
        IntrospectorSettings { rooms, ..introspector }
    };
    Room::among::<Introspector>(Pool, move |parts| asking(hearers::<ReportStats>(parts))).tells()
}
