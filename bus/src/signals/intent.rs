//! What the brain wants to do, and how the gate decides.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::grants::{AlwaysOffer, GrantReach};
use super::thought::Mind;
use crate::ids::MessageId;
use crate::mode::Powers;
use crate::signal::Trust;
use crate::{queries, signal};

use crate::units::Confidence;

/// A wish to act. Its message id is its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    pub turn: MessageId,
    pub tool: String,
    pub params: Json,
    pub mind: Mind,
    pub confidence: Confidence,
    /// A person's own words asked for exactly this.
    pub commanded: bool,
    /// The trust of its origin: an intent is never trusted more than its percept.
    pub trust: Trust,
    /// Nobody asked for it: habit chose it by learned value. So no person is asked about it either.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unasked: bool,
    pub goal: Option<String>,
    pub channel: String,
    pub recipient: String,
    /// Tools of the steps that follow it.
    #[serde(default, alias = "alternatives", skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
    /// Alternatives that were considered. Only the first intent of a decision carries them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<Alternative>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// An option that was considered and not chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    pub tool: String,
    /// Null when it had no parameters.
    pub params: Json,
    /// Who thought of it and why it wasn't chosen, with the expected outcome if known.
    pub why: String,
}

/// Autonomy passes it on to the FearAgent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentPermitted {
    pub intent: Intent,
    pub id: MessageId,
    pub policy: String,
    /// A person must be asked even if fear has no objection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<Escalation>,
    /// What the agent may do now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The name in the request, when it differs from the tool's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

/// Why a person must be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    pub rule: String,
    pub reason: String,
}

/// The rule for asking whether to repeat an action that may have happened already.
pub const OUTCOME_UNKNOWN: &str = "outcome.unknown";

/// Why the gate didn't clear an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refusal {
    /// A person may still allow it.
    Asked,
    Blocked,
    /// The stop latch is set, or motion is held.
    Stopped,
    /// A person said no, or no one answered in time.
    Denied,
}

/// The gate refused, or hasn't decided yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentRefused {
    pub intent: MessageId,
    pub turn: MessageId,
    pub tool: String,
    pub refusal: Refusal,
    pub rule: String,
    pub reason: String,
    /// The id under which a person can allow it.
    pub approval: Option<MessageId>,
    /// The time until which a person can allow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What an "always" would cover, when a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<AlwaysOffer>,
}

/// A person decides about an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    pub approval: MessageId,
    pub allow: bool,
    /// Remember the decision, as far as `reach` says.
    pub always: bool,
    #[serde(default)]
    pub reach: GrantReach,
    pub by: String,
    pub at: Timestamp,
}

/// The gate's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionTaken {
    pub approval: MessageId,
    /// False when no open question has this id.
    pub taken: bool,
    /// Why an "always" is impossible with this reach. Then nothing was decided, and the question is still open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What was allowed for good, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
}

queries! {
    ApprovalDecided => DecisionTaken, of FEAR_AGENT;
}

signal! {
    Intent: Deliberation, Lossless;
    IntentPermitted: Gate, Lossless;
    IntentRefused: Gate, Lossless;
    ApprovalDecided: Anywhere, Transient;
    DecisionTaken: Anywhere, Transient;
}
