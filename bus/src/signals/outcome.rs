//! What was done and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal;

/// Why a tool failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    BadParams,
    UnknownTool,
    NotFound,
    Denied,
    Timeout,
    Stopped,
    Exhausted,
    Failed,
    /// The action began, and a crash took the knowledge of its end.
    Unknown,
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
}

/// Words for a person, through the channel that they came by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    pub turn: MessageId,
    pub channel: String,
    pub recipient: String,
    pub text: String,
}

signal! {
    ToolResult: Action, Lossless;
    Outbound: Action, Lossless;
}
