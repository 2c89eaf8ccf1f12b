//! Tools in a whole agent: undone, kept within bounds, called by wrong names.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;

use maxim::config::Settings;
use maxim_actors::action::tools::Reversal;
use maxim_actors::store::StateStore;
use maxim_bus::Trust;
use maxim_bus::signals::outcome::{ExecutionStarted, ReversalPrepared};
use maxim_bus::signals::powers::RestorePowers;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

fn status(ended: &maxim_bus::signals::thought::TurnEnded, tool: &str) -> Option<String> {
    ended.actions.iter().find(|action| action.tool == tool).map(|action| action.status.to_string())
}

#[test]
fn what_was_written_is_taken_back_also_after_a_crash_and_that_too() {
    let mut bench = Bench::new();
    let path = bench.folder.path().join("note.txt");
    fs::write(&path, "before").expect("written");
    let ended = bench.say("please write note.txt with the text after");
    assert_eq!(status(&ended, "write_file").as_deref(), Some("done"), "{ended:?}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "after");
    bench.crash();
    let ended = bench.say("undo that");
    assert_eq!(status(&ended, "undo").as_deref(), Some("done"), "{ended:?}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "before");
    let ended = bench.say("undo");
    assert_eq!(status(&ended, "undo").as_deref(), Some("done"), "{ended:?}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "after", "the taking back was taken back");
}

#[test]
fn a_new_file_goes_away_by_its_actions_id_and_then_there_is_nothing_left() {
    let mut bench = Bench::new();
    let written = bench.say("please create a file a.txt with the text one");
    bench.say("please create a file b.txt with the text two");
    let id = written.actions[0].id.to_string();
    bench.say(&format!("undo the action {id}"));
    assert!(!bench.folder.path().join("a.txt").exists());
    assert!(bench.folder.path().join("b.txt").exists(), "only the named one");
}

#[test]
fn with_nothing_to_take_back_it_says_so() {
    let mut bench = Bench::new();
    let ended = bench.say("undo that");
    assert_eq!(status(&ended, "undo").as_deref(), Some("failed"));
    assert!(ended.reply.is_some_and(|reply| reply.contains("nothing to take back")));
}

/// The crash comes after the effect and before its outcome: the executor is cut off, and its part is done by hand.
#[test]
fn an_action_that_a_crash_interrupted_is_put_back() {
    let mut bench = Bench::new();
    let folder = fs::canonicalize(bench.folder.path()).expect("real");
    let (path, copy) = (folder.join("note.txt"), folder.join("copy"));
    fs::write(&copy, "before").expect("written");
    assert!(bench.agent.cut("executor"));
    let _acknowledged = bench.submit("please write note.txt with the text after");
    bench.agent.settle();
    let range = (Bound::Included(b"open/".to_vec()), Bound::Excluded(b"open0".to_vec()));
    let open = bench.agent.frame.store.records("execution_tracker", range, 10).expect("read");
    let started: ExecutionStarted = serde_json::from_slice(&open.first().expect("it has begun").1).expect("a record");
    let reversal = Reversal::RestoreFile { path: path.clone(), saved: Some(copy), was_absent: false };
    let reversal = serde_json::to_value(reversal).expect("plain data");
    let door = bench.agent.outside.door.clone();
    door.put("executor", door.fresh_id(), Trust::Owner, ReversalPrepared { action: started.action, reversal });
    bench.agent.settle();
    fs::write(&path, "after").expect("written");
    bench.crash();
    bench.pass(std::time::Duration::from_secs(600));
    assert_eq!(fs::read_to_string(&path).expect("there"), "before");
    let ended = bench.say("undo that");
    assert_eq!(status(&ended, "undo").as_deref(), Some("done"), "{ended:?}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "after", "what was there was kept");
}

#[test]
fn what_the_agent_lowered_holds_for_its_hands_and_its_gate() {
    let mut bench = Bench::new();
    let ended = bench.say("switch to passive mode");
    assert_eq!(status(&ended, "mode_switch").as_deref(), Some("done"), "{ended:?}");
    let ended = bench.say("please create a file a.txt with the text one");
    assert_ne!(status(&ended, "write_file").as_deref(), Some("done"), "{ended:?}");
    assert!(!bench.folder.path().join("a.txt").exists());
    let ended = bench.say("switch to active mode");
    assert_eq!(status(&ended, "mode_switch").as_deref(), Some("failed"), "{ended:?}");
    bench.crash();
    bench.say("please create a file a.txt with the text one");
    assert!(!bench.folder.path().join("a.txt").exists(), "it holds over a crash");
}

#[test]
fn what_happens_is_remembered_with_the_mode_that_is_in_force() {
    let mut bench = Bench::new();
    let before = bench.say("switch to passive mode").turn;
    let lowered = bench.say("what is 6 * 7?").turn;
    bench.crash();
    let over = bench.say("what is 7 * 8?").turn;
    bench.ask("autonomy", RestorePowers { by: "anna".into() });
    bench.agent.settle();
    let restored = bench.say("what is 8 * 9?").turn;
    let mut in_mode = |mode: &str| -> BTreeSet<String> {
        let found = bench.inquire("memory_recall", json!({"mode": mode, "limit": 20}));
        let found = found["results"].as_array().cloned().unwrap_or_default();
        found.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect()
    };
    assert_eq!(in_mode("passive"), BTreeSet::from([lowered, over].map(|turn| turn.to_string())));
    assert_eq!(in_mode("active"), BTreeSet::from([before, restored].map(|turn| turn.to_string())));
}

#[test]
fn another_working_folder_needs_a_yes_and_is_used_after_it() {
    let mut bench = Bench::new();
    let other = tempfile::tempdir().expect("a folder");
    let other = fs::canonicalize(other.path()).expect("real");
    let ended = bench.say(&format!("change the working folder to {}", other.display()));
    assert_eq!(status(&ended, "request_directory_change").as_deref(), Some("asked"), "{ended:?}");
    let asked = ended.actions[0].id;
    bench.agent.outside.door.decide(asked, true, false, "anna".into());
    bench.pass(std::time::Duration::from_secs(5));
    let ended = bench.say("please create a file a.txt with the text one");
    assert_eq!(status(&ended, "write_file").as_deref(), Some("done"), "{ended:?}");
    assert!(other.join("a.txt").exists());
    assert!(!bench.folder.path().join("a.txt").exists());
}

#[test]
fn tests_and_scripts_are_run_only_after_a_yes() {
    let mut bench = Bench::new();
    fs::write(bench.folder.path().join("a.sh"), "touch ran\n").expect("written");
    for (words, tool) in [("run the tests", "run_tests"), ("run the script a.sh", "execute_file")] {
        let ended = bench.say(words);
        assert_eq!(status(&ended, tool).as_deref(), Some("asked"), "{words}: {ended:?}");
    }
    assert!(!bench.folder.path().join("ran").exists());
    let ended = bench.say_as("run the tests", "mallory", Trust::Outside);
    assert_ne!(status(&ended, "run_tests").as_deref(), Some("asked"), "an outsider can't even ask: {ended:?}");
}

#[test]
fn code_is_searched_and_what_is_not_there_says_so() {
    let mut bench = Bench::new();
    fs::write(bench.folder.path().join("gulls.rs"), "fn feed_gulls() {}\n").expect("written");
    let ended = bench.say("search the code for feed_gulls");
    assert_eq!(status(&ended, "search_code").as_deref(), Some("done"), "{ended:?}");
    assert!(ended.reply.is_some_and(|reply| reply.contains("gulls.rs")));
    let ended = bench.say("turn right by 30 degrees");
    assert!(ended.reply.as_ref().is_some_and(|reply| reply.contains("isn't available")), "{ended:?}");
}

#[test]
fn what_is_not_here_is_no_success_and_teaches_nothing() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        let ended = bench.say("look left 20 degrees");
        assert_eq!(status(&ended, "move").as_deref(), Some("unavailable"), "{ended:?}");
    }
    let links = bench.inquire("causal_links", json!({"event": "move"}));
    assert_eq!(links["results"], json!([]), "{links}");
    let felt = bench.inquire("pain_history", json!({}));
    assert_eq!(felt["counts"]["tool_error"], Value::Null, "{felt}");
    let good = bench.inquire("memory_recall", json!({"tool_name": "move", "success": true}));
    assert_eq!(good["results"], json!([]), "{good}");
    let counts = bench.inquire("system_stats", json!({}));
    assert_eq!(counts["regions"]["tool_index"]["successes"], 0, "{}", counts["regions"]["tool_index"]);
    assert_eq!(counts["regions"]["cerebellum"]["programs"], json!([]), "{}", counts["regions"]["cerebellum"]);
}

#[test]
fn the_introspection_tools_answer_from_the_rooms_that_know() {
    let mut bench = Bench::new();
    bench.say("read the file missing.txt");
    bench.say("please create a file a.txt with the text one");
    let links = bench.inquire("causal_links", json!({"event": "read_file"}));
    assert_eq!(links["results"][0]["outcome"], "notfound", "{links}");
    let pain = bench.inquire("pain_history", json!({"check_action": "bash", "action_params": {"command": "rm -rf /"}}));
    assert_eq!((&pain["fear"]["verdict"], &pain["would"]), (&json!("block"), &json!("block")), "{pain}");
    assert_eq!(pain["counts"]["tool_error"], 1, "{pain}");
    let stats = bench.inquire("system_stats", json!({}));
    assert_eq!(stats["regions"]["pain_detector"]["by_kind"]["tool_error"], 1, "{stats}");
    let time = bench.inquire("temporal_patterns", json!({"discover_rhythms": true}));
    assert!(time["rhythms"].is_array() && time["total"].as_u64().is_some_and(|total| total > 0), "{time}");
    let found = bench.inquire("discover_tools", json!({"query": "search code"}));
    assert_eq!(found["results"][0]["name"], "search_code");
    assert_eq!(bench.inquire("scene_summary", json!({}))["available"], false);
    let presence = bench.inquire("sense_presence", json!({}));
    assert_eq!(presence["you"]["name"], "maxim");
}

#[test]
fn a_program_of_the_person_is_asked_about_and_then_done() {
    use std::os::unix::fs::PermissionsExt;
    let tools = tempfile::tempdir().expect("a folder");
    let script = tools.path().join("bell.sh");
    fs::write(&script, "#!/bin/sh\necho rung > bell\necho done\n").expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
    let manifest = json!({
        "name": "ring_bell", "description": "Rings the bell.", "command": ["./bell.sh"], "effect": "irreversible",
        "speech": {"verbs": ["ring"], "patterns": ["{verb} the bell"]},
    });
    fs::write(tools.path().join("bell.json"), manifest.to_string()).expect("written");
    let folder = tools.path().to_owned();
    let mut registry = core_tools();
    let faults = maxim_actors::action::tools::user::register(&mut registry, &folder, std::path::Path::new("/nowhere"));
    assert_eq!(faults, []);
    let mut bench = Bench::with_tools("maxim", StateStore::in_memory(), registry, Settings::default());
    let ended = bench.say("ring the bell");
    assert_eq!(status(&ended, "ring_bell").as_deref(), Some("asked"), "{ended:?}");
    assert!(!bench.folder.path().join("bell").exists());
    bench.agent.outside.door.decide(ended.actions[0].id, true, false, "anna".into());
    bench.pass(std::time::Duration::from_secs(5));
    assert!(bench.folder.path().join("bell").exists());
}

#[test]
fn the_configured_rails_hold_by_level_and_rate() {
    let with = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
    };
    let write = |bench: &mut Bench, name: &str| {
        let ended = bench.say(&format!("create a file {name} with the text x"));
        (ended.actions[0].status.to_string(), ended.actions[0].reason.clone().unwrap_or_default())
    };
    let mut listed = with(|settings| settings.gate.autonomy.autonomous_tools = vec!["read_file".into()]);
    let (status, reason) = write(&mut listed, "a.txt");
    assert!(status == "blocked" && reason.contains("autonomy.whitelist"), "{status} {reason}");
    assert!(!listed.file("a.txt").exists());
    let mut other_level = with(|settings| settings.gate.autonomy.supervised_tools = vec!["read_file".into()]);
    assert_eq!(write(&mut other_level, "a.txt").0, "done");
    let mut slow = with(|settings| settings.gate.autonomy.per_minute = 2);
    assert_eq!((write(&mut slow, "a.txt").0.as_str(), write(&mut slow, "b.txt").0.as_str()), ("done", "done"));
    let (status, reason) = write(&mut slow, "c.txt");
    assert!(status == "blocked" && reason.contains("2 a minute"), "{status} {reason}");
    slow.pass(std::time::Duration::from_secs(61));
    assert_eq!(write(&mut slow, "c.txt").0, "done");
}

#[test]
fn what_a_person_asks_of_the_brain_itself_is_answered_in_words() {
    let mut bench = Bench::new();
    bench.say("read the file missing.txt");
    let asked = [
        ("what hurt you lately?", "read_file"),
        ("would the gate allow bash?", "I would do bash"),
        ("what does read_file lead to", "leads to notfound (1 times"),
        ("which tool can you use to search code", "- search_code: "),
        ("what exists here", "I am maxim, in active mode, with no body"),
        ("how much energy do you have left", "Of the 200000 tokens of this hour, 200000 are left."),
        ("what usually happens at 9 o'clock", "At 9 o'clock "),
        ("what rhythms have you found", "more often than by chance: "),
        ("how are you?", "I am well: all "),
    ];
    for (words, told) in asked {
        let reply = bench.say(words).reply.unwrap_or_default();
        assert!(reply.contains(told), "{words}: {reply}");
        assert!(!reply.contains("{\"") && !reply.contains("null"), "{words}: {reply}");
    }
}
