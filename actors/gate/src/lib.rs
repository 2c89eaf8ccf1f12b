//! Whether to.

pub mod autonomy;
mod cleared_intent;
pub mod fear_agent;

pub use cleared_intent::{ClearedIntent, Terms};
