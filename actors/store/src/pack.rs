//! The pack: an append-only file of sealed blocks. The engine has the pointers to them.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use lz4::block::CompressionMode;
use parking_lot::Mutex;
use rustix::fs::FallocateFlags;

use super::codec::{Reader, Writer};
use super::engine::FaultSwitch;
use super::error::EngineError;
use super::private;

const MAGIC: &[u8; 8] = b"MXMPACK1";
/// Blocks begin after the head, so that offset 0 never points at one.
const HEAD_BYTES: u64 = 64;
/// Bytes before each block: mark, length, checksum. With them, a person or a repair can walk the file without the
/// engine.
const BLOCK_HEAD: usize = 12;
/// The body is uncompressed.
const PLAIN: &[u8; 4] = b"MXB1";
/// The body's length (u32, little endian) and the body, compressed with LZ4.
const COMPRESSED: &[u8; 4] = b"MXZ1";
/// A longer body is not valid.
const BODY_BYTES: usize = 16 << 20;
/// LZ4 level for long-lived data, 3 to 12: for records of episodes 4 saves a fifth compared with quick packing, and 9
/// saves a hundredth more.
const DENSE_LEVEL: i32 = 4;
/// A file system only frees whole pages.
const PAGE: u64 = 4096;

/// The place of a block, and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    pub offset: u64,
    /// Length in the file, without its head.
    pub length: u32,
    pub crc: u32,
}

impl Pointer {
    pub fn write(&self, to: &mut Writer) {
        to.varint(self.offset);
        to.varint(u64::from(self.length));
        to.u32(self.crc);
    }

    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { offset: from.varint()?, length: u32::try_from(from.varint()?).ok()?, crc: from.u32()? })
    }

    /// The first byte after the block.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(BLOCK_HEAD as u64 + u64::from(self.length))
    }
}

/// How a block is compressed; the reading speed is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Written quickly, and soon merged with others.
    Quick,
    /// Long-lived: smaller by a fifth, for ten times the work.
    Dense,
}

/// A block's body that was read.
#[derive(Default)]
pub struct Block {
    body: Box<[u8]>,
    entries: OnceLock<Option<Box<[u32]>>>,
}

impl Block {
    fn new(body: Vec<u8>) -> Self {
        Self { body: body.into(), entries: OnceLock::new() }
    }

    /// The beginnings of its entries, found by `walk` at the first call.
    pub fn entries(&self, walk: impl FnOnce(&[u8]) -> Option<Box<[u32]>>) -> Option<&[u32]> {
        self.entries.get_or_init(|| walk(&self.body)).as_deref()
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.body
    }
}

/// A block with its head as in the file, and its place.
pub type Stored = (u64, Arc<[u8]>);

/// The bytes of the pack: a file, or memory.
pub trait Medium: Send + Sync {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), EngineError>;
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), EngineError>;
    fn sync(&self) -> Result<(), EngineError>;
    fn length(&self) -> u64;
    /// Returns the space to the disk, if possible.
    fn punch(&self, offset: u64, length: u64);
    fn size_on_disk(&self) -> u64;
}

impl Medium for File {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), EngineError> {
        Ok(self.read_exact_at(into, offset)?)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), EngineError> {
        Ok(self.write_all_at(bytes, offset)?)
    }

    fn sync(&self) -> Result<(), EngineError> {
        Ok(self.sync_data()?)
    }

    fn length(&self) -> u64 {
        self.metadata().map_or(0, |data| data.len())
    }

    fn punch(&self, offset: u64, length: u64) {
        // Not every file system can do it; then compaction frees the space.
        let _ = rustix::fs::fallocate(self, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length);
    }

    fn size_on_disk(&self) -> u64 {
        self.metadata().map_or(0, |data| data.blocks() * 512)
    }
}

