//! An agent in memory: the accepted state, and what the committer knows to be on disk.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use indexmap::IndexMap;
use maxim_bus::ids::{AgentId, Epoch, Lsn};
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

use super::super::codec::Writer;
use super::super::error::EngineError;
use super::super::journal::{Cursors, FrameSpan, Head, Meta, Records as Changed, Waiting};
use super::super::mail::Bundle;
use super::super::records::Records;
use super::super::root_slot::Events;
use super::super::watermark::Watermark;

/// At least this many live record entries per replaced one; with fewer, the records are rewritten.
const ALIVE: u64 = 3;
/// The same after a room reported that it replaced many.
const ALIVE_AFTER_REPLACING: u64 = 64;

/// A value per region, looked up many times per percept.
pub type ByName<T> = IndexMap<Arc<str>, T, FxBuildHasher>;

pub type LowWater = Arc<dyn Fn() -> Lsn + Send + Sync>;
pub type UnreadBelow = Arc<dyn Fn(Lsn) -> Option<Vec<Lsn>> + Send + Sync>;

pub struct Agent {
    pub id: AgentId,
    pub state: Mutex<AgentState>,
    pub low_water: Mutex<Option<LowWater>>,
    pub unread: Mutex<Option<UnreadBelow>>,
    pub mark: Watermark,
    /// The newest LSN that is written or being written.
    pub taken: AtomicU64,
    /// Only locked by the committer, and by the holder of the gate.
    pub on_disk: Mutex<OnDisk>,
}

impl Agent {
    pub fn new(id: AgentId) -> Self {
        let state = AgentState { next: 1, ..AgentState::default() };
        Self {
            id,
            state: Mutex::new(state),
            low_water: Mutex::new(None),
            unread: Mutex::new(None),
            mark: Watermark::default(),
            taken: AtomicU64::new(0),
            on_disk: Mutex::new(OnDisk::default()),
        }
    }
}

#[derive(Default)]
pub struct AgentState {
    pub next: u64,
    /// Accepted and not yet on disk, with the counted bytes of each.
    pub waiting: VecDeque<(Arc<Waiting>, usize)>,
    pub waiting_bytes: usize,
    /// The committer knows that entries wait.
    pub queued: bool,
    pub closed: bool,
    /// The agent was out of memory and couldn't be read back.
    pub unread: Option<EngineError>,
    pub regions: ByName<Region>,
    /// Only in a store without a disk: the emissions that a journal would keep.
    pub emissions: VecDeque<(u64, Arc<[u8]>)>,
}

/// A region's accepted state.
pub struct Region {
    pub name: Arc<str>,
    pub epoch: Epoch,
    pub cursors: Cursors,
    pub state_hash: u64,
    pub root: Option<(u64, Arc<[u8]>)>,
    /// The events after the root.
    pub events: VecDeque<Events>,
    pub event_count: usize,
    pub event_bytes: usize,
    pub records: Records,
    pub seal_wanted: bool,
    /// The room reported that it replaced many records, and not all dead ones have been removed from the disk.
    pub has_replaced_much: bool,
}

impl Region {
    pub fn new(name: Arc<str>, epoch: Epoch) -> Self {
        Self {
            name,
            epoch,
            cursors: Cursors::default(),
            state_hash: 0,
            root: None,
            events: VecDeque::new(),
            event_count: 0,
            event_bytes: 0,
            records: Records::default(),
            seal_wanted: false,
            has_replaced_much: false,
        }
    }

    /// The required number of live entries per replaced one; with fewer, the records are rewritten.
    pub fn alive_at_least(&self) -> u64 {
        if self.has_replaced_much { ALIVE_AFTER_REPLACING } else { ALIVE }
    }

    pub fn apply(&mut self, head: &Head, events: Vec<Vec<u8>>, changed: Changed, root: Option<&Arc<[u8]>>) {
        self.state_hash = head.state_hash;
        if let Some((lane, lsn)) = head.consumed {
            self.cursors.advance(lane, lsn);
        }
        for (key, value) in changed {
            self.records.tail.put(key, value, head.lsn);
        }
        if !events.is_empty() {
            self.apply_events(head.lsn, &Arc::new(events));
        }
        if let Some(root) = root {
            self.root = Some((head.lsn, root.clone()));
            self.events.clear();
            (self.event_count, self.event_bytes) = (0, 0);
        }
    }

