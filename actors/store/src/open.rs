//! Opens a folder: it always ends in a working store, and reports what it found and what it lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxim_bus::ids::{Epoch, Lsn};

use super::backup;
use super::committer::SERIAL;
use super::engine::{Engine, EngineKind, FaultSwitch, copy_all};
use super::error::{EngineError, NotDurable, StoreError, fix_of};
use super::folder::{Folder, full_disk};
use super::keys;
use super::load::{Loaded, load};
use super::pack::Pack;
use super::repair::repair_all;
use super::replica::{self, Replica};
use super::reserve;
use super::shared::Shared;
use super::{StateStore, StoreOptions};

/// The format of this program. A store or a backup of another format is refused.
pub const FORMAT_VERSION: u32 = 5;

/// Data that existed and is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// `None` when it concerns the whole store.
    pub agent: Option<String>,
    pub what: String,
    /// First and last of the lost commits, if known.
    pub lsns: Option<(Lsn, Lsn)>,
}

impl Loss {
    pub(super) fn of(agent: Option<&str>, what: String) -> Self {
        Self { agent: agent.map(str::to_owned), what, lsns: None }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(agent) = &self.agent {
            write!(f, "agent {agent}: ")?;
        }
        f.write_str(&self.what)?;
        match self.lsns {
            Some((first, last)) => write!(f, ", {first} to {}", last.0),
            None => Ok(()),
        }
    }
}

/// The result of opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// There was no store here before.
    pub fresh: bool,
    /// The caller knows that there was a store, and nothing of it is left.
    pub was_gone: bool,
    /// The last process closed it in order.
    pub clean: bool,
    /// How often it was opened, including this time.
    pub boot: u64,
    /// Damage that lost nothing.
    pub repaired: Vec<String>,
    /// Where damaged parts were put, unchanged.
    pub quarantined: Vec<PathBuf>,
    /// The backup that replaced unreadable data.
    pub restored_from: Option<PathBuf>,
    pub lost: Vec<Loss>,
    /// The disk is full: the store opened all the same, and nothing new is durable until there is room.
    pub full: bool,
    /// The newest LSN of each agent.
    pub heads: Vec<(String, Lsn)>,
}

impl OpenReport {
    /// True if no fault was found.
    pub fn is_sound(&self) -> bool {
        self.repaired.is_empty() && self.quarantined.is_empty() && self.restored_from.is_none() && self.lost.is_empty()
    }
}

/// An engine that could be opened and read, with its content.
struct Found {
    engine: Arc<dyn Engine>,
    generation: u64,
    loaded: Loaded,
    /// The number of its last batch.
    serial: u64,
}

pub fn open(
    path: &Path,
    options: StoreOptions,
    replica: Option<Arc<dyn Replica>>,
) -> Result<(StateStore, OpenReport), StoreError> {
    if options.engine == EngineKind::Memory && replica.is_some() {
        return Err(StoreError::InMemory("replicate"));
    }
    if options.engine == EngineKind::Memory {
        return open_in_memory(path, options);
    }
    let (folder, boots) = Folder::lock(path)?;
    let place = folder.path.clone();
    open_locked(folder, boots, options, replica).map_err(|error| refusal(&place, error))
}

/// A refusal of the system, in words for a person who can fix it.
fn refusal(folder: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Engine(EngineError::Full) => full_disk(folder, 0),
        StoreError::Engine(EngineError::Io(why)) => {
            StoreError::Refused { place: folder.to_owned(), fix: fix_of(&why), why }
        }
        other => other,
    }
}

