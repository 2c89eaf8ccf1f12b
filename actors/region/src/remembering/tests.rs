use std::collections::{BTreeMap, VecDeque};

use maxim_bus::{RegionName, Stage};
use serde_json::json;

use super::state::joined;
use super::*;
use crate::rig::{Rig, ear};
use crate::wiring;

/// A room with one part for each law.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pupil {
    words: BTreeMap<String, Word>,
    plans: BTreeMap<u64, Word>,
    next: u64,
    names: BTreeSet<String>,
    weights: [f64; 2],
    lessons: u64,
    newest: VecDeque<String>,
    /// Work in progress.
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
    rig.send(ImportRecords { lines: (1..).zip(lines.iter().cloned()).collect(), ..ImportRecords::default() });
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
    assert_eq!(plans, [(0, "walk".into()), (7, "run".into()), (8, "swim".into())], "a number that is taken isn't lost");
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
        ImportRecords { lines: vec![(4, taught().remove(0))], ..ImportRecords::default() },
    );
    let refused = rig.heard::<RecordsImported>().remove(0);
    assert_eq!((refused.kept, refused.bad[0].0), (0, 4), "not even the brain itself");
}

#[test]
fn the_layer_of_a_line_is_a_member_of_it_wherever_it_stands() {
    for line in [r#" { "layer" : "pupil", "part": 1}"#, r#"{"key": {"layer": "x"}, "layer": "pupil", "part": ["]"]}"#] {
        assert_eq!(layer_of(line).as_deref(), Some("pupil"), "{line}");
    }
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
