//! Read access to a room's own records.

use std::cell::RefCell;
use std::ops::Bound;

use maxim_bus::RegionName;
use serde::de::DeserializeOwned;

pub use maxim_store::StoreError as Unreadable;
use maxim_store::{AgentStore, Frozen};

/// Key and value.
pub type Record = (Vec<u8>, Vec<u8>);

/// Reads the accepted records of one room. If a record can't be read, the room fails: the damage is reported and the
/// message is retried.
pub struct RecordView<'a> {
    source: Source<'a>,
    /// The records found, if the records used for a decision are collected.
    found: Option<RefCell<Found>>,
}

/// A record's key, and the bytes of its key and value.
pub type Listed = (Vec<u8>, usize);

enum Found {
    Whole(Vec<Record>),
    /// Only the keys, for a caller that reads the contents later.
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

    /// A view of a past moment.
    pub fn frozen(frozen: &'a Frozen) -> Self {
        Self { source: Source::Frozen(frozen), found: None }
    }

    /// Collects the records that are found.
    pub fn witnessed(self) -> Self {
        Self { found: Some(RefCell::new(Found::Whole(Vec::new()))), ..self }
    }

    /// Collects the keys of the records that are found.
    pub fn listing(self) -> Self {
        Self { found: Some(RefCell::new(Found::Listed(Vec::new()))), ..self }
    }

    /// The records found since collecting began, in reading order. A key that was read twice appears twice.
    pub fn into_found(self) -> Vec<Record> {
        match self.found.map(RefCell::into_inner) {
            Some(Found::Whole(records)) => records,
            _ => Vec::new(),
        }
    }

    /// The keys found since collecting began, ascending, each once.
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

    /// Reads a record for a caller other than the room. Damage is returned as an error and doesn't fail the room.
    ///
    /// # Errors
    /// The record can't be read.
    pub fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
        match &self.source {
            Source::Live(store, region) => store.record(region, key),
            Source::Frozen(frozen) => frozen.record(key),
        }
    }

    /// Reads records in a range of keys, ascending, for a caller other than the room.
    ///
    /// # Errors
    /// One of the records can't be read.
    pub fn read_range(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>), limit: usize) -> Result<Vec<Record>, Unreadable> {
        match &self.source {
            Source::Live(store, region) => store.records(region, range, limit),
            Source::Frozen(frozen) => frozen.records(range, limit),
        }
    }

    #[allow(clippy::panic)] // the fence turns it into a restart that names the store's error
    pub fn bytes(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self.read(key) {
            Ok(bytes) => {
                self.note(bytes.as_deref().map(|bytes| (key, bytes)));
                bytes
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether the record exists, without reading its bytes. If records are collected, it is read all the same:
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

    /// Returns a function that reads the record on demand: for records that a room needs for waking but may never
    /// look at. The room must read it in [`Region::read_to_wake`] too, and the record must not change. If it can't be
    /// read, the error is logged and the result is none.
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

    /// Notes that a decision uses a record that the room already has in memory. It is collected if records are
    /// collected.
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
