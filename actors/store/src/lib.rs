//! Durable state: one store per process, with many agents. Commits are accepted first and durable a moment later.
//!
//! A commit is *accepted* when it has its place in the agent's order, and *durable* when the committer has it on disk.
//! Inside the brain nothing waits for the disk. Everything that leaves the brain waits for the LSN that was newest when
//! it was decided.

mod agent;
mod away;
mod backup;
mod codec;
mod committer;
mod compact;
mod engine;
mod error;
mod folder;
mod health;
mod journal;
mod keys;
mod load;
mod mail;
mod memory_engine;
mod open;
mod pack;
mod private;
mod records;
mod redb_engine;
mod repair;
mod replica;
mod reserve;
mod revive;
mod root_slot;
mod shared;
mod sled_engine;
#[cfg(test)]
mod tests;
mod upkeep;
mod watermark;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::ids::{AgentId, Epoch, Lsn};

pub use agent::{Accepted, AgentStore, Commit, Frozen, PAYLOAD_BYTES, RecordChanges, Recovered};
pub use backup::{BackupFound, BackupReport, RestoreReport};
pub use compact::CompactReport;
pub use engine::{Batch, Engine, EngineKind, FaultSwitch, copy_all};
pub use error::{AcceptError, EngineError, NotDurable, StoreError};
pub use health::{Latency, StoreHealth, StoreStatus};
pub use journal::{Cursors, Lane};
pub use memory_engine::MemoryEngine;
pub use open::{FORMAT_VERSION, Loss, OpenReport};
pub use pack::{Medium, Pack};
pub use repair::{RepairReport, VerifyReport};
pub use replica::{Follower, Position, Replica, ReplicaError, extents, opening_entry};

use shared::{Shared, Stop};

/// Options of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    pub engine: EngineKind,
    /// A store of another engine is converted when it is opened; otherwise opening it is an error.
    pub converts: bool,
    /// Bytes of the engine's page cache.
    pub page_cache: u64,
    /// Bytes of an agent that may wait for the disk; beyond that, commits are refused.
    pub tail_limit: usize,
    /// Bytes of a region's records in memory before they are sealed.
    pub seal_bytes: usize,
    /// Bytes of sealed blocks held in memory.
    pub cache_bytes: usize,
    /// Bytes on disk from which the store compacts itself, when a quarter of them is dead.
    pub compact_bytes: u64,
    /// How long closing waits for the disk.
    pub close_limit: Duration,
    /// Opened for one command, not for a run. If the previous run ended badly, the next run still reports it. Before
    /// the end, records with many replaced entries are rewritten, and a long journal is emptied.
    pub visits: bool,
    /// The caller knows that there was a store: a folder without one means a loss, not a beginning.
    pub was_used: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            engine: EngineKind::Sled,
            converts: true,
            page_cache: engine::PAGE_CACHE,
            tail_limit: 64 << 20,
            seal_bytes: 1 << 20,
            cache_bytes: 8 << 20,
            compact_bytes: 64 << 20,
            close_limit: Duration::from_secs(10),
            visits: false,
            was_used: false,
        }
    }
}

/// How long the threads of an abandoned store may take to end.
const ABANDON_LIMIT: Duration = Duration::from_secs(2);

/// The store of a process. Clones share it; the last one dropped ends it.
#[derive(Clone)]
pub struct StateStore(Arc<Owner>);

struct Owner(Arc<Shared>);

