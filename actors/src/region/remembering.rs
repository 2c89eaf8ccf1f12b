//! What a room remembers, as lines of an export that come back.
//!
//! A line names its layer (the room), a part of it and a key, and holds the record. Keys are those that the room itself
//! knows a record by, so a line that comes twice changes nothing the second time. Which of two records with one key stays
//! is the room's to say; the law of all is that the one from more experience does, and of equals the one that is here.

use std::collections::BTreeSet;

use maxim_bus::Trust;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Emits, Hears, Pulse, RecordView, Region, lines};

/// Records of one page, at most.
const MOST: usize = 1000;
/// Bytes of a page after which no further record joins it.
const PAGE_BYTES: usize = 1 << 20;

/// A record by its part and key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub part: String,
    pub key: String,
    pub record: Json,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    Kept,
    /// Known here already, from as much experience or more.
    Merged,
}

/// A room that owns memory. What others have told it isn't its own: whoever told it tells it again after an import.
pub trait Remembers: Region {
    /// Its parts, in the order of an export: what others of its parts rest on comes first.
    fn parts() -> Vec<&'static str>;

    /// Keys and records of a part after a key, in an order that is the same in each place that holds them.
    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)>;

    /// Takes entries in, no two of them with one part and key; of each it says what became of it, or why it can't be
    /// taken.
    fn take_in(&self, entries: &[Entry], pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>>;
}

/// A line as it is written.
#[derive(Serialize)]
struct Line<'a> {
    layer: &'a str,
    part: &'a str,
    key: &'a str,
    record: &'a Json,
}

/// A line as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadLine {
    layer: String,
    part: String,
    key: String,
    record: Json,
}

/// The layer that a line of an export names as its first member; none for a line of another kind.
pub fn layer_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"layer\"")?;
    let name = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    name.split_once('"').map(|(name, _)| name)
}

impl<R: Remembers + Emits<RecordsExported>> Hears<ExportRecords> for R {
    fn hear(&self, wish: &ExportRecords, pulse: &mut Pulse<'_, Self>) {
        let limit = wish.limit.clamp(1, MOST);
        let mut after = wish.after.as_deref().and_then(|place| place.split_once('/'));
        let parts = R::parts();
        let first = after.and_then(|(part, _)| parts.iter().position(|known| *known == part)).unwrap_or(0);
        let (mut answer, mut bytes) = (RecordsExported::default(), 0);
        'pages: for part in &parts[first..] {
            let key = after.take().filter(|(of, _)| of == part).map(|(_, key)| key);
            for (key, record) in self.recall(part, key, limit - answer.lines.len(), pulse.records()) {
                // Plain data: JSON refuses nothing in it.
                let line = serde_json::to_string(&Line { layer: R::NAME, part, key: &key, record: &record });
                let line = line.unwrap_or_default();
                bytes += line.len();
                answer.lines.push(line);
                if answer.lines.len() >= limit || bytes >= PAGE_BYTES {
                    answer.next = Some(format!("{part}/{key}"));
                    break 'pages;
                }
            }
        }
        pulse.reply(answer);
    }
}

fn read<R: Remembers>(line: &str) -> Result<Entry, String> {
    let ReadLine { layer, part, key, record } = lines::object_in(line)?;
    if layer != R::NAME {
        return Err(format!("it is of {layer:?}, not of {:?}", R::NAME));
    }
    if !R::parts().contains(&part.as_str()) {
        return Err(format!("{layer} has no part {part:?}; its parts are {}", R::parts().join(", ")));
    }
    Ok(Entry { part, key, record })
}

