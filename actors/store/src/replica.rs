//! The store on more than one machine: a journal elsewhere takes each batch before the disk here does.
//!
//! So that journal always holds all that is durable here, and whoever takes the agent over goes on from it: from a backup that
//! was put there ([`StateStore::backup`](super::StateStore::backup)), and the batches behind it ([`Follower`]). A batch travels
//! as what is to be written, keys and blocks of the pack, so it means the same to every engine.

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

/// Which history the store belongs to, and the last entry of its journal that it holds.
const POSITION: &[u8] = b"!replica";
const VERSION: u8 = 1;
/// Bytes of an entry of the journal. A batch of more is several; those of others have limits of a megabyte.
const PART: usize = 512 << 10;
/// Before the bytes: version, number of the part, how many there are, checksum.
const PART_HEAD: usize = 13;
/// A follower writes so many bytes at a time.
const FOLLOW_BYTES: usize = 8 << 20;

/// A point in the history of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Two stores of different histories have nothing to do with each other.
    pub history: Uuid,
    /// Entry of the journal; 0 is before the first.
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

    /// Where a backup stands.
    ///
    /// # Errors
    /// It isn't usable.
    pub fn of_backup(place: &Path) -> Result<Option<Self>, StoreError> {
        let value = backup::value_in(place, POSITION)?;
        Ok(value.and_then(|sealed| Self::parse(&sealed)))
    }
}

/// Why the journal didn't take an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// It may take it later.
    #[error("the journal on other machines doesn't answer: {0}")]
    Unreachable(String),
    /// It never will: somebody else goes on with the agent.
    #[error("this machine may not write any more: {0}")]
    Fenced(String),
}

/// The journal, as its one writer sees it.
pub trait Replica: Send + Sync {
    /// The last entry.
    fn position(&self) -> Position;
    /// Appends, in order and without anything between. It is durable there when this returns; after
    /// [`ReplicaError::Unreachable`] the same is tried again, and what had arrived isn't appended twice.
    ///
    /// # Errors
    /// See [`ReplicaError`].
    fn append(&self, parts: &[Vec<u8>]) -> Result<(), ReplicaError>;
}

/// A batch on its way.
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

/// Puts parts together. One that broke off is left out: its writer died, and nothing of it was acknowledged.
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
            return Err(format!("it has version {version}, this program reads {VERSION}: run the newer program"));
        }
        let head = reader.u32().zip(reader.u32()).zip(reader.u32());
        let ((index, count), expected) = head.ok_or("it is cut off")?;
        if sum(&index.to_le_bytes(), reader.0) != expected {
            return Err("its checksum is wrong".into());
        }
        if index == 0 {
            (self.next, self.content) = (0, Vec::new());
        } else if index != self.next {
            return Err(format!("part {index} of {count} came where part {} was to", self.next));
        }
        self.content.extend_from_slice(reader.0);
        self.next = index + 1;
        if self.next < count {
            return Ok(None);
        }
        let content = std::mem::take(&mut self.content);
        Shipment::read(&content).map(Some).ok_or_else(|| "it makes no sense".into())
    }
}

/// What a writer appends first: nothing is in it, but no former writer appends anything behind it, and half a batch that one
/// left before it is half for good.
pub fn opening_entry() -> Vec<u8> {
    Shipment::parts(&[], &Batch::default()).remove(0)
}

/// Sends a batch with the blocks that it may point at, and notes in it where the store stands then.
pub(super) fn send(replica: &dyn Replica, blocks: &[Stored], batch: &mut Batch) -> Result<(), ReplicaError> {
    let parts = Shipment::parts(blocks, batch);
    replica.append(&parts)?;
    replica.position().put(batch);
    Ok(())
}

/// A store that is opened for a journal stands where that does, and one that has a journal isn't opened without it: what it
/// learned alone would be in no other machine's.
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

/// A store that nobody lives, on its way to where the journal is. What it has taken is on disk after [`Follower::settle`].
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
    /// The store of a folder; nothing where there is none.
    ///
    /// # Errors
    /// A process holds it, it is a newer program's, or it is damaged: then it is as it was.
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

    /// Where it stands, with what isn't settled yet; nothing for a store that was never replicated.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// A new history begins with it as it is.
    ///
    /// # Errors
    /// The disk.
    pub fn begin(&mut self, history: Uuid) -> Result<(), StoreError> {
        let position = Position { history, sequence: 0 };
        let mut batch = Batch::default();
        position.put(&mut batch);
        self.engine.apply(&batch)?;
        self.engine.sync()?;
        self.position = Some(position);
        Ok(())
    }

    /// It was put in place from a copy: how the life ended that it is of, only the journal knows.
    ///
    /// # Errors
    /// The disk.
    pub fn forget_end(&mut self) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(keys::CLEAN.to_vec());
        self.engine.apply(&batch)?;
        Ok(self.engine.sync()?)
    }

    /// It is no copy of anything any more, and can be lived alone.
    ///
    /// # Errors
    /// The disk.
    pub fn leave(mut self) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(POSITION.to_vec());
        self.engine.apply(&batch)?;
        self.engine.sync()?;
        self.position = None;
        Ok(())
    }

    /// Takes the next entry of the journal.
    ///
    /// # Errors
    /// It isn't one that a store wrote, or the disk; then it stands where it last settled.
    pub fn take(&mut self, sequence: u64, entry: &[u8]) -> Result<(), StoreError> {
        let broken = |why: String| StoreError::BadEntry { sequence, why };
        self.bytes += entry.len();
        if let Some(shipment) = self.assembly.take(entry).map_err(broken)? {
            self.waiting.push_back((sequence, shipment));
        }
        if self.bytes > FOLLOW_BYTES { self.settle() } else { Ok(()) }
    }

    /// Writes what it has taken.
    ///
    /// # Errors
    /// The disk.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        let Some(history) = self.position.map(|at| at.history) else { return Ok(()) };
        let bad = |error: std::io::Error| StoreError::disk(&self.folder.path, error);
        let blocks: Vec<_> = self.waiting.iter().flat_map(|(_, shipment)| &shipment.blocks).collect();
        for (offset, block) in &blocks {
            self.pack.write_all_at(block, *offset).map_err(bad)?;
        }
        if !blocks.is_empty() {
            // Before the keys that point at them.
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

/// Blocks of a copied pack, in order, without its holes: what is to be sent of it.
///
/// # Errors
/// The disk.
pub fn extents(pack: &Path) -> std::io::Result<Vec<(u64, u64)>> {
    use rustix::fs::SeekFrom::{Data, Hole};
    let file = File::open(pack)?;
    let (length, mut at, mut found) = (fs::metadata(pack)?.len(), 0, Vec::new());
    while at < length {
        let from = match rustix::fs::seek(&file, Data(at)) {
            // Nothing but a hole is behind.
            Err(rustix::io::Errno::NXIO) => break,
            from => from?,
        };
        let to = rustix::fs::seek(&file, Hole(from))?;
        found.push((from, to));
        at = to;
    }
    Ok(found)
}
