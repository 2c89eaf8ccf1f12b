//! Forgotten episodes leave every room, whenever the process is killed meanwhile and whatever else happens.

use std::time::Duration;

use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::region::Region;
use maxim_actors::sleep::semantic_promoter::SemanticPromoter;
use maxim_bus::signals::concepts::ForgetRecord;
use maxim_bus::signals::fear::SurveyFears;
use maxim_bus::signals::promotion::Promote;
use maxim_bus::{RegionName, Trust};
use serde_json::{Value as Json, json};

use crate::common::Bench;

/// Rooms whose records and states contain an episode's position, or what depends on it.
const ROOMS: [RegionName; 6] = [
    "hippocampus",
    "suprachiasmatic_nucleus",
    "entorhinal_cortex",
    "cross_layer_graph",
    "anterior_temporal_lobe",
    "nucleus_accumbens",
];

/// Rooms with a record that names it.
fn rooms_that_name(bench: &Bench, id: &str) -> Vec<RegionName> {
    let names = |bytes: &[u8]| bytes.windows(id.len()).any(|part| part == id.as_bytes());
    let is_named = |room: &RegionName| {
        let records = bench.agent.frame.store.records(room, .., usize::MAX).expect("read");
        records.iter().any(|(key, bytes)| names(key) || names(bytes))
    };
    ROOMS.into_iter().filter(is_named).collect()
}

/// A life in which writing files succeeds, and the episode of one file.
fn life() -> (Bench, String) {
    let mut bench = Bench::new();
    let turns: Vec<String> = (0..5)
        .map(|n| {
            let ended = bench.say(&format!("create a file n{n}.txt with the text hello"));
            bench.pass(Duration::from_secs(60));
            ended.turn.to_string()
        })
        .collect();
    (bench, turns[1].clone())
}

fn promoted(bench: &mut Bench) -> Json {
    bench.inquire("concept_query", json!({ "name": "write_file success" }))["results"][0].clone()
}

fn wish_forgotten(bench: &Bench, id: &str) {
    let door = &bench.agent.outside.door;
    let wish = ForgetRecord { id: id.to_owned() };
    door.put("door", door.fresh_id(), Trust::Owner, wish);
}

#[test]
fn a_crash_between_the_rooms_commits_leaves_nothing_of_it_behind() {
    let mut between = 0;
    for steps in 0.. {
        let (mut bench, id) = life();
        bench.ask(SemanticPromoter::NAME, Promote { by: "test".into() });
        assert_eq!(promoted(&mut bench)["source_episodes"].as_array().map(Vec::len), Some(5));
        wish_forgotten(&bench, &id);
        let taken = (0..steps).take_while(|_| bench.agent.step()).count();
        let left = rooms_that_name(&bench, &id);
        between += usize::from(!left.is_empty() && !left.contains(&"hippocampus"));
        bench.crash();
        bench.pass(Duration::from_secs(10));
        let found = rooms_that_name(&bench, &id);
        if left.contains(&"hippocampus") {
            // It never began and was not acknowledged: the wish was lost with the process, and nothing is half done.
            assert_eq!(found, left, "killed after step {steps}");
            assert!(taken == steps);
            continue;
        }
        assert_eq!(found, [""; 0], "killed after step {steps}, when {left:?} had it");
        assert_eq!(promoted(&mut bench)["source_episodes"].as_array().map(Vec::len), Some(4));
        if taken < steps {
            break; // everything was done before the crash
        }
    }
    assert!(between > 0, "some crashes came between the commits of two rooms");
}

#[test]
fn what_is_forgotten_while_it_is_promoted_leaves_no_edge_behind() {
    let mut without = 0;
    for steps in 0.. {
        let (mut bench, id) = life();
        let door = &bench.agent.outside.door;
        door.put(SemanticPromoter::NAME, door.fresh_id(), Trust::Owner, Promote { by: "test".into() });
        let taken = (0..steps).take_while(|_| bench.agent.step()).count();
        wish_forgotten(&bench, &id);
        bench.pass(Duration::from_secs(60));
        assert_eq!(rooms_that_name(&bench, &id), [""; 0], "forgotten after {steps} steps");
        let concept = promoted(&mut bench);
        assert_eq!(concept["source_episodes"].as_array().map(Vec::len), Some(4), "after {steps} steps: {concept}");
        without += 1;
        if taken < steps {
            break;
        }
    }
    assert!(without > 5, "{without} places");
}

