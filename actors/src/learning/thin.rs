//! Rooms of learning that run but aren't built out.

use crate::thin_room;

thin_room! {
    /// How to: forward models and motor programs.
    Cerebellum, "cerebellum", Learning
}
thin_room! {
    /// Watches metrics for patterns.
    Statistician, "statistician", Learning
}
thin_room! {
    /// The quick sense of numbers: magnitude, trend, randomness.
    IntraparietalSulcus, "intraparietal_sulcus", Learning
}
