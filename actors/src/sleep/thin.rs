//! Rooms of sleep that run but aren't built out.

use crate::thin_room;

thin_room! {
    /// Scores, compresses and prunes while the agent sleeps.
    Consolidation, "consolidation", Sleep
}
