//! Scene: what is around.

pub mod law;
pub mod region;

pub use region::Scene;
