//! How the records of all layers are linked.

mod association;
mod doubted;
mod gone;
pub mod graph;
mod region;
mod remembering;
mod wave;

#[cfg(test)]
mod tests;

pub use region::{CrossLayerGraph, GraphSettings};
