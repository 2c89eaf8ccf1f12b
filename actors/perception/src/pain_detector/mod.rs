//! PainDetector: what hurts, and how much.

pub mod law;
pub mod region;

pub use region::PainDetector;
