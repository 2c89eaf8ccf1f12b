//! The indexes' sealed segments: writing them, merging them, loading them.

use maxim_bus::clock::Reckoned;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::events::{HippocampusEvent, index};
use super::held::{Held, Indexed, held_key};
use super::key_index::KeyIndex;
use super::linking::{EDGE, block_key};
use super::model::EpisodicMemory;
use super::records::{episode_key, vector_key};
use super::region::{Hippocampus, HippocampusSettings, Indexes, day_of, vector_of};
use super::text_index::{Merging, SEGMENT_DOCUMENTS, TextIndex, places_with};
use maxim_language::packed::PackedVector;
use maxim_region::{Pulse, RecordView};

/// Length of the tail at which a segment is sealed: one segment plus the documents that are held open.
const SEAL_AT: usize = SEGMENT_DOCUMENTS + 1024;
/// Documents of a merged segment, at most, so that its record stays far below the store's limit.
const MOST_MERGED: usize = 40_000;
/// Stems merged in one step.
const STEMS: usize = 256;
/// Pause between steps, so that a percept gets a turn.
const PAUSE: SignedDuration = SignedDuration::from_millis(2);
/// Numbers of removed episodes per record.
const GONE_BLOCK: u32 = 4096;

/// Segments on disk, by the numbers of their records, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    text: Vec<u32>,
    keys: Vec<u32>,
    /// With the number of documents in each.
    vectors: Vec<(u32, u32)>,
    /// The encoder of the vectors from this stretch on, which are complete: a start knows this without reading them.
    /// `None` in an older state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoded: Option<(String, u32)>,
    /// The next record's number.
    next: u32,
    /// Documents below this number are in segments.
    pub(super) before: u32,
}

impl Sealed {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// True if a stretch of vectors is known to be complete and of the present encoder.
    fn is_encoded(&self, stretch: usize, settings: &HippocampusSettings) -> bool {
        let by = settings.encoder.id().as_str();
        self.encoded.as_ref().is_some_and(|(encoder, from)| encoder == by && stretch >= *from as usize)
    }

    /// Numbers of segments of words and of keys.
    pub fn counts(&self) -> (usize, usize) {
        (self.text.len(), self.keys.len())
    }
}

/// Segments of words have this prefix.
pub(super) const TEXT_SEGMENTS: &[u8] = b"segment/text/";

/// Prefix of the numbers of the first and last document, beside each segment of words, in a store that was written
/// since spans are noted. A reader who wants some documents reads no other segments.
pub(super) const TEXT_SPANS: &[u8] = b"span/text/";

fn span_key(number: u32) -> Vec<u8> {
    [TEXT_SPANS, format!("{number:06x}").as_bytes()].concat()
}

/// The segment of words for this key.
pub(super) fn segment_of_span(key: &[u8]) -> Vec<u8> {
    [TEXT_SEGMENTS, key.strip_prefix(TEXT_SPANS).unwrap_or_default()].concat()
}

fn segment_key(kind: &str, number: u32) -> Vec<u8> {
    format!("segment/{kind}/{number:06x}").into_bytes()
}

/// The data held beside a small imported episode that isn't sealed yet.
fn held(document: u32, episode: &EpisodicMemory, records: &RecordView<'_>) -> Option<Held> {
    if episode.is_compressed() { records.get(&held_key(document)) } else { None }
}

/// Key of the record of removed episodes in a range.
fn gone_key(block: u32) -> Vec<u8> {
    format!("gone/{block:06x}").into_bytes()
}

/// Numbers of all removed episodes, ascending.
pub(super) fn load_gone(records: &RecordView<'_>) -> Vec<u32> {
    let read = records.prefixed(b"gone/", usize::MAX).into_iter();
    read.flat_map(|(_, bytes)| serde_json::from_slice::<Vec<u32>>(&bytes).unwrap_or_default()).collect()
}

/// The progress of a merge.
pub enum Merge {
    Words(Merging),
    /// The bytes of the merged segment, not yet on disk.
    Text(Arc<[u8]>),
    Keys(Arc<[u8]>),
    /// Segments that can't be merged: nothing more is tried.
    Off,
}

