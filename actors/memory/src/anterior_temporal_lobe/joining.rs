//! Merges concepts of another brain: finds the concept here that is meant, and merges both accounts.
//!
//! A concept is identified by name and category, because numbers depend on the order of learning. An unknown concept
//! keeps its own number if no concept here ever had it, so that an export imported into an empty brain is unchanged;
//! else it gets the next number. Ids of relations and sources are translated by the new ids from the same file. The
//! wording of the account with more experience stays; of equals, the local one. Evidence, relations and uses of both
//! are kept.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::concepts::{Layer, LayerEdge, MemoryRef};

use super::learn::Lesson;
use super::model::{
    MOST_PASSAGES, MOST_PROPERTIES, MOST_RELATIONS, MOST_SOURCES, PassageKnown, Relation, SemanticMemory, concept_id,
    concept_number,
};
use super::unused::Unused;
use maxim_bus::relations::{AGAINST, IS_A};
use maxim_language::naming;
use maxim_region::{Entry, Names, Took};

/// Maximum number for an imported concept; much larger numbers would leave none for new concepts.
const MOST_NUMBER: u32 = 1 << 31;
/// Maximum number of reported problems per line.
const TOLD: usize = 4;

/// Concepts being imported.
pub(super) struct Joining<'a> {
    lesson: Lesson<'a>,
    unused: Unused,
    edges: Vec<LayerEdge>,
}

impl<'a> Joining<'a> {
    pub fn new(lesson: Lesson<'a>, unused: &Unused) -> Self {
        Self { lesson, unused: unused.clone(), edges: Vec::new() }
    }

    /// The merged concepts, and the edges of new relations.
    pub fn into_parts(self) -> (BTreeMap<u32, SemanticMemory>, Vec<LayerEdge>) {
        (self.lesson.changed, self.edges)
    }

    /// The local concept that a line is about; its id here is reported.
    ///
    /// # Errors
    /// The line contains no concept.
    pub fn find(&mut self, entry: &Entry, names: &mut Names) -> Result<(u32, SemanticMemory), String> {
        let concept: SemanticMemory =
            serde_json::from_value(entry.record.clone()).map_err(|error| format!("it isn't a concept: {error}"))?;
        let theirs = concept_number(&concept.id).filter(|number| *number < MOST_NUMBER && concept.id == entry.key);
        let Some(theirs) = theirs else {
            let found = format!("{:?} isn't a concept's id, like concept-12, or differs from its key", concept.id);
            return Err(found);
        };
        if naming::key(&concept.name).is_empty() {
            return Err(format!("{} has no name", concept.id));
        }
        let number = match self.lesson.named(&concept.name, &concept.category, theirs) {
            Some(number) => number,
            None => {
                let number = self.unused.number_for(theirs, &mut self.lesson.next);
                let sources = plain_sources(&concept, names);
                let (id, relations) = (concept_id(number), Vec::new());
                self.lesson.keep_new(number, SemanticMemory { id, sources, relations, ..concept.clone() });
                number
            }
        };
        names.tell(MemoryRef::new(Layer::Atl, concept.id.clone()), concept_id(number));
        Ok((number, concept))
    }

    /// Merges a line with the concept that it is about.
    ///
    /// # Errors
    /// Parts of it can't be imported: what they refer to was refused, or they contradict existing knowledge. The rest
    /// is imported.
    pub fn join(&mut self, number: u32, theirs: SemanticMemory, names: &Names) -> Result<Took, String> {
        let Some(here) = self.lesson.memory(number) else {
            return Err(format!("the record of {} can't be read", concept_id(number)));
        };
        let mut against = Vec::new();
        let theirs = match translated(theirs, names, &mut against) {
            Ok(theirs) => theirs,
            Err(wanted) => return Ok(Took::Wanting(wanted)),
        };
        let mut joined = joined(&here, &theirs);
        for relation in &theirs.relations {
            match self.relate(number, &mut joined, relation) {
                Ok(true) => self.edges.push(self.edge(number, relation)),
                Ok(false) => {}
                Err(reason) => against.push(reason),
            }
        }
        let took = if self.lesson.is_new(number) || joined != here { Took::Kept } else { Took::Merged };
        if joined != here {
            self.lesson.keep(number, joined);
        }
        if against.is_empty() {
            return Ok(took);
        }
        against.truncate(TOLD);
        Err(format!("{}; the rest of it is imported", against.join("; ")))
    }

