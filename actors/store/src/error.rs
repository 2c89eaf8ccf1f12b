//! Errors of the store, with the thing, the value and the fix.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxim_bus::ids::{Epoch, Lsn};

use super::replica::ReplicaError;

/// An error of an engine or the pack.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no space left on the store's disk: free some; the store then continues by itself")]
    Full,
    #[error("damaged: {0}")]
    Damaged(String),
    #[error("input/output: {0}")]
    Io(String),
    #[error("the database is locked by another handle: {0}")]
    Locked(String),
}

impl EngineError {
    /// The data may be intact: the system refused a read or a write.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Full | Self::Io(_))
    }

    /// The panic of a library. A system error in it counts as that error.
    pub(super) fn panicked(text: &str, in_words: impl FnOnce(&str) -> String) -> Self {
        match system_error(text) {
            Some(error) => error.into(),
            None => Self::Damaged(in_words(text)),
        }
    }
}

/// A system error in `Debug` form, as in libraries that pass on copies.
fn system_error(text: &str) -> Option<io::Error> {
    let code = text.split_once("Os { code: ")?.1;
    let code = code.split_once(',')?.0.parse().ok()?;
    Some(io::Error::from_raw_os_error(code))
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let error = match error.raw_os_error() {
            Some(_) => error,
            None => system_error(&error.to_string()).unwrap_or(error),
        };
        match (error.kind(), error.raw_os_error()) {
            (Kind::StorageFull | Kind::QuotaExceeded, _) => Self::Full,
            (Kind::UnexpectedEof, _) => Self::Damaged("the file ends early".into()),
            // A missing or wrong file, or an invalid place in a file, isn't the disk's fault.
            (Kind::NotFound | Kind::IsADirectory | Kind::NotADirectory | Kind::InvalidInput, _) | (_, None) => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Io(error.to_string()),
        }
    }
}

/// Opening, reading or copying the store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store in {folder} is in use by {holder}: stop that process, or give another data folder")]
    Locked { folder: PathBuf, holder: String },
    #[error(
        "the store in {folder} has format {found}, this program reads format {known} alone: \
         run the newer program, or restore a backup made with format {known}"
    )]
    Newer { folder: PathBuf, found: u32, known: u32 },
    #[error(
        "the store in {folder} has format {found}, this program reads format {known} alone: \
         run the build that made it, restore a backup made with format {known}, or give another data folder"
    )]
    Older { folder: PathBuf, found: u32, known: u32 },
    #[error("{what} of agent {agent}, region {region}: {why}; run a repair, or restore a backup")]
    Damaged { agent: String, region: String, what: String, why: String },
    #[error(
        "the store's folder {folder} can't be used ({why}): check its permissions, the limit of open files and the disk, \
         or name another"
    )]
    Folder { folder: PathBuf, why: String },
    #[error("{place} can't be read or written now ({why}), so nothing there was changed or put aside: {fix}")]
    Refused { place: PathBuf, why: String, fix: &'static str },
    #[error(
        "the disk of {folder} is full: {free} bytes are free, opening the store takes up to {needed}; nothing is lost and \
         nothing was put aside: free that much, then start again"
    )]
    NoSpace { folder: PathBuf, free: u64, needed: u64 },
    #[error("the store's database: {0}")]
    Engine(#[from] EngineError),
    #[error("{path} is no usable backup: {why}")]
    BadBackup { path: PathBuf, why: String },
    #[error(
        "the store in {folder} was made by {made_by}, and {wanted} is asked for: set store.engine to {made_by}, \
         convert it with `maxim memory convert`, or give another data folder"
    )]
    OtherEngine { folder: PathBuf, made_by: &'static str, wanted: &'static str },
    #[error(
        "the store in {folder} stands at {found} and the journal on other machines at {expected}: give another data folder, \
         which is filled from there"
    )]
    OtherHistory { folder: PathBuf, found: String, expected: String },
    #[error(
        "the store in {0} is one of several machines' and follows a journal of theirs: set nats.url, or make it independent with \
         `maxim machines leave`"
    )]
    Replicated(PathBuf),
    #[error("entry {sequence} of the journal on other machines can't be used: {why}")]
    BadEntry { sequence: u64, why: String },
    #[error("{0}: check that it can be reached, and that no other machine runs the agent")]
    Replica(#[from] ReplicaError),
    #[error("{0} is not empty: restore into an empty folder, or move its content away first")]
    NotEmpty(PathBuf),
    #[error("the store is kept in memory only: there is nothing on disk to {0}")]
    InMemory(&'static str),
    #[error("the store is closed")]
    Closed,
    #[error(transparent)]
    NotDurable(#[from] NotDurable),
}

impl StoreError {
    pub(super) fn folder(folder: &Path, error: &io::Error) -> Self {
        Self::Folder { folder: folder.to_owned(), why: error.to_string() }
    }

    /// As [`StoreError::folder`], but a full disk has its own error.
    pub(super) fn disk(place: &Path, error: io::Error) -> Self {
        match EngineError::from(error) {
            EngineError::Damaged(why) => Self::Folder { folder: place.to_owned(), why },
            refused => refused.into(),
        }
    }

    /// True if the disk is full.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Engine(EngineError::Full) | Self::NoSpace { .. })
    }
}

/// The fix for a system error.
pub(super) fn fix_of(why: &str) -> &'static str {
    let is_one_of = |codes: [i32; 3]| codes.iter().any(|code| why.contains(&format!("(os error {code})")));
    if is_one_of([libc::EACCES, libc::EPERM, libc::EROFS]) {
        "let this user read and write there, then start again"
    } else if is_one_of([libc::EMFILE, libc::ENFILE, libc::ENOMEM]) {
        "raise the limits of open files and memory, then start again"
    } else {
        "start again; if the error stays, check the disk, or restore a backup into another folder"
    }
}

