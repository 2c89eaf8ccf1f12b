//! The keys of the clocks and of rhythms.

use maxim_config::{SHARE, Shape, section};

section! {
    /// How the clocks of day, week, month and year learn, and what is a rhythm.
    ClockKeys = "suprachiasmatic_nucleus" {
        /// How strongly the clocks pull at each other.
        coupling: f64 = "0.002", "radians per hour", SHARE;
        /// How much one moment of full agreement joins two clocks.
        hebb_rate: f64 = "0.05", "share", SHARE;
        /// What a moment leaves of what joined them before.
        hebb_keep: f64 = "0.98", "share", SHARE;
        /// The strongest joint of two clocks.
        hebb_max: f64 = "1.0", "weight", Shape::Real { low: 0.01, high: 100.0 };
        /// The share of rhythms found that may be chance.
        false_discoveries: f64 = "0.05", "share", Shape::Real { low: 0.000_001, high: 1.0 };
        /// Events of a kind at one time under which nothing is said of a rhythm.
        rhythm_events_min: u32 = "4", "events", Shape::Integer { low: 2, high: 10_000 };
    }
}
