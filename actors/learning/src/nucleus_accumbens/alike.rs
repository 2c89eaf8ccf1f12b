//! Finds known kinds of events similar to an unknown one, by the meaning of their names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::EventKind;
use super::model::LinkTable;
use maxim_language::{Embedding, Encoder, calibrated};

/// Maximum number of kinds to borrow from.
const MOST_LENDERS: usize = 5;

/// "touchStove(hand: …)" becomes "touch stove hand".
fn phrase(kind: &EventKind) -> String {
    let mut words = String::new();
    let names = std::iter::once(kind.tool.as_str()).chain(kind.shape.iter().map(|(name, _)| name.as_str()));
    for name in names {
        let mut before_lower = false;
        for c in name.chars() {
            if !c.is_alphanumeric() || before_lower && c.is_uppercase() {
                words.push(' ');
            }
            before_lower = c.is_lowercase();
            if c.is_alphanumeric() {
                words.extend(c.to_lowercase());
            }
        }
        words.push(' ');
    }
    words
}

/// Vectors of the names of known kinds, computed when an unknown kind is first compared with them.
#[derive(Default)]
pub struct Phrases {
    encoder: Option<Arc<dyn Encoder>>,
    vectors: RefCell<BTreeMap<String, Embedding>>,
}

impl Phrases {
    pub fn with_encoder(encoder: Arc<dyn Encoder>) -> Self {
        Self { encoder: Some(encoder), vectors: RefCell::default() }
    }

    /// Removes a kind.
    pub fn forget(&mut self, key: &str) {
        self.vectors.get_mut().remove(key);
    }

    /// Keys of the most similar known kinds, with their similarity; the best first, ties by key.
    pub fn alike(&self, kind: &EventKind, links: &LinkTable) -> Vec<(String, f64)> {
        let Some(encoder) = &self.encoder else { return Vec::new() };
        let mut vectors = self.vectors.borrow_mut();
        if vectors.len() < links.kinds() {
            for (key, record) in links.records().filter(|(key, _)| !vectors.contains_key(*key)).collect::<Vec<_>>() {
                vectors.insert(key.to_owned(), encoder.embed(&phrase(&record.kind)));
            }
        }
        let asked = encoder.embed(&phrase(kind));
        let likeness = |other: &Embedding| {
            asked.cosine(other).map_or(0.0, |cosine| f64::from(calibrated(cosine, encoder.floor())))
        };
        let known = vectors.iter().map(|(key, vector)| (key, likeness(vector)));
        let near = known.filter(|(_, likeness)| *likeness >= links.law().lends_from);
        let mut found: Vec<(String, f64)> = near.map(|(key, likeness)| (key.clone(), likeness)).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.truncate(MOST_LENDERS);
        found
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::event::OutcomeKind;
    use super::super::model::Observation;
    use super::super::predict::Basis;
    use super::*;
    use maxim_bus::Provenance;
    use maxim_language::TokenTable;

    fn kind(tool: &str) -> EventKind {
        EventKind::of(tool, json!({}).as_object().expect("an object"))
    }

    #[test]
    fn an_unknown_kind_borrows_from_what_is_called_alike_and_from_nothing_else() {
        let mut links = LinkTable::default();
        for (tool, success) in [("touch_stove", false), ("read_letter", true)] {
            for _ in 0..9 {
                links.observe(&Observation {
                    event: &kind(tool),
                    context: &[],
                    outcome: &OutcomeKind::of_success(Some(success)),
                    cues: &[],
                    around: &[],
                    delay: None,
                    episode: None,
                    provenance: Provenance::OwnExperience,
                    at: Timestamp::UNIX_EPOCH,
                    reward: None,
                });
            }
        }
        let phrases = Phrases::with_encoder(Arc::new(TokenTable::embedded()));
        let oven = phrases.alike(&kind("touchOven"), &links);
        assert_eq!(oven.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["touch_stove"], "{oven:?}");
        let similar: Vec<(&str, f64)> = oven.iter().map(|(key, likeness)| (key.as_str(), *likeness)).collect();
        let borrowed = links.borrow(&similar, &[], Timestamp::UNIX_EPOCH);
        let known = links.predict(&kind("touch_stove"), &[], &[], Timestamp::UNIX_EPOCH);
        assert_eq!((borrowed.basis, borrowed.valence), (Basis::Borrowed, known.valence));
        assert!(borrowed.confidence.get() < known.confidence.get() / 2.0);
        assert!(phrases.alike(&kind("compile_project"), &links).is_empty());
    }
}
