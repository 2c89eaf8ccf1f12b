//! Measuring whole agents.

pub mod bench;
pub mod population;
