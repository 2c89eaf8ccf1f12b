//! Skills: forward models of movements, and sequences that became one step.

mod forgetting;
pub mod forward;
pub mod object;
pub mod program;
pub mod region;
#[cfg(test)]
mod tests;

pub use region::Cerebellum;
