//! A conversation with a model that continues the next day, in another process. Yesterday's words are recalled, an
//! act's result is predicted before it, and several tools are used, each for a reason. A replay with the tape gives
//! the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim::config::Settings;
use maxim_actors::store::StateStore;
use serde_json::json;
use tempfile::TempDir;

use crate::model::{Act, Model, acts, thinks};
use crate::replay::{Session, limits, replayed};

const WISH: &str = "what would it take to get the boat ready this evening?";
const NOTE: &str = "The key hangs in the shed.";

/// A mind that knows only its prompt: it continues with what it sees that it did.
fn mind(prompt: &str) -> String {
    if prompt.contains("read_file {") {
        return acts("respond", &json!({"message": "Take the key out of the shed; boat.txt says so."}));
    }
    if prompt.contains("write_file {\\\"content\\\":\\\"The key")
        || prompt.contains("write_file {\"content\":\"The key")
    {
        return acts("read_file", &json!({"path": "boat.txt"}));
    }
    if prompt.contains("predict_outcome {") {
        return acts("write_file", &json!({"path": "boat.txt", "content": NOTE}));
    }
    if prompt.contains("worth a note") {
        return acts("predict_outcome", &json!({"tool_name": "write_file"}));
    }
    match prompt.contains("hangs in the shed") {
        true => thinks("I was told where the key hangs; that is worth a note."),
        false => acts("respond", &json!({"message": "I don't know."})),
    }
}

/// Two days with one process each; returns the last recording, and all that was said, done and learned.
fn lived(dir: &Path, recordings: &str, settings: Settings) -> (PathBuf, String) {
    let workdir = dir.join("work");
    fs::remove_dir_all(&workdir).ok();
    fs::create_dir_all(&workdir).expect("a folder");
    let mut session = Session::with(StateStore::in_memory(), &workdir, &dir.join(recordings), limits(), settings);
    session.say("remember that the boat key hangs in the shed");
    session.say("create a file log.txt with the text painted");
    session.pass(Duration::from_secs(86_400));
    let mut session = session.crash();
    session.say(WISH);
    session.say("why did you write boat.txt?");
    let agent = session.store.agent(&maxim_bus::AgentId::new("maxim").expect("a good name"));
    let records = agent.records("cause_ledger", .., usize::MAX).expect("read").into_iter();
    let why = records.map(|(_, value)| String::from_utf8_lossy(&value).into_owned()).collect::<Vec<_>>().join("\n");
    let done = fs::read_to_string(workdir.join("boat.txt")).unwrap_or_default();
    (session.end().pop().expect("a recording"), why + &done)
}

#[test]
fn the_next_day_it_recalls_foresees_acts_in_steps_explains_and_plays_it_again_to_the_byte() {
    let dir = TempDir::new().expect("a folder");
    let model = Model::acting(|_, request| {
        let shown = |at: usize| request["messages"][at]["content"].as_str().unwrap_or_default();
        Act::Say(mind(&format!("{}\n{}", shown(0), shown(1))))
    });
    let mut live = Settings::default();
    (live.effectors.llm.base_url, live.effectors.llm.model) = (Some(model.serve()), Some("gull".into()));
    let (file, lived_once) = lived(dir.path(), "live", live);
    let prompts = model.prompts();
    assert_eq!(prompts.len(), 5, "it thinks, foresees, writes, reads and answers: {prompts:#?}");
    assert!(prompts[0].contains("hangs in the shed"), "yesterday's fact is in mind: {}", prompts[0]);
    assert!(prompts[2].contains("predict_outcome {"), "what it foresees is shown before it acts: {}", prompts[2]);
    for part in [WISH, "predict_outcome", "write_file", "read_file", "worth a note", "Take the key out of the shed"] {
        assert!(lived_once.contains(part), "{part} is missing in {lived_once}");
    }
    assert!(lived_once.ends_with(NOTE), "{lived_once}");
    assert!(lived_once.contains("I used write_file. I thought: "), "it says why: {lived_once}");
    replayed(&file);

    let mut played = Settings::default();
    played.effectors.llm.tape = Some(file);
    let (again, lived_again) = lived(dir.path(), "again", played);
    assert_eq!(model.requests().len(), 5, "nobody was asked");
    assert_eq!(lived_once, lived_again);
    replayed(&again);
}
