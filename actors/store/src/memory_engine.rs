//! A simulated disk in memory, for simulations and tests. It can lose its power and be restarted.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::engine::{Batch, Change, Engine, Visit};
use super::error::EngineError;
use super::pack::Medium;

/// One machine's disk: a tree and a pack file. Clones share it, so a test keeps one while the store uses the other.
#[derive(Clone, Default)]
pub struct MemoryEngine(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    tree: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Undo records of unsynced batches, newest last; one entry per batch.
    unsynced: Vec<Vec<Change>>,
    pack: Vec<u8>,
    pack_synced: Vec<u8>,
    writes: u64,
    /// The power fails after this many writes and syncs.
    cut_at: Option<u64>,
}

impl Disk {
    fn write(&mut self) -> Result<(), EngineError> {
        if self.cut_at.is_some_and(|at| self.writes >= at) {
            return Err(EngineError::Io("the power is off".into()));
        }
        self.writes += 1;
        Ok(())
    }
}

impl MemoryEngine {
    /// The pack file on the same disk.
    pub fn pack_medium(&self) -> Box<dyn Medium> {
        Box::new(self.clone())
    }

    /// The number of writes and syncs so far.
    pub fn writes(&self) -> u64 {
        self.0.lock().writes
    }

    /// From the `writes`-th write or sync on, nothing reaches the disk any more.
    pub fn cut_power_at(&self, writes: u64) {
        self.0.lock().cut_at = Some(writes);
    }

    /// Loses unsynced data and restarts. With a seed, a part survives, as on a real disk: the first of the applied
    /// batches, and random sectors of the pack.
    pub fn power_cut(&self, seed: Option<u64>) {
        let mut disk = self.0.lock();
        let mut chance = seed.map(|seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut draw = |below: usize| match &mut chance {
            Some(state) => {
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                usize::try_from(*state >> 33).unwrap_or(0) % below.max(1)
            }
            None => 0,
        };
        let kept = draw(disk.unsynced.len() + 1);
        while disk.unsynced.len() > kept {
            for (key, before) in disk.unsynced.pop().unwrap_or_default().into_iter().rev() {
                match before {
                    Some(value) => disk.tree.insert(key, value),
                    None => disk.tree.remove(&key),
                };
            }
        }
        disk.unsynced.clear();
        let mut pack = disk.pack_synced.clone();
        if seed.is_some() {
            pack.resize(disk.pack.len().max(pack.len()), 0);
            for (sector, written) in pack.chunks_mut(512).zip(disk.pack.chunks(512)) {
                if draw(2) == 1 {
                    sector[..written.len()].copy_from_slice(written);
                }
            }
            let synced = disk.pack_synced.len();
            let torn = synced + draw(pack.len() - synced + 1);
            pack.truncate(torn);
        }
        disk.pack.clone_from(&pack);
        disk.pack_synced = pack;
        disk.cut_at = None;
    }
}

impl Engine for MemoryEngine {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.0.lock().tree.get(key).cloned())
    }

    fn scan(&self, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        if to.is_some_and(|to| to <= from) {
            return Ok(());
        }
        let range = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        let found: Vec<_> = {
            let disk = self.0.lock();
            disk.tree.range::<[u8], _>(range).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        for (key, value) in found {
            if !visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn apply(&self, batch: &Batch) -> Result<(), EngineError> {
        let mut disk = self.0.lock();
        disk.write()?;
        let mut undo = Vec::with_capacity(batch.0.len());
        for (key, value) in &batch.0 {
            let before = match value {
                Some(value) => disk.tree.insert(key.clone(), value.clone()),
                None => disk.tree.remove(key),
            };
            undo.push((key.clone(), before));
        }
        disk.unsynced.push(undo);
        Ok(())
    }

    fn sync(&self) -> Result<(), EngineError> {
        let mut disk = self.0.lock();
        disk.write()?;
        disk.unsynced.clear();
        Ok(())
    }

    fn size_on_disk(&self) -> u64 {
        let disk = self.0.lock();
        disk.tree.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }
}

impl Medium for MemoryEngine {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), EngineError> {
        let disk = self.0.lock();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = from.saturating_add(into.len());
        let found = disk.pack.get(from..end).ok_or_else(|| EngineError::Damaged("the pack ends early".into()))?;
        into.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), EngineError> {
        let mut disk = self.0.lock();
        disk.write()?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = from + bytes.len();
        if disk.pack.len() < end {
            disk.pack.resize(end, 0);
        }
        disk.pack[from..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> Result<(), EngineError> {
        let mut disk = self.0.lock();
        disk.write()?;
        disk.pack_synced = disk.pack.clone();
        Ok(())
    }

    fn length(&self) -> u64 {
        self.0.lock().pack.len() as u64
    }

    fn punch(&self, _offset: u64, _length: u64) {}

    fn size_on_disk(&self) -> u64 {
        self.0.lock().pack.len() as u64
    }
}
