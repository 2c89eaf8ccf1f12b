//! What would have happened without memory or without fear: a recorded turn is run again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use maxim::config::{Settings, Span};
use maxim::recorder::{Imagining, Recording, Without};
use maxim_actors::store::StateStore;
use maxim_bus::MessageId;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::core_tools;
use crate::model::{Act, Model, acts};
use crate::replay::{Session, limits};

/// Says these, and runs the last one again.
struct Lived {
    recording: Recording,
    turn: MessageId,
    _dir: TempDir,
}

impl Lived {
    fn through(texts: &[&str], settings: Settings) -> Self {
        let dir = TempDir::new().expect("a folder");
        let mut session = Session::with(StateStore::in_memory(), dir.path(), &dir.path().join("r"), limits(), settings);
        let turns: Vec<MessageId> = texts.iter().map(|text| session.turn(text)).collect();
        let files = session.end();
        let recording = Recording::read(&files[0]).expect("readable");
        Self { recording, turn: *turns.last().expect("something was said"), _dir: dir }
    }

    fn without(&self, what: Without) -> Imagining {
        self.recording.what_if(self.turn, what, &core_tools()).expect("it is lived again")
    }

    fn reply(&self, what: Without) -> String {
        self.without(what).ended.reply.unwrap_or_default()
    }
}

#[test]
fn without_memory_what_was_told_is_not_known() {
    let told = ["remember that the spare key is in the blue drawer", "where is the spare key?"];
    let lived = Lived::through(&told, Settings::default());
    assert!(lived.reply(Without::Nothing).contains("blue drawer"));
    let reply = lived.reply(Without::Memory);
    assert!(!reply.is_empty() && !reply.contains("blue drawer"), "{reply}");
    assert!(lived.reply(Without::Fear).contains("blue drawer"));
}

#[test]
fn what_was_typed_on_the_console_is_lived_again_there() {
    let dir = TempDir::new().expect("a folder");
    let (store, settings) = (StateStore::in_memory(), Settings::default());
    let mut session = Session::with(store, dir.path(), &dir.path().join("r"), limits(), settings);
    session.typed("remember that the boat is moored at the old pier");
    let turn = session.typed("where is the boat?");
    let recording = Recording::read(&session.end()[0]).expect("readable");
    let reply = |what| recording.what_if(turn, what, &core_tools()).expect("lived").ended.reply.unwrap_or_default();
    assert!(reply(Without::Nothing).contains("old pier") && !reply(Without::Memory).contains("old pier"));
}

