//! The layers of memory together: sessions and their ends.

mod region;
#[cfg(test)]
mod tests;

pub use region::{HubSettings, MemoryHub};
