//! The furniture that every room has: its trait, its wiring card, its shell and its supervisor.
//!
//! Regions decide and never await: a handler gets `&self`, so the only way to change anything is to keep an event or
//! emit a signal, and what it decided becomes true in one accepted commit. Effectors await and never decide.

mod actor;
mod card;
pub mod development_data;
mod effector;
mod heart;
mod keep_most;
pub mod lines;
mod post;
mod pulse;
mod records;
mod remembering;
pub mod rig;
mod room;
mod seat;
mod shedding;
mod sources;
mod stepper;
mod supervision;
mod waiting;
mod watchdog;

use std::fmt::Debug;

use jiff::Timestamp;
use maxim_bus::{RegionName, Signal, Stage};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use card::{Card, Wire};
pub use effector::{Effector, EffectorCard, EffectorPost, Hands, Operation, Performs};
pub use heart::{Heart, LOADING, Order, WardKind, WardState};
pub use keep_most::keep_most;
pub use post::{Frame, Post};
pub use pulse::Pulse;
pub use records::{Listed, Record, RecordView, Unreadable, end_of};
pub use remembering::{
    Carried, Carrying, Entry, Law, Lines, Names, NextStep, Remembers, RemembersInState, StatePart, StatePuts, Took,
    layer_of, part,
};
pub use room::{Part, Room, Seated, Seating, StateOf, Waking, Wired, hearers};
pub use seat::{DeadLetter, InputRecord, Recorded, Seat, Step, Tap, decision_hash, key_hash, state_of, woken_by};
pub use shedding::Shed;
pub use sources::{FewSources, Sources, source_hash, source_hashes};
pub use stepper::{EffectorStepper, RegionStepper, Stepper};
pub use supervision::{Placement, Restart, Supervision, SupervisionSettings, Ward};
pub use waiting::{Gather, Questions, Waiting};
pub use watchdog::Watchdog;

/// A room's wiring card. [`wiring!`] makes it.
pub trait Wiring: Sized {
    /// What it hears and says.
    fn card() -> Card<Self>
    where
        Self: Region;
}

