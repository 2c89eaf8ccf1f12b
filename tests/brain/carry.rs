//! All memories of a brain can be moved to another place and are the same there: byte for byte, and in what it
//! decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::memory::entorhinal_cortex::EntorhinalCortex;
use maxim_actors::memory::hippocampus::{Hippocampus, exporting};
use maxim_actors::region::{Carried, Carrying, NextStep, RecordView, Region};
use maxim_actors::store::StateStore;
use maxim_bus::signals::associations::FollowAssociations;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::concepts::{ForgetRecord, IngestDocument, ProposeRelationType};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords};
use maxim_bus::signals::promotion::Promote;
use maxim_bus::signals::sleep::RequestSleep;
use maxim_bus::{Clock, RegionName, Signal, Trust};
use serde_json::{Value, json};

use crate::common::{Bench, MONDAY};
use crate::stove::with_stove;

pub fn newborn() -> Bench {
    born(42)
}

/// Two brains with the same seed give their first moments the same ids.
pub fn born(seed: u64) -> Bench {
    Bench::seeded(seed, "maxim", StateStore::in_memory(), with_stove(), maxim::config::Settings::default())
}

pub const LOBE: RegionName = "anterior_temporal_lobe";

/// A life that leaves something in every layer, including old compressed episodes.
fn lived() -> Bench {
    let mut bench = newborn();
    live(&mut bench, true);
    bench
}

/// The same; without compressed episodes everything is recent.
fn live(bench: &mut Bench, long: bool) {
    for n in 0..8 {
        bench.say(&format!("create a file n{n}.txt with the text hello"));
        bench.pass(Duration::from_secs(60));
    }
    for (file, text) in [("a.txt", "hello"), ("b.txt", "good morning"), ("c.txt", "bye")] {
        bench.say(&format!("create a file {file} with the text {text} and then read the file {file}"));
    }
    while bench.say("touch the stove").actions[0].status == "failed" {}
    for _ in 0..3 {
        bench.say("remember that the spare key is in the blue drawer");
    }
    bench.say("where is the spare key?");
    bench.say("be brief");
    bench.say("what is 0.1 + 0.2?");
    bench.inquire("math", json!({"expression": "1/3 + 1/7"}));
    for _ in 0..3 {
        let asked = bench.say("run the command git init && git reset --hard").actions[0].id;
        bench.agent.outside.door.decide(asked, false, false, "anna".into());
        bench.agent.settle();
    }
    let moved = |by: f64| MovementSensed {
        action: None,
        body_part: "head".into(),
        movement: "turn".into(),
        params: json!({"degrees": 10}),
        before: BTreeMap::from([("yaw".into(), 0.0)]),
        after: BTreeMap::from([("yaw".into(), by)]),
        travelled: None,
    };
    [10.0, 10.3, 9.8, 10.1].into_iter().for_each(|by| bench.agent.outside.door.sense(moved(by)));
    let text = "# Harbour\n\nA pier is a structure. A jetty is a structure.\n".to_owned();
    bench.ask(
        LOBE,
        IngestDocument {
            document: "harbour.md".into(),
            markdown: true,
            text,
            passages_before: 0,
            lessons_before: 0,
            more: false,
        },
    );
    let name = "MOORED_AT".into();
    bench.ask(LOBE, ProposeRelationType { name, symmetric: false, inverse: None, by: "anna".into() });
    bench.ask("semantic_promoter", Promote { by: "anna".into() });
    let found = bench.inquire("concept_query", json!({"name": "jetty"}));
    let id = found["results"][0]["id"].as_str().expect("it was read of").to_owned();
    assert!(bench.ask(LOBE, ForgetRecord { id }).found);
    if long {
        small(bench);
    }
    // A night, and then a day after which it is known which moments were useful.
    bench.pass(Duration::from_secs(90_000));
    bench.say("where is the spare key?");
    bench.say("create a file late.txt with the text good night");
    bench.agent.settle();
}

