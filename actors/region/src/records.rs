//! Read access to a room's own records.

use std::cell::RefCell;
use std::ops::Bound;

use maxim_bus::RegionName;
use serde::de::DeserializeOwned;

pub use maxim_store::StoreError as Unreadable;
use maxim_store::{AgentStore, Frozen};

/// Key and value.
pub type Record = (Vec<u8>, Vec<u8>);

/// Reads the accepted records of one room. An unreadable record makes the room fail, so that the damage is reported and
/// the message is tried again.
pub struct RecordView<'a> {
    source: Source<'a>,
    /// The records that were read, if they are being recorded.
    found: Option<RefCell<Found>>,
}

/// A record's key, and the total bytes of its key and value.
pub type Listed = (Vec<u8>, usize);

enum Found {
    Whole(Vec<Record>),
    /// Without their content, for a reader that reads it later.
    Listed(Vec<Listed>),
}

enum Source<'a> {
    Live(&'a AgentStore, RegionName),
    Frozen(&'a Frozen),
}

impl<'a> RecordView<'a> {
    pub fn new(store: &'a AgentStore, region: RegionName) -> Self {
        Self { source: Source::Live(store, region), found: None }
    }

    /// Records of a past moment.
    pub fn frozen(frozen: &'a Frozen) -> Self {
        Self { source: Source::Frozen(frozen), found: None }
    }

    /// Records what is read.
    pub fn witnessed(self) -> Self {
        Self { found: Some(RefCell::new(Found::Whole(Vec::new()))), ..self }
    }

    /// Records the keys of what is read.
    pub fn listing(self) -> Self {
        Self { found: Some(RefCell::new(Found::Listed(Vec::new()))), ..self }
    }

    /// What was read since recording began, in order; a key that was read twice is in it twice.
    pub fn into_found(self) -> Vec<Record> {
        match self.found.map(RefCell::into_inner) {
            Some(Found::Whole(records)) => records,
            _ => Vec::new(),
        }
    }

    /// The keys that were read since recording began, ascending, each once.
    pub fn into_listed(self) -> Vec<Listed> {
        let Some(Found::Listed(mut listed)) = self.found.map(RefCell::into_inner) else { return Vec::new() };
        listed.sort_unstable();
        listed.dedup();
        listed
    }

    fn region(&self) -> RegionName {
        match &self.source {
            Source::Live(_, region) => region,
            Source::Frozen(frozen) => frozen.region,
        }
    }

    fn note<'r>(&self, records: impl IntoIterator<Item = (&'r [u8], &'r [u8])>) {
        match self.found.as_ref().map(RefCell::borrow_mut).as_deref_mut() {
            Some(Found::Whole(whole)) => {
                whole.extend(records.into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
            }
            Some(Found::Listed(listed)) => {
                listed.extend(records.into_iter().map(|(key, value)| (key.to_vec(), key.len() + value.len())));
            }
            None => {}
        }
    }

    /// A record, for a reader outside the room: damage is returned as an error.
    ///
    /// # Errors
    /// The record can't be read.
    pub fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
        match &self.source {
            Source::Live(store, region) => store.record(region, key),
            Source::Frozen(frozen) => frozen.record(key),
        }
    }

    /// Records in a range of keys, ascending, for a reader outside the room.
    ///
    /// # Errors
    /// One of the records can't be read.
    pub fn read_range(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>), limit: usize) -> Result<Vec<Record>, Unreadable> {
        match &self.source {
            Source::Live(store, region) => store.records(region, range, limit),
            Source::Frozen(frozen) => frozen.records(range, limit),
        }
    }

    #[allow(clippy::panic)] // it is caught, and becomes a restart with the store's own words
    pub fn bytes(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self.read(key) {
            Ok(bytes) => {
                self.note(bytes.as_deref().map(|bytes| (key, bytes)));
                bytes
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// True if the record exists; its bytes aren't read. While records are being recorded, it is read all the same:
    /// otherwise a replay would not find it.
    #[allow(clippy::panic)] // as above
    pub fn has(&self, key: &[u8]) -> bool {
        if self.found.is_some() {
            return self.bytes(key).is_some();
        }
        let found = match &self.source {
            Source::Live(store, region) => store.has_record(region, key),
            Source::Frozen(frozen) => frozen.record(key).map(|found| found.is_some()),
        };
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads the record on demand, for records that a room may never need after waking. [`Region::read_to_wake`] reads
    /// it, and it must not change. An unreadable record is logged, and gives `None`.
    ///
    /// [`Region::read_to_wake`]: super::Region::read_to_wake
    pub fn later(&self, key: Vec<u8>) -> impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static {
        let read = match &self.source {
            Source::Live(store, region) => Err(((*store).clone(), *region)),
            Source::Frozen(_) => Ok(self.bytes(&key)),
        };
        move || match &read {
            Ok(read) => read.clone(),
            Err((store, region)) => {
                let told = |error: &Unreadable| tracing::error!(%error, "a record can't be read");
                store.record(region, &key).inspect_err(told).ok()?
            }
        }
    }

    /// For a room that uses a record that it has in memory: the record is recorded, if records are being recorded.
    pub fn rests_on(&self, key: &[u8]) {
        if self.found.is_some() {
            self.bytes(key);
        }
    }

    /// The record, if it exists and has this shape.
    pub fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Option<T> {
        let bytes = self.bytes(key)?;
        serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::error!(region = self.region(), key = %String::from_utf8_lossy(key), %error, "a record has another shape"))
            .ok()
    }

    /// Records whose keys begin with `prefix`, ascending.
    pub fn prefixed(&self, prefix: &[u8], limit: usize) -> Vec<Record> {
        self.range((Bound::Included(prefix.to_vec()), end_of(prefix)), limit)
    }

    /// Records whose keys are at or above `from` and below `to`, ascending.
    pub fn between(&self, from: &[u8], to: &[u8]) -> Vec<Record> {
        self.range((Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec())), usize::MAX)
    }

    #[allow(clippy::panic)] // as above
    fn range(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>), limit: usize) -> Vec<Record> {
        match self.read_range(range, limit) {
            Ok(records) => {
                self.note(records.iter().map(|(key, value)| (key.as_slice(), value.as_slice())));
                records
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The first key after all that begin with `prefix`.
pub fn end_of(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Bound::Excluded(end);
        }
        end.pop();
    }
    Bound::Unbounded
}

#[cfg(test)]
mod tests {
    use maxim_bus::AgentId;

    use super::*;
    use maxim_store::{Commit, StateStore};

    #[test]
    fn that_a_record_is_there_is_found_as_its_bytes_are() {
        let store = StateStore::in_memory();
        let agent = store.agent(&AgentId::new("ada").expect("a good name"));
        let records = vec![(b"there".to_vec(), Some(b"value"[..].into()))];
        let commit = Commit { records, ..Commit::of("room", agent.epoch("room")) };
        agent.accept(commit, |_| ()).expect("accepted");
        let view = || RecordView::new(&agent, "room");
        let unwitnessed = view();
        assert!(unwitnessed.has(b"there") && !unwitnessed.has(b"not there") && unwitnessed.into_found().is_empty());
        let witnessed = view().witnessed();
        assert!(witnessed.has(b"there") && !witnessed.has(b"not there"));
        assert_eq!(witnessed.into_found(), [(b"there".to_vec(), b"value".to_vec())], "a replay is given it");
        let listing = view().listing();
        assert!(listing.has(b"there"));
        assert_eq!(listing.into_listed().len(), 1);
    }
}
