//! What to do.

#![deny(clippy::disallowed_methods)]

pub mod goals;
pub mod initiative;
pub mod prefrontal_cortex;
pub mod prompt;
mod recollection;
pub mod reply;
pub mod turns;
pub mod working_memory;
