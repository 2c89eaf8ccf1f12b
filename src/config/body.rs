//! The body, if there is one.

use super::field::{choice, section};
use super::{Shape, Span};

choice! {
    /// Who moves the limbs.
    Driver {
        /// No body.
        None = "none",
        /// A simulated one.
        Sim = "sim",
    }
}

section! {
    /// The body, if there is one.
    Body = "body" {
        /// Who moves the limbs: none, or sim for a simulated body.
        driver: Driver = "none", "", Shape::Choice(Driver::WORDS);
        /// The body holds still by itself when the brain has not renewed for this long.
        lease: Span = "100ms", "time", Shape::Span { low: "10ms", high: "1s" };
    }
}
