//! Reading an agent's store: recovery, undelivered emissions, records.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

use maxim_bus::ids::{Lsn, RegionName};

use super::super::error::{EngineError, NotDurable, StoreError};
use super::super::journal::{Cursors, unpack};
use super::super::keys;
use super::super::mail;
use super::super::pack::Pack;
use super::super::records::{KeyRange, Merging, Records, RunCursor, Sealed, Source, Value};
use super::AgentStore;
use super::state::Region;

/// A record: key and value.
pub type Record = (Vec<u8>, Vec<u8>);

/// An emission: its LSN, and the serialised signal.
pub type Emission = (Lsn, Arc<[u8]>);

/// The data to rebuild a region: the root, and the later events, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    pub root: Option<Vec<u8>>,
    /// The commit that contained the root; 0 without one.
    pub root_lsn: Lsn,
    pub events: Vec<Vec<u8>>,
    pub cursors: Cursors,
    /// As given in the last commit.
    pub state_hash: u64,
}

impl AgentStore {
    /// Everything accepted for a region, whether or not it is on disk. Only reads memory, so it works while the disk
    /// hangs.
    ///
    /// # Errors
    /// The agent was out of memory, and the disk couldn't restore it.
    pub fn recover(&self, region: RegionName) -> Result<Recovered, StoreError> {
        let mut state = self.agent.state.lock();
        if let Some(why) = &state.unread {
            return Err(why.clone().into());
        }
        Ok(state.region(region, self.shared.boot_epoch()).recovered())
    }

    /// All kept emissions, oldest first: a start of the process redelivers them. Some may have been consumed already;
    /// the cursors show it.
    pub fn undelivered(&self) -> Result<Vec<Emission>, StoreError> {
        let (waiting, kept, next) = {
            let state = self.agent.state.lock();
            let waiting: Vec<_> = state.waiting.iter().map(|(entry, _)| entry.clone()).collect();
            let kept = state.emissions.iter().map(|(lsn, bytes)| (Lsn(*lsn), bytes.clone())).collect::<Vec<_>>();
            (waiting, kept, state.next)
        };
        let Some(backing) = self.shared.backing() else {
            let why = self.shared.trouble.get().unwrap_or(NotDurable::Closed);
            return if self.shared.in_memory { Ok(kept) } else { Err(why.into()) };
        };
        let on_disk_below = waiting.first().map_or(next, |entry| entry.lsn);
        let mut found = kept;
        let dropped = self.agent.on_disk.lock().dropped;
        let cut_away = mail::cut_away(&*backing, self.agent.id.as_str(), dropped)?;
        found.extend(cut_away.into_iter().map(|(lsn, bytes)| (Lsn(lsn), bytes)));
        let prefix = keys::agent(keys::FRAME, self.agent.id.as_str());
        let frames = keys::spanning(&*backing, &prefix)?.into_iter().filter(|(_, frame)| !frame.is_empty);
        let mut read = BTreeMap::new();
        for (key, frame) in frames {
            let place = keys::place_of(&key);
            let unpacked = frame.content.and_then(|content| unpack(&content, place, frame.chunks));
            let (span, entries) =
                unpacked.ok_or_else(|| self.damaged("-", "the journal frame", format!("in place {place}")))?;
            read.insert(span.first, entries);
        }
        for entries in read.into_values() {
            for entry in entries.into_iter().filter(|entry| entry.lsn < on_disk_below) {
                let lsns = entry.lsn + 1..;
                found.extend(lsns.map(Lsn).zip(entry.emissions));
            }
        }
        for entry in waiting {
            found.extend((entry.lsn + 1..).map(Lsn).zip(entry.emissions()));
        }
        Ok(found)
    }

    /// All rooms had handled everything up to here when the previous process wrote last. 0 after a repair.
    pub fn delivered(&self) -> Lsn {
        Lsn(self.agent.on_disk.lock().delivered)
    }

    /// The newest accepted value of a key.
    pub fn record(&self, region: RegionName, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let (value, sealed) = {
            let mut state = self.agent.state.lock();
            let region = state.region(region, self.shared.boot_epoch());
            (region.records.in_memory(key), region.records.sealed.clone())
        };
        self.load(region, key, value, |pack| sealed.get(pack, key))
    }

    /// True if a key is alive; its value isn't read.
    pub fn has_record(&self, region: RegionName, key: &[u8]) -> Result<bool, StoreError> {
        let (value, sealed) = {
            let mut state = self.agent.state.lock();
            let region = state.region(region, self.shared.boot_epoch());
            (region.records.in_memory(key), region.records.sealed.clone())
        };
        let value = match (value, self.shared.pack()) {
            (None, Some(pack)) => sealed.get(&pack, key).map_err(|error| self.bad_record(region, key, error))?,
            (value, _) => value,
        };
        Ok(value.is_some_and(|value| value != Value::Deleted))
    }

    fn load(
        &self,
        region: RegionName,
        key: &[u8],
        value: Option<Value>,
        sealed: impl FnOnce(&Pack) -> Result<Option<Value>, EngineError>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(pack) = self.shared.pack() else { return inline(value) };
        let value = match value {
            Some(value) => Some(value),
            None => sealed(&pack).map_err(|error| self.bad_record(region, key, error))?,
        };
        let Some(value) = value else { return Ok(None) };
        value.load(&pack).map_err(|error| self.bad_record(region, key, error))
    }

    /// Records in a range of keys, ascending, at most `limit`.
    pub fn records(
        &self,
        region: RegionName,
        range: impl RangeBounds<Vec<u8>>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let range: KeyRange = (range.start_bound().cloned(), range.end_bound().cloned());
        let (memory, sealed) = {
            let mut state = self.agent.state.lock();
            let region = state.region(region, self.shared.boot_epoch());
            (region.records.memory_range(&range, limit), region.records.sealed.clone())
        };
        self.merge(region, range, limit, memory, &sealed)
    }

