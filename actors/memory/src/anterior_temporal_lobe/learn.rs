//! Takes in lessons: which concept is meant, what is new, and which edges follow. Nothing is changed here. The room
//! gets the result and commits it at once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{
    ConceptLesson, ConceptProvenance, CrossEdge, CrossKind, Layer, LayerEdge, LearnedConcept, MemoryRef,
    RelationLesson, SUBJECT, SourcePassage,
};

use super::index::ConceptIndex;
use super::model::{
    LONGEST_NAME, LONGEST_TEXT, MOST_PASSAGES, MOST_PROPERTIES, MOST_RELATIONS, MOST_SOURCES, PassageKnown, Relation,
    SemanticMemory, clipped, concept_id,
};
use maxim_bus::relations::{AGAINST, IS_A, RelationTypes};
use maxim_language::naming::{self, likeness};

/// Concepts with a shared word that are compared, at most.
const COMPARED: usize = 64;

/// Reads a concept's record.
type Read<'a> = &'a dyn Fn(u32) -> Option<SemanticMemory>;

/// Lessons that are being taken in.
pub(super) struct Lesson<'a> {
    index: &'a ConceptIndex,
    types: &'a RelationTypes,
    read: Read<'a>,
    now: Timestamp,
    run: &'a str,
    /// Number of the next new concept.
    pub next: u32,
    /// Likeness at which two names mean the same.
    same: f64,
    /// Changed and new concepts, and how those are found that are in no index yet.
    pub changed: BTreeMap<u32, SemanticMemory>,
    fresh: ConceptIndex,
    /// For each changed concept: whether it was made here.
    pub created: BTreeMap<u32, bool>,
    pub layer_edges: Vec<LayerEdge>,
    pub cross_edges: Vec<CrossEdge>,
}

impl<'a> Lesson<'a> {
    pub fn new(
        index: &'a ConceptIndex,
        types: &'a RelationTypes,
        read: Read<'a>,
        now: Timestamp,
        run: &'a str,
        next: u32,
        same: f64,
    ) -> Self {
        Self {
            index,
            types,
            read,
            now,
            run,
            next,
            same,
            changed: BTreeMap::new(),
            fresh: index.empty(),
            created: BTreeMap::new(),
            layer_edges: Vec::new(),
            cross_edges: Vec::new(),
        }
    }

    /// Takes in one lesson.
    ///
    /// # Errors
    /// It may not be learned: it comes from an outsider, its name is invalid, or one of its relations has an unknown
    /// type.
    pub fn learn(&mut self, lesson: &ConceptLesson) -> Result<LearnedConcept, String> {
        if lesson.trust == Trust::Outside {
            return Err("an outsider's word makes no concept; two trusted episodes are needed".into());
        }
        if naming::key(&lesson.name).is_empty() {
            return Err("it has no name".into());
        }
        if let Some(bad) = lesson.relations.iter().find(|relation| self.types.get(&relation.kind).is_none()) {
            return Err(format!("relation type {:?} is not registered; propose it first", bad.kind));
        }
        let (number, created) = self.find_or_create(&lesson.name, &lesson.category, lesson.trust, lesson.provenance);
        let Some(mut memory) = self.memory(number) else {
            return Err(format!("the record of {} can't be read", concept_id(number)));
        };
        let (evidence, changed) = self.take_evidence(number, &mut memory, lesson);
        let reinforced = evidence > 0;
        if reinforced && !created && memory.provenance != lesson.provenance {
            memory.provenance = ConceptProvenance::Hybrid;
        }
        let rewritten = take_words(&mut memory, lesson);
        let name = memory.name.clone();
        memory.reinforcements = memory.reinforcements.saturating_add(evidence);
        memory.trust = memory.trust.max(lesson.trust);
        if reinforced || created || rewritten || changed {
            memory.last_accessed = self.now;
            memory.compressed = false;
            self.keep(number, memory);
        }
        for relation in &lesson.relations {
            self.relate(number, relation, lesson);
        }
        let subject = lesson.properties.get(SUBJECT).and_then(|subject| self.find(subject, ""));
        if let Some(measured) = subject.filter(|measured| *measured != number) {
            self.cross_edges.extend(measures_of(lesson, &concept_id(measured)));
        }
        Ok(LearnedConcept { id: concept_id(number), name, created, reinforced, changed })
    }

