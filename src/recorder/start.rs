//! The states that a file begins with.

use std::ops::Bound;

use maxim_actors::store::{AgentStore, Recovered, StoreError};
use maxim_bus::{Lsn, RegionName};

use super::format::{Record, RegionStart};

/// How often a state is read again because its region committed meanwhile.
const TRIES: usize = 50;
/// Records read at a time.
const PAGE: usize = 1_000;

/// A region's state and its records.
pub struct Portrait {
    pub start: RegionStart,
    pub records: Vec<Record>,
}

/// The states of all regions, and the newest number that one of them may rest on. `limit` is for the records of all.
pub fn portraits(store: &AgentStore, regions: &[RegionName], limit: usize) -> (Vec<Portrait>, Lsn) {
    let mut taken: Vec<(usize, Portrait)> = regions.iter().map(|region| portrait(store, region, limit)).collect();
    let newest = taken.iter().map(|(_, portrait)| portrait.start.lsn).max().unwrap_or_default();
    let mut by_size: Vec<&mut (usize, Portrait)> = taken.iter_mut().collect();
    by_size.sort_by_key(|(bytes, _)| *bytes);
    let mut left = limit;
    for (bytes, portrait) in by_size {
        match left.checked_sub(*bytes) {
            Some(rest) => left = rest,
            None => portrait.leave_out(format!("its records pass the {limit} bytes that a file may begin with")),
        }
    }
    (taken.into_iter().map(|(_, portrait)| portrait).collect(), newest)
}

impl Portrait {
    fn leave_out(&mut self, why: String) {
        self.start.missing.get_or_insert(why);
        self.records.clear();
        self.start.records = 0;
    }
}

/// Its size is that of its records.
fn portrait(store: &AgentStore, region: RegionName, limit: usize) -> (usize, Portrait) {
    match still(store, region, limit) {
        Ok(Some(found)) => found,
        Ok(None) => nothing(store, region, "it committed all the time while its state was read".into()),
        Err(error) => nothing(store, region, error.to_string()),
    }
}

fn nothing(store: &AgentStore, region: RegionName, why: String) -> (usize, Portrait) {
    let start = start_of(region, store.head(), Recovered::default(), 0, Some(why));
    (0, Portrait { start, records: Vec::new() })
}

/// Root, events and records as of one commit. Nothing is locked: when the root is the same before and after the records
/// were read, no commit came between.
fn still(store: &AgentStore, region: RegionName, limit: usize) -> Result<Option<(usize, Portrait)>, StoreError> {
    for _ in 0..TRIES {
        let before = store.recover(region)?;
        let lsn = store.head();
        let (bytes, records) = records(store, region, limit)?;
        if store.recover(region)? == before {
            let start = start_of(region, lsn, before, records.len() as u64, None);
            return Ok(Some((bytes, Portrait { start, records })));
        }
    }
    Ok(None)
}

/// Stops reading when there are more than `limit` bytes.
fn records(store: &AgentStore, region: RegionName, limit: usize) -> Result<(usize, Vec<Record>), StoreError> {
    let (mut bytes, mut found) = (0, Vec::<Record>::new());
    loop {
        let from = found.last().map_or(Bound::Unbounded, |(key, _)| Bound::Excluded(key.clone()));
        let page = store.records(region, (from, Bound::Unbounded), PAGE)?;
        let is_last = page.len() < PAGE;
        bytes += page.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        found.extend(page);
        if is_last || bytes > limit {
            return Ok((bytes, found));
        }
    }
}

fn start_of(region: RegionName, lsn: Lsn, state: Recovered, records: u64, missing: Option<String>) -> RegionStart {
    // Roots and events are JSON by the shell's hand.
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    RegionStart {
        region: region.into(),
        lsn,
        state_hash: state.state_hash,
        root: state.root.map(text),
        events: state.events.into_iter().map(text).collect(),
        records,
        missing,
    }
}
