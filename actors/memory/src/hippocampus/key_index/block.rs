//! A sealed block of documents: their numbers and times, and for each key the set of documents that have it.

use std::sync::Arc;

use crate::packing::{DamagedSegment, Packer, Unpacker};

const KIND: [u8; 4] = *b"MXK1";

/// Where the set of one key is in a block's bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub block: u32,
    at: u32,
    /// Number of members.
    pub count: u16,
    dense: bool,
}

/// A sealed block's bytes, and the ordinal of its first document.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub bytes: Arc<[u8]>,
    pub base: u32,
    pub documents: u32,
    /// Times of its earliest and its latest document, in microseconds since 1970.
    span: (i64, i64),
}

/// The parts of a block that are read once, when it is loaded.
pub(super) struct Opened {
    pub documents: Vec<u32>,
    /// Microseconds since 1970.
    pub times: Vec<i64>,
    pub keys: Vec<(String, Place)>,
}

/// `keys` must be sorted, with ascending members counted from the block's first document.
pub(super) fn pack(documents: &[u32], times: &[i64], keys: &[(String, Vec<u16>)]) -> Vec<u8> {
    let mut out = Packer::new(KIND);
    out.count(documents.len());
    documents.iter().for_each(|d| out.u32(*d));
    times.iter().for_each(|t| out.i64(*t));
    out.count(keys.len());
    for (key, members) in keys {
        out.text(key);
        out.count(members.len());
        if is_dense(members.len(), documents.len()) {
            let mut bits = vec![0u8; documents.len().div_ceil(8)];
            members.iter().for_each(|m| bits[usize::from(*m) / 8] |= 1 << (m % 8));
            out.raw(&bits);
        } else {
            members.iter().for_each(|m| out.raw(&m.to_le_bytes()));
        }
    }
    out.finish()
}

/// True if a bit for every document is smaller than two bytes for each member.
fn is_dense(members: usize, documents: usize) -> bool {
    members * 16 > documents
}

pub(super) fn open(bytes: &[u8], block: u32) -> Result<Opened, DamagedSegment> {
    let mut reader = Unpacker::open(bytes, KIND)?;
    let count = reader.u32("the number of documents")? as usize;
    let documents = (0..count).map(|_| reader.u32("a document number")).collect::<Result<_, _>>()?;
    let times = (0..count).map(|_| reader.i64("a time")).collect::<Result<_, _>>()?;
    let mut keys = Vec::new();
    for _ in 0..reader.u32("the number of keys")? {
        let key = reader.text("a key")?.to_string();
        let members = reader.u32("the size of a key")? as usize;
        let dense = is_dense(members, count);
        let at = reader.position() as u32;
        reader.take(if dense { count.div_ceil(8) } else { members * 2 }, "the members of a key")?;
        keys.push((key, Place { block, at, count: members.min(usize::from(u16::MAX)) as u16, dense }));
    }
    Ok(Opened { documents, times, keys })
}

impl Block {
    /// `times`: those of its documents, in order.
    pub(super) fn new(bytes: Arc<[u8]>, base: u32, times: &[i64]) -> Self {
        let span = times.iter().fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(*time), last.max(*time)));
        Self { bytes, base, documents: times.len() as u32, span }
    }

    /// The time of its latest document, in microseconds since 1970.
    pub(super) fn latest(&self) -> i64 {
        self.span.1
    }

    pub(super) fn earliest(&self) -> i64 {
        self.span.0
    }

    /// True if all documents are of this time, both ends included.
    pub(super) fn is_within(&self, (from, to): (i64, i64)) -> bool {
        self.span.0 >= from && self.span.1 <= to
    }

    /// True if some document may be of this time, both ends included.
    pub(super) fn overlaps(&self, (from, to): (i64, i64)) -> bool {
        self.span.0 <= to && self.span.1 >= from
    }

    fn member(&self, place: Place, i: usize) -> u16 {
        let at = place.at as usize + 2 * i;
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(u16::MAX, |two| u16::from_le_bytes(*two))
    }

    fn has(&self, place: Place, member: u16) -> bool {
        if place.dense {
            let byte = self.bytes.get(place.at as usize + usize::from(member) / 8).copied().unwrap_or(0);
            return byte >> (member % 8) & 1 == 1;
        }
        let (mut low, mut high) = (0, usize::from(place.count));
        while low < high {
            let middle = low.midpoint(high);
            match self.member(place, middle).cmp(&member) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return true,
            }
        }
        false
    }

    /// Members of a set, oldest first, counted from the block's first document.
    pub(super) fn each(&self, place: Place, mut visit: impl FnMut(usize)) {
        let documents = self.documents as usize;
        let length = if place.dense { documents.div_ceil(8) } else { 2 * usize::from(place.count) };
        let set = self.bytes.get(place.at as usize..place.at as usize + length).unwrap_or(&[]);
        let mut within = |member: usize| {
            if member < documents {
                visit(member);
            }
        };
        if !place.dense {
            set.as_chunks().0.iter().for_each(|two| within(usize::from(u16::from_le_bytes(*two))));
            return;
        }
        for (byte, bits) in set.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                within(byte * 8 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// How many documents are in all of the sets.
    pub(super) fn count(&self, places: &[Place]) -> u32 {
        match places.iter().min_by_key(|place| (place.dense, place.count)) {
            None => self.documents,
            Some(only) if places.len() == 1 => u32::from(only.count),
            Some(rarest) if !rarest.dense => {
                let is_shared = |i: &usize| places.iter().all(|place| self.has(*place, self.member(*rarest, *i)));
                (0..usize::from(rarest.count)).filter(is_shared).count() as u32
            }
            Some(_) => {
                let words = (self.documents as usize).div_ceil(64);
                let shared = |at: usize| places.iter().fold(u64::MAX, |bits, place| bits & self.word(*place, at));
                (0..words).map(|at| shared(at).count_ones()).sum()
            }
        }
    }

    /// 64 documents of a dense set; those after the last one aren't in it.
    fn word(&self, place: Place, at: usize) -> u64 {
        let start = place.at as usize + at * 8;
        let end = place.at as usize + (self.documents as usize).div_ceil(8);
        let bytes = self.bytes.get(start..end.min(start + 8)).unwrap_or(&[]);
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        u64::from_le_bytes(word)
    }

    /// Members of all of the sets, newest first, until `visit` returns false.
    pub(super) fn common(&self, places: &[Place], visit: &mut dyn FnMut(u32) -> bool) -> bool {
        let Some(rarest) = places.iter().min_by_key(|p| (p.dense, p.count)).copied() else {
            return (0..self.documents).rev().all(|m| visit(self.base + m));
        };
        if !rarest.dense {
            return (0..usize::from(rarest.count)).rev().all(|i| {
                let member = self.member(rarest, i);
                let shared = places.iter().all(|p| self.has(*p, member));
                !shared || visit(self.base + u32::from(member))
            });
        }
        // All sets are dense: eight documents at a time.
        let bytes = (self.documents as usize).div_ceil(8);
        (0..bytes).rev().all(|byte| {
            let read = |p: &Place| self.bytes.get(p.at as usize + byte).copied().unwrap_or(0);
            let mut bits = places.iter().fold(0xff, |bits, p| bits & read(p));
            while bits != 0 {
                let high = 7 - bits.leading_zeros();
                bits ^= 1 << high;
                if !visit(self.base + byte as u32 * 8 + high) {
                    return false;
                }
            }
            true
        })
    }
}
