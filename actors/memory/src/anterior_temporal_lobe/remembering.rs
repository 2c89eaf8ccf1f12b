//! Concepts in an export and back, with the proposed types of relations.

use maxim_bus::signals::concepts::{Layer, LayerLinked};
use serde_json::Value as Json;

use super::joining::Joining;
use super::learn::Lesson;
use super::model::{SemanticMemory, concept_number};
use super::region::{AnteriorTemporalLobe, AtlEvent, concept_key};
use maxim_bus::relations::{RelationType, RelationTypes};
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

const TYPES: &str = "relation_types";
const CONCEPTS: &str = "concepts";

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

    /// Concepts are found by name and category, because their numbers differ between brains.
    fn take_in(&self, entries: &[Entry], names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut types = self.types.clone();
        let taken = entries.iter().map(|entry| (entry.part == TYPES).then(|| take_type(entry, &mut types, pulse)));
        let mut took: Vec<Option<Result<Took, String>>> = taken.collect();
        let read = |number: u32| self.memory(number, pulse);
        let (now, run, same) = (pulse.now(), pulse.settings().run.clone(), pulse.settings().law.same_name);
        let lesson = Lesson::new(&self.index, &types, &read, now, &run, self.next, same);
        let mut joining = Joining::new(lesson, &self.unused);
        // All are known by name before any relation is looked at.
        let meant = entries.iter().map(|entry| (entry.part != TYPES).then(|| joining.find(entry, names)));
        let meant: Vec<_> = meant.collect();
        for (place, meant) in meant.into_iter().enumerate() {
            if let Some(meant) = meant {
                took[place] = Some(meant.and_then(|(number, concept)| joining.join(number, concept, names)));
            }
        }
        let (changed, edges) = joining.into_parts();
        self.store_all(changed.into_iter().collect(), pulse);
        if !edges.is_empty() {
            pulse.emit(LayerLinked { layer: Layer::Atl, edges });
        }
        took.into_iter().flatten().collect()
    }
}

fn take_type(
    entry: &Entry,
    types: &mut RelationTypes,
    pulse: &mut Pulse<'_, AnteriorTemporalLobe>,
) -> Result<Took, String> {
    let kind: RelationType =
        serde_json::from_value(entry.record.clone()).map_err(|error| format!("it isn't a relation type: {error}"))?;
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
