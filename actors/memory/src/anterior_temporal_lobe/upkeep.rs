//! Work on concepts beside learning and answering: pinning, forgetting, consolidation.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::concepts::{
    ConceptRemoved, ConsolidateLayer, ForgetRecord, Layer, LayerConsolidated, LayerUnlinked, MemoryRef, PinRecord,
    RecordChanged, RecordsRemoved, SourcesRemoved,
};
use maxim_bus::signals::similarity::SituationsStored;

use super::cards::card_key;
use super::model::{Relation, SemanticMemory, concept_id, concept_number};
use super::region::{AnteriorTemporalLobe, AtlEvent, concept_key};
use maxim_bus::relations::PHASE_LOCKED_TO;
use maxim_language::naming;
use maxim_region::{Hears, Pulse, Region};

/// A due, inferred concept without sources is pruned if it has at most this many reinforcements.
const WEAK: u32 = 1;
impl AnteriorTemporalLobe {
    /// Removes a concept, and the relations of others to it.
    pub(super) fn remove(&self, number: u32, reason: &str, pulse: &mut Pulse<'_, Self>) -> Option<String> {
        let card = self.index.card(number)?;
        let name = card.name.clone();
        let mut others: Vec<u32> = self.index.incoming(number).map(|(from, ..)| from).collect();
        others.dedup();
        for other in others.into_iter().filter(|other| *other != number) {
            if let Some(mut concept) = self.memory(other, pulse) {
                concept.relations.retain(|relation| relation.to != number);
                self.store(other, concept, pulse);
            }
        }
        pulse.remove(concept_key(number));
        pulse.remove(card_key(number));
        let forgotten = [ConceptRemoved::FORGOTTEN, ConceptRemoved::UNFOUNDED].contains(&reason);
        pulse.keep_gone(AtlEvent::Removed { number }, forgotten);
        pulse.emit(ConceptRemoved { id: concept_id(number), name: name.clone(), reason: reason.into() });
        pulse.emit(RecordsRemoved { layer: Layer::Atl, ids: vec![concept_id(number)], forgotten, again: false });
        let situations = vec![(Self::NAME.to_owned(), concept_id(number))];
        pulse.emit(SituationsStored { stored: Vec::new(), forgotten: situations });
        Some(name)
    }

    /// Removes relations that no longer hold from both concepts, and their edges from the graph.
    pub(super) fn unrelate(&self, a: &str, b: &str, kinds: &[&str], pulse: &mut Pulse<'_, Self>) -> bool {
        let named = |name: &str| self.index.named(&naming::key(name)).next();
        let (Some(a), Some(b)) = (named(a), named(b)) else { return false };
        let mut gone = Vec::new();
        for (from, to) in [(a, b), (b, a)] {
            let Some(mut concept) = self.memory(from, pulse) else { continue };
            let ends = |kind: &str, other: u32| kinds.contains(&kind) && other == to;
            let ended = concept.relations.iter().filter(|relation| ends(&relation.kind, relation.to));
            let ended: Vec<_> =
                ended.map(|relation| (concept_id(from), concept_id(to), relation.kind.clone())).collect();
            if !ended.is_empty() {
                gone.extend(ended);
                concept.relations.retain(|relation| !ends(&relation.kind, relation.to));
                self.store(from, concept, pulse);
            }
        }
        let is_any = !gone.is_empty();
        if is_any {
            pulse.emit(LayerUnlinked { layer: Layer::Atl, edges: gone });
        }
        is_any
    }

    /// Removes concepts without support, each with the concepts that it named and that nothing else mentions.
    fn remove_unfounded(&self, unfounded: Vec<(u32, Vec<u32>)>, pulse: &mut Pulse<'_, Self>) {
        let mut gone: BTreeSet<u32> = BTreeSet::new();
        let mut named: BTreeSet<u32> = BTreeSet::new();
        for (number, others) in unfounded {
            self.remove(number, ConceptRemoved::UNFOUNDED, pulse);
            gone.insert(number);
            named.extend(others);
        }
        for number in named.difference(&gone.clone()) {
            // The index still has the relations of concepts that are removed in this step.
            let is_alone = self.index.incoming(*number).all(|(from, ..)| gone.contains(&from));
            if is_alone && self.memory(*number, pulse).is_some_and(|concept| concept.is_bare()) {
                self.remove(*number, ConceptRemoved::UNFOUNDED, pulse);
                gone.insert(*number);
            }
        }
    }

    /// The concept of that name, if only its rhythm on this clock is known.
    pub(super) fn known_by_rhythm_alone(&self, name: &str, clock: &str, pulse: &Pulse<'_, Self>) -> Option<u32> {
        let number = self.index.named(&naming::key(name)).next()?;
        let clock = self.index.named(&naming::key(clock)).next()?;
        let concept = self.memory(number, pulse)?;
        let is_rhythm = |relation: &Relation| relation.kind == PHASE_LOCKED_TO && relation.to == clock;
        let is_bare = concept.definition.is_empty()
            && concept.properties.is_empty()
            && concept.sources.is_empty()
            && concept.passages.is_empty()
            && concept.reinforcements == 0
            && !concept.long_term
            && concept.relations.iter().all(is_rhythm)
            && self.index.incoming(number).next().is_none();
        is_bare.then_some(number)
    }

