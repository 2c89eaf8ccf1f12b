//! The assembly of Maxim: configuration, command line and daemon around the brain.

pub mod agent;
pub mod cli;
pub mod config;
pub mod data_folder;
pub mod recorder;
pub mod telemetry;
