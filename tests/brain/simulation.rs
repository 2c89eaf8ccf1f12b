//! An agent in a simulation: it says, thinks and examines instead of moving a body.

use std::time::Duration;

use maxim::agent::AgentSettings;
use maxim::config::{Settings, Span};
use maxim_actors::effectors::body::DriverKind;
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::signals::powers::ReportPowers;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::units::Confidence;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};
use crate::model::{Act, Model, acts};

fn simulated(settings: &mut Settings) {
    settings.agent.simulation = true;
    settings.effectors.llm.tick = Span::new(Duration::ZERO);
}

fn bench() -> Bench {
    let mut settings = Settings::default();
    simulated(&mut settings);
    Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
}

fn sees(bench: &mut Bench, thing: &str) {
    let object = Detection { name: thing.into(), confidence: Confidence::clamped(0.9), frame: None };
    let door = &bench.agent.outside.door;
    let observed =
        Observed { source: "camera".into(), objects: vec![object], people: Vec::new(), sound: None, pose: None };
    door.put("door", door.fresh_id(), Trust::Sensor, observed);
    bench.pass(Duration::from_secs(2));
}

fn reply(ended: &TurnEnded) -> String {
    ended.reply.clone().unwrap_or_default()
}

#[test]
fn habit_says_examines_and_thinks_on_command_and_has_no_body() {
    let mut bench = bench();
    let said = bench.say("shout is anybody there");
    assert_eq!((said.actions[0].tool.as_str(), said.reply.as_deref()), ("say", Some("is anybody there")));
    let nothing = bench.say("examine the lamp");
    assert!(nothing.reply.is_some_and(|reply| reply.contains("you don't see anything notable")));
    bench.say("remember that the lamp in the hall flickers at night");
    sees(&mut bench, "lamp");
    bench.crash();
    let looked = bench.say("look at the lamp").reply.unwrap_or_default();
    assert!(looked.contains("lamp, 90 % sure") && looked.contains("flickers at night"), "{looked}");
    assert!(!looked.contains("notable"), "{looked}");
    bench.pass(Duration::from_secs(3600));
    let gone = bench.say("examine the lamp").reply.unwrap_or_default();
    assert!(!gone.contains("90 % sure") && gone.contains("flickers"), "it is remembered, and not here now: {gone}");
    assert!(!gone.contains("examine") && !gone.contains("look at"), "commands tell nothing of it: {gone}");
    let thought = bench.say("think about the hall at night").reply.unwrap_or_default();
    assert!(thought.contains("It reminds me of") && thought.contains("flickers"), "{thought}");
    let again = bench.say("think about the lamp").reply.unwrap_or_default();
    assert!(again.contains("flickers") && !again.contains("examine"), "{again}");
    let asked = bench.say("shout for help").reply.unwrap_or_default();
    assert_eq!(asked, "help");
    let whom = bench.say("whisper to anna that dinner is ready");
    assert!(whom.actions.iter().all(|action| action.tool != "say"), "nothing is said that wasn't meant: {whom:?}");
    for wish in ["look left", "turn the lamp off", "text anna that dinner is ready"] {
        let ended = bench.say(wish);
        assert!(ended.lost && ended.actions.iter().all(|action| action.tool == "respond"), "{ended:?}");
        assert!(reply(&ended).contains(&format!("you want me to “{wish}”")), "{ended:?}");
    }
    let told = bench.say("the lamp in the hall is green");
    assert_eq!(told.reply.as_deref(), Some("Noted."), "what is told is no wish");
    let presence = bench.inquire("sense_presence", json!({}));
    assert_eq!(presence["you"]["body"]["available"], false);
    let tools = presence["you"]["tools"].to_string();
    assert!(!tools.contains("\"move\"") && tools.contains("\"examine\""), "{tools}");
}

#[test]
fn outside_of_a_simulation_there_are_no_such_tools() {
    let mut bench = Bench::new();
    assert!(bench.refusal("examine", json!({"target": "lamp"})).contains("no introspection tool"));
    let model = Model::acting(|number, _| {
        Act::Say(match number {
            0 => acts("reflection", &json!({"thought": "hm"})),
            _ => acts("respond", &json!({"message": "well"})),
        })
    });
    let mut bench = model.bench(|_| {});
    let ended = bench.say("what do you make of the harbour?");
    assert_eq!(ended.actions[0].status, "blocked", "{ended:?}");
    assert!(!model.last().contains("This is a simulation"));
}

#[test]
fn a_model_is_told_of_the_simulation_and_its_invented_names_lead_to_its_tools() {
    let model = Model::acting(|number, _| {
        Act::Say(match number {
            0 => acts("look", &json!({"object": "lamp"})),
            1 => acts("remember", &json!({"keyword": "lamp"})),
            2 => acts("look", &json!({"shape": "round"})),
            _ => acts("speech", &json!({"phrase": "It flickers."})),
        })
    });
    let mut bench = model.bench(simulated);
    bench.say("remember that the lamp in the hall flickers at night");
    let ended = bench.say("what would you say about that lamp in the hall?");
    assert_eq!(ended.reply.as_deref(), Some("It flickers."), "{ended:?}");
    let prompts = model.prompts();
    assert!(prompts[0].contains("This is a simulation") && !prompts[0].contains("- move:"), "{}", prompts[0]);
    let last = model.last();
    assert!(last.contains("examine {") && last.contains("\"remembered\""), "{last}");
    assert!(last.contains("memory_recall {") && last.contains("\"results\""), "{last}");
    assert!(
        last.contains("field \\\"shape\\\"") || last.contains("field \"shape\""),
        "an error names the field: {last}"
    );
    let names = bench.ask("autonomy", ReportPowers {}).names;
    assert_eq!((names.attempts, names.redirected, names.unknown), (4, 4, 0));
}

#[test]
fn a_chain_of_thoughts_is_bounded_and_the_person_is_answered() {
    // It thinks, whatever it is told.
    let model = Model::acting(|number, _| Act::Say(acts("think", &json!({"thought": format!("I wonder, {number}")}))));
    let mut bench = model.bench(simulated);
    bench.say("remember that the lamp in the hall flickers at night");
    let ended = bench.say("do you happen to have an idea of the lamp?");
    let asked: Vec<Value> = model.requests();
    assert_eq!(asked.len(), 6, "three thoughts, two that are refused, and a chance to answer");
    assert!(model.last().contains("you thought 3 times in a row"), "{}", model.last());
    assert!(ended.reply.is_some_and(|reply| reply.contains("flickers")), "habit answers");
    let few = Model::acting(|number, _| Act::Say(acts("think", &json!({"thought": format!("I wonder, {number}")}))));
    let mut bench = few.bench(|settings| {
        simulated(settings);
        settings.effectors.llm.steps = 2;
    });
    bench.say("do you happen to have an idea of the lamp?");
    assert_eq!(few.requests().len(), 3, "each thought is an action of the turn");
}

#[test]
fn a_simulation_with_a_body_is_refused_by_its_key() {
    let mut settings = Settings::default();
    simulated(&mut settings);
    settings.effectors.body.driver = DriverKind::Sim;
    let folder = tempfile::tempdir().expect("a folder");
    let made = AgentSettings::with_tools(&settings, 1, folder.path(), folder.path(), core_tools());
    let error = made.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("body.driver") && error.contains("agent.simulation"), "{error}");
}
