//! The latch's file: small, checksummed, always replaced whole. A file that can't be read means stopped.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags, fsync, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{HeldFolder, LatchState, StopDetail};

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatchRecord {
    pub state: LatchState,
    pub detail: Option<StopDetail>,
}

impl LatchRecord {
    pub fn clear() -> Self {
        Self { state: LatchState::Clear, detail: None }
    }

    /// The record to use when the real one is unknown.
    pub fn stopped(reason: String) -> Self {
        let detail = StopDetail { reason, by: "start-up".into(), at: None };
        Self { state: LatchState::Stopped, detail: Some(detail) }
    }

    /// The stricter of two records. If both allow the same, this one.
    pub fn or_stricter(self, other: Self) -> Self {
        if other.state > self.state { other } else { self }
    }
}

/// The result of opening the file.
#[derive(Debug, PartialEq, Eq)]
pub enum LoadedLatch {
    Read(LatchRecord),
    /// No file and an empty store: the first start.
    Fresh,
    Missing,
    Unreadable(String),
}

impl LoadedLatch {
    pub fn into_record(self) -> LatchRecord {
        match self {
            Self::Read(record) => record,
            Self::Fresh => LatchRecord::clear(),
            Self::Missing => LatchRecord::stopped("the latch file is missing from a used store".into()),
            Self::Unreadable(why) => LatchRecord::stopped(format!("the latch file can't be read: {why}")),
        }
    }
}

pub struct LatchFile {
    path: PathBuf,
    /// Its folder; none if the folder didn't exist yet.
    folder: Option<HeldFolder>,
    /// The newest written record and its generation. An older record must not replace it.
    newest: Mutex<Option<(u64, LatchRecord)>>,
}

impl LatchFile {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), folder: folder_of(path).ok(), newest: Mutex::new(None) }
    }

    /// The folder that holds the file.
    pub fn folder(&self) -> Option<&HeldFolder> {
        self.folder.as_ref()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn load(&self, store_is_used: bool) -> LoadedLatch {
        match fs::read(&self.path) {
            Ok(bytes) => match parse(&bytes) {
                Ok(record) => LoadedLatch::Read(record),
                Err(why) => LoadedLatch::Unreadable(why),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if store_is_used {
                    LoadedLatch::Missing
                } else {
                    LoadedLatch::Fresh
                }
            }
            Err(error) => LoadedLatch::Unreadable(error.to_string()),
        }
    }

    /// Writes beside, syncs, renames, syncs the folder, whatever the folder's mode has become. A record of an older
    /// generation is not written, because the file is newer. A stop begins its generation, so it isn't written after
    /// another record of the same generation either. Returns what the file says then.
    pub fn write(&self, record: &LatchRecord, generation: u64) -> io::Result<LatchRecord> {
        let mut newest = self.newest.lock();
        if let Some((written, there)) = newest.as_ref()
            && (*written > generation || (*written == generation && record.state == LatchState::Stopped))
        {
            return Ok(there.clone());
        }
        let body = serde_json::to_string(record)?;
        let line = format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes()));
        let opened;
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                opened = folder_of(&self.path)?;
                &opened
            }
        };
        let restored = folder.restore();
        if !restored.is_empty() {
            tracing::warn!(restored = restored.join("; "), "the folder of the stop latch had been closed");
        }
        let new = self.path.with_extension("new");
        let (name, beside) = (name_of(&self.path)?, name_of(&new)?);
        let mut file = begin(folder, beside)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        renameat(folder.handle(), beside, folder.handle(), name)?;
        fsync(folder.handle())?;
        *newest = Some((generation, record.clone()));
        Ok(record.clone())
    }

    /// Removes the record of an older generation, unless it says stopped.
    pub fn take_away(&self, generation: u64) {
        let newest = self.newest.lock();
        let is_older =
            |(written, there): &(u64, LatchRecord)| *written < generation && there.state != LatchState::Stopped;
        if newest.as_ref().is_none_or(is_older) {
            let _ = match (&self.folder, self.path.file_name()) {
                (Some(folder), Some(name)) => {
                    folder.restore();
                    unlinkat(folder.handle(), name, AtFlags::empty()).map_err(io::Error::from)
                }
                _ => fs::remove_file(&self.path),
            };
        }
    }
}

fn folder_of(path: &Path) -> io::Result<HeldFolder> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    HeldFolder::open(folder)
}

fn name_of(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Creates an empty file for this user alone. If a file of that name is closed to its owner, it is removed first.
fn begin(folder: &HeldFolder, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let begin = || openat(folder.handle(), name, flags, Mode::RUSR | Mode::WUSR);
    let begun = begin().or_else(|error| match error {
        Errno::ACCESS | Errno::PERM => unlinkat(folder.handle(), name, AtFlags::empty()).and_then(|()| begin()),
        error => Err(error),
    });
    Ok(begun?.into())
}

fn parse(bytes: &[u8]) -> Result<LatchRecord, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let line = text.strip_suffix('\n').ok_or("it is cut off")?;
    let (sum, body) = line.split_once(' ').ok_or("it has no checksum")?;
    if sum != format!("{:08x}", crc32fast::hash(body.as_bytes())) {
        return Err("its checksum is wrong".into());
    }
    serde_json::from_str(body).map_err(|error| error.to_string())
}