    /// The concept that is meant, or a new one; and whether it is new.
    pub fn find_or_create(
        &mut self,
        name: &str,
        category: &str,
        trust: Trust,
        provenance: ConceptProvenance,
    ) -> (u32, bool) {
        if let Some(number) = self.find(name, category) {
            return (number, false);
        }
        let number = self.next;
        self.next += 1;
        let mut memory = SemanticMemory::new(number, name, category, self.now);
        (memory.trust, memory.provenance) = (trust, provenance);
        memory.run = self.run.to_owned();
        self.created.insert(number, true);
        self.keep(number, memory);
        (number, true)
    }

    /// By form first, then by likeness. A given category must fit.
    fn find(&self, name: &str, category: &str) -> Option<u32> {
        let key = naming::key(name);
        let same = self.all_of(|index| index.named(&key).collect());
        if let Some(found) = self.best(same, category) {
            return Some(found);
        }
        let mut near: Vec<(f64, u32)> = self
            .all_of(|index| index.candidates(name, COMPARED))
            .into_iter()
            .filter(|number| self.fits(*number, category))
            .filter_map(|number| {
                Some((likeness(name, &self.card_name(number)?, |a, b| self.index.meaning(a, b)), number))
            })
            .filter(|(likeness, _)| *likeness >= self.same)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.first().map(|(_, number)| *number)
    }

    /// The concept of exactly this name and category, or with an open category. Of several, `preferred` if it is among
    /// them.
    pub fn named(&self, name: &str, category: &str, preferred: u32) -> Option<u32> {
        let (key, wanted) = (naming::key(name), naming::key(category));
        let same = self.all_of(|index| index.named(&key).collect());
        let is_whole = self.card(preferred, |card| card.category == wanted) == Some(true);
        if is_whole && same.contains(&preferred) {
            return Some(preferred);
        }
        self.best(same, category)
    }

    /// Adds a new concept.
    pub fn keep_new(&mut self, number: u32, memory: SemanticMemory) {
        self.created.insert(number, true);
        self.keep(number, memory);
    }

    pub fn is_new(&self, number: u32) -> bool {
        self.created.get(&number) == Some(&true)
    }

    pub fn is_symmetric(&self, kind: &str) -> bool {
        self.types.is_symmetric(kind)
    }

    fn all_of(&self, ask: impl Fn(&ConceptIndex) -> Vec<u32>) -> Vec<u32> {
        let mut found: Vec<u32> =
            ask(self.index).into_iter().filter(|number| !self.changed.contains_key(number)).collect();
        found.extend(ask(&self.fresh));
        found
    }

    fn card<T>(&self, number: u32, of: impl Fn(&super::index::Card) -> T) -> Option<T> {
        self.fresh.card(number).or_else(|| self.index.card(number)).map(of)
    }

    fn card_name(&self, number: u32) -> Option<String> {
        self.card(number, |card| card.name.clone())
    }

    /// A category fits if one of both is open, or if they are equal.
    fn fits(&self, number: u32, category: &str) -> bool {
        let wanted = naming::key(category);
        wanted.is_empty() || self.card(number, |card| card.category.is_empty() || card.category == wanted) == Some(true)
    }

    /// Of concepts with one name: an equal category before an open one, then the best known, then the oldest.
    fn best(&self, found: Vec<u32>, category: &str) -> Option<u32> {
        let wanted = naming::key(category);
        let ranked = found.into_iter().filter(|number| self.fits(*number, category)).filter_map(|number| {
            let (same, known) = self.card(number, |card| (card.category == wanted, card.reinforcements))?;
            Some((same, known, std::cmp::Reverse(number)))
        });
        ranked.max().map(|(.., std::cmp::Reverse(number))| number)
    }

    pub fn memory(&self, number: u32) -> Option<SemanticMemory> {
        self.changed.get(&number).cloned().or_else(|| (self.read)(number))
    }

