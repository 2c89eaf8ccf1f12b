//! The gate stage: decides whether an intent may become an action.

#![deny(clippy::disallowed_methods)]

pub mod autonomy;
mod cleared_intent;
pub mod fear_agent;

pub use cleared_intent::{ClearedIntent, Terms};
