//! What the agent does when nobody asks for anything: a small world in which only experience teaches, in virtual
//! time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim::config::Settings;
use maxim::http::why_document;
use maxim::recorder::Recording;
use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_actors::effectors::door::Door;
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::latch::{Permit, StopDetail, StopLatch};
use maxim_bus::signals::fear::{FearWish, SurveyFears};
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::units::Confidence;
use maxim_bus::{Trust, VirtualClock};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Bench, MONDAY, core_tools};
use crate::replay::{Session, limits};

/// The actions in order: the tool, its object, and how good the result was.
type Done = Arc<Mutex<Vec<(String, String, f64)>>>;
/// How good an act with a thing is, from −1. The world is turned when the folder contains this file.
type Law = fn(thing: &str, is_turned: bool) -> f64;

/// An act of a small world. A result worse than −0.75 fails, and hurts.
struct Act {
    spec: ToolSpec,
    law: Law,
    done: Done,
}

impl Tool for Act {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        let thing = params["thing"].as_str().unwrap_or_default();
        let worth = (self.law)(thing, hands.workdir.join("turned").exists());
        self.done.lock().push((self.spec.name.clone(), thing.into(), worth));
        match worth < -0.75 {
            true => ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it hurts")),
            false => ToolOutcome::done(json!({})).with_reward(worth),
        }
    }
}

fn act(tools: &mut ToolRegistry, done: &Done, name: &str, things: &[&str], law: Law) {
    let spec = ToolSpec::new(name, "Something to do.");
    let scene = things.iter().map(|thing| (*thing).to_owned()).collect();
    let effect = EffectClass::Reversible;
    let spec = ToolSpec { effect, scene, unasked: true, is_foreign: true, ..spec };
    tools.register(Arc::new(Act { spec, law, done: Arc::clone(done) })).expect("registered");
}

/// Fire burns and food feeds, until the world turns. A stone does nothing, cold water is unpleasant, a berry is
/// slightly good.
fn small_world() -> (ToolRegistry, Done) {
    let (mut tools, done) = (core_tools(), Done::default());
    act(&mut tools, &done, "touch_fire", &["fire"], |_, turned| if turned { 1.0 } else { -1.0 });
    act(&mut tools, &done, "eat_food", &["food"], |_, turned| if turned { -1.0 } else { 1.0 });
    act(&mut tools, &done, "turn_stone", &["stone"], |_, _| 0.0);
    act(&mut tools, &done, "enter_water", &["cold water"], |_, _| -0.5);
    act(&mut tools, &done, "pick_berry", &["berry"], |_, _| 0.4);
    (tools, done)
}

/// Everything except the berry: a random choice among these acts and doing nothing is worth −0.1 on average.
const ALL: [&str; 4] = ["fire", "food", "stone", "cold water"];
const RANDOM: f64 = -0.1;
/// Longer than the longest pause between choices.
const LATER: Duration = Duration::from_secs(70);

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.deliberation.habit.act_every = "1s".parse().expect("a time");
    settings
}

fn bench_of(seed: u64, settings: Settings) -> (Bench, Done) {
    let (tools, done) = small_world();
    (Bench::seeded(seed, "maxim", StateStore::in_memory(), tools, settings), done)
}

fn show(door: &Door, things: &[&str]) {
    let seen = |name: &&str| Detection { name: (*name).into(), confidence: Confidence::clamped(0.9), frame: None };
    let objects = things.iter().map(seen).collect();
    let observed = Observed { source: "camera".into(), objects, people: Vec::new(), sound: None, pose: None };
    door.put("door", door.fresh_id(), Trust::Sensor, observed);
}

/// Sees these things this many times; returns what the agent did meanwhile.
fn live(bench: &mut Bench, done: &Done, things: &[&str], times: usize) -> Vec<(String, String, f64)> {
    let before = done.lock().len();
    for _ in 0..times {
        bench.pass(LATER);
        show(&bench.agent.outside.door, things);
        bench.agent.settle();
    }
    bench.pass(Duration::from_secs(1));
    done.lock()[before..].to_vec()
}

/// The mean worth over all opportunities; an unused one is worth 0.
fn mean(done: &[(String, String, f64)], times: usize) -> f64 {
    done.iter().map(|(_, _, worth)| worth).sum::<f64>() / times as f64
}

fn share(done: &[(String, String, f64)], tool: &str) -> f64 {
    done.iter().filter(|(name, ..)| name == tool).count() as f64 / done.len().max(1) as f64
}

/// An episode is eight opportunities.
const EPISODE: usize = 8;

