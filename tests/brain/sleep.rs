//! Sleep and associations affect the brain's answers.

use std::time::Duration;

use maxim::config::{ByteCount, Mode, Settings};
use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::region::Region;
use maxim_actors::store::StateStore;
use maxim_bus::signals::concepts::IngestDocument;
use maxim_bus::signals::sleep::{EndSession, RequestSleep};
use maxim_bus::{Clock, Trust};
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

impl Bench {
    /// Imports episodes, and lets them be linked.
    fn remember(&mut self, lines: &[Value]) {
        self.import((1..).zip(lines.iter().map(ToString::to_string)).collect(), true);
        self.pass(Duration::from_secs(1));
    }

    fn ask_to_sleep(&mut self) {
        let door = &self.agent.outside.door;
        door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
        self.pass(Duration::from_secs(5));
    }

    fn stats_of(&mut self, room: &str) -> Value {
        self.inquire("system_stats", json!({}))["regions"][room].clone()
    }
}

fn moment(id: &str, days_ago: i64, more: Value) -> Value {
    let at = crate::common::MONDAY.parse::<jiff::Timestamp>().expect("a time")
        - jiff::SignedDuration::from_hours(24 * days_ago);
    let mut line = json!({"id": id, "timestamp": at.to_string()});
    let members = line.as_object_mut().expect("an object");
    members.extend(more.as_object().cloned().expect("an object"));
    line
}

/// Failures without any reason to keep them, each of another tool.
fn clutter() -> Vec<Value> {
    (0..400)
        .map(|i| moment(&format!("clutter-{i}"), 20 + i % 5, json!({"tool": format!("probe_{i}"), "success": false})))
        .collect()
}

