//! A model's prompt follows the agent's state, powers and perception at the time: its powers, the scene, the body,
//! its memory.

use std::sync::Arc;
use std::time::Duration;

use maxim::config::{Settings, Span};
use maxim_actors::action::tools::{Hands, Tool, ToolOutcome, ToolRegistry, ToolSpec};
use maxim_actors::deliberation::prefrontal_cortex::{LAST_PROMPT, LastPrompt};
use maxim_actors::effectors::body::DriverKind;
use maxim_actors::memory::anterior_temporal_lobe::AnteriorTemporalLobe;
use maxim_actors::memory::hippocampus::{Hippocampus, exporting};
use maxim_actors::region::{RecordView, Region};
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::latch::Permit;
use maxim_bus::signals::concepts::IngestDocument;
use maxim_bus::signals::scene::{Detection, Observed, Pose};
use maxim_bus::units::Confidence;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};
use crate::model::{Model, acts};

const QUESTION: &str = "what would the harbour master say to this mess?";

fn last_prompt(bench: &Bench) -> LastPrompt {
    let record = bench.agent.frame.store.record("prefrontal_cortex", LAST_PROMPT.as_bytes()).expect("read");
    serde_json::from_slice(&record.expect("a model was asked")).expect("a prompt")
}

fn fate(bench: &Bench, name: &str) -> Option<bool> {
    last_prompt(bench).sections.iter().find(|section| section.name == name).map(|section| section.kept)
}

fn speaking(prompt: &str) -> String {
    let path = prompt.contains("switch it on").then_some("lamp_switch");
    match path.filter(|_| !prompt.contains("What you did in this turn already")) {
        Some(tool) => acts(tool, &json!({})),
        None => acts("respond", &json!({"message": "well"})),
    }
}

fn sees(bench: &mut Bench, things: &[&str]) {
    let detection = |name: &&str| Detection { name: (*name).into(), confidence: Confidence::clamped(0.9), frame: None };
    let objects = things.iter().map(detection).collect();
    let door = &bench.agent.outside.door;
    let observed = Observed { source: "camera".into(), objects, people: Vec::new(), sound: None, pose: None };
    door.put("door", door.fresh_id(), Trust::Sensor, observed);
    bench.pass(Duration::from_secs(2));
}

/// Leaves a mark where it runs.
struct LampSwitch(ToolSpec);

impl Tool for LampSwitch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        std::fs::write(hands.workdir.join("light"), "on").expect("written");
        ToolOutcome::done(json!({"light": "on"}))
    }
}

fn with_lamp() -> ToolRegistry {
    let mut tools = core_tools();
    let spec = ToolSpec::new("lamp_switch", "Switches the lamp on.");
    let spec = ToolSpec { scene: vec!["lamp".into()], ..spec };
    tools.register(Arc::new(LampSwitch(spec))).expect("registered");
    tools
}

#[test]
fn a_tool_of_the_scene_is_shown_and_done_while_its_thing_is_around() {
    let model = Model::minded(speaking);
    let mut settings = Settings::default();
    settings.effectors.llm.base_url = Some(model.serve());
    settings.effectors.llm.model = Some("gull".into());
    let mut bench = Bench::with("maxim", StateStore::in_memory(), with_lamp, settings);
    let ended = bench.say("it is dark here, could you switch it on?");
    assert!(!last_prompt(&bench).system.contains("lamp_switch"), "{}", last_prompt(&bench).system);
    let refused = &ended.actions[0];
    assert_eq!(refused.status, "blocked", "{ended:?}");
    assert!(refused.reason.as_deref().is_some_and(|why| why.contains("isn't around now")), "{refused:?}");
    assert!(!bench.file("light").exists());
    sees(&mut bench, &["lamp"]);
    bench.crash();
    let ended = bench.say("and now, could you switch it on?");
    assert!(last_prompt(&bench).system.contains("lamp_switch"));
    assert_eq!(ended.actions[0].status, "done", "{ended:?}");
    assert!(bench.file("light").exists());
    bench.pass(Duration::from_secs(660));
    bench.say(QUESTION);
    assert!(!last_prompt(&bench).system.contains("lamp_switch"), "the lamp is gone");
}

