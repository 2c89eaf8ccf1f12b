//! Data shared by the parts of one store, and the queues between them.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::ids::{AgentId, Epoch, Lsn};
use parking_lot::{Condvar, Mutex, RwLock};

use super::StoreOptions;
use super::agent::Agent;
use super::engine::{Batch, Engine, EngineKind, FaultSwitch, Switched};
use super::error::EngineError;
use super::folder::Folder;
use super::health::Counters;
use super::pack::{Pack, Pointer};
use super::records::{Run, Sealed};
use super::replica::Replica;
use super::watermark::Trouble;

/// Epochs of one opening; a restarted process begins above all epochs it ever gave.
pub const EPOCHS_PER_BOOT: u64 = 1_000_000;

pub struct Shared {
    pub options: StoreOptions,
    pub switch: FaultSwitch,
    pub in_memory: bool,
    /// How often the store was opened, including this time.
    pub boot: u64,
    pub folder: Option<Folder>,
    /// Gets each batch before the disk.
    pub replica: Option<Arc<dyn Replica>>,
    engine: RwLock<Option<Arc<dyn Engine>>>,
    pack: Option<Arc<Pack>>,
    pub agents: Mutex<BTreeMap<AgentId, Arc<Agent>>>,
    /// Agents of which memory only has the places of their data on disk; see `away.rs`. Locked after the agents.
    pub away: Mutex<BTreeMap<AgentId, Arc<Agent>>>,
    pub work: Work,
    pub upkeep: UpkeepQueue,
    /// The first batch of this run, if the disk was full when the store was opened.
    pub owed: Mutex<Option<Batch>>,
    pub trouble: Trouble,
    /// Locked while a batch is made and written; contains the number of the last batch.
    pub gate: Mutex<u64>,
    /// Locked while blocks are packed or freed; contains the blocks to free when their last reader is gone. Locked
    /// before the gate.
    pub packing: Mutex<Vec<Retired>>,
    pub counters: Counters,
    damage_seen: AtomicBool,
    damage_noted: AtomicBool,
    pub generation: AtomicU64,
    /// A command after a run that ended badly: the bad end is left for the next run to report.
    pub leaves_end_untold: bool,
    /// The store ends and there is time: the journal is cut as far as possible.
    pub settles: AtomicBool,
}

/// Runs that were merged into another.
pub struct Retired {
    pub sealed: Arc<Sealed>,
    pub runs: Vec<Arc<Run>>,
    /// Long values without a pointer in a newer run, and blocks that only these runs still share.
    pub replaced: Vec<Pointer>,
    /// The places of the blocks that the newer run took over unchanged.
    pub taken_over: HashSet<u64>,
}

impl Shared {
    pub fn new(
        options: StoreOptions,
        switch: FaultSwitch,
        disk: Option<(Arc<dyn Engine>, Arc<Pack>)>,
        folder: Option<Folder>,
        boot: u64,
    ) -> Self {
        let in_memory = disk.is_none();
        let (engine, pack) = disk.unzip();
        let engine = engine.map(|engine| Arc::new(Switched::new(engine, switch.clone())) as Arc<dyn Engine>);
        let generation = AtomicU64::new(folder.as_ref().map_or(0, |folder| folder.generation));
        Self {
            options,
            switch,
            in_memory,
            boot,
            folder,
            replica: None,
            engine: RwLock::new(engine),
            pack,
            agents: Mutex::default(),
            away: Mutex::default(),
            work: Work::default(),
            upkeep: UpkeepQueue::default(),
            owed: Mutex::default(),
            trouble: Trouble::default(),
            gate: Mutex::new(0),
            packing: Mutex::default(),
            counters: Counters::default(),
            damage_seen: AtomicBool::new(false),
            damage_noted: AtomicBool::new(false),
            generation,
            leaves_end_untold: false,
            settles: AtomicBool::new(false),
        }
    }

    /// The engine, unless the store is closed, in memory, or just being reopened.
    pub fn backing(&self) -> Option<Arc<dyn Engine>> {
        self.engine.read().clone()
    }

