//! How much of the outside is let in at once.

use super::field::section;
use super::{ByteCount, Shape};

section! {
    /// How much of the outside is let in at once.
    Gateway = "gateway" {
        /// Turns in flight; further percepts wait, durable, until one ends.
        credit: u32 = "256", "turns", Shape::Integer { low: 1, high: 65536 };
        /// Messages that may wait for one room of the brain; while more do, no further turns begin.
        behind: u32 = "4096", "messages", Shape::Integer { low: 16, high: 1048576 };
        /// The longest text of one percept; what is longer is refused.
        text_max: ByteCount = "64 KiB", "bytes", Shape::Size { low: "1 KiB", high: "16 MiB" };
    }
}