#[test]
fn without_fear_what_was_blocked_is_cleared_and_still_not_done() {
    let dir = TempDir::new().expect("a folder");
    let precious = dir.path().join("precious");
    fs::create_dir(&precious).expect("a folder");
    let command = format!("run the command rm -rf {}", precious.display());
    let lived = Lived::through(&[&command], Settings::default());
    let was = lived.without(Without::Nothing).ended;
    assert!(matches!(was.actions[0].status.as_str(), "blocked" | "asked"), "{was:?}");
    let would = lived.without(Without::Fear);
    let action = &would.ended.actions[0];
    assert_eq!((action.tool.as_str(), action.status.as_str()), ("bash", "unavailable"));
    assert!(action.reason.as_deref().is_some_and(|reason| reason.contains("only imagined")), "{action:?}");
    assert!(would.why.to_string().contains("imagined.fearless"));
    // Imagined time stands still, and yet each step comes after its cause.
    let steps = would.why["steps"].as_array().expect("steps");
    let place = |kind: &str| steps.iter().position(|step| step["kind"] == kind).expect(kind);
    let life =
        ["SalientPercept", "EnrichedPercept", "Intent", "ClearedIntent", "ExecutionStarted", "ToolResult", "TurnEnded"];
    let places: Vec<usize> = life.iter().map(|kind| place(kind)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(Path::new(&precious).exists());
}

#[test]
fn what_was_done_gives_what_came_of_it_then() {
    let lived = Lived::through(&["create a file a.txt with the text one", "read a.txt"], Settings::default());
    let (was, would) = (lived.reply(Without::Nothing), lived.reply(Without::Fear));
    assert!(was.contains("one"), "{was}");
    assert_eq!(was, would);
}

#[test]
fn a_model_answers_from_the_recording_and_to_another_prompt_nobody_knows() {
    let model = Model::acting(|_, _| Act::Say(acts("respond", &json!({"message": "In the blue drawer, I think."}))));
    let mut settings = Settings::default();
    (settings.effectors.llm.base_url, settings.effectors.llm.model) = (Some(model.serve()), Some("gull".into()));
    let told = ["remember that the spare key is in the blue drawer", "what would you say about that spare key?"];
    let lived = Lived::through(&told, settings);
    let asked = model.requests().len();
    let was = lived.without(Without::Nothing);
    assert_eq!((was.ended.reply.as_deref(), was.unknown_prompts), (Some("In the blue drawer, I think."), 0));
    let would = lived.without(Without::Memory);
    assert!(would.unknown_prompts > 0 && would.ended.reply != was.ended.reply, "{:?}", would.ended);
    assert_eq!(model.requests().len(), asked, "nobody is asked");
}

#[test]
fn a_turn_that_the_recording_does_not_hold_is_told() {
    let lived = Lived::through(&["hello"], Settings::default());
    let error = lived.recording.what_if(MessageId::from_parts(1, 1), Without::Memory, &core_tools());
    let error = error.expect_err("it isn't there").to_string();
    assert!(error.contains("doesn't hold the beginning of the turn"), "{error}");
}

#[test]
fn imagined_steps_stand_in_the_order_in_which_they_lead_to_one_another() {
    let model = Model::acting(|_, request| {
        let prompt = request["messages"][1]["content"].as_str().unwrap_or_default();
        Act::Say(match prompt.contains("What you did in this turn already") {
            false => acts("read_file", &json!({"path": "list.txt"})),
            true => acts("respond", &json!({"message": "Nothing is on the list."})),
        })
    });
    let mut settings = Settings::default();
    (settings.effectors.llm.base_url, settings.effectors.llm.model) = (Some(model.serve()), Some("gull".into()));
    settings.effectors.llm.tick = Span::new(Duration::ZERO);
    let wishes =
        ["what would make the list complete?", "and what does the list lack?", "how long would you say it is?"];
    for said in 1..=wishes.len() {
        let would = Lived::through(&wishes[..said], settings.clone()).without(Without::Nothing);
        assert_eq!(would.unknown_prompts, 0);
        let steps = would.why["steps"].as_array().expect("steps").clone();
        let kinds: Vec<&str> = steps.iter().filter_map(|step| step["kind"].as_str()).collect();
        let course =
            ["PromptBuilt", "CycleThought", "Thought", "Intent", "ClearedIntent", "ExecutionStarted", "ToolResult"];
        let told: Vec<&str> = kinds.iter().copied().filter(|kind| course.contains(kind)).collect();
        assert_eq!(told, [course, course].concat(), "{kinds:?}");
        let begins = kinds.iter().position(|kind| *kind == "PromptBuilt").expect("it was asked");
        assert!(kinds[..begins].contains(&"EnrichedPercept") && kinds[..begins].contains(&"ThoughtGated"), "{kinds:?}");
        let tools: Vec<&Value> =
            steps.iter().filter(|step| step["kind"] == "Intent").map(|step| &step["detail"]["tool"]).collect();
        assert_eq!(tools, ["read_file", "respond"]);
    }
}

#[test]
fn a_step_says_what_comes_after_it_and_at_which_level_it_was_cleared() {
    let said = ["create a file a.txt with the text one and then read a.txt"];
    let why = Lived::through(&said, Settings::default()).without(Without::Nothing).why;
    let told: Vec<&str> =
        why["steps"].as_array().expect("steps").iter().filter_map(|step| step["what"].as_str()).collect();
    let says = |words: &str| told.iter().any(|step| step.contains(words));
    assert!(says("wanted write_file {") && says(", and then read_file"), "{told:?}");
    assert!(says("cleared write_file by ") && says("(autonomy: autonomous)"), "{told:?}");
}
