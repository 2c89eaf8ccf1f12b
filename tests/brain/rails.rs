//! The checks on a model's own wishes: invented names, the scene's tools, repetition, its own confidence, and
//! budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use maxim_actors::action::tools::{Hands, Tool, ToolOutcome, ToolRegistry, ToolSpec};
use maxim_bus::Trust;
use maxim_bus::latch::Permit;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::units::Confidence;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools, loopback};
use crate::model::{Act, Model, acts};

const WISH: &str = "what would the plumber say to this mess tomorrow?";

fn well() -> String {
    acts("respond", &json!({"message": "Well."}))
}

fn first(ended: &TurnEnded) -> (String, String) {
    let action = ended.actions.iter().find(|action| action.tool != "respond").expect("something was tried");
    (action.status.to_string(), action.reason.clone().unwrap_or_default())
}

#[test]
fn an_invented_name_is_answered_with_the_nearest_and_a_second_in_a_row_with_all() {
    let model = Model::acting(|number, _| {
        Act::Say(match number {
            0 => acts("rite_file", &json!({"path": "a.txt", "content": "x"})),
            1 => acts("telekinesis", &json!({})),
            _ => well(),
        })
    });
    let mut bench = model.bench(|_| {});
    bench.say(WISH);
    let prompts = model.prompts();
    assert!(prompts[1].contains("nearest are write_file") && !prompts[1].contains("these are all"), "{}", prompts[1]);
    assert!(prompts[2].contains("these are all: autonomy_level, bash"), "{}", prompts[2]);
    assert!(!bench.file("a.txt").exists());
}

#[test]
fn the_same_call_that_fails_again_and_again_is_stopped_unless_a_person_wants_it() {
    let model = Model::minded(|prompt| match prompt.contains("What you did in this turn already") {
        true => well(),
        false => acts("read_file", &json!({"path": "nowhere.txt"})),
    });
    let mut bench = model.bench(|settings| {
        settings.gate.gate.bridge_gain = 0.0;
        settings.gate.autonomy.failures_in_row = 2;
    });
    let tried: Vec<_> =
        ["ducks", "geese", "swans"].map(|bird| first(&bench.say(&format!("do {bird} like it?")))).into();
    assert_eq!((tried[0].0.as_str(), tried[1].0.as_str(), tried[2].0.as_str()), ("failed", "failed", "blocked"));
    assert!(tried[2].1.contains("failed 2 times in a row without progress"), "{tried:?}");
    assert_eq!(first(&bench.say("read the file nowhere.txt")).0, "failed", "a person may want it all the same");
}

#[test]
fn a_model_that_is_sure_of_itself_is_asked_about_all_the_same() {
    let model = Model::minded(|prompt| match prompt.contains("What you did in this turn already") {
        true => well(),
        false => {
            let action = json!({"tool_name": "write_file", "params": {"path": "a.txt", "content": "x"}});
            json!({"ready_to_act": true, "action": action, "confidence": 1.0, "reasoning": "I am sure."}).to_string()
        }
    });
    let mut bench = model.bench(|settings| settings.agent.autonomy = maxim::config::AutonomyLevel::Supervised);
    assert_eq!(first(&bench.say(WISH)).0, "asked");
    assert!(!bench.file("a.txt").exists());
}

#[test]
fn a_model_that_wants_more_results_than_there_may_be_gets_those() {
    let model = Model::minded(|prompt| match prompt.contains("What you did in this turn already") {
        true => well(),
        false => acts("memory_recall", &json!({"query": "boat", "limit": 500})),
    });
    let mut bench = model.bench(|_| {});
    let lines = (1..=30u64).map(|n| (n, json!({"text": format!("boat number {n} was painted")}).to_string()));
    assert_eq!(bench.import(lines.collect(), true).kept, 30);
    bench.say(WISH);
    let shown = model.last();
    assert!(shown.contains("\"results\"") && !shown.contains("field \\\"limit\\\""), "{shown}");
}

