//! Uses of episodes since the last sleep, in an export and back. Episodes themselves have a separate way
//! (`exporting.rs`, `importing.rs`), because they are many.

use maxim_bus::signals::concepts::{Layer, MemoryRef};
use serde_json::Value as Json;

use super::events::HippocampusEvent;
use super::model::EpisodicMemory;
use super::records::{episode_key, id_key};
use super::region::Hippocampus;
use super::sleeping::Access;
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

impl Remembers for Hippocampus {
    fn parts() -> Vec<&'static str> {
        vec!["uses"]
    }

    /// In the episodes' order.
    fn recall(&self, _part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        let after = after.and_then(|id| records.get::<u32>(&id_key(id)));
        let rest = self.accesses.iter().filter(|(document, _)| after.is_none_or(|after| **document > after));
        let lines = rest.filter_map(|(document, access)| {
            let episode = records.get::<EpisodicMemory>(&episode_key(*document))?;
            Some((episode.id, serde_json::to_value(access).ok()?))
        });
        lines.take(limit).collect()
    }

    fn take_in(&self, entries: &[Entry], names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut uses = Vec::new();
        let mut took = Vec::new();
        for entry in entries {
            let read = serde_json::from_value::<Access>(entry.record.clone());
            let read = read.map_err(|error| format!("these aren't uses of an episode: {error}"));
            took.push(read.and_then(|access| {
                let episode = MemoryRef::new(Layer::Hippocampus, entry.key.clone());
                let document = pulse.record::<u32>(&id_key(&entry.key)).filter(|_| !names.is_refused(&episode));
                // Its line may come later, or wait itself for its linked episodes.
                if document.is_none() && names.here(&episode).is_none() {
                    return Ok(Took::Wanting(vec![episode]));
                }
                let document = document.ok_or_else(|| format!("there is no episode {:?} here", entry.key))?;
                let known = self.accesses.get(&document);
                let both = known.map_or(access, |known| known.or_more(access));
                if known == Some(&both) {
                    return Ok(Took::Merged);
                }
                uses.push((document, both));
                Ok(Took::Kept)
            }));
        }
        if !uses.is_empty() {
            pulse.keep(HippocampusEvent::UsesRecalled { uses });
        }
        took
    }
}
