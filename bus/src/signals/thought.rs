//! What goes on between a percept and an intent.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::intent::{Alternative, Refusal};
use crate::hash::StableHash;
use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::units::Confidence;
use crate::{RegionName, rooms};

/// Who thought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mind {
    Habit,
    Model,
}

/// A step of reasoning, private and in the first person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    pub turn: MessageId,
    pub mind: Mind,
    pub text: String,
    pub confidence: Confidence,
}

/// Habit hands a turn over: something to think about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deliberate {
    pub turn: MessageId,
    pub text: String,
    /// What memory said of it, in words, with its sources: what was lived through, and what causes what.
    pub context: String,
    /// What is generally known.
    #[serde(default)]
    pub knowledge: String,
    /// More of it, for a window that has room.
    #[serde(default)]
    pub extended: String,
    /// Rooms that had something to say, and those that said nothing in time.
    #[serde(default)]
    pub enriched: Vec<String>,
    #[serde(default)]
    pub missing: Vec<String>,
    /// Memories in the context, of whatever layer.
    #[serde(default)]
    pub memories: u32,
    /// With whom one talks: `channel/person`.
    #[serde(default)]
    pub with: String,
    /// What was done in this turn already, oldest first.
    #[serde(default)]
    pub done: Vec<Deed>,
    /// Nothing more is done in this turn: the person is to be answered.
    #[serde(default)]
    pub last: bool,
    /// What is pursued at present, over turns.
    pub goal: Option<String>,
}

/// An action of the turn and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deed {
    pub tool: String,
    pub params: Json,
    pub status: ActionStatus,
    /// Its output or its error, bounded.
    pub outcome: String,
}

/// What deliberation came to; an error hands the turn back to habit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelProposal {
    pub turn: MessageId,
    pub tool: Option<String>,
    pub params: Json,
    pub reasoning: String,
    /// How sure it says it is.
    pub confidence: Option<Confidence>,
    /// What it leant towards before, and did not choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<Alternative>,
    pub error: Option<String>,
}

/// What a call of the model is for. The order is that of their urgency: where calls wait, a review goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Is this action harmful.
    Review,
    /// What to do, by an answer that must be an action: somebody waits for it and nothing is thought on.
    Act,
    /// What to do, perhaps by another thought.
    #[default]
    Deliberate,
}

impl Purpose {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Act => "act",
            Self::Deliberate => "deliberate",
        }
    }
}

/// Asks the model worker for a reply. Costs money, so it is budgeted before it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    pub call: MessageId,
    pub turn: MessageId,
    #[serde(default)]
    pub purpose: Purpose,
    pub system: String,
    pub user: String,
    pub max_tokens: u32,
    /// The tools that a reply may name; a server with schemas is held to them.
    #[serde(default)]
    pub tools: Vec<CallableTool>,
    /// The JSON schema of the reply, where it isn't a thought or an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Json>,
}

impl ModelCall {
    /// Equal for equal requests.
    pub fn hash(&self) -> u64 {
        StableHash::default().add_long(self.system.as_bytes()).add_long(self.user.as_bytes()).get()
    }
}

/// A tool that a reply may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallableTool {
    pub name: String,
    /// The JSON schema of what it takes; none where there are too many tools to give them all.
    pub parameters: Option<Json>,
}

/// The prompt passed the model's window, as its server told; what it didn't tell is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// Tokens of the prompt by the server's own count.
    pub prompt_tokens: Option<u32>,
    /// The window in tokens, prompt and reply together.
    pub window: Option<u32>,
}

/// What the model said, or why it didn't.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    pub call: MessageId,
    pub turn: MessageId,
    pub text: Option<String>,
    pub error: Option<String>,
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    /// The text ends where its tokens ended, not where the model would have ended it.
    #[serde(default)]
    pub is_cut: bool,
    /// The error is that the prompt is too long.
    pub overflow: Option<Overflow>,
    /// The worker went down in the midst of the call, so nobody knows what became of it; it may be asked again.
    #[serde(default)]
    pub lost: bool,
    /// Of what was asked, by [`ModelCall::hash`]: so the journal says what the reply was to.
    #[serde(default)]
    pub request_hash: u64,
    /// From the first request to the reply, retries included.
    #[serde(default)]
    pub seconds: f64,
    /// What its tokens cost, by the configured prices.
    #[serde(default)]
    pub money: f64,
}

