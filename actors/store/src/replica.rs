//! The store on several machines: a remote journal gets each batch before the local disk.
//!
//! So that journal always has everything that is durable here. A machine that takes over continues from it: from a
//! backup that was put there ([`StateStore::backup`](super::StateStore::backup)), and the later batches ([`Follower`]).
//! A batch travels as the data to write, keys and blocks of the pack, so it means the same to every engine.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use super::backup;
use super::codec::{Reader, Writer, seal, sum, unseal};
use super::committer::SERIAL;
use super::engine::{Batch, Engine, EngineKind};
use super::error::{EngineError, StoreError};
use super::folder::Folder;
use super::keys;
use super::pack::Stored;
use super::private;

/// The store's history, and the last journal entry that it contains.
const POSITION: &[u8] = b"!replica";
const VERSION: u8 = 1;
/// Bytes of a journal entry. A larger batch has several entries, because journals limit messages to a megabyte.
const PART: usize = 512 << 10;
/// Before the bytes: version, number of the part, number of parts, checksum.
const PART_HEAD: usize = 13;
/// A follower writes this many bytes at a time.
const FOLLOW_BYTES: usize = 8 << 20;

/// A point in the history of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Stores of different histories are unrelated.
    pub history: Uuid,
    /// Entry of the journal; 0 is before the first entry.
    pub sequence: u64,
}

impl Position {
    fn put(self, batch: &mut Batch) {
        let mut writer = Writer(self.history.as_bytes().to_vec());
        writer.u64(self.sequence);
        batch.put(POSITION.to_vec(), seal(POSITION, &writer.0));
    }

    fn parse(sealed: &[u8]) -> Option<Self> {
        let mut reader = Reader(unseal(POSITION, sealed)?);
        let history = Uuid::from_slice(reader.take(16)?).ok()?;
        Some(Self { history, sequence: reader.u64()? })
    }

    fn of(engine: &dyn Engine) -> Result<Option<Self>, EngineError> {
        let Some(sealed) = engine.get(POSITION)? else { return Ok(None) };
        Self::parse(&sealed).map(Some).ok_or_else(|| EngineError::Damaged("the store's place in its journal".into()))
    }

    /// The position of a backup.
    ///
    /// # Errors
    /// The backup is unusable.
    pub fn of_backup(place: &Path) -> Result<Option<Self>, StoreError> {
        let value = backup::value_in(place, POSITION)?;
        Ok(value.and_then(|sealed| Self::parse(&sealed)))
    }
}

/// Why the journal refused an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// It may accept it later.
    #[error("the journal on other machines doesn't answer: {0}")]
    Unreachable(String),
    /// It never will: another machine continues with the agent.
    #[error("this machine may not write any more: {0}")]
    Fenced(String),
}

/// The journal, for its only writer.
pub trait Replica: Send + Sync {
    /// Its last entry.
    fn position(&self) -> Position;
    /// Appends in order and without other entries in between. It is durable there when this returns. After
    /// [`ReplicaError::Unreachable`] the same parts are tried again, and parts that had arrived aren't appended twice.
    ///
    /// # Errors
    /// See [`ReplicaError`].
    fn append(&self, parts: &[Vec<u8>]) -> Result<(), ReplicaError>;
}

/// A batch in transit.
#[derive(Debug, Default, PartialEq)]
struct Shipment {
    blocks: Vec<Stored>,
    batch: Batch,
}

impl Shipment {
    fn parts(blocks: &[Stored], batch: &Batch) -> Vec<Vec<u8>> {
        let mut writer = Writer::default();
        writer.count(blocks.len());
        for (offset, block) in blocks {
            writer.varint(*offset);
            writer.bytes(block);
        }
        writer.count(batch.0.len());
        for (key, value) in &batch.0 {
            writer.bytes(key);
            writer.u8(u8::from(value.is_some()));
            writer.bytes(value.as_deref().unwrap_or_default());
        }
        let chunks: Vec<&[u8]> = writer.0.chunks(PART).collect();
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let part = |(index, chunk): (u32, &&[u8])| {
            let mut part = Writer(Vec::with_capacity(chunk.len() + PART_HEAD));
            part.u8(VERSION);
            part.u32(index);
            part.u32(count);
            part.u32(sum(&index.to_le_bytes(), chunk));
            part.0.extend_from_slice(chunk);
            part.0
        };
        (0..).zip(&chunks).map(part).collect()
    }

