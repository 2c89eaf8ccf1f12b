//! Links in an export, and back: an event with all that it led to is one record.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::units::Valence;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::model::{EventRecord, LinkTable};
use super::region::{NacEvent, NucleusAccumbens};
use crate::region::{Entry, Pulse, RecordView, Remembers, Took};

const EVENTS: &str = "events";
const OBSERVATIONS: &str = "observations";

/// An event as an export holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    event: EventRecord,
    /// Associative strength of the event as a cue, −1 to 1 and a little beyond.
    cue: Option<f64>,
}

/// What an import brought.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recalled {
    /// Of the table, if there is none yet.
    alpha: f64,
    learned: Vec<Learned>,
    observations: u64,
}

impl Recalled {
    pub(super) fn put(self, links: &mut Option<LinkTable>, observations: &mut u64) {
        *observations = (*observations).max(self.observations);
        if self.learned.is_empty() {
            return;
        }
        let links = links.get_or_insert_with(|| LinkTable::new(self.alpha));
        for Learned { event, cue } in self.learned {
            if let Some(cue) = cue {
                links.restore_cue(event.kind.key(), cue);
            }
            links.restore_record(event);
        }
    }
}

impl Learned {
    fn of(links: &LinkTable, key: &str, event: &EventRecord) -> Self {
        Self { event: event.clone(), cue: links.cue(key) }
    }

    fn read(entry: &Entry) -> Result<Self, String> {
        let learned: Self = serde_json::from_value(entry.record.clone())
            .map_err(|error| format!("it is no event with links: {error}"))?;
        let key = learned.event.kind.key();
        if key == entry.key { Ok(learned) } else { Err(format!("its key is {key:?}, not {:?}", entry.key)) }
    }
}

impl Remembers for NucleusAccumbens {
    fn parts() -> Vec<&'static str> {
        vec![EVENTS, OBSERVATIONS]
    }

    fn recall(&self, part: &str, after: Option<&str>, limit: usize, _records: &RecordView<'_>) -> Vec<(String, Json)> {
        if part == OBSERVATIONS {
            let told = self.observations > 0 && after.is_none();
            return if told { vec![(String::new(), self.observations.into())] } else { Vec::new() };
        }
        let Some(links) = self.links() else { return Vec::new() };
        let rest = links.records().filter(|(key, _)| after.is_none_or(|after| *key > after));
        let line = |(key, event): (&str, &EventRecord)| {
            Some((key.to_owned(), serde_json::to_value(Learned::of(links, key, event)).ok()?))
        };
        rest.filter_map(line).take(limit).collect()
    }

    fn take_in(&self, entries: &[Entry], pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut recalled = Recalled { alpha: pulse.settings().alpha, learned: Vec::new(), observations: 0 };
        let mut hurt: BTreeMap<String, Timestamp> = BTreeMap::new();
        let mut took = Vec::new();
        for entry in entries {
            if entry.part == OBSERVATIONS {
                let count = entry.record.as_u64().ok_or_else(|| format!("{} is no count", entry.record));
                took.push(count.map(|count| {
                    recalled.observations = recalled.observations.max(count);
                    if count > self.observations { Took::Kept } else { Took::Merged }
                }));
                continue;
            }
            took.push(Learned::read(entry).map(|learned| {
                let known = self.links().and_then(|links| links.record(&entry.key));
                if known.is_some_and(|known| known.observations >= learned.event.observations) {
                    return Took::Merged;
                }
                if let Some(at) = hurt_at(&learned.event) {
                    let latest = hurt.entry(learned.event.kind.tool.clone()).or_insert(at);
                    *latest = at.max(*latest);
                }
                recalled.learned.push(learned);
                Took::Kept
            }));
        }
        if !recalled.learned.is_empty() || recalled.observations > self.observations {
            pulse.keep(NacEvent::Recalled(Box::new(recalled)));
        }
        for (tool, at) in hurt {
            pulse.emit(HurtRecalled { tool, at });
        }
        took
    }
}

/// When an event was last found bad; of what was learned before that was noted, the last time at all if it is bad.
pub(super) fn hurt_at(event: &EventRecord) -> Option<Timestamp> {
    event.hurt.or_else(|| (Valence::of(event.value()) == Valence::Negative).then_some(event.last))
}
