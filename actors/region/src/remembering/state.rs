//! A room whose memory is in its root state: which members are memory, and the law by which two of them become one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Entry, Names, Remembers, Took};
use crate::{Pulse, RecordView, Region};

/// How the records of a part of a state become lines, and what happens with a known one. `evidence` names the members
/// of a record that count its evidence; a record that is a number is its own count.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// A map, one line per entry.
    Each { most: usize, evidence: &'static [&'static str] },
    /// A map by sequence numbers, whose entries are equal if these members are. `next` names the member with the next
    /// number.
    Numbered { most: usize, next: &'static str, same: &'static [&'static str], evidence: &'static [&'static str] },
    /// A set of texts.
    Names { most: usize },
    /// One record, taken if nothing was learned yet.
    Whole,
    /// A count; the larger one stays.
    Count,
    /// The newest of a stream, in one line: imported entries are older than present ones.
    Window { most: usize },
}

/// A part of a state that is memory: the member of this name.
#[derive(Clone, Copy, Debug)]
pub struct StatePart {
    pub name: &'static str,
    pub law: Law,
}

/// Shorthand for a table of parts.
pub const fn part(name: &'static str, law: Law) -> StatePart {
    StatePart { name, law }
}

/// A room whose memory is part of its root state.
pub trait RemembersInState: Region {
    const PARTS: &'static [StatePart];

    /// The event that applies an import.
    fn imported(puts: StatePuts) -> Self::Event;

    /// Tells others what an import changed, if they were told the earlier value.
    fn tell(&self, _after: &Self, _pulse: &mut Pulse<'_, Self>) {}
}

/// Values that an import writes into a state. Each was tested on it first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatePuts {
    puts: Vec<StatePut>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StatePut {
    member: String,
    /// For a map; without it the whole member is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    value: Json,
}

impl StatePut {
    fn member(name: &str, value: Json) -> Self {
        Self { member: name.to_owned(), key: None, value }
    }

    fn entry(name: &str, key: &str, value: Json) -> Self {
        Self { member: name.to_owned(), key: Some(key.to_owned()), value }
    }

    fn put(&self, root: &mut Json) {
        let place = match &self.key {
            Some(key) => &mut root[self.member.as_str()][key.as_str()],
            None => &mut root[self.member.as_str()],
        };
        *place = self.value.clone();
    }
}

impl StatePuts {
    fn on<R: Region>(&self, mut root: Json) -> Result<R, serde_json::Error> {
        self.puts.iter().for_each(|put| put.put(&mut root));
        serde_json::from_value(root)
    }

    /// Writes them into the state.
    pub fn apply_to<R: Region>(&self, state: &mut R) {
        match self.on::<R>(json_of(state)) {
            Ok(after) => *state = after,
            Err(error) => tracing::error!(region = R::NAME, %error, "an imported value doesn't fit; it is left out"),
        }
    }
}

fn json_of<R: Region>(state: &R) -> Json {
    // A root state is written as JSON with every snapshot, so this can't fail.
    serde_json::to_value(state).unwrap_or_default()
}

/// The amount of experience in a record.
fn evidence(record: &Json, members: &[&str]) -> u64 {
    match record.as_u64() {
        Some(count) => count,
        None => members.iter().filter_map(|member| record[*member].as_u64()).sum(),
    }
}

fn by_key(map: &Json) -> impl Iterator<Item = (&String, &Json)> {
    map.as_object().into_iter().flatten()
}

impl StatePart {
    fn recall(&self, state: &Json, untaught: &Json) -> Vec<(String, Json)> {
        let value = &state[self.name];
        let mut lines: Vec<(String, Json)> = match self.law {
            Law::Each { .. } | Law::Numbered { .. } => {
                by_key(value).map(|(key, record)| (key.clone(), record.clone())).collect()
            }
            Law::Names { .. } => {
                let names = value.as_array().into_iter().flatten().filter_map(Json::as_str);
                names.map(|name| (name.to_owned(), true.into())).collect()
            }
            Law::Whole | Law::Count | Law::Window { .. } if *value == untaught[self.name] => Vec::new(),
            Law::Whole | Law::Count | Law::Window { .. } => vec![(String::new(), value.clone())],
        };
        lines.sort_by(|a, b| a.0.cmp(&b.0));
        lines
    }

    /// The values that an entry puts into the state; empty if it is known.
    fn take(&self, state: &Json, untaught: &Json, entry: &Entry) -> Result<Vec<StatePut>, String> {
        let (Entry { key, record, .. }, here) = (entry, &state[self.name]);
        let full = |most: usize| {
            let count = here.as_object().map_or_else(|| here.as_array().map_or(0, Vec::len), |map| map.len());
            if count < most { Ok(()) } else { Err(format!("there is no room for more than {most} {}", self.name)) }
        };
        Ok(match self.law {
            Law::Each { most, evidence: members } => match here.get(key) {
                Some(known) if evidence(known, members) >= evidence(record, members) => Vec::new(),
                Some(_) => vec![StatePut::entry(self.name, key, record.clone())],
                None => {
                    full(most)?;
                    vec![StatePut::entry(self.name, key, record.clone())]
                }
            },
            Law::Numbered { most, next, same, evidence: members } => {
                let number: u64 = key.parse().map_err(|_| format!("{key:?} isn't a number"))?;
                let alike = |known: &Json| same.iter().all(|member| known[*member] == record[*member]);
                match by_key(here).find(|(_, known)| alike(known)) {
                    Some((_, known)) if evidence(known, members) >= evidence(record, members) => Vec::new(),
                    Some((key, _)) => vec![StatePut::entry(self.name, key, record.clone())],
                    None => {
                        full(most)?;
                        let free = state[next].as_u64().unwrap_or(0);
                        let number = if here.get(key).is_some() { free } else { number };
                        let after = free.max(number.saturating_add(1));
                        let entry = StatePut::entry(self.name, &number.to_string(), record.clone());
                        vec![entry, StatePut::member(next, after.into())]
                    }
                }
            }
            Law::Names { most } => {
                let mut names: BTreeSet<&str> =
                    here.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
                if !names.contains(key.as_str()) {
                    full(most)?;
                }
                if names.insert(key) {
                    vec![StatePut::member(self.name, names.into_iter().collect())]
                } else {
                    Vec::new()
                }
            }
            Law::Whole if *here == untaught[self.name] && here != record => {
                vec![StatePut::member(self.name, record.clone())]
            }
            Law::Whole => Vec::new(),
            Law::Count => {
                let count = record.as_u64().ok_or_else(|| format!("{} is a whole number, not {record}", self.name))?;
                let known = here.as_u64().unwrap_or(0);
                if count > known { vec![StatePut::member(self.name, count.into())] } else { Vec::new() }
            }
            Law::Window { most } => {
                let before = record.as_array().ok_or_else(|| format!("{} is a list, not {record}", self.name))?;
                let here = here.as_array().map(Vec::as_slice).unwrap_or_default();
                let joined = joined(before, here, most);
                if joined == here { Vec::new() } else { vec![StatePut::member(self.name, joined.into())] }
            }
        })
    }
}

/// Two parts of one stream, the earlier first, which may overlap; the newest `most` of them.
pub(super) fn joined(before: &[Json], here: &[Json], most: usize) -> Vec<Json> {
    let longest = before.len().min(here.len());
    let shared = (0..=longest).rev().find(|shared| before[before.len() - shared..] == here[..*shared]).unwrap_or(0);
    let all: Vec<Json> = before[..before.len() - shared].iter().chain(here).cloned().collect();
    all[all.len().saturating_sub(most)..].to_vec()
}

impl<R: RemembersInState> Remembers for R {
    fn parts() -> Vec<&'static str> {
        R::PARTS.iter().map(|part| part.name).collect()
    }

    fn recall(&self, part: &str, after: Option<&str>, limit: usize, _records: &RecordView<'_>) -> Vec<(String, Json)> {
        let Some(part) = R::PARTS.iter().find(|known| known.name == part) else { return Vec::new() };
        let lines = part.recall(&json_of(self), &json_of(&R::default()));
        let rest = lines.into_iter().filter(|(key, _)| after.is_none_or(|after| key.as_str() > after));
        rest.take(limit).collect()
    }

    fn take_in(&self, entries: &[Entry], _names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let (mut state, untaught) = (json_of(self), json_of(&R::default()));
        let mut puts = StatePuts::default();
        let mut took = Vec::new();
        for entry in entries {
            let Some(part) = R::PARTS.iter().find(|part| part.name == entry.part) else { continue };
            let taken = part.take(&state, &untaught, entry).and_then(|taken| {
                let tried = StatePuts { puts: taken };
                let fits = tried.on::<R>(untaught.clone());
                fits.map_err(|error| format!("the record is not valid for {} in {}: {error}", part.name, R::NAME))?;
                Ok(tried.puts)
            });
            took.push(taken.map(|taken| {
                let known = taken.is_empty();
                taken.iter().for_each(|put| put.put(&mut state));
                puts.puts.extend(taken);
                if known { Took::Merged } else { Took::Kept }
            }));
        }
        if let (false, Ok(after)) = (puts.puts.is_empty(), serde_json::from_value::<R>(state)) {
            self.tell(&after, pulse);
            pulse.keep(R::imported(puts));
        }
        took
    }
}
