//! The store between a daemon and commands without one: never both, and nothing lost between them.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Place;

fn recall(place: &Place, words: &str) -> (i32, String, String) {
    place.cli(&["memory", "recall", words, "--json"])
}

#[test]
fn a_daemon_and_a_command_without_one_remember_the_same() {
    let place = Place::new();
    let line = r#"{"id": "lamp", "text": "the green lamp stands in the hall", "people": ["Anna"]}"#;
    fs::write(place.work().join("episodes.jsonl"), line).expect("written");
    assert_eq!(place.cli(&["memory", "import", "episodes.jsonl"]).0, 0);
    assert!(place.data().join("latch.json").exists(), "or the daemon would start stopped");
    let offline = recall(&place, "green lamp");
    assert!(offline.0 == 0 && offline.1.contains("\"lamp\""), "{offline:?}");
    let daemon = place.start();
    assert_eq!(recall(&place, "green lamp").1, offline.1, "the same line, online");
    let said = daemon.said.lock().expect("no reader panicked").join("\n");
    assert!(said.contains("1 episodes and 0 causal links are remembered"), "{said}");
    assert_eq!(place.cli(&["send", "remember that the stove is off", "--wait"]).0, 0);
    // Killed, it leaves its note and lets go of the store.
    daemon.kill();
    assert!(place.data().join("daemon.json").exists());
    let found = recall(&place, "stove");
    assert!(found.0 == 0 && found.1.contains("the stove is off"), "{found:?}");
    // Offline nothing acts, and the next daemon goes on where the last one was.
    let daemon = place.start();
    assert!(recall(&place, "green lamp").1.contains("\"lamp\""));
    let said = daemon.said.lock().expect("no reader panicked").join("\n");
    assert!(said.contains("it went down without warning"), "whoever looked in between doesn't use up the news: {said}");
    drop(daemon);
}

#[test]
fn a_store_that_a_daemon_holds_is_neither_opened_nor_restored() {
    let place = Place::new();
    let daemon = place.start();
    assert_eq!(place.cli(&["memory", "backup"]).0, 0);
    let holder = format!("in use by process {}", daemon.pid());
    let (code, _, said) = place.cli(&["memory", "restore", "1"]);
    assert!(code == 75 && said.contains(&holder), "{code} {said}");
    assert!(place.cli(&["memory", "restore"]).1.contains("000001"), "listing needs no lock");
    let (code, _, said) = place.cli(&["memory", "convert"]);
    assert!(code == 75 && said.contains(&holder), "{code} {said}");
    // Without its note the daemon isn't found, but it still holds the store.
    fs::remove_file(place.data().join("daemon.json")).expect("removed");
    let (code, _, said) = recall(&place, "anything");
    assert!(code == 75 && said.contains(&holder), "{code} {said}");
}

#[test]
fn approvals_are_listed_and_answered_from_a_shell() {
    let place = Place::new();
    let daemon = place.start();
    let list = || -> Value { serde_json::from_str(&place.cli(&["approvals", "list", "--json"]).1).expect("JSON") };
    assert_eq!(list(), json!({"approvals": []}));
    let (code, said, _) = place.cli(&["send", "run the command git init && git reset --hard", "--wait"]);
    assert_eq!(code, 0);
    let id = list()["approvals"][0]["id"].as_str().expect("something is asked").to_owned();
    assert!(said.contains(&format!("maxim approvals allow {id}")), "the answer says how: {said}");
    assert!(!place.work().join(".git").exists());
    assert_eq!(place.cli(&["approvals", "allow", "0000"]).0, 1);
    let (code, said, _) = place.cli(&["approvals", "allow", &id]);
    assert!(code == 0 && said.contains("allowed"), "{said}");
    daemon.until("it is done", || place.work().join(".git").exists());
    daemon.until("it is asked no more", || list() == json!({"approvals": []}));
    let (code, _, said) = place.cli(&["approvals", "deny", &id]);
    assert!(code == 1 && said.contains("nothing is asked under"), "{said}");
}

#[test]
fn a_store_in_memory_forgets_and_says_so() {
    let place = Place::new();
    fs::write(place.work().join("maxim.toml"), "[store]\nengine = \"memory\"\n").expect("written");
    let daemon = place.start();
    assert_eq!(daemon.get("/v1/status").1["disk"]["engine"], "memory");
    assert_eq!(place.cli(&["send", "remember that the stove is off", "--wait"]).0, 0);
    let (code, _, said) = place.cli(&["memory", "backup"]);
    assert!(code == 1 && said.contains("in memory"), "{code} {said}");
    daemon.kill();
    let daemon = place.start();
    assert!(!recall(&place, "stove").1.contains("the stove is off"));
    drop(daemon);
}
