//! What makes a moment worth keeping.

pub mod law;
mod region;

pub use region::{SignificanceEvent, SignificanceLearner};
