//! How the records of all layers hang together.

mod association;
pub mod graph;
mod region;
mod remembering;
mod wave;

#[cfg(test)]
mod tests;

pub use region::{CrossLayerGraph, GraphSettings};
