//! What is this like: situations compared by meaning, structure, time and context.

pub mod law;
pub mod model;
pub mod region;
pub mod segment;
pub mod signature_index;
pub mod situation_index;

pub use region::{EntorhinalCortex, EntorhinalSettings};

#[cfg(test)]
mod tests;
