//! What to keep.

#![deny(clippy::disallowed_methods)]

pub mod consolidation;
pub mod semantic_promoter;

pub use consolidation::{Consolidation, ConsolidationSettings};
pub use semantic_promoter::SemanticPromoter;
