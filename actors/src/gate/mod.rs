//! Whether to.

pub mod fear_agent;
