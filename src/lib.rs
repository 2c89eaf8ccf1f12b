//! The assembly of Maxim: configuration, command line and daemon around the brain.

pub mod agent;
pub mod cli;
pub mod config;
//WIP pub mod daemon;
pub mod data_folder;
//WIP pub mod http;
pub mod telemetry;