#[test]
fn sleep_lets_clutter_go_and_keeps_what_it_was_told() {
    let mut bench = Bench::new();
    bench.remember(&clutter());
    bench.remember(&[moment("key", 30, json!({"text": "the spare key is in the blue drawer", "people": ["Anna"]}))]);
    let recall = |bench: &mut Bench| {
        let found = bench.inquire("memory_recall", json!({ "tool_name": "probe_1", "limit": 20 }));
        found["results"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(recall(&mut bench), 1);
    let before = bench.stats_of("hippocampus")["episodes"].as_u64().expect("a count");
    bench.ask_to_sleep();
    let stats = bench.stats_of("consolidation");
    let last = &stats["last"]["episodes"];
    println!("{stats}");
    assert_eq!((stats["asleep"].as_bool(), stats["sleeps"].as_u64()), (Some(false), Some(1)), "{stats}");
    let pruned = last["pruned"].as_u64().expect("a count");
    assert!(pruned > 200 && last["bytes_after"].as_u64() < last["bytes_before"].as_u64(), "{stats}");
    assert_eq!(bench.stats_of("hippocampus")["episodes"].as_u64(), Some(before - pruned));
    assert_eq!(bench.stats_of("memory_hub")["removed"].as_u64(), Some(pruned), "every layer is told");
    let moments = bench.stats_of("suprachiasmatic_nucleus")["moments"].as_u64();
    assert_eq!(moments, Some(before - pruned), "the layer of time has let them go");
    let similar = bench.inquire("similarity_search", json!({ "tool_name": "probe_1", "limit": 20 }));
    let ids: Vec<&str> =
        similar["results"].as_array().into_iter().flatten().filter_map(|found| found["id"].as_str()).collect();
    assert!(!ids.contains(&"clutter-1"), "the layer of likeness has let it go too: {similar}");
    assert_eq!(recall(&mut bench), 0, "what nothing spoke for is gone");
    let reply = bench.say("where is the spare key?").reply.unwrap_or_default();
    assert!(reply.contains("blue drawer"), "what a person said is still answered from: {reply}");
}

/// Remarks that contain a question's words but are unrelated to it and to each other.
fn remarks() -> Vec<Value> {
    let about = [
        "granite quarry",
        "violin lesson",
        "harbour toll",
        "beetle larva",
        "copper mine",
        "ballet shoe",
        "tax return",
        "glacier melt",
        "chess opening",
        "barley field",
        "opera ticket",
        "radar antenna",
        "wool sock",
        "lunar orbit",
        "dental crown",
        "fern spore",
        "parking fine",
        "volcano ash",
        "piano string",
        "camel saddle",
        "yeast dough",
        "bishop's hat",
        "river delta",
        "zebra crossing",
        "cotton gin",
        "magnet coil",
        "prison gate",
        "salmon run",
        "honey jar",
        "diesel pump",
        "marble bust",
        "tulip bulb",
        "rugby match",
        "onion soup",
        "ferry dock",
        "cactus thorn",
    ];
    let remark = |(i, about): (usize, &&str)| {
        let text = format!("{about} spare key");
        moment(&format!("remark-{i}"), 12 + 3 * i as i64, json!({"text": text, "success": false}))
    };
    about.iter().enumerate().map(remark).collect()
}

#[test]
fn sleep_changes_an_answer_that_clutter_had_hidden() {
    let told = moment("key", 200, json!({"text": "that key is in the blue drawer", "people": ["Anna"]}));
    let lived = || {
        let mut bench = Bench::new();
        bench.remember(&remarks());
        bench.remember(std::slice::from_ref(&told));
        bench
    };
    let results = |bench: &mut Bench| {
        let found = bench.inquire("memory_recall", json!({ "query": "spare key", "limit": 5 }));
        let found = found["results"].as_array().cloned().unwrap_or_default();
        found.iter().map(|episode| episode["id"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let (mut slept, mut twin) = (lived(), lived());
    slept.ask_to_sleep();
    println!("{:?} after sleep, {:?} without", results(&mut slept), results(&mut twin));
    assert!(results(&mut slept).contains(&"key".to_owned()), "{}", slept.stats_of("consolidation"));
    assert!(!results(&mut twin).contains(&"key".to_owned()));
    let mut answers =
        [&mut slept, &mut twin].map(|bench| bench.say("where is the spare key?").reply.unwrap_or_default());
    assert!(answers[0].contains("blue drawer"), "{answers:?}");
    assert!(!std::mem::take(&mut answers[1]).contains("blue drawer"));
}

#[test]
fn sessions_end_when_idle_on_request_and_after_a_crash_and_sleep_follows_each() {
    let mut bench = Bench::new();
    bench.say("hello");
    assert_eq!(bench.stats_of("memory_hub")["open"], true);
    bench.pass(Duration::from_secs(31 * 60));
    let hub = bench.stats_of("memory_hub");
    assert_eq!((hub["open"].as_bool(), hub["last_ended"].as_str()), (Some(false), Some("idle")), "{hub}");
    assert_eq!(bench.stats_of("consolidation")["sleeps"], 1);
    bench.say("hello again");
    let door = &bench.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, EndSession { by: "anna".into() });
    bench.pass(Duration::from_secs(5));
    assert_eq!(bench.stats_of("memory_hub")["last_ended"], "asked");
    assert_eq!(bench.stats_of("consolidation")["sleeps"], 2);
    bench.say("good morning");
    bench.crash();
    bench.pass(Duration::from_secs(5));
    assert_eq!(bench.stats_of("memory_hub")["last_ended"], "killed");
    assert_eq!(bench.stats_of("consolidation")["sleeps"], 3, "{}", bench.stats_of("consolidation"));
}

#[test]
fn when_the_disk_budget_is_reached_what_was_made_small_goes_and_the_report_counts_it() {
    // A person's words are never removed for lack of use.
    let told = |i: i64| moment(&format!("told-{i}"), 20 + i % 9, json!({"text": words(i), "people": ["Anna"]}));
    let slept = |budget: u64| {
        let mut settings = Settings::default();
        settings.memory.memory.episodes_max = ByteCount::new(budget);
        let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
        bench.remember(&(0..1_400).map(told).collect::<Vec<_>>());
        bench.ask_to_sleep();
        let last = bench.stats_of("consolidation")["last"]["episodes"].clone();
        let count = |name: &str| last[name].as_u64().expect("a count");
        assert_eq!(bench.stats_of("hippocampus")["episodes"].as_u64(), Some(1_400 - count("evicted")), "{last}");
        (count("compressed"), count("evicted"), count("bytes_after"))
    };
    let (compressed, evicted, bytes) = slept(1 << 40);
    assert!(compressed > 500 && evicted == 0, "{compressed} made small, {evicted} let go");
    let budget = bytes - 30_000;
    let (_, evicted, bytes) = slept(budget);
    assert!(evicted > 50 && bytes <= budget, "{evicted} let go, {bytes} of {budget} bytes");
}

/// A unique remark of sixty words.
fn words(number: i64) -> String {
    (0..60).map(|word| format!("w{}", (number * 7_919 + word * 104_729) % 99_991)).collect::<Vec<_>>().join(" ")
}

#[test]
fn it_sleeps_in_every_mode() {
    for mode in [Mode::Passive, Mode::Active, Mode::Singularity] {
        let mut settings = Settings::default();
        settings.agent.mode = mode;
        let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
        bench.remember(&clutter());
        bench.say("hello");
        bench.pass(Duration::from_secs(31 * 60));
        let stats = bench.stats_of("consolidation");
        assert_eq!(stats["sleeps"], 1, "{mode:?}: {stats}");
        assert_eq!(stats["last"]["why"], "session_end", "{mode:?}: {stats}");
        assert!(stats["last"]["episodes"]["pruned"].as_u64() > Some(200), "{mode:?}: {stats}");
    }
}

/// A life of five hundred moments weeks ago: a person's words, successes and failures, one tool repeatedly.
fn mixed_life() -> Vec<Value> {
    let line = |i: i64| {
        let more = match i % 4 {
            0 => json!({"text": words(i), "people": ["Anna"]}),
            1 => json!({"text": words(i), "tool": format!("sort_{i}"), "success": true}),
            2 => json!({"text": "the backup ran", "tool": "run_backup", "success": true}),
            _ => json!({"tool": format!("probe_{i}"), "success": false}),
        };
        moment(&format!("lived-{i}"), 20 + i / 20, more)
    };
    (0..500).rev().map(line).collect()
}

/// The part of a memory that doesn't depend on when it slept.
#[derive(Debug, PartialEq)]
struct Slept {
    episodes: Value,
    found: Vec<String>,
    small: usize,
    concepts: Vec<String>,
}

/// An agent with such a life and a concept unused for a month, about to sleep.
fn tired() -> Bench {
    let mut settings = Settings::default();
    settings.memory.memory.sleep_hour = 24;
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    let text = "# Kitchen\n\nA coffee mug is a cup.\n".to_owned();
    let part = IngestDocument {
        document: "kitchen.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    bench.ask(AnteriorTemporalLobe::NAME, part);
    bench.pass(Duration::from_secs(31 * 86_400));
    bench.remember(&mixed_life());
    bench.pass(Duration::from_secs(60));
    let door = &bench.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
    bench
}

impl Bench {
    /// One step, or on to the time when a room wants to take one; false when none does before this time.
    fn step_on(&mut self, until: jiff::Timestamp) -> bool {
        if self.agent.step() {
            return true;
        }
        let due = self.agent.next_deadline().filter(|due| *due <= until);
        due.inspect(|due| self.clock.advance_to(*due)).is_some()
    }

    /// A room's records that contain these words.
    fn holding(&self, room: &'static str, words: &str) -> usize {
        let all = self.agent.frame.store.records(room, .., usize::MAX).expect("read");
        all.iter().filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(words)).count()
    }

    /// Read after a start, so that every index is built from durable data.
    fn slept(&mut self) -> Slept {
        self.crash();
        let known = self.inquire("concept_query", json!({ "limit": 50 }))["results"].clone();
        let mut concepts: Vec<String> = known
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| format!("{} {} {}", one["name"], one["definition"], one["source_episodes"]))
            .collect();
        concepts.sort_unstable();
        let found = self.inquire("memory_recall", json!({ "query": "backup w7919", "limit": 20 }))["results"].clone();
        Slept {
            episodes: self.stats_of("hippocampus")["episodes"].clone(),
            found: found
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| format!("{} {}", one["id"], one["score"]))
                .collect(),
            small: self.holding(AnteriorTemporalLobe::NAME, "\"compressed\":true"),
            concepts,
        }
    }
}

#[test]
fn a_crash_at_any_step_of_the_agent_asleep_ends_in_the_same_memory() {
    let minute = jiff::SignedDuration::from_secs(60);
    let mut bench = tired();
    let until = bench.clock.now() + minute;
    let mut steps = 0;
    while bench.step_on(until) {
        steps += 1;
    }
    let (whole, last) = (bench.slept(), bench.stats_of("consolidation")["last"].clone());
    let count = |of: &str| last["episodes"][of].as_u64().expect("a count");
    println!("{steps} steps: {last}");
    let sleeps = |bench: &mut Bench| bench.stats_of("consolidation")["sleeps"].as_u64().unwrap_or(0);
    assert_eq!(sleeps(&mut bench), 1);
    assert!(count("pruned") > 20 && count("compressed") > 50, "episodes go and are made small: {last}");
    assert!(last["promoted"].as_u64() > Some(0), "something becomes a concept: {last}");
    assert!(last["knowledge"]["compressed"].as_u64() > Some(0) && whole.small > 0, "an old concept: {last}");
    // The first steps one by one, later ones at intervals.
    for step in (1..6).chain((6..steps).step_by((steps / 16).max(1))) {
        let mut bench = tired();
        let until = bench.clock.now() + minute;
        assert!((0..step).all(|_| bench.step_on(until)), "{step} of {steps} steps");
        bench.crash();
        bench.pass(Duration::from_secs(120));
        // The request is no promise before it is heard: a crash may lose it.
        if sleeps(&mut bench) == 0 {
            assert!(step <= 2, "crash after step {step}: {}", bench.stats_of("consolidation"));
            continue;
        }
        // A promotion whose questions a crash lost is repeated in the same sleep.
        let last = bench.stats_of("consolidation")["last"].clone();
        assert_eq!(last["missing"], json!([]), "crash after step {step}: {last}");
        assert_eq!(bench.slept(), whole, "crash after step {step}");
    }
}

#[test]
fn a_percept_interrupts_sleep_and_is_answered_first() {
    let mut bench = Bench::new();
    bench.remember(&clutter());
    bench.remember(&[moment("key", 30, json!({"text": "the spare key is in the blue drawer", "people": ["Anna"]}))]);
    let door = &bench.agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Owner, RequestSleep { by: "anna".into() });
    for _ in 0..6 {
        bench.agent.step();
    }
    let began = bench.clock.now();
    let reply = bench.say("where is the spare key?").reply.unwrap_or_default();
    assert!(reply.contains("blue drawer"), "{reply}");
    assert_eq!(bench.clock.now(), began, "nobody waited for sleep");
    let stats = bench.stats_of("consolidation");
    assert_eq!(stats["asleep"], true, "it goes on later: {stats}");
    bench.pass(Duration::from_secs(30));
    let stats = bench.stats_of("consolidation");
    assert_eq!((stats["asleep"].as_bool(), stats["sleeps"].as_u64()), (Some(false), Some(1)), "{stats}");
}

#[test]
fn associations_bring_back_what_words_alone_do_not() {
    let lines = [
        moment(
            "tea",
            4,
            json!({"text": "Anna drinks black tea", "objects": ["ladder"],
            "people": ["Anna"], "goal": "tidy the attic"}),
        ),
        moment("rain", 3, json!({"text": "rain is expected along the coast"})),
        moment(
            "shelf",
            2,
            json!({"text": "it was put behind the door afterwards", "objects": ["ladder"],
            "goal": "tidy the attic"}),
        ),
    ];
    // The twin's moments have nothing in common, so it has no edges.
    let apart: Vec<Value> = lines
        .iter()
        .cloned()
        .map(|mut line| {
            let members = line.as_object_mut().expect("an object");
            members.remove("objects");
            members.remove("goal");
            line
        })
        .collect();
    let expanded = |lines: &[Value]| {
        let mut bench = Bench::new();
        bench.remember(lines);
        let found = bench.inquire("memory_recall", json!({ "query": "black tea", "expand": true, "limit": 2 }));
        let found = found["results"].as_array().cloned().unwrap_or_default();
        found.iter().map(|episode| format!("{} {}", episode["id"], episode["via"])).collect::<Vec<_>>()
    };
    let (linked, cut) = (expanded(&lines), expanded(&apart));
    assert!(linked.contains(&"\"shelf\" \"association\"".to_owned()), "{linked:?}");
    assert!(!cut.iter().any(|found| found.contains("association")), "{cut:?}");
}

#[test]
fn nothing_grows_over_many_nights_without_new_experience() {
    let mut bench = Bench::new();
    bench.say("remember that the spare key is in the blue drawer");
    bench.say("where is the spare key?");
    let count = |bench: &mut Bench| {
        let hippocampus = bench.stats_of("hippocampus");
        (hippocampus["episodes"].clone(), hippocampus["edges"].clone(), hippocampus["segments"].clone())
    };
    bench.pass(Duration::from_secs(2 * 86_400));
    let records = |bench: &Bench| {
        let store = &bench.agent.frame.store;
        ["hippocampus", "suprachiasmatic_nucleus", "memory_hub", "consolidation"]
            .map(|room| store.records(room, .., usize::MAX).expect("read").len())
    };
    let before = (count(&mut bench), records(&bench));
    bench.pass(Duration::from_secs(5 * 86_400));
    let sleeps = bench.stats_of("consolidation")["sleeps"].as_u64();
    assert!(sleeps.is_some_and(|sleeps| sleeps >= 7), "it slept every night: {sleeps:?}");
    assert_eq!((count(&mut bench), records(&bench)), before);
}

#[test]
fn what_came_to_mind_lately_outlasts_sleep() {
    let things = ["lantern", "kettle", "ladder", "violin", "compass", "anchor", "basket", "candle"];
    let slipped = |thing: &&str| {
        let more = json!({"text": format!("the {thing} slipped"), "tool": format!("grip_{thing}"), "success": false});
        moment(thing, 20, more)
    };
    let left = |asked: bool| -> Vec<&str> {
        let mut bench = Bench::new();
        bench.remember(&things.iter().map(slipped).collect::<Vec<_>>());
        if asked {
            bench.say("what do you know about the kettle?");
        }
        bench.ask_to_sleep();
        let mut is_left = |thing: &&str| {
            let found = bench.inquire("memory_recall", json!({ "tool_name": format!("grip_{thing}"), "limit": 5 }));
            found["results"].as_array().is_some_and(|found| !found.is_empty())
        };
        things.into_iter().filter(|thing| is_left(thing)).collect()
    };
    assert_eq!(left(false), [""; 0]);
    assert!(left(true).contains(&"kettle"), "{:?}", left(true));
}
