//! What it taught.

pub mod bridges;
pub mod cerebellum;
pub mod intraparietal_sulcus;
pub mod nucleus_accumbens;
pub mod significance;
pub mod statistician;
