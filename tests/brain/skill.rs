//! Practice makes a program: a sequence done three times is offered as one step, but not without the cerebellum.

use std::time::Duration;

use maxim_bus::signals::thought::TurnEnded;
use serde_json::json;

use crate::common::Bench;
use crate::model::{Model, acts};

fn tools(ended: &TurnEnded) -> Vec<&str> {
    ended.actions.iter().map(|action| action.tool.as_str()).collect()
}

fn note(file: &str, text: &str) -> String {
    format!("create a file {file} with the text {text} and then read the file {file}")
}

/// Three times the same kind of goal, with the cerebellum or without.
fn practised(cut: bool) -> Bench {
    let mut bench = Bench::new();
    if cut {
        assert!(bench.agent.cut("cerebellum"));
    }
    for (file, text) in [("a.txt", "hello"), ("b.txt", "good morning"), ("c.txt", "bye")] {
        let ended = bench.say(&note(file, text));
        assert_eq!(tools(&ended), ["write_file", "read_file", "respond"], "{ended:?}");
    }
    bench
}

/// Three times an action that needs a person, who answers after the turn is over.
fn answered_late(allowed: bool) -> String {
    let mut bench = Bench::new();
    bench.say("run the command git init");
    for file in ["a.txt", "b.txt", "c.txt"] {
        let ended =
            bench.say(&format!("create a file {file} with the text hello and then run the command git reset --hard"));
        let asked = ended.actions.iter().find(|action| action.is_asked()).expect("asked").id;
        bench.agent.outside.door.decide(asked, allowed, false, "anna".into());
        bench.pass(Duration::from_secs(5));
    }
    bench.say("which programs do you know?").reply.unwrap_or_default()
}

#[test]
fn what_is_allowed_when_the_turn_is_over_is_practice_too() {
    let known = answered_late(true);
    assert!(known.contains("git reset --hard") && known.contains("create a file <1>"), "{known}");
    let known = answered_late(false);
    assert!(!known.contains("git reset"), "{known}");
}

const CALL: &str = "run program create-file-text-read with d.txt \"so long\"";

#[test]
fn what_was_done_three_times_is_one_step_that_can_be_called_by_name() {
    let mut bench = practised(false);
    bench.crash();
    let ended = bench.say(CALL);
    assert_eq!(tools(&ended), ["write_file", "read_file", "respond"], "{ended:?}");
    assert_eq!(std::fs::read_to_string(bench.file("d.txt")).expect("written").trim_end(), "so long");
    assert!(ended.reply.is_some_and(|reply| reply.contains("so long")));
    let listed = bench.say("which programs do you know?").reply.unwrap_or_default();
    assert!(listed.contains("create a file <1> with the text <2> and then read the file <1>"), "{listed}");

    let mut twin = practised(true);
    twin.say(CALL);
    assert!(!twin.file("d.txt").exists(), "without the cerebellum it does not know how");
}

#[test]
fn the_person_is_told_once_that_it_is_one_step_by_now() {
    let mut bench = practised(false);
    let reply = bench.say(&note("e.txt", "again")).reply.unwrap_or_default();
    assert!(reply.contains("run program create-file-text-read with \"e.txt\" \"again\""), "{reply}");
    let reply = bench.say(&note("f.txt", "again")).reply.unwrap_or_default();
    assert!(!reply.contains("run program"), "once: {reply}");
    let mut twin = practised(true);
    let reply = twin.say(&note("e.txt", "again")).reply.unwrap_or_default();
    assert!(!reply.contains("run program"), "{reply}");
}

/// A model that knows one thing to do.
fn model() -> Model {
    Model::minded(|prompt| match prompt.contains("What you did in this turn already") {
        true => acts("respond", &json!({"message": "It is ready."})),
        false => acts("write_file", &json!({"path": "report.txt", "content": "all is well"})),
    })
}

#[test]
fn what_the_model_found_three_times_is_done_without_asking_it_again() {
    let calls = |cut: bool| {
        let model = model();
        let mut bench = model.bench(|_| {});
        if cut {
            assert!(bench.agent.cut("cerebellum"));
        }
        for _ in 0..3 {
            assert_eq!(tools(&bench.say("prepare the morning report")), ["write_file", "respond"]);
        }
        assert_eq!(model.turns(), 3);
        std::fs::remove_file(bench.file("report.txt")).expect("it was written");
        let ended = bench.say("Prepare the morning report!");
        assert_eq!(tools(&ended), ["write_file", "respond"], "{ended:?}");
        assert!(bench.file("report.txt").exists(), "the goal is reached either way");
        model.turns()
    };
    assert_eq!(calls(false), 3, "the fourth time it knows how");
    assert_eq!(calls(true), 4, "without the cerebellum it has to think again");
}

#[test]
fn a_program_that_fails_is_not_offered_any_more() {
    let model = model();
    let mut bench = model.bench(|_| {});
    for _ in 0..3 {
        bench.say("prepare the morning report");
    }
    std::fs::remove_file(bench.file("report.txt")).expect("it was written");
    std::fs::create_dir(bench.file("report.txt")).expect("a folder in its place");
    let failed = bench.say("prepare the morning report");
    assert_eq!((failed.actions[0].status.as_str(), model.turns()), ("failed", 3));
    bench.say("prepare the morning report");
    assert_eq!(model.turns(), 4, "it deliberates again");
}
