//! One agent on several machines: which of them runs it, and how the next one continues where the last one stopped.
//!
//! All of this lies on a NATS server with JetStream. A *lease* says which machine runs the agent; its revision is the
//! fencing token. A *journal* accepts each batch of the store before that machine's disk does, and refuses a machine
//! that lost the lease. *Copies* of the whole store are put beside it, so that it need not reach back to the beginning.
//! A waiting machine follows all of this. Its own store is always consistent: it is the journal's content up to some
//! batch.

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

/// What a machine gets that runs the agent from now on.
pub struct Taken {
    pub store: StateStore,
    pub report: OpenReport,
    /// The latch's state on the machine that ran the agent before.
    pub latch: Option<LatchRecord>,
    /// Takes the latch's state from now on.
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

    /// Empty in a program that was built without NATS.
    pub enum Machines {}

    /// # Errors
    /// Always: it isn't built in.
    pub fn join(_: &config::Nats, _: &DataFolder, _: StoreOptions) -> Result<Taken, CliError> {
        let found = "nats.url is set, and this program was built without NATS";
        Err(CliError::new(Exit::BadConfig, found, "build it with `--features nats`, or remove nats.url"))
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
