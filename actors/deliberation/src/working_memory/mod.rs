//! Working memory: what is on the mind at present.

pub mod law;
pub mod region;

pub use region::WorkingMemory;