    fn read(content: &[u8]) -> Option<Self> {
        let mut reader = Reader(content);
        let mut shipment = Self::default();
        for _ in 0..reader.varint()? {
            shipment.blocks.push((reader.varint()?, reader.bytes()?.into()));
        }
        for _ in 0..reader.varint()? {
            let (key, is_put, value) = (reader.bytes()?, reader.u8()?, reader.bytes()?);
            shipment.batch.0.push((key.to_vec(), (is_put == 1).then(|| value.to_vec())));
        }
        reader.0.is_empty().then_some(shipment)
    }
}

/// Assembles parts. An incomplete batch is left out: its writer died, and nothing of it was acknowledged.
#[derive(Default)]
struct Assembly {
    content: Vec<u8>,
    next: u32,
}

impl Assembly {
    fn take(&mut self, part: &[u8]) -> Result<Option<Shipment>, String> {
        let mut reader = Reader(part);
        let version = reader.u8().ok_or("it is empty")?;
        if version != VERSION {
            return Err(format!("it has version {version}, but this program reads {VERSION}: run the newer program"));
        }
        let head = reader.u32().zip(reader.u32()).zip(reader.u32());
        let ((index, count), expected) = head.ok_or("it is cut off")?;
        if sum(&index.to_le_bytes(), reader.0) != expected {
            return Err("its checksum is wrong".into());
        }
        if index == 0 {
            (self.next, self.content) = (0, Vec::new());
        } else if index != self.next {
            return Err(format!("part {index} of {count} came instead of part {}", self.next));
        }
        self.content.extend_from_slice(reader.0);
        self.next = index + 1;
        if self.next < count {
            return Ok(None);
        }
        let content = std::mem::take(&mut self.content);
        Shipment::read(&content).map(Some).ok_or_else(|| "it is malformed".into())
    }
}

/// A writer's first entry. It is empty, but after it no former writer can append, and an incomplete batch before it
/// stays incomplete.
pub fn opening_entry() -> Vec<u8> {
    Shipment::parts(&[], &Batch::default()).remove(0)
}

/// Sends a batch with the blocks that it may point at, and notes the store's new position in it.
pub(super) fn send(replica: &dyn Replica, blocks: &[Stored], batch: &mut Batch) -> Result<(), ReplicaError> {
    let parts = Shipment::parts(blocks, batch);
    replica.append(&parts)?;
    replica.position().put(batch);
    Ok(())
}

/// Checks that a store with a journal is opened with it, at its position. Data that it learned alone would be on no
/// other machine.
pub(super) fn check(replica: Option<&dyn Replica>, engine: &dyn Engine, folder: &Path) -> Result<(), StoreError> {
    let (found, expected) = (Position::of(engine)?, replica.map(Replica::position));
    let expected = match (found, expected) {
        (None, None) => return Ok(()),
        (Some(_), None) => return Err(StoreError::Replicated(folder.to_owned())),
        (_, Some(expected)) if found == Some(expected) => return Ok(()),
        (_, Some(expected)) => expected,
    };
    let said = |position: Option<Position>| {
        position.map_or_else(|| "no journal".into(), |at| format!("entry {} of {}", at.sequence, at.history))
    };
    let (found, expected) = (said(found), said(Some(expected)));
    Err(StoreError::OtherHistory { folder: folder.to_owned(), found, expected })
}

/// A store that no agent uses, on its way to the journal's position. Entries that it took are on disk after
/// [`Follower::settle`].
pub struct Follower {
    folder: Folder,
    engine: Arc<dyn Engine>,
    pack: File,
    position: Option<Position>,
    assembly: Assembly,
    waiting: VecDeque<(u64, Shipment)>,
    bytes: usize,
}

