//! Journal frames: the commits of one agent, in order, several per frame and compressed. Signals of a turn repeat each
//! other, and every byte is copied several times on its way to the disk.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

pub use maxim_bus::Lane;
use maxim_bus::ids::{Epoch, Lsn};
use maxim_bus::scratch;
use serde::{Deserialize, Serialize};

use super::codec::{Reader, Writer};
use super::records::Value;

/// A frame is closed at this many bytes before compression; a larger commit has its own frame. The larger the frame,
/// the more of it repeats. Compressed it is a few chunks of the database.
const FRAME_BYTES: usize = 40_000;
/// Frames with uncompressed entries: those that compression makes no smaller, and gaps.
const PLAIN: u8 = 1;
/// Frames whose entries are one LZ4 block.
const COMPRESSED: u8 = 2;
/// A frame that claims more is damaged.
const MOST_BYTES: usize = 256 << 20;

/// How far a region has consumed each lane of its inbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursors {
    pub control: Lsn,
    pub data: Lsn,
}

impl Cursors {
    /// Cursors never go back.
    pub fn advance(&mut self, lane: Lane, to: Lsn) {
        let cursor = match lane {
            Lane::Control => &mut self.control,
            Lane::Data => &mut self.data,
        };
        *cursor = to.max(*cursor);
    }
}

/// The region of an accepted commit, and its place in the agent's order.
#[derive(Clone, Debug)]
pub struct Head {
    pub lsn: u64,
    pub region: Arc<str>,
    pub epoch: Epoch,
    pub consumed: Option<(Lane, Lsn)>,
    pub state_hash: u64,
    /// Emissions, which come after the commit in the order.
    pub emitted: u64,
}

impl Head {
    /// The last LSN in it.
    pub fn last(&self) -> u64 {
        self.lsn + self.emitted
    }
}

/// Records in a commit.
pub type Records = Vec<(Vec<u8>, Value)>;

/// An accepted commit that waits for the disk. It is serialised already, so the writing thread has it in one piece and
/// doesn't touch the rooms' memory.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub head: Head,
    pub has_events: bool,
    /// Events and emissions as in a frame, then the records, unless they are in `long`.
    body: Vec<u8>,
    /// The records, if one of their values must go into the pack first.
    pub long: Records,
    /// Written to the region's slot, not to the frame.
    pub root: Option<Arc<[u8]>>,
}

impl Deref for Waiting {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Waiting {
    pub fn new(
        head: Head,
        events: &[Vec<u8>],
        emissions: &[Arc<[u8]>],
        records: &Records,
        root: Option<Arc<[u8]>>,
    ) -> Self {
        let has_long = records.iter().any(|(_, value)| value.is_long());
        let write = |out: &mut Vec<u8>| {
            let mut to = Writer(std::mem::take(out));
            to.count(events.len());
            events.iter().for_each(|event| to.bytes(event));
            to.count(emissions.len());
            emissions.iter().for_each(|emission| to.bytes(emission));
            if !has_long {
                write_records(records, &mut to);
            }
            *out = to.0;
        };
        let body = scratch::through(write, <[u8]>::to_vec);
        let long = if has_long { records.clone() } else { Vec::new() };
        Self { head, has_events: !events.is_empty(), body, long, root }
    }

    fn write(&self, to: &mut Writer) {
        to.varint(self.lsn);
        to.bytes(self.region.as_bytes());
        to.varint(self.epoch.0);
        match self.consumed {
            None => to.u8(0),
            Some((lane, lsn)) => {
                to.u8(if lane == Lane::Control { 1 } else { 2 });
                to.varint(lsn.0);
            }
        }
        to.u64(self.state_hash);
        to.0.extend_from_slice(&self.body);
        if !self.long.is_empty() {
            write_records(&self.long, to);
        }
    }

    /// Its emissions, in order.
    pub fn emissions(&self) -> Vec<Arc<[u8]>> {
        let mut from = Reader(&self.body);
        let emissions = read_events(&mut from).and_then(|_| read_emissions(&mut from));
        // This process wrote it, so it is readable.
        emissions.unwrap_or_default()
    }
}

fn write_records(records: &Records, to: &mut Writer) {
    to.count(records.len());
    for (key, value) in records {
        to.bytes(key);
        value.write(to);
    }
}

fn read_events(from: &mut Reader<'_>) -> Option<Vec<Vec<u8>>> {
    (0..from.count()?).map(|_| from.bytes().map(<[u8]>::to_vec)).collect()
}

fn read_emissions(from: &mut Reader<'_>) -> Option<Vec<Arc<[u8]>>> {
    (0..from.count()?).map(|_| from.bytes().map(Into::into)).collect()
}

/// A commit that was read back.
#[derive(Clone, Debug)]
pub struct Entry {
    pub head: Head,
    pub events: Arc<Vec<Vec<u8>>>,
    pub emissions: Vec<Arc<[u8]>>,
    pub records: Records,
}

impl Deref for Entry {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Entry {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (lsn, region, epoch) = (from.varint()?, from.text()?.into(), Epoch(from.varint()?));
        let consumed = match from.u8()? {
            0 => None,
            1 => Some((Lane::Control, Lsn(from.varint()?))),
            2 => Some((Lane::Data, Lsn(from.varint()?))),
            _ => return None,
        };
        let state_hash = from.u64()?;
        let (events, emissions) = (Arc::new(read_events(from)?), read_emissions(from)?);
        let record = |from: &mut Reader<'_>| Some((from.bytes()?.to_vec(), Value::read(from)?));
        let records = (0..from.count()?).map(|_| record(from)).collect::<Option<_>>()?;
        let head = Head { lsn, region, epoch, consumed, state_hash, emitted: emissions.len() as u64 };
        Some(Self { head, events, emissions, records })
    }
}

/// The committer's data of a frame on disk, to know when it may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSpan {
    /// Its place; this doesn't show its order.
    pub place: u64,
    pub first: u64,
    pub last: u64,
    /// 0 if it has no emissions.
    pub last_emission: u64,
    pub chunks: u16,
    /// Size before compression.
    pub bytes: usize,
}

