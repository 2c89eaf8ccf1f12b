//! The store's folder: its lock, and which of its parts count.
//!
//! ```text
//! lock            who holds the folder
//! mark            the number of the last batch on disk
//! reserve         space for a start on a full disk
//! g<n>/           the engine's files; the newest generation with a file `complete` counts
//! pack            sealed blocks
//! backups/<n>/    made on request
//! quarantine/<n>/ what was found damaged, untouched
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::codec::{Reader, seal, unseal};
use super::engine::{Engine, EngineKind};
use super::error::{EngineError, StoreError};
use super::private;
use super::reserve;

/// An ending process unlocks within this time.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(15);
const COMPLETE: &str = "complete";

pub struct Folder {
    pub path: PathBuf,
    /// The generation in use when the store was opened.
    pub generation: u64,
    lock: Mutex<Option<File>>,
    mark: File,
}

impl Folder {
    /// Makes the folder if needed and locks it. Also returns how often it was opened before, by the lock file.
    pub fn lock(path: &Path) -> Result<(Self, u64), StoreError> {
        let bad = |error: io::Error| StoreError::folder(path, &error);
        private::make_folder(path).map_err(bad)?;
        let name = path.join("lock");
        let mut file = private::options().open(name).map_err(bad)?;
        let mut tries = 0;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(bad(error)),
                TryLockError::WouldBlock if tries == LOCK_TRIES => {
                    let holder = match Holder::read(&mut file).pid {
                        0 => "another process (the lock file doesn't give its id)".into(),
                        pid => format!("process {pid}"),
                    };
                    return Err(StoreError::Locked { folder: path.to_owned(), holder });
                }
                TryLockError::WouldBlock => {
                    tries += 1;
                    std::thread::sleep(LOCK_PAUSE);
                }
            }
        }
        let boot = Holder::read(&mut file).boot;
        let mark = private::options().open(path.join("mark")).map_err(bad)?;
        Ok((Self { path: path.to_owned(), generation: 0, lock: Mutex::new(Some(file)), mark }, boot))
    }

    /// Checks that the files of this process are still those in the folder. Files that were removed or replaced still
    /// accept writes, and nobody would find that data again.
    ///
    /// # Errors
    /// A file is missing or was replaced.
    pub fn check_in_place(&self, generation: u64) -> Result<(), EngineError> {
        let gone = |part: &str| {
            let place = self.path.join(part);
            EngineError::Io(format!(
                "{} was removed or replaced while the store is open: put it back, or restart this process",
                place.display()
            ))
        };
        let same = |part: &str, held: &File| -> bool {
            let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
            let here = fs::metadata(self.path.join(part)).map(number);
            here.is_ok_and(|here| held.metadata().is_ok_and(|held| number(held) == here))
        };
        if let Some(lock) = &*self.lock.lock()
            && !same("lock", lock)
        {
            return Err(gone("lock"));
        }
        let database = format!("g{generation}/{COMPLETE}");
        match [database.as_str(), "pack"].into_iter().find(|part| !self.path.join(part).exists()) {
            Some(part) => Err(gone(part)),
            None => Ok(()),
        }
    }

    /// Notes that a batch is on disk. It is written after the batch and not synced, so it never claims too much; a
    /// failure only makes it claim less.
    pub fn mark(&self, serial: u64) {
        let _ = self.mark.write_all_at(&seal(b"mark", &serial.to_le_bytes()), 0);
    }

    /// The last batch that was certainly on disk; 0 if there is no readable note.
    pub fn marked(&self) -> u64 {
        let mut sealed = [0; 12];
        if self.mark.read_exact_at(&mut sealed, 0).is_err() {
            return 0;
        }
        unseal(b"mark", &sealed).and_then(|content| Reader(content).u64()).unwrap_or(0)
    }

    /// The process that holds a store's folder; 0 if the lock file doesn't say.
    pub fn held_by(path: &Path) -> Option<u32> {
        let mut file = File::open(path.join("lock")).ok()?;
        matches!(file.try_lock(), Err(TryLockError::WouldBlock)).then(|| Holder::read(&mut file).pid)
    }

    /// Writes the holder into the lock file.
    pub fn sign(&self, boot: u64) -> Result<(), StoreError> {
        let mut slot = self.lock.lock();
        let Some(file) = slot.as_mut() else { return Err(StoreError::Closed) };
        Holder { pid: std::process::id(), start: process_start(), boot }
            .write(file)
            .map_err(|error| StoreError::folder(&self.path, &error))
    }

    pub fn unlock(&self) {
        *self.lock.lock() = None;
    }

    pub fn engine(&self, generation: u64) -> PathBuf {
        self.path.join(format!("g{generation}"))
    }

    pub fn pack(&self) -> PathBuf {
        self.path.join("pack")
    }

    /// True if there is a pack.
    pub fn has_pack(&self) -> Result<bool, StoreError> {
        self.pack().try_exists().map_err(|error| StoreError::disk(&self.path, error))
    }

    /// The generations, newest first, and whether each was finished. A failed look-up is an error and doesn't count as
    /// absent: otherwise good data could be replaced by an empty store.
    pub fn generations(&self) -> Result<Vec<(u64, bool)>, StoreError> {
        let bad = |error: io::Error| StoreError::disk(&self.path, error);
        let mut found = Vec::new();
        for (number, path) in numbered(&self.path, "g").map_err(bad)?.into_iter().rev() {
            found.push((number, path.join(COMPLETE).try_exists().map_err(bad)?));
        }
        Ok(found)
    }

    /// A new, empty generation. It doesn't count until it is completed.
    pub fn begin_generation(
        &self,
        generation: u64,
        kind: EngineKind,
        page_cache: u64,
    ) -> Result<Arc<dyn Engine>, EngineError> {
        self.remove_generation(generation);
        kind.open(&self.engine(generation), page_cache)
    }

    pub fn complete_generation(&self, generation: u64) -> Result<(), EngineError> {
        let folder = self.engine(generation);
        private::create(&folder.join(COMPLETE))?.sync_all()?;
        File::open(folder)?.sync_all()?;
        Ok(File::open(&self.path)?.sync_all()?)
    }

    /// A generation that can't be removed stays; the next start removes it.
    pub fn remove_generation(&self, generation: u64) {
        let _ = fs::remove_dir_all(self.engine(generation));
    }

    /// Backups, newest first.
    pub fn backups(&self) -> Result<Vec<PathBuf>, StoreError> {
        let found = numbered(&self.path.join("backups"), "").map_err(|error| StoreError::disk(&self.path, error))?;
        Ok(found.into_iter().rev().map(|(_, path)| path).collect())
    }

    pub fn next_backup(&self) -> Result<PathBuf, StoreError> {
        next(&self.path.join("backups"))
    }

    /// Moves parts of the folder aside, unchanged; copies them if the original stays in use.
    pub fn quarantine(&self, parts: &[PathBuf], copy: bool) -> Result<PathBuf, StoreError> {
        let place = next(&self.path.join("quarantine"))?;
        let bad = |error: io::Error| StoreError::disk(&place, error);
        private::make_folder(&place).map_err(bad)?;
        for part in parts {
            let Some(name) = part.file_name().filter(|_| part.exists()) else { continue };
            if !copy {
                fs::rename(part, place.join(name)).map_err(bad)?;
            } else if let Err(error) = copy_whole(part, &place.join(name)) {
                // Half a copy is useless, and each start would leave another.
                let _ = fs::remove_dir_all(&place);
                let size = super::sled_engine::folder_size(part);
                return Err(match StoreError::disk(&place, error) {
                    full if full.is_full() => full_disk(&self.path, size),
                    other => other,
                });
            }
        }
        Ok(place)
    }
}

