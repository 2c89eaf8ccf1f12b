//! The rooms of Maxim under one name, in the order in which a percept passes them. Each stage is a crate of its own.

pub use maxim_language as language;
pub use maxim_region as region;
pub use maxim_region::wiring;
pub use maxim_store as store;

pub use maxim_deliberation as deliberation;
pub use maxim_gate as gate;
pub use maxim_learning as learning;
pub use maxim_memory as memory;
pub use maxim_perception as perception;
pub use maxim_sleep as sleep;

/// Doing it, and the tools that it is done with.
pub mod action {
    pub use maxim_action::*;
    pub use maxim_tools as tools;
}

pub use maxim_effectors as effectors;
