//! The anterior temporal lobe as a room: what things are and how they are related, independent of when it was learned.
//!
//! Biology: the semantic hub of the anterior temporal lobes.
//! Law: a name finds its concept by form, then by likeness ≥ 0.8 (`naming.rs`); each new independent source reinforces,
//! confidence = min(0.99, 0.5 + 0.1 √reinforcements); what an outsider says makes no concept.
//! Remembers: each concept as a record, its card as another record, by which it is found; the relation types. Forgets:
//! on request; in sleep, concepts that nobody asked for over 30 days are compressed, or pruned if nothing supports
//! them.
//! Down: lessons wait; knowledge is a missing section.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{
    ConceptFormed, ConceptLesson, ConceptRemoved, ConceptsFound, ConceptsLearned, ConsolidateLayer, DocumentIngested,
    FindConcepts, ForgetRecord, IngestDocument, KnowledgeRecalled, Layer, LayerConsolidated, LayerLinked,
    LayerUnlinked, LearnConcepts, LearnedConcept, PinRecord, ProposeRelationType, RecallKnowledge, RecordChanged,
    RecordsLinked, RecordsRemoved, RelationTypeProposed, SourcesRemoved,
};
use maxim_bus::signals::encoding::{FindMeant, MeantFound};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::numbers::MetricsCorrelated;
use maxim_bus::signals::recall::{PhaseLocked, ReportStats, StatsReported};
use maxim_bus::signals::similarity::SituationsStored;
use maxim_bus::signals::skill::ExecutesWithLearned;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::cards::{card_key, card_record};
use super::document;
use super::find::{DEFAULT_LIMIT, Finder};
use super::index::{ConceptIndex, Made};
use super::learn::Lesson;
use super::meant::situation;
use super::model::{ConceptLaw, SemanticMemory};
use super::revising::Reading;
use super::unused::Unused;
use maxim_bus::relations::{RelationType, RelationTypes};
use maxim_language::Encoder;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Questions, RecordView, Region, Waiting};

/// Lessons of a document in one step: each is compared with similar concepts.
const MOST_LESSONS: usize = 64;

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct AtlSettings {
    /// Identifies this run of the process.
    pub run: String,
    /// Makes the vectors by which meanings are compared.
    pub encoder: Arc<dyn Encoder>,
    /// There is an external encoder: questions wait for what the entorhinal cortex finds near by it.
    pub asks_meaning: bool,
    /// When two names are one concept, and how long a concept stays whole.
    pub law: ConceptLaw,
}

/// Prefix of the concepts' records; they are in the order of their numbers.
pub const CONCEPTS: &str = "concept/";