#[test]
fn a_skill_that_is_learned_on_rests_on_nothing_that_was_forgotten() {
    let (mut bench, id) = life();
    assert!(bench.ask(Hippocampus::NAME, ForgetRecord { id: id.clone() }).found);
    bench.pass(Duration::from_secs(3_600));
    // The sixth success is reported with the turns of the earlier ones.
    bench.say("create a file more.txt with the text hello");
    bench.pass(Duration::from_secs(60));
    let with = json!({ "name": "write_file", "relationship_type": "EXECUTES_WITH" });
    assert_eq!(bench.inquire("concept_query", with)["results"][0]["name"], "txt file");
    assert_eq!(rooms_that_name(&bench, &id), [""; 0]);
}

/// Rooms that learn from experience, or report it: their events must not contain any of it either. Rooms of the
/// present drop a turn when it ends.
const LEARNING: [RegionName; 15] = [
    "salience",
    "significance",
    "tool_index",
    "nucleus_accumbens",
    "hippocampus",
    "working_memory",
    "angular_gyrus",
    "cerebellum",
    "statistician",
    "salience_bridge",
    "spatial_bridge",
    "planning_bridge",
    "fear_bridge",
    "communication_bridge",
    "cause_ledger",
];

/// Rooms that contain a text: in a record, in the root, or, for rooms that learn, in the events since.
fn rooms_that_hold(bench: &Bench, text: &str) -> Vec<RegionName> {
    let store = &bench.agent.frame.store;
    let holds = |bytes: &[u8]| bytes.to_ascii_lowercase().windows(text.len()).any(|part| part == text.as_bytes());
    let is_held = |room: &RegionName| {
        let records = store.records(room, .., usize::MAX).expect("read");
        let state = store.recover(room).expect("read");
        records.iter().any(|(key, bytes)| holds(key) || holds(bytes))
            || state.root.iter().any(|bytes| holds(bytes))
            || (LEARNING.contains(room) && state.events.iter().any(|bytes| holds(bytes)))
    };
    bench.agent.parts.iter().map(|part| part.name).filter(is_held).collect()
}

#[test]
fn nothing_of_what_a_person_has_forgotten_stands_in_any_room() {
    let mut bench = Bench::new();
    let said = bench.say("remember that the spare key is in the quokka drawer").turn;
    bench.pass(Duration::from_secs(60));
    let done = bench.say("create a file brief.txt with the text numbat and wombat").turn;
    bench.pass(Duration::from_secs(60));
    let failed = bench.say("read the file bandicoot.txt").turn;
    bench.pass(Duration::from_secs(60));
    let counted = bench.say("calculate 31337 + 1").turn;
    bench.pass(Duration::from_secs(60));
    // The session ends, and sleep follows.
    bench.pass(Duration::from_secs(3_600));
    for (word, rooms) in [
        ("quokka", &["hippocampus", "spatial_bridge", "salience_bridge", "salience"][..]),
        ("numbat", &["hippocampus", "planning_bridge", "fear_bridge", "tool_index", "nucleus_accumbens"]),
        ("bandicoot", &["hippocampus", "fear_bridge", "nucleus_accumbens"]),
        ("31337", &["hippocampus", "angular_gyrus"]),
    ] {
        let held = rooms_that_hold(&bench, word);
        assert!(rooms.iter().all(|room| held.contains(room)), "{word} stands in {held:?}");
    }
    let ids = [said, done, failed, counted].map(|turn| turn.to_string());
    assert!(ids.iter().all(|id| rooms_that_hold(&bench, id).contains(&"significance")), "they wait to be judged");
    for turn in [said, done, failed, counted] {
        assert!(bench.ask(Hippocampus::NAME, ForgetRecord { id: turn.to_string() }).found, "{turn}");
        bench.pass(Duration::from_secs(60));
    }
    for restarted in [false, true] {
        if restarted {
            bench.crash();
            bench.pass(Duration::from_secs(60));
        }
        let left = ["quokka", "numbat", "bandicoot", "31337"].map(|word| (word, rooms_that_hold(&bench, word)));
        let found: Vec<_> = left.iter().filter(|(_, rooms)| !rooms.is_empty()).collect();
        assert!(found.is_empty(), "after a restart: {restarted}; {found:?}");
        assert!(ids.iter().all(|id| !rooms_that_hold(&bench, id).contains(&"significance")));
    }
    for question in ["where is the spare key usually?", "where is the spare key?", "where is the garden key?"] {
        let reply = bench.say(question).reply.unwrap_or_default();
        assert!(!reply.contains("quokka"), "{question} {reply}");
    }
    let offered = bench.say("create the brief text of numbat wombat").reply.unwrap_or_default();
    assert!(!offered.contains("brief.txt"), "the plan is forgotten: {offered}");
}

