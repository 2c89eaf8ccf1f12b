//! The cerebellum on a rig.

use std::collections::BTreeMap;

use maxim_bus::signals::body::{MovementSensed, SensoryErrorSensed};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::outcome::{FailureKind, ToolResult};
use maxim_bus::signals::skill::{ExecutesWithLearned, ProgramForgotten, ProgramLearned};
use maxim_bus::signals::thought::{ActionSummary, Mind, TurnEnded};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, Signal, Trust};
use serde_json::{Value as Json, json};

use super::Cerebellum;
use super::program::{Example, SkillLaw};
use super::region::{CerebellumEvent, MOST_EXAMPLES, MOST_PARAMS, OpenGoal};
use maxim_bus::rooms::RESPOND;
use maxim_region::Region;
use maxim_region::rig::{Rig, ear};

fn rig<S: Signal>() -> Rig<Cerebellum> {
    Rig::new(SkillLaw::default(), ear::<S>)
}

struct Turns(u64);

impl Turns {
    /// A turn with this goal, these calls and these results.
    fn turn(&mut self, rig: &mut Rig<Cerebellum>, goal: &str, calls: &[(&str, Json, &str)], trust: Trust) {
        self.0 += 1;
        let turn = MessageId::from_parts(self.0, u128::from(self.0));
        rig.send(Intent {
            turn,
            tool: calls[0].0.into(),
            params: calls[0].1.clone(),
            mind: Mind::Habit,
            confidence: Confidence::clamped(1.0),
            commanded: true,
            trust,
            unasked: false,
            goal: Some(goal.into()),
            channel: "http".into(),
            recipient: "anna".into(),
            then: vec![],
            instead: vec![],
        });
        let act = |(tool, params, status): &(&str, Json, &str)| ActionSummary {
            id: turn,
            tool: (*tool).into(),
            params: params.clone(),
            status: (*status).into(),
            reason: None,
        };
        let mut actions: Vec<ActionSummary> = calls.iter().map(act).collect();
        actions.push(act(&(RESPOND, json!({"message": "done"}), "done")));
        rig.send(TurnEnded {
            turn,
            channel: "http".into(),
            reply: None,
            spoken: true,
            actions,
            lost: false,
            decided: None,
            rests_on: Vec::new(),
        });
    }

    fn note(&mut self, rig: &mut Rig<Cerebellum>, file: &str, last: &str) {
        let calls = [("write_file", json!({"path": file}), "done"), ("read_file", json!({"path": file}), last)];
        self.turn(rig, &format!("create {file} and read {file}"), &calls, Trust::Owner);
    }
}

#[test]
fn the_third_repetition_makes_a_program_that_grows_and_decays() {
    let mut rig = rig::<ProgramLearned>();
    let mut turns = Turns(0);
    turns.note(&mut rig, "a.txt", "done");
    turns.note(&mut rig, "b.txt", "failed");
    turns.note(&mut rig, "c.txt", "done");
    assert!(rig.heard::<ProgramLearned>().is_empty(), "two successes are not enough");
    rig.crash();
    turns.note(&mut rig, "d.txt", "done");
    let learned = rig.heard::<ProgramLearned>().pop().expect("a program");
    assert_eq!((learned.program.name.as_str(), learned.program.successes, learned.offered), ("create-read", 3, true));
    turns.note(&mut rig, "e.txt", "done");
    assert_eq!(rig.heard::<ProgramLearned>().pop().map(|learned| learned.program.successes), Some(4));
    turns.turn(&mut rig, "run program create-read with f.txt", &[("write_file", json!({}), "failed")], Trust::Owner);
    turns.note(&mut rig, "g.txt", "failed");
    let weaker = rig.heard::<ProgramLearned>();
    assert_eq!(weaker.iter().map(|learned| learned.offered).collect::<Vec<_>>(), [true, false]);
    assert!(weaker[1].program.strength < weaker[0].program.strength);
    assert_eq!(rig.region().programs().count(), 1);
    turns.note(&mut rig, "h.txt", "failed");
    turns.note(&mut rig, "i.txt", "failed");
    assert_eq!(rig.region().programs().count(), 0, "it failed too often and is forgotten");
}

