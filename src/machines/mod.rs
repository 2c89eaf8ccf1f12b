//! One agent on several machines: which of them lives it, and how the next goes on where the last was.
//!
//! All of it lies on a NATS server with JetStream. A *lease* says who lives the agent, and its revision is the fencing token; a
//! *journal* takes each batch of the store before the disk of that machine does, and takes nothing from a machine that lost the
//! lease; *copies* of the whole store are put beside it, so that it needn't go back to the beginning. A machine that waits
//! follows all of that. Its own store is always whole: a part of the journal, from the first batch on.

#[cfg(feature = "nats")]
mod connection;
#[cfg(feature = "nats")]
mod copies;
#[cfg(feature = "nats")]
mod identity;
#[cfg(feature = "nats")]
mod journal;
#[cfg(feature = "nats")]
mod lease;
#[cfg(feature = "nats")]
mod living;
#[cfg(feature = "nats")]
mod remote;
#[cfg(feature = "nats")]
mod signals;
#[cfg(feature = "nats")]
mod taking_over;

use maxim_actors::store::{OpenReport, StateStore};
use maxim_bus::latch::{LatchRecord, Mirror};

#[cfg(feature = "nats")]
pub use living::{Machines, join};

/// What a machine has that lives the agent from now on.
pub struct Taken {
    pub store: StateStore,
    pub report: OpenReport,
    /// What the latch said on the machine that lived it before.
    pub latch: Option<LatchRecord>,
    /// Takes what the latch says from now on.
    pub mirror: Mirror,
    pub machines: Machines,
}

#[cfg(not(feature = "nats"))]
mod absent {
    use std::sync::Arc;

    use maxim_actors::region::Tap;
    use maxim_actors::store::StoreOptions;
    use maxim_bus::lease::Lease;
    use serde_json::Value;

    use super::Taken;
    use crate::agent::AgentHandle;
    use crate::cli::{CliError, Exit};
    use crate::config;
    use crate::data_folder::DataFolder;
    use crate::http::Served;

    /// There are none in a program that was built without them.
    pub enum Machines {}

    /// # Errors
    /// Always: it isn't built in.
    pub fn join(_: &config::Nats, _: &DataFolder, _: StoreOptions) -> Result<Taken, CliError> {
        let found = "nats.url is set, and this program was built without NATS";
        Err(CliError::new(Exit::BadConfig, found, "build it with `--features nats`, or take nats.url out"))
    }

    impl Machines {
        pub fn tap(&self, _: Option<Arc<dyn Tap>>) -> Option<Arc<dyn Tap>> {
            match *self {}
        }

        pub fn live(&self, _: &AgentHandle, _: impl Fn() + Send + 'static) -> Result<(), CliError> {
            match *self {}
        }

        pub fn lease(&self) -> &Lease {
            match *self {}
        }

        pub fn observe(&self, _: &Arc<Served>) {
            match *self {}
        }

        pub fn lost(&self) -> Option<Arc<str>> {
            match *self {}
        }

        pub fn document(&self) -> Value {
            match *self {}
        }

        pub fn end(&self) {
            match *self {}
        }
    }
}

#[cfg(not(feature = "nats"))]
pub use absent::{Machines, join};