/// Accepted data isn't on disk, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDurable {
    /// It stays accepted and is written when the cause is gone.
    #[error("not on disk yet: {0}")]
    Degraded(Arc<str>),
    #[error("not on disk: the store is closed")]
    Closed,
    #[error("not on disk within the time given")]
    TimedOut,
    #[error("not on disk: {0} was never accepted")]
    Unknown(Lsn),
}

/// A commit was refused. Nothing of it happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    #[error("an older incarnation ({given:?}) wanted to commit, the region is at {current:?}: it must end")]
    Fenced { given: Epoch, current: Epoch },
    #[error("{waiting} bytes wait for the disk, the limit is {limit}: take no more until the disk is back")]
    Full { waiting: usize, limit: usize },
    #[error("{what} of {size} bytes is too large: the limit is {limit}")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("the store is closed")]
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_no_damage_and_what_a_library_makes_up_is() {
        for code in [libc::EIO, libc::EACCES, libc::EPERM, libc::EROFS, libc::EMFILE, libc::ENFILE, libc::ENOMEM] {
            let copy = io::Error::other(format!("{:?}", io::Error::from_raw_os_error(code)));
            let panic = format!("called `Result::unwrap()` on an `Err` value: Io({copy:?})");
            for error in
                [io::Error::from_raw_os_error(code).into(), copy.into(), EngineError::panicked(&panic, str::to_owned)]
            {
                assert!(matches!(&error, EngineError::Io(why) if why.contains(&format!("os error {code}"))), "{error}");
            }
        }
        for code in [libc::ENOSPC, libc::EDQUOT] {
            let copy = io::Error::other(format!("{:?}", io::Error::from_raw_os_error(code)));
            assert!(matches!(copy.into(), EngineError::Full));
        }
        for code in [libc::ENOENT, libc::EISDIR, libc::ENOTDIR, libc::EINVAL] {
            assert!(matches!(io::Error::from_raw_os_error(code).into(), EngineError::Damaged(_)), "{code}");
        }
        let made_up = [io::Error::other("a page of another kind"), io::ErrorKind::UnexpectedEof.into()];
        assert!(made_up.into_iter().all(|error| matches!(error.into(), EngineError::Damaged(_))));
        assert!(matches!(EngineError::panicked("index out of bounds", str::to_owned), EngineError::Damaged(_)));
    }
}
