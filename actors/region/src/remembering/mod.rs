//! A room's memory, as lines of an export that can be imported again.
//!
//! A line names its layer (the room), a part of it and a key, and contains the record. Keys are those of the room
//! itself, so a repeated line changes nothing. The room decides which of two records with one key stays. The common law
//! is: the one with more experience, and of equals the present one.

mod carrying;
mod refused;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::Trust;
use maxim_bus::signals::concepts::MemoryRef;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, Named, RecordsExported, RecordsImported, Wanting};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Emits, Hears, Pulse, RecordView, Region, lines};

use refused::Refused;

pub use carrying::{Carried, Carrying, Lines, NextStep};
pub use state::{Law, RemembersInState, StatePart, StatePuts, part};

/// Records of one page, at most.
const MOST: usize = 1000;
/// Records that a room is asked for at once, so that large ones are not read for a full page.
const AT_ONCE: usize = 64;
/// Bytes of a page after which no more records are added.
const PAGE_BYTES: usize = 1 << 20;

/// A record with its part and key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub part: String,
    pub key: String,
    pub record: Json,
}

/// The result of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Took {
    Kept,
    /// Known already, with as much experience or more.
    Merged,
    /// It names these records, and the local names of some aren't known yet: the line must come again with all names.
    Wanting(Vec<MemoryRef>),
}

/// Local names of a file's records. Each brain gives ids in sequence, so the file's ids may belong to other records
/// here.
#[derive(Debug, Default)]
pub struct Names {
    given: BTreeMap<MemoryRef, Option<String>>,
    told: Vec<Named>,
}

impl Names {
    fn new(given: &[Named]) -> Self {
        let given = given.iter().map(|named| (named.record.clone(), named.here.clone())).collect();
        Self { given, told: Vec::new() }
    }

    /// The local name of a record; `None` if unknown yet, `Some(None)` if it isn't here.
    pub fn here(&self, record: &MemoryRef) -> Option<Option<&str>> {
        self.given.get(record).map(Option::as_deref)
    }

    /// True if it is known that a record isn't here, or that its id belongs to another.
    pub fn is_refused(&self, record: &MemoryRef) -> bool {
        self.here(record) == Some(None)
    }

    /// Reports the local name of a record of the file.
    pub fn tell(&mut self, record: MemoryRef, here: String) {
        self.given.insert(record.clone(), Some(here.clone()));
        self.told.push(Named { record, here: Some(here) });
    }
}

/// A room that owns memory. Knowledge from other rooms isn't its own: those rooms tell it again after an import.
pub trait Remembers: Region {
    /// Its parts, in export order: a part comes before the parts that refer to it.
    fn parts() -> Vec<&'static str>;

    /// Keys and records of a part after a key, in an order that is the same in all brains that have them.
    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)>;

    /// Takes entries, no two with the same part and key. Returns the result of each, or why it was refused. `names`
    /// gives the local names of records that they mention.
    fn take_in(&self, entries: &[Entry], names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>>;
}

/// A line as written.
#[derive(Serialize)]
struct Line<'a> {
    layer: &'a str,
    part: &'a str,
    key: &'a str,
    record: &'a Json,
}

/// A line as read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadLine {
    layer: String,
    part: String,
    key: String,
    record: Json,
}

/// The layer in a line of an export; `None` for other lines. Another program may have changed the order of the members.
pub fn layer_of(line: &str) -> Option<String> {
    lines::member(line, "layer").and_then(|layer| serde_json::from_str(layer.get()).ok())
}

impl<R: Remembers + Emits<RecordsExported>> Hears<ExportRecords> for R {
    fn hear(&self, wish: &ExportRecords, pulse: &mut Pulse<'_, Self>) {
        let limit = wish.limit.clamp(1, MOST);
        let mut after = wish.after.as_deref().and_then(|place| place.split_once('/'));
        let parts = R::parts();
        let first = after.and_then(|(part, _)| parts.iter().position(|known| *known == part)).unwrap_or(0);
        let (mut answer, mut bytes) = (RecordsExported::default(), 0);
        'pages: for part in &parts[first..] {
            let mut at = after.take().filter(|(of, _)| of == part).map(|(_, key)| key.to_owned());
            loop {
                let wanted = (limit - answer.lines.len()).min(AT_ONCE);
                let found = self.recall(part, at.as_deref(), wanted, pulse.records());
                if found.is_empty() {
                    break;
                }
                for (key, record) in found {
                    // Plain data: serialising it to JSON can't fail.
                    let line = serde_json::to_string(&Line { layer: R::NAME, part, key: &key, record: &record });
                    let line = line.unwrap_or_default();
                    bytes += line.len();
                    answer.lines.push(line);
                    if answer.lines.len() >= limit || bytes >= PAGE_BYTES {
                        answer.next = Some(format!("{part}/{key}"));
                        break 'pages;
                    }
                    at = Some(key);
                }
            }
        }
        pulse.reply(answer);
    }
}

fn read<R: Remembers>(line: &str) -> Result<Entry, String> {
    let ReadLine { layer, part, key, record } = lines::object_in(line)?;
    if layer != R::NAME {
        return Err(format!("the line is of layer {layer:?}, not of {:?}", R::NAME));
    }
    if !R::parts().contains(&part.as_str()) {
        return Err(format!("{layer} has no part {part:?}; its parts are {}", R::parts().join(", ")));
    }
    Ok(Entry { part, key, record })
}

impl<R: Remembers + Emits<RecordsImported>> Hears<ImportRecords> for R {
    fn hear(&self, wish: &ImportRecords, pulse: &mut Pulse<'_, Self>) {
        let mut answer = RecordsImported::default();
        // Whatever else reaches the bus: only the owner may import memories.
        if pulse.trust() < Trust::Owner {
            let reason = "only the owner may import memories";
            answer.bad = wish.lines.iter().map(|(number, _)| (*number, reason.to_owned())).collect();
            pulse.reply(answer);
            return;
        }
        let (mut numbers, mut entries, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        let refused = Refused::among(&wish.names);
        for (number, line) in &wish.lines {
            match read::<R>(line) {
                Err(reason) => answer.bad.push((*number, reason)),
                Ok(entry) if !seen.insert((entry.part.clone(), entry.key.clone())) => {
                    answer.bad.push((*number, format!("{} {:?} came earlier in this file", entry.part, entry.key)));
                }
                Ok(mut entry) => {
                    refused.leave_out_of(&mut entry.record);
                    numbers.push(*number);
                    entries.push(entry);
                }
            }
        }
        let mut names = Names::new(&wish.names);
        for (line, took) in numbers.into_iter().zip(self.take_in(&entries, &mut names, pulse)) {
            match took {
                Ok(Took::Kept) => answer.kept += 1,
                Ok(Took::Merged) => answer.merged += 1,
                Ok(Took::Wanting(records)) => answer.wanting.push(Wanting { line, records }),
                Err(reason) => answer.bad.push((line, reason)),
            }
        }
        answer.names = names.told;
        pulse.reply(answer);
    }
}