/// A room that decides. Its value is its root state: small, serialisable, rebuilt from a snapshot and the events after it.
pub trait Region: Wiring + Default + Serialize + DeserializeOwned + Send + Unpin + 'static {
    /// Full anatomical or engineering name, as in logs, keys and `maxim status`.
    const NAME: RegionName;
    const STAGE: Stage;

    /// What it remembers of a decision. The only thing that changes its state.
    type Event: Serialize + DeserializeOwned + Debug + Send;
    /// Numbers and words from the configuration; never part of the state.
    type Settings: Send + Sync + 'static;

    /// Changes the state by what was kept. Must not fail: what it needs is in the event.
    fn apply(&mut self, event: Self::Event);

    /// Once after its state was loaded: rebuilds what is derived from its records.
    fn wake(&mut self, _records: &RecordView<'_>, _settings: &Self::Settings) {}

    /// Reads what [`Region::wake`] reads, for who takes down what the room is woken by; what it makes of it is thrown away.
    /// A room whose wake builds much out of many records reads them without building it; one that builds when it is first
    /// asked reads here what it builds of.
    fn read_to_wake(&mut self, records: &RecordView<'_>, settings: &Self::Settings) {
        self.wake(records, settings);
    }

    /// When it wants [`Region::tick`] next; none while it waits for mail alone.
    fn next_deadline(&self, _settings: &Self::Settings) -> Option<Timestamp> {
        None
    }

    /// Its root is too large for the store: the least useful of it goes, until what is left of it takes at most about `most`
    /// bytes. How many entries went. A room whose state grows by what comes from outside has a way of its own; else the shell
    /// takes out the largest entries, then the oldest.
    fn shed(&mut self, _most: usize) -> usize {
        0
    }

    /// For the room through which turns begin: what it hears first waits while more messages than this wait for another
    /// room that decides. So a turn's credit comes back when all have followed, and what waits for each is bounded.
    fn follows_within(_settings: &Self::Settings) -> Option<usize> {
        None
    }

    /// A deadline has passed.
    fn tick(&self, _pulse: &mut Pulse<'_, Self>) {}
}

/// The room hears `S`.
pub trait Hears<S: Signal>: Region {
    /// Whether a message concerns the room, by its content alone; one that doesn't isn't even delivered. It is asked in the
    /// agent's critical section: a look at a field or two, nothing that takes time.
    fn heeds(_signal: &S) -> bool {
        true
    }

    fn hear(&self, signal: &S, pulse: &mut Pulse<'_, Self>);
}

/// The room may emit `S`; what isn't on its card doesn't compile.
pub trait Emits<S: Signal>: Region {}

/// A room's wiring card.
///
/// `back` lists what comes from a later stage and belongs to the next turn; `first`, what of it overtakes all data mail.
///
/// ```
/// # use maxim_region::{Hears, Pulse, Region};
/// # use maxim_bus::signals::bridges::EnergyChanged;
/// # use maxim_bus::signals::recall::{ReportStats, StatsReported};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)]
/// # struct Counter;
/// # impl Region for Counter {
/// #     const NAME: &'static str = "counter";
/// #     const STAGE: maxim_bus::Stage = maxim_bus::Stage::Memory;
/// #     type Event = ();
/// #     type Settings = ();
/// #     fn apply(&mut self, (): ()) {}
/// # }
/// maxim_region::wiring!(Counter { hears: [ReportStats], back: [], emits: [StatsReported] });
///
/// impl Hears<ReportStats> for Counter {
///     fn hear(&self, _: &ReportStats, pulse: &mut Pulse<'_, Self>) {
///         let counts = serde_json::json!({});
///         pulse.reply(StatsReported { region: Self::NAME.into(), counts });
///     }
/// }
/// ```
///
/// A card that is wrong doesn't compile: one that leaves out what the room says,
///
/// ```compile_fail,E0277
/// # use maxim_region::{Hears, Pulse, Region};
/// # use maxim_bus::signals::bridges::EnergyChanged;
/// # use maxim_bus::signals::recall::{ReportStats, StatsReported};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)]
/// # struct Counter;
/// # impl Region for Counter {
/// #     const NAME: &'static str = "counter";
/// #     const STAGE: maxim_bus::Stage = maxim_bus::Stage::Memory;
/// #     type Event = ();
/// #     type Settings = ();
/// #     fn apply(&mut self, (): ()) {}
/// # }
/// maxim_region::wiring!(Counter { hears: [ReportStats], back: [], emits: [] });
///
/// impl Hears<ReportStats> for Counter {
///     fn hear(&self, _: &ReportStats, pulse: &mut Pulse<'_, Self>) {
///         let counts = serde_json::json!({});
///         pulse.reply(StatsReported { region: Self::NAME.into(), counts });
///     }
/// }
/// ```
///
/// or names what it has no handler for.
///
/// ```compile_fail,E0277
/// # use maxim_region::{Hears, Pulse, Region};
/// # use maxim_bus::signals::bridges::EnergyChanged;
/// # use maxim_bus::signals::recall::{ReportStats, StatsReported};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)]
/// # struct Counter;
/// # impl Region for Counter {
/// #     const NAME: &'static str = "counter";
/// #     const STAGE: maxim_bus::Stage = maxim_bus::Stage::Memory;
/// #     type Event = ();
/// #     type Settings = ();
/// #     fn apply(&mut self, (): ()) {}
/// # }
/// maxim_region::wiring!(Counter { hears: [ReportStats, EnergyChanged], back: [], emits: [StatsReported] });
///
/// impl Hears<ReportStats> for Counter {
///     fn hear(&self, _: &ReportStats, pulse: &mut Pulse<'_, Self>) {
///         let counts = serde_json::json!({});
///         pulse.reply(StatsReported { region: Self::NAME.into(), counts });
///     }
/// }
/// ```
#[macro_export]
macro_rules! wiring {
    ($region:ty { hears: [$($hears:ty),* $(,)?], back: [$($back:ty),* $(,)?], $(first: [$($first:ty),* $(,)?],)?
        emits: [$($emits:ty),* $(,)?] $(,)? }) => {
        $(impl $crate::Emits<$emits> for $region {})*

        impl $region {
            /// The room as a value, for the parts list.
            #[allow(dead_code)] // a test's room is part of no agent
            pub fn room(
                placement: $crate::Placement,
                settings: <$region as $crate::Region>::Settings,
            ) -> $crate::Room {
                $crate::Room::deciding::<$region>(placement, settings)
            }
        }

        impl $crate::Wiring for $region {
            fn card() -> $crate::Card<Self> {
                $crate::Card::new()
                    $(.hears::<$hears>())*
                    $(.hears_back::<$back>())*
                    $($(.first::<$first>())*)?
                    $(.emits::<$emits>())*
            }
        }
    };
}
