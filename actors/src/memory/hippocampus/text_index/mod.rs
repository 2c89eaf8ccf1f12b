//! Full text of episodes: an inverted index with ranking.
//!
//! Sealed segments of 4 096 documents are immutable bytes that load without reading any text again; the newest
//! documents stand in a mutable tail. Every eight segments of one size are merged into one. A question's cost grows
//! with the postings of its stems.
//!
//! The score is coverage of the question's stems with saturating frequencies (BM25's tf, Robertson et al. 1994), where
//! each stem spreads by itself to the neighbours in the sitting: maximum over paths for one cue, sum over cues, so that
//! neighbours complete each other instead of repeating each other.

mod dates;
mod people;
mod query;
mod score;
mod search;
mod segment;
mod statement;
mod tail;

use std::sync::{Arc, Mutex};

pub use dates::{NamedDate, day_number, named_dates};
pub use query::{Hit, Query, SoftTerm, Weights};
pub use segment::merge;
pub use statement::Statement;

use super::packing::DamagedSegment;
use crate::language::{Stems, words};
use people::{People, speaker_prefix};
use search::Columns;
use segment::{Draft, Row, Segment};
use tail::Tail;

/// Documents in a freshly sealed segment.
pub const SEGMENT_DOCUMENTS: usize = 4096;
/// Segments of one size that are merged into one.
pub const MERGE_FACTOR: usize = 8;
/// Newest documents that are never sealed, so that an open episode can still be completed.
pub const HELD_OPEN: usize = 256;

/// What of an episode is indexed.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a> {
    /// What was perceived or said.
    pub text: &'a str,
    /// Further words to be found by (objects, goal, tool, result), not judged as a statement.
    pub more: &'a str,
    /// Who took part. Where the text begins with the name of one of them and a colon, that one is the speaker.
    pub people: &'a [String],
    /// Number of the sitting. Documents of one sitting follow each other.
    pub sitting: u32,
    /// Local calendar day, see [`day_number`].
    pub day: i32,
}

/// A document that can't be indexed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotIndexed {
    #[error("document {document} comes after document {last}; give documents in ascending order")]
    OutOfOrder { document: u32, last: u32 },
    #[error("document {0} is sealed or unknown; only the newest documents can be amended, add a new one")]
    Sealed(u32),
}

/// A stretch of documents of one sitting.
#[derive(Clone, Copy, Debug)]
struct Sitting {
    number: u32,
    start: u32,
    end: u32,
    /// Day of its first document.
    day: i32,
    stems: u64,
}

/// The index. Documents are numbered by the caller, ascending.
#[derive(Default)]
pub struct TextIndex {
    segments: Vec<Segment>,
    tail: Tail,
    /// Ordinal of the tail's first document.
    sealed: u32,
    documents: Vec<u32>,
    looks: Vec<Look>,
    groups: Vec<u32>,
    sitting_of: Vec<u32>,
    sittings: Vec<Sitting>,
    people: People,
    stems_total: u64,
    /// Sorted.
    dead: Vec<u32>,
    stems: Stems,
    /// Columns of the last search, all zero, so that the next one needn't get fresh memory.
    columns: Mutex<Columns>,
}

/// What the ranking looks at in each document that a stem hits, in one word.
#[derive(Clone, Copy, Debug)]
struct Look {
    length: u16,
    marks: u8,
    /// Documents before (low four bits) and after in the same sitting, each at most five.
    reach: u8,
}

