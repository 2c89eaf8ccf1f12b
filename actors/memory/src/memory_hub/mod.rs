//! The layers of memory as one: sessions and their ends.

mod region;
#[cfg(test)]
mod tests;

pub use region::{HubSettings, MemoryHub};
