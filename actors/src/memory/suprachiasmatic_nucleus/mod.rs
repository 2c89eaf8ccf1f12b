//! When it happens.

pub mod index;
pub mod law;
pub mod oscillators;
pub mod rhythm;
