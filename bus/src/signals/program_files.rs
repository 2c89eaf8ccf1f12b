//! Files that a call would run as programs: the gate's request to read them, and what the reader found.
//!
//! The gate never reads the disk. File contents reach it as a signal, so a replay judges the same contents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;

/// One read request. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Wanted {
    /// The text of a file.
    Text { path: String },
    /// Files of `folder` with one of these names; with `upwards`, also those of each folder above it. A name may
    /// begin with `*` (any beginning) or `*/` (any folder); for such names only the names found are reported.
    Beside { folder: String, names: Vec<String>, upwards: bool },
}

/// A file at the time it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    pub path: String,
    /// SHA-256 of its bytes in hexadecimal digits; empty if it was not read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why there is no text, if text was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The answer to one [`Wanted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub wanted: Wanted,
    /// Files that don't exist are left out.
    pub files: Vec<ProgramFile>,
    /// Why the answer is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The gate asks for the contents of these files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadPrograms {
    pub intent: MessageId,
    pub wanted: Vec<Wanted>,
}

/// The reader's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsRead {
    pub intent: MessageId,
    pub found: Vec<Found>,
}

/// The input of a fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// All program and build files of this folder. An absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Other files that the call names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<Wanted>,
}

/// A digest of everything that would run. An allowed call runs only while this digest is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    pub scope: Scope,
    /// SHA-256 over the sorted list of names and digests. Only this is compared.
    pub digest: String,
    /// The beginning of each file's digest by its path, to name what changed. Empty in a sealed fingerprint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Why some files are missing from it. If set, nothing is allowed for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
}

/// Prefix of a path when only the file's name counts.
pub const BESIDE: &str = "beside ";
/// Names of changed files in a message, at most.
const NAMED: usize = 4;

impl Fixed {
    /// Whether it may also cover later calls.
    pub fn is_whole(&self) -> bool {
        self.beyond.is_none()
    }

    /// A copy without the names: what the executor compares.
    pub fn sealed(&self) -> Self {
        Self { files: BTreeMap::new(), ..self.clone() }
    }

    /// What differs from `now`, in words; none when nothing differs.
    pub fn changes(&self, now: &Self) -> Option<String> {
        if self.digest == now.digest && self.scope == now.scope {
            return None;
        }
        let was = |path: &String| self.files.get(path);
        let mut changed: Vec<String> = now
            .files
            .iter()
            .filter(|(path, digest)| was(path) != Some(digest))
            .map(|(path, _)| match was(path) {
                Some(_) => self.shown(path),
                None => format!("{} (new)", self.shown(path)),
            })
            .collect();
        let gone = self.files.keys().filter(|path| !now.files.contains_key(*path));
        changed.extend(gone.map(|path| format!("{} (gone)", self.shown(path))));
        if changed.is_empty() {
            return Some("a file that it may run".into());
        }
        let more = changed.len().saturating_sub(NAMED);
        changed.truncate(NAMED);
        let named = changed.join(", ");
        Some(if more > 0 { format!("{named} and {more} more") } else { named })
    }

    fn shown(&self, path: &str) -> String {
        let path = path.strip_prefix(BESIDE).unwrap_or(path);
        let folder = self.scope.folder.as_deref().unwrap_or_default();
        path.strip_prefix(folder).map(|rest| rest.trim_start_matches('/')).unwrap_or(path).to_owned()
    }
}

/// The gate asks for a fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixPrograms {
    pub intent: MessageId,
    pub scope: Scope,
}

/// The current fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsFixed {
    pub intent: MessageId,
    /// None when it could not be taken.
    pub fixed: Option<Fixed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

signal! {
    ReadPrograms: Anywhere, Transient;
    ProgramsRead: Anywhere, Transient;
    FixPrograms: Anywhere, Transient;
    ProgramsFixed: Anywhere, Transient;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(digest: &str, files: &[(&str, &str)]) -> Fixed {
        let files = files.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect();
        Fixed {
            scope: Scope { folder: Some("/w".into()), wanted: Vec::new() },
            digest: digest.into(),
            files,
            beyond: None,
        }
    }

    #[test]
    fn what_changed_is_named_and_the_digest_alone_decides() {
        let before = fixed("1", &[("/w/a.sh", "a"), ("/w/b.sh", "b")]);
        assert_eq!(before.changes(&before.clone()), None);
        let after = fixed("2", &[("/w/a.sh", "x"), ("/w/sub/c.sh", "c")]);
        assert_eq!(before.changes(&after).as_deref(), Some("a.sh, sub/c.sh (new), b.sh (gone)"));
        assert_eq!(before.changes(&fixed("1", &[])), None, "names are for words");
        assert!(before.sealed().changes(&fixed("2", &[])).is_some());
    }
}
