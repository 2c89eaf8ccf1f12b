//! One agent's part of the store: accepted commits, their places in its one order, and their receivers.

mod reading;
mod state;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use maxim_bus::bounds::ROOT;
use maxim_bus::ids::{AgentId, Epoch, Lsn, RegionName};

use super::error::{AcceptError, NotDurable};
use super::journal::{Cursors, Head, Lane, Records, Waiting};
use super::records::{KEY_BYTES, RECORD_BYTES, Value};
use super::shared::Shared;

pub use reading::{Frozen, Recovered};
pub(super) use state::{Agent, AgentState, OnDisk, Region, RegionOnDisk, Slot};

/// Largest root, event or emission, in bytes. A root of more than a megabyte is a mistake of its room. A root beyond
/// this limit is shrunk by its room, because a refusal would end the room for good.
pub const PAYLOAD_BYTES: usize = ROOT.limit;
/// A larger amount of bytes is written without delay.
const MUCH: usize = 1 << 20;
/// A snapshot is due after this many events, bytes of events, or LSNs since the last one. Events must also have as many
/// bytes as the snapshot, so that a large root isn't rewritten for little.
const SNAPSHOT_EVENTS: usize = 1024;
const SNAPSHOT_BYTES: usize = 256 << 10;
const SNAPSHOT_LAG: u64 = 20_480;

/// Keyed records as a commit changes them, `None` deletes. Keys up to 128 bytes, values up to 16 MB.
pub type RecordChanges = Vec<(Vec<u8>, Option<Arc<[u8]>>)>;

/// A region's commit, all or nothing.
#[derive(Clone, Debug)]
pub struct Commit {
    pub region: RegionName,
    /// The committer's incarnation; a commit of an older one than the region's is refused.
    pub epoch: Epoch,
    /// The message that caused the commit: its lane and LSN.
    pub consumed: Option<(Lane, Lsn)>,
    pub events: Vec<Vec<u8>>,
    /// Signals for other rooms; stored until the low water has passed them.
    pub emissions: Vec<Arc<[u8]>>,
    pub records: RecordChanges,
    /// A snapshot of the state after this commit's own events. Earlier events need no replay any more.
    pub root: Option<Vec<u8>>,
    /// Hash of the state after this commit; stored, not interpreted.
    pub state_hash: u64,
}

impl Commit {
    /// An empty commit.
    pub fn of(region: RegionName, epoch: Epoch) -> Self {
        Self {
            region,
            epoch,
            consumed: None,
            events: Vec::new(),
            emissions: Vec::new(),
            records: Vec::new(),
            root: None,
            state_hash: 0,
        }
    }

    fn check(&self) -> Result<usize, AcceptError> {
        let fits =
            |what, size, limit| if size > limit { Err(AcceptError::TooLarge { what, size, limit }) } else { Ok(size) };
        let mut bytes = 64 + self.region.len();
        fits("a region name", self.region.len(), 64)?;
        for event in &self.events {
            bytes += fits("an event", event.len(), PAYLOAD_BYTES)?;
        }
        for emission in &self.emissions {
            bytes += fits("an emission", emission.len(), PAYLOAD_BYTES)?;
        }
        for (key, value) in &self.records {
            bytes += fits("a record's key", key.len(), KEY_BYTES)?;
            bytes += fits("a record", value.as_ref().map_or(0, |value| value.len()), RECORD_BYTES)?;
        }
        bytes += fits("a root", self.root.as_ref().map_or(0, Vec::len), PAYLOAD_BYTES)?;
        Ok(bytes)
    }
}

/// The place of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub lsn: Lsn,
    /// The LSN of the first emission; emission i has this plus i.
    pub first_emission: Lsn,
    /// The region should put a root into its next commit.
    pub snapshot_due: bool,
}

/// One agent's store. Clones share it.
#[derive(Clone)]
pub struct AgentStore {
    pub(super) shared: Arc<Shared>,
    pub(super) agent: Arc<Agent>,
}

impl AgentStore {
    pub fn id(&self) -> &AgentId {
        &self.agent.id
    }

    /// Accepts a commit: the only fencing point. Never waits for the disk. `publish` runs while the agent's order is
    /// locked, so that inboxes are filled in the order of LSNs. It must be short and must not call this store.
    pub fn accept(&self, commit: Commit, publish: impl FnOnce(&Accepted)) -> Result<Accepted, AcceptError> {
        let bytes = commit.check()?;
        let Commit { region: named, epoch, consumed, events, emissions, records, root, state_hash } = commit;
        let value = |bytes: Option<Arc<[u8]>>| bytes.map_or(Value::Deleted, Value::Inline);
        let records: Records = records.into_iter().map(|(key, bytes)| (key, value(bytes))).collect();
        let root = root.map(Arc::from);
        // It is serialised before it gets its place, so that no other commit waits for it.
        let head =
            Head { lsn: 0, region: Arc::default(), epoch, consumed, state_hash, emitted: emissions.len() as u64 };
        let in_memory = self.shared.in_memory;
        let waiting = (!in_memory).then(|| Waiting::new(head.clone(), &events, &emissions, &records, root.clone()));
        let mut guard = self.agent.state.lock();
        let state = &mut *guard;
        if state.closed {
            return Err(AcceptError::Closed);
        }
        let limit = self.shared.options.tail_limit;
        if state.waiting_bytes + bytes > limit {
            return Err(AcceptError::Full { waiting: state.waiting_bytes, limit });
        }
        let boot = self.shared.boot_epoch();
        let lsn = state.next;
        let region = state.region(named, boot);
        if epoch != region.epoch {
            return Err(AcceptError::Fenced { given: epoch, current: region.epoch });
        }
        let head = Head { lsn, region: region.name.clone(), ..head };
        region.apply(&head, events, records, root.as_ref());
        let due = region.snapshot_due(lsn);
        let full = region.records.tail.bytes > self.shared.options.seal_bytes;
        let seal = full && !std::mem::replace(&mut region.seal_wanted, full) && !in_memory;
        let accepted = Accepted { lsn: Lsn(lsn), first_emission: Lsn(lsn + 1), snapshot_due: due };
        state.next = head.last() + 1;
        let seal = seal.then(|| head.region.clone());
        let (mut idle, mut much) = (false, false);
        match waiting {
            None => state.keep_in_memory(&head, emissions, &self.agent),
            Some(mut waiting) => {
                waiting.head = head;
                state.waiting_bytes += bytes;
                much = state.waiting_bytes > MUCH;
                state.waiting.push_back((Arc::new(waiting), bytes));
                idle = !std::mem::replace(&mut state.queued, true);
            }
        }
        let told = Telling { store: self, idle, much, seal };
        publish(&accepted);
        drop(guard);
        drop(told);
        Ok(accepted)
    }

