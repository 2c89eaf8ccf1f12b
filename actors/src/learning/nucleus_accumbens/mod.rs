//! What it led to.

pub mod alike;
mod causes;
pub mod circumstances;
pub mod cues;
pub mod delay;
pub mod door;
pub mod event;
pub mod law;
mod links;
pub mod model;
pub mod predict;
mod promotion;
pub mod region;
mod remembering;
mod series;

pub use region::{NacSettings, NucleusAccumbens};
pub use series::OutcomeSeries;
