//! Concepts in an export and back, with the types of relations that were proposed.

use maxim_bus::signals::concepts::{Layer, LayerEdge, LayerLinked};
use serde_json::Value as Json;

use super::model::{SemanticMemory, concept_id, concept_number};
use super::naming;
use super::region::{AnteriorTemporalLobe, AtlEvent, concept_key};
use super::relations::{AGAINST, RelationType, RelationTypes};
use crate::region::{Entry, Pulse, RecordView, Remembers, Took};

const TYPES: &str = "relation_types";
const CONCEPTS: &str = "concepts";
/// Numbers of concepts that an import may bring; far beyond it there would be none left for new ones.
const MOST_NUMBER: u32 = 1 << 31;

impl Remembers for AnteriorTemporalLobe {
    fn parts() -> Vec<&'static str> {
        vec![TYPES, CONCEPTS]
    }

    /// Types by name, concepts by number.
    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        if part == TYPES {
            let proposed = self.types.iter().filter(|kind| kind.by.is_some());
            let rest = proposed.filter(|kind| after.is_none_or(|after| kind.name.as_str() > after)).take(limit);
            return rest.filter_map(|kind| Some((kind.name.clone(), serde_json::to_value(kind).ok()?))).collect();
        }
        let numbers = self.index.numbers_after(after.and_then(concept_number)).take(limit);
        let concepts = numbers.filter_map(|number| records.get::<SemanticMemory>(&concept_key(number)));
        concepts.filter_map(|concept| Some((concept.id.clone(), serde_json::to_value(concept).ok()?))).collect()
    }

    fn take_in(&self, entries: &[Entry], pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut types = self.types.clone();
        let mut edges = Vec::new();
        let mut took = Vec::new();
        for entry in entries {
            took.push(match entry.part.as_str() {
                TYPES => take_type(entry, &mut types, pulse),
                _ => self.take_concept(entry, &types, &mut edges, pulse),
            });
        }
        if !edges.is_empty() {
            pulse.emit(LayerLinked { layer: Layer::Atl, edges });
        }
        took
    }
}

fn take_type(
    entry: &Entry,
    types: &mut RelationTypes,
    pulse: &mut Pulse<'_, AnteriorTemporalLobe>,
) -> Result<Took, String> {
    let kind: RelationType =
        serde_json::from_value(entry.record.clone()).map_err(|error| format!("it is no relation type: {error}"))?;
    let (by, at) = (kind.by.as_deref().unwrap_or("import"), kind.at.unwrap_or(pulse.now()));
    let proposed = types.propose(&kind.name, kind.symmetric, kind.inverse.as_deref(), by, at);
    let fresh = proposed.map_err(|error| error.to_string())?;
    let took = if fresh.is_empty() { Took::Merged } else { Took::Kept };
    for kind in fresh {
        types.register(kind.clone());
        pulse.keep(AtlEvent::Registered(kind));
    }
    Ok(took)
}

impl AnteriorTemporalLobe {
    /// Its edges to other layers aren't told: the cross-layer graph exports them itself, those to what has gone left out.
    fn take_concept(
        &self,
        entry: &Entry,
        types: &RelationTypes,
        edges: &mut Vec<LayerEdge>,
        pulse: &mut Pulse<'_, Self>,
    ) -> Result<Took, String> {
        let concept: SemanticMemory =
            serde_json::from_value(entry.record.clone()).map_err(|error| format!("it is no concept: {error}"))?;
        let number = concept_number(&concept.id).filter(|number| *number < MOST_NUMBER);
        let Some(number) = number.filter(|_| concept.id == entry.key) else {
            let found = format!("{:?} is no id of a concept, which are like concept-12, or not its key", concept.id);
            return Err(found);
        };
        match self.index.card(number) {
            Some(card) if naming::key(&card.name) != naming::key(&concept.name) => {
                return Err(format!("{} is {:?} here already", concept.id, card.name));
            }
            Some(card) if card.reinforcements >= concept.reinforcements => return Ok(Took::Merged),
            _ => {}
        }
        edges.extend(concept.relations.iter().map(|relation| {
            let back = if types.is_symmetric(&relation.kind) { 1.0 } else { AGAINST };
            LayerEdge {
                kind: relation.kind.clone(),
                from: concept_id(number),
                to: concept_id(relation.to),
                weight: relation.weight,
                back: relation.weight * back,
            }
        }));
        self.store(number, concept, pulse);
        Ok(Took::Kept)
    }
}
