//! The exact sense of numbers: computes, knows constants and methods, and keeps what was found in numbers.

pub mod analysis;
pub mod arithmetic;
mod bearing;
pub mod calculator;
pub mod knowledge;
mod linking;
pub mod matrix;
pub mod model;
pub mod region;
mod remembering;
pub mod statistics;
mod upkeep;

pub use region::{AngularGyrus, GyrusSettings};