    pub fn keep(&mut self, number: u32, memory: SemanticMemory) {
        self.fresh.put(number, &memory);
        self.created.entry(number).or_insert(false);
        self.changed.insert(number, memory);
    }

    /// New sources and passages. Returns the number of pieces of evidence, and whether the passage says something else
    /// than before.
    fn take_evidence(&mut self, number: u32, memory: &mut SemanticMemory, lesson: &ConceptLesson) -> (u32, bool) {
        let mut evidence = 0;
        for source in &lesson.sources {
            if memory.rests_on(source) || memory.sources.len() >= MOST_SOURCES {
                continue;
            }
            memory.sources.push(source.clone());
            evidence += u32::from(source.layer == Layer::Hippocampus);
            self.cross_edges.extend(edges_to(number, source));
            self.cross_edges.extend(computed_from(source, &memory.sources));
        }
        let Some(passage) = &lesson.passage else { return (evidence, false) };
        let known = memory.knows(passage);
        let is_there = |known: &SourcePassage| known.document == passage.document && known.place == passage.place;
        let place = memory.passages.iter().position(is_there).filter(|_| known == PassageKnown::Otherwise);
        let passage = SourcePassage { text: clipped(&passage.text, LONGEST_TEXT), ..passage.clone() };
        match place {
            _ if known == PassageKnown::Same => return (evidence, false),
            Some(at) => memory.passages[at] = passage,
            None if memory.passages.len() >= MOST_PASSAGES => return (evidence, false),
            None => memory.passages.push(passage),
        }
        // The same passage of the same document is the same witness, whatever it says now.
        (evidence + u32::from(known == PassageKnown::New), known == PassageKnown::Otherwise)
    }

    /// A concept that a document only mentions keeps that passage as its source.
    fn note_passage(&mut self, number: u32, lesson: &ConceptLesson) {
        let Some((passage, mut memory)) = lesson.passage.as_ref().zip(self.memory(number)) else { return };
        memory.passages.push(SourcePassage { text: clipped(&passage.text, LONGEST_TEXT), ..passage.clone() });
        memory.reinforcements = memory.reinforcements.saturating_add(1);
        self.keep(number, memory);
    }

    /// A relation to the concept of that name, which is created if unknown. A cycle of IS_A is left out.
    fn relate(&mut self, from: u32, lesson: &RelationLesson, within: &ConceptLesson) {
        let Some(kind) = self.types.get(&lesson.kind).cloned() else { return };
        if naming::key(&lesson.to).is_empty() {
            return;
        }
        let (to, created) = self.find_or_create(&lesson.to, &lesson.category, within.trust, within.provenance);
        if created {
            self.note_passage(to, within);
        }
        if to == from || (kind.name == IS_A && self.is_kind_of(to, from)) {
            return;
        }
        let Some(mut memory) = self.memory(from) else { return };
        let weight = if lesson.weight.is_nan() { 0.0 } else { lesson.weight.clamp(0.0, 1.0) };
        match memory.relations.iter().position(|known| known.kind == kind.name && known.to == to) {
            Some(at) => {
                let known = &mut memory.relations[at];
                let stronger =
                    weight > known.weight || (lesson.phase, lesson.coupling) != (known.phase, known.coupling);
                if !stronger {
                    return;
                }
                known.weight = known.weight.max(weight);
                known.evidence = known.evidence.saturating_add(1);
                known.phase = lesson.phase.or(known.phase);
                known.coupling = lesson.coupling.or(known.coupling);
            }
            None if memory.relations.len() >= MOST_RELATIONS => return,
            None => memory.relations.push(Relation {
                kind: kind.name.clone(),
                to,
                weight,
                evidence: 1,
                phase: lesson.phase,
                coupling: lesson.coupling,
            }),
        }
        self.keep(from, memory);
        let back = if kind.symmetric { weight } else { weight * AGAINST };
        let (from, to) = (concept_id(from), concept_id(to));
        self.layer_edges.push(LayerEdge { kind: kind.name, from, to, weight, back });
    }

