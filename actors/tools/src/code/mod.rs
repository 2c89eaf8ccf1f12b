//! Looking into code, testing it, and its history: programs of the machine, run contained, and ripgrep's crates.

mod execute_file;
mod git;
mod git_commit;
mod git_diff;
mod readings;
mod run_tests;
mod search_code;
#[cfg(test)]
mod tests;
mod toolchains;

use std::path::PathBuf;
use std::time::Duration;

pub use execute_file::ExecuteFile;
pub use git_commit::GitCommit;
pub use git_diff::GitDiff;
pub use run_tests::RunTests;
pub use search_code::SearchCode;

use super::contained::SandboxPolicy;
use super::{Access, ErrorKind, Hands, Mode, ToolFailure};

/// The longest a call may take: what is asked, but never longer than the agent's own bound.
pub(super) fn deadline(params: &serde_json::Value, hands: &Hands) -> Duration {
    let asked = params["timeout_seconds"].as_u64().map(Duration::from_secs);
    asked.map_or(hands.deadline, |asked| asked.min(hands.deadline))
}

/// A folder that is there and may be worked in.
fn folder(path: &str, hands: &Hands) -> Result<PathBuf, ToolFailure> {
    let folder = hands.resolve(path, Access::Write)?;
    if !folder.is_dir() {
        return Err(ToolFailure::new(ErrorKind::NotFound, format!("path {} isn't a folder", folder.display())));
    }
    Ok(folder)
}

/// Where a contained program may write.
pub(super) fn writable(hands: &Hands) -> Result<Vec<PathBuf>, ToolFailure> {
    Ok(vec![hands.root()?.unwrap_or_else(|| PathBuf::from("/"))])
}

pub(super) fn needs_active(tool: &str, hands: &Hands) -> Result<(), ToolFailure> {
    if hands.mode < Mode::Active {
        let message = format!("{tool} needs active mode; this is {} mode", hands.mode.as_str());
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    Ok(())
}

/// A program on the sandbox's search path; the error names the fix.
fn program(policy: &SandboxPolicy, name: &str, fix: &str) -> Result<PathBuf, ToolFailure> {
    policy.find(name).ok_or_else(|| {
        let message = format!("{name} isn't on this machine (looked in {}); {fix}", policy.path);
        ToolFailure::new(ErrorKind::Unavailable, message)
    })
}

/// The end of a text, cut at a line.
fn tail(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - bytes);
    text[from..].split_once('\n').map_or(&text[from..], |(_, rest)| rest)
}
