//! The content of a region's root slot: its snapshot, and the later events once they would hold the journal back.

use std::sync::Arc;

use super::codec::{Reader, Writer};
use super::journal::Meta;

/// Version 1 had no events, and no LSN of the snapshot, which was that of the summary.
const PLAIN: u8 = 2;
/// The same, compressed after its length (u32, little endian).
const COMPRESSED: u8 = 3;
/// A longer slot is not valid.
const SLOT_BYTES: usize = 256 << 20;

/// The events of one commit, by its LSN.
pub type Events = (u64, Arc<Vec<Vec<u8>>>);

/// A region at `meta.lsn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSlot {
    pub meta: Meta,
    /// The newest snapshot and its LSN; `None` for a region that never made one.
    pub root: Option<(u64, Arc<[u8]>)>,
    /// Events after the snapshot, up to `meta.lsn`.
    pub events: Vec<Events>,
}

impl RootSlot {
    pub fn write(&self) -> Vec<u8> {
        let mut to = Writer::default();
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
        match lz4::block::compress(&to.0, None, true) {
            Ok(small) if small.len() < to.0.len() => [&[COMPRESSED][..], &small].concat(),
            _ => [&[PLAIN][..], &to.0].concat(),
        }
    }

    /// `None` if it can't be read.
    pub fn read(content: &[u8]) -> Option<Self> {
        let (version, rest) = content.split_first()?;
        let whole;
        let (version, rest) = match *version {
            COMPRESSED => {
                let (length, packed) = rest.split_first_chunk::<4>()?;
                let length =
                    usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length <= SLOT_BYTES)?;
                whole = lz4::block::decompress(packed, Some(i32::try_from(length).ok()?)).ok()?;
                (PLAIN, whole.as_slice())
            }
            version => (version, rest),
        };
        let mut from = Reader(rest);
        let meta = Meta::read(&mut from)?;
        match version {
            1 => Some(Self { root: Some((meta.lsn, Arc::from(from.0))), meta, events: Vec::new() }),
            PLAIN => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_comes_back_compressed_or_not_and_a_cut_one_is_refused() {
        let meta = Meta { lsn: 9, ..Meta::default() };
        for (root, is_smaller) in [(b"all the same ".repeat(100), true), (b"x".to_vec(), false)] {
            let root: Arc<[u8]> = root.into();
            let slot =
                RootSlot { meta: meta.clone(), root: Some((5, root)), events: vec![(6, Arc::new(vec![vec![1]]))] };
            let written = slot.write();
            assert_eq!(written[0] == COMPRESSED, is_smaller);
            assert_eq!(RootSlot::read(&written).as_ref(), Some(&slot));
            for length in 0..written.len() {
                assert_ne!(RootSlot::read(&written[..length]).as_ref(), Some(&slot), "cut at {length}");
            }
        }
    }
}