/// Packs entries into frames: returns for each the span (without place and chunks) and the content.
pub fn pack(entries: &[Arc<Waiting>]) -> Vec<(FrameSpan, Vec<u8>)> {
    let mut frames = Vec::new();
    // Each frame overwrites both.
    let (mut body, mut block) = (Writer(Vec::with_capacity(2 * FRAME_BYTES)), Vec::new());
    let mut start = 0;
    for (index, entry) in entries.iter().enumerate() {
        let before = body.0.len();
        entry.write(&mut body);
        if body.0.len() > FRAME_BYTES && before > 0 {
            frames.push(close(&entries[start..index], &body.0[..before], &mut block));
            body.0.drain(..before);
            start = index;
        }
    }
    if !body.0.is_empty() {
        frames.push(close(&entries[start..], &body.0, &mut block));
    }
    frames
}

fn close(entries: &[Arc<Waiting>], body: &[u8], block: &mut Vec<u8>) -> (FrameSpan, Vec<u8>) {
    let first = entries.first().map_or(0, |entry| entry.lsn);
    let last = entries.last().map_or(0, |entry| entry.last());
    let last_emission = entries.iter().rev().find(|entry| entry.emitted > 0).map_or(0, |entry| entry.last());
    let head = |version, room: usize| {
        let mut frame = Writer(Vec::with_capacity(room + 32));
        frame.u8(version);
        frame.varint(first);
        frame.varint(last);
        frame.count(entries.len());
        frame
    };
    // No spare room: data that doesn't shrink isn't compressed.
    block.resize(block.len().max(body.len()), 0);
    let frame = match lz4::block::compress_to_buffer(body, None, false, &mut block[..body.len()]) {
        Ok(length) if length > 0 && length < body.len() => {
            let mut frame = head(COMPRESSED, length);
            frame.count(body.len());
            frame.0.extend_from_slice(&block[..length]);
            frame.0
        }
        // Data that doesn't shrink is stored uncompressed.
        _ => {
            let mut frame = head(PLAIN, body.len());
            frame.0.extend_from_slice(body);
            frame.0
        }
    };
    (FrameSpan { place: 0, first, last, last_emission, chunks: 0, bytes: body.len() }, frame)
}

/// The bytes of a frame's entries, after reading its head.
fn body<'a>(version: u8, mut reader: Reader<'a>) -> Option<Cow<'a, [u8]>> {
    if version == PLAIN {
        return Some(Cow::Borrowed(reader.0));
    }
    let length = usize::try_from(reader.varint()?).ok().filter(|length| *length <= MOST_BYTES)?;
    let body = lz4::block::decompress(reader.0, Some(i32::try_from(length).ok()?)).ok()?;
    (body.len() == length).then_some(Cow::Owned(body))
}

/// A frame without entries, in place of LSNs whose commits are lost.
pub fn gap(first: u64, last: u64) -> Vec<u8> {
    let mut frame = Writer::default();
    frame.u8(PLAIN);
    frame.varint(first);
    frame.varint(last);
    frame.count(0);
    frame.0
}

/// Reads a frame from its place. `None` for a frame that this program doesn't understand.
pub fn unpack(content: &[u8], place: u64, chunks: u16) -> Option<(FrameSpan, Vec<Entry>)> {
    let mut head = Reader(content);
    let version = head.u8().filter(|version| [PLAIN, COMPRESSED].contains(version))?;
    let (first, last, count) = (head.varint()?, head.varint()?, usize::try_from(head.varint()?).ok()?);
    let body = body(version, head)?;
    let mut reader = Reader(&body);
    if count > body.len() {
        return None;
    }
    let entries = (0..count).map(|_| Entry::read(&mut reader)).collect::<Option<Vec<_>>>()?;
    let is_gap = entries.is_empty() && last >= first;
    let fits = || Some(entries.first()?.lsn == first && entries.last()?.last() == last);
    if !reader.is_empty() || !(is_gap || fits()?) {
        return None;
    }
    let last_emission = entries.iter().rev().find(|entry| entry.emitted > 0).map_or(0, |entry| entry.last());
    Some((FrameSpan { place, first, last, last_emission, chunks, bytes: body.len() }, entries))
}