impl<R: Remembers + Emits<RecordsImported>> Hears<ImportRecords> for R {
    fn hear(&self, wish: &ImportRecords, pulse: &mut Pulse<'_, Self>) {
        let mut answer = RecordsImported::default();
        // Whatever else reaches the bus: nobody brings memories in but the owner.
        if pulse.trust() < Trust::Owner {
            let reason = "only the owner's word brings memories in";
            answer.bad = wish.lines.iter().map(|(number, _)| (*number, reason.to_owned())).collect();
            pulse.reply(answer);
            return;
        }
        let (mut numbers, mut entries, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (number, line) in &wish.lines {
            match read::<R>(line) {
                Err(reason) => answer.bad.push((*number, reason)),
                Ok(entry) if !seen.insert((entry.part.clone(), entry.key.clone())) => {
                    answer.bad.push((*number, format!("{} {:?} came before in this file", entry.part, entry.key)));
                }
                Ok(entry) => {
                    numbers.push(*number);
                    entries.push(entry);
                }
            }
        }
        for (number, took) in numbers.into_iter().zip(self.take_in(&entries, pulse)) {
            match took {
                Ok(Took::Kept) => answer.kept += 1,
                Ok(Took::Merged) => answer.merged += 1,
                Err(reason) => answer.bad.push((number, reason)),
            }
        }
        pulse.reply(answer);
    }
}

/// How the records of a part of a state become lines, and what happens when one is known already. Counts of evidence are
/// named by the members of a record that hold them; a record that is a number is its own count.
#[derive(Clone, Copy, Debug)]
pub enum Law {
    /// A map, a line an entry.
    Each { most: usize, evidence: &'static [&'static str] },
    /// A map by running numbers, whose entries are the same where these members are. The named member holds the next number.
    Numbered { most: usize, next: &'static str, same: &'static [&'static str], evidence: &'static [&'static str] },
    /// A set of texts.
    Names { most: usize },
    /// One record, taken where nothing was learned yet.
    Whole,
    /// A count; the greater one stays.
    Count,
    /// The newest of a stream, in one line: what is imported was before what is here.
    Window { most: usize },
}

/// A part of a state that is memory: the member of that name.
#[derive(Clone, Copy, Debug)]
pub struct StatePart {
    pub name: &'static str,
    pub law: Law,
}

/// Shorthand for a table of parts.
pub const fn part(name: &'static str, law: Law) -> StatePart {
    StatePart { name, law }
}

/// A room whose memory lies in its root state.
pub trait RemembersInState: Region {
    const PARTS: &'static [StatePart];

    /// The event of an import.
    fn imported(puts: StatePuts) -> Self::Event;

    /// Tells others what an import changed, where they were told it before.
    fn tell(&self, _after: &Self, _pulse: &mut Pulse<'_, Self>) {}
}

/// Values that an import puts into a state; each was tried on it before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatePuts {
    puts: Vec<StatePut>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StatePut {
    member: String,
    /// Of a map; without it the member is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

    /// Puts them into the state.
    pub fn apply_to<R: Region>(&self, state: &mut R) {
        match self.on::<R>(json_of(state)) {
            Ok(after) => *state = after,
            Err(error) => tracing::error!(region = R::NAME, %error, "what was imported doesn't fit; it is left out"),
        }
    }
}

fn json_of<R: Region>(state: &R) -> Json {
    // A root state is written as JSON with every snapshot.
    serde_json::to_value(state).unwrap_or_default()
}

/// How much experience a record holds.
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

    /// What an entry puts into the state; nothing where it is known.
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
                let number: u64 = key.parse().map_err(|_| format!("{key:?} is no number"))?;
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

/// Two stretches of one stream, the earlier first, whose end and beginning may be the same; the newest `most` of them.
fn joined(before: &[Json], here: &[Json], most: usize) -> Vec<Json> {
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

    fn take_in(&self, entries: &[Entry], pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let (mut state, untaught) = (json_of(self), json_of(&R::default()));
        let mut puts = StatePuts::default();
        let mut took = Vec::new();
        for entry in entries {
            let Some(part) = R::PARTS.iter().find(|part| part.name == entry.part) else { continue };
            let taken = part.take(&state, &untaught, entry).and_then(|taken| {
                let tried = StatePuts { puts: taken };
                let fits = tried.on::<R>(untaught.clone());
                fits.map_err(|error| format!("it is no record of {} in {}: {error}", part.name, R::NAME))?;
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use maxim_bus::{RegionName, Stage};
    use serde_json::json;

    use super::*;
    use crate::region::Card;
    use crate::region::rig::{Rig, ear};
    use crate::wiring;

    /// A room with a part of each law.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Pupil {
        words: BTreeMap<String, Word>,
        plans: BTreeMap<u64, Word>,
        next: u64,
        names: BTreeSet<String>,
        weights: [f64; 2],
        lessons: u64,
        newest: VecDeque<String>,
        /// Work under way.
        open: u64,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Word {
        said: String,
        times: u32,
    }

    #[derive(Debug, Serialize, Deserialize)]
    enum PupilEvent {
        Imported(StatePuts),
    }

    wiring!(Pupil { hears: [ExportRecords, ImportRecords], back: [], emits: [RecordsExported, RecordsImported] });

    impl Region for Pupil {
        const NAME: RegionName = "pupil";
        const STAGE: Stage = Stage::Learning;
        type Event = PupilEvent;
        type Settings = ();

        fn card() -> Card<Self> {
            Self::wiring()
        }

        fn apply(&mut self, event: PupilEvent) {
            let PupilEvent::Imported(puts) = event;
            puts.apply_to(self);
        }
    }

    impl RemembersInState for Pupil {
        const PARTS: &'static [StatePart] = &[
            part("words", Law::Each { most: 3, evidence: &["times"] }),
            part("plans", Law::Numbered { most: 3, next: "next", same: &["said"], evidence: &["times"] }),
            part("names", Law::Names { most: 3 }),
            part("weights", Law::Whole),
            part("lessons", Law::Count),
            part("newest", Law::Window { most: 4 }),
        ];

        fn imported(puts: StatePuts) -> PupilEvent {
            PupilEvent::Imported(puts)
        }
    }

    fn pupil() -> Rig<Pupil> {
        Rig::new((), |bus, probe| {
            ear::<RecordsExported>(bus, probe);
            ear::<RecordsImported>(bus, probe);
        })
    }

    fn import(rig: &mut Rig<Pupil>, lines: &[String]) -> RecordsImported {
        rig.send(ImportRecords { lines: (1..).zip(lines.iter().cloned()).collect() });
        rig.heard::<RecordsImported>().remove(0)
    }

    fn exported(rig: &mut Rig<Pupil>, limit: usize) -> Vec<String> {
        let (mut lines, mut after) = (Vec::new(), None);
        loop {
            rig.send(ExportRecords { after, limit });
            let page = rig.heard::<RecordsExported>().remove(0);
            lines.extend(page.lines);
            after = page.next;
            if after.is_none() {
                return lines;
            }
        }
    }

    fn line(part: &str, key: &str, record: Json) -> String {
        let line = serde_json::to_string(&Line { layer: "pupil", part, key, record: &record });
        line.expect("plain data")
    }

    fn word(said: &str, times: u32) -> Json {
        json!({"said": said, "times": times})
    }

    fn taught() -> Vec<String> {
        vec![
            line("words", "a/b", word("x", 2)),
            line("words", "c", word("y", 1)),
            line("plans", "0", word("walk", 1)),
            line("plans", "7", word("run", 3)),
            line("names", "anna", true.into()),
            line("weights", "", json!([0.1, 0.30000000000000004])),
            line("lessons", "", 5.into()),
            line("newest", "", json!(["k", "l", "l"])),
        ]
    }

    #[test]
    fn what_is_exported_comes_back_in_pages_of_any_size_once_and_over_a_crash() {
        let mut rig = pupil();
        assert!(exported(&mut rig, 10).is_empty(), "who knows nothing exports nothing");
        assert_eq!(import(&mut rig, &taught()), RecordsImported { kept: 8, ..RecordsImported::default() });
        assert_eq!(rig.region().next, 8, "new plans come behind");
        for limit in [1, 3, 100] {
            assert_eq!(exported(&mut rig, limit), taught());
        }
        assert_eq!(import(&mut rig, &taught()), RecordsImported { merged: 8, ..RecordsImported::default() });
        rig.crash();
        assert_eq!(exported(&mut rig, 100), taught());
    }

    #[test]
    fn of_two_records_the_one_of_more_experience_stays() {
        let mut rig = pupil();
        import(&mut rig, &taught());
        let other = [
            line("words", "a/b", word("less", 1)),
            line("words", "c", word("more", 2)),
            line("plans", "3", word("run", 4)),
            line("plans", "0", word("swim", 1)),
            line("names", "ben", true.into()),
            line("weights", "", json!([9.0, 9.0])),
            line("lessons", "", 4.into()),
            line("newest", "", json!(["h", "i", "k"])),
        ];
        let done = import(&mut rig, &other);
        assert_eq!((done.kept, done.merged, done.bad.len()), (5, 3, 0), "{done:?}");
        let pupil = rig.region();
        let said = |word: &Word| (word.said.clone(), word.times);
        assert_eq!(pupil.words.values().map(said).collect::<Vec<_>>(), [("x".into(), 2), ("more".into(), 2)]);
        let plans: Vec<(u64, String)> = pupil.plans.iter().map(|(number, word)| (*number, word.said.clone())).collect();
        assert_eq!(
            plans,
            [(0, "walk".into()), (7, "run".into()), (8, "swim".into())],
            "a number that is taken isn't lost"
        );
        assert_eq!((pupil.plans[&7].times, pupil.next, pupil.lessons), (4, 9, 5));
        assert_eq!(pupil.weights, [0.1, 0.1 + 0.2]);
        assert_eq!(pupil.newest, ["i", "k", "l", "l"], "what was before, as far as there is room");
        let again = import(&mut rig, &other);
        assert_eq!((again.kept, again.merged), (0, 8), "{again:?}");
    }

    #[test]
    fn there_is_an_end_and_what_is_no_record_is_refused_with_its_line() {
        let mut rig = pupil();
        let lines = [
            line("words", "a", word("x", 1)),
            line("words", "b", json!({"said": 1})),
            line("words", "a", word("x", 9)),
            line("lessons", "", json!("many")),
            line("plans", "first", word("x", 1)),
            line("poems", "", json!(1)),
            line("words", "b", word("x", 1)).replace("pupil", "teacher"),
            line("words", "c", word("x", 1)),
            line("words", "d", word("x", 1)),
            line("words", "e", word("x", 1)),
        ];
        let done = import(&mut rig, &lines);
        assert_eq!((done.kept, done.merged), (3, 0), "{done:?}");
        let numbers: BTreeSet<u64> = done.bad.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, BTreeSet::from([2, 3, 4, 5, 6, 7, 10]), "{done:?}");
        let full = done.bad.iter().find(|(number, _)| *number == 10).map(|(_, reason)| reason.as_str());
        assert_eq!(full, Some("there is no room for more than 3 words"));
        rig.send_in(
            maxim_bus::MessageId::from_parts(1, 1),
            Trust::Own,
            ImportRecords { lines: vec![(4, taught().remove(0))] },
        );
        let refused = rig.heard::<RecordsImported>().remove(0);
        assert_eq!((refused.kept, refused.bad[0].0), (0, 4), "not even the brain itself");
    }

    #[test]
    fn the_layer_of_a_line_is_its_first_member() {
        assert_eq!(layer_of(r#" { "layer" : "pupil", "part": 1}"#), Some("pupil"));
        for other in [r#"{"episode":{"layer":"x"}}"#, r#"{"layers":"x"}"#, r#"{"layer":1}"#, "nonsense", ""] {
            assert_eq!(layer_of(other), None, "{other}");
        }
    }

    #[test]
    fn stretches_of_a_stream_are_joined_where_they_overlap() {
        let list = |text: &str| text.chars().map(|c| Json::from(c.to_string())).collect::<Vec<_>>();
        for (before, here, joined_up) in [
            ("abc", "bcd", "abcd"),
            ("ab", "cd", "abcd"),
            ("abcd", "cd", "abcd"),
            ("abcdef", "ef", "cdef"),
            ("", "ab", "ab"),
            ("aa", "aa", "aa"),
        ] {
            assert_eq!(joined(&list(before), &list(here), 4), list(joined_up), "{before} {here}");
        }
    }
}
