//! What is happening.

pub mod gateway;
pub mod inbound;
pub mod preemption_circuit;
pub mod stop_phrase;