fn open_locked(
    mut folder: Folder,
    boots: u64,
    options: StoreOptions,
    replica: Option<Arc<dyn Replica>>,
) -> Result<(StateStore, OpenReport), StoreError> {
    let mut report = OpenReport::default();
    let found = match find_engine(&folder, &options, boots, &mut report) {
        Err(error) if error.is_full() && reserve::give_up(&folder.path) => {
            find_engine(&folder, &options, boots, &mut report)
        }
        found => found,
    };
    // At once, so that the first writes don't use up the space for the next start.
    reserve::take(&folder.path);
    let found = found?;
    folder.generation = found.generation;
    let engine = found.engine;
    replica::check(replica.as_deref(), &*engine, &folder.path)?;
    if replica.is_some() {
        // The journal has the data that is lost here.
        if let Some(loss) = report.lost.first().or(found.loaded.lost.first()) {
            return Err(EngineError::Damaged(loss.to_string()).into());
        }
    }
    let boot = number(&*engine, keys::BOOT)?.unwrap_or(0).max(boots) + 1;
    report.boot = boot;
    report.clean = !report.fresh && number(&*engine, keys::CLEAN)?.is_some();
    let known_end = number(&*engine, keys::PACK_END)?.unwrap_or(0);
    let damage_noted = !matches!(engine.get(keys::DAMAGE_SEEN), Ok(None));
    let serial = found.serial.max(folder.marked()) + 1;
    let is_older = found.serial < folder.marked();
    if !found.loaded.lost.is_empty() || (is_older && report.restored_from.is_none()) {
        report.quarantined.push(folder.quarantine(&[folder.engine(found.generation)], true)?);
    }
    let mut first = found.loaded.fix;
    keys::put_number(&mut first, keys::FORMAT, u64::from(FORMAT_VERSION));
    keys::put_number(&mut first, keys::BOOT, boot);
    keys::put_number(&mut first, SERIAL, serial);
    first.delete(keys::CLEAN.to_vec());
    first.delete(keys::DAMAGE_SEEN.to_vec());
    if let Some(replica) = &replica {
        replica::send(&**replica, &[], &mut first)?;
    }
    let owed = match engine.apply(&first).and_then(|()| engine.sync()) {
        Err(EngineError::Full) => Some(first),
        begun => begun.map(|()| None)?,
    };
    report.full = owed.is_some();
    match folder.sign(boot) {
        // The lock file still names the former holder. An unwritten number of this run was not used for anything
        // durable.
        Err(_) if report.full => {}
        signed => signed?,
    }
    if !report.full {
        folder.mark(serial);
    }
    let pack_was_there = folder.has_pack()?;
    let switch = FaultSwitch::default();
    let pack = Arc::new(Pack::open(&folder.pack(), switch.clone(), options.cache_bytes, known_end)?);
    report.repaired.extend(found.loaded.repaired);
    report.lost.extend(found.loaded.lost);
    let pack_is_short = known_end > 0 && (!pack_was_there || !pack.reaches(known_end));
    let mut shared = Shared::new(options, switch, Some((engine, pack)), Some(folder), boot);
    if let (true, Some(pack)) = (replica.is_some(), shared.pack()) {
        pack.keep_unsent();
    }
    shared.replica = replica;
    shared.leaves_end_untold = options.visits && !report.fresh && !report.clean;
    *shared.gate.lock() = serial;
    *shared.agents.lock() = found.loaded.agents;
    if report.full {
        shared.trouble.set(Some(NotDurable::Degraded(EngineError::Full.to_string().into())));
        *shared.owed.lock() = owed;
    }
    let shared = Arc::new(shared);
    report.heads = shared.all_agents().iter().map(|agent| (agent.id.to_string(), Lsn(agent.mark.durable()))).collect();
    shared.counters.opened(shared.bytes_on_disk());
    let store = StateStore::start(shared.clone())?;
    if pack_is_short || damage_noted || is_older || report.restored_from.is_some() {
        if report.full {
            shared.note_damage();
            return Ok((store, report));
        }
        // Noted, so that the next start checks everything if this one can't.
        let repaired = repair_all(&shared).inspect_err(|_| shared.note_damage())?;
        report.repaired.extend(repaired.repaired);
        report.lost.extend(repaired.lost);
    }
    Ok((store, report))
}

/// A damaged number counts as absent; a read error of the disk is an error.
fn number(engine: &dyn Engine, key: &[u8]) -> Result<Option<u64>, EngineError> {
    match keys::get_number(engine, key) {
        Err(error) if !error.is_refusal() => Ok(None),
        found => found,
    }
}

