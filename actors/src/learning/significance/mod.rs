//! What makes a moment worth keeping.

mod law;
mod region;

pub use region::{SignificanceEvent, SignificanceLearner};
