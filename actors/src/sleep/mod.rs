//! What to keep. These rooms run but aren't built out.

use crate::thin_room;

thin_room! {
    /// Scores, compresses and prunes while the agent sleeps.
    Consolidation, "consolidation", Sleep
}
thin_room! {
    /// Makes concepts of what repeats.
    SemanticPromoter, "semantic_promoter", Sleep
}
