//! The vocabulary of one brain, and the bus that carries it. It knows no room.
//!
//! In the order in which a message travels:
//!
//! - [`signals`]: what can be said, by conversation; [`mod@signal`]: what a signal is, and how each kind waits.
//! - [`agent_bus`]: who hears what. It publishes everything in the agent's single order, and is built once.
//! - [`inbox`]: where mail waits for a room. It outlives the room's actor.
//! - [`latch`]: the stop, read right before each effect. [`lease`]: whether this machine runs the agent.
//! - [`clock`], [`ids`], [`units`], [`bounds`]: time, names, numbers with their range, and bounds on input.
//!
//! What the bus guarantees, each with its test:
#![doc = include_str!("../README.md")]

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
pub use signal::{Addressed, Body, Envelope, Lane, Meta, Name, Policy, Query, Signal, Stage, Trust};