pub struct Pack {
    medium: Box<dyn Medium>,
    switch: FaultSwitch,
    state: Mutex<Appending>,
    cache: Mutex<Cache>,
    /// Blocks that a remote journal hasn't received; `None` without one.
    unsent: Mutex<Option<Vec<Stored>>>,
}

struct Appending {
    closed: bool,
    end: u64,
    /// Blocks not certainly on disk. After a failed sync the kernel may have dropped them, so they are written again.
    unsynced: BTreeMap<u64, Unsynced>,
    /// The file reaches at least to here once it is synced.
    written_end: u64,
}

struct Unsynced {
    block: Arc<[u8]>,
    /// A sync only covers data that was written before it began.
    is_written: bool,
}

impl Pack {
    /// Opens or creates the file. `known_end` is the end that the engine knows; a shorter file has lost data.
    pub fn open(path: &Path, switch: FaultSwitch, cache_bytes: usize, known_end: u64) -> Result<Self, EngineError> {
        let is_new = !path.exists();
        let file = private::options().open(path)?;
        let pack = Self::on(Box::new(file), switch, cache_bytes, known_end)?;
        if is_new {
            pack.medium.sync()?;
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        Ok(pack)
    }

    pub fn on(
        medium: Box<dyn Medium>,
        switch: FaultSwitch,
        cache_bytes: usize,
        known_end: u64,
    ) -> Result<Self, EngineError> {
        let mut head = [0; MAGIC.len()];
        if medium.length() < HEAD_BYTES || medium.read_at(0, &mut head).is_err() || &head != MAGIC {
            // The head is a mark for people; every block is checked by its own pointer.
            medium.write_at(0, MAGIC)?;
        }
        // Never below the end that the engine knows: an old pointer must not meet a new block.
        let end = medium.length().max(known_end).max(HEAD_BYTES).next_multiple_of(PAGE);
        let state = Mutex::new(Appending { closed: false, end, unsynced: BTreeMap::new(), written_end: known_end });
        Ok(Self { medium, switch, state, cache: Mutex::new(Cache::new(cache_bytes)), unsent: Mutex::default() })
    }

    /// A pack that is only read, like that of a backup.
    pub fn read_only(path: &Path) -> Result<Self, EngineError> {
        let state = Mutex::new(Appending { closed: true, end: 0, unsynced: BTreeMap::new(), written_end: 0 });
        let switch = FaultSwitch::default();
        let (cache, unsent) = (Mutex::new(Cache::new(0)), Mutex::default());
        Ok(Self { medium: Box::new(File::open(path)?), switch, state, cache, unsent })
    }

    /// From now on appended blocks are kept until they are taken, see `replica.rs`.
    pub fn keep_unsent(&self) {
        self.unsent.lock().get_or_insert_default();
    }

    /// Blocks appended since the last call, as in the file; empty if they aren't kept.
    pub fn take_unsent(&self) -> Vec<Stored> {
        self.unsent.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Overwrites a damaged block with one from [`Pack::read_stored`]; only its own content is accepted.
    pub fn heal(&self, at: Pointer, block: &[u8]) -> Result<(), EngineError> {
        self.switch.check()?;
        self.medium.write_at(at.offset, block)?;
        self.medium.sync()
    }

    /// Appends a block; it is on disk only after [`Pack::sync`].
    pub fn append(&self, body: &[u8]) -> Result<Pointer, EngineError> {
        self.append_as(body, Packing::Quick)
    }

    pub fn append_as(&self, body: &[u8], packing: Packing) -> Result<Pointer, EngineError> {
        self.switch.check()?;
        if body.len() > BODY_BYTES {
            return Err(EngineError::Io(format!("a block over {BODY_BYTES} bytes")));
        }
        let (block, length, crc) = block_of(body, packing);
        let offset = {
            let mut state = self.state.lock();
            if state.closed {
                return Err(EngineError::Io("the pack is closed".into()));
            }
            let offset = state.end;
            state.end += block.len() as u64;
            state.unsynced.insert(offset, Unsynced { block: block.clone(), is_written: false });
            offset
        };
        if let Err(error) = self.medium.write_at(offset, &block) {
            self.state.lock().unsynced.remove(&offset);
            return Err(error);
        }
        let mut state = self.state.lock();
        state.written_end = state.written_end.max(offset + block.len() as u64);
        if let Some(unsynced) = state.unsynced.get_mut(&offset) {
            unsynced.is_written = true;
        }
        drop(state);
        if let Some(unsent) = &mut *self.unsent.lock() {
            unsent.push((offset, block));
        }
        Ok(Pointer { offset, length, crc })
    }

    /// The body of a block, after checking its checksum.
    pub fn read(&self, at: Pointer) -> Result<Arc<Block>, EngineError> {
        if let Some(block) = self.cache.lock().get(at) {
            return Ok(block);
        }
        let block = self.read_once(at)?;
        self.cache.lock().put(at, block.clone());
        Ok(block)
    }

    /// As [`Pack::read`], without displacing other blocks from the cache.
    pub fn read_once(&self, at: Pointer) -> Result<Arc<Block>, EngineError> {
        Ok(Arc::new(Block::new(self.read_uncached(at)?)))
    }

    /// The body of a block, from the file, after checking its checksum.
    pub fn read_uncached(&self, at: Pointer) -> Result<Vec<u8>, EngineError> {
        let mut body = Vec::new();
        self.read_behind(at, &mut body)?;
        Ok(body)
    }

    /// As [`Pack::read_uncached`], appended to `into`: a value of many blocks is assembled without copying each.
    pub fn read_behind(&self, at: Pointer, into: &mut Vec<u8>) -> Result<(), EngineError> {
        let (from, mut head) = (into.len(), [0; BLOCK_HEAD]);
        self.check_end(at)?;
        self.medium.read_at(at.offset, &mut head)?;
        let (body, length) = (at.offset + BLOCK_HEAD as u64, at.length as usize);
        if head.starts_with(COMPRESSED) {
            let mut stored = vec![0; length];
            self.medium.read_at(body, &mut stored)?;
            is_compressed(&head, &stored, at)?;
            return unpack(&stored, into).ok_or_else(|| damaged(at, "can't be unpacked"));
        }
        into.reserve_exact(length);
        into.resize(from + length, 0);
        self.medium.read_at(body, &mut into[from..])?;
        is_compressed(&head, &into[from..], at).map(|_| ())
    }

    /// A block as in the file, including its head, after checking its checksum.
    pub fn read_stored(&self, at: Pointer) -> Result<Vec<u8>, EngineError> {
        self.check_end(at)?;
        let mut block = vec![0; BLOCK_HEAD + at.length as usize];
        self.medium.read_at(at.offset, &mut block)?;
        let (head, body) = block.split_at(BLOCK_HEAD);
        is_compressed(head, body, at)?;
        Ok(block)
    }

    fn check_end(&self, at: Pointer) -> Result<(), EngineError> {
        if at.end() > self.medium.length() { Err(damaged(at, "lies beyond the pack's end")) } else { Ok(()) }
    }

    /// Nothing can be appended any more; reading goes on.
    pub fn close(&self) {
        self.state.lock().closed = true;
    }

    /// True if data waits for a sync.
    pub fn is_dirty(&self) -> bool {
        !self.state.lock().unsynced.is_empty()
    }

    /// Everything appended before the call is on disk when this returns.
    pub fn sync(&self) -> Result<(), EngineError> {
        let written = |(at, unsynced): (&u64, &Unsynced)| unsynced.is_written.then_some(*at);
        let covered: Vec<u64> = self.state.lock().unsynced.iter().filter_map(written).collect();
        if covered.is_empty() {
            return Ok(());
        }
        self.switch.check()?;
        self.medium.sync()?;
        let mut state = self.state.lock();
        for offset in covered {
            state.unsynced.remove(&offset);
        }
        Ok(())
    }

    /// After a failed sync the page cache may show data that isn't on disk and may never be written, so it is written
    /// again.
    pub fn write_again(&self) -> Result<(), EngineError> {
        self.switch.check()?;
        let blocks: Vec<_> =
            self.state.lock().unsynced.iter().map(|(at, unsynced)| (*at, unsynced.block.clone())).collect();
        for (offset, block) in blocks {
            self.medium.write_at(offset, &block)?;
        }
        Ok(())
    }

    /// The minimum end of the file, once it is synced.
    pub fn written_end(&self) -> u64 {
        self.state.lock().written_end
    }

    pub fn end(&self) -> u64 {
        self.state.lock().end
    }

    /// True if the file ends where the engine says, or later.
    pub fn reaches(&self, known_end: u64) -> bool {
        self.medium.length() >= known_end
    }

    /// Frees everything before `end` that isn't in `live`.
    pub fn free_except(&self, mut live: Vec<Pointer>, end: u64) {
        live.sort_unstable_by_key(|at| at.offset);
        let mut from = HEAD_BYTES;
        for at in live {
            self.punch(Some((from, at.offset.min(end))));
            from = from.max(at.end());
        }
        self.punch(Some((from, end)));
    }

    /// Frees the space of dead blocks.
    pub fn free(&self, mut dead: Vec<Pointer>) {
        dead.sort_unstable_by_key(|at| at.offset);
        let mut open: Option<(u64, u64)> = None;
        for at in dead {
            match &mut open {
                Some((_, end)) if *end == at.offset => *end = at.end(),
                _ => {
                    self.punch(open.replace((at.offset, at.end())));
                }
            }
        }
        self.punch(open);
    }

    fn punch(&self, extent: Option<(u64, u64)>) {
        let Some((from, end)) = extent else { return };
        let (from, end) = (from.next_multiple_of(PAGE), end / PAGE * PAGE);
        if from < end {
            self.medium.punch(from, end - from);
        }
    }

    pub fn size_on_disk(&self) -> u64 {
        self.medium.size_on_disk()
    }
}

/// A block in written form, the length of its body there, and its checksum. A body that doesn't shrink by an eighth is
/// stored uncompressed.
fn block_of(body: &[u8], packing: Packing) -> (Arc<[u8]>, u32, u32) {
    let mode = match packing {
        Packing::Quick => None,
        Packing::Dense => Some(CompressionMode::HIGHCOMPRESSION(DENSE_LEVEL)),
    };
    let smaller = lz4::block::compress(body, mode, true).ok().filter(|small| small.len() < body.len() / 8 * 7);
    let (mark, stored) = match &smaller {
        Some(small) => (COMPRESSED, small.as_slice()),
        None => (PLAIN, body),
    };
    let (length, crc) = (u32::try_from(stored.len()).unwrap_or(u32::MAX), crc32fast::hash(stored));
    let block = [&mark[..], &length.to_le_bytes(), &crc.to_le_bytes(), stored].concat();
    (block.into(), length, crc)
}

fn damaged(at: Pointer, what: &str) -> EngineError {
    EngineError::Damaged(format!("the pack's block at {} {what}", at.offset))
}

/// How the body is stored, if head and checksum are right.
fn is_compressed(head: &[u8], stored: &[u8], at: Pointer) -> Result<bool, EngineError> {
    if crc32fast::hash(stored) != at.crc {
        return Err(damaged(at, "has a wrong checksum"));
    }
    match head.starts_with(COMPRESSED) {
        true => Ok(true),
        false if head.starts_with(PLAIN) => Ok(false),
        false => Err(damaged(at, "has a wrong mark")),
    }
}

/// Appends the decompressed body to `into`. `None`, and nothing appended, for an invalid body.
fn unpack(stored: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let (length, packed) = stored.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length <= BODY_BYTES)?;
    let from = into.len();
    into.reserve_exact(length);
    into.resize(from + length, 0);
    let unpacked = lz4::block::decompress_to_buffer(packed, Some(i32::try_from(length).ok()?), &mut into[from..]);
    if unpacked.is_ok_and(|unpacked| unpacked == length) {
        return Some(());
    }
    into.truncate(from);
    None
}

/// Recently read blocks, by their last read.
struct Cache {
    blocks: BTreeMap<u64, (u64, Arc<Block>)>,
    order: VecDeque<(u64, u64)>,
    turn: u64,
    bytes: usize,
    limit: usize,
}

impl Cache {
    fn new(limit: usize) -> Self {
        Self { blocks: BTreeMap::new(), order: VecDeque::new(), turn: 0, bytes: 0, limit }
    }

