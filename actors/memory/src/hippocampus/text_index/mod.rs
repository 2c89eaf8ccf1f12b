//! Full text of episodes: an inverted index with ranking.
//!
//! Sealed segments of some thousand documents are immutable bytes that load without reading any text again. The newest
//! documents are in a mutable tail. Every eight segments of similar size are merged into one. A question's cost grows
//! with the postings of its stems.
//!
//! The score is the coverage of the question's stems with saturating frequencies (BM25's tf, Robertson et al. 1994).
//! Each stem spreads separately to the neighbours in the sitting: the maximum over paths for one stem, the sum over
//! stems. So neighbours complete each other instead of repeating each other.

mod asked;
mod dates;
mod follow;
mod forms;
mod gather;
mod kindred;
mod lately;
mod mentions;
mod merging;
mod people;
mod query;
mod rank;
mod related;
mod score;
mod search;
mod segment;
mod statement;
mod tail;
mod vectors;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

pub use dates::{NamedDate, day_number, named_dates};
pub use merging::Merging;
use query::order;
pub use query::{By, Hit, Meant, Query, RecallKeys, Weights};
pub use segment::merge;
pub use statement::Statement;
use vectors::Kept;
pub use vectors::{Reading, places_with};

use crate::packing::DamagedSegment;
use forms::Forms;
use gather::Scratch;
use maxim_language::packed::PackedVector;
use maxim_language::{Encoder, Stems, pieces, words};
use people::People;
pub use people::speaker_prefix;
use related::Related;
use segment::{Draft, Row, Segment, Term};
use tail::Tail;
use vocabulary::Vocabulary;

/// Documents in a new segment, at most: sealing them is one step, for which a percept has to wait.
pub const SEGMENT_DOCUMENTS: usize = 2048;
/// Segments of one size that are merged into one.
pub const MERGE_FACTOR: usize = 8;
/// The newest documents are never sealed, so that an open episode can still be completed.
pub const HELD_OPEN: usize = 256;
/// Indexed bytes of a document's text, and of its further words. Later words are not found.
const TEXT_BYTES: usize = 64 << 10;

/// The indexed parts of an episode.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a> {
    /// What was perceived or said.
    pub text: &'a str,
    /// Further words (objects, goal, tool, result), which are not judged as a statement.
    pub more: &'a str,
    /// Who took part. If the text begins with the name of one of them and a colon, that person is the speaker.
    pub people: &'a [String],
    /// Number of the sitting. Documents of one sitting are consecutive.
    pub sitting: u32,
    /// Local calendar day, see [`day_number`].
    pub day: i32,
    /// Stems of further words whose forms are no longer known.
    pub stems: &'a [String],
    /// The text's vector, if known; else the encoder is asked.
    pub vector: Option<&'a PackedVector>,
}

/// A document that can't be indexed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotIndexed {
    #[error("document {document} comes after document {last}; give documents in ascending order")]
    OutOfOrder { document: u32, last: u32 },
    #[error("document {0} is sealed or unknown; only the newest documents can be amended, add a new one")]
    Sealed(u32),
}

/// Consecutive documents of one sitting.
#[derive(Clone, Copy, Debug)]
struct Sitting {
    number: u32,
    start: u32,
    end: u32,
    /// The first and the last day of its documents.
    days: (i32, i32),
    stems: u64,
    /// It contains a question.
    asks: bool,
}

/// The index. The caller numbers documents in ascending order.
#[derive(Default)]
pub struct TextIndex {
    segments: Vec<Segment>,
    /// Ordinal of each segment's first document.
    bases: Vec<u32>,
    tail: Tail,
    /// Ordinal of the tail's first document.
    sealed: u32,
    documents: Vec<u32>,
    looks: Vec<Look>,
    groups: Vec<u32>,
    /// The documents of each group of people, ascending.
    of_group: Vec<Vec<u32>>,
    days: Vec<i32>,
    sitting_of: Vec<u32>,
    sittings: Vec<Sitting>,
    people: People,
    stems_total: u64,
    /// Sorted.
    dead: Vec<u32>,
    stems: Stems,
    vocabulary: Vocabulary,
    forms: Mutex<Forms>,
    /// Without an encoder, documents are only found by words.
    meaning: Option<Meaning>,
    /// Columns of the last search, so that the next one needs no fresh memory.
    scratch: Mutex<Scratch>,
}