impl ModelReply {
    /// No reply, and why.
    pub fn failed(call: &ModelCall, why: impl Into<String>) -> Self {
        Self {
            call: call.call,
            turn: call.turn,
            text: None,
            error: Some(why.into()),
            prompt_tokens: 0,
            completion_tokens: 0,
            is_cut: false,
            overflow: None,
            lost: false,
            request_hash: call.hash(),
            seconds: 0.0,
            money: 0.0,
        }
    }
}

/// What came of an action. A word that this build doesn't know reads as unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", from = "String")]
pub enum ActionStatus {
    Done,
    Failed,
    /// It failed since what does it isn't there.
    Unavailable,
    /// A person may still allow it.
    Asked,
    Blocked,
    Denied,
    Stopped,
    #[default]
    Unknown,
}

impl ActionStatus {
    const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Unavailable,
        Self::Asked,
        Self::Blocked,
        Self::Denied,
        Self::Stopped,
        Self::Unknown,
    ];

    /// By whether it went well.
    pub fn ended(success: Option<bool>) -> Self {
        match success {
            Some(true) => Self::Done,
            Some(false) => Self::Failed,
            None => Self::Unknown,
        }
    }

    /// Whether it went well; nothing where it wasn't tried, or that isn't known.
    pub fn success(self) -> Option<bool> {
        match self {
            Self::Done => Some(true),
            Self::Failed => Some(false),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
            Self::Asked => "asked",
            Self::Blocked => "blocked",
            Self::Denied => "denied",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&str> for ActionStatus {
    fn from(word: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or_default()
    }
}

impl From<String> for ActionStatus {
    fn from(word: String) -> Self {
        word.as_str().into()
    }
}

impl From<Refusal> for ActionStatus {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Asked => Self::Asked,
            Refusal::Blocked => Self::Blocked,
            Refusal::Stopped => Self::Stopped,
            Refusal::Denied => Self::Denied,
        }
    }
}

impl PartialEq<&str> for ActionStatus {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

impl fmt::Display for ActionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An action that was taken in a turn, as its answer lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionSummary {
    pub id: MessageId,
    pub tool: String,
    pub params: Json,
    pub status: ActionStatus,
    pub reason: Option<String>,
}

impl ActionSummary {
    /// Waits for a person, who may still allow it when the turn is over.
    pub fn is_asked(&self) -> bool {
        self.status == ActionStatus::Asked
    }
}

/// The turn is over. The reply stands here for who waits for it; the channel got it by `Outbound` already when `spoken`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    pub turn: MessageId,
    pub channel: String,
    pub reply: Option<String>,
    pub spoken: bool,
    pub actions: Vec<ActionSummary>,
    /// What was wanted was not understood.
    #[serde(default)]
    pub lost: bool,
    /// Why it was done so, as the mind that decided put it; nothing where nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    /// Episodes that the reply and the actions rest on: what is forgotten of them takes the words with it. Of a model's
    /// answer, all that the turn recalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
}

/// Asks which of these turns are still under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyTurns {
    pub turns: Vec<MessageId>,
}

/// Those that are: they will end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnsSurveyed {
    pub open: Vec<MessageId>,
}

signal! {
    SurveyTurns: Anywhere, Transient;
    TurnsSurveyed: Anywhere, Transient;
    Thought: Deliberation, Lossless;
    Deliberate: Deliberation, Lossless;
    ModelProposal: Deliberation, Lossless;
    ModelCall: Anywhere, Transient;
    ModelReply: Anywhere, Lossless;
    TurnEnded: Deliberation, Lossless;
}

impl Query for SurveyTurns {
    type Answer = TurnsSurveyed;
}
impl Addressed for SurveyTurns {
    const OF: RegionName = rooms::HABIT;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_as_its_word_and_an_unknown_word_reads_as_unknown() {
        for status in ActionStatus::ALL {
            let written = serde_json::to_string(&status).expect("plain");
            assert_eq!(written, format!("\"{status}\""));
            assert_eq!(serde_json::from_str::<ActionStatus>(&written).expect("a status"), status);
        }
        assert_eq!(serde_json::from_str::<ActionStatus>("\"vanished\"").expect("read"), ActionStatus::Unknown);
    }
}