impl Indexes {
    /// Does the next step of a merge.
    pub(super) fn step_merge(&mut self) {
        self.merging = match self.merging.take() {
            Some((parts, Merge::Words(mut words))) => match words.step(STEMS) {
                true => Some((parts, Merge::Words(words))),
                false => Some((parts, Merge::Text(words.finish().into()))),
            },
            None => match (self.text.mergeable(MOST_MERGED), self.keys.mergeable()) {
                (Some(parts), _) => {
                    let begun = self.text.begin_merge(parts.clone()).map_or(Merge::Off, Merge::Words);
                    Some((parts, begun))
                }
                (None, Some(parts)) => Some((parts.clone(), self.keys.merged(parts).map_or(Merge::Off, Merge::Keys))),
                (None, None) => None,
            },
            other => other,
        };
    }

    /// The merged segment replaces its parts.
    pub(super) fn end_merge(&mut self) {
        let replaced = match self.merging.take() {
            Some((parts, Merge::Text(bytes))) => self.text.replace(parts, bytes),
            Some((parts, Merge::Keys(bytes))) => self.keys.replace(parts, bytes),
            other => {
                self.merging = other;
                Ok(())
            }
        };
        if let Err(error) = replaced {
            tracing::error!(%error, "merged segments of the hippocampus can't be read; they stay apart until the next start");
            self.merging = Some((0..0, Merge::Off));
        }
    }
}

fn put_span(segment: u32, documents: &[u32], pulse: &mut Pulse<'_, Hippocampus>) {
    let all = (0, u32::MAX);
    let span = documents.first().copied().zip(documents.last().copied()).unwrap_or(all);
    pulse.put(span_key(segment), &span);
}

impl Hippocampus {
    /// Notes the spans of the segments of an older store: all or none.
    fn put_spans(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(indexes) = &self.indexes else { return };
        for (number, segment) in self.sealed.text.iter().enumerate() {
            if !pulse.records().has(&span_key(*segment)) {
                put_span(*segment, indexes.text.documents_of_segment(number), pulse);
            }
        }
    }

    /// Loads sealed segments, and the newest documents from their records. A damaged segment is rebuilt.
    pub(super) fn load_indexes(
        &self,
        gone: &[u32],
        records: &RecordView<'_>,
        settings: &HippocampusSettings,
    ) -> Indexes {
        let bytes = |kind: &str, number: u32| records.bytes(&segment_key(kind, number)).map(Arc::<[u8]>::from);
        let fresh = || TextIndex::with_encoder(Arc::clone(&settings.encoder));
        let text = self.sealed.text.iter().try_fold(fresh(), |mut text, number| {
            text.load(bytes("text", *number)?).ok()?;
            Some(text)
        });
        let keys: Option<Vec<Arc<[u8]>>> = self.sealed.keys.iter().map(|number| bytes("keys", *number)).collect();
        let keys = keys.and_then(|parts| KeyIndex::from_segments(parts).ok());
        let (text, keys, from) = match (text, keys) {
            (Some(text), Some(keys)) => (text, keys, self.sealed.before),
            _ => {
                tracing::warn!(
                    "an index segment of the hippocampus is damaged; the indexes are rebuilt from the episodes"
                );
                (fresh(), KeyIndex::default(), 0)
            }
        };
        let mut indexes = Indexes { text, keys, merging: None };
        if from > 0 {
            self.load_vectors(&mut indexes.text, records, settings);
        }
        for document in from..self.next {
            if let Some(episode) = records.get::<EpisodicMemory>(&episode_key(document)) {
                let kept = records.bytes(&vector_key(document));
                let vector = kept.and_then(|record| PackedVector::from_record(&record, settings.encoder.id()));
                let day = day_of(episode.created, &settings.zone);
                let held = held(document, &episode, records);
                index(&mut indexes, document, day, &Indexed::of(&episode, held.as_ref()), vector.as_ref());
            }
        }
        for document in gone {
            indexes.text.remove(*document);
            indexes.keys.remove(*document);
        }
        indexes
    }

