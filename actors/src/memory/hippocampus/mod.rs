//! What happened: episodes.

mod evidence;
pub mod import;
pub mod key_index;
pub mod law;
pub mod model;
pub mod region;
pub mod retention;
pub mod spreading;
pub mod text_index;

pub use super::packing;
pub use region::{Hippocampus, HippocampusSettings};
