//! What it taught.

pub mod nucleus_accumbens;
pub mod thin;
