//! What it taught.

#![deny(clippy::disallowed_methods)]

pub mod bridges;
pub mod cerebellum;
pub mod intraparietal_sulcus;
pub mod nucleus_accumbens;
pub mod significance;
pub mod statistician;
