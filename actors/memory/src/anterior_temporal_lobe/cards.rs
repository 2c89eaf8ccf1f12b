//! The cards of concepts on disk: the data by which concepts are found, in the form of the index, so that a start
//! derives nothing again.

use serde::{Deserialize, Serialize};

use super::index::Made;
use super::model::SemanticMemory;
use super::region::{AnteriorTemporalLobe, AtlEvent, AtlSettings, concept_key};
use maxim_language::EncoderId;
use maxim_region::{Pulse, RecordView};

const CARDS: &str = "card/";
/// First byte of a card. It changes when the content of a card, or its derivation, changes. Cards are then made again.
const SHAPE: u8 = 2;
/// Cards made in one step.
const CARDED_A_STEP: usize = 64;

pub(super) fn card_key(number: u32) -> Vec<u8> {
    format!("{CARDS}{number:08x}").into_bytes()
}

fn number_of(key: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(key).ok()?.strip_prefix(CARDS)?, 16).ok()
}

#[derive(Serialize, Deserialize)]
struct CardRecord<M> {
    encoder: String,
    made: M,
}

pub(super) fn card_record(made: &Made, encoder: &EncoderId) -> Vec<u8> {
    let record = CardRecord { encoder: encoder.as_str().to_owned(), made };
    // Names, numbers and a time: serialising them can't fail.
    [vec![SHAPE], postcard::to_stdvec(&record).unwrap_or_default()].concat()
}

/// `None` if it has another shape, or the meaning of another encoder: these must never be compared.
fn read_card(bytes: &[u8], encoder: &EncoderId) -> Option<Made> {
    let record: CardRecord<Made> = postcard::from_bytes(bytes.strip_prefix(&[SHAPE])?).ok()?;
    (record.encoder == encoder.as_str()).then_some(record.made)
}

impl AnteriorTemporalLobe {
    /// Puts all concepts into the index: by their cards, or by their records where the card is not valid.
    pub(super) fn lay_out(&mut self, records: &RecordView<'_>, settings: &AtlSettings) {
        self.bare.clear();
        // In one pass: looking each one up would take longer than all the rest.
        for (key, bytes) in records.prefixed(CARDS.as_bytes(), usize::MAX) {
            let Some(number) = number_of(&key) else { continue };
            match read_card(&bytes, settings.encoder.id()) {
                Some(made) => self.index.put_made(number, made),
                None => {
                    self.bare.insert(number);
                }
            }
        }
        for number in self.bare.clone() {
            let Some(concept) = records.get::<SemanticMemory>(&concept_key(number)) else {
                self.bare.remove(&number);
                continue;
            };
            self.index.put_made(number, self.index.made_of(&concept, None));
        }
    }

    /// Writes some cards.
    pub(super) fn card_some(&self, pulse: &mut Pulse<'_, Self>) {
        let numbers: Vec<u32> = self.bare.iter().copied().take(CARDED_A_STEP).collect();
        for number in &numbers {
            if let Some(concept) = self.memory(*number, pulse) {
                let made = self.index.made_of(&concept, self.index.meaning_of(*number));
                pulse.put_bytes(card_key(*number), card_record(&made, pulse.settings().encoder.id()));
            }
        }
        pulse.keep(AtlEvent::Carded { numbers });
    }
}
