//! The common parts of every room: its trait, its wiring card, its shell and its supervisor.
//!
//! Regions decide and never await. A handler gets `&self`, so it can only change something by keeping an event or
//! emitting a signal, and its decision becomes true in one accepted commit. Effectors await and never decide.

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
    /// The signals that it hears and says.
    fn card() -> Card<Self>
    where
        Self: Region;
}

/// A room that decides. Its value is its root state: small, serialisable, rebuilt from a snapshot and the events
/// after it.
pub trait Region: Wiring + Default + Serialize + DeserializeOwned + Send + Unpin + 'static {
    /// Its full anatomical or engineering name, used in logs, keys and `maxim status`.
    const NAME: RegionName;
    const STAGE: Stage;

    /// The record of a decision. Only events change the state.
    type Event: Serialize + DeserializeOwned + Debug + Send;
    /// Numbers and words from the configuration; never part of the state.
    type Settings: Send + Sync + 'static;

    /// Changes the state by a kept event. Must not fail: everything it needs is in the event.
    fn apply(&mut self, event: Self::Event);

    /// Called once after the state was loaded: rebuilds what is derived from its records.
    fn wake(&mut self, _records: &RecordView<'_>, _settings: &Self::Settings) {}

    /// Reads what [`Region::wake`] reads, for a recorder of the room's records; the result is thrown away. A room whose
    /// wake builds much from many records reads them here without building. A room that builds on first use reads here
    /// what it would build from.
    fn read_to_wake(&mut self, records: &RecordView<'_>, settings: &Self::Settings) {
        self.wake(records, settings);
    }

    /// When it wants [`Region::tick`] next; `None` while it only waits for mail.
    fn next_deadline(&self, _settings: &Self::Settings) -> Option<Timestamp> {
        None
    }

    /// Its root is too large for the store. It drops its least useful entries until the root has at most about `most`
    /// bytes, and returns how many it dropped. A room whose state grows by outside data should have its own way.
    /// Otherwise the shell drops the largest entries, then the oldest.
    fn shed(&mut self, _most: usize) -> usize {
        0
    }

    /// For the room in which turns begin: signals that it hears first wait while more messages than this wait for
    /// another deciding room. So a turn's credit is returned only when all rooms have followed, and the backlog of each
    /// room is bounded.
    fn follows_within(_settings: &Self::Settings) -> Option<usize> {
        None
    }

    /// Called when a deadline has passed.
    fn tick(&self, _pulse: &mut Pulse<'_, Self>) {}
}

/// The room hears `S`.
pub trait Hears<S: Signal>: Region {
    /// Whether a message concerns the room, by its content only; other messages aren't delivered. It runs in the
    /// agent's critical section, so it may look at a field or two, and must not take time.
    fn heeds(_signal: &S) -> bool {
        true
    }

    fn hear(&self, signal: &S, pulse: &mut Pulse<'_, Self>);
}

/// The room may emit `S`. A signal that isn't on its card doesn't compile.
pub trait Emits<S: Signal>: Region {}

/// A room's wiring card.
///
/// `back` lists signals that come from a later stage and belong to the next turn; `first`, those of them that overtake
/// all data mail.
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
/// A wrong card doesn't compile. This one leaves out a signal that the room emits:
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
/// This one names a signal without a handler:
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
            #[allow(dead_code)] // a test's room belongs to no agent
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
