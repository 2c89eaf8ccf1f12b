//! The outbox: every message to a channel that reaches outside.

pub mod law;
mod model;
mod region;
#[cfg(test)]
mod tests;

pub use model::{ENTRIES, OutboxSettings};
pub use region::Outbox;
