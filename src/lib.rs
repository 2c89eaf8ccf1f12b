//! The assembly of Maxim: configuration, command line and daemon around the brain.

pub mod agent;
pub mod backups;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod data_folder;
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