/// Old moments with more words and things than their compressed records can hold.
fn old_moment(n: i64) -> String {
    let at = MONDAY.parse::<Timestamp>().expect("a time") - SignedDuration::from_hours(24 * 20 + n);
    let mut line = json!({
        "id": format!("old-{n}"), "timestamp": at.to_string(), "mode": format!("watch{}", n % 3), "people": ["Anna", "Ben"],
        "text": format!("Anna: the crate with the number {n} was brought by the ferry in the morning, and behind all of \
            that, written by hand, there was the word lantern{n} on it"),
        "objects": ["crate", "ferry", "rope", format!("buoy {n}"), "anchor"],
    });
    let more = match n % 3 {
        0 => json!({"tool": "lift", "success": false, "params": {"hook": format!("hook{n}")},
            "result": format!("the winch{n} slipped, generously")}),
        1 => json!({"goal": format!("bring all {n} crates that stand at the landing into the shed before it rains"),
            "success": true}),
        _ => json!({"text": null, "tool": "look", "params": {"at": format!("mast{n}")}, "success": false,
            "result": "nothing of note"}),
    };
    line.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    line.to_string()
}

/// The newest 256 of them stay whole.
const OLD: i64 = 560;

/// Lives through them and sleeps, so that most are compressed.
fn small(bench: &mut Bench) {
    bench.import((0..OLD).map(|n| (n as u64 + 1, old_moment(n))).collect(), true);
    bench.pass(Duration::from_secs(5));
    let door = &bench.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
    bench.pass(Duration::from_secs(10));
}

/// What is found through data that a compressed record doesn't contain, moment by moment.
fn recalls(bench: &mut Bench) -> Vec<(String, Value)> {
    let mut asked: Vec<(&str, Value)> = Vec::new();
    for n in (0..OLD).step_by(7) {
        let at = MONDAY.parse::<Timestamp>().expect("a time") - SignedDuration::from_hours(24 * 20 + n);
        let (from, to) = (at - SignedDuration::from_secs(1), at + SignedDuration::from_secs(1));
        asked.extend([
            ("memory_recall", json!({"query": format!("lantern{n}"), "limit": 10})),
            ("memory_recall", json!({"query": format!("winch{n}"), "limit": 10})),
            ("memory_recall", json!({"query": format!("hook{n}"), "limit": 10})),
            ("memory_recall", json!({"query": format!("mast{n}"), "limit": 10})),
            ("memory_recall", json!({"object": format!("buoy {n}"), "limit": 10})),
            ("memory_recall", json!({"query": format!("what slipped beside buoy {n}?"), "tool_name": "lift"})),
            ("memory_recall", json!({"query": "brought by the ferry", "mode": format!("watch{}", n % 3), "limit": 10})),
            ("memory_recall", json!({"time_after": from.to_string(), "time_before": to.to_string()})),
            (
                "memory_recall",
                json!({
                    "goal": format!("bring all {n} crates that stand at the landing into the shed before it rains"),
                }),
            ),
            ("similarity_search", json!({"context": format!("a crate with a word written by hand, lantern{n}")})),
            ("similarity_search", json!({"memory_id": format!("old-{n}"), "limit": 10})),
            ("memory_associated", json!({"query": format!("lantern{n}")})),
        ]);
    }
    asked.push(("memory_recall", json!({"person": "Ben", "success": false, "limit": 20})));
    asked.push(("temporal_patterns", json!({"hour": 9, "limit": 20})));
    let mut told = |(tool, params): (&str, Value)| {
        let (asked, mut answer) = (format!("{tool} {params}"), bench.inquire(tool, params));
        // The present time.
        for name in ["now", "clocks"] {
            answer.as_object_mut().map(|answer| answer.remove(name));
        }
        (asked, answer)
    };
    asked.into_iter().map(&mut told).collect()
}

fn layers(bench: &Bench) -> Vec<RegionName> {
    let parts = bench.agent.parts.iter();
    let owns = parts.filter(|part| part.hears.iter().any(|wire| wire.signal == ExportRecords::NAME));
    owns.map(|part| part.name).collect()
}

