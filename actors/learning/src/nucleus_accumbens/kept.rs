//! Each kind of event has two records: a small one, which is read at the start, and its circumstances, which are read
//! when the kind occurs. Both are written in one commit.

use maxim_bus::hash::StableHash;
use serde::{Deserialize, Serialize};

use maxim_region::FewSources;

use super::model::{ConditionCount, ContextCondition, EventRecord, LinkTable};

/// Prefix of the small records.
pub const KINDS: &str = "kind/";

/// Bytes of a kind's name in the keys of its records; a store's keys are short, names of kinds may be long.
const NAMED_BY: usize = 80;

pub fn kind_key(key: &str) -> Vec<u8> {
    record_key(KINDS, key)
}

pub fn conditions_key(key: &str) -> Vec<u8> {
    record_key("circumstances/", key)
}

fn record_key(prefix: &str, key: &str) -> Vec<u8> {
    if key.len() <= NAMED_BY {
        return format!("{prefix}{key}").into_bytes();
    }
    let digest = StableHash::default().add(key.as_bytes()).get();
    format!("{prefix}{}{digest:016x}", &key[..key.floor_char_boundary(NAMED_BY)]).into_bytes()
}

/// A kind of event with its links, and its strength as a cue, −1 to 1 and slightly beyond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    pub event: EventRecord,
    pub cue: Option<f64>,
}

impl Learned {
    pub fn of(links: &LinkTable, key: &str, event: EventRecord) -> Self {
        Self { event, cue: links.cue(key) }
    }

    pub fn put_into(self, links: &mut LinkTable) {
        if let Some(cue) = self.cue {
            links.restore_cue(self.event.kind.key(), cue);
        }
        links.restore_record(self.event);
    }
}

/// Value, observations, strength, and the episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row(String, u32, f64, #[serde(default, skip_serializing_if = "FewSources::is_empty")] FewSources);

/// The circumstances of a kind and of each of its links, in their order, field by field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptConditions(Vec<Vec<(String, Vec<Row>)>>);

fn rows(conditions: &ContextCondition) -> Vec<(String, Vec<Row>)> {
    let row = |count: &ConditionCount| Row(count.value.clone(), count.observations, count.strength, count.of.clone());
    conditions.0.iter().map(|(field, counts)| (field.clone(), counts.iter().map(row).collect())).collect()
}

fn conditions(rows: Vec<(String, Vec<Row>)>) -> ContextCondition {
    let count = |Row(value, observations, strength, of)| ConditionCount { value, observations, strength, of };
    ContextCondition(rows.into_iter().map(|(field, rows)| (field, rows.into_iter().map(count).collect())).collect())
}

impl KeptConditions {
    pub fn of(event: &EventRecord) -> Self {
        let links = event.links.iter().map(|link| &link.conditions);
        Self(std::iter::once(&event.conditions).chain(links).map(rows).collect())
    }

    /// Puts stored circumstances back into an event.
    pub fn put_into(self, event: &mut EventRecord) {
        let links = event.links.iter_mut().map(|link| &mut link.conditions);
        for (place, rows) in std::iter::once(&mut event.conditions).chain(links).zip(self.0) {
            *place = conditions(rows);
        }
    }
}

/// The event without its circumstances.
pub fn small(event: &EventRecord) -> EventRecord {
    let links = event.links.iter().map(|link| super::model::CausalLink {
        outcome: link.outcome.clone(),
        observations: link.observations,
        strength: link.strength,
        last: link.last,
        last_rpe: link.last_rpe,
        delay: link.delay.clone(),
        episodes: link.episodes.clone(),
        conditions: ContextCondition::default(),
        provenance: link.provenance,
        forgotten: link.forgotten,
    });
    EventRecord {
        kind: event.kind.clone(),
        observations: event.observations,
        last: event.last,
        strength: event.strength,
        conditions: ContextCondition::default(),
        around: event.around.clone(),
        links: links.collect(),
        hurt: event.hurt,
        series: event.series,
    }
}

/// Removes the circumstances from an event.
pub fn make_small(event: &mut EventRecord) {
    event.conditions = ContextCondition::default();
    event.links.iter_mut().for_each(|link| link.conditions = ContextCondition::default());
}
