//! Turns that a crash cut off: most continue after the start; one unknown to its room is closed as unknown.

use std::time::Duration;

use maxim_actors::store::Commit;
use maxim_bus::MessageId;
use serde_json::{Value, json};

use crate::common::Bench;

/// The hippocampus's state: open cycles, and the moments that a question's words match.
fn open(bench: &mut Bench) -> Value {
    bench.inquire("system_stats", json!({}))["regions"]["hippocampus"]["open"].clone()
}

fn recalled(bench: &mut Bench, query: &str) -> Value {
    bench.inquire("memory_recall", json!({ "query": query, "limit": 1 }))["results"][0].clone()
}

/// Turns that habit has begun and not ended.
fn begun(bench: &Bench) -> Vec<MessageId> {
    let found = bench.agent.frame.store.records("habit", .., usize::MAX).expect("read");
    let turns = found.iter().filter_map(|(key, _)| std::str::from_utf8(key).ok()?.strip_prefix("turn/"));
    turns.map(|id| id.parse().expect("an id")).collect()
}

/// A turn during which the process dies, this many steps after habit has begun it.
fn cut(text: &str, steps: usize) -> (Bench, MessageId) {
    let mut bench = Bench::new();
    let _accepted = bench.submit(text);
    while begun(&bench).is_empty() {
        assert!(bench.agent.step(), "a turn begins");
    }
    assert!((0..steps).all(|_| bench.agent.step()));
    let turn = begun(&bench)[0];
    (bench, turn)
}

/// Removes a turn from habit, as if its message became a dead letter or its state started again.
fn lose(bench: &Bench, turn: MessageId) {
    let store = &bench.agent.frame.store;
    let commit = Commit {
        events: vec![json!({ "Ended": { "turn": turn } }).to_string().into_bytes()],
        records: vec![(format!("turn/{turn}").into_bytes(), None)],
        ..Commit::of("habit", store.raise_epoch("habit"))
    };
    store.accept(commit, |_| ()).expect("accepted");
}

const ERRAND: &str = "create a file quokka.txt with the text fig";

#[test]
fn a_turn_that_a_crash_took_from_its_room_is_closed_as_unknown_and_remembered_so() {
    for steps in [0, 10, 20] {
        let (mut bench, turn) = cut(ERRAND, steps);
        lose(&bench, turn);
        bench.crash();
        bench.pass(Duration::from_secs(50));
        assert_eq!(open(&mut bench), 1, "what goes on has to be taken up first");
        bench.pass(Duration::from_secs(20));
        assert_eq!(open(&mut bench), 0, "cut after {steps} steps");
        for _ in 0..2 {
            let moment = recalled(&mut bench, "quokka");
            assert_eq!(moment["id"], turn.to_string(), "{moment}");
            let end = (&moment["success"], moment["result"].as_str());
            assert_eq!(end, (&Value::Null, Some("the process went down before it ended")), "{moment}");
            bench.crash();
            bench.pass(Duration::from_secs(120));
        }
    }
}

#[test]
fn a_turn_that_a_crash_cut_and_its_room_knows_goes_on_and_ends_as_any_other() {
    for steps in [0, 10, 20] {
        let (mut bench, turn) = cut(ERRAND, steps);
        bench.crash();
        bench.pass(Duration::from_secs(120));
        assert!(begun(&bench).is_empty() && bench.file("quokka.txt").exists(), "cut after {steps} steps");
        let moment = recalled(&mut bench, "quokka");
        assert_eq!((&moment["id"], &moment["success"]), (&json!(turn.to_string()), &json!(true)), "{moment}");
    }
}
