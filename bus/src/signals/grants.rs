//! What a person allowed for good, and how the gate reports it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{queries, signal};

/// The reach of an "always". The person reads each reach in words before granting it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    /// Exactly this call: this program with these arguments in this folder, or a tool with these parameters.
    #[default]
    Call,
    /// This program in this folder, or this tool of a server, with any arguments.
    AnyArguments,
    /// One simple command of this form, in this folder. `*` stands for part of a word, for a whole word, or at the
    /// end for any further words.
    Pattern(String),
}

/// What an "always" would cover for a question, in words; or why none is possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlwaysOffer {
    Covers(String),
    Not(String),
}

/// Asks the gate what is allowed for good. With an id, the gate revokes that grant first; only the owner can do that.
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
    /// The reasons for asking that this grant covers. Any other reason still leads to a question.
    pub rules: Vec<String>,
    /// How many actions it allowed.
    pub used: u64,
    pub last_used: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantsSurveyed {
    /// The oldest first.
    pub grants: Vec<GrantShown>,
    /// The maximum number of grants.
    pub most: usize,
    /// Why nothing was revoked.
    pub refused: Option<String>,
}

signal! {
    SurveyGrants: Anywhere, Transient;
    GrantsSurveyed: Anywhere, Transient;
}

queries! {
    SurveyGrants => GrantsSurveyed, of FEAR_AGENT;
}
