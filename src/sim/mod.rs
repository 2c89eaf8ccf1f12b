//! Measuring whole agents.

pub mod bench;