/// All of its memories, in pages of this many lines.
pub fn exported(bench: &mut Bench, limit: usize) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        let store = &bench.agent.frame.store;
        let (frozen, compared) = (store.freeze(Hippocampus::NAME), store.freeze(EntorhinalCortex::NAME));
        let compared = RecordView::frozen(&compared);
        let situation = |id: &str| EntorhinalCortex::situation_in(&compared, Hippocampus::NAME, id);
        let page = exporting::page(&RecordView::frozen(&frozen), &situation, after.as_deref(), limit);
        let page = page.expect("readable");
        lines.extend(page.lines);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    for layer in layers(bench) {
        loop {
            let page = bench.ask(layer, ExportRecords { after: after.take(), limit });
            lines.extend(page.lines);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    lines
}

/// Gives each room its lines; returns what was kept, merged or known, and refused.
pub fn import(bench: &mut Bench, lines: &[String]) -> (u64, u64, Vec<(u64, String)>) {
    let numbered: Vec<(u64, String)> = (1..).zip(lines.iter().cloned()).collect();
    let rooms = layers(bench);
    let mut carrying = Carrying::default();
    let parts = numbered.chunks(40);
    let last = parts.len();
    for (part, lines) in (1..).zip(parts) {
        carrying.push(lines, &rooms);
        while let Some(step) = carrying.next(part == last) {
            match step {
                NextStep::Episodes { lines, refused, waits } => {
                    let done = bench.import_beside(lines, refused, waits);
                    carrying.took_episodes(done);
                }
                NextStep::Records { room, wish } => carrying.took_records(bench.ask(room, wish)),
                NextStep::Whether { episodes } => {
                    let found = bench.ask(Hippocampus::NAME, FollowAssociations { ids: episodes });
                    carrying.are_missing(&found.missing);
                }
            }
        }
    }
    bench.agent.settle();
    let Carried { kept, merged, known, bad, .. } = carrying.carried();
    (kept, merged + known, bad)
}

/// The same JSON with the members of each object in the opposite order.
fn reordered(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by(|a, b| b.cmp(a));
            let members = names.into_iter().map(|name| format!("{}:{}", json!(name), reordered(&members[name])));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(reordered).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// The lines that only one of the two has, for the reader of a failure.
fn difference(a: &[String], b: &[String]) -> Vec<String> {
    let (of_a, of_b): (BTreeSet<&String>, BTreeSet<&String>) = (a.iter().collect(), b.iter().collect());
    let cut = |line: &String| line.chars().take(600).collect::<String>();
    let lost = of_a.difference(&of_b).map(|line| format!("- {}", cut(line)));
    let new = of_b.difference(&of_a).map(|line| format!("+ {}", cut(line)));
    lost.chain(new).take(12).collect()
}

pub fn assert_same(a: &[String], b: &[String], what: &str) {
    let differ = difference(a, b);
    assert!(differ.is_empty(), "{what}:\n{}", differ.join("\n"));
    assert!(a == b, "{what}: the same lines in another order");
}

#[test]
fn an_export_of_every_layer_comes_back_to_the_byte_and_a_second_time_changes_nothing() {
    let mut bench = lived();
    let lines = exported(&mut bench, 1000);
    assert_same(&lines, &exported(&mut bench, 7), "pages of any size");
    let parts: BTreeSet<String> = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some(format!("{}/{}", line["layer"].as_str()?, line["part"].as_str()?)))
        .collect();
    let wanted = [
        "hippocampus/uses",
        "suprachiasmatic_nucleus/clocks",
        "suprachiasmatic_nucleus/doings",
        "anterior_temporal_lobe/relation_types",
        "anterior_temporal_lobe/concepts",
        "angular_gyrus/records",
        "cross_layer_graph/edges",
        "tool_index/tools",
        "tool_index/goals",
        "tool_index/successes",
        "nucleus_accumbens/events",
        "nucleus_accumbens/observations",
        "cerebellum/models",
        "cerebellum/programs",
        "cerebellum/pairs",
        "cerebellum/uses",
        "statistician/metrics",
        "significance/weights",
        "significance/judged",
        "significance/waiting",
        "planning_bridge/templates",
        "salience_bridge/objects",
        "spatial_bridge/things",
        "fear_bridge/lived",
        "escalation_bridge/kinds",
        "escalation_bridge/questions",
        "communication_bridge/people",
        "semantic_promoter/known",
        "semantic_promoter/forgotten",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|part| !parts.contains(*part)).collect();
    assert!(missing.is_empty(), "the life leaves nothing in {missing:?}; there are {parts:?}");
    assert!(lines.iter().any(|line| line.contains("\"Associates\"")), "episodes are joined");

    let small = lines.iter().filter(|line| line.contains("\"held\"")).count();
    assert!(small > 100, "{small} of {} are small", lines.len());
    let mut other = newborn();
    other.clock.advance_to(bench.clock.now());
    let (kept, merged, bad) = import(&mut other, &lines);
    assert!(bad.is_empty(), "{bad:?}");
    println!("{} lines: {kept} kept, {merged} merged", lines.len());
    assert_same(&lines, &exported(&mut other, 1000), "after the import");
    assert_eq!(import(&mut other, &lines), (0, lines.len() as u64, Vec::new()), "all is known");
    assert_same(&lines, &exported(&mut other, 1000), "after the second import");
    other.crash();
    assert_same(&lines, &exported(&mut other, 1000), "after a crash");
    // Nor does it change the place that it came from.
    assert_eq!(import(&mut bench, &lines), (0, lines.len() as u64, Vec::new()));
    assert_same(&lines, &exported(&mut bench, 1000), "at home");
}

#[test]
fn what_sleep_made_small_is_found_in_the_other_place_by_all_that_it_was_found_by() {
    let mut bench = newborn();
    let whole = {
        let mut whole = newborn();
        whole.import((0..OLD).map(|n| (n as u64 + 1, old_moment(n))).collect(), true);
        whole.pass(Duration::from_secs(5));
        recalls(&mut whole)
    };
    small(&mut bench);
    let told = recalls(&mut bench);
    let is_any = |(_, answer): &&(String, Value)| answer["results"].as_array().is_some_and(|all| !all.is_empty());
    let (before, after) = (whole.iter().filter(is_any).count(), told.iter().filter(is_any).count());
    println!("of {} questions {before} found something before the sleep, {after} after it", told.len());
    let lines = exported(&mut bench, 1000);
    let small = lines.iter().filter(|line| line.contains("\"held\"")).count();
    assert!(small > 100 && after * 10 >= before * 9, "{small} of {} are small", lines.len());
    let mut other = newborn();
    other.clock.advance_to(bench.clock.now());
    assert!(import(&mut other, &lines).2.is_empty());
    other.pass(Duration::from_secs(5));
    let assert_found = |other: &mut Bench, when: &str| {
        for ((asked, told), (_, found)) in told.iter().zip(recalls(other)) {
            assert_eq!(&found, told, "{when}: {asked}");
        }
    };
    assert_found(&mut other, "after the import");
    other.crash();
    assert_found(&mut other, "after a crash");
    // Data held separately goes into segments with the next sleep.
    other.pass(Duration::from_secs(5));
    let door = &other.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
    other.pass(Duration::from_secs(10));
    let again = exported(&mut other, 1000);
    let held =
        |lines: &[String]| lines.iter().filter(|line| line.contains("\"held\"")).cloned().collect::<BTreeSet<_>>();
    assert!(held(&lines).is_subset(&held(&again)), "{:?}", difference(&lines, &again));
}

#[test]
fn an_imported_brain_decides_as_the_one_that_lived() {
    let mut bench = newborn();
    live(&mut bench, false);
    let lines = exported(&mut bench, 1000);
    let mut other = newborn();
    other.clock.advance_to(bench.clock.now());
    assert!(import(&mut other, &lines).2.is_empty());
    let mut untaught = newborn();
    untaught.clock.advance_to(bench.clock.now());

    for (tool, params) in [
        ("predict_outcome", json!({"tool_name": "touch_stove", "include_all_outcomes": true})),
        ("predict_outcome", json!({"tool_name": "write_file", "include_all_outcomes": true})),
        ("causal_links", json!({"event": "write_file"})),
        ("concept_query", json!({"query": "write_file", "limit": 20})),
        ("temporal_patterns", json!({"discover_rhythms": true})),
        ("memory_associated", json!({"query": "spare key"})),
    ] {
        let told = bench.inquire(tool, params.clone());
        assert_eq!(other.inquire(tool, params.clone()), told, "{tool} {params}");
        assert_ne!(untaught.inquire(tool, params.clone()), told, "{tool} {params} rests on what was lived");
    }
    // Fear: tools that hurt are asked about.
    let status = |bench: &mut Bench, text: &str| bench.say(text).actions[0].status.to_string();
    for (brain, wanted) in [(&mut bench, "asked"), (&mut other, "asked"), (&mut untaught, "failed")] {
        assert_eq!(status(brain, "touch the stove"), wanted);
    }
    // A program: one word, two steps.
    let call = "run program create-file-text-read with d.txt \"so long\"";
    for (brain, done) in [(&mut bench, true), (&mut other, true), (&mut untaught, false)] {
        brain.say(call);
        assert_eq!(brain.file("d.txt").exists(), done);
    }
    // A place, and how this person wants to be spoken to.
    for text in ["where is the spare key usually?", "create a file brief.txt with the text x"] {
        let told = bench.say(text).reply;
        assert_eq!(other.say(text).reply, told, "{text}");
        assert_ne!(untaught.say(text).reply, told, "{text}");
    }
}

#[test]
fn a_line_that_is_no_record_is_named_and_an_outsider_brings_nothing_in() {
    let mut bench = newborn();
    let lines = [
        r#"{"layer":"cerebellum","part":"programs","key":"lift","record":{"name":"lift"}}"#,
        r#"{"layer":"cerebellum","part":"errors","key":"","record":3}"#,
        r#"{"layer":"cerebellum","part":"errors","key":"","record":4}"#,
        r#"{"layer":"cerebellum","part":"dreams","key":"","record":4}"#,
        r#"{"layer":"cerebellum","part":"errors","key":"","record":-1}"#,
        r#"{"layer":"cerebellum","part":"uses","key":"","record":1,"trust":"owner"}"#,
        r#"{"layer":"cerebellum","part"#,
        r#"{"layer":"nucleus_accumbens","part":"events","key":"x","record":{"event":{},"cue":null}}"#,
        r#"{"layer":"cross_layer_graph","part":"edges","key":"nowhere/x","record":[]}"#,
        r#"{"layer":"cross_layer_graph","part":"edges","key":"atl/concept-0","record":[{"kind":"IS_A","layer":"atl","to":"concept-1","weight":7.0}]}"#,
        r#"{"layer":"hippocampus","part":"uses","key":"nobody","record":{"times":1,"last":"2026-01-05T09:00:00Z"}}"#,
        r#"{"layer":"angular_gyrus","part":"records","key":"constant/pi","record":{}}"#,
    ];
    let lines: Vec<String> = lines.map(str::to_owned).into();
    let (kept, merged, bad) = import(&mut bench, &lines);
    assert_eq!((kept, merged), (1, 0), "{bad:?}");
    let words = [
        "missing field",
        "earlier",
        "\"dreams\"",
        "earlier",
        "`trust`",
        "EOF",
        "event",
        "nowhere",
        "7",
        "nobody",
        "a record of numbers",
    ];
    let numbers: Vec<u64> = bad.iter().map(|(number, _)| *number).collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(numbers, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "{bad:?}");
    for (number, word) in numbers.into_iter().zip(words) {
        let reason = bad.iter().find(|(bad, _)| *bad == number).map(|(_, reason)| reason.as_str()).unwrap_or_default();
        assert!(reason.contains(word), "line {number}: {reason}");
    }
    let door = Arc::clone(&bench.agent.outside.door);
    let wish = ImportRecords { lines: vec![(1, lines[1].replace('3', "9"))], ..ImportRecords::default() };
    door.put("door", door.fresh_id(), Trust::Outside, wish);
    bench.agent.settle();
    assert!(exported(&mut bench, 1000).iter().all(|line| !line.contains("\"record\":9")));
}

#[test]
fn how_imported_actions_ended_is_expected_and_feared_and_learned_from_once() {
    let lines = |success: bool| -> Vec<(u64, String)> {
        let line = |n: u64| {
            let (id, at) = (format!("t{n}"), format!("2026-01-04T{:02}:{:02}:00Z", n / 60, n % 60));
            json!({"id": id, "timestamp": at, "tool": "touch_stove", "success": success}).to_string()
        };
        (0..30).map(|n| (n + 1, line(n))).collect()
    };
    let taught = |success: bool| {
        let mut bench = newborn();
        bench.import(lines(success), true);
        bench.import(lines(success), true);
        bench.crash();
        bench
    };
    let (mut burnt, mut spared) = (taught(false), taught(true));
    let expected = burnt.inquire("predict_outcome", json!({"tool_name": "touch_stove", "include_all_outcomes": true}));
    // V = 0.5 · 0.86^30.
    let value = expected["value"].as_f64().expect("a value");
    assert!((value - 0.5 * 0.86f64.powi(30)).abs() < 1e-9, "{expected}");
    assert_eq!((&expected["valence"], &expected["observations"]), (&json!("negative"), &json!(30)), "{expected}");
    assert!(expected["delay_s"].is_null(), "an import doesn't say how long it took: {expected}");
    let learned = burnt.inquire("causal_links", json!({"memory_id": "t29"}));
    assert_eq!(learned["results"][0]["outcome"], "failure", "{learned}");
    let status = |bench: &mut Bench| bench.say("touch the stove").actions[0].status.to_string();
    assert_eq!((status(&mut burnt).as_str(), status(&mut spared).as_str()), ("asked", "failed"));
}

#[test]
fn what_was_met_in_many_circumstances_and_many_kinds_of_it_leave_the_room_that_learns_alive() {
    let mut bench = newborn();
    let line = |n: u64, tool: String, success: bool| {
        let at = format!("2026-01-04T{:02}:{:02}:{:02}Z", n / 3_600, n / 60 % 60, n % 60);
        let goal = format!("find the {}th cup of those that stand in the long corridor behind the kitchen", n % 32);
        let (params, id) = (json!({"target": format!("cup {} on the left side", n % 32)}), format!("t{n}"));
        let mut line = json!({"id": id, "timestamp": at, "tool": tool, "success": success, "goal": goal});
        if success {
            line["params"] = params;
        }
        (n + 1, line.to_string())
    };
    let mut lines: Vec<_> = (0..32).map(|n| line(n, "touch_stove".into(), false)).collect();
    lines.extend((0..9_600).map(|n| line(100 + n, format!("find_{}", n / 32), true)));
    lines.extend((0..300).map(|n| line(10_000 + n, format!("once_{n}"), true)));
    for part in lines.chunks(256) {
        bench.import(part.to_vec(), true);
    }
    let root = bench.agent.frame.store.recover("nucleus_accumbens").expect("recovers").root;
    assert!(root.is_none_or(|root| root.len() < 1 << 20), "what it knows of kinds stands in records");
    bench.crash();
    let kinds = |bench: &mut Bench, tool: &str| {
        bench.inquire("predict_outcome", json!({"tool_name": tool}))["observations"].as_u64().expect("a number")
    };
    assert_eq!([kinds(&mut bench, "find_0"), kinds(&mut bench, "find_299")], [32, 32]);
    let exported = exported(&mut bench, 100);
    let known = exported.iter().filter(|line| line.contains("\"part\":\"events\"")).count();
    assert_eq!(known, 601, "all of them");
    assert_eq!(bench.say("touch the stove").actions[0].status, "asked", "what hurt isn't among those that went");
}

#[test]
fn lines_whose_members_another_program_has_put_into_another_order_come_back_too() {
    let mut bench = lived();
    let lines = exported(&mut bench, 1000);
    let read = |lines: &[String]| -> Vec<Value> {
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let other: Vec<String> = read(&lines).iter().map(reordered).collect();
    assert!(lines.iter().zip(&other).all(|(before, after)| before != after), "each line is another text");
    let mut there = newborn();
    there.clock.advance_to(bench.clock.now());
    let (_, _, bad) = import(&mut there, &other);
    assert!(bad.is_empty(), "{bad:?}");
    assert_eq!(read(&exported(&mut there, 1000)), read(&lines));
    assert_eq!(import(&mut there, &lines), (0, lines.len() as u64, Vec::new()), "all is known");
}
