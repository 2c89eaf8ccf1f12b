//! What happened: episodes.

mod capturing;
pub mod compressed;
mod cut;
pub mod edges;
mod events;
mod evidence;
pub mod exporting;
pub mod held;
pub mod import;
mod importing;
pub mod key_index;
pub mod law;
mod linking;
pub mod model;
mod outcomes;
mod recalling;
mod records;
pub mod region;
mod remembering;
pub mod retention;
mod sleeping;
pub mod spreading;
mod surroundings;
#[cfg(test)]
mod tests;
pub mod text_index;
mod upkeep;

pub use region::{Hippocampus, HippocampusSettings};