/// Nothing on disk except the lock, so that a second process still gets a clear message.
fn open_in_memory(path: &Path, options: StoreOptions) -> Result<(StateStore, OpenReport), StoreError> {
    let (folder, _) = Folder::lock(path)?;
    if let Some((generation, _)) = folder.generations()?.first() {
        return Err(other_engine(&folder, EngineKind::of(&folder.engine(*generation))?, options.engine));
    }
    // Boots are counted for data on disk: a run that left none must not count as lost.
    folder.sign(0)?;
    let shared = Shared::new(options, FaultSwitch::default(), None, Some(folder), 1);
    let report = OpenReport { fresh: true, boot: 1, ..OpenReport::default() };
    Ok((StateStore(Arc::new(super::Owner(Arc::new(shared)))), report))
}

fn other_engine(folder: &Folder, made_by: EngineKind, wanted: EngineKind) -> StoreError {
    StoreError::OtherEngine { folder: folder.path.clone(), made_by: made_by.word(), wanted: wanted.word() }
}

fn find_engine(
    folder: &Folder,
    options: &StoreOptions,
    boots: u64,
    report: &mut OpenReport,
) -> Result<Found, StoreError> {
    let generations = folder.generations()?;
    let newest = generations.first().map_or(0, |(generation, _)| *generation);
    // A finished one counts before any unfinished one; an unfinished one only counts if its mark was removed.
    let (finished, unfinished): (Vec<_>, Vec<_>) = generations.into_iter().partition(|(_, complete)| *complete);
    let only_unfinished = finished.is_empty();
    let mut candidates = if only_unfinished { unfinished.clone() } else { finished };
    candidates.truncate(1);
    if !only_unfinished {
        unfinished.iter().for_each(|(generation, _)| folder.remove_generation(*generation));
    }
    let mut why = None;
    for (generation, _) in candidates {
        match try_generation(folder, options, generation, newest, boots, report) {
            Ok(Some(found)) => {
                if let Some(text) = newer_backup(folder, &found, report)? {
                    why = Some(text);
                    drop(found);
                    report.quarantined.push(folder.quarantine(&[folder.engine(generation)], false)?);
                    continue;
                }
                if only_unfinished {
                    folder.complete_generation(generation)?;
                    if boots > 0 {
                        report.repaired.push("the mark that the database is complete was missing".into());
                    }
                }
                report.fresh = boots == 0 && found.loaded.agents.is_empty() && only_unfinished;
                return Ok(found);
            }
            // Begun but never used: the process died during its first start.
            Ok(None) if boots == 0 && !folder.has_pack()? => folder.remove_generation(generation),
            Ok(None) => why = Some("it is empty".to_owned()),
            Err(StoreError::Engine(EngineError::Damaged(text))) => why = Some(text),
            Err(error) => return Err(error),
        }
        if why.is_some() {
            report.quarantined.push(folder.quarantine(&[folder.engine(generation)], false)?);
        }
    }
    let has_traces = boots > 0 || folder.has_pack()?;
    if why.is_none() && (has_traces || options.was_used) {
        report.was_gone = !has_traces;
        why = Some("it isn't there".into());
    }
    start_anew(folder, options, newest + 1, why, boots, report)
}

/// The database lacks batches that were on disk: reports this, or returns why a backup with more of them replaces it.
fn newer_backup(folder: &Folder, found: &Found, report: &mut OpenReport) -> Result<Option<String>, StoreError> {
    let (there, marked) = (found.serial, folder.marked());
    if there >= marked {
        return Ok(None);
    }
    let why = format!("it ends at batch {there}, batch {marked} was on disk");
    if folder.backups()?.iter().any(|place| backup::serial(place).is_some_and(|serial| serial > there)) {
        return Ok(Some(why));
    }
    let heads = found.loaded.agents.values().map(|agent| (agent.id.as_str(), agent.mark.durable()));
    let heads: Vec<_> = heads.map(|(agent, head)| format!("{agent} up to {}", Lsn(head))).collect();
    let left = if heads.is_empty() { "nothing is left".into() } else { format!("left is {}", heads.join(", ")) };
    report.lost.push(Loss::of(None, format!("the newest part of the database: {why}; {left}")));
    Ok(None)
}