#[test]
fn what_it_lowered_of_its_powers_stands_in_its_identity_and_takes_the_tools_away() {
    let lowering = |prompt: &str| match prompt.contains("calm down") && !prompt.contains("What you did in this turn") {
        true => acts("mode_switch", &json!({"mode": "passive"})),
        false => acts("respond", &json!({"message": "well"})),
    };
    let model = Model::minded(lowering);
    let mut bench = model.bench(|settings| settings.effectors.llm.tick = Span::new(Duration::ZERO));
    bench.say(QUESTION);
    let before = last_prompt(&bench).system;
    assert!(
        before.contains("Mode: active") && before.contains("You are awake.") && before.contains("bash"),
        "{before}"
    );
    assert!(before.contains("whose purpose is to"), "a mode has a goal of its own: {before}");
    bench.say("why don't you calm down a little?");
    bench.crash();
    bench.say(QUESTION);
    let after = last_prompt(&bench).system;
    assert!(after.contains("Mode: passive") && after.contains("In passive mode"), "{after}");
    let is_shown = |tool: &str| after.contains(&format!("- {tool}:")) || after.contains(&format!(", {tool},"));
    assert!(!is_shown("bash") && is_shown("memory_recall"), "{after}");
}

#[test]
fn a_body_is_told_what_is_around_it_and_in_what_state() {
    let shown = |driver| {
        let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
        let mut bench = model.bench(|settings| settings.effectors.body.driver = driver);
        sees(&mut bench, &["cup"]);
        bench.pass(Duration::from_secs(10));
        bench.say(QUESTION);
        (fate(&bench, "entity_context"), last_prompt(&bench))
    };
    let (embodied, prompt) = shown(DriverKind::Sim);
    assert_eq!(embodied, Some(true));
    assert!(prompt.user.contains("cup (object): new to you, seen 1 times, last 12 s ago"), "{}", prompt.user);
    assert!(prompt.system.contains("Your body is a simulated one"), "{}", prompt.system);
    let (bare, prompt) = shown(DriverKind::None);
    assert_eq!(bare, None);
    assert!(prompt.user.contains("cup (object, confidence 0.90)") && !prompt.system.contains("simulated"));
}

#[test]
fn more_of_memory_is_told_where_there_is_room_and_goes_first_where_there_is_none() {
    let shown = |tokens: u32| {
        let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
        let mut bench = model.bench(|settings| settings.effectors.llm.context_tokens = tokens);
        for (number, place) in ["kitchen", "attic", "boat house", "cellar", "shed"].into_iter().enumerate() {
            bench.say(&format!("remember that harbour key number {number} hangs in the {place}"));
            bench.pass(Duration::from_secs(120));
        }
        bench.say("what would the master say of the harbour key?");
        let told = last_prompt(&bench).sections.into_iter().map(|section| (section.name, section.kept));
        (told.collect::<std::collections::BTreeMap<_, _>>(), last_prompt(&bench).user)
    };
    let (wide, user) = shown(32_768);
    assert_eq!((wide.get("context_pool"), wide.get("extended_memories")), (Some(&true), Some(&true)), "{wide:?}");
    assert!(user.contains("More from memory:"), "{user}");
    let narrow = (2_000..8_000).step_by(250).map(|tokens| shown(tokens).0);
    let cut =
        narrow.into_iter().find(|kept| kept.values().any(|kept| *kept) && kept.get("context_pool") == Some(&true));
    let cut = cut.expect("a window that holds some of it");
    assert_eq!(cut.get("extended_memories"), Some(&false), "it goes before the rest: {cut:?}");
}

#[test]
fn what_is_associated_with_what_a_percept_reminds_of_is_told_to_a_mind_that_thinks() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
    let mut bench = model.bench(|settings| settings.deliberation.habit.evidence_max = 1);
    let lines = [
        json!({"id": "tea", "timestamp": "2026-01-04T04:00:00Z", "text": "Anna drinks black tea", "objects": ["ladder"],
            "people": ["Anna"], "goal": "tidy the attic"}),
        json!({"id": "rain", "timestamp": "2026-01-04T06:00:00Z", "text": "rain is expected along the coast"}),
        json!({"id": "shelf", "timestamp": "2026-01-04T05:00:00Z", "text": "it was put behind the door afterwards",
            "objects": ["ladder"], "goal": "tidy the attic"}),
    ];
    let lines = (1..).zip(lines.iter().map(ToString::to_string)).collect();
    assert_eq!(bench.import(lines, true).kept, 3);
    bench.pass(Duration::from_secs(60));
    bench.say("what a lot of black tea!");
    let why = bench.why_all();
    assert!(why.contains("\"via\":\"association\""), "{why}");
    let told = last_prompt(&bench).user;
    assert!(told.contains("Anna drinks black tea") && told.contains("behind the door afterwards"), "{told}");
}

