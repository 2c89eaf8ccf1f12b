//! What it reminds of.

pub mod enrichment;
pub mod hippocampus;
pub mod packing;
pub mod suprachiasmatic_nucleus;
pub mod thin;
