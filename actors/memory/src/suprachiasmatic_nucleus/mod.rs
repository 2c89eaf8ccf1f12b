//! Time: when things happen.

mod clocks;
mod describing;
pub mod index;
pub mod keys;
pub mod law;
pub mod oscillators;
pub mod region;
mod remembering;
pub mod rhythm;

pub use region::{ScnSettings, SuprachiasmaticNucleus};
