//! Actions and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::intent::Intent;
use super::outbox::Medium;
use super::program_files::Fixed;
use super::scene::Pose;
use crate::ids::MessageId;
use crate::mode::Powers;
use crate::signal;

/// An action has begun. The executor performs it once this is durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutionStarted {
    pub action: MessageId,
    pub intent_id: MessageId,
    pub intent: Intent,
    /// The rule that allowed it.
    pub rule: String,
    /// 1 for the first attempt; higher for a repeatable action that a crash interrupted.
    pub attempt: u32,
    /// What the agent was allowed to do when the action was cleared. The action stays within these bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powers: Option<Powers>,
    /// The name in the request, when it differs from the tool's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The action to undo, for a call that undoes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversal: Option<Json>,
    /// The programs it may run, fingerprinted when it was allowed. The executor begins only if the fingerprint is
    /// unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Fixed>,
    /// Its lasting effect, as its tool declares: `read_only`, `reversible` or `irreversible`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// The body's last reported pose; empty without a body.
    #[serde(default, skip_serializing_if = "Pose::is_empty")]
    pub pose: Pose,
}

/// How to undo an action that is about to begin. It is on disk before the action has any effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReversalPrepared {
    pub action: MessageId,
    pub reversal: Json,
}

/// Whether an action happened is unknown, and it isn't repeated by itself. The person who wanted it is asked, under
/// the action's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeDoubted {
    pub started: ExecutionStarted,
    /// What is known of it, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub known: String,
}

/// Suffix of a description when it is unknown whether the action happened.
pub const NOT_KNOWN: &str = "; whether it happened is not known";
/// Member of such a result's output: its possible changes were undone, so no person is asked about it.
pub const PUT_BACK: &str = "put_back";
/// Member of the output of an action that was not begun, because the program changed after the action was allowed.
/// Its value says in words what changed.
pub const CHANGED: &str = "changed_since_allowed";

/// Why a tool failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    BadParams,
    UnknownTool,
    NotFound,
    /// A boundary refused it: the mode, the sandbox, or a file's permissions.
    Denied,
    Timeout,
    Stopped,
    Exhausted,
    Failed,
    /// The action began, and a crash lost its result.
    Unknown,
    /// Something it needs is missing: a body, a configured channel, a running server, disk space. Nothing was tried.
    Unavailable,
}

impl FailureKind {
    /// Whether the result teaches nothing about the action: it was not tried, a boundary refused it, or its end is
    /// unknown.
    pub fn teaches_nothing(self) -> bool {
        matches!(self, Self::Stopped | Self::Unknown | Self::Unavailable | Self::Denied)
    }
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The execution's id; one intent has one execution.
    pub action: MessageId,
    pub intent: MessageId,
    pub turn: MessageId,
    pub tool: String,
    pub params: Json,
    /// None when a crash lost the result.
    pub success: Option<bool>,
    pub output: Json,
    pub error: Option<String>,
    pub failure: Option<FailureKind>,
    pub duration_us: u64,
    pub side_effects: Vec<String>,
    /// How good the result was, −1 to 1, if the tool says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

impl ToolResult {
    /// Whether it happened is unknown, and its possible changes have not been undone.
    pub fn is_doubted(&self) -> bool {
        self.failure == Some(FailureKind::Unknown) && self.output[PUT_BACK] != true
    }

    /// What is known of an action for which it is unknown whether it happened.
    pub fn known(&self) -> &str {
        let told = self.error.as_deref().unwrap_or_default();
        told.split_once(NOT_KNOWN).map_or(told, |(known, _)| known)
    }
}

/// Words for a person, on the channel that they used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    pub turn: MessageId,
    pub channel: String,
    pub recipient: String,
    pub text: String,
    /// The action that sends it; the outbox keeps it under this id.
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