impl TextIndex {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Indexes a document. `document` must be above all earlier ones.
    pub fn add(&mut self, document: u32, fields: &Fields) -> Result<(), NotIndexed> {
        if let Some(&last) = self.documents.last()
            && last >= document
        {
            return Err(NotIndexed::OutOfOrder { document, last });
        }
        let prefixed = speaker_prefix(fields.text).and_then(|(name, text)| {
            let speaker = fields.people.iter().find(|person| person.trim().eq_ignore_ascii_case(name))?;
            Some((std::slice::from_ref(speaker), text))
        });
        let (speakers, text) = prefixed.unwrap_or((fields.people, fields.text));
        let group = self.people.group(speakers.iter().map(String::as_str));
        let words = words(text);
        let marks = Statement::of(text, &words).0;
        let ordinal = self.documents.len() as u32;
        let mut length = 0;
        for stem in words.iter().filter_map(|word| self.stems.of(&word.text)) {
            self.tail.count(stem, ordinal);
            length += 1;
        }
        length += self.count_more(ordinal, fields.more);
        let length = length.min(usize::from(u16::MAX)) as u16;
        self.append(Row { document, sitting: fields.sitting, day: fields.day, length, marks, group });
        Ok(())
    }

    /// Words of `more` that the document doesn't hold yet; its length grows only by what is new.
    fn count_more(&mut self, ordinal: u32, more: &str) -> usize {
        let mut added = 0;
        for stem in self.stems.of_text(more) {
            let known = self.tail.list(&stem).binary_search_by_key(&ordinal, |p| p.ordinal).is_ok();
            if !known {
                self.tail.count(stem, ordinal);
                added += 1;
            }
        }
        added
    }

    /// Adds words to a document that isn't sealed yet (its outcome came).
    pub fn amend(&mut self, document: u32, more: &str) -> Result<(), NotIndexed> {
        let ordinal = self.ordinal(document).filter(|o| *o >= self.sealed).ok_or(NotIndexed::Sealed(document))?;
        let added = self.count_more(ordinal, more);
        let length = &mut self.looks[ordinal as usize].length;
        let grown = length.saturating_add(added.min(usize::from(u16::MAX)) as u16);
        let difference = u64::from(grown - *length);
        *length = grown;
        self.stems_total += difference;
        self.sittings[self.sitting_of[ordinal as usize] as usize].stems += difference;
        Ok(())
    }

    /// Makes a document unfindable. Its postings leave with the next merge.
    pub fn remove(&mut self, document: u32) {
        if let Err(at) = self.dead.binary_search(&document) {
            self.dead.insert(at, document);
        }
    }

    fn ordinal(&self, document: u32) -> Option<u32> {
        self.documents.binary_search(&document).ok().map(|o| o as u32)
    }

    /// Columns of one more document; `row.group` counts in `self.people`.
    fn append(&mut self, row: Row) {
        let ordinal = self.documents.len() as u32;
        let new = self.sittings.last().is_none_or(|s| s.number != row.sitting);
        if new {
            self.sittings.push(Sitting { number: row.sitting, start: ordinal, end: ordinal, day: row.day, stems: 0 });
        }
        let index = self.sittings.len() - 1;
        let sitting = &mut self.sittings[index];
        sitting.end += 1;
        sitting.stems += u64::from(row.length);
        let before = (ordinal - sitting.start).min(score::MOST_STEPS as u32);
        self.stems_total += u64::from(row.length);
        self.documents.push(row.document);
        self.looks.push(Look { length: row.length, marks: row.marks, reach: before as u8 });
        self.groups.push(row.group);
        self.sitting_of.push(index as u32);
        for step in 1..=before {
            self.looks[(ordinal - step) as usize].reach += 16;
        }
    }

    /// Number of documents that wait for sealing.
    pub fn unsealed(&self) -> usize {
        self.documents.len() - self.sealed as usize
    }

    /// Seals the oldest [`SEGMENT_DOCUMENTS`] of the tail when enough have come, and returns the bytes to keep.
    pub fn seal(&mut self) -> Option<Arc<[u8]>> {
        (self.unsealed() >= SEGMENT_DOCUMENTS + HELD_OPEN).then(|| self.seal_first(SEGMENT_DOCUMENTS))
    }

