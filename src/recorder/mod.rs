//! The flight recorder: the inputs of every region and their results, in MCAP files that can be replayed without
//! anything else.
//!
//! It records each input that changed a region's state or made it say something. Other inputs can't matter: a handler
//! gets its region by shared reference, so it leaves no other trace. A file begins with each region's root and events
//! at that time, and the records by which it is woken. Inputs that these already contain are in the file, but are not
//! replayed. A record that an input used stands before it, unless the file holds it already. So the size of a file
//! depends on what was done, not on what is remembered. If a region is woken by more than [`Limits::start_bytes`], the
//! file names it as one that it can't replay. The same holds for a room that hears a clearance from before the file:
//! only the gate can make a clearance, and no file can.
//!
//! Only durable data is written. The regions never wait for the recorder. If its queue is full, what doesn't fit is
//! counted. Then the file ends with a note of the gap, and the next file begins with fresh states.

mod cast;
mod chunks;
mod file;
mod folder;
mod format;
mod recording;
mod replay;
mod retake;
mod start;
mod tape;
mod what_if;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use maxim_actors::region::{InputRecord, Tap};
use maxim_actors::store::AgentStore;
use maxim_bus::{Envelope, Lsn, RegionName, SharedClock};
use parking_lot::Mutex;

use crate::agent::{AgentSettings, Kit, Waking, anatomy};
use crate::config;

pub use chunks::Damage;
pub use folder::recordings;
pub use format::{Header, InputLine, RegionStart};
pub use recording::Recording;
pub use replay::{Divergence, Found, RegionTally, ReplayReport, SetAside, Window};
pub use retake::{Retaken, retake};
pub use what_if::{Imagining, Without};

use folder::Folder;
use writer::{Counters, Item, Letterbox, Scribe, What};

/// Inputs and signals that may wait for the writer, and the same number again for the disk.
const QUEUE: usize = 16_384;

/// How much is recorded, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All files together, in bytes; the oldest are removed first.
    pub max_bytes: u64,
    /// One file, in bytes, beyond the states that it begins with.
    pub file_bytes: u64,
    /// Files that begin before this age are removed.
    pub max_age: Duration,
    /// Records by which all regions are woken at the start of a file, in bytes.
    pub start_bytes: usize,
    /// Inputs and signals that may wait for the writer. Default 16384.
    pub queue: usize,
    /// How long the first file waits for [`Recorder::rooms_are_up`], so that waking rooms have the machine to
    /// themselves. Default 5 s.
    pub lead: Duration,
}

const LEAD: Duration = Duration::from_secs(5);
/// Most records that a file begins with, in bytes.
const START_BYTES: u64 = 64 << 20;

impl From<&config::Recorder> for Limits {
    fn from(settings: &config::Recorder) -> Self {
        let config::Recorder { enabled: _, max_bytes, file_bytes, max_age } = settings;
        let max_bytes = max_bytes.get();
        Self {
            max_bytes,
            // At most half of the total, so that one file remains while the next is written.
            file_bytes: file_bytes.get().min(max_bytes / 2),
            max_age: max_age.get(),
            start_bytes: usize::try_from(START_BYTES.min(max_bytes / 8)).unwrap_or(usize::MAX),
            queue: QUEUE,
            lead: LEAD,
        }
    }
}

/// A recording that can't be made, read or replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    #[error("{path} can't be {what}: {why}")]
    File { path: PathBuf, what: &'static str, why: String },
    #[error("{path} is no recording that can be replayed: {why} ({read})")]
    Unreadable { path: PathBuf, why: String, read: String, is_damaged: bool },
    #[error("the recorded settings make no agent here: {0}")]
    Settings(String),
    #[error("the store failed after {inputs} inputs of the recordings had been restored: {why}")]
    Store { inputs: u64, why: String },
    #[error("the recorder's thread can't be started: {0}")]
    Thread(std::io::Error),
}

/// Counts of what the regions reported to the recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    pub written: u64,
    /// Not recorded, because the writer was behind or couldn't write.
    pub lost: u64,
    pub files: u64,
}

/// Records what is accepted. A [`Tap`] that never waits.
pub struct Recorder {
    letters: Arc<Letterbox>,
    counters: Arc<Counters>,
    scribe: Thread,
    /// After this many items the writer is woken early.
    many: u64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// Begins the first file with the states in the store. No region may be running yet.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn start(
        folder: PathBuf,
        limits: Limits,
        store: AgentStore,
        clock: SharedClock,
        header: Header,
        rooms: &AgentSettings,
    ) -> Result<Arc<Self>, RecorderError> {
        let brought = rooms
            .action
            .registry
            .specs()
            .filter(|spec| spec.is_foreign && spec.offered_by.is_none())
            .cloned()
            .collect();
        let (home, own) = (rooms.gate.fear.home.clone(), rooms.gate.fear.own.as_ref().clone());
        let header = Header {
            home,
            own,
            barriers: rooms.gate.fear.walls.barriers,
            tool_lists: rooms.tool_servers.lists(),
            brought,
            ..header
        };
        let wakings = wakings(rooms);
        let letters = Arc::new(Letterbox::new(limits.queue));
        let counters = Arc::new(Counters::default());
        let folder = Folder::open(folder)?;
        let shared = (Arc::clone(&letters), Arc::clone(&counters));
        let scribe = Scribe::new(folder, limits, store, clock, header, wakings, shared)?;
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || scribe.run());
        let thread = thread.map_err(RecorderError::Thread)?;
        let (scribe, many) = (thread.thread().clone(), (limits.queue as u64 / 4).max(1));
        Ok(Arc::new(Self { letters, counters, scribe, many, thread: Mutex::new(Some(thread)) }))
    }

    /// The rooms are awake: the first file may begin.
    pub fn rooms_are_up(&self) {
        self.letters.say_awake();
        self.scribe.unpark();
    }

    pub fn counts(&self) -> RecorderCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let Counters { written, lost, files, .. } = &*self.counters;
        RecorderCounts { written: read(written), lost: read(lost), files: read(files) }
    }

    /// Writes what is durable and ends the file. A second call does nothing. Call it before the store is closed.
    pub fn close(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.letters.close();
        self.scribe.unpark();
        if thread.join().is_err() {
            tracing::error!("the recorder's thread panicked; the newest recording lacks its end");
        }
    }

    fn push(&self, lsn: Lsn, what: What) {
        let lost_before = self.counters.lost.load(Ordering::SeqCst);
        if !self.letters.put(Item { lsn, lost_before, what }) {
            self.counters.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        // A working writer looks by itself. To wake it for each item would cost the regions more than the item does.
        let taken = self.counters.taken.fetch_add(1, Ordering::Relaxed);
        if self.counters.asleep.load(Ordering::SeqCst) || taken % self.many == self.many - 1 {
            self.counters.asleep.store(false, Ordering::SeqCst);
            self.scribe.unpark();
        }
    }
}

/// The rooms that decide, and how each is woken.
fn wakings(rooms: &AgentSettings) -> Vec<(RegionName, Waking)> {
    let mut kit = Kit::new(rooms.deadline);
    anatomy::furnish(&mut kit, rooms);
    kit.wakings()
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

impl Tap for Recorder {
    fn input(&self, input: InputRecord) {
        self.push(input.lsn, What::Input(input));
    }

    fn emitted(&self, lsn: Lsn, envelope: &Arc<Envelope>) {
        self.push(lsn, What::Signal(Arc::clone(envelope)));
    }
}
