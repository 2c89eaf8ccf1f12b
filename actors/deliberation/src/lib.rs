//! What to do.

#![deny(clippy::disallowed_methods)]

pub mod goals;
pub mod habit;
pub mod prefrontal_cortex;
pub mod prompt;
pub mod reply;
pub mod working_memory;
