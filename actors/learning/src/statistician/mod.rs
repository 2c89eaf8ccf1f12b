//! Watches the metrics of the running brain for patterns.

pub mod correlation;
mod forgetting;
pub mod law;
pub mod model;
mod promotion;
pub mod region;
pub mod wording;

pub use region::{Statistician, StatisticianSettings};
