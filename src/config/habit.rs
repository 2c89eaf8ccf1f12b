//! The reasoner that needs no model.

use super::Shape;
use super::field::section;

section! {
    /// The reasoner that needs no model.
    Habit = "habit" {
        /// Memories that an answer may rest on.
        evidence_max: u32 = "5", "memories", Shape::Integer { low: 1, high: 20 };
    }
}
