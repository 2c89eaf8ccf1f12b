//! How much the agent may touch. Trust scales with experience.

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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Active => "active",
            Self::Singularity => "singularity",
        }
    }
}
