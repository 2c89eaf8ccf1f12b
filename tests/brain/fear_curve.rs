//! P13, through the whole loop: how many bad outcomes lead to a question, how far a fear spreads, what it spares, and
//! how it is forgiven. The table in the guide comes from this test.

use std::sync::Arc;
use std::time::Duration;

use maxim::config::Settings;
use maxim_actors::action::tools::{
    EffectClass, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolRegistry, ToolSpec,
};
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::latch::Permit;
use maxim_bus::signals::fear::{FearWish, FearsSurveyed, SurveyFears};
use maxim_bus::signals::lifecycle::PreemptionRequested;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// Acts on a thing, which hurts unless the working folder contains `THING.safe`.
struct Hazard(ToolSpec);

impl Tool for Hazard {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        let thing = params["thing"].as_str().unwrap_or_default();
        match hands.workdir.join(format!("{thing}.safe")).exists() {
            true => ToolOutcome::done(json!({"done": thing})),
            false => ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, "it hurts")),
        }
    }
}

const HAZARDS: [(&str, EffectClass); 3] =
    [("touch", EffectClass::Reversible), ("press", EffectClass::Irreversible), ("polish", EffectClass::Reversible)];

fn with_hazards() -> ToolRegistry {
    let mut tools = core_tools();
    for (verb, effect) in HAZARDS {
        let spec = ToolSpec::new(&format!("{verb}_thing"), "Acts on a thing.")
            .with_parameters(json!({"thing": {"type": "string", "description": "What."}}), &["thing"])
            .with_example(json!({"thing": "stove"}))
            .with_speech(&[verb], &["{verb} the {thing:word}"]);
        tools.register(Arc::new(Hazard(ToolSpec { effect, ..spec }))).expect("registered");
    }
    tools
}

fn bench(change: impl FnOnce(&mut Settings)) -> Bench {
    let mut settings = Settings::default();
    change(&mut settings);
    Bench::with("maxim", StateStore::in_memory(), with_hazards, settings)
}

fn status(bench: &mut Bench, text: &str) -> String {
    bench.pass(Duration::from_secs(1));
    let ended = bench.say(text);
    let action = &ended.actions[0];
    if action.status == "asked" {
        let reason = action.reason.clone().unwrap_or_default();
        assert!(reason.starts_with("fear."), "it is fear that asks: {reason}");
    }
    action.status.to_string()
}

/// Repeats it until it is asked about; returns how often it failed before.
fn burnt(bench: &mut Bench, wish: &str) -> usize {
    let failed = (0..60).take_while(|_| status(bench, wish) == "failed").count();
    assert!(failed < 60, "{wish}: it never learns");
    failed
}

/// A person allows every question until none is asked any more; returns how often.
fn exposed(bench: &mut Bench, wish: &str) -> usize {
    let mut allowed = 0;
    loop {
        bench.pass(Duration::from_secs(1));
        let action = bench.say(wish).actions.remove(0);
        if action.status == "done" {
            return allowed;
        }
        assert_eq!(action.status, "asked", "{action:?}");
        bench.agent.outside.door.decide(action.id, true, false, "anna".into());
        bench.agent.settle();
        allowed += 1;
        assert!(allowed < 60, "it never forgives");
    }
}

fn makes_safe(bench: &Bench, thing: &str) {
    std::fs::write(bench.file(&format!("{thing}.safe")), "").expect("written");
}

fn fears(bench: &mut Bench, change: Option<(&str, FearWish)>) -> FearsSurveyed {
    let change = change.map(|(tool, wish)| (tool.to_owned(), wish));
    bench.ask("fear_agent", SurveyFears { change, by: "anna".into() })
}

fn redirect(bench: &Bench, goal: &str) {
    let door = &bench.agent.outside.door;
    let (goal, by, channel) = (goal.into(), "anna".into(), "http".into());
    let wish = PreemptionRequested::Redirect { goal, by, channel, turn: None, is_threat: false };
    door.put("door", door.fresh_id(), Trust::Owner, wish);
}

