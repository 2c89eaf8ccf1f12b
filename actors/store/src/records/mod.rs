//! Keyed records of one region: a mutable tail in memory (kept by the journal), and below it sorted runs of sealed
//! blocks.

mod block;
mod merge;
mod run;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::codec::{Reader, Writer};
use super::error::EngineError;
use super::pack::{Pack, Pointer};

pub use merge::{Merging, Source};
use run::Ascending;
pub use run::{Run, RunCursor, RunWriter};

/// Longest record key, in bytes.
pub const KEY_BYTES: usize = 128;
/// Longest record, in bytes.
pub const RECORD_BYTES: usize = 16 << 20;
/// A longer value has its own blocks in the pack, so that neither engine nor tail carries it.
pub const INLINE_BYTES: usize = 8 << 10;
/// Bytes of a long value per block.
pub const PIECE_BYTES: usize = 64 << 10;

/// The known value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Deleted,
    Inline(Arc<[u8]>),
    /// Stored in the pack, in pieces.
    Spilled(Arc<[Pointer]>),
}

impl Value {
    /// Too long for journal and tail.
    pub fn is_long(&self) -> bool {
        matches!(self, Self::Inline(bytes) if bytes.len() > INLINE_BYTES)
    }

    pub fn write(&self, to: &mut Writer) {
        match self {
            Self::Deleted => to.u8(0),
            Self::Inline(bytes) => {
                to.u8(1);
                to.bytes(bytes);
            }
            Self::Spilled(pieces) => {
                to.u8(2);
                to.count(pieces.len());
                pieces.iter().for_each(|piece| piece.write(to));
            }
        }
    }

    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.u8()? {
            0 => Self::Deleted,
            1 => Self::Inline(from.bytes()?.into()),
            2 => Self::Spilled((0..from.count()?).map(|_| Pointer::read(from)).collect::<Option<_>>()?),
            _ => return None,
        })
    }

    /// Bytes in memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::Deleted => 0,
            Self::Inline(bytes) => bytes.len(),
            Self::Spilled(pieces) => pieces.len() * size_of::<Pointer>(),
        }
    }

    /// The bytes; `None` when deleted.
    pub fn load(&self, pack: &Pack) -> Result<Option<Vec<u8>>, EngineError> {
        match self {
            Self::Deleted => Ok(None),
            Self::Inline(bytes) => Ok(Some(bytes.to_vec())),
            Self::Spilled(pieces) => {
                // Room for all of it: a value of a megabyte that grows piece by piece would be moved again and again.
                let room = if pieces.len() > 1 { pieces.len() * PIECE_BYTES } else { 0 };
                let mut whole = Vec::with_capacity(room);
                for piece in pieces.iter() {
                    pack.read_behind(*piece, &mut whole)?;
                }
                Ok(Some(whole))
            }
        }
    }

    /// Moves a long value into the pack; other values stay as they are.
    pub fn spilled(&self, pack: &Pack) -> Result<Self, EngineError> {
        match self {
            Self::Inline(bytes) if bytes.len() > INLINE_BYTES => {
                let pieces = bytes.chunks(PIECE_BYTES).map(|piece| pack.append(piece)).collect::<Result<_, _>>()?;
                Ok(Self::Spilled(pieces))
            }
            other => Ok(other.clone()),
        }
    }
}

/// A key's newest value in the tail.
#[derive(Clone, Debug)]
pub struct Held {
    pub value: Value,
    pub lsn: u64,
    /// Whether the key is alive in the runs below; determined when somebody counts.
    pub below: Option<bool>,
}

/// Bytes of memory per key, beside the key itself.
const OVERHEAD: usize = 96;

/// Changes since the last sealing.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    pub map: BTreeMap<Vec<u8>, Held>,
    pub bytes: usize,
    /// LSN of the first change in it; the journal is kept from there. 0 if empty.
    pub first: u64,
    /// For a tail that is being sealed: its last LSN.
    pub upto: u64,
}

impl Tail {
    pub fn put(&mut self, key: Vec<u8>, value: Value, lsn: u64) {
        if self.map.is_empty() {
            self.first = lsn;
        }
        self.bytes += key.len() + value.weight() + OVERHEAD;
        let key_bytes = key.len();
        let held = Held { value, lsn, below: None };
        match self.map.entry(key) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(held);
            }
            std::collections::btree_map::Entry::Occupied(mut taken) => {
                let before = taken.insert(held);
                self.bytes -= key_bytes + before.value.weight() + OVERHEAD;
                taken.get_mut().below = before.below;
            }
        }
    }

    /// The value of `key` at `lsn` is now in the pack, so memory may drop its bytes.
    pub fn replace(&mut self, key: &[u8], lsn: u64, value: Value) {
        if let Some(held) = self.map.get_mut(key)
            && held.lsn == lsn
        {
            self.bytes = self.bytes - held.value.weight() + value.weight();
            held.value = value;
        }
    }
}

/// The sealed part of a region's records. Immutable: a change makes a new one.
#[derive(Clone, Default)]
pub struct Sealed {
    /// Newest first.
    pub runs: Vec<Arc<Run>>,
    /// Live keys of all runs together.
    pub live: u64,
    /// Commits up to this LSN are in the runs.
    pub upto: u64,
}