#[test]
fn what_was_blocked_and_what_strangers_want_teaches_nothing() {
    let mut rig = rig::<ProgramLearned>();
    let mut turns = Turns(0);
    for file in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        turns.note(&mut rig, file, "blocked");
        let calls = [("write_file", json!({"path": file}), "done"), ("read_file", json!({"path": file}), "done")];
        turns.turn(&mut rig, &format!("create {file} and read {file}"), &calls, Trust::Outside);
    }
    assert!(rig.heard::<ProgramLearned>().is_empty());
}

fn result(path: &str, success: bool) -> ToolResult {
    let id = MessageId::from_parts(1, 1);
    ToolResult {
        action: id,
        intent: id,
        turn: id,
        tool: "read_file".into(),
        params: json!({ "path": path }),
        success: Some(success),
        output: Json::Null,
        error: None,
        failure: (!success).then_some(FailureKind::NotFound),
        duration_us: 1,
        side_effects: vec![],
        reward: None,
    }
}

#[test]
fn what_a_tool_works_with_is_said_at_the_third_success() {
    let mut rig = rig::<ExecutesWithLearned>();
    for path in ["a.txt", "b.txt", "x.pdf"] {
        rig.send(result(path, true));
    }
    rig.send(result("missing.txt", false));
    assert!(rig.heard::<ExecutesWithLearned>().is_empty());
    rig.crash();
    rig.send(result("c.txt", true));
    let said = rig.heard::<ExecutesWithLearned>();
    assert_eq!((said[0].tool.as_str(), said[0].object.as_str()), ("read_file", "txt file"));
    assert_eq!((said[0].successes, said[0].failures), (3, 1));
    assert!((said[0].confidence.get() - 0.7 * 0.75).abs() < 1e-12);
}

#[test]
fn at_its_bounds_its_state_fits_into_a_snapshot() {
    let mut room = Cerebellum::default();
    for number in 0..400u64 {
        let changes = (0..40).map(|sensor| (format!("sensor_{sensor}"), 0.123_456_789)).collect();
        room.apply(CerebellumEvent::Moved { kind: format!("part.move(p: {number})"), changes, felt: false });
        let params = json!({ "content": "x".repeat(MOST_PARAMS - 14) });
        let example = Example {
            words: vec!["word".into(); 40],
            calls: vec![(format!("tool_{number}"), params); 6],
            commanded: true,
            modelled: false,
            episode: "0".repeat(36),
        };
        for _ in 0..MOST_EXAMPLES + 1 {
            room.apply(CerebellumEvent::Exemplified(Box::new(example.clone())));
        }
        let (turn, episode) = (MessageId::from_parts(number, 1), MessageId::from_parts(number, 2).to_string());
        for _ in 0..10 {
            let (pair, episode) = (format!("tool_{number} kind of file"), episode.clone());
            room.apply(CerebellumEvent::Used { pair, success: true, episode });
        }
        let goal = OpenGoal { goal: "g".repeat(200), commanded: true, modelled: false };
        room.apply(CerebellumEvent::GoalNoted { turn, goal });
    }
    let bytes = serde_json::to_vec(&room).expect("JSON").len();
    println!("{bytes} bytes");
    // A quarter is left for the programs.
    assert!(bytes < 3 * (1 << 20) / 4, "{bytes} bytes");
}

fn turned(by: f64) -> MovementSensed {
    MovementSensed {
        action: None,
        body_part: "head".into(),
        movement: "turn".into(),
        params: json!({"degrees": 10}),
        before: BTreeMap::from([("yaw".into(), 5.0)]),
        after: BTreeMap::from([("yaw".into(), 5.0 + by)]),
        travelled: None,
    }
}