impl Follower {
    /// The store of a folder; `None` if there is none.
    ///
    /// # Errors
    /// A process holds it, a newer program made it, or it is damaged. Then it is unchanged.
    pub fn open(path: &Path, page_cache: u64) -> Result<Option<Self>, StoreError> {
        let (folder, _) = Folder::lock(path)?;
        let Some((generation, _)) = folder.generations()?.into_iter().find(|(_, is_complete)| *is_complete) else {
            return Ok(None);
        };
        let place = folder.engine(generation);
        let engine = EngineKind::of(&place)?.open(&place, page_cache)?;
        let format = keys::get_number(&*engine, keys::FORMAT)?.unwrap_or(0);
        super::open::check_format(&folder.path, format)?;
        let serial = keys::get_number(&*engine, SERIAL)?.unwrap_or(0);
        if serial < folder.marked() {
            let why = format!("it ends at batch {serial}, batch {} was on disk", folder.marked());
            return Err(EngineError::Damaged(why).into());
        }
        let options = || private::options().open(folder.pack());
        let pack = options().map_err(|error| StoreError::disk(&folder.path, error))?;
        let position = Position::of(&*engine)?;
        let (assembly, waiting) = (Assembly::default(), VecDeque::new());
        Ok(Some(Self { folder, engine, pack, position, assembly, waiting, bytes: 0 }))
    }

    /// Its position, including unsettled entries; `None` for a store that was never replicated.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Begins a new history with its present state.
    ///
    /// # Errors
    /// The disk fails.
    pub fn begin(&mut self, history: Uuid) -> Result<(), StoreError> {
        let position = Position { history, sequence: 0 };
        let mut batch = Batch::default();
        position.put(&mut batch);
        self.engine.apply(&batch)?;
        self.engine.sync()?;
        self.position = Some(position);
        Ok(())
    }

    /// It was restored from a copy: only the journal knows how that run ended.
    ///
    /// # Errors
    /// The disk fails.
    pub fn forget_end(&mut self) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(keys::CLEAN.to_vec());
        self.engine.apply(&batch)?;
        Ok(self.engine.sync()?)
    }

    /// Makes it independent: it is no longer a copy, and can be used alone.
    ///
    /// # Errors
    /// The disk fails.
    pub fn leave(mut self) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(POSITION.to_vec());
        self.engine.apply(&batch)?;
        self.engine.sync()?;
        self.position = None;
        Ok(())
    }

    /// Takes the journal's next entry.
    ///
    /// # Errors
    /// It isn't an entry of a store, or the disk fails. Then it is at its last settled position.
    pub fn take(&mut self, sequence: u64, entry: &[u8]) -> Result<(), StoreError> {
        let broken = |why: String| StoreError::BadEntry { sequence, why };
        self.bytes += entry.len();
        if let Some(shipment) = self.assembly.take(entry).map_err(broken)? {
            self.waiting.push_back((sequence, shipment));
        }
        if self.bytes > FOLLOW_BYTES { self.settle() } else { Ok(()) }
    }

    /// Writes the entries that it took.
    ///
    /// # Errors
    /// The disk fails.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        let Some(history) = self.position.map(|at| at.history) else { return Ok(()) };
        let bad = |error: std::io::Error| StoreError::disk(&self.folder.path, error);
        let blocks: Vec<_> = self.waiting.iter().flat_map(|(_, shipment)| &shipment.blocks).collect();
        for (offset, block) in &blocks {
            self.pack.write_all_at(block, *offset).map_err(bad)?;
        }
        if !blocks.is_empty() {
            // Before the keys that refer to them.
            self.pack.sync_data().map_err(bad)?;
        }
        let Some((last, _)) = self.waiting.back() else { return Ok(()) };
        let position = Position { history, sequence: *last };
        for (sequence, shipment) in &mut self.waiting {
            Position { history, sequence: *sequence }.put(&mut shipment.batch);
            self.engine.apply(&shipment.batch)?;
        }
        self.engine.sync()?;
        self.folder.mark(keys::get_number(&*self.engine, SERIAL)?.unwrap_or(0));
        (self.position, self.bytes) = (Some(position), 0);
        self.waiting.clear();
        Ok(())
    }
}

/// Blocks of a copied pack, in order, without its holes: the parts to send.
///
/// # Errors
/// The disk fails.
pub fn extents(pack: &Path) -> std::io::Result<Vec<(u64, u64)>> {
    use rustix::fs::SeekFrom::{Data, Hole};
    let file = File::open(pack)?;
    let (length, mut at, mut found) = (fs::metadata(pack)?.len(), 0, Vec::new());
    while at < length {
        let from = match rustix::fs::seek(&file, Data(at)) {
            // Only a hole follows.
            Err(rustix::io::Errno::NXIO) => break,
            from => from?,
        };
        let to = rustix::fs::seek(&file, Hole(from))?;
        found.push((from, to));
        at = to;
    }
    Ok(found)
}
