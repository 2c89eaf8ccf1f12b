//! What to keep.

pub mod semantic_promoter;
pub mod thin;
