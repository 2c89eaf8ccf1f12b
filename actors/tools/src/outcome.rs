//! The outcome of running a tool. A failure is data.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Why a tool failed, in the kinds that pain and learning distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The parameters don't match the schema or each other.
    InvalidParameters,
    /// The named thing doesn't exist.
    NotFound,
    /// A wall forbids it: the mode, the sandbox, a file's permissions. It says nothing about the action.
    Refused,
    /// It is ambiguous: the text to edit occurs more or less often than expected.
    Ambiguous,
    /// It exceeds the tool's bound.
    TooLarge,
    /// It passed its deadline and was ended.
    Timeout,
    /// The stop latch ended it.
    Stopped,
    /// It ran and reported failure.
    Failed,
    /// The machine failed: disk, device.
    Io,
    /// Something that it needs is missing on this machine, or there is no space. Nothing was tried.
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
    /// A process ran. Its single effects inside the sandbox aren't known.
    ProcessRan,
    /// A server of tools did something. Its effects aren't known.
    ServerActed,
    /// The body moved. The target is its present place.
    BodyMoved,
}

/// A failure and its kind, before it becomes an outcome.
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
            // Nothing was written.
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
    /// Bounded by [`super::Hands::output_cap`]. It says what was cut.
    pub output: Value,
    pub error: Option<String>,
    pub error_kind: Option<ErrorKind>,
    pub side_effects: Vec<SideEffect>,
    /// How good the outcome was, −1 to 1, if the tool can tell. The nucleus accumbens learns from it. Without a value,
    /// success counts as 1. A failure always counts as −1.
    #[serde(skip_serializing_if = "Option::is_none")]
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

    /// Nothing was tried, because something that it needs is missing: `{"available": false, "reason": …}`.
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
    /// Sets the reward, limited to −1 … 1; no reward if it isn't a finite number.
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