    /// Reads what waking reads, one segment at a time. `None` if an index is damaged: waking then rebuilds it.
    pub(super) fn pass_over(&self, records: &RecordView<'_>, settings: &HippocampusSettings) -> Option<()> {
        load_gone(records);
        (0..self.linking.blocks).for_each(|block| drop(records.bytes(&block_key(block))));
        records.prefixed(EDGE, usize::MAX);
        let bytes = |kind: &str, number: u32| records.bytes(&segment_key(kind, number));
        let mut documents: Vec<u32> = Vec::new();
        for number in &self.sealed.text {
            documents.extend(TextIndex::documents_in(bytes("text", *number)?.into()).ok()?);
        }
        for number in &self.sealed.keys {
            KeyIndex::is_whole(&bytes("keys", *number)?).then_some(())?;
        }
        self.pass_over_vectors(documents, records, settings);
        for document in self.sealed.before..self.next {
            if let Some(episode) = records.get::<EpisodicMemory>(&episode_key(document)) {
                records.bytes(&vector_key(document));
                held(document, &episode, records);
            }
        }
        Some(())
    }

    /// Vectors of sealed documents, and the episodes of those without one.
    fn pass_over_vectors(&self, documents: Vec<u32>, records: &RecordView<'_>, settings: &HippocampusSettings) {
        let mut lacking: Vec<Option<u32>> = documents.into_iter().map(Some).collect();
        let mut start = 0;
        for (at, (number, count)) in self.sealed.vectors.iter().enumerate() {
            let packed = records.bytes(&segment_key("vectors", *number));
            let end = start + *count as usize;
            match packed {
                Some(_) if self.sealed.is_encoded(at, settings) => {
                    lacking.iter_mut().take(end).skip(start).for_each(|it| *it = None);
                }
                packed => {
                    for within in places_with(&*settings.encoder, packed.unwrap_or_default()) {
                        lacking.get_mut(start + within).map(Option::take);
                    }
                }
            }
            start = end;
        }
        lacking.into_iter().flatten().for_each(|document| drop(records.bytes(&episode_key(document))));
    }

    /// Vectors of sealed documents are read when needed. Those that may be another encoder's are read now. Foreign,
    /// damaged or missing ones are made again, because vectors of different encoders must never be compared.
    fn load_vectors(&self, text: &mut TextIndex, records: &RecordView<'_>, settings: &HippocampusSettings) {
        for (at, (number, documents)) in self.sealed.vectors.iter().enumerate() {
            let key = segment_key("vectors", *number);
            if self.sealed.is_encoded(at, settings) && records.has(&key) {
                text.know_vectors(*documents as usize, Box::new(records.later(key)));
            } else {
                text.load_vectors(*documents as usize, records.bytes(&key));
            }
        }
        for document in text.without_vector() {
            if let Some(episode) = records.get::<EpisodicMemory>(&episode_key(document)) {
                text.set_vector(document, vector_of(&Indexed::of(&episode, None), &*settings.encoder));
            }
        }
    }

    /// Writes segments that were sealed in memory, and requests sealing when the tail is long. True if it wrote.
    pub(super) fn keep_sealed(&self, pulse: &mut Pulse<'_, Self>) -> bool {
        let Some(indexes) = &self.indexes else { return false };
        let mut sealed = self.sealed.clone();
        let (stretches, sound) = indexes.text.sound_vectors();
        let unwritten = indexes.text.segments().count().saturating_sub(self.sealed.text.len());
        let fresh = indexes.text.segments().enumerate().skip(self.sealed.text.len());
        for (stretch, (number, part)) in (stretches.saturating_sub(unwritten)..).zip(fresh) {
            let name = sealed.fresh();
            pulse.put_bytes(segment_key("text", name), part.to_vec());
            sealed.text.push(name);
            put_span(name, indexes.text.documents_of_segment(number), pulse);
            let documents = indexes.text.documents_of_segment(number);
            // These are now in the segment.
            for key in documents.iter().map(|document| held_key(*document)) {
                if pulse.records().has(&key) {
                    pulse.remove(key);
                }
            }
            if let Some(vectors) = indexes.text.vectors_of_stretch(stretch) {
                pulse.put_bytes(segment_key("vectors", name), vectors);
                documents.iter().for_each(|document| pulse.remove(vector_key(*document)));
            }
            sealed.vectors.push((name, documents.len() as u32));
        }
        for part in indexes.keys.segments().skip(self.sealed.keys.len()) {
            let name = sealed.fresh();
            pulse.put_bytes(segment_key("keys", name), part.to_vec());
            sealed.keys.push(name);
        }
        if sealed != self.sealed {
            self.put_spans(pulse);
            sealed.before = indexes.text.sealed_before().min(indexes.keys.sealed_before());
            // Counted from the end: earlier documents may have no vectors at all.
            let from = sealed.vectors.len().saturating_sub(stretches - sound) as u32;
            sealed.encoded = Some((pulse.settings().encoder.id().as_str().to_owned(), from));
            pulse.keep(HippocampusEvent::SealWritten(sealed));
            return true;
        }
        if indexes.text.unsealed() >= SEAL_AT {
            pulse.keep(HippocampusEvent::SealDue);
        }
        false
    }

