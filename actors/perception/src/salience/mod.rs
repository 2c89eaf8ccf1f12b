//! Salience: what a percept is worth, from source, novelty and goal.

pub mod law;
pub mod region;

pub use region::{SalienceRoom, SalienceSettings};