/// Search by meaning.
struct Meaning {
    encoder: Arc<dyn Encoder>,
    vectors: Kept,
    related: Mutex<Related>,
}

impl Meaning {
    fn vector_of(&self, text: &str) -> PackedVector {
        PackedVector::of(&self.encoder.embed(text))
    }
}

/// What the ranking needs of each document that a stem hits, in one word.
#[derive(Clone, Copy, Debug)]
struct Look {
    length: u16,
    marks: u8,
    /// Documents before (low four bits) and after in the same sitting, at most five each.
    reach: u8,
}

/// The indexed part of a long text.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

/// All stems of fields without vectors.
pub fn stems_in(fields: &Fields) -> BTreeSet<String> {
    let stems = Stems::default();
    let of = |text: &str| stems.of_text(beginning(text));
    of(fields.spoken().1).into_iter().chain(of(fields.more)).chain(fields.stems.iter().cloned()).collect()
}

/// The stems of some documents in a sealed segment that isn't loaded.
///
/// # Errors
/// The segment is damaged.
pub fn stems_of(
    bytes: Arc<[u8]>,
    documents: &BTreeSet<u32>,
) -> Result<BTreeMap<u32, BTreeSet<String>>, DamagedSegment> {
    let (segment, columns) = Segment::open(bytes)?;
    let wanted: Vec<bool> = columns.rows.iter().map(|row| documents.contains(&row.document)).collect();
    let mut found: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    if !wanted.contains(&true) {
        return Ok(found);
    }
    for term in 0..segment.terms() {
        for posting in segment.list(term) {
            let ordinal = posting.ordinal as usize;
            if wanted.get(ordinal) == Some(&true) {
                found.entry(columns.rows[ordinal].document).or_default().insert(segment.stem(term).to_owned());
            }
        }
    }
    Ok(found)
}

impl TextIndex {
    pub fn new() -> Self {
        Self::default()
    }