    fn merge(
        &self,
        region: RegionName,
        range: KeyRange,
        limit: usize,
        memory: Vec<(Vec<u8>, Value)>,
        sealed: &Sealed,
    ) -> Result<Vec<Record>, StoreError> {
        let Some(pack) = self.shared.pack() else {
            let alive = memory.into_iter().filter_map(|(key, value)| match inline(Some(value)) {
                Ok(Some(bytes)) => Some((key, bytes)),
                _ => None,
            });
            return Ok(alive.collect());
        };
        let bad = |error| self.bad_record(region, &[], error);
        let mut sources = vec![Source::list(memory)];
        for run in &sealed.runs {
            sources.push(Source::Run(RunCursor::new(run.clone(), pack.clone(), range.clone(), true).map_err(bad)?));
        }
        let mut merging = Merging::new(sources);
        let mut found = Vec::new();
        while found.len() < limit
            && let Some((key, value)) = merging.next().map_err(bad)?
        {
            if let Some(bytes) = value.load(&pack).map_err(|error| self.bad_record(region, &key, error))? {
                found.push((key, bytes));
            }
        }
        Ok(found)
    }

    /// The number of live keys. Keys overwritten since the last sealing are looked up once. Keys in an unreadable block
    /// count as new: [`AgentStore::record`] reports the damage.
    pub fn record_count(&self, region: RegionName) -> u64 {
        loop {
            let (unknown, sealed) = {
                let mut state = self.agent.state.lock();
                let region = state.region(region, self.shared.boot_epoch());
                let records = &region.records;
                let mut unknown: Vec<Vec<u8>> = match self.shared.in_memory {
                    true => Vec::new(),
                    false => records.unknown_below().map(<[u8]>::to_vec).collect(),
                };
                if unknown.is_empty() {
                    return records.count();
                }
                unknown.sort_unstable();
                (unknown, records.sealed.clone())
            };
            let Some(pack) = self.shared.pack() else { return 0 };
            let mut value = sealed.ascending();
            let mut is_alive = |key: &[u8]| matches!(value(&pack, key), Ok(Some(value)) if value != Value::Deleted);
            let known = unknown.into_iter().map(|key| (is_alive(&key), key)).collect();
            let mut state = self.agent.state.lock();
            let records = &mut state.region(region, self.shared.boot_epoch()).records;
            if Arc::ptr_eq(&records.sealed, &sealed) {
                records.learn_below(known);
            }
        }
    }

    fn bad_record(&self, region: RegionName, key: &[u8], error: EngineError) -> StoreError {
        match error {
            EngineError::Damaged(why) => {
                self.shared.note_damage();
                let what =
                    if key.is_empty() { "a range of records".into() } else { format!("the record {}", name(key)) };
                self.damaged(region, &what, why)
            }
            other => other.into(),
        }
    }

    fn damaged(&self, region: &str, what: &str, why: String) -> StoreError {
        StoreError::Damaged { agent: self.agent.id.to_string(), region: region.into(), what: what.into(), why }
    }
}

/// A region at one LSN, unaffected by later changes. The data that it uses stays on disk while it is held.
pub struct Frozen {
    store: AgentStore,
    pub region: RegionName,
    /// The newest LSN at that time.
    pub lsn: Lsn,
    pub state: Recovered,
    records: Records,
}

impl AgentStore {
    /// Freezes the present state of a region: data in memory is copied, the rest is shared.
    pub fn freeze(&self, region: RegionName) -> Frozen {
        let mut state = self.agent.state.lock();
        let lsn = Lsn(state.next - 1);
        let held = state.region(region, self.shared.boot_epoch());
        Frozen { store: self.clone(), region, lsn, state: held.recovered(), records: held.records.clone() }
    }
}

impl Frozen {
    pub fn record(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.load(self.region, key, self.records.in_memory(key), |pack| self.records.sealed.get(pack, key))
    }

    /// As [`Frozen::record`], for many keys in ascending order.
    pub fn ascending(&self) -> impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut sealed = self.records.sealed.ascending();
        move |key| self.store.load(self.region, key, self.records.in_memory(key), |pack| sealed(pack, key))
    }

    pub fn records(&self, range: impl RangeBounds<Vec<u8>>, limit: usize) -> Result<Vec<Record>, StoreError> {
        let range: KeyRange = (range.start_bound().cloned(), range.end_bound().cloned());
        let memory = self.records.memory_range(&range, limit);
        self.store.merge(self.region, range, limit, memory, &self.records.sealed)
    }
}

impl Region {
    fn recovered(&self) -> Recovered {
        let Self { root, events, cursors, state_hash, .. } = self;
        Recovered {
            root_lsn: Lsn(root.as_ref().map_or(0, |(lsn, _)| *lsn)),
            root: root.as_ref().map(|(_, root)| root.to_vec()),
            events: events.iter().flat_map(|(_, events)| events.iter().cloned()).collect(),
            cursors: *cursors,
            state_hash: *state_hash,
        }
    }
}

/// A store without a disk has every value in memory.
fn inline(value: Option<Value>) -> Result<Option<Vec<u8>>, StoreError> {
    match value {
        Some(Value::Inline(bytes)) => Ok(Some(bytes.to_vec())),
        Some(Value::Spilled(_)) => Err(StoreError::Closed),
        Some(Value::Deleted) | None => Ok(None),
    }
}

/// A key in a readable form.
pub fn name(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}
