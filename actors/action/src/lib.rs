//! The action stage: carries out cleared intents.

#![deny(clippy::disallowed_methods)]

pub mod cause_ledger;
pub mod execution_tracker;
pub mod executor;
pub mod introspector;
pub mod outbox;
pub mod tool_index;
