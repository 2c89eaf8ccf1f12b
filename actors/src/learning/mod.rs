//! What it taught.

pub mod bridges;
pub mod nucleus_accumbens;
pub mod significance;
pub mod thin;
