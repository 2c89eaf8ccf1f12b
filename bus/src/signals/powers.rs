//! What the agent may do, and a person's word that gives back what the agent has taken from itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mode::{Mode, Powers};
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// Asks the gate what the agent may at present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportPowers {}

/// A person gives back what the configuration allows. The agent itself can't say this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestorePowers {
    pub by: String,
}

/// By which names tools were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameCounts {
    /// Calls of a model, and all by a wrong name.
    pub attempts: u64,
    /// By a known wrong name, which led to its tool.
    pub redirected: u64,
    /// By a name that is no tool's.
    pub unknown: u64,
}

/// What the agent may from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowersReported {
    pub powers: Powers,
    /// What is otherwise than configured, in words; after a person gave it back, what had been.
    pub lowered: Vec<String>,
    pub names: NameCounts,
    /// Tools that can't be called at present, and why. They stay registered.
    #[serde(default)]
    pub off: BTreeMap<String, String>,
}

/// The agent has lowered its mode, or a person has given it back. For whoever notes in which mode something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeLowered {
    /// Nothing: what is configured is in force again.
    pub to: Option<Mode>,
}

signal! {
    ModeLowered: Gate, Lossless;
    ReportPowers: Anywhere, Transient;
    RestorePowers: Anywhere, Transient;
    PowersReported: Anywhere, Transient;
}

impl Query for ReportPowers {
    type Answer = PowersReported;
}
impl Addressed for ReportPowers {
    const OF: RegionName = rooms::AUTONOMY;
}
impl Query for RestorePowers {
    type Answer = PowersReported;
}
impl Addressed for RestorePowers {
    const OF: RegionName = rooms::AUTONOMY;
}
