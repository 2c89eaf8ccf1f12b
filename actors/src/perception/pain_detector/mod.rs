//! What hurts.

pub mod law;
