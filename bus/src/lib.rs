//! Vocabulary and corridor of Maxim. Knows no region. What it guarantees is in `README.md` beside this crate.

pub mod agent_bus;
pub mod allow_list;
pub mod bounds;
pub mod clock;
pub mod hash;
mod head;
pub mod ids;
pub mod inbox;
pub mod latch;
pub mod lease;
pub mod mode;
pub mod provenance;
pub mod relations;
pub mod rooms;
pub mod scratch;
pub mod signal;
pub mod signals;
pub mod units;

pub use agent_bus::{AgentBus, BusBuilder, WiringError};
pub use allow_list::{Alike, AllowList};
pub use bounds::{Bound, TooMuch};
pub use clock::{Clock, SharedClock, SystemClock, VirtualClock};
pub use ids::{AgentId, Epoch, Lsn, MessageId, RegionName};
pub use inbox::{Delivery, Inbox, InboxCounters};
pub use provenance::Provenance;
pub use signal::{Body, Envelope, Lane, Meta, Name, Policy, Query, Signal, Stage, Trust};
