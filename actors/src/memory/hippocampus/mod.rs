//! What happened: episodes.

pub mod compressed;
pub mod edges;
pub mod import;
pub mod key_index;
pub mod law;
mod linking;
pub mod model;
pub mod region;
pub mod retention;
mod sleeping;
pub mod spreading;
#[cfg(test)]
mod tests;
pub mod text_index;
mod upkeep;

pub use super::packing;
pub use region::{Hippocampus, HippocampusSettings};
