//! Lines of an import on the bench: one id, one episode.

use maxim_bus::signals::concepts::ForgetRecord;
use maxim_bus::signals::recall::EpisodesImported;
use serde_json::{Value, json};

use super::*;
use crate::memory::hippocampus::exporting;

/// What became of lines.
fn take_in(bench: &mut Bench, all: bool, lines: &[Value]) -> EpisodesImported {
    let lines = (1..).zip(lines.iter().map(Value::to_string)).collect();
    bench.rig.send(ImportEpisodes { lines, all, refused: Vec::new() });
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
    // Without a time of its own, it is the same moment told again.
    assert_eq!(counts(&take_in(&mut bench, true, &[changed("timestamp", Value::Null)])), [0, 0, 1, 0, 0]);
    assert_eq!(bench.stats().0, 1);
    bench.rig.send(ForgetRecord { id: "a".into() });
    assert_eq!(counts(&take_in(&mut bench, true, &others[..1])), [1, 0, 0, 0, 0]);
    assert_eq!(bench.find("lamp", 9), ["a"]);
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
    // Where "b" is an episode of its own, it stays so when the export comes in.
    take_in(&mut bench, true, &[lines[1].clone()]);
    let whole = serde_json::from_str(&before[0]).expect("JSON");
    assert_eq!(counts(&take_in(&mut bench, true, &[whole])), [1, 0, 0, 0, 0]);
    for (id, left) in [("c", 1), ("b", 0)] {
        bench.rig.send(ForgetRecord { id: id.into() });
        assert_eq!(bench.stats().0, left, "{id}");
    }
}
