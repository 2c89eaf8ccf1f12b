//! What it taught.

pub mod nucleus_accumbens;