impl StateStore {
    /// Opens or makes the store in a folder. Damage is no error: damaged parts are put aside, repaired as far as
    /// possible, and reported. On a full disk the store opens, and nothing new is durable until there is room. Errors:
    /// another process holds it, its format is newer, or the system refuses a read or write. Then nothing has changed.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<(Self, OpenReport), StoreError> {
        open::open(folder, options, None)
    }

    /// As [`StateStore::open`], with a journal on other machines that gets each batch before the local disk. Further
    /// errors: the store isn't at the journal's position ([`Follower`] brings it there), it has lost data that the
    /// journal still has, or the journal refuses the first batch.
    pub fn open_replicated(
        folder: &Path,
        options: StoreOptions,
        replica: Arc<dyn Replica>,
    ) -> Result<(Self, OpenReport), StoreError> {
        open::open(folder, options, Some(replica))
    }

    /// A store without a disk: durable at once, gone when it is dropped.
    pub fn in_memory() -> Self {
        Self(Arc::new(Owner(Arc::new(Shared::new(StoreOptions::default(), FaultSwitch::default(), None, None, 1)))))
    }

    /// A store on a given engine and pack.
    pub fn with_engine(
        engine: Arc<dyn Engine>,
        pack: Box<dyn Medium>,
        options: StoreOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let number = |key| keys::get_number(&*engine, key).map(|number| number.unwrap_or(0));
        let fresh = engine.get(keys::FORMAT)?.is_none();
        let clean = number(keys::CLEAN)? > 0;
        let boot = number(keys::BOOT)? + 1;
        let loaded = load::load(&*engine, Epoch(boot * shared::EPOCHS_PER_BOOT))?;
        let mut first = loaded.fix;
        keys::put_number(&mut first, keys::FORMAT, u64::from(FORMAT_VERSION));
        keys::put_number(&mut first, keys::BOOT, boot);
        first.delete(keys::CLEAN.to_vec());
        engine.apply(&first)?;
        engine.sync()?;
        let switch = FaultSwitch::default();
        let pack = Arc::new(Pack::on(pack, switch.clone(), options.cache_bytes, number(keys::PACK_END)?)?);
        let serial = number(committer::SERIAL)?;
        let shared = Arc::new(Shared::new(options, switch, Some((engine.clone(), pack)), None, boot));
        *shared.gate.lock() = serial;
        *shared.agents.lock() = loaded.agents;
        let heads = shared.all_agents().iter().map(|agent| (agent.id.to_string(), Lsn(agent.mark.durable()))).collect();
        let (repaired, lost) = (loaded.repaired, loaded.lost);
        let report = OpenReport { fresh, clean, boot, repaired, lost, heads, ..OpenReport::default() };
        Ok((Self::start(shared)?, report))
    }

    fn start(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let failed =
            |error: std::io::Error| EngineError::Io(format!("a thread of the store can't be started: {error}"));
        let (committer, upkeep) = (shared.clone(), shared.clone());
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        thread("store-commit").spawn(move || committer::run(&committer)).map_err(failed)?;
        // From here on, dropping the owner ends the committer.
        let store = Self(Arc::new(Owner(shared)));
        thread("store-upkeep").spawn(move || upkeep::run(&upkeep)).map_err(failed)?;
        Ok(store)
    }

    /// The part of an agent; a new one is created. If the agent is out of memory and can't be read now, nothing is
    /// shown or accepted: [`AgentStore::recover`] gives the reason.
    pub fn agent(&self, id: &AgentId) -> AgentStore {
        let shared = self.0.0.clone();
        AgentStore { agent: shared.agent(id), shared }
    }

    /// The agents that the store knows.
    pub fn agents(&self) -> Vec<AgentId> {
        let mut ids: Vec<AgentId> = self.0.0.everybody().iter().map(|agent| agent.id.clone()).collect();
        ids.sort();
        ids
    }

    /// Number of agents in memory.
    pub fn in_memory_now(&self) -> usize {
        self.0.0.agents.lock().len()
    }

    /// Drops an agent from memory; [`StateStore::agent`] reads it again. Returns false while it is still in use, or not
    /// completely on disk: ask again later. A store without a disk keeps everything.
    pub fn let_go(&self, id: &AgentId) -> bool {
        self.0.0.let_go(id)
    }

    /// Makes the disk fail or hang, for tests.
    pub fn faults(&self) -> FaultSwitch {
        self.0.0.switch.clone()
    }

    pub fn health(&self) -> StoreHealth {
        self.0.0.health()
    }

    /// Copies the data on disk at this moment into an empty folder, while the store goes on.
    pub fn backup(&self, to: &Path) -> Result<BackupReport, StoreError> {
        backup::backup(&self.0.0, to)
    }

    /// Makes a backup in the store's own `backups` folder, and keeps the newest `keep`. These are used for repairs.
    pub fn backup_rotating(&self, keep: usize) -> Result<BackupReport, StoreError> {
        let Some(folder) = &self.0.0.folder else { return Err(StoreError::InMemory("back up")) };
        let report = backup::backup(&self.0.0, &folder.next_backup()?)?;
        let (finished, unfinished): (Vec<_>, Vec<_>) =
            folder.backups()?.into_iter().partition(|place| backup::is_finished(place));
        for old in finished.into_iter().skip(keep.max(1)).chain(unfinished) {
            std::fs::remove_dir_all(&old).map_err(|error| StoreError::folder(&old, &error))?;
        }
        Ok(report)
    }

    /// Makes a store from a backup, in a folder without a store.
    pub fn restore(from: &Path, folder: &Path) -> Result<RestoreReport, StoreError> {
        backup::restore(from, folder)
    }

    /// Replaces the store in a folder with a backup; the store is moved aside, unchanged. Errors: a process holds the
    /// store, or the backup is unusable. Then nothing has changed.
    pub fn replace(from: &Path, folder: &Path, options: &StoreOptions) -> Result<RestoreReport, StoreError> {
        backup::replace(from, folder, options.engine, options.page_cache)
    }

    /// Counts processes that this store hasn't seen, up to this number, so that the next one has a new number.
    ///
    /// # Errors
    /// The disk fails.
    pub fn count_boots(&self, boot: u64) -> Result<(), StoreError> {
        let shared = &self.0.0;
        shared.folder.as_ref().map_or(Ok(()), |folder| folder.sign(boot.max(shared.boot)))
    }

    /// When a backup was finished, by the file system.
    pub fn backup_made(place: &Path) -> Option<Timestamp> {
        backup::made(place)
    }

    /// The process that holds the store of a folder; 0 if unknown.
    pub fn held_by(folder: &Path) -> Option<u32> {
        folder::Folder::held_by(folder)
    }

    /// The backups in a store's folder, newest first. The store may be open.
    pub fn backups_in(folder: &Path) -> Vec<BackupFound> {
        backup::found(folder)
    }

    /// The folder of the store; `None` without a disk.
    pub fn folder(&self) -> Option<&Path> {
        self.0.0.folder.as_ref().filter(|_| !self.0.0.in_memory).map(|folder| folder.path.as_path())
    }

    /// Reads everything on disk and reports damage.
    pub fn verify(&self) -> VerifyReport {
        repair::verify(&self.0.0)
    }

    /// Replaces damaged blocks of records from backups, or removes them.
    pub fn repair(&self) -> Result<RepairReport, StoreError> {
        repair::repair_all(&self.0.0)
    }

    /// Returns dead space to the disk. This also runs by itself when a quarter of the data on disk is dead and the size
    /// has doubled since the last time.
    pub fn compact(&self) -> Result<CompactReport, StoreError> {
        compact::compact(&self.0.0)
    }

    /// Waits until everything accepted is on disk, marks the end as orderly, and unlocks the folder. Fails if the disk
    /// doesn't accept it within the limit of the options; then the rest is lost.
    pub fn close(self) -> Result<(), StoreError> {
        self.0.end()
    }
}