    /// True when the relation is new or stronger. A circle of IS_A is left out.
    fn relate(&self, number: u32, joined: &mut SemanticMemory, relation: &Relation) -> Result<bool, String> {
        let Relation { kind, to, .. } = relation;
        let known = joined.relations.iter_mut().find(|known| known.kind == *kind && known.to == *to);
        if let Some(known) = known {
            let is_stronger = relation.weight > known.weight;
            known.weight = known.weight.max(relation.weight);
            known.evidence = known.evidence.max(relation.evidence);
            known.phase = known.phase.or(relation.phase);
            known.coupling = known.coupling.or(relation.coupling);
            return Ok(is_stronger);
        }
        if *to == number {
            return Err(format!("its {kind} would lead to itself"));
        }
        if kind == IS_A && self.lesson.is_kind_of(*to, number) {
            return Err(format!("its {kind} to {} would close a circle", concept_id(*to)));
        }
        if joined.relations.len() >= MOST_RELATIONS {
            return Err(format!("there is no room for more than {MOST_RELATIONS} relations"));
        }
        joined.relations.push(relation.clone());
        Ok(true)
    }

    /// Its edges to other layers aren't reported: the cross-layer graph exports those itself, without edges to
    /// removed records.
    fn edge(&self, from: u32, relation: &Relation) -> LayerEdge {
        let back = if self.lesson.is_symmetric(&relation.kind) { 1.0 } else { AGAINST };
        LayerEdge {
            kind: relation.kind.clone(),
            from: concept_id(from),
            to: concept_id(relation.to),
            weight: relation.weight,
            back: relation.weight * back,
        }
    }
}

/// Its evidence that needs no translation.
fn plain_sources(concept: &SemanticMemory, names: &Names) -> Vec<MemoryRef> {
    let is_plain = |source: &&MemoryRef| source.layer != Layer::Atl && !names.is_refused(source);
    concept.sources.iter().filter(is_plain).cloned().collect()
}

/// The concept with translated ids and without refused ones; or the ids that must be known first.
fn translated(
    mut concept: SemanticMemory,
    names: &Names,
    against: &mut Vec<String>,
) -> Result<SemanticMemory, Vec<MemoryRef>> {
    let related = concept.relations.iter().map(|relation| MemoryRef::new(Layer::Atl, concept_id(relation.to)));
    let sources = concept.sources.iter().filter(|source| source.layer == Layer::Atl).cloned();
    let named: BTreeSet<MemoryRef> = related.chain(sources).collect();
    if named.iter().any(|one| names.here(one).is_none()) {
        return Err(named.into_iter().collect());
    }
    concept.relations.retain_mut(|relation| {
        let theirs = MemoryRef::new(Layer::Atl, concept_id(relation.to));
        let here = names.here(&theirs).flatten().and_then(concept_number);
        match here {
            Some(here) => relation.to = here,
            None => against.push(format!("its {} leads to {}, which didn't come in", relation.kind, theirs.id)),
        }
        here.is_some()
    });
    concept.sources.retain_mut(|source| {
        let here = match source.layer {
            Layer::Atl => names.here(source).flatten().map(str::to_owned),
            _ => (!names.is_refused(source)).then(|| source.id.clone()),
        };
        match here {
            Some(here) => source.id = here,
            None => {
                against
                    .push(format!("it rests on {} {:?}, which isn't the one of that id here", source.layer, source.id));
                return false;
            }
        }
        true
    });
    Ok(concept)
}

/// Both accounts of a concept merged, without their relations; local relations stay.
fn joined(here: &SemanticMemory, theirs: &SemanticMemory) -> SemanticMemory {
    let knows_more = theirs.reinforcements > here.reinforcements && theirs.trust >= here.trust;
    let (first, second) = if knows_more { (theirs, here) } else { (here, theirs) };
    let mut both = SemanticMemory { id: here.id.clone(), relations: here.relations.clone(), ..first.clone() };
    both.name.clone_from(&here.name);
    both.created = here.created.min(theirs.created);
    both.last_accessed = here.last_accessed.max(theirs.last_accessed);
    both.access_count = here.access_count.max(theirs.access_count);
    both.long_term = here.long_term || theirs.long_term;
    both.reinforcements = here.reinforcements.max(theirs.reinforcements);
    for (own, other) in [(&mut both.category, &second.category), (&mut both.definition, &second.definition)] {
        if own.is_empty() {
            own.clone_from(other);
        }
    }
    for (key, value) in &second.properties {
        if both.properties.len() < MOST_PROPERTIES && !both.properties.contains_key(key) {
            both.properties.insert(key.clone(), value.clone());
        }
    }
    for source in &second.sources {
        if both.sources.len() < MOST_SOURCES && !both.rests_on(source) {
            both.sources.push(source.clone());
        }
    }
    for passage in &second.passages {
        if both.passages.len() < MOST_PASSAGES && both.knows(passage) == PassageKnown::New {
            both.passages.push(passage.clone());
        }
    }
    both.counted.clone_from(&here.counted);
    both.count_as(&theirs.counted);
    both
}
