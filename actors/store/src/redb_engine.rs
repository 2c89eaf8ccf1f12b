//! The engine on redb: the second backend.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Database, Durability, ReadableDatabase, TableDefinition, TableError};

use super::engine::{Batch, Engine, Visit};
use super::error::EngineError;
use super::private;

const TREE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("store");

pub struct RedbEngine {
    db: Database,
    path: PathBuf,
}

impl RedbEngine {
    /// `page_cache` is in bytes.
    pub fn open(folder: &Path, page_cache: u64) -> Result<Self, EngineError> {
        private::make_folder(folder)?;
        let path = folder.join("redb");
        let is_new = !path.exists();
        let cache = usize::try_from(page_cache).unwrap_or(usize::MAX);
        let db = fenced(|| Database::builder().set_cache_size(cache).create(&path).map_err(from_redb))?;
        if is_new {
            File::open(folder)?.sync_all()?;
        }
        Ok(Self { db, path })
    }

    fn commit(&self, durability: Durability, batch: &Batch) -> Result<(), EngineError> {
        let mut write = self.db.begin_write().map_err(from_redb)?;
        write.set_durability(durability).map_err(from_redb)?;
        {
            let mut tree = write.open_table(TREE).map_err(from_redb)?;
            for (key, value) in &batch.0 {
                match value {
                    Some(value) => tree.insert(key.as_slice(), value.as_slice()).map_err(from_redb)?,
                    None => tree.remove(key.as_slice()).map_err(from_redb)?,
                };
            }
        }
        write.commit().map_err(from_redb)
    }
}

fn fenced<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map_or("", String::as_str);
        Err(EngineError::panicked(text, |_| "redb panicked".into()))
    })
}

fn from_redb(error: impl Into<redb::Error>) -> EngineError {
    match error.into() {
        redb::Error::Io(io) => io.into(),
        redb::Error::PreviousIo => EngineError::Io("redb had a disk error before".into()),
        redb::Error::DatabaseAlreadyOpen => EngineError::Locked("redb".into()),
        other => EngineError::Damaged(other.to_string()),
    }
}

impl Engine for RedbEngine {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        fenced(|| {
            let read = self.db.begin_read().map_err(from_redb)?;
            match read.open_table(TREE) {
                Ok(tree) => Ok(tree.get(key).map_err(from_redb)?.map(|value| value.value().to_vec())),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(from_redb(error)),
            }
        })
    }

    fn scan(&self, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        fenced(|| {
            let read = self.db.begin_read().map_err(from_redb)?;
            let tree = match read.open_table(TREE) {
                Ok(tree) => tree,
                Err(TableError::TableDoesNotExist(_)) => return Ok(()),
                Err(error) => return Err(from_redb(error)),
            };
            let entries = match to {
                Some(to) if to <= from => return Ok(()),
                Some(to) => tree.range::<&[u8]>(from..to),
                None => tree.range::<&[u8]>(from..),
            };
            for entry in entries.map_err(from_redb)? {
                let (key, value) = entry.map_err(from_redb)?;
                if !visit(key.value(), value.value()) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), EngineError> {
        fenced(|| self.commit(Durability::None, batch))
    }

    fn sync(&self) -> Result<(), EngineError> {
        fenced(|| self.commit(Durability::Immediate, &Batch::default()))
    }

    fn size_on_disk(&self) -> u64 {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(&self.path).map_or(0, |data| data.blocks() * 512)
    }
}