#[test]
fn one_call_that_would_pass_the_budget_of_an_hour_a_day_or_a_session_is_not_made() {
    let lived = |change: &dyn Fn(&mut maxim::config::Settings, u64), budget: u64| {
        let model = Model::minded(|_| well());
        let mut bench = model.bench(|settings| {
            settings.effectors.llm.reply_tokens = 16;
            change(settings, budget);
        });
        bench.say(WISH);
        bench.say("and what would the painter say to it?");
        let hour = bench.inquire("energy_status", json!({}))["budgets"]["hour"]["spent"].as_u64().expect("a sum");
        (model.turns(), hour / 2)
    };
    let (both, one) = lived(&|_, _| {}, 0);
    assert_eq!(both, 2);
    type Change = fn(&mut maxim::config::Settings, u64);
    let budgets: [Change; 3] = [
        |settings, budget| settings.effectors.llm.tokens_per_hour = budget,
        |settings, budget| settings.effectors.llm.tokens_per_day = budget,
        |settings, budget| settings.effectors.llm.tokens_per_session = budget,
    ];
    // After one more call more than a third is left, so it isn't tired: the second call would cost too much.
    for (number, change) in budgets.into_iter().enumerate() {
        assert_eq!(lived(&change, one * 17 / 10).0, 1, "budget {number}");
    }
}

struct Switch(ToolSpec);

impl Tool for Switch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        std::fs::write(hands.workdir.join(&self.0.name), "on").expect("written");
        ToolOutcome::done(json!({"light": "on"}))
    }
}

fn with_lamps() -> ToolRegistry {
    let mut tools = core_tools();
    for lamp in ["red", "blue"] {
        let spec = ToolSpec::new(&format!("{lamp}_switch"), "Switches a lamp on.");
        let spec = ToolSpec { scene: vec![format!("{lamp} lamp")], ..spec };
        tools.register(Arc::new(Switch(spec))).expect("registered");
    }
    tools
}

#[test]
fn of_the_scenes_tools_the_least_recently_used_is_off_is_refused_with_the_reason_and_is_back_when_wanted_again() {
    let model = Model::minded(|prompt| {
        let asked = prompt.rsplit("The person says: ").next().unwrap_or_default();
        match asked.contains("red one") && !asked.contains("What you did in this turn already") {
            true => acts("red_switch", &json!({})),
            false => well(),
        }
    });
    let mut bench = model.bench_with(with_lamps, |settings| settings.tools.scene_max = 1);
    for lamp in ["red lamp", "blue lamp"] {
        let seen = Detection { name: lamp.into(), confidence: Confidence::clamped(0.9), frame: None };
        let door = Arc::clone(&bench.agent.outside.door);
        let observed =
            Observed { source: "camera".into(), objects: vec![seen], people: Vec::new(), sound: None, pose: None };
        door.put("door", door.fresh_id(), Trust::Sensor, observed);
        bench.pass(Duration::from_secs(2));
    }
    bench.say(WISH);
    assert!(model.last().contains("blue_switch") && !model.last().contains("red_switch"), "{}", model.last());
    let (status, reason) = first(&bench.say("would the red one look better?"));
    assert!(status == "blocked" && reason.contains("least recently used"), "{status}: {reason}");
    assert!(!bench.file("red_switch").exists());
    assert_eq!(first(&bench.say("then how about the red one again?")).0, "done");
    assert!(bench.file("red_switch").exists());
    bench.say(WISH);
    assert!(!model.last().contains("blue_switch"), "the other made room");
}

#[test]
fn a_page_of_this_machine_is_not_fetched_and_with_the_web_off_none_is() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let page = move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        "high at noon"
    };
    let url = loopback::serve(Router::new().route("/tides", get(page)));
    let mut bench = Bench::new();
    let mut refused = |words: &str| {
        let ended = bench.say(words);
        first(&ended)
    };
    let (status, reason) = refused(&format!("fetch the page {url}/tides"));
    assert!(status != "done" && !reason.contains("switched off"), "{status}: {reason}");
    let web_off = refused("turn web access off");
    assert_eq!(web_off.0, "done", "{web_off:?}");
    let (status, reason) = refused("fetch the page https://example.org/tides");
    assert!(status == "failed" && reason.contains("switched off"), "{status}: {reason}");
    assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody came");
}