/// Days until a feared action is tried again.
fn days_feared() -> u64 {
    let mut days = 0;
    loop {
        let mut bench = bench(|_| {});
        burnt(&mut bench, "touch the stove");
        bench.pass(Duration::from_secs(days * 86_400));
        if status(&mut bench, "touch the stove") == "failed" {
            assert_eq!(status(&mut bench, "touch the stove"), "asked", "one trial, and the fear is back");
            return days;
        }
        days += 1;
        assert!(days < 60, "time forgives nothing");
    }
}

#[test]
fn the_curves_of_fear_are_those_of_the_guide() {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (gain, told) in
        [(0.3, "bad outcomes until it asks"), (0.15, "… with `gate.bridge_gain = 0.15`"), (0.0, "… with 0")]
    {
        let counts: Vec<usize> = HAZARDS
            .iter()
            .map(|(verb, _)| burnt(&mut bench(|s| s.gate.gate.bridge_gain = gain), &format!("{verb} the stove")))
            .collect();
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "alike for each hazard: {counts:?}");
        assert!(gain < 0.15 || counts[0] <= 5, "at most 5: {counts:?}");
        assert!(counts[0] >= 2, "one bad outcome is no rule");
        rows.push((told.into(), counts[0].to_string()));
    }

    let mut mixed = bench(|_| {});
    makes_safe(&mixed, "pan");
    let mut bad = 0;
    for number in 0..40 {
        let wish = if number % 3 == 2 { "touch the pan" } else { "touch the stove" };
        match status(&mut mixed, wish).as_str() {
            "failed" => bad += 1,
            "asked" => break,
            _ => {}
        }
    }
    assert!(bad < 27, "it never learns");
    rows.push(("… when every third is good".into(), bad.to_string()));

    // Fear spreads to the same act with another thing, and spares everything done differently.
    let mut feared = bench(|_| {});
    burnt(&mut feared, "touch the stove");
    assert_eq!(status(&mut feared, "touch the kettle"), "asked");
    rows.push(("… until it asks about the same action on another thing".into(), "0 more".into()));
    let (mut others, mut false_asks) = (0, 0);
    for number in 0..100 {
        for wish in [format!("create a file f{number}.txt with the text hi"), format!("press the b{number}")] {
            makes_safe(&feared, &format!("b{number}"));
            false_asks += usize::from(status(&mut feared, &wish) != "done");
            others += 1;
        }
    }
    assert!(false_asks * 100 <= others, "{false_asks} of {others}");
    rows.push(("other actions asked about meanwhile".into(), format!("{false_asks} of {others}")));

    // Exposure: a person allows it, and it ends well.
    makes_safe(&feared, "stove");
    rows.push((
        "good outcomes, each allowed by a person, until it doesn't ask".into(),
        exposed(&mut feared, "touch the stove").to_string(),
    ));
    rows.push(("days without one until it is tried again (half-life 7 days)".into(), days_feared().to_string()));

    let table: String = rows.iter().map(|(what, number)| format!("| {what} | {number} |\n")).collect();
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/guide/src/measured/fear.md");
    let page = std::fs::read_to_string(PAGE).expect("it is there");
    assert!(page.contains(&table), "the table in {PAGE} should be\n{table}");
}

/// The links are conditioned on the object: an average over both would fear neither.
#[test]
fn the_thing_that_hurts_is_told_from_the_thing_that_does_not() {
    let mut bench = bench(|_| {});
    burnt(&mut bench, "touch the stove");
    makes_safe(&bench, "lamp");
    assert_eq!(status(&mut bench, "touch the lamp"), "asked", "the same action may hurt with another thing too");
    exposed(&mut bench, "touch the lamp");
    for _ in 0..30 {
        assert_ne!(status(&mut bench, "touch the stove"), "done");
        assert_eq!(status(&mut bench, "touch the lamp"), "done");
    }
    bench.crash();
    assert_eq!(status(&mut bench, "touch the stove"), "asked");
    assert_eq!(status(&mut bench, "touch the lamp"), "done");
    let mut expected = |thing: &str| {
        let asked = json!({"tool_name": "touch_thing", "context": format!("with the {thing}")});
        bench.inquire("predict_outcome", asked)["value"].as_f64().expect("a value")
    };
    let (lamp, stove) = (expected("lamp"), expected("stove"));
    assert!(lamp > 0.7 && stove < 0.4, "words say which of the known circumstances are meant: {lamp}, {stove}");
}

