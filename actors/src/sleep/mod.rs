//! What to keep.

pub mod consolidation;
mod thin;

pub use consolidation::{Consolidation, ConsolidationSettings};
pub use thin::SemanticPromoter;
