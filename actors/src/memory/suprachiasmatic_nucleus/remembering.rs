//! What was done when, in an export and back. In which bins episodes lie follows from the episodes.

use serde_json::Value as Json;

use super::region::{DOINGS, Doing, ScnEvent, SuprachiasmaticNucleus, doing_key};
use crate::region::{Entry, Pulse, RecordView, Remembers, Took};

const DOINGS_PART: &str = "doings";

impl SuprachiasmaticNucleus {
    /// What was done in the latest moments, the oldest first.
    fn doings(&self, records: &RecordView<'_>) -> Vec<Doing> {
        let oldest = self.done.saturating_sub(DOINGS as u32);
        (oldest..self.done).filter_map(|number| records.get(&doing_key(number))).collect()
    }
}

impl Remembers for SuprachiasmaticNucleus {
    fn parts() -> Vec<&'static str> {
        vec![DOINGS_PART]
    }

    /// Keys are places in the order of experience.
    fn recall(&self, _part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        let first = after.and_then(|after| after.parse::<usize>().ok()).map_or(0, |after| after + 1);
        let lines = self.doings(records).into_iter().enumerate().skip(first).take(limit);
        lines.filter_map(|(place, doing)| Some((format!("{place:04}"), serde_json::to_value(doing).ok()?))).collect()
    }

    /// A moment that is known at its place, or anywhere in a life that went another way, is the same one. What no longer
    /// has room was before all that is here.
    fn take_in(&self, entries: &[Entry], pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut here = self.doings(pulse.records());
        let mut took = Vec::new();
        for entry in entries {
            took.push(read(entry).map(|(place, doing)| {
                let known = here.get(place).is_some_and(|known| *known == doing || here.contains(&doing));
                if known || here.len() >= DOINGS {
                    return Took::Merged;
                }
                pulse.put(doing_key(here.len() as u32), &doing);
                pulse.keep(ScnEvent::Did);
                here.push(doing);
                Took::Kept
            }));
        }
        took
    }
}

fn read(entry: &Entry) -> Result<(usize, Doing), String> {
    let place = entry.key.parse().map_err(|_| format!("{:?} is no place", entry.key))?;
    let doing = serde_json::from_value(entry.record.clone()).map_err(|error| format!("it is no doing: {error}"))?;
    Ok((place, doing))
}