/// The pursued goal is part of the circumstances.
#[test]
fn what_goes_wrong_for_one_goal_is_not_feared_for_another() {
    let mut bench = bench(|settings| settings.gate.gate.bridge_gain = 0.0);
    let expected = |bench: &mut Bench, goal: &str| {
        let asked = json!({"tool_name": "touch_thing", "context": goal});
        bench.inquire("predict_outcome", asked)["value"].as_f64().expect("a value")
    };
    for _ in 0..4 {
        redirect(&bench, "touch the stove");
        std::fs::remove_file(bench.file("stove.safe")).ok();
        bench.agent.settle();
        makes_safe(&bench, "stove");
        assert_eq!(status(&mut bench, "touch the stove"), "done");
    }
    let (pursued, asked) = (expected(&mut bench, "touch the stove"), expected(&mut bench, ""));
    assert!(pursued < 0.5 && asked > pursued, "{pursued} for the goal, {asked} without");
}

#[test]
fn a_person_forgives_and_pins_and_the_next_burn_brings_a_forgiven_fear_back() {
    let mut bench = bench(|_| {});
    burnt(&mut bench, "touch the stove");
    let feared = fears(&mut bench, None);
    assert_eq!(feared.fears.iter().map(|fear| fear.tool.as_str()).collect::<Vec<_>>(), ["touch_thing"]);
    assert!(fears(&mut bench, Some(("touch_thing", FearWish::Forgive))).fears.is_empty());
    bench.crash();
    assert_eq!(status(&mut bench, "touch the stove"), "failed", "it is tried");
    assert_eq!(status(&mut bench, "touch the stove"), "asked", "and feared again");

    makes_safe(&bench, "lamp");
    assert_eq!(status(&mut bench, "press the lamp"), "done");
    assert!(fears(&mut bench, Some(("press_thing", FearWish::Pin))).refused.is_none());
    bench.crash();
    for _ in 0..3 {
        assert_eq!(status(&mut bench, "press the lamp"), "asked", "whatever experience says");
    }
    fears(&mut bench, Some(("press_thing", FearWish::Forgive)));
    assert_eq!(status(&mut bench, "press the lamp"), "done");
    let refused = fears(&mut bench, Some(("press_thing", FearWish::Forgive))).refused.expect("nothing to forgive");
    assert!(refused.contains("maxim fear list"), "{refused}");
}

#[test]
fn only_the_owner_changes_what_is_feared() {
    let mut bench = bench(|_| {});
    burnt(&mut bench, "touch the stove");
    let door = Arc::clone(&bench.agent.outside.door);
    let change = SurveyFears { change: Some(("touch_thing".into(), FearWish::Forgive)), by: "mallory".into() };
    door.put("door", door.fresh_id(), Trust::Listed, change);
    bench.agent.settle();
    assert_eq!(fears(&mut bench, None).fears.len(), 1);
    assert_eq!(status(&mut bench, "touch the stove"), "asked");
}

#[test]
fn a_feared_action_that_nobody_answers_for_is_a_no() {
    let mut bench = bench(|_| {});
    burnt(&mut bench, "touch the stove");
    bench.pass(Duration::from_secs(3600));
    let why = bench.why_all();
    assert!(why.contains("approval.expired") && why.contains("nobody answered in time"), "{why}");
    let felt = bench.inquire("pain_history", json!({"limit": 20}));
    assert_eq!(felt["counts"]["tool_error"], 3, "it was not done: {felt}");
}
