//! Results of a turn that was forgotten, or that a crash cut off.

use std::time::Duration;

use maxim_bus::mode::Mode;
use maxim_bus::signals::concepts::{ForgetRecord, RecordsRemoved};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::recall::EpisodeStored;
use maxim_bus::signals::thought::{SurveyTurns, TurnEnded, TurnsSurveyed};
use maxim_bus::units::{Novelty, Salience};
use maxim_bus::{MessageId, Trust};
use serde_json::json;

use super::{Bench, settings};
use crate::hippocampus::model::EpisodicMemory;
use crate::hippocampus::records::{episode_key, id_key};
use crate::hippocampus::{Hippocampus, HippocampusSettings};
use maxim_region::Region;

fn said(text: &str) -> SalientPercept {
    SalientPercept {
        percept: Percept::from_outside("http", "anna", text.into(), false, Trust::Owner),
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.1),
    }
}

fn result(turn: MessageId, output: &str) -> ToolResult {
    ToolResult {
        action: turn,
        intent: turn,
        turn,
        tool: "bash".into(),
        params: json!({}),
        success: Some(true),
        output: json!(output),
        error: None,
        failure: None,
        duration_us: 1,
        side_effects: Vec::new(),
        reward: None,
    }
}

fn ended(turn: MessageId) -> TurnEnded {
    TurnEnded {
        turn,
        channel: "http".into(),
        reply: Some("wombat".into()),
        spoken: true,
        actions: Vec::new(),
        lost: false,
        decided: None,
        rests_on: Vec::new(),
    }
}

fn episode(bench: &Bench, turn: MessageId) -> EpisodicMemory {
    let document = bench.rig.records().get::<u32>(&id_key(&turn.to_string())).expect("an id");
    bench.rig.records().get(&episode_key(document)).expect("an episode")
}

#[test]
fn what_comes_of_a_turn_after_it_was_forgotten_is_told_to_be_forgotten_too() {
    let mut bench = Bench::new(None);
    let secret = bench.rig.send(said("look up the quokka"));
    let other = bench.rig.send(said("look up the lamp"));
    bench.rig.send(result(secret, "a numbat"));
    bench.rig.send(ForgetRecord { id: secret.to_string() });
    bench.rig.heard::<RecordsRemoved>();
    bench.rig.crash();
    let kept = bench.rig.store().recover(Hippocampus::NAME).expect("read");
    let held = kept.root.iter().chain(&kept.events).any(|bytes| String::from_utf8_lossy(bytes).contains("numbat"));
    assert!(!held, "what it had given back by then went with it");
    for turn in [secret, other] {
        bench.rig.send(result(turn, "two numbats"));
        bench.rig.send(ended(turn));
        let told: Vec<RecordsRemoved> = bench.rig.heard();
        assert_eq!(told.len(), if turn == secret { 2 } else { 0 }, "{told:?}");
        assert!(told.iter().all(|removed| removed.forgotten && removed.ids == [secret.to_string()]));
    }
    assert_eq!(bench.stats().0, 1, "there is no episode of it again");
}

#[test]
fn what_repeats_an_episode_says_so() {
    let mut bench = Bench::new(None);
    let first = bench.rig.send(said("the lamp is on"));
    bench.rig.send(said("the lamp is on"));
    let repeats: Vec<Option<String>> = bench.rig.heard::<EpisodeStored>().into_iter().map(|one| one.repeats).collect();
    assert_eq!(repeats, [None, Some(first.to_string())]);
}

#[test]
fn an_episode_is_marked_with_the_mode_that_was_in_force() {
    let mut bench = Bench::new(None);
    let mode = |bench: &mut Bench, text: &str| {
        let turn = bench.rig.send(said(text));
        episode(bench, turn).context.mode.expect("a mode")
    };
    assert_eq!(mode(&mut bench, "one"), "active");
    bench.rig.send(ModeLowered { to: Some(Mode::Passive) });
    bench.rig.crash();
    assert_eq!(mode(&mut bench, "two"), "passive");
    bench.rig.send(ModeLowered { to: None });
    assert_eq!(mode(&mut bench, "three"), "active");
}

#[test]
fn a_cycle_that_a_crash_cut_is_closed_a_minute_after_the_start_unless_it_goes_on() {
    let mut bench = Bench::new(None);
    let lost = bench.rig.send(said("water the plants"));
    let resumed = bench.rig.send(said("find the lamp"));
    bench.rig.crash();
    bench.rig.pass(Duration::from_secs(120));
    assert!(bench.rig.heard::<SurveyTurns>().is_empty(), "the process still runs");
    bench.rig.restart(HippocampusSettings { run: "2".into(), ..settings(None) });
    bench.rig.run();
    let new = bench.rig.send(said("good morning"));
    bench.rig.crash();
    bench.rig.pass(Duration::from_secs(59));
    assert!(bench.rig.heard::<SurveyTurns>().is_empty(), "what goes on has to be taken up first");
    bench.rig.pass(Duration::from_secs(1));
    assert_eq!(bench.rig.heard::<SurveyTurns>()[0].turns, [lost, resumed]);
    bench.rig.pass(Duration::from_secs(60));
    assert_eq!(bench.rig.heard::<SurveyTurns>().len(), 1, "it is asked until there is an answer");
    bench.rig.heard::<EpisodeStored>();
    bench.rig.send(TurnsSurveyed { open: vec![resumed] });
    let told: Vec<(String, bool)> =
        bench.rig.heard::<EpisodeStored>().into_iter().map(|one| (one.episode, one.complete)).collect();
    assert_eq!(told, [(lost.to_string(), true)]);
    let outcome = episode(&bench, lost).outcome.expect("it is closed");
    assert_eq!((outcome.success, outcome.result.as_str()), (None, "the process went down before it ended"));
    assert!([resumed, new].iter().all(|turn| episode(&bench, *turn).outcome.is_none()));
    bench.rig.pass(Duration::from_secs(600));
    assert!(bench.rig.heard::<SurveyTurns>().is_empty(), "once");
    bench.rig.send(ended(resumed));
    assert!(episode(&bench, resumed).outcome.is_some());
}
