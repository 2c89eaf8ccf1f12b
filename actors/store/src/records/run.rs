//! A run: sealed blocks of sorted records with a sparse index, all in the pack.

use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::codec::{Reader, Writer};
use super::super::error::EngineError;
use super::super::pack::{Block, Pack, Packing, Pointer};
use super::block::{Contents, contents, find, read_entry, seek, write_entry};
use super::{KeyRange, PIECE_BYTES, Value, is_past};

/// A block is closed when it reaches this many bytes.
const BLOCK_BYTES: usize = 16 << 10;

/// First key and place of each block, and the places of its long values' pieces.
#[derive(Default)]
pub struct Index {
    pub blocks: Vec<(Box<[u8]>, Pointer)>,
    pub pieces: Vec<Pointer>,
}

impl Index {
    fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.count(self.blocks.len());
        for (first, at) in &self.blocks {
            writer.bytes(first);
            at.write(&mut writer);
        }
        writer.count(self.pieces.len());
        self.pieces.iter().for_each(|piece| piece.write(&mut writer));
        writer.0
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let block = |reader: &mut Reader<'_>| Some((reader.bytes()?.into(), Pointer::read(reader)?));
        let blocks = (0..reader.count()?).map(|_| block(&mut reader)).collect::<Option<_>>()?;
        let pieces = (0..reader.count()?).map(|_| Pointer::read(&mut reader)).collect::<Option<_>>()?;
        reader.is_empty().then_some(Self { blocks, pieces })
    }
}

pub struct Run {
    /// Unique in its region.
    pub id: u64,
    pub entries: u64,
    /// Of the blocks, the index and the long values of the entries.
    pub bytes: u64,
    min: Vec<u8>,
    max: Vec<u8>,
    index_at: Vec<Pointer>,
    index: Mutex<Option<Arc<Index>>>,
}

impl Run {
    pub fn write(&self, to: &mut Writer) {
        for number in [self.id, self.entries, self.bytes] {
            to.varint(number);
        }
        to.bytes(&self.min);
        to.bytes(&self.max);
        to.count(self.index_at.len());
        self.index_at.iter().for_each(|at| at.write(to));
    }

    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (id, entries, bytes) = (from.varint()?, from.varint()?, from.varint()?);
        let (min, max) = (from.bytes()?.to_vec(), from.bytes()?.to_vec());
        let index_at = (0..from.count()?).map(|_| Pointer::read(from)).collect::<Option<_>>()?;
        Some(Self { id, entries, bytes, min, max, index_at, index: Mutex::new(None) })
    }

    /// The sparse index, read at its first use.
    pub fn index(&self, pack: &Pack) -> Result<Arc<Index>, EngineError> {
        let mut slot = self.index.lock();
        if let Some(index) = &*slot {
            return Ok(index.clone());
        }
        let mut bytes = Vec::new();
        for at in &self.index_at {
            pack.read_behind(*at, &mut bytes)?;
        }
        let index =
            Index::read(&bytes).ok_or_else(|| EngineError::Damaged("an index of records is malformed".into()))?;
        let index = Arc::new(index);
        *slot = Some(index.clone());
        Ok(index)
    }

    pub fn get(&self, pack: &Pack, key: &[u8]) -> Result<Option<Value>, EngineError> {
        let Some(at) = self.block_of(pack, key)? else { return Ok(None) };
        let block = pack.read(at)?;
        seek(&block, key).and_then(|mut place| find(&block, &mut place, key)).map_err(|()| nonsense(at))
    }

    /// The block that contains the key, if any.
    fn block_of(&self, pack: &Pack, key: &[u8]) -> Result<Option<Pointer>, EngineError> {
        if key < self.min.as_slice() || key > self.max.as_slice() {
            return Ok(None);
        }
        let index = self.index(pack)?;
        let block = index.blocks.partition_point(|(first, _)| &**first <= key);
        Ok(block.checked_sub(1).and_then(|block| index.blocks.get(block)).map(|(_, at)| *at))
    }

    /// Its blocks and index, which are freed with it when nobody reads it any more.
    pub fn blocks(&self, pack: &Pack) -> Result<Vec<Pointer>, EngineError> {
        let mut all: Vec<_> = self.index(pack)?.blocks.iter().map(|(_, at)| *at).collect();
        all.extend(&self.index_at);
        Ok(all)
    }

    /// Everything in the pack that it needs.
    pub fn extents(&self, pack: &Pack) -> Result<Vec<Pointer>, EngineError> {
        let mut all = self.blocks(pack)?;
        all.extend(&self.index(pack)?.pieces);
        Ok(all)
    }

    pub fn index_blocks(&self) -> &[Pointer] {
        &self.index_at
    }

    pub fn span(&self) -> (&[u8], &[u8]) {
        (&self.min, &self.max)
    }
}

