//! What to do.

pub mod habit;
