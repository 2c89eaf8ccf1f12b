//! Numerical knowledge that is relevant to a text, for the prompt.

use maxim_bus::signals::concepts::{KnowledgeEntry, KnowledgeRecalled, Layer, RecallKnowledge};
use maxim_bus::signals::numbers::{MathCategory, MathFilter, MathRecord};

use super::region::AngularGyrus;
use maxim_region::{Hears, Pulse};

/// Records with a lower relevance are left out of the prompt, 0 to 1.
const RELEVANT: f64 = 0.2;

/// Patterns and relations are knowledge of the world. Constants and methods are only looked up for a computation.
fn bears(record: &MathRecord) -> bool {
    matches!(record.category, MathCategory::Pattern | MathCategory::Relationship)
}

impl Hears<RecallKnowledge> for AngularGyrus {
    fn hear(&self, asked: &RecallKnowledge, pulse: &mut Pulse<'_, Self>) {
        let filter =
            MathFilter { topic: Some(asked.text.clone()), limit: 4 * asked.limit.max(1), ..MathFilter::default() };
        let found = self.memory().recall(&filter).into_iter();
        let entries = found.filter(|(record, score)| bears(record) && *score >= RELEVANT).take(asked.limit);
        let entries = entries.map(|(record, score)| KnowledgeEntry {
            layer: Layer::AngularGyrus,
            id: record.id.clone(),
            name: record.name.clone(),
            category: record.domain.clone(),
            text: record.verbal.clone(),
            score: score * record.confidence.get(),
            confidence: record.confidence,
            trust: record.trust,
            relations: Vec::new(),
            read: false,
        });
        let entries = entries.collect();
        pulse.reply(KnowledgeRecalled { layer: Layer::AngularGyrus, entries });
    }
}