fn nonsense(at: Pointer) -> EngineError {
    EngineError::Damaged(format!("the pack's block at {} is malformed", at.offset))
}

/// Looks up keys in ascending order: a block is read and walked once for all keys in it.
pub struct Ascending<'a> {
    run: &'a Run,
    block: Option<(Pointer, Vec<u8>)>,
    at: usize,
}

impl<'a> Ascending<'a> {
    pub fn new(run: &'a Run) -> Self {
        Self { run, block: None, at: 0 }
    }

    /// As [`Run::get`]. The key must not be before the previous one.
    pub fn get(&mut self, pack: &Pack, key: &[u8]) -> Result<Option<Value>, EngineError> {
        let Some(place) = self.run.block_of(pack, key)? else { return Ok(None) };
        let bytes = match self.block.take().filter(|(known, _)| *known == place) {
            Some((_, bytes)) => bytes,
            None => {
                self.at = 0;
                pack.read_uncached(place)?
            }
        };
        let found = find(&bytes, &mut self.at, key).map_err(|()| nonsense(place));
        self.block = Some((place, bytes));
        found
    }
}

/// Walks through a run in order, with one block in memory.
pub struct RunCursor {
    run: Arc<Run>,
    pack: Arc<Pack>,
    index: Arc<Index>,
    next_block: usize,
    block: Arc<Block>,
    /// After the last read entry, and where that entry begins.
    at: usize,
    read_at: usize,
    range: KeyRange,
    /// A whole walk must not displace other blocks from the cache.
    cached: bool,
}

impl RunCursor {
    pub fn new(run: Arc<Run>, pack: Arc<Pack>, range: KeyRange, cached: bool) -> Result<Self, EngineError> {
        let index = run.index(&pack)?;
        let next_block = match &range.0 {
            Bound::Included(from) | Bound::Excluded(from) => {
                index.blocks.partition_point(|(first, _)| **first <= **from).saturating_sub(1)
            }
            Bound::Unbounded => 0,
        };
        Ok(Self { run, pack, index, next_block, block: Arc::default(), at: 0, read_at: 0, range, cached })
    }

    pub fn next(&mut self) -> Result<Option<(Vec<u8>, Value)>, EngineError> {
        loop {
            if self.at >= self.block.len() {
                let Some((first, at)) = self.index.blocks.get(self.next_block) else { return Ok(None) };
                if is_past(&self.range, first) {
                    return Ok(None);
                }
                self.next_block += 1;
                self.at = 0;
                self.block = Arc::default();
                self.block = match self.cached {
                    true => self.pack.read(*at)?,
                    false => self.pack.read_once(*at)?,
                };
                if let Bound::Included(from) | Bound::Excluded(from) = &self.range.0
                    && **first < **from
                {
                    self.at = seek(&self.block, from).map_err(|()| nonsense(*at))?;
                }
                continue;
            }
            let mut reader = Reader(&self.block[self.at..]);
            let entry = read_entry(&mut reader).ok_or_else(|| nonsense(self.index.blocks[self.next_block - 1].1))?;
            self.read_at = self.at;
            self.at = self.block.len() - reader.0.len();
            if matches!(&self.range.0, Bound::Excluded(from) if entry.0 == from.as_slice()) {
                continue;
            }
            if is_past(&self.range, entry.0) {
                self.next_block = self.index.blocks.len();
                self.at = self.block.len();
                return Ok(None);
            }
            return Ok(Some((entry.0.to_vec(), entry.1)));
        }
    }