impl Sealed {
    pub fn get(&self, pack: &Pack, key: &[u8]) -> Result<Option<Value>, EngineError> {
        for run in &self.runs {
            if let Some(value) = run.get(pack, key)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// As [`Sealed::get`], for keys in ascending order: no block is read twice.
    pub fn ascending(&self) -> impl FnMut(&Pack, &[u8]) -> Result<Option<Value>, EngineError> {
        let mut runs: Vec<Ascending> = self.runs.iter().map(|run| Ascending::new(run)).collect();
        move |pack, key| {
            for run in &mut runs {
                if let Some(value) = run.get(pack, key)? {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }
    }

    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    pub fn next_id(&self) -> u64 {
        self.runs.iter().map(|run| run.id + 1).max().unwrap_or(1)
    }

    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u8(1);
        writer.varint(self.live);
        writer.varint(self.upto);
        writer.count(self.runs.len());
        self.runs.iter().for_each(|run| run.write(&mut writer));
        writer.0
    }

    pub fn read(content: &[u8]) -> Option<Self> {
        let mut reader = Reader(content);
        if reader.u8()? != 1 {
            return None;
        }
        let (live, upto) = (reader.varint()?, reader.varint()?);
        let runs = (0..reader.count()?).map(|_| Run::read(&mut reader).map(Arc::new)).collect::<Option<_>>()?;
        reader.is_empty().then_some(Self { runs, live, upto })
    }
}

/// A region's records: the tail, the part being sealed, and the sealed part.
#[derive(Clone, Default)]
pub struct Records {
    pub tail: Tail,
    pub sealing: Option<Arc<Tail>>,
    pub sealed: Arc<Sealed>,
}

impl Records {
    /// The LSN from which the journal must be kept for these records.
    pub fn first_unsealed(&self) -> Option<u64> {
        let sealing = self.sealing.as_ref().filter(|tail| !tail.map.is_empty()).map(|tail| tail.first);
        sealing.or((!self.tail.map.is_empty()).then_some(self.tail.first))
    }

    pub fn in_memory(&self, key: &[u8]) -> Option<Value> {
        let held = self.tail.map.get(key).or_else(|| self.sealing.as_ref()?.map.get(key));
        held.map(|held| held.value.clone())
    }

    /// The tail that was being sealed is now in the runs.
    pub fn end_sealing(&mut self) {
        let Some(sealing) = self.sealing.take() else { return };
        for (key, held) in &sealing.map {
            if let Some(newer) = self.tail.map.get_mut(key) {
                newer.below = Some(held.value != Value::Deleted);
            }
        }
    }

    /// The runs were rewritten with fewer entries, so knowledge of them is dropped.
    pub fn forget_below(&mut self) {
        self.tail.map.values_mut().for_each(|held| held.below = None);
        if let Some(sealing) = &mut self.sealing {
            Arc::make_mut(sealing).map.values_mut().for_each(|held| held.below = None);
        }
    }

    /// Keys of which it is unknown whether the runs have them.
    pub fn unknown_below(&self) -> impl Iterator<Item = &[u8]> {
        let layers = [Some(&self.tail), self.sealing.as_deref()].into_iter().flatten();
        layers.flat_map(|tail| &tail.map).filter(|(_, held)| held.below.is_none()).map(|(key, _)| key.as_slice())
    }

    pub fn learn_below(&mut self, known: Vec<(bool, Vec<u8>)>) {
        for (below, key) in known {
            if let Some(held) = self.tail.map.get_mut(&key) {
                held.below = Some(below);
            }
            if let Some(held) = self.sealing.as_mut().and_then(|tail| Arc::make_mut(tail).map.get_mut(&key)) {
                held.below = Some(below);
            }
        }
    }

    /// Live keys, once nothing is unknown below. `below` unknown counts as absent.
    pub fn count(&self) -> u64 {
        let (mut more, mut fewer) = (0, 0);
        let sealing = self.sealing.iter().flat_map(|tail| &tail.map);
        let uncovered = sealing.filter(|(key, _)| !self.tail.map.contains_key(*key));
        for (_, held) in self.tail.map.iter().chain(uncovered) {
            more += u64::from(held.value != Value::Deleted);
            fewer += u64::from(held.below == Some(true));
        }
        (self.sealed.live + more).saturating_sub(fewer)
    }

    /// Entries in memory for a range, as far as they can matter for its first `limit` records.
    pub fn memory_range(&self, range: &KeyRange, limit: usize) -> Vec<(Vec<u8>, Value)> {
        let layers = [Some(&self.tail), self.sealing.as_deref()];
        let mut merging = Merging::new(layers.into_iter().flatten().map(|tail| Source::memory(tail, range)).collect());
        let (mut found, mut alive) = (Vec::new(), 0);
        while alive < limit
            && let Some(next) = merging.next_from_memory()
        {
            alive += usize::from(next.1 != Value::Deleted);
            found.push(next);
        }
        found
    }
}

/// A range of record keys.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// True if no key can be in it. A `BTreeMap` panics on some of these.
pub fn is_empty_range(range: &KeyRange) -> bool {
    match range {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to) | Bound::Included(to)) => from >= to,
        _ => false,
    }
}

pub fn is_past(range: &KeyRange, key: &[u8]) -> bool {
    match &range.1 {
        Bound::Included(to) => key > to.as_slice(),
        Bound::Excluded(to) => key >= to.as_slice(),
        Bound::Unbounded => false,
    }
}