#[derive(Default, Serialize, Deserialize)]
pub struct AnteriorTemporalLobe {
    /// Number of the next concept.
    pub(super) next: u32,
    pub(super) types: RelationTypes,
    #[serde(default, skip_serializing_if = "Unused::is_empty")]
    pub(super) unused: Unused,
    /// Number of lessons refused because they came from an outsider.
    refused: u64,
    /// The place of a consolidation round: before it, the concept that was asked for longest ago has been looked at.
    pub(super) looked_at: Option<(Timestamp, u32)>,
    pub(super) pondered: Questions<FindConcepts>,
    #[serde(skip)]
    pub(super) index: ConceptIndex,
    /// Concepts whose cards on disk are outdated.
    #[serde(skip)]
    pub(super) bare: BTreeSet<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AtlEvent {
    Stored {
        number: u32,
        concept: Box<SemanticMemory>,
        /// The handler's derived data, so that it is made only once.
        #[serde(skip)]
        made: Option<Box<Made>>,
    },
    Removed {
        number: u32,
    },
    /// These have their cards.
    Carded {
        numbers: Vec<u32>,
    },
    Registered(RelationType),
    Refused(u64),
    LookedAt(Option<(Timestamp, u32)>),
    Pondered {
        asked: MessageId,
        pondered: Box<Waiting<FindConcepts>>,
    },
    PonderingEnded {
        asked: MessageId,
    },
}

wiring!(AnteriorTemporalLobe {
    hears: [
        LearnConcepts,
        FindConcepts,
        MeantFound,
        PhaseLocked,
        SourcesRemoved,
        RecallKnowledge,
        ProposeRelationType,
        IngestDocument,
        PinRecord,
        ForgetRecord,
        ConsolidateLayer,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [ExecutesWithLearned, MetricsCorrelated],
    emits: [
        ConceptsLearned,
        ConceptsFound,
        KnowledgeRecalled,
        RelationTypeProposed,
        DocumentIngested,
        RecordChanged,
        LayerConsolidated,
        StatsReported,
        ConceptFormed,
        ConceptRemoved,
        LayerLinked,
        LayerUnlinked,
        RecordsLinked,
        RecordsRemoved,
        RecordsExported,
        RecordsImported,
        SituationsStored,
        FindMeant,
    ],
});

impl Region for AnteriorTemporalLobe {
    const NAME: RegionName = rooms::ANTERIOR_TEMPORAL_LOBE;
    const STAGE: Stage = Stage::Memory;
    type Event = AtlEvent;
    type Settings = AtlSettings;

    fn apply(&mut self, event: AtlEvent) {
        match event {
            AtlEvent::Stored { number, concept, made } => {
                self.unused.give(number, self.next);
                self.next = self.next.max(number + 1);
                self.bare.remove(&number);
                match made {
                    Some(made) => self.index.put_made(number, *made),
                    None => self.index.put(number, &concept),
                }
            }
            AtlEvent::Removed { number } => {
                self.bare.remove(&number);
                self.index.take(number);
            }
            AtlEvent::Carded { numbers } => numbers.iter().for_each(|number| {
                self.bare.remove(number);
            }),
            AtlEvent::Registered(kind) => self.types.register(kind),
            AtlEvent::Refused(count) => self.refused += count,
            AtlEvent::LookedAt(place) => self.looked_at = place,
            AtlEvent::Pondered { asked, pondered } => {
                self.pondered.insert(asked, pondered);
            }
            AtlEvent::PonderingEnded { asked } => {
                self.pondered.remove(asked);
            }
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &AtlSettings) {
        self.index = ConceptIndex::with_encoder(Arc::clone(&settings.encoder));
        self.lay_out(records, settings);
    }

    fn next_deadline(&self, _settings: &AtlSettings) -> Option<Timestamp> {
        let due = (!self.bare.is_empty()).then_some(Timestamp::UNIX_EPOCH);
        due.or_else(|| self.pondered.due())
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        self.give_up_pondering(pulse);
        if !self.bare.is_empty() {
            self.card_some(pulse);
        }
    }
}

pub(super) fn concept_key(number: u32) -> Vec<u8> {
    format!("{CONCEPTS}{number:08x}").into_bytes()
}

impl AnteriorTemporalLobe {
    pub(super) fn finder<'a>(&'a self, law: &'a ConceptLaw) -> Finder<'a> {
        Finder { index: &self.index, types: &self.types, law }
    }

    pub(super) fn memory(&self, number: u32, pulse: &Pulse<'_, Self>) -> Option<SemanticMemory> {
        self.index.card(number)?;
        pulse.record(&concept_key(number))
    }

    pub(super) fn store(&self, number: u32, concept: SemanticMemory, pulse: &mut Pulse<'_, Self>) {
        self.store_all(vec![(number, concept)], pulse);
    }

    /// Stores them, and tells the entorhinal cortex of those with new words.
    pub(super) fn store_all(&self, concepts: Vec<(u32, SemanticMemory)>, pulse: &mut Pulse<'_, Self>) {
        let mut stored = Vec::new();
        for (number, concept) in concepts {
            let text = concept.embedding_text();
            let is_known = self.memory(number, pulse).is_some_and(|before| before.embedding_text() == text);
            if !is_known {
                stored.push(situation(&concept));
            }
            let meaning = self.index.meaning_of(number).filter(|_| is_known);
            let made = self.index.made_of(&concept, meaning);
            pulse.put_bytes(card_key(number), card_record(&made, pulse.settings().encoder.id()));
            pulse.put(concept_key(number), &concept);
            pulse.keep(AtlEvent::Stored { number, concept: Box::new(concept), made: Some(Box::new(made)) });
        }
        if !stored.is_empty() {
            pulse.emit(SituationsStored { stored, forgotten: Vec::new() });
        }
    }

    /// Takes in lessons and reports the result to all. Lessons in an outsider's turn count as an outsider's.
    pub(super) fn learn(&self, lessons: &[ConceptLesson], pulse: &mut Pulse<'_, Self>) -> ConceptsLearned {
        self.learn_with(Vec::new(), lessons, pulse)
    }

    /// The same, beginning with concepts in their present state, which no index has yet.
    fn learn_with(
        &self,
        revised: Vec<(u32, SemanticMemory)>,
        lessons: &[ConceptLesson],
        pulse: &mut Pulse<'_, Self>,
    ) -> ConceptsLearned {
        let (now, run, trust) = (pulse.now(), pulse.settings().run.clone(), pulse.trust());
        let mut answer = ConceptsLearned::default();
        let read = |number: u32| self.memory(number, pulse);
        let mut taking =
            Lesson::new(&self.index, &self.types, &read, now, &run, self.next, pulse.settings().law.same_name);
        for (number, concept) in revised {
            taking.keep(number, concept);
        }
        for lesson in lessons {
            let lesson = ConceptLesson { trust: lesson.trust.min(trust), ..lesson.clone() };
            match taking.learn(&lesson) {
                Ok(learned) => answer.learned.push(learned),
                Err(why) => answer.refused.push((lesson.name, why)),
            }
        }
        let Lesson { changed, created, layer_edges, cross_edges, .. } = taking;
        for (number, concept) in &changed {
            pulse.emit(ConceptFormed {
                id: concept.id.clone(),
                name: concept.name.clone(),
                category: concept.category.clone(),
                created: created.get(number).copied().unwrap_or_default(),
                at: now,
                confidence: pulse.settings().law.confidence(concept.reinforcements),
                trust: concept.trust,
                provenance: concept.provenance,
            });
        }
        self.store_all(changed.into_iter().collect(), pulse);
        if !layer_edges.is_empty() {
            pulse.emit(LayerLinked { layer: Layer::Atl, edges: layer_edges });
        }
        if !cross_edges.is_empty() {
            pulse.emit(RecordsLinked { edges: cross_edges });
        }
        if !answer.refused.is_empty() {
            pulse.keep(AtlEvent::Refused(answer.refused.len() as u64));
        }
        answer
    }

    /// At most once a day, so that questions cost no writing.
    pub(super) fn touch(&self, numbers: &[u32], pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let day = jiff::SignedDuration::from_hours(24);
        for number in numbers {
            let old = self.index.card(*number).is_some_and(|card| now.duration_since(card.last_accessed) >= day);
            if old && let Some(mut concept) = self.memory(*number, pulse) {
                concept.last_accessed = now;
                concept.access_count = concept.access_count.saturating_add(1);
                self.store(*number, concept, pulse);
            }
        }
    }
}

impl Hears<LearnConcepts> for AnteriorTemporalLobe {
    fn hear(&self, lessons: &LearnConcepts, pulse: &mut Pulse<'_, Self>) {
        let answer = self.learn(&lessons.lessons, pulse);
        pulse.reply(answer);
    }
}

impl Hears<RecallKnowledge> for AnteriorTemporalLobe {
    fn hear(&self, asked: &RecallKnowledge, pulse: &mut Pulse<'_, Self>) {
        let finder = self.finder(&pulse.settings().law);
        let limit = if asked.limit == 0 { DEFAULT_LIMIT } else { asked.limit };
        let ranked = finder.knowledge(&asked.text, limit);
        let numbers: Vec<u32> = ranked.iter().map(|(number, _)| *number).collect();
        self.touch(&numbers, pulse);
        let entries = ranked.into_iter().filter_map(|(number, score)| {
            let memory = self.memory(number, pulse)?;
            Some(finder.entry(number, &memory, score, &asked.text))
        });
        let entries = entries.collect();
        pulse.reply(KnowledgeRecalled { layer: Layer::Atl, entries });
    }
}

impl Hears<ProposeRelationType> for AnteriorTemporalLobe {
    fn hear(&self, proposal: &ProposeRelationType, pulse: &mut Pulse<'_, Self>) {
        let ProposeRelationType { name, symmetric, inverse, by } = proposal;
        let answered = |accepted: bool, reason: Option<String>| RelationTypeProposed {
            name: maxim_bus::relations::normal_type(name),
            accepted,
            reason,
        };
        if pulse.trust() < Trust::Own {
            let reason = "only the agent and its owner may add relation types".to_owned();
            pulse.reply(answered(false, Some(reason)));
            return;
        }
        match self.types.propose(name, *symmetric, inverse.as_deref(), by, pulse.now()) {
            Ok(fresh) => {
                fresh.into_iter().for_each(|kind| pulse.keep(AtlEvent::Registered(kind)));
                pulse.reply(answered(true, None));
            }
            Err(error) => {
                pulse.reply(answered(false, Some(error.to_string())));
            }
        }
    }
}

impl Hears<IngestDocument> for AnteriorTemporalLobe {
    fn hear(&self, part: &IngestDocument, pulse: &mut Pulse<'_, Self>) {
        let passages = document::passages(&part.text, part.markdown, part.passages_before);
        let lessons = document::lessons(&part.document, &passages);
        let before = lessons.len().min(part.lessons_before as usize);
        let (now, left) = lessons[before..].split_at((lessons.len() - before).min(MOST_LESSONS));
        // A document under a known name from an outsider removes nothing of what is known from that document.
        let is_new = part.lessons_before == 0 && pulse.trust() >= document::DOCUMENT_TRUST;
        let (revised, dropped) = match is_new {
            true => {
                let (before, is_last) = (part.passages_before, !part.more);
                self.revise(&Reading::new(&part.document, &passages, &lessons, before, is_last), pulse)
            }
            false => (Vec::new(), 0),
        };
        let answer = self.learn_with(revised, now, pulse);
        let count = |of: fn(&LearnedConcept) -> bool| answer.learned.iter().filter(|one| of(one)).count() as u32;
        let mut concepts: Vec<String> = answer.learned.iter().map(|one| one.id.clone()).collect();
        concepts.sort_unstable();
        concepts.dedup();
        let ingested = DocumentIngested {
            passages: passages.len() as u32,
            created: count(|one| one.created),
            reinforced: count(|one| !one.created && one.reinforced),
            known: count(|one| !one.created && !one.reinforced && !one.changed),
            changed: count(|one| !one.created && !one.reinforced && one.changed),
            dropped,
            concepts,
            refused: answer.refused,
            lessons_left: left.len() as u32,
        };
        pulse.reply(ingested);
    }
}

impl Hears<ReportStats> for AnteriorTemporalLobe {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let relations: usize =
            self.index.numbers_after(None).filter_map(|n| self.index.card(n)).map(|c| c.links.len()).sum();
        let compressed =
            self.index.numbers_after(None).filter_map(|n| self.index.card(n)).filter(|card| card.compressed).count();
        let counts = serde_json::json!({
            "concepts": self.index.len(), "relations": relations, "relation_types": self.types.len(),
            "compressed": compressed, "refused_lessons": self.refused,
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
