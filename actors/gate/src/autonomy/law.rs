//! The keys of autonomy.

use maxim_config::{Shape, section};

section! {
    /// How much the agent does by itself, and how fast. What a person commanded isn't asked back by confidence.
    Rails = "autonomy" {
        /// A supervised agent asks about what it is less sure of than this.
        ask_below: f64 = "0.8", "share", Shape::Real { low: 0.0, high: 1.0 };
        /// The tools that it may use at level planning; none named is all. Answering and looking inward are always allowed.
        planning_tools: Vec<String> = "", "", Shape::Texts { required: false };
        /// The same at level supervised.
        supervised_tools: Vec<String> = "", "", Shape::Texts { required: false };
        /// The same at level autonomous.
        autonomous_tools: Vec<String> = "", "", Shape::Texts { required: false };
        /// Effects in one second; answers and what only reads don't count.
        per_second: usize = "20", "effects", Shape::Integer { low: 1, high: 10_000 };
        /// Effects in one minute.
        per_minute: usize = "300", "effects", Shape::Integer { low: 1, high: 100_000 };
        /// The same call may fail so often in a row; then it is refused until another one succeeds.
        failures_in_row: u32 = "5", "failures", Shape::Integer { low: 1, high: 1000 };
    }
}
