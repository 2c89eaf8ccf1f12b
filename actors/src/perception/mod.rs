//! What is happening.

pub mod inbound;
pub mod stop_phrase;
