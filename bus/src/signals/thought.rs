//! Everything between a percept and an intent.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::intent::{Alternative, Refusal};
use crate::hash::StableHash;
use crate::ids::MessageId;
use crate::{queries, signal};

use crate::units::Confidence;

/// The origin of a thought.
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

/// Habit hands a turn over to deliberation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deliberate {
    pub turn: MessageId,
    pub text: String,
    /// What memory found, in words, with its sources: experiences and causal links.
    pub context: String,
    /// General knowledge.
    #[serde(default)]
    pub knowledge: String,
    /// More general knowledge, for a window with enough room.
    #[serde(default)]
    pub extended: String,
    /// Rooms that answered, and rooms that did not answer in time.
    #[serde(default)]
    pub enriched: Vec<String>,
    #[serde(default)]
    pub missing: Vec<String>,
    /// Memories in the context, of any layer.
    #[serde(default)]
    pub memories: u32,
    /// The other person in the conversation: `channel/person`.
    #[serde(default)]
    pub with: String,
    /// Actions already done in this turn, oldest first.
    #[serde(default)]
    pub done: Vec<Deed>,
    /// No more actions in this turn: the person must be answered.
    #[serde(default)]
    pub last: bool,
    /// The goal being pursued over several turns.
    pub goal: Option<String>,
}

/// An action of the turn, with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deed {
    pub tool: String,
    pub params: Json,
    pub status: ActionStatus,
    /// Its output or its error, shortened.
    pub outcome: String,
}

/// The result of deliberation. On an error, habit continues the turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelProposal {
    pub turn: MessageId,
    pub tool: Option<String>,
    pub params: Json,
    pub reasoning: String,
    /// Its own statement of confidence.
    pub confidence: Option<Confidence>,
    /// Options that it leaned towards earlier and did not choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<Alternative>,
    pub error: Option<String>,
}

/// The purpose of a model call, the most urgent first: when calls wait, a review goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Decides whether an action is harmful.
    Review,
    /// Decides what to do. The reply must be an action: a person waits, and no further thought follows.
    Act,
    /// Decides what to do, perhaps with another thought.
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

/// Asks the model worker for a reply. It costs money, so it is charged to the budget before it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    pub call: MessageId,
    pub turn: MessageId,
    #[serde(default)]
    pub purpose: Purpose,
    pub system: String,
    pub user: String,
    pub max_tokens: u32,
    /// The tools that a reply may name. A server that supports schemas enforces this.
    #[serde(default)]
    pub tools: Vec<CallableTool>,
    /// The JSON schema of the reply, if it isn't a thought or an action.
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
    /// The JSON schema of its parameters; none when there are too many tools to include all schemas.
    pub parameters: Option<Json>,
}

/// The server reported that the prompt exceeds the model's window. Numbers that it didn't report are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// Tokens of the prompt by the server's own count.
    pub prompt_tokens: Option<u32>,
    /// The window in tokens, prompt and reply together.
    pub window: Option<u32>,
}

/// The model's reply, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    pub call: MessageId,
    pub turn: MessageId,
    pub text: Option<String>,
    pub error: Option<String>,
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
    /// The text was cut because its tokens ran out, not because the model was finished.
    #[serde(default)]
    pub is_cut: bool,
    /// The error is that the prompt is too long.
    pub overflow: Option<Overflow>,
    /// The worker went down during the call, so its result is unknown; it may be asked again.
    #[serde(default)]
    pub lost: bool,
    /// The [`ModelCall::hash`] of the request, so that the journal shows what the reply answers.
    #[serde(default)]
    pub request_hash: u64,
    /// From the first request to the reply, retries included.
    #[serde(default)]
    pub seconds: f64,
    /// The cost of its tokens, by the configured prices.
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

/// The result of an action. A word that this build doesn't know is read as unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", from = "String")]
pub enum ActionStatus {
    Done,
    Failed,
    /// It failed because what performs it is missing.
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

    /// From whether it succeeded.
    pub fn ended(success: Option<bool>) -> Self {
        match success {
            Some(true) => Self::Done,
            Some(false) => Self::Failed,
            None => Self::Unknown,
        }
    }

    /// Whether it succeeded; none when it wasn't tried or the result is unknown.
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

/// An action of a turn, as the turn's answer lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionSummary {
    pub id: MessageId,
    pub tool: String,
    pub params: Json,
    pub status: ActionStatus,
    pub reason: Option<String>,
}

impl ActionSummary {
    /// It waits for a person, who may still allow it after the turn is over.
    pub fn is_asked(&self) -> bool {
        self.status == ActionStatus::Asked
    }
}

/// The turn is over. The reply is here for callers that wait for it. When `spoken`, the channel already got it by
/// `Outbound`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    pub turn: MessageId,
    pub channel: String,
    pub reply: Option<String>,
    pub spoken: bool,
    pub actions: Vec<ActionSummary>,
    /// The request was not understood.
    #[serde(default)]
    pub lost: bool,
    /// The reason, as the part of the mind that decided gave it; none when nothing was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<String>,
    /// Episodes that support the reply and the actions. Forgetting them also removes these words. For a model's
    /// answer: everything that the turn recalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
}

/// Asks which of these turns are still running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyTurns {
    pub turns: Vec<MessageId>,
}

/// The turns still running; each of them will end.
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

queries! {
    SurveyTurns => TurnsSurveyed, of HABIT;
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