/// `None` for a database that was created but never used.
fn try_generation(
    folder: &Folder,
    options: &StoreOptions,
    generation: u64,
    newest: u64,
    boots: u64,
    report: &mut OpenReport,
) -> Result<Option<Found>, StoreError> {
    let place = folder.engine(generation);
    let kind = EngineKind::of(&place)?;
    if kind != options.engine && !options.converts {
        return Err(other_engine(folder, kind, options.engine));
    }
    let mut engine = match kind.open(&place, options.page_cache) {
        Err(EngineError::Damaged(why)) => match kind.mend(&place)? {
            Some(mended) => {
                let engine = kind.open(&place, options.page_cache)?;
                report.repaired.push(mended);
                engine
            }
            None => return Err(EngineError::Damaged(why).into()),
        },
        opened => opened?,
    };
    let Some(format) = keys::get_number(&*engine, keys::FORMAT)? else { return Ok(None) };
    check_format(&folder.path, format)?;
    let mut generation = generation;
    if kind != options.engine {
        let target = newest + 1;
        let other = folder.begin_generation(target, options.engine, options.page_cache)?;
        copy_all(&*engine, &*other)?;
        folder.complete_generation(target)?;
        engine = other;
        folder.remove_generation(generation);
        generation = target;
    }
    let floor = number(&*engine, keys::BOOT)?.unwrap_or(0).max(boots) + 1;
    let loaded = load(&*engine, Epoch(floor * super::shared::EPOCHS_PER_BOOT))?;
    let serial = number(&*engine, SERIAL)?.unwrap_or(0);
    Ok(Some(Found { engine, generation, loaded, serial }))
}

/// Refuses a store of another format than this program's.
pub(super) fn check_format(folder: &Path, found: u64) -> Result<(), StoreError> {
    let (folder, known) = (folder.to_owned(), FORMAT_VERSION);
    match u32::try_from(found).unwrap_or(u32::MAX) {
        FORMAT_VERSION => Ok(()),
        found if found > known => Err(StoreError::Newer { folder, found, known }),
        found => Err(StoreError::Older { folder, found, known }),
    }
}

/// No database is readable: uses the newest usable backup, or an empty one.
fn start_anew(
    folder: &Folder,
    options: &StoreOptions,
    generation: u64,
    why: Option<String>,
    boots: u64,
    report: &mut OpenReport,
) -> Result<Found, StoreError> {
    let mut tried = Vec::new();
    for place in if why.is_some() { folder.backups()? } else { Vec::new() } {
        let engine = folder.begin_generation(generation, options.engine, options.page_cache)?;
        match backup::import(&place, &*engine) {
            Ok(()) => {
                folder.complete_generation(generation)?;
                let loaded = load(&*engine, Epoch((boots + 1) * super::shared::EPOCHS_PER_BOOT))?;
                let what = format!("everything since the backup {}", place.display());
                report.lost.push(Loss::of(
                    None,
                    format!("{what}: the database couldn't be read ({})", why.unwrap_or_default()),
                ));
                report.restored_from = Some(place);
                return Ok(Found { engine, generation, loaded, serial: 0 });
            }
            Err(error @ StoreError::BadBackup { .. }) => tried.push(error.to_string()),
            Err(error) => {
                drop(engine);
                folder.remove_generation(generation);
                return Err(error);
            }
        }
    }
    let engine = folder.begin_generation(generation, options.engine, options.page_cache)?;
    folder.complete_generation(generation)?;
    match why {
        None => report.fresh = true,
        Some(why) => {
            if folder.has_pack()? {
                report.quarantined.push(folder.quarantine(&[folder.pack()], false)?);
            }
            let backups = if tried.is_empty() { "there is no backup".to_owned() } else { tried.join("; ") };
            report
                .lost
                .push(Loss::of(None, format!("everything: the database couldn't be read ({why}), and {backups}")));
        }
    }
    Ok(Found { engine, generation, loaded: Loaded::default(), serial: 0 })
}