    pub fn set_engine(&self, engine: Option<Arc<dyn Engine>>) {
        let engine = engine.map(|engine| Arc::new(Switched::new(engine, self.switch.clone())) as Arc<dyn Engine>);
        let former = std::mem::replace(&mut *self.engine.write(), engine);
        // An engine writes its tables when it is dropped, and may panic on a damaged file. All promised data is synced,
        // and the next start checks it.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(former))).is_err() {
            tracing::error!("the database panicked while it was closed; the next start checks all of it");
        }
    }

    /// Checks that written data is where it will be looked for.
    ///
    /// # Errors
    /// See [`Folder::check_in_place`].
    pub fn check_in_place(&self) -> Result<(), EngineError> {
        let Some(folder) = self.folder.as_ref().filter(|_| !self.in_memory) else { return Ok(()) };
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            match folder.check_in_place(generation) {
                // A compaction replaced the generation that was checked.
                Err(_) if generation != self.generation.load(Ordering::Acquire) => {}
                checked => return checked,
            }
        }
    }

    pub fn pack(&self) -> Option<Arc<Pack>> {
        self.pack.clone()
    }

    /// A region's epoch before anybody raised it in this process.
    pub fn boot_epoch(&self) -> Epoch {
        Epoch(self.boot * EPOCHS_PER_BOOT)
    }

    pub fn agent(&self, id: &AgentId) -> Arc<Agent> {
        let mut agents = self.agents.lock();
        if let Some(agent) = self.come_back(id, &mut agents) {
            return agent;
        }
        let made = || {
            let agent = Agent::new(id.clone());
            agent.state.lock().closed = self.trouble.get() == Some(super::error::NotDurable::Closed);
            Arc::new(agent)
        };
        agents.entry(id.clone()).or_insert_with(made).clone()
    }

    pub fn all_agents(&self) -> Vec<Arc<Agent>> {
        self.agents.lock().values().cloned().collect()
    }

    /// Also the agents out of memory: for work on the data on disk.
    pub fn everybody(&self) -> Vec<Arc<Agent>> {
        let agents = self.agents.lock();
        let away = self.away.lock();
        agents.values().chain(away.values()).cloned().collect()
    }

    pub fn wake_waiting(&self) {
        for agent in self.all_agents() {
            agent.mark.wake();
        }
    }

    /// A read found damage: the next batch says so, and the next start checks everything.
    pub fn note_damage(&self) {
        self.damage_seen.store(true, Ordering::Release);
    }

    pub fn has_damage(&self) -> bool {
        self.damage_seen.load(Ordering::Acquire)
    }

    pub fn clear_damage(&self) {
        self.damage_seen.store(false, Ordering::Release);
        self.damage_noted.store(false, Ordering::Release);
    }

    /// True once after damage was seen and not written yet.
    pub fn damage_to_write(&self) -> bool {
        self.has_damage() && !self.damage_noted.swap(true, Ordering::AcqRel)
    }

    /// Folder and kind of the engine of a generation; `None` for a given engine.
    pub fn engine_folder(&self, generation: u64) -> Option<(EngineKind, PathBuf)> {
        self.folder.as_ref().map(|folder| (self.options.engine, folder.engine(generation)))
    }

    /// The agent's low water. If the closure panics, it counts as "nothing was delivered".
    pub fn low_water(&self, agent: &Agent) -> u64 {
        let low_water = agent.low_water.lock().clone();
        let ask = || low_water.map_or(Lsn(0), |low_water| low_water()).0;
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).unwrap_or(0)
    }
}

/// Replaces a region's sealed records, in the next batch.
pub struct Edit {
    pub agent: Arc<Agent>,
    pub region: Arc<str>,
    pub sealed: Arc<Sealed>,
    /// The tail that was being sealed is now included.
    pub ends_sealing: bool,
    pub done: SyncSender<Result<(), EngineError>>,
}

/// How a store ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    #[default]
    No,
    /// After everything accepted is on disk.
    Drained,
    /// At once.
    Abandoned,
}

/// How long accepted data may wait for more, while nobody waits for it.
const LINGER: Duration = Duration::from_millis(4);

/// The work of the committer.
#[derive(Default)]
pub struct Work {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
pub struct Waiting {
    pub agents: Vec<Arc<Agent>>,
    pub edits: Vec<Edit>,
    /// Since when agents wait.
    since: Option<Stopwatch>,
    /// A caller waits for the disk.
    urgent: bool,
    stop: Stop,
    refuses: bool,
    ended: bool,
}

impl Work {
    pub fn add(&self, agent: Arc<Agent>) {
        let mut state = self.state.lock();
        state.agents.push(agent);
        if state.since.is_none() {
            state.since = Some(Stopwatch::start());
            self.changed.notify_one();
        }
    }

