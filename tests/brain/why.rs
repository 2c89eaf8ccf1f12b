//! Every effect has its why-record, and no link of it is broken.

use std::collections::BTreeMap;

use maxim::http::why_document;
use maxim_actors::action::cause_ledger::{CausePart, index_key, parts_prefix};
use maxim_bus::MessageId;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::thought::{ActionSummary, TurnEnded};
use serde_json::{Value, json};

use crate::common::Bench;
use crate::model::{Model, acts};

/// A life with everything in it: acting, failing, asking, being refused and allowed, questions, and unknown things.
const SAID: [&str; 9] = [
    "create a file tide.txt with the text high at noon",
    "read the file tide.txt",
    "read the file missing.txt",
    "remember that the gull nests on the roof",
    "where does the gull nest?",
    "what would happen if you write a file?",
    "run the command git init && git reset --hard",
    "run the command rm -rf /",
    "how are you?",
];

/// The parts of a turn by their kind.
struct Record(Vec<CausePart>);

impl Record {
    fn of(bench: &Bench, turn: MessageId) -> Self {
        let store = &bench.agent.frame.store;
        let all = store.records("cause_ledger", .., usize::MAX).expect("read");
        let prefix = parts_prefix(turn);
        let parts = all.iter().filter(|(key, _)| key.starts_with(prefix.as_bytes()));
        Self(parts.map(|(_, bytes)| serde_json::from_slice(bytes).expect("a part")).collect())
    }

    fn find(&self, kind: &str, matches: impl Fn(&CausePart) -> bool) -> &CausePart {
        let kinds: Vec<&str> = self.0.iter().map(|part| part.kind.as_str()).collect();
        let found = self.0.iter().find(|part| part.kind == kind && matches(part));
        found.unwrap_or_else(|| panic!("no {kind} that fits among {kinds:?}"))
    }

