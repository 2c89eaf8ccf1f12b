//! The exact sense of numbers: computes, knows constants and methods, and stores what was found in numbers.

mod bearing;
pub mod calculator;
mod linking;
pub mod model;
pub mod region;
mod remembering;
mod upkeep;

pub use region::{AngularGyrus, GyrusSettings, NumberLaw};
