//! Sleep: what is kept, made small, or let go.

mod conduct;
mod region;
#[cfg(test)]
mod tests;

pub use conduct::Sleep;
pub use region::{Consolidation, ConsolidationSettings};