    /// An index that also searches by meaning.
    pub fn with_encoder(encoder: Arc<dyn Encoder>) -> Self {
        let vectors = Kept::new(encoder.id().clone(), encoder.dims());
        Self { meaning: Some(Meaning { encoder, vectors, related: Mutex::default() }), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Indexes a document. `document` must be larger than all earlier numbers.
    pub fn add(&mut self, document: u32, fields: &Fields) -> Result<(), NotIndexed> {
        if let Some(&last) = self.documents.last()
            && last >= document
        {
            return Err(NotIndexed::OutOfOrder { document, last });
        }
        let (speakers, text) = fields.spoken();
        let group = self.people.group(speakers.iter().map(String::as_str));
        let words = words(beginning(text));
        let marks = Statement::of(text, &words).0;
        let ordinal = self.documents.len() as u32;
        let mut length = 0;
        for piece in words.iter().flat_map(pieces) {
            if let Some(stem) = self.stems.of(piece) {
                self.tail.count(&stem, ordinal);
                self.vocabulary.see(&stem, piece);
                length += 1;
            }
        }
        length += self.count_more(ordinal, fields.more);
        length += self.count_stems(ordinal, fields.stems);
        if let Some(meaning) = &mut self.meaning {
            meaning.vectors.push_nothing(self.sealed as usize);
            let made = || meaning.vector_of(fields.meant());
            meaning.vectors.push(fields.vector.cloned().unwrap_or_else(made));
        }
        let length = length.min(usize::from(u16::MAX)) as u16;
        self.append(Row { document, sitting: fields.sitting, day: fields.day, length, marks, group });
        Ok(())
    }

    /// Adds the words of `more` that the document doesn't contain yet; its length only grows by new ones.
    fn count_more(&mut self, ordinal: u32, more: &str) -> usize {
        let mut added = 0;
        let words = words(beginning(more));
        for piece in words.iter().flat_map(pieces) {
            let Some(stem) = self.stems.of(piece) else { continue };
            let known = self.tail.list(&stem).binary_search_by_key(&ordinal, |p| p.ordinal).is_ok();
            if !known {
                self.tail.count(&stem, ordinal);
                self.vocabulary.see(&stem, piece);
                added += 1;
            }
        }
        added
    }

    /// Adds stems that the document doesn't contain yet; their words are unknown.
    fn count_stems(&mut self, ordinal: u32, stems: &[String]) -> usize {
        let is_new = |tail: &Tail, stem: &str| tail.list(stem).binary_search_by_key(&ordinal, |p| p.ordinal).is_err();
        let mut added = 0;
        for stem in stems {
            if is_new(&self.tail, stem) {
                self.tail.count(stem, ordinal);
                added += 1;
            }
        }
        added
    }

    /// Adds words to an unsealed document (its outcome came).
    pub fn amend(&mut self, document: u32, more: &str) -> Result<(), NotIndexed> {
        let ordinal = self.open_ordinal(document)?;
        let added = self.count_more(ordinal, more);
        let length = &mut self.looks[ordinal as usize].length;
        let grown = length.saturating_add(added.min(usize::from(u16::MAX)) as u16);
        let difference = u64::from(grown - *length);
        *length = grown;
        self.stems_total += difference;
        self.sittings[self.sitting_of[ordinal as usize] as usize].stems += difference;
        Ok(())
    }

    /// Removes the words of `before` that the document no longer contains, from an unsealed document: its outcome was
    /// reported again.
    pub fn take_back(&mut self, document: u32, before: &str, now: &Fields) -> Result<(), NotIndexed> {
        let ordinal = self.open_ordinal(document)?;
        let stems = |text: &str| self.stems.of_text(beginning(text)).into_iter().collect::<BTreeSet<_>>();
        let held = &stems(now.spoken().1) | &stems(now.more);
        let gone: Vec<String> = stems(before).difference(&held).cloned().collect();
        let gone = gone.iter().filter(|stem| self.tail.remove(stem, ordinal)).count();
        let length = &mut self.looks[ordinal as usize].length;
        let gone = gone.min(usize::from(*length)) as u16;
        *length -= gone;
        self.stems_total -= u64::from(gone);
        self.sittings[self.sitting_of[ordinal as usize] as usize].stems -= u64::from(gone);
        Ok(())
    }

    fn open_ordinal(&self, document: u32) -> Result<u32, NotIndexed> {
        self.ordinal(document).filter(|o| *o >= self.sealed).ok_or(NotIndexed::Sealed(document))
    }

    /// Makes a document impossible to find. Its postings are removed by the next merge.
    pub fn remove(&mut self, document: u32) {
        if let Err(at) = self.dead.binary_search(&document) {
            self.dead.insert(at, document);
        }
    }

    fn ordinal(&self, document: u32) -> Option<u32> {
        self.documents.binary_search(&document).ok().map(|o| o as u32)
    }

    /// Adds the columns of one document; `row.group` counts in `self.people`.
    fn append(&mut self, row: Row) {
        let ordinal = self.documents.len() as u32;
        let new = self.sittings.last().is_none_or(|s| s.number != row.sitting);
        if new {
            let days = (row.day, row.day);
            let (number, start, end) = (row.sitting, ordinal, ordinal);
            self.sittings.push(Sitting { number, start, end, days, stems: 0, asks: false });
        }
        let index = self.sittings.len() - 1;
        let sitting = &mut self.sittings[index];
        sitting.end += 1;
        sitting.stems += u64::from(row.length);
        sitting.asks |= Statement(row.marks).has(Statement::AWAITS_ANSWER);
        sitting.days = (sitting.days.0.min(row.day), sitting.days.1.max(row.day));
        let before = (ordinal - sitting.start).min(score::MOST_STEPS as u32);
        self.stems_total += u64::from(row.length);
        self.documents.push(row.document);
        self.looks.push(Look { length: row.length, marks: row.marks, reach: before as u8 });
        self.groups.push(row.group);
        let group = row.group as usize;
        self.of_group.resize(self.of_group.len().max(group + 1), Vec::new());
        self.of_group[group].push(ordinal);
        self.days.push(row.day);
        self.sitting_of.push(index as u32);
        for step in 1..=before {
            self.looks[(ordinal - step) as usize].reach += 16;
        }
    }

    /// Number of unsealed documents.
    pub fn unsealed(&self) -> usize {
        self.documents.len() - self.sealed as usize
    }

    /// Seals the oldest [`SEGMENT_DOCUMENTS`] of the tail if enough have come, and returns the bytes to store.
    pub fn seal(&mut self) -> Option<Arc<[u8]>> {
        (self.unsealed() >= SEGMENT_DOCUMENTS + HELD_OPEN).then(|| self.seal_first(SEGMENT_DOCUMENTS))
    }

    /// Seals the whole tail, open or not (before a shutdown or a backup); `None` if it is empty.
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
            let sitting = self.sittings[self.sitting_of[o] as usize].number;
            let (document, Look { length, marks, .. }) = (self.documents[o], self.looks[o]);
            Row { document, sitting, day: self.days[o], length, marks, group }
        });
        let rows = rows.collect();
        let terms = self.tail.split_off(self.sealed, end as u32).into_iter().map(|(stem, postings)| {
            // Empty if no word of it was ever seen here.
            let form = self.vocabulary.entry(&stem).map_or_else(String::new, |entry| entry.form.to_string());
            Term { stem, form, postings }
        });
        let terms = terms.collect();
        let bytes: Arc<[u8]> = Draft { rows, groups, terms }.pack().into();
        if let Ok((segment, _)) = Segment::open(bytes.clone()) {
            self.take_segment(segment);
        }
        if let Some(meaning) = &mut self.meaning {
            meaning.vectors.seal(count);
        }
        self.sealed = end as u32;
        bytes
    }

    /// The documents of a sealed segment that isn't loaded.
    ///
    /// # Errors
    /// The segment is damaged.
    pub fn documents_in(bytes: Arc<[u8]>) -> Result<Vec<u32>, DamagedSegment> {
        let (_, columns) = Segment::open(bytes)?;
        Ok(columns.rows.into_iter().map(|row| row.document).collect())
    }

    /// The index from sealed segments, in the order of sealing. The caller adds the documents since the last seal
    /// again.
    pub fn from_segments(segments: Vec<Arc<[u8]>>) -> Result<Self, DamagedSegment> {
        let mut index = Self::default();
        segments.into_iter().try_for_each(|bytes| index.load(bytes))?;
        Ok(index)
    }

    /// Appends a sealed segment; the vectors of its documents come separately.
    pub fn load(&mut self, bytes: Arc<[u8]>) -> Result<(), DamagedSegment> {
        let (segment, columns) = Segment::open(bytes)?;
        let group = |names: &Vec<String>| self.people.group(names.iter().map(String::as_str));
        let groups: Vec<u32> = columns.groups.iter().map(group).collect();
        for row in columns.rows {
            if let Some(&last) = self.documents.last()
                && last >= row.document
            {
                return Err(DamagedSegment::Order { document: row.document, last });
            }
            let group = groups.get(row.group as usize).copied().unwrap_or(0);
            self.append(Row { group, ..row });
        }
        self.take_segment(segment);
        self.sealed = self.documents.len() as u32;
        Ok(())
    }

    /// Sets the vectors of the next sealed documents. Missing, damaged or foreign vectors leave their documents
    /// without, see [`TextIndex::without_vector`].
    pub fn load_vectors(&mut self, documents: usize, packed: Option<Vec<u8>>) {
        let Some(meaning) = &mut self.meaning else { return };
        if let Err(error) = meaning.vectors.push_packed(documents, packed.unwrap_or_default()) {
            tracing::warn!(%error, "vectors of episodes are missing or damaged; they are made again");
        }
    }

    /// The same for existing vectors of this encoder, which are read when they are needed.
    pub fn know_vectors(&mut self, documents: usize, reading: Reading) {
        if let Some(meaning) = &mut self.meaning {
            meaning.vectors.push_unread(documents, reading);
        }
    }

    fn take_segment(&mut self, segment: Segment) {
        let before = self.segments.last().map_or(0, Segment::documents) as u32;
        self.bases.push(self.bases.last().map_or(0, |base| base + before));
        self.vocabulary.enter(self.segments.len() as u32, &segment);
        self.segments.push(segment);
    }

    /// Sealed documents without a vector of the present encoder.
    pub fn without_vector(&self) -> Vec<u32> {
        let Some(meaning) = &self.meaning else { return Vec::new() };
        meaning.vectors.lacking().filter_map(|at| self.documents.get(at).copied()).collect()
    }

    /// Sets the vector of a document.
    pub fn set_vector(&mut self, document: u32, vector: PackedVector) {
        let at = self.ordinal(document);
        if let (Some(meaning), Some(at)) = (&mut self.meaning, at) {
            meaning.vectors.set(at as usize, vector);
        }
    }

    /// Documents of a sealed segment, in order.
    pub fn documents_of_segment(&self, number: usize) -> &[u32] {
        let start = self.bases.get(number).map_or(self.documents.len(), |base| *base as usize);
        let count = self.segments.get(number).map_or(0, Segment::documents);
        self.documents.get(start..start + count).unwrap_or(&[])
    }

    /// Vectors of the documents of a stretch that was sealed here, to store them beside its words; `None` without an
    /// encoder.
    pub fn vectors_of_stretch(&self, number: usize) -> Option<Vec<u8>> {
        Some(self.meaning.as_ref()?.vectors.bytes(number)?.to_vec())
    }

    /// Number of stretches of vectors, and the first one from which all are on disk, or will be, as they are here.
    pub fn sound_vectors(&self) -> (usize, usize) {
        self.meaning.as_ref().map_or((0, 0), |meaning| meaning.vectors.sound_from())
    }

    /// Ranges of vectors that are in memory.
    #[cfg(test)]
    pub fn vectors_in_memory(&self) -> usize {
        self.meaning.as_ref().map_or(0, |meaning| meaning.vectors.read())
    }

    /// Bytes of the sealed segments, in order.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.segments.iter().map(Segment::bytes)
    }

    /// The first run of [`MERGE_FACTOR`] neighbouring segments of similar size. Pass their bytes to [`merge`], outside
    /// of capture, and the result to [`TextIndex::replace`].
    pub fn merge_due(&self) -> Option<std::ops::Range<usize>> {
        let level = |s: &Segment| (s.documents() / SEGMENT_DOCUMENTS).max(1).ilog(MERGE_FACTOR);
        let run = |w: &[Segment]| w.iter().all(|s| level(s) == level(&w[0]));
        let start = self.segments.windows(MERGE_FACTOR).position(run)?;
        Some(start..start + MERGE_FACTOR)
    }

    /// Replaces the parts with a merged segment.
    pub fn replace(&mut self, parts: std::ops::Range<usize>, merged: Arc<[u8]>) -> Result<(), DamagedSegment> {
        let (segment, _) = Segment::open(merged)?;
        self.segments.splice(parts, [segment]);
        self.bases.clear();
        let mut base = 0;
        for segment in &self.segments {
            self.bases.push(base);
            base += segment.documents() as u32;
        }
        self.vocabulary.enter_again(&self.segments);
        Ok(())
    }

    /// Removed documents, ascending.
    pub fn removed(&self) -> &[u32] {
        &self.dead
    }

    /// Documents with a stem, including removed ones that no merge has dropped.
    pub fn document_frequency(&self, stem: &str) -> usize {
        let places = self.vocabulary.entry(stem).map_or(&[][..], |entry| &entry.places);
        let sealed: usize = places.iter().map(|place| self.sealed_list(*place).remaining()).sum();
        sealed + self.tail.list(stem).len()
    }

    fn sealed_list(&self, (segment, term): (u32, u32)) -> segment::PackedList<'_> {
        self.segments[segment as usize].list(term as usize)
    }

    /// All stems of the store, sorted.
    pub fn vocabulary(&self) -> Vec<String> {
        let mut all: Vec<String> = self.vocabulary.entries().iter().map(|entry| entry.stem.to_string()).collect();
        all.sort_unstable();
        all
    }
}

impl<'a> Fields<'a> {
    /// The speaker and the words. A name of one of the people before the text is not part of the words.
    fn spoken(&self) -> (&'a [String], &'a str) {
        let prefixed = speaker_prefix(self.text).and_then(|(name, text)| {
            let speaker = self.people.iter().find(|person| person.trim().eq_ignore_ascii_case(name))?;
            Some((std::slice::from_ref(speaker), text))
        });
        prefixed.unwrap_or((self.people, self.text))
    }

    /// The words whose meaning is compared.
    pub fn meant(&self) -> &'a str {
        let (_, text) = self.spoken();
        if text.trim().is_empty() { self.more } else { text }
    }
}

#[cfg(test)]
mod tests;
