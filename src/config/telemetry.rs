//! What the daemon says about itself.

use super::Shape;
use maxim_config::{choice, section};

choice! {
    /// How much is logged.
    Level {
        Off = "off",
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }
}

section! {
    /// What the daemon says about itself, on standard error.
    Telemetry = "telemetry" {
        /// How much is logged. MAXIM_LOG wins and takes filters such as info,maxim_memory=debug.
        level: Level = "info", "", Shape::Choice(Level::WORDS);
        /// One JSON object a line, for machines that collect logs.
        json: bool = "false", "", Shape::Flag;
    }
}
