//! What stands in a region's root slot: its snapshot, and the events after it once they would hold the journal back.

use std::sync::Arc;

use super::codec::{Reader, Writer};
use super::journal::Meta;

/// Version 1 had no events and no number of the snapshot, which was that of the summary.
const VERSION: u8 = 2;

/// The events of one commit, by its LSN.
pub type Events = (u64, Arc<Vec<Vec<u8>>>);

/// A region as it was at `meta.lsn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSlot {
    pub meta: Meta,
    /// The newest snapshot and its LSN; none for a region that never made one.
    pub root: Option<(u64, Arc<[u8]>)>,
    /// After the snapshot, up to `meta.lsn`.
    pub events: Vec<Events>,
}

impl RootSlot {
    pub fn write(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.u8(VERSION);
        self.meta.write(&mut to);
        match &self.root {
            None => to.u8(0),
            Some((lsn, root)) => {
                to.u8(1);
                to.varint(*lsn);
                to.bytes(root);
            }
        }
        to.count(self.events.len());
        for (lsn, events) in &self.events {
            to.varint(*lsn);
            to.count(events.len());
            events.iter().for_each(|event| to.bytes(event));
        }
        to.0
    }

    /// `None` when it can't be read.
    pub fn read(content: &[u8]) -> Option<Self> {
        let mut from = Reader(content);
        let version = from.u8()?;
        let meta = Meta::read(&mut from)?;
        match version {
            1 => Some(Self { root: Some((meta.lsn, Arc::from(from.0))), meta, events: Vec::new() }),
            VERSION => {
                let root = match from.u8()? {
                    0 => None,
                    _ => Some((from.varint()?, Arc::from(from.bytes()?))),
                };
                let of_commit = |from: &mut Reader| -> Option<Events> {
                    let lsn = from.varint()?;
                    let events = (0..from.count()?).map(|_| from.bytes().map(<[u8]>::to_vec));
                    Some((lsn, Arc::new(events.collect::<Option<_>>()?)))
                };
                let events = (0..from.count()?).map(|_| of_commit(&mut from)).collect::<Option<_>>()?;
                Some(Self { meta, root, events })
            }
            _ => None,
        }
    }
}
