//! The numbers by which bridges speak.

use maxim_config::{SHARE, Shape, Span, section};

section! {
    /// What is made of contexts that were alike, and of how asking people went.
    #[derive(Copy)]
    BridgeLaw = "bridges" {
        /// The likeness from which what was done before speaks for whether this is dangerous.
        danger_similar_from: f64 = "0.5", "share", SHARE;
        /// Like contexts without which nothing is said of danger.
        danger_cases_min: usize = "3", "actions", Shape::Integer { low: 1, high: 12 };
        /// Questions from which something is said of asking.
        asking_cases_min: u32 = "3", "questions", Shape::Integer { low: 1, high: 15 };
        /// The expected share of answers below which asking is of no use.
        asking_unanswered_below: f64 = "0.25", "share", SHARE;
        /// The expected share of yes from which a person needn't be asked.
        asking_trusted_from: f64 = "0.8", "share", SHARE;
        /// The expected share of yes up to which a person wants to be asked.
        asking_unwanted_to: f64 = "0.2", "share", SHARE;
        /// Such counsel holds for this long.
        asking_holds: Span = "7days", "time", Shape::Span { low: "1min", high: "3650days" };
    }
    ordered { asking_unwanted_to <= asking_trusted_from }
}
