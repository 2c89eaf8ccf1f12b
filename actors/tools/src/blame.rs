//! The cause of a command's failure: a wall of the sandbox, a full disk, or the command itself.
//!
//! Law: a failed command's error output may name a refused path outside its writable folders, a missing network or a
//! full disk. Such a failure says nothing about the command. In doubt the command itself failed.

use std::path::Path;

use super::contained::Network;
use super::{ErrorKind, Hands, Mode, ToolOutcome};

/// The kernel's words for a refusal.
const REFUSED: [&str; 4] = ["permission denied", "operation not permitted", "read-only file system", "permissionerror"];
const FULL: [&str; 2] = ["no space left on device", "disk quota exceeded"];
/// What programs print without a network.
const CUT_OFF: [&str; 6] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "unable to resolve host address",
    "network is unreachable",
    "could not resolve hostname",
];
/// Lines of the error output that are checked, from the end.
const LINES: usize = 50;

/// The outcome of a command in this folder. A failure caused by a wall is reported as such.
pub(super) fn blamed(outcome: ToolOutcome, cwd: &Path, hands: &Hands) -> ToolOutcome {
    if outcome.error_kind != Some(ErrorKind::Failed) || outcome.output.get("exit_code").is_none() {
        return outcome;
    }
    let text = ["stderr", "stdout"].map(|name| outcome.output[name].as_str().unwrap_or_default());
    let lines = || text[0].lines().rev().take(LINES).chain(text[1].lines().rev().take(LINES));
    let found = lines().find_map(|line| of_line(line, cwd, hands));
    let Some((kind, why)) = found else { return outcome };
    let message = format!("{}: {why}", outcome.error.as_deref().unwrap_or("the command failed"));
    ToolOutcome { error: Some(message), error_kind: Some(kind), ..outcome }
}

fn of_line(line: &str, cwd: &Path, hands: &Hands) -> Option<(ErrorKind, String)> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if says(&FULL) {
        return Some((ErrorKind::Unavailable, "the disk is full; free some space and try again".into()));
    }
    if hands.sandbox.network == Network::Off && says(&CUT_OFF) {
        return Some((ErrorKind::Refused, "programs in the sandbox have no network".into()));
    }
    if !says(&REFUSED) {
        return None;
    }
    let root = match hands.root() {
        Ok(Some(root)) if hands.mode == Mode::Active => root,
        _ => return None,
    };
    let outside = line
        .split(|c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]<>=".contains(c))
        .filter(|word| word.starts_with('/') || word.starts_with("../") || word.contains("/../"))
        .map(|word| crate::places::resolved(&cwd.join(word)))
        .find(|path| !path.starts_with(&root))?;
    let (outside, root) = (outside.display(), root.display());
    Some((
        ErrorKind::Refused,
        format!(
            "the sandbox refused {outside}; in active mode programs write inside of {root} alone, and read that and the system's own"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ToolFailure;
    use super::*;

    #[test]
    fn a_wall_and_a_full_disk_are_told_from_the_commands_own_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().canonicalize().expect("real").join("work");
        std::fs::create_dir(&work).expect("made");
        let hands = Hands::new(&work, Mode::Active, folder.path().join("saved"));
        let kind = |stderr: &str, hands: &Hands| {
            let failure = ToolFailure::new(ErrorKind::Failed, "the command ended with exit code 1");
            let output = json!({"stdout": "", "stderr": stderr, "exit_code": 1});
            blamed(ToolOutcome::failed(failure).with_output(output), &work, hands).error_kind
        };
        let inside = format!("bash: {}/x: Permission denied", work.display());
        for (stderr, expected) in [
            ("touch: cannot touch '/somewhere/else/made.txt': Permission denied", ErrorKind::Refused),
            ("PermissionError: [Errno 13] Permission denied: '/etc/x'", ErrorKind::Refused),
            ("touch: cannot touch '../made.txt': Permission denied", ErrorKind::Refused),
            ("curl: (6) Could not resolve host: a.example", ErrorKind::Refused),
            ("dd: error writing 'x': No space left on device", ErrorKind::Unavailable),
            ("bash: ./run.sh: Permission denied", ErrorKind::Failed),
            (inside.as_str(), ErrorKind::Failed),
            ("error: /etc/x is odd", ErrorKind::Failed),
            ("", ErrorKind::Failed),
        ] {
            assert_eq!(kind(stderr, &hands), Some(expected), "{stderr}");
        }
    }
}