/// The disk of a folder has no room for a start plus this many bytes.
pub fn full_disk(folder: &Path, beside: u64) -> StoreError {
    StoreError::NoSpace { folder: folder.to_owned(), free: reserve::free(folder), needed: reserve::RESERVE + beside }
}

/// The next of the numbered entries of a folder.
fn next(all: &Path) -> Result<PathBuf, StoreError> {
    let found = numbered(all, "").map_err(|error| StoreError::disk(all, error))?;
    Ok(all.join(format!("{:06}", found.last().map_or(1, |(number, _)| number + 1))))
}

/// Entries of a folder whose names are the prefix and a number, ascending.
pub fn numbered(folder: &Path, prefix: &str) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(prefix)?.parse().ok();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        found.extend(number(&path).map(|number| (number, path)));
    }
    found.sort();
    Ok(found)
}

fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    private::make_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_whole(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// The content of the lock file.
#[derive(Default)]
struct Holder {
    pid: u32,
    /// In clock ticks since the machine started: distinguishes a process from a later one with the same id.
    start: u64,
    boot: u64,
}

impl Holder {
    fn read(file: &mut File) -> Self {
        let mut text = Vec::new();
        let read = file.rewind().and_then(|()| file.take(4096).read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text).into_owned();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        if read.is_err() {
            return Self::default();
        }
        let pid = field("pid ").and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        // A damaged number must not exhaust the epochs.
        let boot = field("boot ").filter(|boot| *boot < 1 << 32).unwrap_or(0);
        Self { pid, start: field("start ").unwrap_or(0), boot }
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        let text = format!("pid {}\nstart {}\nboot {}\n", self.pid, self.start, self.boot);
        // In place, so that a full disk needn't find new room for it.
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }
}

fn process_start() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields are counted after the name, which is in brackets and may contain spaces.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}
