//! The states that a file begins with.

use maxim_actors::store::{AgentStore, Frozen};
use maxim_bus::{Lsn, RegionName};

use super::format::{Record, RegionStart};
use crate::agent::Waking;

/// Regions at one moment each, before anything of them is read.
pub struct Still {
    pub regions: Vec<Frozen>,
    /// The newest number that one of them may rest on.
    pub newest: Lsn,
}

impl Still {
    pub fn of(store: &AgentStore, wakings: &[(RegionName, Waking)]) -> Self {
        let regions: Vec<Frozen> = wakings.iter().map(|(region, _)| store.freeze(region)).collect();
        let newest = regions.iter().map(|region| region.lsn).max().unwrap_or_default();
        Self { regions, newest }
    }
}

/// A region's state, and the records that it is woken by; what it reads later stands before the input that it is read
/// for. `left` is how many bytes of records the file may still begin with.
pub fn portrait(
    store: &AgentStore,
    region: &Frozen,
    (name, waking): &(RegionName, Waking),
    left: &mut usize,
) -> (RegionStart, Vec<Record>) {
    let read = waking(region, store.id()).and_then(|records| {
        let bytes = records.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        *left = left.checked_sub(bytes).ok_or_else(|| {
            format!("it is woken by {bytes} bytes of records, and the file may begin with {left} more")
        })?;
        Ok(records)
    });
    let (records, missing) = match read {
        Ok(records) => (records, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    // Roots and events are JSON by the shell's hand.
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let start = RegionStart {
        region: (*name).into(),
        lsn: region.lsn,
        state_hash: region.state.state_hash,
        root: region.state.root.as_ref().map(text),
        events: region.state.events.iter().map(text).collect(),
        records: records.len() as u64,
        missing,
    };
    (start, records)
}
