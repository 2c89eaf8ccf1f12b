//! Export and import of links: an event with all its outcomes is one record.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::units::Valence;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::events::NacEvent;
use super::kept::{KeptConditions, Learned, conditions_key, kind_key, make_small};
use super::model::EventRecord;
use super::region::NucleusAccumbens;
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

const EVENTS: &str = "events";
const OBSERVATIONS: &str = "observations";

/// What an import brought, without the circumstances, which are only in records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    pub(super) restored: Vec<Learned>,
    pub(super) observations: u64,
}

fn read(entry: &Entry) -> Result<Learned, String> {
    let learned: Learned = serde_json::from_value(entry.record.clone())
        .map_err(|error| format!("it isn't an event with links: {error}"))?;
    let key = learned.event.kind.key();
    if key == entry.key { Ok(learned) } else { Err(format!("its key is {key:?}, not {:?}", entry.key)) }
}

impl Remembers for NucleusAccumbens {
    fn parts() -> Vec<&'static str> {
        vec![EVENTS, OBSERVATIONS]
    }

    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        if part == OBSERVATIONS {
            let told = self.observations > 0 && after.is_none();
            return if told { vec![(String::new(), self.observations.into())] } else { Vec::new() };
        }
        let known = self.known();
        let rest = known.links().records().filter(|(key, _)| after.is_none_or(|after| *key > after));
        let line = |(key, event): (&str, &EventRecord)| {
            let mut event = event.clone();
            if !known.is_whole(key) {
                records.get::<KeptConditions>(&conditions_key(key)).unwrap_or_default().put_into(&mut event);
            }
            Some((key.to_owned(), serde_json::to_value(Learned::of(known.links(), key, event)).ok()?))
        };
        rest.filter_map(line).take(limit).collect()
    }

    fn take_in(&self, entries: &[Entry], _names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut brought = Restored { restored: Vec::new(), observations: 0 };
        let mut hurt: BTreeMap<String, Timestamp> = BTreeMap::new();
        let mut took = Vec::new();
        for entry in entries {
            if entry.part == OBSERVATIONS {
                let count = entry.record.as_u64().ok_or_else(|| format!("{} isn't a count", entry.record));
                took.push(count.map(|count| {
                    brought.observations = brought.observations.max(count);
                    if count > self.observations { Took::Kept } else { Took::Merged }
                }));
                continue;
            }
            took.push(read(entry).map(|mut learned| {
                let here = self.links().record(&entry.key).map(|known| known.observations);
                if here.is_some_and(|here| here >= learned.event.observations) {
                    return Took::Merged;
                }
                if let Some(at) = hurt_at(&learned.event) {
                    let latest = hurt.entry(learned.event.kind.tool.clone()).or_insert(at);
                    *latest = at.max(*latest);
                }
                pulse.put(conditions_key(&entry.key), &KeptConditions::of(&learned.event));
                make_small(&mut learned.event);
                pulse.put(kind_key(&entry.key), &learned);
                brought.restored.push(learned);
                Took::Kept
            }));
        }
        if !brought.restored.is_empty() || brought.observations > self.observations {
            pulse.keep(NacEvent::Restored(Box::new(brought)));
        }
        for (tool, at) in hurt {
            pulse.emit(HurtRecalled { tool, at, forgotten: false });
        }
        took
    }
}

/// When an event was last found bad. If only its own value is bad, without what was around: when it last happened.
pub(super) fn hurt_at(event: &EventRecord) -> Option<Timestamp> {
    event.hurt.or_else(|| (Valence::of(event.value()) == Valence::Negative).then_some(event.last))
}
