//! Repeated patterns become concepts.

pub mod law;
mod region;
mod run;

#[cfg(test)]
mod tests;

pub use region::{PromoterKeys, PromoterSettings, SemanticPromoter};
