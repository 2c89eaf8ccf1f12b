//! Files that a call would run as programs: what the gate asks about them, and what the reader found.
//!
//! The gate touches no disk. What was read comes as a signal, so a replay judges what was read then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;

/// One thing that is to be read. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Wanted {
    /// The text of a file.
    Text { path: String },
    /// Files of `folder` that have one of these names; where `upwards`, of each folder above it too. A name may begin with
    /// `*` (any beginning) or `*/` (any folder); of those only the names are told.
    Beside { folder: String, names: Vec<String>, upwards: bool },
}

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    pub path: String,
    /// SHA-256 of its bytes in hexadecimal digits; empty where it was not read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why there is no text, where one was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The answer to one [`Wanted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub wanted: Wanted,
    /// A file that isn't there is left out.
    pub files: Vec<ProgramFile>,
    /// Why the answer isn't whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The gate asks what these files say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadPrograms {
    pub intent: MessageId,
    pub wanted: Vec<Wanted>,
}

/// What the reader found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsRead {
    pub intent: MessageId,
    pub found: Vec<Found>,
}

/// What a fingerprint is taken of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// All program and build files of this folder. Absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// And what the call names beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<Wanted>,
}

/// What would run, fixed by digest. What was allowed runs only while this is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fixed {
    pub scope: Scope,
    /// SHA-256 over the sorted list of names and digests. Only this decides.
    pub digest: String,
    /// The beginning of each file's digest by its path, to name what changed. Empty in a sealed one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Why not all files are in it: then nothing is allowed for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
}

/// Before the path of a file of which only the name counts.
pub const BESIDE: &str = "beside ";
/// Names of changed files that are told, at most.
const NAMED: usize = 4;

impl Fixed {
    /// Whether it may stand for later calls.
    pub fn is_whole(&self) -> bool {
        self.beyond.is_none()
    }

    /// The same without the names: what the executor compares.
    pub fn sealed(&self) -> Self {
        Self { files: BTreeMap::new(), ..self.clone() }
    }

    /// What differs from `now`, in words; nothing where nothing does.
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

/// The gate wants a fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixPrograms {
    pub intent: MessageId,
    pub scope: Scope,
}

/// The fingerprint of now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsFixed {
    pub intent: MessageId,
    /// Nothing where it could not be taken.
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