/// A region's summary, written when the earlier journal is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The commit up to which it applies.
    pub lsn: u64,
    pub cursors: Cursors,
    pub state_hash: u64,
    pub epoch: u64,
}

impl Meta {
    pub fn apply(&mut self, entry: &Head) {
        if entry.lsn <= self.lsn {
            return;
        }
        self.lsn = entry.lsn;
        self.state_hash = entry.state_hash;
        self.epoch = self.epoch.max(entry.epoch.0);
        if let Some((lane, lsn)) = entry.consumed {
            self.cursors.advance(lane, lsn);
        }
    }

    pub fn write(&self, to: &mut Writer) {
        for number in [self.lsn, self.cursors.control.0, self.cursors.data.0, self.state_hash, self.epoch] {
            to.varint(number);
        }
    }

    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (lsn, control, data) = (from.varint()?, Lsn(from.varint()?), Lsn(from.varint()?));
        let (state_hash, epoch) = (from.varint()?, from.varint()?);
        Some(Self { lsn, cursors: Cursors { control, data }, state_hash, epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::INLINE_BYTES;
    use super::*;

    fn entry(lsn: u64, event: usize, emissions: usize) -> Entry {
        let head = Head {
            lsn,
            region: "hippocampus".into(),
            epoch: Epoch(3),
            consumed: Some((Lane::Data, Lsn(lsn / 2))),
            state_hash: lsn * 31,
            emitted: emissions as u64,
        };
        Entry {
            head,
            events: Arc::new(vec![vec![7; event]]),
            emissions: vec![[1, 2].into(); emissions],
            records: vec![(b"k".to_vec(), Value::Deleted), (b"l".to_vec(), Value::Inline(vec![9; 5].into()))],
        }
    }

    fn waiting(entry: &Entry) -> Arc<Waiting> {
        let Entry { head, events, emissions, records } = entry;
        Arc::new(Waiting::new(head.clone(), events, emissions, records, None))
    }

    #[test]
    fn commits_are_packed_into_frames_and_read_back_in_order() {
        let mut lsn = 1;
        let mut entries = Vec::new();
        for index in 0..300 {
            let made = entry(lsn, if index == 20 { 60_000 } else { 300 }, index % 3);
            lsn = made.last() + 1;
            entries.push(made);
        }
        let waiting: Vec<_> = entries.iter().map(waiting).collect();
        let frames = pack(&waiting);
        assert!(frames.len() > 2 && frames.len() < 20, "{}", frames.len());
        let mut read = Vec::new();
        for (span, content) in &frames {
            assert!(span.bytes <= FRAME_BYTES || span.first == span.last - 2, "one large commit has its own");
            assert!(content.len() * 4 < span.bytes, "{} of {}", content.len(), span.bytes);
            let (again, found) = unpack(content, 0, 0).expect("readable");
            assert_eq!(again, *span);
            read.extend(found);
        }
        assert_eq!(format!("{read:?}"), format!("{entries:?}"));
        let emitted: Vec<_> = waiting.iter().flat_map(|entry| entry.emissions()).collect();
        assert_eq!(emitted, entries.iter().flat_map(|entry| entry.emissions.clone()).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_value_goes_into_the_pack_and_the_rest_is_written_as_ever() {
        let mut made = entry(5, 40, 2);
        made.records.push((b"m".to_vec(), Value::Inline(vec![3; INLINE_BYTES + 1].into())));
        let mut long = (*waiting(&made)).clone();
        assert_eq!(long.long, made.records);
        // Like the committer; the place of a value doesn't matter here.
        let spilled = Value::Spilled([].into());
        for held in [&mut long.long, &mut made.records] {
            held.iter_mut().filter(|(_, value)| value.is_long()).for_each(|(_, value)| *value = spilled.clone());
        }
        let (_, content) = pack(&[Arc::new(long)]).remove(0);
        assert!(content.len() < 200, "{}", content.len());
        let (_, found) = unpack(&content, 0, 0).expect("readable");
        assert_eq!(format!("{found:?}"), format!("{:?}", [made]));
    }

    #[test]
    fn a_frame_that_is_not_compressed_is_read() {
        let made = entry(5, 40, 2);
        let mut plain = Writer(vec![PLAIN]);
        plain.varint(made.lsn);
        plain.varint(made.last());
        plain.count(1);
        waiting(&made).write(&mut plain);
        let (span, found) = unpack(&plain.0, 0, 0).expect("readable");
        assert_eq!((span.first, span.last, span.last_emission), (5, 7, 7));
        assert_eq!(format!("{found:?}"), format!("{:?}", [made]));
    }

    #[test]
    fn a_cut_frame_is_refused() {
        let (_, content) = pack(&[waiting(&entry(5, 40, 2))]).remove(0);
        for length in 0..content.len() {
            assert!(unpack(&content[..length], 0, 0).is_none(), "cut at {length}");
        }
    }
}