impl Owner {
    fn end(&self) -> Result<(), StoreError> {
        let shared = &self.0;
        if shared.in_memory {
            shared.trouble.set(Some(NotDurable::Closed));
            shared.all_agents().iter().for_each(|agent| agent.state.lock().closed = true);
            return Ok(());
        }
        // First, or continued commits would keep it from ending.
        shared.all_agents().iter().for_each(|agent| agent.state.lock().closed = true);
        let in_place = shared.check_in_place();
        if in_place.is_ok() && shared.trouble.get().is_none() {
            // The end of a run must be quick; a command that has run a sleep has time.
            let rewritten = if shared.options.visits { upkeep::settle(shared) } else { Ok(()) };
            if let Err(error) = rewritten.map_err(StoreError::from).and_then(|()| compact::compact_at_end(shared)) {
                shared.counters.compaction_failed(error.to_string());
            }
        }
        shared.upkeep.stop();
        shared.work.stop(Stop::Drained);
        if shared.work.wait_ended(shared.options.close_limit) {
            let all_written = shared.all_agents().iter().all(|agent| agent.state.lock().waiting.is_empty());
            return if all_written { in_place.map_err(StoreError::from) } else { Err(NotDurable::Closed.into()) };
        }
        let reason = shared.trouble.get().unwrap_or(NotDurable::TimedOut);
        shared.work.stop(Stop::Abandoned);
        // Releases a thread that hangs in a deliberate stall.
        shared.switch.fail();
        shared.work.wait_ended(ABANDON_LIMIT);
        Err(reason.into())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Either close was called, or nobody asks whether it worked.
        let _ = self.end();
    }
}
