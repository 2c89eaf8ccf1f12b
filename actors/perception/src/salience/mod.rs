//! Salience: the worth of a percept, from source, novelty and goal.

pub mod law;
pub mod region;

pub use region::{SalienceRoom, SalienceSettings};
