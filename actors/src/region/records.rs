//! A room's own records, for reading.

use std::ops::Bound;

use maxim_bus::RegionName;
use serde::de::DeserializeOwned;

use crate::store::AgentStore;

/// Reads the records of one room, as they were accepted. A record that can't be read makes the room fail, so that the
/// damage is told and the message is tried again.
pub struct RecordView<'a> {
    store: &'a AgentStore,
    region: RegionName,
}

impl<'a> RecordView<'a> {
    pub fn new(store: &'a AgentStore, region: RegionName) -> Self {
        Self { store, region }
    }

    #[allow(clippy::panic)] // the fence turns it into a restart with the store's own words
    pub fn bytes(&self, key: &[u8]) -> Option<Vec<u8>> {
        match self.store.record(self.region, key) {
            Ok(bytes) => bytes,
            Err(error) => panic!("{error}"),
        }
    }

    /// The record, if it is there and of this shape.
    pub fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Option<T> {
        let bytes = self.bytes(key)?;
        serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::error!(region = self.region, key = %String::from_utf8_lossy(key), %error, "a record has another shape"))
            .ok()
    }

    /// Records whose keys begin with `prefix`, ascending.
    pub fn prefixed(&self, prefix: &[u8], limit: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.range((Bound::Included(prefix.to_vec()), end_of(prefix)), limit)
    }

    /// Records whose keys are at or above `from` and below `to`, ascending.
    pub fn between(&self, from: &[u8], to: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.range((Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec())), usize::MAX)
    }

    #[allow(clippy::panic)] // as above
    fn range(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>), limit: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        match self.store.records(self.region, range, limit) {
            Ok(records) => records,
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
