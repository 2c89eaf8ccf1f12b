//! Similarity: situations compared by meaning, structure, time and context.

mod asking;
pub mod law;
pub mod model;
mod outer;
pub mod region;
pub mod segment;
mod settling;
mod sight;
pub mod situation_index;

pub use region::{EntorhinalCortex, EntorhinalSettings};

#[cfg(test)]
mod tests;
