//! What the agent may do, and a person's decision to restore powers that the agent has given up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mode::{Mode, Powers};
use crate::{queries, signal};

/// Asks the gate what the agent may do now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportPowers {}

/// A person restores the configured powers. The agent itself can't send this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestorePowers {
    pub by: String,
}

/// Counts of the names in tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameCounts {
    /// Calls by a model, and every call by a wrong name.
    pub attempts: u64,
    /// Calls by a known wrong name, which were redirected to the right tool.
    pub redirected: u64,
    /// Calls by a name that belongs to no tool.
    pub unknown: u64,
}

/// What the agent may do from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowersReported {
    pub powers: Powers,
    /// The differences from the configuration, in words. After a person restored the powers: the differences before
    /// that.
    pub lowered: Vec<String>,
    pub names: NameCounts,
    /// Tools that can't be called now, and why. They stay registered.
    #[serde(default)]
    pub off: BTreeMap<String, String>,
}

/// The agent has lowered its mode, or a person has restored it. For rooms that record the mode of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeLowered {
    /// None: the configured mode is in force again.
    pub to: Option<Mode>,
}

signal! {
    ModeLowered: Gate, Lossless;
    ReportPowers: Anywhere, Transient;
    RestorePowers: Anywhere, Transient;
    PowersReported: Anywhere, Transient;
}

queries! {
    ReportPowers => PowersReported, of AUTONOMY;
    RestorePowers => PowersReported, of AUTONOMY;
}