    /// The whole block whose first entry was read last, if all its keys are before these.
    pub fn whole_block(&self, before: &[&[u8]]) -> Result<Option<Whole>, EngineError> {
        let Some((first, at)) = self.next_block.checked_sub(1).and_then(|block| self.index.blocks.get(block)) else {
            return Ok(None);
        };
        let is_before = match self.index.blocks.get(self.next_block) {
            Some((next, _)) => before.iter().all(|key| **next <= **key),
            None => before.iter().all(|key| self.run.max.as_slice() < *key),
        };
        if self.read_at > 0 || self.block.is_empty() || !is_before {
            return Ok(None);
        }
        let contents = contents(&self.block).ok_or_else(|| nonsense(*at))?;
        Ok(Some(Whole { first: first.clone(), at: *at, contents }))
    }

    /// Moves behind the present block.
    pub fn pass_block(&mut self) {
        self.at = self.block.len();
    }

    /// Moves behind an unreadable block. Returns the lost key range, without its end.
    pub fn skip_block(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.at = 0;
        self.block = Arc::default();
        let bad = self.next_block.saturating_sub(1);
        let first = |block: usize| self.index.blocks.get(block).map(|(first, _)| first.to_vec());
        let end = || [self.run.max.as_slice(), &[0]].concat();
        (first(bad).unwrap_or_default(), first(bad + 1).unwrap_or_else(end))
    }
}

/// A block that another run can use unchanged.
pub struct Whole {
    first: Box<[u8]>,
    pub at: Pointer,
    pub contents: Contents,
}

/// Makes a run from sorted entries.
pub struct RunWriter {
    pack: Arc<Pack>,
    packing: Packing,
    block: Writer,
    first: Vec<u8>,
    last: Vec<u8>,
    min: Option<Vec<u8>>,
    index: Index,
    entries: u64,
    bytes: u64,
}

impl RunWriter {
    pub fn new(pack: Arc<Pack>, packing: Packing) -> Self {
        let (first, last) = (Vec::new(), Vec::new());
        Self {
            pack,
            packing,
            block: Writer::default(),
            first,
            last,
            min: None,
            index: Index::default(),
            entries: 0,
            bytes: 0,
        }
    }

    pub fn push(&mut self, key: &[u8], value: &Value) -> Result<(), EngineError> {
        if self.block.0.is_empty() {
            self.first = key.to_vec();
        }
        self.min.get_or_insert_with(|| key.to_vec());
        self.last.clear();
        self.last.extend_from_slice(key);
        self.entries += 1;
        if let Value::Spilled(pieces) = value {
            self.bytes += pieces.iter().map(|piece| u64::from(piece.length)).sum::<u64>();
            self.index.pieces.extend(pieces.iter());
        }
        write_entry(&mut self.block, key, value);
        if self.block.0.len() >= BLOCK_BYTES { self.close_block() } else { Ok(()) }
    }

    /// True if a whole block can come next without a small block before it.
    pub fn is_even(&self) -> bool {
        self.block.0.is_empty() || self.block.0.len() >= BLOCK_BYTES / 2
    }

    /// Takes over a block in place: nothing is rewritten.
    pub fn take_over(&mut self, whole: Whole) -> Result<(), EngineError> {
        if !self.block.0.is_empty() {
            self.close_block()?;
        }
        let Whole { first, at, contents } = whole;
        self.min.get_or_insert_with(|| first.to_vec());
        self.last = contents.last;
        self.entries += contents.entries;
        self.bytes += u64::from(at.length) + contents.pieces.iter().map(|piece| u64::from(piece.length)).sum::<u64>();
        self.index.pieces.extend(contents.pieces);
        self.index.blocks.push((first, at));
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), EngineError> {
        let body = std::mem::take(&mut self.block.0);
        let at = self.pack.append_as(&body, self.packing)?;
        self.bytes += u64::from(at.length);
        self.index.blocks.push((std::mem::take(&mut self.first).into(), at));
        Ok(())
    }

    /// `None` if nothing was pushed.
    pub fn finish(mut self, id: u64) -> Result<Option<Run>, EngineError> {
        if !self.block.0.is_empty() {
            self.close_block()?;
        }
        let Some(min) = self.min.take() else { return Ok(None) };
        let bytes = self.index.write();
        let index_at = bytes.chunks(PIECE_BYTES).map(|piece| self.pack.append(piece)).collect::<Result<Vec<_>, _>>()?;
        let index = Mutex::new(Some(Arc::new(self.index)));
        let bytes = self.bytes + index_at.iter().map(|at: &Pointer| u64::from(at.length)).sum::<u64>();
        Ok(Some(Run { id, entries: self.entries, bytes, min, max: self.last, index_at, index }))
    }
}