#[test]
fn a_movement_that_went_otherwise_is_an_error_once_the_kind_is_known() {
    let mut rig = rig::<SensoryErrorSensed>();
    rig.send(turned(10.0));
    rig.send(turned(2.0));
    assert!(rig.heard::<SensoryErrorSensed>().is_empty(), "nothing is expected of what is new");
    for _ in 0..8 {
        rig.send(turned(10.1));
    }
    rig.heard::<SensoryErrorSensed>();
    for _ in 0..60 {
        rig.send(turned(10.0));
    }
    assert!(rig.heard::<SensoryErrorSensed>().is_empty());
    rig.crash();
    rig.send(turned(0.0));
    let error = rig.heard::<SensoryErrorSensed>().pop().expect("it did not move");
    assert_eq!((error.body_part.as_str(), error.sensor.as_str(), error.observed), ("head", "yaw", 0.0));
    assert!((error.expected - 10.0).abs() < 0.5 && error.surprise >= 3.0, "{error:?}");
}

fn removed(turn: u64, forgotten: bool) -> RecordsRemoved {
    let ids = vec![MessageId::from_parts(turn, u128::from(turn)).to_string()];
    RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten, again: false }
}

#[test]
fn an_example_that_is_forgotten_teaches_nothing_and_one_that_sleep_let_go_does() {
    let mut rig = rig::<ProgramLearned>();
    let mut turns = Turns(0);
    turns.note(&mut rig, "a.txt", "done");
    turns.note(&mut rig, "secret.txt", "done");
    rig.send(removed(2, true));
    rig.crash();
    let left = serde_json::to_string(rig.region()).expect("a state");
    assert!(!left.contains("secret") && left.contains("a.txt"), "{left}");
    turns.note(&mut rig, "c.txt", "done");
    assert!(rig.heard::<ProgramLearned>().is_empty(), "two are left");
    rig.send(removed(1, false));
    turns.note(&mut rig, "d.txt", "done");
    assert_eq!(rig.heard::<ProgramLearned>().len(), 1);
}

#[test]
fn a_program_goes_with_the_last_episode_that_is_forgotten() {
    let forgotten = |slept: Option<u64>| {
        let mut rig = rig::<ProgramForgotten>();
        let mut turns = Turns(0);
        ["a.txt", "b.txt", "c.txt", "d.txt"].iter().for_each(|file| turns.note(&mut rig, file, "done"));
        if let Some(turn) = slept {
            rig.send(removed(turn, false));
        }
        for turn in 1..=3 {
            rig.send(removed(turn, true));
            rig.crash();
        }
        assert_eq!(rig.region().programs().count(), 1, "it did well in a fourth");
        rig.send(removed(4, true));
        assert_eq!(rig.region().programs().count() + rig.heard::<ProgramForgotten>().len(), 1);
        rig.region().programs().count() == 0
    };
    assert!(forgotten(None));
    assert!(!forgotten(Some(2)), "sleep let one of them go, which taught it too");
}

#[test]
fn a_pair_goes_with_the_last_use_that_is_forgotten() {
    let mut rig = rig::<ExecutesWithLearned>();
    let used = |turn: u64, path: &str, success| {
        let turn = MessageId::from_parts(turn, u128::from(turn));
        ToolResult { turn, ..result(path, success) }
    };
    rig.send(used(1, "a.txt", true));
    rig.send(used(2, "b.txt", false));
    rig.send(used(3, "x.pdf", false));
    rig.send(removed(1, true));
    rig.send(removed(3, true));
    rig.crash();
    let left = serde_json::to_string(rig.region()).expect("a state");
    assert!(left.contains("txt file") && !left.contains("pdf"), "{left}");
    rig.send(removed(2, true));
    assert!(!serde_json::to_string(rig.region()).expect("a state").contains("txt file"));
}
