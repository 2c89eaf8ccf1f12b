//! The outcome of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capture::Captured;
use super::processes::{self, LeftProcess};
use super::report::SandboxReport;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, its own or caused by a limit.
    Killed(i32),
    /// At the deadline.
    DeadlinePassed,
    /// By the stop latch.
    Stopped,
    /// It had written more than allowed.
    DiskFilled,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChildOutcome {
    pub ending: Ending,
    pub stdout: Captured,
    pub stderr: Captured,
    pub report: SandboxReport,
    /// Processes that still ran when the command had ended, or that had left its group. All were ended.
    #[serde(default)]
    pub left: Vec<LeftProcess>,
    /// How it passed the disk bound, with [`Ending::DiskFilled`].
    pub filled: Option<String>,
    /// Changed modes of the agent's own folder that were set back, in words.
    #[serde(default)]
    pub restored: Vec<String>,
    #[serde(default)]
    pub times: Times,
}

/// Times from the opening of the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// When the kill was sent to all of it, at the deadline or at the disk bound.
    pub killed: Option<Duration>,
    /// When the command was known to have ended.
    pub ended: Duration,
    /// When none of its processes ran any more.
    pub gone: Duration,
}

/// What programs print when the sandbox has refused a call. git replaces the kernel's own words.
const REFUSED: [&str; 2] = ["Operation not permitted", "writable by group"];
/// Why that may be.
const REFUSALS: &str = "the sandbox answers \u{201c}Operation not permitted\u{201d} to setuid and setgid bits (on folders too: \
                        it sees the mode and not what it is for; leave the bit out, as in `chmod 0775` or `git init` \
                        without --shared), to changes of owner, to new namespaces, sessions and process groups, and to \
                        signals, limits and priorities of other processes";

impl ChildOutcome {
    /// The processes that were left, for a person; `None` if there were none.
    pub fn left_in_words(&self) -> Option<String> {
        let count = self.left.len();
        let they = if count == 1 { "1 process was left and was ended" } else { "processes were left and were ended" };
        let they = if count == 1 { they.to_owned() } else { format!("{count} {they}") };
        (count > 0).then(|| format!("{they}: {}", processes::in_words(&self.left)))
    }

    /// Adds to a tool's output what the sandbox reports of the run: `sandbox_gaps` if the kernel couldn't enforce
    /// everything, `left_running` for processes that were left, `own_files_restored`, and after a failure
    /// `sandbox_notes`.
    pub fn tell(&self, output: &mut Value) {
        let gaps = self.report.gaps();
        if !gaps.is_empty() {
            output["sandbox_gaps"] = gaps.into();
        }
        if let Some(left) = self.left_in_words() {
            output["left_running"] = left.into();
        }
        if !self.restored.is_empty() {
            output["own_files_restored"] = self.restored.clone().into();
        }
        // Worth reading only after a failure.
        let is_refused = REFUSED.iter().any(|words| self.stderr.text.contains(words));
        let mut notes: Vec<&str> = is_refused.then_some(REFUSALS).into_iter().collect();
        if self.ending != Ending::Exited(0) {
            notes.extend(self.report.notes.iter().map(String::as_str));
        }
        if !notes.is_empty() {
            output["sandbox_notes"] = notes.into();
        }
    }

    /// Why it was ended for what it wrote, for a person.
    pub fn filled_in_words(&self) -> String {
        let why = self.filled.as_deref().unwrap_or("it has written more than it may");
        format!("was ended: {why}; what it wrote is still there, except its temporary files")
    }
}
