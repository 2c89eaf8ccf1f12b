//! What it taught.

pub mod cerebellum;
pub mod intraparietal_sulcus;
pub mod nucleus_accumbens;
pub mod statistician;
pub mod thin;
