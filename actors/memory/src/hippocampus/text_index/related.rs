//! Related terms: stems of the store that stand for a stem of the question, because their words have a similar meaning.
//!
//! For each asked stem, the nearest by cosine are found once, over all stems, and kept. Later stems are compared with
//! the kept ones. So the result only depends on the store's words, not on the time of the question.

use std::collections::HashMap;
use std::sync::Arc;

use super::vocabulary::{Entry, Vocabulary};
use maxim_language::Encoder;
use maxim_language::packed::{PackedVector, dot};

/// Cosine at and below which words don't help each other.
const WORD_FLOOR: f32 = 0.2;
/// Maximum number of stored asked stems.
const MOST_KEPT: usize = 4096;
/// Maximum number of nearest stems per asked stem.
pub const MOST_RELATED: usize = 20;

/// A stem of the store that stands for an asked one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftTerm {
    /// Number of the stem in the vocabulary.
    pub id: u32,
    /// How far it stands for it, before rarity counts, in (0, 1).
    pub weight: f32,
}

struct Neighbours {
    /// Number of stems and form changes that were processed.
    stems: usize,
    changes: usize,
    vector: PackedVector,
    /// The nearest first.
    list: Vec<(f32, u32)>,
}

/// Vectors of stems, and the asked stems.
#[derive(Default)]
pub struct Related {
    steps: Vec<i8>,
    scales: Vec<f32>,
    changes: usize,
    asked: HashMap<Arc<str>, Neighbours>,
}

/// Numbers, identifiers and single letters have no meaning by themselves.
fn has_meaning(form: &str) -> bool {
    form.chars().count() >= 3 && form.chars().all(char::is_alphabetic)
}

fn vector_of(encoder: &dyn Encoder, form: &str) -> PackedVector {
    if has_meaning(form) {
        PackedVector::of(&encoder.embed(form))
    } else {
        PackedVector { scale: 0.0, steps: vec![0; encoder.dims()] }
    }
}

impl Related {
    /// The nearest stems of `stem`, without itself. `form` is the question's word, for a stem that the store doesn't
    /// have.
    pub fn of(
        &mut self,
        stem: &str,
        form: &str,
        vocabulary: &Vocabulary,
        encoder: &dyn Encoder,
        most: usize,
    ) -> Vec<SoftTerm> {
        self.keep_up(vocabulary, encoder);
        let known = vocabulary.id(stem);
        let form = known.map_or(form, |id| &vocabulary.entries()[id as usize].form);
        if !has_meaning(form) {
            return Vec::new();
        }
        let changed = |kept: &Neighbours| {
            vocabulary.changed()[kept.changes..]
                .iter()
                .any(|id| Some(*id) == known || kept.list.iter().any(|(_, held)| held == id))
        };
        let kept = self.asked.remove(stem).filter(|kept| known.is_some() && !changed(kept));
        let mut kept = kept.unwrap_or_else(|| Neighbours {
            stems: 0,
            changes: vocabulary.changed().len(),
            vector: vector_of(encoder, form),
            list: Vec::new(),
        });
        let entries = vocabulary.entries();
        let before = kept.stems as u32;
        let new = before..entries.len() as u32;
        let changed = vocabulary.changed()[kept.changes..].iter().copied().filter(|id| *id < before);
        for id in changed.chain(new) {
            self.compare(id, known, &mut kept, entries);
        }
        (kept.stems, kept.changes) = (entries.len(), vocabulary.changed().len());
        let found = kept
            .list
            .iter()
            .take(most)
            .map(|(cosine, id)| SoftTerm { id: *id, weight: (cosine - WORD_FLOOR) / (1.0 - WORD_FLOOR) });
        let found = found.collect();
        if let Some(id) = known {
            if self.asked.len() >= MOST_KEPT {
                self.asked.clear();
            }
            self.asked.insert(Arc::clone(&entries[id as usize].stem), kept);
        }
        found
    }

    /// Adds vectors of new stems and of stems whose word changed.
    pub fn keep_up(&mut self, vocabulary: &Vocabulary, encoder: &dyn Encoder) {
        let entries = vocabulary.entries();
        let dims = encoder.dims();
        for id in &vocabulary.changed()[self.changes..] {
            let at = *id as usize;
            if at < self.scales.len() {
                let vector = vector_of(encoder, &entries[at].form);
                self.scales[at] = vector.scale;
                self.steps[at * dims..(at + 1) * dims].copy_from_slice(&vector.steps);
            }
        }
        self.changes = vocabulary.changed().len();
        for entry in &entries[self.scales.len()..] {
            let vector = vector_of(encoder, &entry.form);
            self.scales.push(vector.scale);
            self.steps.extend_from_slice(&vector.steps);
        }
    }

    fn compare(&self, id: u32, known: Option<u32>, kept: &mut Neighbours, entries: &[Entry]) {
        let (at, dims) = (id as usize, kept.vector.steps.len());
        let scale = self.scales[at] * kept.vector.scale;
        if scale == 0.0 || Some(id) == known {
            return;
        }
        let cosine = scale * dot(&kept.vector.steps, &self.steps[at * dims..(at + 1) * dims]) as f32;
        let worst = kept.list.get(MOST_RELATED - 1).map_or(WORD_FLOOR, |(worst, _)| *worst);
        if cosine < worst || cosine <= WORD_FLOOR || kept.list.iter().any(|(_, held)| *held == id) {
            return;
        }
        let stem = &entries[at].stem;
        let place = kept.list.partition_point(|(other, held)| {
            other.total_cmp(&cosine).is_gt() || *other == cosine && entries[*held as usize].stem < *stem
        });
        kept.list.insert(place, (cosine, id));
        kept.list.truncate(MOST_RELATED);
    }
}
