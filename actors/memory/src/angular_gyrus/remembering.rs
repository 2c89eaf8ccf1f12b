//! Numerical knowledge in an export and back. Built-in knowledge is the same everywhere.

use maxim_bus::signals::concepts::{Layer, MemoryRef};
use maxim_bus::signals::numbers::{MathRecord, MathRecordStored, is_innate};
use serde_json::Value as Json;

use super::model::CAPACITY;
use super::region::{AngularGyrus, GyrusEvent, record_key};
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

impl Remembers for AngularGyrus {
    fn parts() -> Vec<&'static str> {
        vec!["records"]
    }

    /// Includes uses that are not yet in the records on disk.
    fn recall(&self, _part: &str, after: Option<&str>, limit: usize, _records: &RecordView<'_>) -> Vec<(String, Json)> {
        let rest = self.memory().learned().filter(|record| after.is_none_or(|after| record.id.as_str() > after));
        rest.filter_map(|record| Some((record.id.clone(), serde_json::to_value(record).ok()?))).take(limit).collect()
    }

    /// A record is known by its name, because its id was given in another brain.
    fn take_in(&self, entries: &[Entry], names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut fresh: Vec<MathRecord> = Vec::new();
        let mut took = Vec::new();
        for entry in entries {
            took.push(read(entry).and_then(|mut record| {
                let theirs = MemoryRef::new(Layer::AngularGyrus, record.id.clone());
                let known =
                    self.memory().named(&record.name).or_else(|| fresh.iter().find(|one| one.name == record.name));
                if let Some(known) = known {
                    names.tell(theirs, known.id.clone());
                    return Ok(Took::Merged);
                }
                if self.memory().learned().count() + fresh.len() >= CAPACITY {
                    return Err(format!("there is no room for more than {CAPACITY} records"));
                }
                if self.memory().get(&record.id).is_some() || fresh.iter().any(|one| one.id == record.id) {
                    record.id = pulse.fresh_id().to_string();
                }
                // An episode of that id is a different one here.
                let is_refused = |id: &String| names.is_refused(&MemoryRef::new(Layer::Hippocampus, id.clone()));
                let before = record.episodes.len();
                record.episodes.retain(|id| !is_refused(id));
                record.others |= record.episodes.len() < before;
                names.tell(theirs, record.id.clone());
                fresh.push(record);
                Ok(Took::Kept)
            }));
        }
        for record in fresh {
            pulse.put(record_key(&record.id), &record);
            pulse.emit(MathRecordStored {
                id: record.id.clone(),
                name: record.name.clone(),
                category: record.category,
            });
            pulse.keep(GyrusEvent::Stored(Box::new(record)));
        }
        took
    }
}

fn read(entry: &Entry) -> Result<MathRecord, String> {
    let record: MathRecord = serde_json::from_value(entry.record.clone())
        .map_err(|error| format!("it isn't a record of numbers: {error}"))?;
    if record.id != entry.key || record.id.is_empty() || is_innate(&record.id) {
        return Err(format!("{:?} isn't the id of a learned record, or differs from its key", record.id));
    }
    Ok(record)
}