    /// True if nothing depends on it and nobody needs it: little evidence, no relation, no existing source.
    fn is_idle(&self, number: u32, concept: &SemanticMemory) -> bool {
        concept.reinforcements <= WEAK
            && concept.relations.is_empty()
            && concept.passages.is_empty()
            && self.index.incoming(number).next().is_none()
    }
}

fn changed(id: &str, what: Option<String>) -> RecordChanged {
    RecordChanged { layer: Layer::Atl, id: id.to_owned(), found: what.is_some(), what: what.unwrap_or_default() }
}

impl Hears<PinRecord> for AnteriorTemporalLobe {
    fn hear(&self, wish: &PinRecord, pulse: &mut Pulse<'_, Self>) {
        let found = concept_number(&wish.id).and_then(|number| Some((number, self.memory(number, pulse)?)));
        let name = found.map(|(number, mut concept)| {
            concept.long_term = wish.pinned;
            let name = concept.name.clone();
            self.store(number, concept, pulse);
            name
        });
        pulse.reply(changed(&wish.id, name));
    }
}

impl Hears<ForgetRecord> for AnteriorTemporalLobe {
    /// A concept, or everything that a document of this name said.
    fn hear(&self, wish: &ForgetRecord, pulse: &mut Pulse<'_, Self>) {
        let name = match concept_number(&wish.id) {
            Some(number) => self.remove(number, ConceptRemoved::FORGOTTEN, pulse),
            None => self.forget_document(&wish.id, pulse).then(|| format!("the document {}", wish.id)),
        };
        pulse.reply(changed(&wish.id, name));
    }
}

impl Hears<SourcesRemoved> for AnteriorTemporalLobe {
    /// Records that sleep removed have taught the concept something, which it keeps, but it no longer names them as
    /// sources. Records that a person has forgotten no longer count as evidence. Without any evidence the concept is
    /// removed.
    fn hear(&self, removed: &SourcesRemoved, pulse: &mut Pulse<'_, Self>) {
        let mut by_concept: BTreeMap<u32, BTreeSet<&MemoryRef>> = BTreeMap::new();
        for (concept, source) in &removed.gone {
            if let Some(number) = concept_number(concept) {
                by_concept.entry(number).or_default().insert(source);
            }
        }
        let mut unfounded = Vec::new();
        for (number, gone) in by_concept {
            let Some(mut concept) = self.memory(number, pulse) else { continue };
            let before = concept.sources.len();
            let is_changed = if removed.forgotten {
                gone.into_iter().filter(|source| concept.forget(source)).count() > 0
            } else {
                concept.sources.retain(|source| !gone.contains(source));
                concept.sources.len() < before
            };
            if is_changed && removed.forgotten && concept.is_unfounded() {
                unfounded.push((number, concept.relations.iter().map(|relation| relation.to).collect()));
            } else if is_changed {
                self.store(number, concept, pulse);
            }
        }
        self.remove_unfounded(unfounded, pulse);
    }
}

impl Hears<ConsolidateLayer> for AnteriorTemporalLobe {
    /// One step: of the concepts that nobody asked for over 30 days, weak unused ones are removed, and the others lose
    /// detail.
    fn hear(&self, wish: &ConsolidateLayer, pulse: &mut Pulse<'_, Self>) {
        let (now, after) = (pulse.now(), pulse.settings().law.consolidated_after.signed());
        let oldest = self.index.oldest(self.looked_at);
        let due: Vec<_> =
            oldest.take_while(|(last, _)| now.duration_since(*last) >= after).take(wish.step.max(1)).collect();
        let mut report = LayerConsolidated {
            layer: Layer::Atl,
            looked_at: due.len() as u64,
            compressed: 0,
            pruned: 0,
            bytes_before: 0,
            bytes_after: 0,
            done: due.len() < wish.step.max(1),
        };
        for (_, number) in &due {
            let Some(mut concept) = self.memory(*number, pulse).filter(|concept| concept.is_due(now, after)) else {
                continue;
            };
            let size = |concept: &SemanticMemory| serde_json::to_vec(concept).map_or(0, |bytes| bytes.len() as u64);
            let before = size(&concept);
            report.bytes_before += before;
            if self.is_idle(*number, &concept) {
                self.remove(*number, "pruned", pulse);
                report.pruned += 1;
            } else if concept.compressed {
                report.bytes_after += before;
            } else {
                concept.shrink_to(concept.compress());
                report.bytes_after += size(&concept);
                report.compressed += 1;
                self.store(*number, concept, pulse);
            }
        }
        let place = if report.done { None } else { due.last().copied() };
        if place != self.looked_at {
            pulse.keep(AtlEvent::LookedAt(place));
        }
        pulse.reply(report);
    }
}
