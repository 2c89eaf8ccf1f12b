//! Simulations.

use super::field::section;
use super::{Shape, Span};

section! {
    /// Simulations. Times here are of the virtual clock.
    Sim = "sim" {
        /// Threads that agents share; 0 is one for each core. The transcript is the same at any number.
        threads: u32 = "0", "threads", Shape::Integer { low: 0, high: 1024 };
        /// A turn is over when no new action has appeared for this long.
        settle: Span = "2s", "time", Shape::Span { low: "1ms", high: "10min" };
        /// How long a message waits for its reply.
        reply_timeout: Span = "30s", "time", Shape::Span { low: "1ms", high: "1h" };
    }
}
