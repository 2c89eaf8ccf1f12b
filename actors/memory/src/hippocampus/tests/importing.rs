//! Lines of an import on the bench: one id, one episode.

use std::collections::BTreeMap;

use maxim_bus::signals::concepts::ForgetRecord;
use maxim_bus::signals::recall::EpisodesImported;
use serde_json::{Value, json};

use super::*;
use crate::hippocampus::exporting;
use maxim_region::{Carried, Carrying, NextStep};

/// The result of an import of lines.
fn take_in(bench: &mut Bench, all: bool, lines: &[Value]) -> EpisodesImported {
    let lines = (1..).zip(lines.iter().map(Value::to_string)).collect();
    bench.rig.send(ImportEpisodes { lines, all, refused: Vec::new(), waits: false });
    let imported = bench.rig.heard::<EpisodesImported>().pop().expect("an answer");
    bench.settle();
    imported
}

fn counts(imported: &EpisodesImported) -> [u64; 5] {
    [imported.kept, imported.merged, imported.known, imported.unremarkable, imported.bad.len() as u64]
}

fn exported(bench: &Bench) -> Vec<String> {
    exporting::page(&bench.rig.records(), &|_| None, None, 1000).expect("readable").lines
}

/// Imports lines of an export, in parts, like a file.
fn carry(bench: &mut Bench, lines: &[String]) -> Carried {
    let numbered: Vec<(u64, String)> = (1..).zip(lines.iter().cloned()).collect();
    let mut carrying = Carrying::default();
    let parts = numbered.chunks(100);
    let last = parts.len();
    for (part, lines) in (1..).zip(parts) {
        carrying.push(lines, &[]);
        while let Some(step) = carrying.next(part == last) {
            match step {
                NextStep::Episodes { lines, refused, waits } => {
                    bench.rig.send(ImportEpisodes { lines, all: false, refused, waits });
                    carrying.took_episodes(bench.rig.heard::<EpisodesImported>().pop().expect("an answer"));
                }
                other => panic!("there are episodes alone: {other:?}"),
            }
        }
    }
    bench.settle();
    carrying.carried()
}

/// Each episode with its edges, in an order that doesn't depend on numbers.
fn joined(lines: &[String]) -> BTreeMap<String, Value> {
    let read = |line: &String| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(edges) = line["links"]["edges"].as_array_mut() {
            edges.sort_by_key(ToString::to_string);
        }
        (line["episode"]["id"].to_string(), line)
    };
    lines.iter().map(read).collect()
}

#[test]
fn episodes_are_joined_as_they_were_in_whatever_order_their_lines_come() {
    let mut bench = Bench::new(None);
    take_in(&mut bench, true, &life(300, 10, 1));
    let lines = exported(&bench);
    let whole = joined(&lines);
    let edges_to = |id: &Value| -> usize {
        let edges = whole.values().filter_map(|line| line["links"]["edges"].as_array()).flatten();
        edges.filter(|edge| edge["to"] == *id).count()
    };
    let (most, of) =
        (lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["episode"]["id"].clone()))
            .map(|id| (edges_to(&id), id))
            .max_by_key(|(edges, _)| *edges)
            .expect("episodes");
    assert!(most > 1, "something is joined: {most}");
    let reversed: Vec<String> = lines.iter().rev().cloned().collect();
    let every_other = |odd: usize| lines.iter().skip(odd).step_by(2).cloned();
    let mixed: Vec<String> = every_other(1).chain(every_other(0)).collect();
    for file in [&reversed, &mixed] {
        let mut other = Bench::new(None);
        let carried = carry(&mut other, file);
        assert_eq!((carried.kept, carried.edges_left_out, carried.bad), (300, 0, Vec::new()));
        assert_eq!(joined(&exported(&other)), whole);
    }
    // A line that never comes costs its edges, and nothing else.
    let without: Vec<String> =
        reversed.into_iter().filter(|line| !line.starts_with(&format!("{{\"episode\":{{\"id\":{of},"))).collect();
    let mut other = Bench::new(None);
    let carried = carry(&mut other, &without);
    assert_eq!((carried.kept, carried.edges_left_out, carried.bad), (299, most as u64, Vec::new()));
}

#[test]
fn a_file_that_comes_twice_changes_nothing_the_second_time() {
    for all in [false, true] {
        let mut bench = Bench::new(None);
        let lines = life(60, 3, 9);
        let first = take_in(&mut bench, all, &lines);
        assert_eq!((first.kept, first.bad.len()), (60 - first.unremarkable, 0), "{first:?}");
        let before = exported(&bench);
        let again = take_in(&mut bench, all, &lines);
        assert_eq!((again.kept, again.known, again.unremarkable), (0, first.kept, first.unremarkable), "{again:?}");
        assert_eq!(exported(&bench), before);
    }
}

#[test]
fn what_sleep_made_small_is_known_as_well() {
    let mut bench = Bench::new(None);
    let lines = life(300, 10, 1);
    take_in(&mut bench, true, &lines);
    assert!(bench.sleep().compressed > 0);
    let kept = u64::from(bench.stats().0);
    let again = take_in(&mut bench, true, &lines);
    assert_eq!((again.known, again.bad.len()), (kept, 0), "{again:?}");
}