    fn get(&mut self, at: Pointer) -> Option<Arc<Block>> {
        let (turn, block) = self.blocks.get_mut(&at.offset)?;
        self.turn += 1;
        *turn = self.turn;
        self.order.push_back((at.offset, self.turn));
        let block = block.clone();
        self.trim();
        Some(block)
    }

    fn put(&mut self, at: Pointer, block: Arc<Block>) {
        self.turn += 1;
        self.bytes += block.len();
        if let Some((_, old)) = self.blocks.insert(at.offset, (self.turn, block)) {
            self.bytes -= old.len();
        }
        self.order.push_back((at.offset, self.turn));
        self.trim();
    }

    /// Removes the least recently read until it fits; outdated marks of blocks that were read again are removed on the
    /// way.
    fn trim(&mut self) {
        while self.bytes > self.limit || self.order.len() > 4 * self.blocks.len() + 16 {
            let Some((offset, turn)) = self.order.pop_front() else { return };
            match self.blocks.get(&offset) {
                Some((latest, _)) if *latest == turn && self.bytes > self.limit => {
                    if let Some((_, block)) = self.blocks.remove(&offset) {
                        self.bytes -= block.len();
                    }
                }
                Some((latest, _)) if *latest == turn => self.order.push_back((offset, turn)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory_engine::MemoryEngine;
    use super::*;

    fn pack(disk: &MemoryEngine) -> Pack {
        Pack::on(disk.pack_medium(), FaultSwitch::default(), 1 << 20, 0).expect("opens")
    }

    #[test]
    fn what_gets_smaller_is_kept_so_and_each_body_comes_back() {
        let disk = MemoryEngine::default();
        let pack = pack(&disk);
        let like_records = br#"{"text":"the red cup","tool":"move"}"#.repeat(400);
        let noise: Vec<u8> = (0..4_096u32).flat_map(|n| crc32fast::hash(&n.to_le_bytes()).to_le_bytes()).collect();
        for (body, is_smaller) in [(like_records.as_slice(), true), (&noise, false), (b"short", false), (b"", false)] {
            let at = pack.append(body).expect("appended");
            assert_eq!((at.length as usize) < body.len() / 3, is_smaller && !body.is_empty(), "{at:?}");
            assert_eq!(&**pack.read(at).expect("read"), body);
            assert_eq!(pack.read_uncached(at).expect("read"), body);
        }
    }

    #[test]
    fn a_block_that_is_not_what_it_was_is_damaged_wherever_it_was_touched() {
        let disk = MemoryEngine::default();
        let (pack, medium) = (pack(&disk), disk.pack_medium());
        let at = pack.append(&b"all the same ".repeat(100)).expect("appended");
        let whole = pack.read_stored(at).expect("read");
        for place in (0..4).chain(BLOCK_HEAD..whole.len()) {
            let mut other = whole.clone();
            other[place] ^= 4;
            medium.write_at(at.offset, &other).expect("written");
            assert!(matches!(pack.read_uncached(at), Err(EngineError::Damaged(_))), "{place}");
        }
        pack.heal(at, &whole).expect("healed");
        assert_eq!(pack.read_uncached(at).expect("read"), b"all the same ".repeat(100));
    }
}