    /// When segments are merged next; `None` while there are none to merge.
    pub(super) fn merge_due(&self) -> Option<Timestamp> {
        let indexes = self.indexes.as_ref()?;
        // Segments that are only sealed in memory have no records yet that could be replaced.
        let written = indexes.text.segments().count() == self.sealed.text.len()
            && indexes.keys.segments().count() == self.sealed.keys.len();
        let due = match &indexes.merging {
            Some((_, Merge::Off)) => false,
            Some(_) => true,
            None => written && (indexes.text.mergeable(MOST_MERGED).is_some() || indexes.keys.mergeable().is_some()),
        };
        due.then(|| self.merge_at.unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// A step of merging: some stems, or the merged segment goes to disk.
    pub(super) fn merge_some(&self, pulse: &mut Pulse<'_, Self>) {
        let at = pulse.now().later(PAUSE);
        let merging = self.indexes.as_ref().and_then(|indexes| indexes.merging.as_ref());
        let mut sealed = self.sealed.clone();
        let (kind, parts, bytes) = match merging {
            Some((parts, Merge::Text(bytes))) => ("text", parts, bytes),
            Some((parts, Merge::Keys(bytes))) => ("keys", parts, bytes),
            _ => return pulse.keep(HippocampusEvent::MergeStepped { at }),
        };
        let name = sealed.fresh();
        pulse.put_bytes(segment_key(kind, name), bytes.to_vec());
        if kind == "text" {
            self.put_spans(pulse);
            let merged = TextIndex::documents_in(Arc::clone(bytes)).unwrap_or_default();
            put_span(name, &merged, pulse);
            self.sealed.text[parts.clone()].iter().for_each(|number| pulse.remove(span_key(*number)));
        }
        let list = if kind == "text" { &mut sealed.text } else { &mut sealed.keys };
        let old: Vec<u32> = list.splice(parts.clone(), [name]).collect();
        old.into_iter().for_each(|number| pulse.remove(segment_key(kind, number)));
        pulse.keep(HippocampusEvent::SegmentsMerged { sealed, at });
    }

    /// Notes removed episodes in their record. Their words stay in sealed postings until the segments are merged, but
    /// lead to nothing.
    pub(super) fn put_gone(&self, documents: &[u32], pulse: &mut Pulse<'_, Self>) {
        let mut blocks: Vec<u32> = documents.iter().map(|document| document / GONE_BLOCK).collect();
        blocks.dedup();
        let gone = self.indexes.as_ref().map_or(&[][..], |indexes| indexes.text.removed());
        for block in blocks {
            let stretch = block * GONE_BLOCK..(block + 1) * GONE_BLOCK;
            let from = gone.partition_point(|document| *document < stretch.start);
            let mut all: Vec<u32> = gone[from..].iter().copied().take_while(|it| stretch.contains(it)).collect();
            all.extend(documents.iter().filter(|document| stretch.contains(document)));
            all.sort_unstable();
            all.dedup();
            pulse.put(gone_key(block), &all);
        }
    }
}
