//! Learns what actions lead to.

pub mod alike;
mod causes;
pub mod circumstances;
pub mod cues;
pub mod delay;
pub mod door;
pub mod event;
mod events;
mod forgetting;
mod imported;
mod kept;
mod known;
pub mod law;
pub mod links;
pub mod model;
pub mod predict;
mod promotion;
pub mod region;
mod remembering;
mod series;
#[cfg(test)]
mod tests;

pub use region::{NacSettings, NucleusAccumbens};
pub use series::OutcomeSeries;