#[test]
fn it_learns_by_experience_alone_what_is_worth_doing_and_without_learning_it_does_not() {
    let lived = |seed: u64, settings: Settings| {
        let (mut bench, done) = bench_of(seed, settings);
        let means: Vec<f64> = (0..6).map(|_| mean(&live(&mut bench, &done, &ALL, EPISODE), EPISODE)).collect();
        means
    };
    let learners: Vec<Vec<f64>> = (0..20).map(|seed| lived(seed, settings())).collect();
    let better = learners.iter().filter(|means| means[5] > RANDOM).count();
    let of_episode =
        |lives: &[Vec<f64>], at: usize| lives.iter().map(|means| means[at]).sum::<f64>() / lives.len() as f64;
    let curve: Vec<String> = (0..6).map(|at| format!("{:.2}", of_episode(&learners, at))).collect();
    println!("mean worth of an opportunity by episode over 20 seeds: {}; random {RANDOM}", curve.join(" "));
    assert!(better >= 19, "{better} of 20 did better than chance after five episodes: {learners:?}");
    assert!(of_episode(&learners, 5) > 0.6, "{curve:?}");
    let mut unlearning = settings();
    unlearning.memory.memory.nac_alpha = 0.001;
    let dull: Vec<Vec<f64>> = (0..5).map(|seed| lived(seed, unlearning.clone())).collect();
    let (first, last) = (of_episode(&dull, 0), of_episode(&dull, 5));
    println!("with a learning rate of 0.001: {first:.2} at first, {last:.2} at the end");
    assert!(last < 0.25, "without learning it gets no better: {dull:?}");
}

#[test]
fn when_the_world_turns_it_changes_over() {
    let (mut bench, done) = bench_of(3, settings());
    live(&mut bench, &done, &["food", "berry"], 40);
    let before = live(&mut bench, &done, &["food", "berry"], 10);
    assert!(share(&before, "eat_food") > 0.7, "{before:?}");
    std::fs::write(bench.file("turned"), "").expect("written");
    live(&mut bench, &done, &["food", "berry"], 40);
    let after = live(&mut bench, &done, &["food", "berry"], 10);
    assert!(share(&after, "eat_food") < 0.2 && share(&after, "pick_berry") > 0.5, "the food is bad: {after:?}");
}

#[test]
fn a_fire_that_went_out_is_tried_again_when_the_fear_of_it_has_faded() {
    let (mut bench, done) = bench_of(5, settings());
    live(&mut bench, &done, &["fire", "stone"], 30);
    let before = live(&mut bench, &done, &["fire", "stone"], 10);
    assert!(share(&before, "touch_fire") <= 0.2, "{before:?}");
    std::fs::write(bench.file("turned"), "").expect("written");
    bench.pass(Duration::from_secs(30 * 86_400));
    live(&mut bench, &done, &["fire", "stone"], 80);
    let after = live(&mut bench, &done, &["fire", "stone"], 10);
    assert!(share(&after, "touch_fire") > 0.5, "{after:?}");
}

#[test]
fn the_same_act_is_good_with_one_thing_and_bad_with_another() {
    let (mut tools, done) = (core_tools(), Done::default());
    let spec = ToolSpec::new("stroke", "Strokes it.").with_parameters(json!({"thing": {"type": "string"}}), &["thing"]);
    let spec = spec.with_example(json!({"thing": "cat"}));
    let scene = vec!["cat".into(), "stove".into()];
    let spec = ToolSpec { effect: EffectClass::Reversible, scene, unasked: true, ..spec };
    let law = |thing: &str, _| if thing == "cat" { 1.0 } else { -0.7 };
    tools.register(Arc::new(Act { spec, law, done: Arc::clone(&done) })).expect("registered");
    let mut bench = Bench::seeded(7, "maxim", StateStore::in_memory(), tools, settings());
    live(&mut bench, &done, &["cat", "stove"], 40);
    let lately = live(&mut bench, &done, &["cat", "stove"], 10);
    let cats = lately.iter().filter(|(_, thing, _)| thing == "cat").count();
    assert!(lately.len() >= 6 && cats as f64 > 0.8 * lately.len() as f64, "{lately:?}");
}

/// The weighed options of the last choice that led to an act.
fn weighed(bench: &Bench) -> Vec<Value> {
    newest(bench, "ActChosen")["options"].as_array().expect("options").clone()
}