    /// Seals all of the tail, open or not (before a shutdown or a backup); nothing if it is empty.
    pub fn seal_all(&mut self) -> Option<Arc<[u8]>> {
        (self.unsealed() > 0).then(|| self.seal_first(self.unsealed()))
    }

    fn seal_first(&mut self, count: usize) -> Arc<[u8]> {
        let start = self.sealed as usize;
        let end = start + count;
        let mut groups: Vec<Vec<String>> = Vec::new();
        let mut local = std::collections::HashMap::new();
        let rows = (start..end).map(|o| {
            let group = *local.entry(self.groups[o]).or_insert_with(|| {
                groups.push(self.people.names_of(self.groups[o]).map(str::to_string).collect());
                groups.len() as u32 - 1
            });
            let sitting = self.sittings[self.sitting_of[o] as usize];
            let (document, Look { length, marks, .. }) = (self.documents[o], self.looks[o]);
            Row { document, sitting: sitting.number, day: sitting.day, length, marks, group }
        });
        let rows = rows.collect();
        let terms = self.tail.split_off(self.sealed, end as u32);
        let bytes: Arc<[u8]> = Draft { rows, groups, terms }.pack().into();
        if let Ok((segment, _)) = Segment::open(bytes.clone()) {
            self.segments.push(segment);
        }
        self.sealed = end as u32;
        bytes
    }

    /// The index of sealed segments, in the order of sealing. Documents since the last seal are added again by the
    /// caller.
    pub fn from_segments(segments: Vec<Arc<[u8]>>) -> Result<Self, DamagedSegment> {
        let mut index = Self::default();
        for bytes in segments {
            let (segment, columns) = Segment::open(bytes)?;
            let groups: Vec<u32> =
                columns.groups.iter().map(|names| index.people.group(names.iter().map(String::as_str))).collect();
            for row in columns.rows {
                if let Some(&last) = index.documents.last()
                    && last >= row.document
                {
                    return Err(DamagedSegment::Order { document: row.document, last });
                }
                let group = groups.get(row.group as usize).copied().unwrap_or(0);
                index.append(Row { group, ..row });
            }
            index.segments.push(segment);
            index.sealed = index.documents.len() as u32;
        }
        Ok(index)
    }

    /// Bytes of the sealed segments, in order.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.segments.iter().map(Segment::bytes)
    }

    /// The first run of [`MERGE_FACTOR`] neighbouring segments of about one size. Feed their bytes to [`merge`], off
    /// the path of capture, and hand the result to [`TextIndex::replace`].
    pub fn merge_due(&self) -> Option<std::ops::Range<usize>> {
        let level = |s: &Segment| (s.documents() / SEGMENT_DOCUMENTS).max(1).ilog(MERGE_FACTOR);
        let run = |w: &[Segment]| w.iter().all(|s| level(s) == level(&w[0]));
        let start = self.segments.windows(MERGE_FACTOR).position(run)?;
        Some(start..start + MERGE_FACTOR)
    }

    /// Puts a merged segment in the place of its parts.
    pub fn replace(&mut self, parts: std::ops::Range<usize>, merged: Arc<[u8]>) -> Result<(), DamagedSegment> {
        let (segment, _) = Segment::open(merged)?;
        self.segments.splice(parts, [segment]);
        Ok(())
    }

    /// Documents that were removed, ascending.
    pub fn removed(&self) -> &[u32] {
        &self.dead
    }

    /// Documents that hold a stem, dead ones that no merge has dropped included.
    pub fn document_frequency(&self, stem: &str) -> usize {
        let sealed: usize = self.segments.iter().filter_map(|s| s.find(stem)).map(|list| list.remaining()).sum();
        sealed + self.tail.list(stem).len()
    }

    /// All stems of the store, sorted.
    pub fn vocabulary(&self) -> Vec<String> {
        let sealed = self.segments.iter().flat_map(|s| (0..s.terms()).map(|t| s.stem(t)));
        let mut all: Vec<String> = sealed.chain(self.tail.stems()).map(str::to_string).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests;
