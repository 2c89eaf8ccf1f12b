//! What the brain wants to do, and what the gate says of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::grants::{AlwaysOffer, GrantReach};
use super::thought::Mind;
use crate::ids::MessageId;
use crate::mode::Powers;
use crate::signal;
use crate::signal::Trust;
use crate::signal::{Addressed, Query};
use crate::units::Confidence;
use crate::{RegionName, rooms};

/// A wish to act. Its message id names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    pub turn: MessageId,
    pub tool: String,
    pub params: Json,
    pub mind: Mind,
    pub confidence: Confidence,
    /// The person's own words asked for exactly this.
    pub commanded: bool,
    /// The trust of what led to it: an intent is never trusted more than its percept.
    pub trust: Trust,
    /// Nobody wanted it: habit does it by learned value. So nobody is asked about it either.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unasked: bool,
    pub goal: Option<String>,
    pub channel: String,
    pub recipient: String,
    /// Tools of the steps that come after it.
    #[serde(default, alias = "alternatives", skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
    /// What could have been done instead; with the first intent of a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<Alternative>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What was considered and not chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    pub tool: String,
    /// Null where none were named.
    pub params: Json,
    /// Who thought of it and why it wasn't taken, with what was expected of it where that is known.
    pub why: String,
}

/// Autonomy lets it go on to the FearAgent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentPermitted {
    pub intent: Intent,
    pub id: MessageId,
    pub policy: String,
    /// A person is to be asked even where fear has nothing against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Escalation>,
    /// What the agent may now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The name by which the tool was asked for, where that is another than its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

/// Why a person is to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    pub rule: String,
    pub reason: String,
}

/// The rule of a question whether something is done again that may have been done already.
pub const OUTCOME_UNKNOWN: &str = "outcome.unknown";

/// How the gate ended an intent that it didn't clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refusal {
    /// A person may still allow it.
    Asked,
    Blocked,
    /// The stop latch is set, or motion is held.
    Stopped,
    /// A person said no, or nobody answered in time.
    Denied,
}

/// The gate said no, or not yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentRefused {
    pub intent: MessageId,
    pub turn: MessageId,
    pub tool: String,
    pub refusal: Refusal,
    pub rule: String,
    pub reason: String,
    /// Under which a person can allow it.
    pub approval: Option<MessageId>,
    /// Until when a person can allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What an "always" would cover, where a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<AlwaysOffer>,
}

/// A person decides about an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    pub approval: MessageId,
    pub allow: bool,
    /// Remember it, as far as `reach` says.
    pub always: bool,
    #[serde(default)]
    pub reach: GrantReach,
    pub by: String,
    pub at: Timestamp,
}

/// What the gate made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTaken {
    pub approval: MessageId,
    /// False when nothing was asked under it any more.
    pub taken: bool,
    /// Why an "always" can't be given so. Nothing was decided then, and the question is still open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What was allowed for good, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
}

impl Query for ApprovalDecided {
    type Answer = DecisionTaken;
}
impl Addressed for ApprovalDecided {
    const OF: RegionName = rooms::FEAR_AGENT;
}

signal! {
    Intent: Deliberation, Lossless;
    IntentPermitted: Gate, Lossless;
    IntentRefused: Gate, Lossless;
    ApprovalDecided: Anywhere, Transient;
    DecisionTaken: Anywhere, Transient;
}