    /// Ends the delay: somebody waits for the disk, or much waits to be written.
    pub fn hurry(&self) {
        let mut state = self.state.lock();
        if !state.urgent {
            state.urgent = true;
            self.changed.notify_one();
        }
    }

    pub fn edit(&self, edit: Edit) {
        let mut state = self.state.lock();
        if state.refuses {
            return;
        }
        state.edits.push(edit);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for data to write; `None` when the store ends and all is written. Data that nobody waits for is delayed,
    /// so that it isn't being written when somebody comes.
    pub fn take(&self) -> Option<(Vec<Arc<Agent>>, Vec<Edit>)> {
        let mut state = self.state.lock();
        loop {
            if state.stop == Stop::Abandoned {
                return None;
            }
            let left = state.since.as_ref().map(|since| LINGER.saturating_sub(since.elapsed()));
            let is_time = state.urgent || state.stop != Stop::No || left == Some(Duration::ZERO);
            if !state.edits.is_empty() || (is_time && !state.agents.is_empty()) {
                (state.since, state.urgent) = (None, false);
                return Some((std::mem::take(&mut state.agents), std::mem::take(&mut state.edits)));
            }
            if state.stop != Stop::No {
                return None;
            }
            match left {
                Some(left) => drop(self.changed.wait_for(&mut state, left)),
                None => self.changed.wait(&mut state),
            }
        }
    }

    pub fn stop(&self, how: Stop) {
        let mut state = self.state.lock();
        state.stop = state.stop.max(how);
        self.changed.notify_all();
    }

    pub fn stopping(&self) -> Stop {
        self.state.lock().stop
    }

    /// No more edits will be written; their waiters are released.
    pub fn refuse_edits(&self) {
        let mut state = self.state.lock();
        state.refuses = true;
        state.edits.clear();
    }

    /// The committer has ended: its waiters are released.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        self.changed.notify_all();
    }

    /// Waits until the committer has ended; false when the time is over.
    pub fn wait_ended(&self, limit: std::time::Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.ended, limit);
        state.ended
    }
}

/// Deferrable work is done after this time without a sealed tail. A busy room seals one for each megabyte that it
/// remembers.
const QUIET: Duration = Duration::from_secs(2);

/// The work of the upkeep thread.
#[derive(Default)]
pub struct UpkeepQueue {
    state: Mutex<Chores>,
    changed: Condvar,
}

#[derive(Default)]
struct Chores {
    waiting: Vec<Chore>,
    /// Deferred to a quiet moment.
    put_off: Vec<(Arc<Agent>, Arc<str>)>,
    stopped: bool,
}

pub enum Chore {
    /// Seal a region's tail, and do cheap merges.
    Seal(Arc<Agent>, Arc<str>),
    /// Do all merges that a region should have.
    Merge(Arc<Agent>, Arc<str>),
    /// Check whether much of the data on disk is dead.
    Weigh,
}

impl UpkeepQueue {
    pub fn seal(&self, agent: Arc<Agent>, region: Arc<str>) {
        self.push(Chore::Seal(agent, region));
    }

    pub fn push(&self, chore: Chore) {
        self.state.lock().waiting.push(chore);
        self.changed.notify_one();
    }

    /// Requests a merge of a region when the store is idle.
    pub fn put_off(&self, agent: Arc<Agent>, region: Arc<str>) {
        let mut state = self.state.lock();
        if !state.put_off.iter().any(|(of, name)| Arc::ptr_eq(of, &agent) && *name == region) {
            state.put_off.push((agent, region));
        }
    }

    /// The deferred merges, to be done now.
    pub fn take_put_off(&self) -> Vec<(Arc<Agent>, Arc<str>)> {
        std::mem::take(&mut self.state.lock().put_off)
    }

    pub fn take(&self) -> Option<Chore> {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return None;
            }
            if !state.waiting.is_empty() {
                return Some(state.waiting.remove(0));
            }
            if state.put_off.is_empty() {
                self.changed.wait(&mut state);
            } else if self.changed.wait_for(&mut state, QUIET).timed_out() && !state.put_off.is_empty() {
                let (agent, region) = state.put_off.remove(0);
                return Some(Chore::Merge(agent, region));
            }
        }
    }

    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Waits a while, or until the store ends.
    pub fn pause(&self, limit: std::time::Duration) {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.stopped, limit);
    }
}
