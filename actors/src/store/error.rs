//! What can go wrong in the store, said with the thing, the value and the fix.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxim_bus::ids::{Epoch, Lsn};

/// What an engine or the pack answers instead of a result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no space left on the disk of the store: free some, it goes on by itself")]
    Full,
    #[error("damaged: {0}")]
    Damaged(String),
    #[error("input/output: {0}")]
    Io(String),
    #[error("the database is locked by another handle: {0}")]
    Locked(String),
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::UnexpectedEof => Self::Damaged("the file ends early".into()),
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
        "the store in {folder} has format {found}, this program reads up to format {known}: \
         run the newer program, or restore a backup made with format {known}"
    )]
    Newer { folder: PathBuf, found: u32, known: u32 },
    #[error("{what} of agent {agent}, region {region}: {why}; run a repair, or restore a backup")]
    Damaged { agent: String, region: String, what: String, why: String },
    #[error("the store's folder {folder} can't be used: {why}")]
    Folder { folder: PathBuf, why: String },
    #[error("the store's database: {0}")]
    Engine(#[from] EngineError),
    #[error("{path} is no usable backup: {why}")]
    BadBackup { path: PathBuf, why: String },
    #[error(
        "the store in {folder} was made by {made_by}, and {wanted} is asked for: set store.engine to {made_by}, \
         convert it with `maxim memory convert`, or give another data folder"
    )]
    OtherEngine { folder: PathBuf, made_by: &'static str, wanted: &'static str },
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
}

/// What was accepted isn't on disk, and why.
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

/// A commit that wasn't taken. Nothing of it happened.
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
