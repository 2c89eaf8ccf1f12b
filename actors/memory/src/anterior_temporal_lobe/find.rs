//! Answers: which concepts are meant, how well each fits, and how they are shown.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::concepts::{
    ConceptProvenance, ConceptShown, FindConcepts, KnowledgeEntry, Layer, RelationShown, SourcePassage,
};

use super::index::{Card, ConceptIndex};
use super::model::{ConceptLaw, SemanticMemory, clipped, concept_id, concept_number};
use super::sentences::sentences;
use maxim_bus::relations::{IS_A, RelationTypes, normal_type};
use maxim_language::naming::{self, likeness};

/// Results if no limit is given.
pub(super) const DEFAULT_LIMIT: usize = 5;
/// Results, at most.
pub(super) const MOST: usize = 1_000;
/// Relations of a concept that an answer shows.
const SHOWN_RELATIONS: usize = 20;
/// Knowledge that fits less than this is left out of the prompt, 0 to 1.
pub(super) const RELEVANT: f64 = 0.2;
/// Characters of one piece of knowledge in the prompt.
const KNOWLEDGE_TEXT: usize = 300;
/// Relations named in the prompt for one concept.
const KNOWLEDGE_RELATIONS: usize = 4;
/// Share of the fit for a concept that is only a kind of the named one.
const OF_THIS_KIND: f64 = 0.7;

/// How many of the concepts nearest in meaning are considered.
const MEANT: usize = 16;
/// Likeness in meaning at which a concept bears on a text without a common word, 0 to 1.
const ALIKE: f64 = 0.35;
/// Weight of likeness in meaning beside shared words, 0 to 1.
const MEANING: f64 = 0.8;
/// Stems of question words that no answer contains ("how many people", "how much").
const ASKING: [&str; 2] = ["mani", "much"];
/// Concepts that are compared with a name, at most.
const COMPARED: usize = 64;

/// A question to the index.
pub(super) struct Finder<'a> {
    pub index: &'a ConceptIndex,
    pub types: &'a RelationTypes,
    pub law: &'a ConceptLaw,
}

/// Numbers with their likeness in meaning above chance, 0 to 1, the most similar first.
pub(super) type Meant = Vec<(u32, f64)>;

/// Numbers with their fit, best first.
pub(super) type Ranked = Vec<(u32, f64)>;