    pub fn apply_events(&mut self, lsn: u64, events: &Arc<Vec<Vec<u8>>>) {
        if !events.is_empty() {
            self.event_count += events.len();
            self.event_bytes += events.iter().map(Vec::len).sum::<usize>();
            self.events.push_back((lsn, events.clone()));
        }
    }
}

impl AgentState {
    /// The region of this name; a new one is created.
    pub fn region(&mut self, name: &str, epoch: Epoch) -> &mut Region {
        let at = self.regions.get_index_of(name).unwrap_or_else(|| {
            let name: Arc<str> = name.into();
            self.regions.insert_full(name.clone(), Region::new(name, epoch)).0
        });
        &mut self.regions[at]
    }

    /// Without a disk: durable at once, with the emissions that the journal would keep.
    pub fn keep_in_memory(&mut self, head: &Head, emissions: Vec<Arc<[u8]>>, agent: &Agent) {
        self.emissions.extend((head.lsn + 1..).zip(emissions));
        if self.emissions.len() % 256 == 255 {
            let low_water = agent.low_water.lock().clone();
            let low = low_water.map_or(0, |low_water| low_water().0);
            self.emissions.drain(..self.emissions.partition_point(|(lsn, _)| *lsn <= low));
        }
        agent.mark.publish(head.last());
    }
}

/// The data on disk, or on disk with the batch being written.
#[derive(Default)]
pub struct OnDisk {
    pub frames: VecDeque<FrameSpan>,
    /// The bytes of all frames.
    pub frame_bytes: usize,
    /// Places of removed frames. Their keys stay, with empty values. If keys came and went at its ends, sled would
    /// rewrite a page of a dozen frames, which cost five times as much as the frames themselves.
    pub free_places: BTreeSet<u64>,
    /// Above all existing places.
    pub next_place: u64,
    /// Unread letters that were moved out of the journal, oldest bundle first.
    pub mail: Vec<Bundle>,
    pub regions: ByName<RegionOnDisk>,
    /// Last LSN in the journal.
    pub end: u64,
    /// The last LSN that was removed from the journal.
    pub dropped: u64,
    /// All rooms had handled everything up to here, as far as an entry on disk says so, or as they did so without a
    /// trace.
    pub delivered: u64,
}

impl OnDisk {
    /// The place of the next frame: neighbouring places are filled together.
    pub fn take_place(&mut self) -> u64 {
        self.free_places.pop_first().unwrap_or_else(|| {
            self.next_place += 1;
            self.next_place - 1
        })
    }

    /// Notes an existing place.
    pub fn know_place(&mut self, place: u64) {
        self.next_place = self.next_place.max(place.saturating_add(1));
    }

    pub fn keep(&mut self, frame: FrameSpan) {
        self.know_place(frame.place);
        self.frame_bytes += frame.bytes;
        self.frames.push_back(frame);
    }

    /// The present position, to be read at the next open.
    pub fn head(&self) -> Vec<u8> {
        let mut content = Writer::default();
        content.u64(self.end);
        content.u64(self.dropped);
        content.u64(self.delivered);
        content.0
    }
}

#[derive(Default)]
pub struct RegionOnDisk {
    pub meta: Meta,
    pub meta_written: u64,
    pub slots: [Slot; 2],
    pub last_event: u64,
    /// Chunks of its records' manifest.
    pub manifest_chunks: u16,
}

/// One of the two root slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// 0 when it holds nothing valid.
    pub lsn: u64,
    pub chunks: u16,
    pub bytes: usize,
}

impl RegionOnDisk {
    /// The slot to overwrite next: never the newer one.
    pub fn older_slot(&self) -> u8 {
        u8::from(self.slots[1].lsn < self.slots[0].lsn)
    }

    /// Events after this LSN are needed to rebuild it, even if the newer root is lost.
    pub fn needs_events_after(&self) -> u64 {
        self.slots[0].lsn.min(self.slots[1].lsn)
    }
}
