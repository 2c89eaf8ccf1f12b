//! What is happening.

#![deny(clippy::disallowed_methods)]

pub mod energy;
pub mod gateway;
pub mod inbound;
pub mod pain_detector;
pub mod preemption_circuit;
pub mod salience;
pub mod scene;
