//! The layers of memory as one: sessions, and what becomes of them.

mod region;
#[cfg(test)]
mod tests;

pub use region::{HubSettings, MemoryHub};
