//! What is forgotten leaves every room, whenever the process is killed meanwhile and whatever else goes on.

use std::time::Duration;

use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::region::Region;
use maxim_actors::sleep::semantic_promoter::SemanticPromoter;
use maxim_bus::signals::concepts::ForgetRecord;
use maxim_bus::signals::promotion::Promote;
use maxim_bus::{RegionName, Trust};
use serde_json::{Value as Json, json};

use crate::common::Bench;

/// Rooms whose records and states say where an episode stands, or what rests on it.
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

/// A life in which files are written well, and the episode of one of them.
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
            // Not even begun, and not acknowledged: the wish went with the process, and nothing of it is half done.
            assert_eq!(found, left, "killed after step {steps}");
            assert!(taken == steps);
            continue;
        }
        assert_eq!(found, [""; 0], "killed after step {steps}, when {left:?} had it");
        assert_eq!(promoted(&mut bench)["source_episodes"].as_array().map(Vec::len), Some(4));
        if taken < steps {
            break; // all was done before the crash
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
    // The sixth success is told with the turns of those before it.
    bench.say("create a file more.txt with the text hello");
    bench.pass(Duration::from_secs(60));
    let with = json!({ "name": "write_file", "relationship_type": "EXECUTES_WITH" });
    assert_eq!(bench.inquire("concept_query", with)["results"][0]["name"], "txt file");
    assert_eq!(rooms_that_name(&bench, &id), [""; 0]);
}