#[test]
fn an_answer_is_not_on_the_mind_any_more_when_what_it_rested_on_was_forgotten() {
    let mut bench = Bench::new();
    let told = bench.say("remember that the vault pin is quokka").turn;
    bench.pass(Duration::from_secs(60));
    let reply = bench.say("what is the vault pin?").reply.unwrap_or_default();
    assert!(reply.contains("quokka"), "{reply}");
    let present = |bench: &Bench| {
        let rooms = rooms_that_hold(bench, "quokka");
        rooms.into_iter().filter(|room| ["working_memory", "cause_ledger"].contains(room)).collect::<Vec<_>>()
    };
    assert_eq!(present(&bench).len(), 2);
    assert!(bench.ask(Hippocampus::NAME, ForgetRecord { id: told.to_string() }).found);
    for restarted in [false, true] {
        if restarted {
            bench.crash();
        }
        bench.pass(Duration::from_secs(60));
        assert_eq!(present(&bench), [""; 0], "restarted: {restarted}");
    }
}

#[test]
fn what_was_learned_of_forgotten_failures_alone_is_neither_known_nor_feared() {
    let mut bench = Bench::new();
    let turns: Vec<_> = (0..3)
        .map(|n| {
            let turn = bench.say(&format!("read the file bandicoot{n}.txt")).turn;
            bench.pass(Duration::from_secs(60));
            turn
        })
        .collect();
    bench.ask(SemanticPromoter::NAME, Promote { by: "test".into() });
    let learned = |bench: &mut Bench| {
        let fears = bench.ask("fear_agent", SurveyFears { change: None, by: "anna".into() }).fears;
        let found = bench.inquire("concept_query", json!({ "name": "read_file notfound" }));
        let known = found["results"].as_array().is_some_and(|results| !results.is_empty());
        (known, fears.iter().any(|fear| fear.tool == "read_file"))
    };
    assert_eq!(learned(&mut bench), (true, true));
    for turn in turns {
        assert!(bench.ask(Hippocampus::NAME, ForgetRecord { id: turn.to_string() }).found, "{turn}");
        bench.pass(Duration::from_secs(60));
    }
    assert_eq!(learned(&mut bench), (false, false));
    bench.crash();
    bench.pass(Duration::from_secs(60));
    assert_eq!(learned(&mut bench), (false, false));
}

#[test]
fn what_comes_of_a_turn_after_it_was_forgotten_is_not_learned() {
    let mut in_flight = 0;
    for steps in (0..).step_by(2) {
        let mut bench = Bench::new();
        let _accepted = bench.submit("create a file brief.txt with the text numbat and wombat");
        let taken = (0..steps).take_while(|_| bench.agent.step()).count();
        let turns = bench.agent.frame.store.records("habit", .., usize::MAX).expect("read");
        let known = bench.agent.frame.store.records("hippocampus", .., usize::MAX).expect("read");
        let ids = known.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok()?.strip_prefix("id/"));
        let Some(id) = ids.map(str::to_owned).next() else { continue };
        wish_forgotten(&bench, &id);
        bench.pass(Duration::from_secs(1_200));
        in_flight += usize::from(!turns.is_empty());
        let removed = bench.inquire("system_stats", json!({}))["regions"]["memory_hub"]["removed"].clone();
        assert_eq!(removed, 1, "forgotten after {steps} steps, and counted once whatever came later");
        for restarted in [false, true] {
            if restarted {
                bench.crash();
                bench.pass(Duration::from_secs(60));
            }
            let left = rooms_that_hold(&bench, "numbat");
            assert!(left.is_empty(), "forgotten after {steps} steps, restarted: {restarted}; {left:?}");
        }
        if taken < steps {
            break; // the turn had ended earlier
        }
    }
    println!("forgotten {in_flight} times while the turn went on");
    assert!(in_flight > 5, "a turn has many steps: {in_flight}");
}
