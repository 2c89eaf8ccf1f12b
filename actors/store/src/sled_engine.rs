//! The engine on sled 0.34.7. This is the only file that names it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::engine::{Batch, Engine, Visit};
use super::error::EngineError;
use super::private;

/// In bytes. A page over a quarter of it would become a blob file, which sled never syncs.
const SEGMENT_BYTES: usize = 512 << 10;
/// sled holds its lock for some 100 ms after the last handle is dropped.
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(15);

pub struct SledEngine {
    /// None only during the drop.
    db: Option<sled::Db>,
    /// sled's own flush ends in `sync_file_range`, which doesn't survive a power cut. This handle is for a real sync.
    file: File,
    folder: PathBuf,
}

impl SledEngine {
    /// `page_cache` is in bytes; sled's own default is 1 GiB.
    pub fn open(folder: &Path, page_cache: u64) -> Result<Self, EngineError> {
        let is_new = !folder.join("db").try_exists()?;
        private::make_folder(folder)?;
        if !is_new {
            remove_unfinished_snapshots(folder)?;
            look_through(&folder.join("db"))?;
        }
        let mut tries = 0;
        let db = loop {
            match fenced(|| config(folder, page_cache).open().map_err(from_sled)) {
                Ok(db) => break db,
                Err(EngineError::Locked(why)) => {
                    tries += 1;
                    if tries == LOCK_TRIES {
                        return Err(EngineError::Locked(why));
                    }
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(error) => return Err(error),
            }
        };
        let file = File::open(folder.join("db"))?;
        let engine = Self { db: Some(db), file, folder: folder.to_owned() };
        if is_new {
            engine.sync()?;
            for inside in ["blobs", ""] {
                let path = folder.join(inside);
                if path.is_dir() {
                    File::open(path)?.sync_all()?;
                }
            }
            File::open(folder.join("conf"))?.sync_all()?;
        }
        Ok(engine)
    }

    fn db(&self) -> Result<&sled::Db, EngineError> {
        self.db.as_ref().ok_or_else(|| EngineError::Io("the database is closed".into()))
    }
}

/// sled takes an unfinished snapshot, as after a full disk, for its newest one, and then for damaged.
fn remove_unfinished_snapshots(folder: &Path) -> Result<(), EngineError> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "generating") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// If the disk can't read a part of its log, sled believes that the log ends there, and overwrites the rest with zeros.
/// So each part is read first, which puts it into the page cache.
fn look_through(db: &Path) -> Result<(), EngineError> {
    let file = File::open(db)?;
    let (mut piece, mut at) = (vec![0; SEGMENT_BYTES], 0);
    loop {
        match file.read_at(&mut piece, at)? {
            0 => return Ok(()),
            given => at += given as u64,
        }
    }
}

/// The last handle syncs once more, and panics if the disk refuses. All promised data is on disk by then.
impl Drop for SledEngine {
    fn drop(&mut self) {
        let let_go = || {
            self.db = None;
            Ok(())
        };
        if let Err(error) = fenced(let_go) {
            tracing::error!(%error, "the database could not be synced when it was closed");
        }
    }
}

/// sled's own settings are in a file that never changes. If it differs from that of a new database of this program, it
/// is replaced, and the data stays as it was.
pub fn mend(folder: &Path) -> Result<Option<String>, EngineError> {
    let conf = folder.join("conf");
    let scratch = folder.join("conf.new");
    let written = fenced(|| {
        drop(config(&scratch, 1 << 20).open().map_err(from_sled)?);
        Ok(fs::read(scratch.join("conf"))?)
    });
    let _ = fs::remove_dir_all(&scratch);
    let written = written?;
    match fs::read(&conf) {
        Ok(there) if there == written => return Ok(None),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let file = private::create(&conf)?;
    std::io::Write::write_all(&mut &file, &written)?;
    file.sync_all()?;
    Ok(Some("the database's own settings were damaged and were rewritten".into()))
}

fn config(folder: &Path, page_cache: u64) -> sled::Config {
    sled::Config::new()
        .path(folder)
        .cache_capacity(page_cache)
        .segment_size(SEGMENT_BYTES)
        .flush_every_ms(None)
        .mode(sled::Mode::LowSpace)
}

/// On a damaged file sled panics as often as it returns an error.
fn fenced<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(EngineError::panicked(&text.unwrap_or_else(|| "without a message".into()), in_words))
    })
}

/// sled's error message, without its own data structures.
fn in_words(panic: &str) -> String {
    match panic.split_once(['{', '(']) {
        Some((told, _)) if panic.contains("orrupt") => format!("sled found corrupted data: {}", told.trim()),
        Some((told, _)) => format!("sled gave up: {}", told.trim()),
        None => format!("sled gave up: {panic}"),
    }
}

fn from_sled(error: sled::Error) -> EngineError {
    match error {
        sled::Error::Io(io) if io.kind() == std::io::ErrorKind::WouldBlock => EngineError::Locked(io.to_string()),
        sled::Error::Io(io) if io.to_string().contains("could not acquire lock") => EngineError::Locked(io.to_string()),
        sled::Error::Io(io) => io.into(),
        sled::Error::Corruption { .. } => EngineError::Damaged("sled read other data than it had written".into()),
        other => EngineError::Damaged(other.to_string()),
    }
}

impl Engine for SledEngine {
    fn name(&self) -> &'static str {
        "sled"
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        fenced(|| Ok(self.db()?.get(key).map_err(from_sled)?.map(|value| value.to_vec())))
    }

    fn scan(&self, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        fenced(|| {
            let entries = match to {
                Some(to) if to <= from => return Ok(()),
                Some(to) => self.db()?.range(from..to),
                None => self.db()?.range(from..),
            };
            for entry in entries {
                let (key, value) = entry.map_err(from_sled)?;
                if !visit(&key, &value) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), EngineError> {
        let mut changes = sled::Batch::default();
        for (key, value) in &batch.0 {
            match value {
                Some(value) => changes.insert(key.as_slice(), value.as_slice()),
                None => changes.remove(key.as_slice()),
            }
        }
        fenced(|| self.db()?.apply_batch(changes).map_err(from_sled))
    }

    fn sync(&self) -> Result<(), EngineError> {
        fenced(|| self.db()?.flush().map_err(from_sled))?;
        Ok(self.file.sync_data()?)
    }

    fn size_on_disk(&self) -> u64 {
        folder_size(&self.folder)
    }
}

/// Bytes of the files in a folder, without holes.
pub fn folder_size(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => folder_size(&entry.path()),
        Ok(data) => data.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sled_gives_up_with_is_told_without_its_data_structures() {
        let corrupted = sled::Error::Corruption { at: None, bt: () };
        let panic = format!("called `Result::unwrap()` on an `Err` value: {corrupted:?}");
        let told = [in_words(&panic), from_sled(corrupted).to_string(), in_words("index out of bounds")];
        for text in &told {
            assert!(!text.contains(['{', '(']) && !text.contains("backtrace"), "{text}");
        }
        assert!(told[0].contains("corrupted data") && told[2].contains("index out of bounds"), "{told:?}");
    }
}
