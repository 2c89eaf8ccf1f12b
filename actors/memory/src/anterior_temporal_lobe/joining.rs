//! Concepts of another brain among the present ones: which concept is meant, and how two accounts of it become one.
//!
//! A concept is known by its name and category, because numbers follow the order of learning. An unknown concept keeps
//! its own number if no concept ever had it here, so an export into an empty brain comes back byte for byte. Otherwise
//! it gets the next number. The names in its relations and sources are translated to the names of the same records
//! here. Of two accounts, the words of the one with more experience stay, or the present ones if equal. Evidence,
//! relations and uses of both stay.

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

/// The highest concept number that an import may bring. Beyond it, too few numbers would be left for new concepts.
const MOST_NUMBER: u32 = 1 << 31;
/// Reasons against parts of one line that are reported, at most.
const TOLD: usize = 4;

/// Concepts that are being imported.
pub(super) struct Joining<'a> {
    lesson: Lesson<'a>,
    unused: Unused,
    edges: Vec<LayerEdge>,
}

impl<'a> Joining<'a> {
    pub fn new(lesson: Lesson<'a>, unused: &Unused) -> Self {
        Self { lesson, unused: unused.clone(), edges: Vec::new() }
    }

    /// The concepts in their present state, and the edges of new relations.
    pub fn into_parts(self) -> (BTreeMap<u32, SemanticMemory>, Vec<LayerEdge>) {
        (self.lesson.changed, self.edges)
    }

    /// The local concept of a line, and its name here.
    ///
    /// # Errors
    /// The line contains no concept.
    pub fn find(&mut self, entry: &Entry, names: &mut Names) -> Result<(u32, SemanticMemory), String> {
        let concept: SemanticMemory =
            serde_json::from_value(entry.record.clone()).map_err(|error| format!("it isn't a concept: {error}"))?;
        let theirs = concept_number(&concept.id).filter(|number| *number < MOST_NUMBER && concept.id == entry.key);
        let Some(theirs) = theirs else {
            let found = format!("{:?} is not the id of a concept (like concept-12), or not its key", concept.id);
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

    /// Joins a line with its concept.
    ///
    /// # Errors
    /// Parts of it can't be imported: what they name is refused, or they contradict what is known. The rest is
    /// imported.
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

    /// True if the relation is new or stronger. A cycle of IS_A is left out.
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
            return Err(format!("its {kind} to {} would close a cycle", concept_id(*to)));
        }
        if joined.relations.len() >= MOST_RELATIONS {
            return Err(format!("there is no room for more than {MOST_RELATIONS} relations"));
        }
        joined.relations.push(relation.clone());
        Ok(true)
    }

    /// Edges to other layers are not sent: the cross-layer graph exports them itself, without those to removed records.
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

/// The sources that need no translation.
fn plain_sources(concept: &SemanticMemory, names: &Names) -> Vec<MemoryRef> {
    let is_plain = |source: &&MemoryRef| source.layer != Layer::Atl && !names.is_refused(source);
    concept.sources.iter().filter(is_plain).cloned().collect()
}

/// The concept with local names, without what was refused; or the records that must be known first.
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
            None => against.push(format!("its {} leads to {}, which was not imported", relation.kind, theirs.id)),
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
                against.push(format!("its source {} {:?} is another record here", source.layer, source.id));
                return false;
            }
        }
        true
    });
    Ok(concept)
}

/// Both accounts of a concept in one, without their relations. The local ones stay.
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
