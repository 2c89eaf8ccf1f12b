//! Sleep: what is kept, compressed, or removed.

mod conduct;
mod region;
#[cfg(test)]
mod tests;

pub use conduct::Sleep;
pub use region::{Consolidation, ConsolidationSettings};