    /// From the action back to the percept.
    fn walk(&self, said: &str, action: &ActionSummary) {
        let done = matches!(action.status.as_str(), "done" | "failed" | "unknown");
        // A done action is named by its action id, a refused one by its intent.
        let wanted = match done {
            true => self.find("ToolResult", |part| part.body["action"] == action.id.to_string()).body["intent"].clone(),
            false => Value::from(action.id.to_string()),
        };
        let intent = self.find("Intent", |part| wanted == part.id.to_string());
        assert_eq!(intent.body["tool"], action.tool.as_str());
        assert_eq!(intent.body["params"], action.params);
        let names = |part: &CausePart, field: &str| part.body[field] == wanted;
        match done {
            true => {
                let started = self.find("ExecutionStarted", |part| part.body["action"] == action.id.to_string());
                assert!(names(started, "intent_id"));
                let cleared = self.find("ClearedIntent", |part| names(part, "id"));
                assert_eq!(started.body["rule"], cleared.body["rule"]);
                let effect = started.body["effect"].as_str().unwrap_or_default();
                assert!(["read_only", "reversible", "irreversible"].contains(&effect), "{}: {effect}", action.tool);
                assert_ne!(cleared.body["reason"], Value::Null);
            }
            false => {
                let refused = self.find("IntentRefused", |part| names(part, "intent"));
                assert!(refused.body["rule"].as_str().is_some_and(|rule| !rule.is_empty()), "{refused:?}");
                assert!(refused.body["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{refused:?}");
            }
        }
        let perceived = self.find("SalientPercept", |_| true);
        assert_eq!(perceived.body["percept"]["content"], said);
        let enriched = self.find("EnrichedPercept", |part| part.at >= perceived.at);
        let thought = self.find("Thought", |part| part.at >= enriched.at);
        assert!(thought.body["text"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(intent.at >= thought.at);
    }
}

fn indexed(bench: &Bench, id: &str) -> Option<MessageId> {
    let id: MessageId = id.parse().expect("an id");
    let bytes = bench.agent.frame.store.record("cause_ledger", index_key(id).as_bytes()).expect("read")?;
    serde_json::from_slice(&bytes).ok()
}

#[test]
fn every_effect_of_a_life_with_crashes_leads_back_to_what_was_said() {
    let mut bench = Bench::new();
    let mut lived: Vec<(&str, TurnEnded)> = Vec::new();
    for round in 0..4 {
        for said in SAID {
            let ended = bench.say(said);
            for action in ended.actions.iter().filter(|action| action.status == "asked") {
                bench.agent.outside.door.decide(action.id, round % 2 == 0, false, "anna".into());
                bench.agent.settle();
            }
            lived.push((said, ended));
        }
        bench.crash();
        bench.agent.settle();
    }
    let mut seen = BTreeMap::<String, usize>::new();
    for (said, ended) in &lived {
        let record = Record::of(&bench, ended.turn);
        record.find("TurnEnded", |_| true);
        assert!(!ended.actions.is_empty(), "{said}: an answer is an effect too");
        for action in &ended.actions {
            record.walk(said, action);
            *seen.entry(action.status.to_string()).or_default() += 1;
            assert_eq!(indexed(&bench, &action.id.to_string()), Some(ended.turn), "{said}: found by its intent");
        }
        for result in record.0.iter().filter(|part| part.kind == "ToolResult") {
            let action = result.body["action"].as_str().expect("an id");
            assert_eq!(indexed(&bench, action), Some(ended.turn), "{said}: found by its action");
        }
    }
    for status in ["done", "failed", "asked", "blocked"] {
        assert!(seen.contains_key(status), "the life has none that is {status}: {seen:?}");
    }
}

#[test]
fn before_an_action_is_written_down_what_it_leaves_behind_and_how_the_body_stands() {
    let mut bench = Bench::new();
    let started = |bench: &mut Bench, said: &str, tool: &str| {
        let ended = bench.say(said);
        let record = Record::of(bench, ended.turn);
        record.find("ExecutionStarted", |part| part.body["intent"]["tool"] == tool).body.clone()
    };
    let before = started(&mut bench, "create a file tide.txt with the text high at noon", "write_file");
    assert_eq!((&before["effect"], &before["pose"]), (&json!("reversible"), &Value::Null), "{before}");
    let moved = |joint: &str, to: f64| MovementSensed {
        action: None,
        body_part: "head".into(),
        movement: "turn".into(),
        params: json!({}),
        before: BTreeMap::from([(joint.into(), 0.0)]),
        after: BTreeMap::from([(joint.into(), to)]),
        travelled: None,
    };
    for (joint, to) in [("yaw", 10.0), ("pitch", -4.0), ("yaw", 25.0)] {
        bench.agent.outside.door.sense(moved(joint, to));
    }
    bench.agent.settle();
    bench.crash();
    bench.agent.settle();
    let after = started(&mut bench, "read the file tide.txt", "read_file");
    assert_eq!(after["effect"], "read_only", "{after}");
    assert_eq!(after["pose"], json!({"pitch": -4.0, "yaw": 25.0}), "the last that each joint told, over a crash too");
}

#[test]
fn an_answer_rests_on_what_memory_or_the_brain_itself_said() {
    let mut bench = Bench::new();
    bench.say("remember that the gull nests on the roof");
    let ended = bench.say("where does the gull nest?");
    let record = Record::of(&bench, ended.turn);
    let enriched = record.find("EnrichedPercept", |_| true);
    assert!(enriched.body["recalled"].to_string().contains("roof"), "{}", enriched.body);
    let ended = bench.say("what would happen if you write a file?");
    let record = Record::of(&bench, ended.turn);
    let answered = record.find("InquiryAnswered", |_| true);
    assert_eq!(answered.body["tool"], "predict_outcome");
    let thought = record.find("Thought", |part| part.at >= answered.at);
    assert!(!thought.body["text"].as_str().unwrap_or_default().is_empty());
}

/// What the steps of one kind depend on, as shown.
fn shown(bench: &Bench, turn: MessageId, kind: &str) -> Vec<String> {
    let document = why_document(&bench.agent.frame.store, turn).expect("read").expect("a record");
    let steps = document["steps"].as_array().expect("steps").iter().filter(|step| step["kind"] == kind);
    let lines = steps.flat_map(|step| step["rests_on"].as_array().expect("a list").clone());
    lines.map(|line| line.as_str().expect("words").to_owned()).collect()
}

fn assert_any(lines: &[String], parts: &[&str]) {
    assert!(lines.iter().any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?} in none of {lines:#?}");
}

#[test]
fn habit_tells_what_the_words_could_mean_else_and_what_was_expected_of_what_it_did() {
    let mut bench = Bench::new();
    bench.say("create a file tide.txt with the text high at noon");
    for _ in 0..2 {
        bench.say("read the file missing.txt");
    }
    let ended = bench.say("read the file tide.txt");
    // Reading had hurt, so the gate asked for the prediction, and allowed it.
    assert_any(&shown(&bench, ended.turn, "ClearedIntent"), &["predicted read_file", "of 1 good"]);
    assert_any(&shown(&bench, ended.turn, "EnrichedPercept"), &["read the file missing.txt"]);
    let record = Record::of(&bench, ended.turn);
    let cleared = record.find("ClearedIntent", |part| part.body["intent"]["tool"] == "read_file");
    assert_eq!(cleared.body["expected"]["known"], true, "{}", cleared.body);

    let ended = bench.say("find all txt files");
    let record = Record::of(&bench, ended.turn);
    let did = &ended.actions[0];
    let intent = record.find("Intent", |part| part.body["tool"] == did.tool.as_str());
    let others = intent.body["instead"].as_array().cloned().unwrap_or_default();
    assert!(!others.is_empty(), "{}", intent.body);
    assert!(others.iter().all(|other| other["tool"] != did.tool.as_str() || other["params"] != did.params));
    assert_any(&shown(&bench, ended.turn, "Intent"), &["instead of", "a weaker reading"]);
}

#[test]
fn what_was_predicted_stays_in_the_record_where_thinking_breaks_off() {
    fn leans(prompt: &str) -> String {
        match prompt.contains("thought in this turn so far") {
            false => {
                let action = json!({"tool_name": "read_file", "params": {"path": "tide.txt"}});
                json!({"ready_to_act": false, "action": action, "reasoning": "The tide may be in the file."})
                    .to_string()
            }
            true => "{\"tool_name\" ]".into(),
        }
    }
    let model = Model::minded(leans);
    let mut bench = model.bench(|_| {});
    bench.say("create a file tide.txt with the text high at noon");
    bench.say("read the file tide.txt");
    let ended = bench.say("what would the sailor say to the tide?");
    let record = Record::of(&bench, ended.turn);
    let intent = record.find("Intent", |part| part.body["tool"] == "respond");
    let others = intent.body["instead"].to_string();
    for part in ["cycle 1 leant towards it, expected 0.", "the gate would allow", "thinking broke off"] {
        assert!(others.contains(part), "no {part:?} in {others}");
    }
}

#[test]
fn a_model_s_record_has_what_was_predicted_between_cycles_and_what_it_did_not_choose() {
    fn leans(prompt: &str) -> String {
        match prompt.contains("thought in this turn so far") {
            false => {
                let action = json!({"tool_name": "read_file", "params": {"path": "tide.txt"}});
                json!({"ready_to_act": false, "action": action, "reasoning": "The tide may be in the file."})
                    .to_string()
            }
            true => acts("respond", &json!({"message": "I leave the file alone."})),
        }
    }
    let model = Model::minded(leans);
    let mut bench = model.bench(|_| {});
    bench.say("create a file tide.txt with the text high at noon");
    bench.say("read the file tide.txt");
    let ended = bench.say("what would the sailor say to the tide?");
    assert_eq!(ended.reply.as_deref(), Some("I leave the file alone."));
    let record = Record::of(&bench, ended.turn);
    let second = record.find("CycleThought", |part| part.body["cycle"] == 2);
    assert_eq!(second.body["predicted"]["tool_name"], "read_file", "{}", second.body);
    assert_eq!(second.body["predicted"]["known"], true);
    assert_eq!(second.body["foreseen"]["verdict"], "allow");
    let intent = record.find("Intent", |part| part.body["tool"] == "respond");
    let others = intent.body["instead"].to_string();
    for part in ["cycle 1 leant towards it, expected 0.", "the gate would allow", "habit's own reading"] {
        assert!(others.contains(part), "no {part:?} in {others}");
    }
    assert_any(&shown(&bench, ended.turn, "CycleThought"), &["predicted read_file", "of 1 good"]);
    assert_any(&shown(&bench, ended.turn, "Intent"), &["instead of read_file {\"path\":\"tide.txt\"}"]);
    assert_any(&shown(&bench, ended.turn, "Intent"), &["instead of memory_recall"]);
}

#[test]
fn the_record_goes_on_to_what_was_felt_and_learned_said_and_kept() {
    let mut bench = Bench::new();
    let ended = bench.say("read the file missing.txt");
    bench.pass(std::time::Duration::from_secs(5));
    let record = Record::of(&bench, ended.turn);
    let action = ended.actions[0].id.to_string();
    let pain = record.find("PainSignal", |part| part.body["about"] == "read_file");
    assert!(pain.body["intensity"].as_f64() > Some(0.0), "{}", pain.body);
    let error = record.find("PredictionErrorSensed", |part| part.body["rpe"].as_f64() < Some(0.0));
    assert!(error.body["event"].as_str().is_some_and(|event| event.starts_with("read_file")), "{}", error.body);
    record.find("Reward", |_| true);
    let said = record.find("Outbound", |part| part.body["text"].as_str() == ended.reply.as_deref());
    assert_eq!(said.body["turn"], ended.turn.to_string());
    record.find("EpisodeStored", |_| true);
    record.find("ToolResult", |part| part.body["action"] == action.as_str());
}

#[test]
fn what_becomes_of_a_goal_stands_in_the_record_of_its_pursuit_and_of_the_question_about_it() {
    let mut bench = Bench::new();
    bench.say("your next goal is to create a file tide.txt with the text high");
    bench.pass(std::time::Duration::from_secs(5));
    assert!(bench.file("tide.txt").exists());
    let all = bench.agent.frame.store.records("cause_ledger", .., usize::MAX).expect("read");
    let parts: Vec<CausePart> =
        all.iter().filter_map(|(_, bytes)| serde_json::from_slice::<CausePart>(bytes).ok()).collect();
    let states: Vec<&str> = parts
        .iter()
        .filter(|part| part.kind == "GoalChanged")
        .filter_map(|part| part.body["goal"]["state"].as_str())
        .collect();
    assert!(states.contains(&"done"), "{states:?}");
}
