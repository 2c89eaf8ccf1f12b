//! Autonomy: may the agent do this by itself at all, by which name did it ask for it, and what may it at present.

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
