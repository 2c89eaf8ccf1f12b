//! The ordered key-value engine below the store, and the switch that makes it fail for tests.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::error::EngineError;
use super::memory_engine::MemoryEngine;
use super::redb_engine::RedbEngine;
use super::sled_engine::SledEngine;

/// Largest value for an engine, in bytes. With sled's segments of 512 KB, a leaf of 16 such values stays below 128 KB.
/// From that size on sled makes a blob file, and blob files are never synced.
pub const VALUE_LIMIT: usize = 4 * 1024 + 256;
/// Largest key for an engine, in bytes.
pub const KEY_LIMIT: usize = 512;

/// A key's new value; `None` deletes it.
pub type Change = (Vec<u8>, Option<Vec<u8>>);

/// Changes that happen together or not at all; for one key the later change counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch(pub Vec<Change>);

impl Batch {
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.0.push((key, Some(value)));
    }

    pub fn delete(&mut self, key: Vec<u8>) {
        self.0.push((key, None));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses data that an engine couldn't store safely, with key and size.
    pub fn check(&self) -> Result<(), EngineError> {
        for (key, value) in &self.0 {
            let size = value.as_ref().map_or(0, Vec::len);
            if key.len() > KEY_LIMIT || size > VALUE_LIMIT {
                let key_size = key.len();
                return Err(EngineError::Io(format!(
                    "a key of {key_size} bytes with a value of {size} is over the limits {KEY_LIMIT} and {VALUE_LIMIT}"
                )));
            }
        }
        Ok(())
    }
}

/// Called with each key and value of a scan; returning false ends the scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> bool + 'a;

/// An ordered key-value tree with atomic batches.
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError>;
    /// Ascending from `from` (included) to `to` (excluded, or the end).
    fn scan(&self, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), EngineError>;
    /// All or nothing; visible to reads at once, on disk only after [`Engine::sync`].
    fn apply(&self, batch: &Batch) -> Result<(), EngineError>;
    /// Everything applied so far is on disk when this returns.
    fn sync(&self) -> Result<(), EngineError>;
    fn size_on_disk(&self) -> u64;
}

/// Bytes of an engine's page cache by default.
pub const PAGE_CACHE: u64 = 32 << 20;

/// The engine of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    #[default]
    Sled,
    Redb,
    /// Nothing is on disk: all data is lost when the process ends.
    Memory,
}

impl EngineKind {
    /// Its word in a configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sled => "sled",
            Self::Redb => "redb",
            Self::Memory => "memory",
        }
    }

    /// The engine of a generation's folder.
    pub(super) fn of(generation: &Path) -> Result<Self, EngineError> {
        Ok(if generation.join("redb").try_exists()? { Self::Redb } else { Self::Sled })
    }

    /// `page_cache` is in bytes.
    pub(super) fn open(self, folder: &Path, page_cache: u64) -> Result<Arc<dyn Engine>, EngineError> {
        Ok(match self {
            Self::Sled => Arc::new(SledEngine::open(folder, page_cache)?),
            Self::Redb => Arc::new(RedbEngine::open(folder, page_cache)?),
            Self::Memory => Arc::new(MemoryEngine::default()),
        })
    }

    /// Recreates damaged files that an engine needs beside the data, and says which; `None` if the damage is elsewhere.
    pub(super) fn mend(self, folder: &Path) -> Result<Option<String>, EngineError> {
        match self {
            Self::Sled => super::sled_engine::mend(folder),
            Self::Redb | Self::Memory => Ok(None),
        }
    }
}

/// Copies every key of `from` into `to`, in batches of about 1 MB, and syncs `to`. Returns how many.
pub fn copy_all(from: &dyn Engine, to: &dyn Engine) -> Result<u64, EngineError> {
    let (mut batch, mut size, mut count, mut failed) = (Batch::default(), 0, 0, None);
    from.scan(&[], None, &mut |key, value| {
        size += key.len() + value.len();
        count += 1;
        batch.put(key.to_vec(), value.to_vec());
        if size > 1 << 20 {
            size = 0;
            failed = to.apply(&std::mem::take(&mut batch)).err();
        }
        failed.is_none()
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    to.apply(&batch)?;
    to.sync()?;
    Ok(count)
}

/// First key after all that begin with `prefix`.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

const WORKING: u8 = 0;
const FULL: u8 = 1;
const STALLED: u8 = 2;

/// Makes the disk of a store fail or hang, for drills and tests. Clones share the switch.
#[derive(Clone, Debug, Default)]
pub struct FaultSwitch(Arc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    state: AtomicU8,
    changed: (Mutex<()>, Condvar),
}

impl FaultSwitch {
    /// Every write answers "disk full".
    pub fn fail(&self) {
        self.set(FULL);
    }

    /// Every write hangs.
    pub fn stall(&self) {
        self.set(STALLED);
    }

    /// The disk works again.
    pub fn restore(&self) {
        self.set(WORKING);
    }

    pub fn is_working(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == WORKING
    }

    fn set(&self, state: u8) {
        let _guard = self.0.changed.0.lock();
        self.0.state.store(state, Ordering::Release);
        self.0.changed.1.notify_all();
    }

    /// Waits until the switch is changed or the time is over.
    pub(super) fn wait_changed(&self, limit: Duration) {
        let mut guard = self.0.changed.0.lock();
        self.0.changed.1.wait_for(&mut guard, limit);
    }

    /// Passes, fails or hangs, by the switch.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        if self.is_working() {
            return Ok(());
        }
        let mut guard = self.0.changed.0.lock();
        while self.0.state.load(Ordering::Acquire) == STALLED {
            self.0.changed.1.wait(&mut guard);
        }
        if self.0.state.load(Ordering::Acquire) == FULL { Err(EngineError::Full) } else { Ok(()) }
    }
}

/// An engine with the switch in front of its writes.
pub struct Switched {
    inner: Arc<dyn Engine>,
    switch: FaultSwitch,
}

impl Switched {
    pub fn new(inner: Arc<dyn Engine>, switch: FaultSwitch) -> Self {
        Self { inner, switch }
    }
}

impl Engine for Switched {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.inner.get(key)
    }
    fn scan(&self, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        self.inner.scan(from, to, visit)
    }
    fn apply(&self, batch: &Batch) -> Result<(), EngineError> {
        batch.check()?;
        self.switch.check()?;
        self.inner.apply(batch)
    }
    fn sync(&self) -> Result<(), EngineError> {
        self.switch.check()?;
        self.inner.sync()
    }
    fn size_on_disk(&self) -> u64 {
        self.inner.size_on_disk()
    }
}
