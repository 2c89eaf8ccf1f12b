//! The protective stop.

use super::{Shape, Span};
use maxim_config::section;

section! {
    /// The protective stop. Nothing here can switch it off.
    Stop = "stop" {
        /// Further whole utterances that stop, beside those of the 49 languages that are built in; compared after normalisation.
        phrases: Vec<String> = "", "", Shape::Texts { required: false };
        /// How often the stop thread looks for a stop request that came as a file.
        file_poll: Span = "50ms", "time", Shape::Span { low: "5ms", high: "1s" };
    }
}
