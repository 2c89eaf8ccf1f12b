//! The assembly of Maxim: one brain as a value, and the daemon around it. Nothing here thinks.
//!
//! - [`agent`]: a brain. [`agent::anatomy`] is its parts list; [`agent::population`] holds many in one process.
//! - [`config`]: its configuration. [`cli`]: the command line. [`daemon`]: what `maxim run` runs.
//! - [`http`]: the daemon's interface and its page, by which commands and people reach the brain.
//! - [`recorder`]: recordings, for replays and for restoring. [`backups`]: copies of the store.
//! - [`sim`]: whole brains in virtual time: benches, learning curves, scenarios.
//!
//! To embed a brain, see `examples/agent.rs`: an [`agent::AgentWorld`], [`agent::AgentSettings`], and
//! [`agent::Agent::stepped`] or [`agent::Agent::live`].

pub mod agent;
pub mod backups;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod data_folder;
#[cfg(test)]
mod guide;
pub mod http;
mod loopback;
mod machine_clock;
mod machines;
pub mod recorder;
pub mod sim;
pub mod standard_error;
mod stopping;
pub mod telemetry;
mod token;
mod working_set;
