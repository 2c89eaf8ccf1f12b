//! Measuring whole agents.

pub mod bench;
pub mod learning;
pub mod population;
pub mod scenario;
