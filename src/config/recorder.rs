//! The flight recorder.

use super::{ByteCount, Shape, Span};
use maxim_config::section;

section! {
    /// The flight recorder, from which a run can be replayed.
    Recorder = "recorder" {
        /// Whether it records.
        enabled: bool = "true", "", Shape::Flag;
        /// All recordings together; the oldest go first.
        max_bytes: ByteCount = "1 GiB", "bytes", Shape::Size { low: "1 MiB", high: "64 TiB" };
        /// One recording; then the next begins.
        file_bytes: ByteCount = "64 MiB", "bytes", Shape::Size { low: "64 KiB", high: "1 TiB" };
        /// Older recordings go.
        max_age: Span = "7days", "time", Shape::Span { low: "1min", high: "3650days" };
    }
}
