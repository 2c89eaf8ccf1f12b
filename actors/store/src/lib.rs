//! Durable state: one store for a process, many agents in it. Accepted first, durable a moment later.
//!
//! A commit is *accepted* when it has its place in the agent's order, and *durable* when the committer has it on disk.
//! Inside the brain nothing waits for the disk; whatever leaves it waits for the LSN that was newest when it was decided.

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

/// How a store is kept.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    pub engine: EngineKind,
    /// A store made by another engine is copied over when it is opened; else opening it is an error.
    pub converts: bool,
    /// Bytes that the engine holds its pages in.
    pub page_cache: u64,
    /// Bytes of an agent that may wait for the disk; then commits are refused.
    pub tail_limit: usize,
    /// Bytes of records of a region that are held in memory before they are sealed.
    pub seal_bytes: usize,
    /// Bytes of sealed blocks held in memory.
    pub cache_bytes: usize,
    /// Bytes on disk from which the store compacts itself, when a quarter of them isn't alive.
    pub compact_bytes: u64,
    /// How long closing waits for the disk.
    pub close_limit: Duration,
    /// Opened for one command, not for a life: when the life before it ended badly, that stays to be told to the next, and
    /// before it ends what was replaced to a good part is rewritten and a long journal emptied.
    pub visits: bool,
    /// Whoever opens it knows that there was a store: where its folder holds none, that is a loss and no beginning.
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

/// How long the threads of an abandoned store may take to let go.
const ABANDON_LIMIT: Duration = Duration::from_secs(2);

/// The store of a process. Clones share it; the last one dropped ends it.
#[derive(Clone)]
pub struct StateStore(Arc<Owner>);

struct Owner(Arc<Shared>);

impl StateStore {
    /// Opens or makes the store in a folder. Damage is no error: it is put aside, repaired as far as possible, and
    /// reported; on a full disk it begins, and nothing new is durable before there is room. Errors: another process holds it,
    /// its format is newer, or the system doesn't give or take what lies there; then it is all as it was.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<(Self, OpenReport), StoreError> {
        open::open(folder, options, None)
    }

    /// As [`StateStore::open`], where a journal on other machines takes each batch before the disk here does. Errors also: the
    /// store doesn't stand where the journal does ([`Follower`] brings it there), it has lost something that the journal still
    /// has, or the journal doesn't take the first batch.
    pub fn open_replicated(
        folder: &Path,
        options: StoreOptions,
        replica: Arc<dyn Replica>,
    ) -> Result<(Self, OpenReport), StoreError> {
        open::open(folder, options, Some(replica))
    }

    /// A store without a disk: durable at once, gone with its value.
    pub fn in_memory() -> Self {
        Self(Arc::new(Owner(Arc::new(Shared::new(StoreOptions::default(), FaultSwitch::default(), None, None, 1)))))
    }

    /// A store on an engine and a pack given from outside.
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
        // From here on dropping the owner ends the committer.
        let store = Self(Arc::new(Owner(shared)));
        thread("store-upkeep").spawn(move || upkeep::run(&upkeep)).map_err(failed)?;
        Ok(store)
    }

    /// The part of an agent, made when it is new. Of one that is away and can't be read now, nothing is shown or taken:
    /// [`AgentStore::recover`] says why.
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

    /// How many of them are in memory.
    pub fn in_memory_now(&self) -> usize {
        self.0.0.agents.lock().len()
    }

    /// Lets go of what memory holds of an agent; [`StateStore::agent`] reads it again. False while somebody still uses it, or
    /// not all of it is on the disk: ask again later. A store without a disk keeps all that it has.
    pub fn let_go(&self, id: &AgentId) -> bool {
        self.0.0.let_go(id)
    }

    /// Makes the disk fail or hang on purpose.
    pub fn faults(&self) -> FaultSwitch {
        self.0.0.switch.clone()
    }

    pub fn health(&self) -> StoreHealth {
        self.0.0.health()
    }

    /// Copies what is on disk at this moment into an empty folder, while the store goes on.
    pub fn backup(&self, to: &Path) -> Result<BackupReport, StoreError> {
        backup::backup(&self.0.0, to)
    }

    /// A backup in the store's own `backups` folder, of which the newest `keep` stay. Those are used for repairs.
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

    /// Makes a store out of a backup, in a folder that holds none.
    pub fn restore(from: &Path, folder: &Path) -> Result<RestoreReport, StoreError> {
        backup::restore(from, folder)
    }

    /// Puts a backup in the place of the store in a folder, which is moved aside, untouched. Errors: a process holds
    /// the store, or the backup isn't usable; then everything is as it was.
    pub fn replace(from: &Path, folder: &Path, options: &StoreOptions) -> Result<RestoreReport, StoreError> {
        backup::replace(from, folder, options.engine, options.page_cache)
    }

    /// Counts processes that this store hasn't seen, up to the number of one: the next has a number of its own.
    ///
    /// # Errors
    /// The disk.
    pub fn count_boots(&self, boot: u64) -> Result<(), StoreError> {
        let shared = &self.0.0;
        shared.folder.as_ref().map_or(Ok(()), |folder| folder.sign(boot.max(shared.boot)))
    }

    /// When a backup was finished, by the file system.
    pub fn backup_made(place: &Path) -> Option<Timestamp> {
        backup::made(place)
    }

    /// The process that holds the store of a folder; 0 where that isn't known.
    pub fn held_by(folder: &Path) -> Option<u32> {
        folder::Folder::held_by(folder)
    }

    /// The backups in the folder of a store, newest first. The store may be open.
    pub fn backups_in(folder: &Path) -> Vec<BackupFound> {
        backup::found(folder)
    }

    /// The folder that the store lies in; nothing for one without a disk.
    pub fn folder(&self) -> Option<&Path> {
        self.0.0.folder.as_ref().filter(|_| !self.0.0.in_memory).map(|folder| folder.path.as_path())
    }

    /// Reads everything on disk and says what is damaged.
    pub fn verify(&self) -> VerifyReport {
        repair::verify(&self.0.0)
    }

    /// Takes damaged blocks of records from backups, or out.
    pub fn repair(&self) -> Result<RepairReport, StoreError> {
        repair::repair_all(&self.0.0)
    }

    /// Gives dead space back to the disk. It also runs by itself when a quarter of what
    /// the disk holds isn't alive, and it has doubled since the last time.
    pub fn compact(&self) -> Result<CompactReport, StoreError> {
        compact::compact(&self.0.0)
    }

    /// Waits until everything accepted is on disk, marks the end as orderly, and lets go of the folder. An error when
    /// the disk doesn't take it within the limit of the options; then the rest is lost.
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
        // First, or whoever goes on accepting would keep it from ever ending.
        shared.all_agents().iter().for_each(|agent| agent.state.lock().closed = true);
        let in_place = shared.check_in_place();
        if in_place.is_ok() && shared.trouble.get().is_none() {
            // A life that ends is waited for; a command that has let a sleep run has the time.
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
        // Lets a thread out that hangs in a stall made on purpose.
        shared.switch.fail();
        shared.work.wait_ended(ABANDON_LIMIT);
        Err(reason.into())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Close was either called, or nobody asks any more whether it worked.
        let _ = self.end();
    }
}
