//! The cards of concepts on disk: the index data of each concept, so that a start derives nothing again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::index::Made;
use super::meanings::Meaning;
use super::model::SemanticMemory;
use super::region::{AnteriorTemporalLobe, AtlEvent, AtlSettings, CONCEPTS, concept_key};
use maxim_language::EncoderId;
use maxim_language::packed::PackedVector;
use maxim_region::{Pulse, RecordView};

const CARDS: &str = "card/";
/// Prefix of vectors in stores from before cards existed.
const VECTORS: &str = "vector/";
/// First byte of a card. It changes when the content of cards, or its derivation, changes; cards are then rebuilt.
const SHAPE: u8 = 2;
/// Cards written in one step.
const CARDED_A_STEP: usize = 64;

pub(super) fn card_key(number: u32) -> Vec<u8> {
    format!("{CARDS}{number:08x}").into_bytes()
}

pub(super) fn vector_key(number: u32) -> Vec<u8> {
    format!("{VECTORS}{number:08x}").into_bytes()
}

fn number_of(key: &[u8], prefix: &str) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(key).ok()?.strip_prefix(prefix)?, 16).ok()
}

#[derive(Serialize, Deserialize)]
struct CardRecord<M> {
    encoder: String,
    made: M,
}

pub(super) fn card_record(made: &Made, encoder: &EncoderId) -> Vec<u8> {
    let record = CardRecord { encoder: encoder.as_str().to_owned(), made };
    // Names, numbers and a time, which the format never refuses.
    [vec![SHAPE], postcard::to_stdvec(&record).unwrap_or_default()].concat()
}

/// None if the card has another shape, or its meaning comes from another encoder; those can't be compared.
fn read_card(bytes: &[u8], encoder: &EncoderId) -> Option<Made> {
    let record: CardRecord<Made> = postcard::from_bytes(bytes.strip_prefix(&[SHAPE])?).ok()?;
    (record.encoder == encoder.as_str()).then_some(record.made)
}

impl AnteriorTemporalLobe {
    /// Puts all concepts into the index by their cards; concepts without a valid card, by their records.
    pub(super) fn lay_out(&mut self, records: &RecordView<'_>, settings: &AtlSettings) {
        self.bare.clear();
        // In one walk, because looking each card up would take longer than everything else.
        for (key, bytes) in records.prefixed(CARDS.as_bytes(), usize::MAX) {
            let Some(number) = number_of(&key, CARDS) else { continue };
            match read_card(&bytes, settings.encoder.id()) {
                Some(made) => self.index.put_made(number, made),
                None => {
                    self.bare.insert(number);
                }
            }
        }
        let mut vectors = HashMap::new();
        if !self.carded {
            let known = records.prefixed(CONCEPTS.as_bytes(), usize::MAX).into_iter();
            let known = known.filter_map(|(key, _)| number_of(&key, CONCEPTS));
            self.bare.extend(known.filter(|number| self.index.card(*number).is_none()));
            vectors.extend(records.prefixed(VECTORS.as_bytes(), usize::MAX));
        }
        for number in self.bare.clone() {
            let Some(concept) = records.get::<SemanticMemory>(&concept_key(number)) else {
                self.bare.remove(&number);
                continue;
            };
            let kept = vectors.remove(&vector_key(number));
            let vector = kept.and_then(|record| PackedVector::from_record(&record, settings.encoder.id()));
            self.index.put_made(number, self.index.made_of(&concept, vector.map(Meaning::of)));
        }
    }

    /// Cards must be written, or the completion must be noted.
    pub(super) fn has_bare(&self) -> bool {
        !self.bare.is_empty() || (!self.carded && self.next > 0)
    }

    /// Writes some cards.
    pub(super) fn card_some(&self, pulse: &mut Pulse<'_, Self>) {
        let numbers: Vec<u32> = self.bare.iter().copied().take(CARDED_A_STEP).collect();
        for number in &numbers {
            if let Some(concept) = self.memory(*number, pulse) {
                let made = self.index.made_of(&concept, self.index.meaning_of(*number));
                pulse.put_bytes(card_key(*number), card_record(&made, pulse.settings().encoder.id()));
                pulse.remove(vector_key(*number));
            }
        }
        let all = numbers.len() == self.bare.len();
        pulse.keep(AtlEvent::Carded { numbers, all });
    }
}