#[test]
fn a_question_does_not_speak_for_what_was_said_just_before_it() {
    let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
    let mut bench = model.bench(|_| {});
    for told in ["the lanterns are in the crate", "Bo likes chess", "the roof leaks", "paper tears", "ice melts"] {
        bench.say(&format!("remember that {told}"));
        bench.pass(Duration::from_secs(120));
    }
    bench.say("what a story with those lanterns, lanterns everywhere!");
    let why = bench.why_all();
    let enriched = |line: &&str| line.contains("\"EnrichedPercept\"") && line.contains("lanterns everywhere");
    let enriched: Value = serde_json::from_str(why.lines().find(enriched).expect("enriched")).expect("JSON");
    let first = enriched["body"]["recalled"][0]["text"].as_str().unwrap_or_default();
    assert!(first.contains("the lanterns are in the crate"), "{enriched:#}");
}

#[test]
fn a_pose_that_a_sense_tells_reaches_the_scene_the_prompt_and_the_episode() {
    let model = Model::minded(speaking);
    let mut bench = model.bench(|_| {});
    let door = Arc::clone(&bench.agent.outside.door);
    let pose = Some(Pose::from([("yaw".to_owned(), 29.7), ("pitch".to_owned(), -12.0)]));
    let (objects, people) = (Vec::new(), Vec::new());
    door.put(
        "door",
        door.fresh_id(),
        Trust::Sensor,
        Observed { source: "imu".into(), objects, people, sound: None, pose },
    );
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.inquire("scene_summary", json!({}))["pose"], json!({"pitch": -12.0, "yaw": 30.0}));
    bench.crash();
    bench.say("what would the sailor say to this tide?");
    let prompt = model.last();
    assert!(prompt.contains("How your body stands") && prompt.contains("pitch -12.0, yaw 30.0"), "{prompt}");
    assert_eq!(fate(&bench, "body_state"), Some(true));

    bench.say("remember that the gull nests on the roof");
    let frozen = bench.agent.frame.store.freeze(Hippocampus::NAME);
    let page = exporting::page(&RecordView::frozen(&frozen), &|_| None, None, 100).expect("readable");
    let gull = page.lines.iter().find(|line| line.contains("the gull nests")).expect("an episode");
    let gull: Value = serde_json::from_str(gull).expect("a line");
    assert_eq!(gull["episode"]["perception"]["pose"], json!({"pitch": -12.0, "yaw": 30.0}), "{gull}");
}

#[test]
fn so_many_pieces_of_knowledge_and_no_more_are_shown() {
    let kinds = [
        "copper", "iron", "clay", "glass", "silver", "wooden", "stone", "golden", "paper", "leather", "marble",
        "cotton",
    ];
    let shown = |most: u32| {
        let model = Model::minded(|_| acts("respond", &json!({"message": "well"})));
        let mut bench = model.bench(|settings| settings.memory.memory.knowledge_max = most);
        for kind in kinds {
            let text = format!("# {kind}\n\nA {kind} jug is a vessel.\n");
            let part = IngestDocument {
                document: format!("{kind}.md"),
                markdown: true,
                text,
                passages_before: 0,
                lessons_before: 0,
                more: false,
            };
            bench.ask(AnteriorTemporalLobe::NAME, part);
        }
        // Another room knows of it too, and better.
        bench.say("read the file missing.txt");
        bench.say("what would the harbour master say of a jug, and of read_file?");
        let user = last_prompt(&bench).user;
        let count = |words: &str| user.lines().filter(|line| line.starts_with("- ") && line.contains(words)).count();
        (count(" jug\" "), count("[causal link]"), user)
    };
    let (jugs, of_reading, user) = shown(8);
    assert!(of_reading > 0 && jugs > 0, "of two rooms: {user}");
    assert_eq!(jugs + of_reading, 8, "{user}");
    let (jugs, of_reading, user) = shown(3);
    assert_eq!(jugs + of_reading, 3, "{user}");
}
