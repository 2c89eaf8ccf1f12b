//! The state of the clocks and the times of acts, in an export and back. The bins of episodes follow from the episodes.

use serde_json::Value as Json;

use super::clocks::Clocks;
use super::region::{DOINGS, Doing, ScnEvent, SuprachiasmaticNucleus, doing_key};
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

/// One record. It comes first, so that earlier acts aren't learned twice.
const CLOCKS_PART: &str = "clocks";
const DOINGS_PART: &str = "doings";

impl SuprachiasmaticNucleus {
    /// The acts of the latest moments, oldest first.
    pub(super) fn doings(&self, records: &RecordView<'_>) -> Vec<Doing> {
        let oldest = self.done.saturating_sub(DOINGS as u32);
        (oldest..self.done).filter_map(|number| records.get(&doing_key(number))).collect()
    }
}

impl Remembers for SuprachiasmaticNucleus {
    fn parts() -> Vec<&'static str> {
        vec![CLOCKS_PART, DOINGS_PART]
    }

    /// Keys are positions in the order of experience.
    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        if part == CLOCKS_PART {
            let told = after.is_none() && limit > 0 && self.clocks.latest() != (None, None);
            let clocks = told.then(|| serde_json::to_value(&self.clocks).ok()).flatten();
            return clocks.map(|clocks| (CLOCKS_PART.to_owned(), clocks)).into_iter().collect();
        }
        let first = after.and_then(|after| after.parse::<usize>().ok()).map_or(0, |after| after + 1);
        let lines = self.doings(records).into_iter().enumerate().skip(first).take(limit);
        lines.filter_map(|(place, doing)| Some((format!("{place:04}"), serde_json::to_value(doing).ok()?))).collect()
    }

    /// A moment that is known at its place, or anywhere in a life that went another way, is the same one. Acts for
    /// which there is no room are older than all local ones.
    fn take_in(&self, entries: &[Entry], _names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut here = self.doings(pulse.records());
        let mut took = Vec::new();
        for entry in entries {
            if entry.part == CLOCKS_PART {
                took.push(self.take_clocks(entry, pulse));
                continue;
            }
            took.push(read(entry).map(|(place, doing)| {
                let is_here = || here.iter().any(|known| known.is_same(&doing));
                let known = here.get(place).is_some_and(|known| known.is_same(&doing) || is_here());
                if known || here.len() >= DOINGS {
                    return Took::Merged;
                }
                self.did(here.len() as u32, &doing, pulse);
                here.push(doing);
                Took::Kept
            }));
        }
        took
    }
}

impl SuprachiasmaticNucleus {
    /// Clocks that were set later know more; of clocks that were never set, those that know of later moments.
    fn take_clocks(&self, entry: &Entry, pulse: &mut Pulse<'_, Self>) -> Result<Took, String> {
        let clocks = serde_json::from_value::<Clocks>(entry.record.clone()).ok().filter(Clocks::are_sound);
        let clocks = clocks.ok_or("these aren't clocks of day, week, month and year")?;
        if clocks.latest() <= self.clocks.latest() {
            return Ok(Took::Merged);
        }
        pulse.keep(ScnEvent::ClocksTaken(Box::new(clocks)));
        Ok(Took::Kept)
    }
}

fn read(entry: &Entry) -> Result<(usize, Doing), String> {
    let place = entry.key.parse().map_err(|_| format!("{:?} isn't a position", entry.key))?;
    let doing = serde_json::from_value(entry.record.clone()).map_err(|error| format!("it isn't an action: {error}"))?;
    Ok((place, doing))
}