/// The newest part of this kind in any why-record.
fn newest(bench: &Bench, kind: &str) -> Value {
    let all = bench.why_all();
    let parts = all.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let parts: Vec<Value> = parts.filter(|part| part["kind"] == kind).collect();
    let newest = parts.into_iter().max_by_key(|part| part["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok()));
    newest.expect("something was chosen")["body"].clone()
}

#[test]
fn a_restart_has_unlearned_nothing() {
    let after = |restarts: bool| {
        let (mut bench, done) = bench_of(11, settings());
        live(&mut bench, &done, &ALL, 24);
        if restarts {
            bench.crash();
        }
        let lately = live(&mut bench, &done, &ALL, 6);
        let worth: Vec<(Value, Value, Value)> = weighed(&bench)
            .into_iter()
            .map(|option| (option["tool"].clone(), option["value"].clone(), option["tries"].clone()))
            .collect();
        (lately, worth)
    };
    let (twin, restarted) = (after(false), after(true));
    assert_eq!(twin, restarted);
    assert!(share(&restarted.0, "eat_food") > 0.6, "{restarted:?}");
}

#[test]
fn a_stop_a_hold_a_goal_and_less_autonomy_keep_it_still() {
    let detail = || StopDetail { reason: "test".into(), by: "anna".into(), at: None };
    let stop = || PreemptionRequested::Stop(detail());
    let (reset, resume) =
        (PreemptionRequested::Reset { by: "anna".into() }, PreemptionRequested::Resume { by: "anna".into() });
    let (mut bench, done) = bench_of(13, settings());
    let acts = |bench: &mut Bench, done: &Done| live(bench, done, &["food"], 8).len();
    assert!(acts(&mut bench, &done) > 2, "free, it acts");
    bench.latch.raise(detail());
    bench.request(stop());
    assert_eq!(acts(&mut bench, &done), 0, "stopped");
    bench.crash();
    bench.latch.reset().expect("reset");
    bench.request(reset);
    assert_eq!(acts(&mut bench, &done), 0, "reset, and not resumed, also after a crash");
    bench.latch.resume().expect("resumed");
    bench.request(resume.clone());
    assert!(acts(&mut bench, &done) > 2, "free again");
    bench.request(PreemptionRequested::Hold { until: None, by: "anna".into() });
    let steps = |bench: &Bench| bench.why_all().lines().count();
    let before = steps(&bench);
    assert_eq!((acts(&mut bench, &done), steps(&bench)), (0, before), "held, not even a turn is begun");
    bench.request(resume);
    assert!(acts(&mut bench, &done) > 2, "free again");
    let goal = bench.say("your next goal is to run the command git init && git reset --hard");
    bench.pass(Duration::from_secs(1));
    let before = done.lock().len();
    show(&bench.agent.outside.door, &["food", "berry"]);
    bench.pass(Duration::from_secs(5));
    assert_eq!(done.lock().len(), before, "a goal waits for a person: {goal:?}");
    bench.pass(Duration::from_secs(3_600));
    assert!(acts(&mut bench, &done) > 2, "free again, since nobody answered");
    let asked = |bench: &Bench| bench.why_all().matches("\"refusal\":\"asked\"").count();
    let before = asked(&bench);
    for (level, moves) in [("planning", false), ("supervised", false), ("autonomous", true)] {
        let mut less = settings();
        less.agent.autonomy = serde_json::from_value(json!(level)).expect("a level");
        bench.restart_with_settings(less);
        bench.pass(Duration::from_secs(7_200));
        assert_eq!(acts(&mut bench, &done) > 0, moves, "{level}");
        assert_eq!(asked(&bench), before, "nobody is asked");
    }
    let mut off = settings();
    off.deliberation.habit.acts = false;
    bench.restart_with_settings(off);
    assert_eq!(acts(&mut bench, &done), 0, "switched off");
}

#[test]
fn while_a_person_is_being_answered_it_does_nothing_else() {
    let (mut bench, done) = bench_of(17, settings());
    assert!(live(&mut bench, &done, &["food"], 8).len() > 2);
    let before = done.lock().len();
    for round in 0..8 {
        bench.pass(LATER);
        let _accepted = bench.submit(&format!("create a file n{round}.txt with the text hello"));
        let is_open = |bench: &Bench| {
            let records = bench.agent.frame.store.records("habit", .., usize::MAX).expect("read");
            records.iter().any(|(key, _)| key.starts_with(b"turn/"))
        };
        while !is_open(&bench) {
            if !bench.agent.step() {
                let due = bench.agent.next_deadline().expect("enrichment waits no longer than that");
                bench.clock.advance_to(due);
            }
        }
        show(&bench.agent.outside.door, &["food"]);
        bench.agent.settle();
        assert!(bench.file(&format!("n{round}.txt")).exists());
    }
    assert_eq!(done.lock().len(), before, "one thing at a time");
}

#[test]
fn what_a_person_would_be_asked_about_is_left_alone_and_nobody_is_asked() {
    let (mut bench, done) = bench_of(19, settings());
    let pin = SurveyFears { change: Some(("eat_food".into(), FearWish::Pin)), by: "anna".into() };
    bench.ask("fear_agent", pin);
    let lived = live(&mut bench, &done, &["food", "berry"], 20);
    assert_eq!((share(&lived, "eat_food"), share(&lived, "pick_berry")), (0.0, 1.0), "{lived:?}");
    assert!(weighed(&bench).iter().any(|option| option["barred"].as_str().is_some_and(|why| why.contains("pinned"))));
    assert!(!bench.why_all().contains("\"refusal\":\"asked\""));
}

#[test]
fn why_says_what_was_weighed_and_chosen_and_what_it_came_of() {
    let (mut bench, done) = bench_of(23, settings());
    live(&mut bench, &done, &ALL, 12);
    let (last, ..) = done.lock().last().cloned().expect("it did something");
    let turn = newest(&bench, "Intent")["turn"].as_str().and_then(|turn| turn.parse().ok()).expect("a turn");
    let record = why_document(&bench.agent.frame.store, turn).expect("read").expect("a record");
    assert_eq!(record["perceived"]["source"], "senses");
    assert!(record["perceived"]["content"].as_str().is_some_and(|content| content.contains("food")), "{record}");
    let step = |kind: &str| {
        let steps = record["steps"].as_array().expect("steps");
        steps.iter().find(|step| step["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {record}")).clone()
    };
    let chosen = step("ActChosen");
    let options = chosen["detail"]["options"].as_array().expect("options");
    assert_eq!(options.len(), 4);
    let place = chosen["detail"]["chosen"].as_u64().expect("a place") as usize;
    assert_eq!(options[place]["tool"], last.as_str());
    let sum = |option: &Value, name: &str| option[name].as_f64().expect("a number");
    let chances = options.iter().map(|option| sum(option, "chance")).sum::<f64>() + sum(&chosen["detail"], "nothing");
    assert!((chances - 1.0).abs() < 1e-9, "{chosen}");
    for option in options {
        let score = sum(option, "value") + sum(option, "novelty") - 0.5 * sum(option, "fear");
        assert!((sum(option, "score") - score).abs() < 1e-9, "{option}");
    }
    assert!(chosen["what"].as_str().is_some_and(|what| what.contains("(chosen)") && what.contains("novelty")));
    let rests: Vec<String> =
        step("Intent")["rests_on"].as_array().expect("a list").iter().map(Value::to_string).collect();
    assert_eq!(rests.len(), 4, "three other acts, and nothing: {rests:?}");
    assert!(rests.iter().any(|line| line.contains("instead of nothing")), "{rests:?}");
    assert_eq!(step("ToolResult")["detail"]["tool"], last.as_str());
    step("PredictionErrorSensed");
    assert!(record["reply"].is_null(), "nobody is told: {record}");
}

#[test]
fn the_same_seed_does_the_same() {
    let lived = |seed: u64| {
        let (mut bench, done) = bench_of(seed, settings());
        let lived = live(&mut bench, &done, &ALL, 16);
        let states = bench.agent.state_hashes().into_iter();
        let states = states.filter(|(name, _)| !["cause_ledger", "execution_tracker"].contains(name));
        (lived, states.collect::<Vec<_>>())
    };
    assert_eq!(lived(1), lived(1));
    assert_ne!(lived(1).0, lived(2).0, "chance is the seed's");
}

#[test]
fn a_recording_of_it_replays_to_the_same_choices() {
    let dir = TempDir::new().expect("a folder");
    let (store, _) = StateStore::open(&dir.path().join("store"), StoreOptions::default()).expect("a store");
    let (tools, done) = small_world();
    let clock = VirtualClock::at(MONDAY.parse().expect("a time"));
    let recordings: PathBuf = dir.path().join("recordings");
    let latch = StopLatch::in_memory();
    let mut session = Session::boot_with(store, clock, latch, dir.path(), &recordings, limits(), 1, settings(), tools);
    for _ in 0..12 {
        session.pass(LATER);
        show(&session.agent.outside.door, &ALL);
        session.agent.settle();
    }
    session.pass(LATER);
    assert!(done.lock().len() > 4);
    for file in session.end() {
        let report = Recording::replay_file(&file).expect("it replays");
        assert!(report.is_equal(), "{:#?}\n{:#?}", report.first_divergence, report.set_aside);
        assert!(report.regions.get("habit").is_some_and(|tally| tally.inputs > 50), "{:?}", report.regions);
    }
}
