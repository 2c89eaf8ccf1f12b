//! The assembly of Maxim: the configuration, the command line and the daemon around the brain.

pub mod config;
