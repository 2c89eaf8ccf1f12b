//! Vocabulary and corridor of Maxim. Knows no region.

pub mod clock;
pub mod ids;
pub mod latch;
pub mod units;