    /// True if `number` is a `kind`, over any number of steps.
    pub fn is_kind_of(&self, number: u32, kind: u32) -> bool {
        let (mut seen, mut frontier) = (vec![number], vec![number]);
        while let Some(at) = frontier.pop() {
            let links = |card: &super::index::Card| {
                let links = card.links.iter().filter(|link| link.kind == IS_A);
                links.map(|link| link.other).collect::<Vec<u32>>()
            };
            for other in self.card(at, links).unwrap_or_default() {
                if other == kind {
                    return true;
                }
                if !seen.contains(&other) {
                    seen.push(other);
                    frontier.push(other);
                }
            }
        }
        false
    }
}

/// Takes the words of a lesson where nothing more trusted is present. True if something changed.
fn take_words(memory: &mut SemanticMemory, lesson: &ConceptLesson) -> bool {
    if lesson.trust < memory.trust {
        return false;
    }
    let before = (memory.definition.clone(), memory.properties.clone(), memory.category.clone());
    // A document's first statement about a thing is its definition; later ones are details.
    let is_detail = !memory.definition.is_empty()
        && lesson.passage.as_ref().is_some_and(|passage| {
            let first = memory.passages.first();
            first.is_some_and(|first| (&first.document, &first.place) != (&passage.document, &passage.place))
        });
    let definition = lesson.definition.as_deref().map(str::trim).filter(|text| !text.is_empty() && !is_detail);
    if let Some(definition) = definition {
        if memory.definition.is_empty()
            && let Some(passage) = &lesson.passage
        {
            // The defining passage counts as its first, also if the concept was mentioned before.
            memory.passages.sort_by_key(|known| (&known.document, &known.place) != (&passage.document, &passage.place));
        }
        memory.definition = clipped(definition, LONGEST_TEXT);
    }
    if memory.category.is_empty() {
        memory.category = clipped(lesson.category.trim(), LONGEST_NAME);
    }
    for (key, value) in &lesson.properties {
        if memory.properties.contains_key(key) || memory.properties.len() < MOST_PROPERTIES {
            memory.properties.insert(clipped(key, LONGEST_NAME), clipped(value, LONGEST_TEXT));
        }
    }
    before != (memory.definition.clone(), memory.properties.clone(), memory.category.clone())
}

/// Edges between the number records among these sources and the episodes that they were computed from, if `source` is
/// one of the two ends.
fn computed_from(source: &MemoryRef, all: &[MemoryRef]) -> Vec<CrossEdge> {
    let of = |layer: Layer| all.iter().filter(move |one| one.layer == layer).cloned();
    let edge = |from: MemoryRef, to: MemoryRef| CrossEdge { kind: CrossKind::ComputedFrom, from, to, weight: 1.0 };
    match source.layer {
        Layer::AngularGyrus => of(Layer::Hippocampus).map(|data| edge(source.clone(), data)).collect(),
        Layer::Hippocampus => of(Layer::AngularGyrus).map(|record| edge(record, source.clone())).collect(),
        Layer::Nac | Layer::Atl => Vec::new(),
    }
}

/// Edges between the number records of a lesson and the concept that they measure.
fn measures_of(lesson: &ConceptLesson, concept: &str) -> Vec<CrossEdge> {
    let measures = lesson.sources.iter().filter(|source| source.layer == Layer::AngularGyrus);
    let edge = |record: &MemoryRef| CrossEdge {
        kind: CrossKind::Quantifies,
        from: record.clone(),
        to: MemoryRef::new(Layer::Atl, concept),
        weight: 1.0,
    };
    measures.map(edge).collect()
}

/// Edges between a concept and its sources.
fn edges_to(number: u32, source: &MemoryRef) -> Vec<CrossEdge> {
    let concept = MemoryRef::new(Layer::Atl, concept_id(number));
    let edge =
        |kind, from: &MemoryRef, to: &MemoryRef| CrossEdge { kind, from: from.clone(), to: to.clone(), weight: 1.0 };
    match source.layer {
        Layer::Hippocampus => {
            vec![edge(CrossKind::DerivedFrom, &concept, source), edge(CrossKind::InstanceOf, source, &concept)]
        }
        Layer::AngularGyrus => vec![edge(CrossKind::StatisticallyConfirms, source, &concept)],
        Layer::Nac | Layer::Atl => vec![edge(CrossKind::Informs, source, &concept)],
    }
}
