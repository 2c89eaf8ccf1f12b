//! What a person allowed for good, and what the gate knows of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// How far an "always" reaches. Each of these is told in words before it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    /// Exactly this call: this program with these arguments in this folder; a tool with these parameters.
    #[default]
    Call,
    /// This program in this folder, or this tool of a server, with any arguments.
    AnyArguments,
    /// One simple command of this form, in this folder. `*` stands for letters of a word, for a word, or at the end for
    /// any further words.
    Pattern(String),
}

/// What an "always" to a question would cover, in words; or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlwaysOffer {
    Covers(String),
    Not(String),
}

/// Asks the gate what is allowed for good. With an id it takes that grant back first; only the owner can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyGrants {
    pub revoke: Option<String>,
    pub by: String,
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantShown {
    pub id: String,
    pub given: Timestamp,
    pub by: String,
    /// What it covers, in words.
    pub covers: String,
    pub tool: String,
    /// The reasons for asking that it answers. Another reason is asked about all the same.
    pub rules: Vec<String>,
    /// How often something was done by it.
    pub used: u64,
    pub last_used: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantsSurveyed {
    /// The oldest first.
    pub grants: Vec<GrantShown>,
    /// So many can be held.
    pub most: usize,
    /// Why nothing was taken back.
    pub refused: Option<String>,
}

signal! {
    SurveyGrants: Anywhere, Transient;
    GrantsSurveyed: Anywhere, Transient;
}

impl Query for SurveyGrants {
    type Answer = GrantsSurveyed;
}
impl Addressed for SurveyGrants {
    const OF: RegionName = rooms::FEAR_AGENT;
}
