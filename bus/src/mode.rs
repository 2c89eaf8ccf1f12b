//! How much the agent may touch. Trust scales with experience.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Ordered: a higher mode may do all that a lower one may.
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

    /// The mode in force after the agent has lowered it.
    pub fn lowered_to(self, lowered: Option<Self>) -> Self {
        lowered.map_or(self, |lowered| lowered.min(self))
    }
}

/// How much the agent may do without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutonomyLevel {
    /// Proposes only.
    Planning,
    /// Asks when it isn't sure.
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

/// What the agent may do at a given time. It travels with each permitted action, so all who act on it use the same
/// powers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers {
    pub mode: Mode,
    pub autonomy: AutonomyLevel,
    /// Whether it may read the web.
    pub web: bool,
    /// A working folder other than the configured one, which a person allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<PathBuf>,
}

impl Powers {
    /// Full powers.
    pub fn whole() -> Self {
        Self { mode: Mode::Singularity, autonomy: AutonomyLevel::Autonomous, web: true, workdir: None }
    }
}
/// Money that may be spent, in the currency of the prices; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoneyLimits {
    pub per_hour: f64,
    pub per_day: f64,
    /// From the process's start to its end.
    pub per_session: f64,
}

/// Degrees that the joints may turn in total; 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EffortLimits {
    pub per_hour: f64,
    pub per_day: f64,
}
