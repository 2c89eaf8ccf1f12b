//! What came of running a tool. A tool that failed is data.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Why a tool failed, in kinds that pain and learning tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The parameters don't fit the schema, or each other.
    InvalidParameters,
    /// What it names isn't there.
    NotFound,
    /// A wall forbids it: the mode, the sandbox, the rights of a file. It says nothing about the action.
    Refused,
    /// It could mean several things: the text to edit stands there more or less often than expected.
    Ambiguous,
    /// It is bigger than the tool's bound.
    TooLarge,
    /// It took longer than its deadline and was ended.
    Timeout,
    /// The stop latch ended it.
    Stopped,
    /// It ran and said that it failed.
    Failed,
    /// The machine failed: disk, device.
    Io,
    /// What it needs isn't on this machine, or there is no room for it. Nothing was tried.
    Unavailable,
}

/// Something outside the brain that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideEffect {
    pub kind: SideEffectKind,
    /// A path or a command.
    pub target: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffectKind {
    FileCreated,
    FileChanged,
    FileRemoved,
    FolderCreated,
    /// A process ran; what it did inside its sandbox isn't known one by one.
    ProcessRan,
    /// A server of tools did something; what that was isn't known.
    ServerActed,
    /// The body moved; the target is where it is now.
    BodyMoved,
}

/// A failure with its kind, before it becomes an outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    pub kind: ErrorKind,
    /// Names the thing, the value and the fix.
    pub message: String,
}

impl ToolFailure {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A system error about a path.
    pub fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Refused,
            // Nothing was written, whatever it was.
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Unavailable,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("{doing} {}: {error}", path.display()))
    }
}

/// The result of one run. Serialises as the record that memory, pain and learning get; the executor adds the duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub success: bool,
    /// Bounded by [`super::Hands::output_cap`]; what was cut is said in it.
    pub output: Value,
    pub error: Option<String>,
    pub error_kind: Option<ErrorKind>,
    pub side_effects: Vec<SideEffect>,
    /// How good what came of it was, −1 to 1, where the tool can say; the nucleus accumbens learns from it. Without one a
    /// success counts as 1. What failed counts as −1, whatever stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

impl ToolOutcome {
    pub fn done(output: Value) -> Self {
        Self { success: true, output, error: None, error_kind: None, side_effects: Vec::new(), reward: None }
    }

    pub fn failed(failure: ToolFailure) -> Self {
        Self {
            success: false,
            output: Value::Null,
            error: Some(failure.message),
            error_kind: Some(failure.kind),
            side_effects: Vec::new(),
            reward: None,
        }
    }

    /// Nothing was tried, because what it needs isn't here: `{"available": false, "reason": …}`.
    pub fn unavailable(reason: &str) -> Self {
        let output = json!({"available": false, "reason": reason});
        Self::failed(ToolFailure::new(ErrorKind::Unavailable, reason)).with_output(output)
    }

    pub fn with_output(mut self, output: Value) -> Self {
        self.output = output;
        self
    }

    pub fn with_effect(mut self, kind: SideEffectKind, target: impl Into<String>) -> Self {
        self.side_effects.push(SideEffect { kind, target: target.into() });
        self
    }
}

impl ToolOutcome {
    /// What came of it was as good as this; held to −1 … 1, and nothing where it is no number.
    pub fn with_reward(mut self, reward: f64) -> Self {
        self.reward = reward.is_finite().then(|| reward.clamp(-1.0, 1.0));
        self
    }
}

impl From<Result<ToolOutcome, ToolFailure>> for ToolOutcome {
    fn from(result: Result<ToolOutcome, ToolFailure>) -> Self {
        result.unwrap_or_else(Self::failed)
    }
}
