//! The states with which a file begins.

use maxim_actors::store::{AgentStore, Frozen};
use maxim_bus::{Lsn, RegionName};

use super::format::{Record, RegionStart};
use crate::agent::Waking;

/// All regions, frozen at one moment each, before anything of them is read.
pub struct Still {
    pub regions: Vec<Frozen>,
    /// The newest number that one of them may depend on.
    pub newest: Lsn,
}

impl Still {
    pub fn of(store: &AgentStore, wakings: &[(RegionName, Waking)]) -> Self {
        let regions: Vec<Frozen> = wakings.iter().map(|(region, _)| store.freeze(region)).collect();
        let newest = regions.iter().map(|region| region.lsn).max().unwrap_or_default();
        Self { regions, newest }
    }
}

/// A region at the beginning of a file: its state, and the records by which it is woken. Records that it reads later
/// come before the input that reads them.
pub struct Portrait<'a> {
    pub start: RegionStart,
    /// Keys of the records.
    pub keys: Vec<Vec<u8>>,
    pub region: &'a Frozen,
}

impl<'a> Portrait<'a> {
    /// `left` is how many bytes of records the file may still begin with.
    pub fn of(store: &AgentStore, region: &'a Frozen, (name, waking): &(RegionName, Waking), left: &mut usize) -> Self {
        let read = waking(region, store.id()).and_then(|listed| {
            let bytes = listed.iter().map(|(_, bytes)| bytes).sum::<usize>();
            *left = left.checked_sub(bytes).ok_or_else(|| {
                format!("it is woken by {bytes} bytes of records, and the file may begin with {left} more")
            })?;
            Ok(listed.into_iter().map(|(key, _)| key).collect())
        });
        let (keys, missing) = match read {
            Ok(keys) => (keys, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        // The shell writes roots and events as JSON.
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let start = RegionStart {
            region: (*name).into(),
            lsn: region.lsn,
            state_hash: region.state.state_hash,
            root: region.state.root.as_ref().map(text),
            events: region.state.events.iter().map(text).collect(),
            records: keys.len() as u64,
            missing,
        };
        Self { start, keys, region }
    }

    /// The records, one after another, because together they may be large. An unreadable record is missing.
    pub fn records(&mut self) -> impl Iterator<Item = Record> {
        let Self { start, keys, region } = self;
        let mut missing = |why: String| {
            start.missing = Some(why);
            None
        };
        let mut record = region.ascending();
        keys.iter().filter_map(move |key| match record(key) {
            Ok(Some(value)) => Some((key.clone(), value)),
            Ok(None) => missing(format!("its record {} is gone", String::from_utf8_lossy(key))),
            Err(error) => missing(error.to_string()),
        })
    }
}
