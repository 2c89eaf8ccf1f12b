//! What it led to.

pub mod alike;
pub mod delay;
pub mod door;
pub mod event;
pub mod law;
pub mod model;
pub mod predict;
pub mod region;

pub use region::{NacSettings, NucleusAccumbens};
