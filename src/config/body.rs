//! The body, if there is one.

use super::Shape;
use super::field::{choice, section};

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
    }
}
