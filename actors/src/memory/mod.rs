//! What it reminds of.

pub mod angular_gyrus;
pub mod enrichment;
pub mod hippocampus;
pub mod packing;
pub mod suprachiasmatic_nucleus;
pub mod thin;