    /// A region replaced or removed many of its records: the dead ones are removed from the disk soon, even if they are
    /// fewer than usual.
    pub fn has_replaced_much(&self, region: RegionName) {
        if self.shared.in_memory {
            return;
        }
        let mut state = self.agent.state.lock();
        let region = state.region(region, self.shared.boot_epoch());
        (region.has_replaced_much, region.seal_wanted) = (true, true);
        let region = region.name.clone();
        drop(state);
        self.shared.upkeep.seal(self.agent.clone(), region);
    }

    /// True when more than half of the allowed bytes wait for the disk: a refused caller should try again later.
    pub fn is_full(&self) -> bool {
        self.agent.state.lock().waiting_bytes > self.shared.options.tail_limit / 2
    }

    /// Begins a new incarnation of a region: commits of older ones are refused. Grows over restarts of the process.
    pub fn raise_epoch(&self, region: RegionName) -> Epoch {
        let mut state = self.agent.state.lock();
        let region = state.region(region, self.shared.boot_epoch());
        region.epoch = Epoch(region.epoch.0 + 1);
        region.epoch
    }

    pub fn epoch(&self, region: RegionName) -> Epoch {
        self.agent.state.lock().region(region, self.shared.boot_epoch()).epoch
    }

    /// The newest given LSN; 0 if there was none.
    pub fn head(&self) -> Lsn {
        Lsn(self.agent.state.lock().next - 1)
    }

    /// Everything up to here is on disk.
    pub fn durable(&self) -> Lsn {
        Lsn(self.agent.mark.durable())
    }

    /// Waits until `lsn` is on disk. While the store is degraded it returns at once, with the reason.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), NotDurable> {
        if self.agent.mark.durable() >= lsn.0 {
            return Ok(());
        }
        self.known(lsn)?;
        self.hurry(lsn);
        self.agent.mark.wait(lsn.0, &self.shared.trouble).await
    }

    /// As [`AgentStore::wait_durable`], blocking a thread.
    pub fn wait_durable_blocking(&self, lsn: Lsn, limit: Duration) -> Result<(), NotDurable> {
        if self.agent.mark.durable() >= lsn.0 {
            return Ok(());
        }
        self.known(lsn)?;
        self.hurry(lsn);
        self.agent.mark.wait_blocking(lsn.0, limit, &self.shared.trouble)
    }

    /// Requests an immediate write, unless it is already being written.
    fn hurry(&self, lsn: Lsn) {
        if lsn.0 > self.agent.taken.load(Ordering::Acquire) {
            self.shared.work.hurry();
        }
    }

    fn known(&self, lsn: Lsn) -> Result<(), NotDurable> {
        if lsn > self.head() { Err(NotDurable::Unknown(lsn)) } else { Ok(()) }
    }

    pub fn cursors(&self, region: RegionName) -> Cursors {
        self.agent.state.lock().region(region, self.shared.boot_epoch()).cursors
    }

    /// Sets the source of the LSN up to which every lossless subscriber has consumed; later emissions are kept. It is
    /// called before waiting entries are written, so it may use accepted cursors. Until it is set, every emission is
    /// kept.
    pub fn set_low_water(&self, low_water: impl Fn() -> Lsn + Send + Sync + 'static) {
        *self.agent.low_water.lock() = Some(Arc::new(low_water));
    }

    /// Sets the source of the emissions below an LSN that some lossless subscriber has yet to consume, ascending. A few
    /// of these are moved out of a long journal, so that it can be cut. Until it is set, or if it can't tell, only the
    /// low water counts.
    pub fn set_unread(&self, unread: impl Fn(Lsn) -> Option<Vec<Lsn>> + Send + Sync + 'static) {
        *self.agent.unread.lock() = Some(Arc::new(unread));
    }
}

/// Wakes the threads of the store, even when `publish` panics: the commit is accepted by then.
struct Telling<'a> {
    store: &'a AgentStore,
    idle: bool,
    much: bool,
    seal: Option<Arc<str>>,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let AgentStore { shared, agent } = self.store;
        if self.idle {
            shared.work.add(agent.clone());
        }
        if self.much {
            shared.work.hurry();
        }
        if let Some(region) = self.seal.take() {
            shared.upkeep.seal(agent.clone(), region);
        }
    }
}

impl Region {
    fn snapshot_due(&self, head: u64) -> bool {
        let (since, root) = self.root.as_ref().map_or((0, 0), |(lsn, root)| (*lsn, root.len()));
        (self.event_count > SNAPSHOT_EVENTS && self.event_bytes > root)
            || self.event_bytes > SNAPSHOT_BYTES.max(root)
            || (self.event_count > 0 && head.saturating_sub(since) > SNAPSHOT_LAG)
    }
}
