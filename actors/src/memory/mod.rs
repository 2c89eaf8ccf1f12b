//! What it reminds of.

pub mod hippocampus;
pub mod suprachiasmatic_nucleus;
