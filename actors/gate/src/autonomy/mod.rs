//! Autonomy: whether the agent may do this by itself, by which name it asked for the tool, and which powers it has now.

mod effort;
mod law;
mod lowered;
mod names;
mod rails;
pub mod region;
mod scene_tools;
mod unasked;

pub use law::Rails;
pub use lowered::Lowered;
pub use maxim_bus::mode::AutonomyLevel;
pub use names::{NameTally, Named};
pub use region::{Autonomy, AutonomyEvent, AutonomySettings};