impl Finder<'_> {
    /// # Errors
    /// The relation type or the id is unknown, the property is empty, or a value is given without a property.
    pub fn find(&self, asked: &FindConcepts, meant: Option<&Meant>) -> Result<Ranked, String> {
        let limit = if asked.limit == 0 { DEFAULT_LIMIT } else { asked.limit.min(MOST) };
        if asked.value.is_some() && asked.property.is_none() {
            return Err("a value needs its property: give property too".into());
        }
        if asked.property.as_deref().is_some_and(|property| property.trim().is_empty()) {
            return Err("property is empty: give its key, like colour".into());
        }
        if let Some(id) = &asked.concept_id
            && concept_number(id).is_none_or(|number| self.index.card(number).is_none())
        {
            return Err(format!("there is no concept {id:?}; use an id from the answer of concepts"));
        }
        let kind = match &asked.relationship_type {
            Some(kind) => {
                let known = self.types.get(kind).ok_or_else(|| {
                    let names: Vec<&str> = self.types.iter().map(|kind| kind.name.as_str()).collect();
                    format!("relation type {kind:?} is unknown; known are {}", names.join(", "))
                })?;
                Some(known.name.clone())
            }
            None => None,
        };
        let about = self.about(asked);
        let mut filters: Vec<BTreeMap<u32, f64>> = Vec::new();
        match (&about, &kind) {
            (Some(about), Some(kind)) => filters.push(self.related(about, kind)),
            (Some(about), None) => filters.push(about.iter().copied().collect()),
            (None, Some(kind)) => filters.push(self.having(kind)),
            (None, None) => {}
        }
        if let Some(category) = &asked.category {
            filters.push(self.of_category(category));
        }
        if let Some(property) = &asked.property {
            let found = self.index.with_property(property, asked.value.as_deref());
            filters.push(found.into_iter().map(|number| (number, 1.0)).collect());
        }
        let query = asked.query.as_deref().filter(|query| !query.trim().is_empty());
        if let Some(query) = query {
            filters.push(self.fitting(query, meant));
        }
        let mut ranked: Ranked = match filters.split_first() {
            None => self.index.numbers_after(None).map(|number| (number, 1.0)).collect(),
            Some((first, rest)) => {
                let all = first.iter().filter_map(|(number, fit)| {
                    let product = rest.iter().try_fold(*fit, |fit, filter| Some(fit * filter.get(number)?));
                    Some((*number, product?))
                });
                all.collect()
            }
        };
        self.rank(&mut ranked);
        ranked.truncate(limit);
        Ok(ranked)
    }

    /// Orders by fit, then by how well they are known, then by age, oldest first.
    fn rank(&self, ranked: &mut Ranked) {
        let known = |number: u32| self.index.card(number).map_or(0, |card| card.reinforcements);
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| known(b.0).cmp(&known(a.0))).then(a.0.cmp(&b.0)));
    }

    /// The named concepts; `None` if none is named.
    fn about(&self, asked: &FindConcepts) -> Option<Ranked> {
        if let Some(id) = &asked.concept_id {
            let found = concept_number(id).filter(|number| self.index.card(*number).is_some());
            return Some(found.map(|number| (number, 1.0)).into_iter().collect());
        }
        let name = asked.name.as_deref()?;
        Some(self.named(name))
    }

    /// Found by form, else by likeness.
    pub fn named(&self, name: &str) -> Ranked {
        let same: Ranked = self.index.named(&naming::key(name)).map(|number| (number, 1.0)).collect();
        if !same.is_empty() {
            return same;
        }
        let near = self.index.candidates(name, COMPARED).into_iter();
        let meaning = |a: &str, b: &str| self.index.meaning(a, b);
        let mut near: Ranked = near
            .filter_map(|number| Some((number, likeness(name, &self.index.card(number)?.name, meaning))))
            .filter(|(_, likeness)| *likeness >= self.law.same_name)
            .collect();
        self.rank(&mut near);
        near
    }

    /// Concepts that have this relation to these; IS_A over any number of steps, the nearest best.
    fn related(&self, about: &Ranked, kind: &str) -> BTreeMap<u32, f64> {
        let inverse = self.types.get(kind).and_then(|kind| kind.inverse.clone());
        let mut found: BTreeMap<u32, f64> = BTreeMap::new();
        let mut add = |number: u32, fit: f64| {
            let known = found.entry(number).or_insert(0.0);
            *known = known.max(fit);
        };
        for (number, fit) in about {
            if kind == IS_A {
                let nearness = |steps: usize| fit / (1 + steps) as f64;
                self.index.kinds_of(*number).into_iter().for_each(|(at, steps)| add(at, nearness(steps)));
                // The concept's own kinds come after the concepts of its kind.
                self.index.ancestors(*number).into_iter().for_each(|(at, steps)| add(at, nearness(steps + 32)));
                continue;
            }
            let is_wanted = |other: &str| other == kind || Some(other) == inverse.as_deref();
            if let Some(card) = self.index.card(*number) {
                card.links
                    .iter()
                    .filter(|link| is_wanted(&link.kind))
                    .for_each(|link| add(link.other, fit * link.weight));
            }
            let incoming = self.index.incoming(*number).filter(|(_, other, _)| is_wanted(other));
            incoming.for_each(|(from, _, weight)| add(from, fit * weight));
        }
        found
    }

    /// All concepts with such a relation. It looks at the relations of each concept once. Only people's questions use
    /// it, never the path of a percept.
    fn having(&self, kind: &str) -> BTreeMap<u32, f64> {
        let has = |card: &Card| card.links.iter().any(|link| link.kind == kind);
        let numbers = self.index.numbers_after(None);
        numbers.filter(|number| self.index.card(*number).is_some_and(has)).map(|number| (number, 1.0)).collect()
    }

    /// Concepts of a category, and those that are a kind of the concept of that name.
    fn of_category(&self, category: &str) -> BTreeMap<u32, f64> {
        let key = naming::key(category);
        let mut found: BTreeMap<u32, f64> = self.index.in_category(&key).map(|number| (number, 1.0)).collect();
        for (kind, _) in self.named(category) {
            for (number, steps) in self.index.kinds_of(kind) {
                found.entry(number).or_insert(1.0 / steps as f64);
            }
        }
        found
    }

    /// How well concepts fit a text: the share of the text's words that they contain, and the share of their name's
    /// words that the text contains. Kinds of a concept that the text names fit too. Concepts near in meaning come from
    /// `meant`, or else from the embedded encoder.
    pub fn fitting(&self, text: &str, meant: Option<&Meant>) -> BTreeMap<u32, f64> {
        let mut stems = self.index.stems_of(text);
        stems.retain(|stem| !ASKING.contains(&stem.as_str()));
        let covered = self.index.covering(&stems);
        let mut fits: BTreeMap<u32, f64> = BTreeMap::new();
        let mut named: Vec<(u32, f64)> = Vec::new();
        for (number, coverage) in covered {
            let Some(card) = self.index.card(number) else { continue };
            let held = card.stems.intersection(&stems).count() as f64 / card.stems.len().max(1) as f64;
            let fit = (0.6 * coverage + 0.4 * held).min(1.0);
            if held >= 1.0 {
                named.push((number, fit));
            }
            fits.insert(number, fit);
        }
        let near = meant.cloned().unwrap_or_else(|| self.index.nearest(text, MEANT));
        for (number, alike) in near {
            let fit = MEANING * alike;
            if alike >= ALIKE && self.index.card(number).is_some() {
                let known = fits.entry(number).or_insert(0.0);
                *known = known.max(fit);
            }
        }
        for (kind, fit) in named {
            for (number, _) in self.index.kinds_of(kind) {
                let known = fits.entry(number).or_insert(0.0);
                *known = known.max(fit * OF_THIS_KIND);
            }
        }
        fits
    }

    /// Concepts that bear on a text, for the prompt: fit times confidence.
    pub fn knowledge(&self, text: &str, limit: usize) -> Ranked {
        let mut ranked: Ranked = self
            .fitting(text, None)
            .into_iter()
            .filter(|(_, fit)| *fit >= RELEVANT)
            .filter_map(|(number, fit)| {
                Some((number, fit * self.law.confidence(self.index.card(number)?.reinforcements).get()))
            })
            .collect();
        self.rank(&mut ranked);
        ranked.truncate(limit);
        ranked
    }

    pub fn shown(&self, number: u32, memory: SemanticMemory, score: f64) -> ConceptShown {
        let relations = self.relations(number);
        let episodes = memory.sources.iter().filter(|source| source.layer == Layer::Hippocampus);
        ConceptShown {
            source_episodes: episodes.map(|source| source.id.clone()).collect(),
            confidence: self.law.confidence(memory.reinforcements),
            id: memory.id,
            score,
            name: memory.name,
            category: memory.category,
            definition: memory.definition,
            reinforcements: memory.reinforcements,
            provenance: memory.provenance,
            trust: memory.trust,
            created: memory.created,
            pinned: memory.long_term,
            compressed: memory.compressed,
            properties: memory.properties,
            relations,
            passages: memory.passages,
        }
    }

    fn relations(&self, number: u32) -> Vec<RelationShown> {
        let name = |other: u32| self.index.card(other).map(|card| card.name.clone());
        let out = self.index.card(number).into_iter().flat_map(|card| &card.links);
        let out = out.filter_map(|link| {
            Some(RelationShown {
                kind: link.kind.clone(),
                incoming: false,
                concept_id: concept_id(link.other),
                name: name(link.other)?,
                weight: link.weight,
                phase: link.phase,
                coupling: link.coupling,
            })
        });
        let incoming = self.index.incoming(number).filter_map(|(from, kind, weight)| {
            Some(RelationShown {
                kind: kind.to_owned(),
                incoming: !self.types.is_symmetric(kind),
                concept_id: concept_id(from),
                name: name(from)?,
                weight,
                phase: None,
                coupling: None,
            })
        });
        out.chain(incoming).take(SHOWN_RELATIONS).collect()
    }

    pub fn entry(&self, number: u32, memory: &SemanticMemory, score: f64, asked: &str) -> KnowledgeEntry {
        let relations = self.relations(number).into_iter().take(KNOWLEDGE_RELATIONS).map(|relation| {
            let kind = normal_type(&relation.kind);
            match relation.incoming {
                true => format!("{} {kind} {}", relation.name, memory.name),
                false => format!("{} {kind} {}", memory.name, relation.name),
            }
        });
        let (said, read) = self.said(memory, asked);
        KnowledgeEntry {
            layer: Layer::Atl,
            id: memory.id.clone(),
            name: memory.name.clone(),
            category: memory.category.clone(),
            text: clipped(said, KNOWLEDGE_TEXT),
            score,
            confidence: self.law.confidence(memory.reinforcements),
            trust: memory.trust,
            relations: relations.collect(),
            read,
        }
    }

    /// The part of a concept's words that says most about the question beside its name: the definition, or a sentence
    /// of a passage that says more. Also returns whether it was read in a document.
    fn said<'m>(&self, memory: &'m SemanticMemory, asked: &str) -> (&'m str, bool) {
        let name = self.index.stems_of(&memory.name);
        let asked: BTreeSet<String> = self.index.stems_of(asked).difference(&name).cloned().collect();
        let told = |text: &str| self.index.stems_of(text).intersection(&asked).count();
        let definition = memory.definition.as_str();
        let is_held = |passage: &SourcePassage| passage.text.contains(definition.trim_end_matches('…'));
        let is_read = memory.provenance == ConceptProvenance::DirectIngestion || memory.passages.iter().any(is_held);
        let defined = (!definition.is_empty()).then_some((told(definition), definition, is_read));
        let passages = memory.passages.iter().flat_map(|passage| sentences(&passage.text));
        let all = defined.into_iter().chain(passages.map(|sentence| (told(sentence), sentence, true)));
        // The first of equals: a definition comes before further statements.
        let best = all.reduce(|best, one| if one.0 > best.0 { one } else { best });
        best.map_or(("", memory.provenance == ConceptProvenance::DirectIngestion), |(_, said, read)| (said, read))
    }
}
