//! What was done and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::intent::Intent;
use super::outbox::Medium;
use super::program_files::Fixed;
use super::scene::Pose;
use crate::ids::MessageId;
use crate::mode::Powers;
use crate::signal;

/// An action that has begun: the executor does it once this is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutionStarted {
    pub action: MessageId,
    pub intent_id: MessageId,
    pub intent: Intent,
    /// The rule that let it pass.
    pub rule: String,
    /// 1 for the first; more for a repeatable one that a crash interrupted.
    pub attempt: u32,
    /// What the agent might when it was cleared; it is done within these bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The name by which the tool was asked for, where that is another than its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// What is to be taken back, for a call that does that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversal: Option<Json>,
    /// What it may run, as it was when it was allowed: the executor begins only while it is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Fixed>,
    /// What it leaves behind, as its tool says: `read_only`, `reversible` or `irreversible`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// How the body stood when it last told; empty without one.
    #[serde(default, skip_serializing_if = "Pose::is_empty")]
    pub pose: Pose,
}

/// How an action that is about to begin can be taken back. It is on disk before the action's effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReversalPrepared {
    pub action: MessageId,
    pub reversal: Json,
}

/// Nobody knows whether an action happened, and it is not repeated by itself: who wanted it is asked, under the action's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeDoubted {
    pub started: ExecutionStarted,
    /// What is known of it, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub known: String,
}

/// Ends what is known of an action of which nobody knows whether it happened.
pub const NOT_KNOWN: &str = "; whether it happened is not known";
/// Member of such a result's output: what it may have changed is put back, so nobody is asked about it.
pub const PUT_BACK: &str = "put_back";
/// Member of the output of an action that was not begun, because what it would run was changed since it was allowed: what changed,
/// in words.
pub const CHANGED: &str = "changed_since_allowed";

/// Why a tool failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    BadParams,
    UnknownTool,
    NotFound,
    /// A wall refused it: the mode, the sandbox, the rights of a file.
    Denied,
    Timeout,
    Stopped,
    Exhausted,
    Failed,
    /// The action began, and a crash took the knowledge of its end.
    Unknown,
    /// What it needs isn't here: no body, an unconfigured channel, a server that is down, room on the disk. Nothing was tried.
    Unavailable,
}

impl FailureKind {
    /// Whether nothing is learned of the action by it: it was not tried, a wall refused it, or nobody knows how it ended.
    pub fn teaches_nothing(self) -> bool {
        matches!(self, Self::Stopped | Self::Unknown | Self::Unavailable | Self::Denied)
    }
}

/// What an action led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The execution; one intent has one.
    pub action: MessageId,
    pub intent: MessageId,
    pub turn: MessageId,
    pub tool: String,
    pub params: Json,
    /// None when a crash took the knowledge.
    pub success: Option<bool>,
    pub output: Json,
    pub error: Option<String>,
    pub failure: Option<FailureKind>,
    pub duration_us: u64,
    pub side_effects: Vec<String>,
    /// How good what came of it was, −1 to 1, where the tool says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

impl ToolResult {
    /// Nobody knows whether it happened, and what it may have changed stays.
    pub fn is_doubted(&self) -> bool {
        self.failure == Some(FailureKind::Unknown) && self.output[PUT_BACK] != true
    }

    /// What is known of an action of which nobody knows whether it happened.
    pub fn known(&self) -> &str {
        let told = self.error.as_deref().unwrap_or_default();
        told.split_once(NOT_KNOWN).map_or(told, |(known, _)| known)
    }
}

/// Words for a person, through the channel that they came by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    pub turn: MessageId,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    /// The action that says it; the outbox keeps it under this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<MessageId>,
    /// The tool of that action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Medium::is_text")]
    pub medium: Medium,
}

signal! {
    ExecutionStarted: Action, Transient;
    ReversalPrepared: Action, Lossless;
    OutcomeDoubted: Action, Lossless;
    ToolResult: Action, Lossless;
    Outbound: Action, Lossless;
}
