//! The same tests for every engine, and tests of damage, power cuts and full disks.

mod away;
mod commits;
mod copies;
mod damage;
mod engines;
mod faults;
mod merging;
mod power;
mod records;
mod refused;
mod replica;
mod unsynced;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::ids::{AgentId, Epoch, Lsn, RegionName};

use super::engine::PAGE_CACHE;
use super::*;

pub const HIPPOCAMPUS: RegionName = "hippocampus";
pub const GATE: RegionName = "fear_agent";
/// Long enough for the slowest disk under load; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A location of a store that can be opened again.
pub enum Home {
    Folder(tempfile::TempDir, EngineKind),
    Memory(MemoryEngine),
}

impl Home {
    pub fn folder(kind: EngineKind) -> Self {
        Self::Folder(tempfile::tempdir().expect("a temporary folder"), kind)
    }

    pub fn all() -> Vec<Self> {
        vec![Self::folder(EngineKind::Sled), Self::folder(EngineKind::Redb), Self::Memory(MemoryEngine::default())]
    }

    pub fn open_with(&self, options: StoreOptions) -> (StateStore, OpenReport) {
        match self {
            Self::Folder(folder, engine) => {
                StateStore::open(folder.path(), StoreOptions { engine: *engine, ..options }).expect("opens")
            }
            Self::Memory(disk) => {
                StateStore::with_engine(Arc::new(disk.clone()), disk.pack_medium(), options).expect("opens")
            }
        }
    }

    pub fn open(&self) -> StateStore {
        let (store, report) = self.open_with(small());
        assert!(report.is_sound(), "{report:?}");
        store
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(folder, _) => folder.path(),
            Self::Memory(_) => panic!("this test needs a folder"),
        }
    }
}

/// Small limits, so that a short test reaches them.
pub fn small() -> StoreOptions {
    StoreOptions { seal_bytes: 32 << 10, cache_bytes: 1 << 20, ..StoreOptions::default() }
}

pub fn id(name: &str) -> AgentId {
    AgentId::new(name).expect("a good name")
}

pub fn ada(store: &StateStore) -> AgentStore {
    store.agent(&id("ada"))
}

pub fn commit(agent: &AgentStore, region: RegionName) -> Commit {
    Commit::of(region, agent.epoch(region))
}

pub fn event(agent: &AgentStore, region: RegionName, text: &str) -> Lsn {
    let commit = Commit { events: vec![text.into()], ..commit(agent, region) };
    agent.accept(commit, |_| ()).expect("accepted").lsn
}

pub fn put(agent: &AgentStore, region: RegionName, key: &str, value: &[u8]) -> Lsn {
    let records = vec![(key.into(), Some(value.into()))];
    agent.accept(Commit { records, ..commit(agent, region) }, |_| ()).expect("accepted").lsn
}

pub fn settle(agent: &AgentStore) {
    agent.wait_durable_blocking(agent.head(), PATIENCE).expect("durable");
}

pub fn texts(recovered: &Recovered) -> Vec<String> {
    recovered.events.iter().map(|event| String::from_utf8_lossy(event).into_owned()).collect()
}

/// Waits for another thread's result, without a clock in the assertion.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let watch = maxim_bus::clock::Stopwatch::start();
    while !done() {
        assert!(watch.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::yield_now();
    }
}

/// All visible content of an agent's store, for comparing.
pub fn picture(agent: &AgentStore, regions: &[RegionName]) -> String {
    let of_region = |region: &RegionName| {
        let recovered = agent.recover(region).expect("recovers");
        let records = agent.records(region, .., usize::MAX).expect("reads");
        format!("{region}: {recovered:?}\n{records:?}\n{}", agent.record_count(region))
    };
    let undelivered = agent.undelivered().expect("reads");
    let regions: Vec<_> = regions.iter().map(of_region).collect();
    format!("{:?}\n{}\n{undelivered:?}", agent.head(), regions.join("\n"))
}

pub fn epoch_after(epoch: Epoch) -> Epoch {
    Epoch(epoch.0 + 1)
}
