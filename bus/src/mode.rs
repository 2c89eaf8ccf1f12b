//! How much the agent may touch. Trust scales with experience.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Ordered: more may do what less may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Files only in `.maxim_sandbox/` of the working folder.
    Passive,
    /// Files in the working folder.
    Active,
    /// Files everywhere; the hard rules still hold.
    Singularity,
}

impl Mode {
    /// As they are written in a configuration.
    pub const WORDS: &[&str] = &["passive", "active", "singularity"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Active => "active",
            Self::Singularity => "singularity",
        }
    }

    /// What is in force where the agent has lowered it to that.
    pub fn lowered_to(self, lowered: Option<Self>) -> Self {
        lowered.map_or(self, |lowered| lowered.min(self))
    }
}

/// How much the agent may do by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutonomyLevel {
    /// Proposes only.
    Planning,
    /// Asks where it isn't sure.
    Supervised,
    Autonomous,
}

impl AutonomyLevel {
    /// As they are written in a configuration.
    pub const WORDS: &[&str] = &["planning", "supervised", "autonomous"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Supervised => "supervised",
            Self::Autonomous => "autonomous",
        }
    }
}

/// What the agent may at a time. It travels with what was permitted, so that all who act on it go by the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers {
    pub mode: Mode,
    pub autonomy: AutonomyLevel,
    /// Whether it may read the web.
    pub web: bool,
    /// Another working folder than the configured one, which a person allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<PathBuf>,
}

impl Powers {
    /// All that there is.
    pub fn whole() -> Self {
        Self { mode: Mode::Singularity, autonomy: AutonomyLevel::Autonomous, web: true, workdir: None }
    }
}
/// Money that may be spent, in whatever currency the prices are; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoneyLimits {
    pub per_hour: f64,
    pub per_day: f64,
    /// From the start of the process to its end.
    pub per_session: f64,
}

/// Degrees that the joints may turn in sum; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EffortLimits {
    pub per_hour: f64,
    pub per_day: f64,
}
