//! Documents that may have the same subject: those that share a document's rare words, and how similar two texts are.

use std::collections::{BTreeMap, BTreeSet};

use super::score::rarity;
use super::{TextIndex, beginning};
use maxim_language::calibrated;
use maxim_language::packed::PackedVector;

/// A stem in more than this share of the documents is too common.
const COMMON_SHARE: usize = 20;
/// With fewer documents than this, even a common stem is considered.
const FEW: usize = 256;

impl TextIndex {
    /// Earlier documents that share rare stems with a text: the newest `most` of each of its `stems` rarest ones, with
    /// a weight for looking at them, at most 0.6 in all. The cost depends on the postings of rare stems, not on the
    /// store.
    pub fn candidates(&self, text: &str, before: u32, stems: usize, most: usize, into: &mut BTreeMap<u32, f32>) {
        let distinct: BTreeSet<String> = self.stems.of_text(beginning(text)).into_iter().collect();
        let mut rare: Vec<(usize, String)> =
            distinct.into_iter().map(|stem| (self.document_frequency(&stem), stem)).collect();
        let common = (self.len() / COMMON_SHARE).max(FEW);
        // One posting is the document itself.
        rare.retain(|(frequency, _)| (2..=common).contains(frequency));
        rare.sort_unstable();
        rare.truncate(stems);
        let of = |frequency: usize| rarity(self.len(), frequency);
        let total: f32 = rare.iter().map(|(frequency, _)| of(*frequency)).sum();
        for (frequency, stem) in &rare {
            let share = 0.6 * of(*frequency) / total.max(1e-6);
            for document in self.newest_with_stem(stem, before, most) {
                *into.entry(document).or_default() += share;
            }
        }
    }

    fn newest_with_stem(&self, stem: &str, before: u32, most: usize) -> Vec<u32> {
        let mut found = Vec::with_capacity(most);
        let mut take = |ordinal: u32| {
            let document = self.documents[ordinal as usize];
            if found.len() < most && document < before && self.dead.binary_search(&document).is_err() {
                found.push(document);
            }
            found.len() < most
        };
        let go_on = self.tail.list(stem).iter().rev().all(|posting| take(posting.ordinal));
        let places = self.vocabulary.entry(stem).map_or(&[][..], |entry| &entry.places);
        let mut places = places.iter().rev();
        let mut go_on = go_on;
        while go_on && let Some(place) = places.next() {
            let base = self.bases[place.0 as usize];
            let list: Vec<u32> = self.sealed_list(*place).map(|posting| base + posting.ordinal).collect();
            go_on = list.into_iter().rev().all(&mut take);
        }
        found
    }

    /// Makes vectors of stems in advance, so that a question needn't wait for them.
    pub fn warm(&self) {
        if let Some(meaning) = &self.meaning
            && let Ok(mut related) = meaning.related.lock()
        {
            related.keep_up(&self.vocabulary, &*meaning.encoder);
        }
    }

    /// The vector of a document for comparisons; `None` if it has none.
    pub fn vector_of(&self, document: u32) -> Option<PackedVector> {
        self.meaning.as_ref()?.vectors.vector(self.ordinal(document)? as usize)
    }

    /// How similar the texts are in meaning, floor-corrected, 0 to 1; `None` if the document has no vector.
    pub fn likeness(&self, vector: &PackedVector, document: u32) -> Option<f64> {
        let (meaning, at) = (self.meaning.as_ref()?, self.ordinal(document)? as usize);
        let cosine = meaning.vectors.cosine(at, vector)?;
        Some(f64::from(calibrated(cosine, meaning.encoder.floor())))
    }

    /// The number after the last sealed document.
    pub fn sealed_before(&self) -> u32 {
        let last = (self.sealed as usize).checked_sub(1).and_then(|last| self.documents.get(last));
        last.map_or(0, |document| document + 1)
    }

    /// Seals the oldest documents except the newest `held`, at most `most`; `None` if there are none.
    pub fn seal_but(&mut self, held: usize, most: usize) -> Option<std::sync::Arc<[u8]>> {
        let count = self.unsealed().saturating_sub(held).min(most);
        (count > 0).then(|| self.seal_first(count))
    }
}