#[test]
fn another_content_under_a_known_id_is_a_bad_line() {
    let mut bench = Bench::new(None);
    let line = json!({"id": "a", "timestamp": "2026-01-05T08:00:00Z", "text": "the lamp is on", "people": ["Anna"],
        "success": true, "result": "seen", "salience": 0.5});
    let changed = |name: &str, value: Value| {
        let mut other = line.clone();
        other[name] = value;
        other
    };
    // In one batch, and in a later one.
    assert_eq!(counts(&take_in(&mut bench, true, &[line.clone(), line.clone()])), [1, 0, 1, 0, 0]);
    let others = [
        changed("text", json!("the lamp is off")),
        changed("timestamp", json!("2026-01-05T08:00:01Z")),
        changed("people", json!(["Ben"])),
        changed("goal", json!("read")),
        changed("tool", json!("look")),
        changed("success", json!(false)),
        changed("result", json!("heard")),
        changed("salience", json!(0.6)),
    ];
    let refused = take_in(&mut bench, true, &others);
    assert_eq!(counts(&refused), [0, 0, 0, 0, 8]);
    assert!(refused.bad.iter().all(|(_, why)| why.contains("\"a\"") && why.contains("forget a")), "{refused:?}");
    // Without its own time, it is the same moment once more.
    assert_eq!(counts(&take_in(&mut bench, true, &[changed("timestamp", Value::Null)])), [0, 0, 1, 0, 0]);
    assert_eq!(bench.stats().0, 1);
    bench.rig.send(ForgetRecord { id: "a".into() });
    assert_eq!(counts(&take_in(&mut bench, true, &others[..1])), [1, 0, 0, 0, 0]);
    assert_eq!(bench.find("lamp", 9), ["a"]);
}

#[test]
fn a_whole_record_that_was_edited_is_refused_and_one_that_sleep_or_use_changed_is_known() {
    let mut bench = Bench::new(None);
    take_in(&mut bench, true, &life(300, 10, 1));
    let young = exported(&bench);
    assert!(bench.sleep().compressed > 0);
    let small = exported(&bench);
    // In either order.
    let mut other = Bench::new(None);
    assert_eq!(carry(&mut other, &young).kept, 300);
    let again = carry(&mut other, &small);
    assert_eq!((again.kept, again.known, again.bad), (0, small.len() as u64, Vec::new()));
    // Episodes that sleep has removed come back; the others are known.
    let again = carry(&mut bench, &young);
    assert_eq!((again.kept + again.known, again.known, again.bad), (300, small.len() as u64, Vec::new()));
    let edited = |line: &String, path: &str, to: Value| {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        *line.pointer_mut(path).expect(path) = to;
        line.to_string()
    };
    let open = young.iter().find(|line| line.contains("\"success\":true")).expect("something went well");
    let lines = [
        edited(open, "/episode/perception/text", json!("the safe is behind the picture")),
        edited(open, "/episode/action/tool", json!("another")),
        edited(open, "/episode/outcome/success", json!(false)),
    ];
    for line in lines {
        let carried = carry(&mut other, std::slice::from_ref(&line));
        assert_eq!((carried.kept, carried.known, carried.bad.len()), (0, 0, 1), "{line}");
        assert!(carried.bad[0].1.contains("stored already with other content"), "{:?}", carried.bad);
    }
    // Used since then, it counts as known.
    let used = edited(open, "/episode/access_count", json!(7));
    assert_eq!(carry(&mut other, &[used]).known, 1);
}

#[test]
fn an_observation_that_was_merged_is_known_by_its_own_id() {
    let mut bench = Bench::new(None);
    let moment = |id: &str, second: u64, result: &str| {
        json!({"id": id, "timestamp": format!("2026-01-05T08:00:{second:02}Z"), "text": "a knock", "people": ["Anna"],
            "result": result, "salience": 0.1 + second as f64 / 100.0})
    };
    let lines = [moment("a", 0, "x"), moment("b", 5, "y"), moment("c", 9, "z")];
    assert_eq!(counts(&take_in(&mut bench, false, &lines)), [1, 2, 0, 0, 0]);
    let before = exported(&bench);
    assert!(before[0].contains(r#""access_count":2"#) && before[0].contains(r#""repeats":["b","c"]"#), "{before:?}");
    for all in [false, true] {
        assert_eq!(counts(&take_in(&mut bench, all, &lines)), [0, 0, 3, 0, 0]);
    }
    assert_eq!(exported(&bench), before);
    bench.rig.send(ForgetRecord { id: "b".into() });
    assert_eq!((bench.stats().0, exported(&bench).len()), (0, 0));
    // If "b" is a separate episode, it stays one when the export is imported.
    take_in(&mut bench, true, &[lines[1].clone()]);
    let whole = serde_json::from_str(&before[0]).expect("JSON");
    assert_eq!(counts(&take_in(&mut bench, true, &[whole])), [1, 0, 0, 0, 0]);
    for (id, left) in [("c", 1), ("b", 0)] {
        bench.rig.send(ForgetRecord { id: id.into() });
        assert_eq!(bench.stats().0, left, "{id}");
    }
}
