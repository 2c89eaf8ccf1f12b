//! The store shared by a daemon and offline commands: never both at once, and nothing is lost between them.

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
    let says = |news: &str| daemon.said.lock().expect("no reader panicked").iter().any(|said| said.contains(news));
    daemon.until("it says what it remembers", || says("it remembers 1 episode and 0 causal links"));
    assert_eq!(place.cli(&["send", "remember that the stove is off", "--wait"]).0, 0);
    // When killed, it leaves its note and releases the store.
    daemon.kill();
    assert!(place.data().join("daemon.json").exists());
    let found = recall(&place, "stove");
    assert!(found.0 == 0 && found.1.contains("the stove is off"), "{found:?}");
    // Offline nothing acts, and the next daemon continues where the last one was.
    let daemon = place.start();
    assert!(recall(&place, "green lamp").1.contains("\"lamp\""));
    let says = |news: &str| daemon.said.lock().expect("no reader panicked").iter().any(|said| said.contains(news));
    // A look at the store in between doesn't consume the news.
    daemon.until("it says how it went down", || says("it went down without warning"));
    drop(daemon);
}

/// All memories of a place, once no message is in transit.
fn exported(place: &Place) -> String {
    let export = || {
        let (code, lines, said) = place.cli(&["memory", "export", "-"]);
        assert_eq!(code, 0, "{said}");
        lines
    };
    let mut before = export();
    for _ in 0..100 {
        let after = export();
        if after == before {
            return after;
        }
        before = after;
    }
    panic!("it never comes to rest");
}

/// The prediction for reading a file, without confidence, which decreases with each second.
fn predicted(place: &Place) -> Value {
    let told = place.cli(&["memory", "predict", "read_file", "--json"]).1;
    let mut told: Value = serde_json::from_str(&told).expect("JSON");
    assert!(told.as_object_mut().is_some_and(|told| told.remove("confidence").is_some()), "{told}");
    told
}

fn brings_in(place: &Place, lines: &str, known: bool) {
    fs::write(place.work().join("all.jsonl"), lines).expect("written");
    let (code, report, said) = place.cli(&["memory", "import", "all.jsonl", "--json"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((code, &report["errors"]), (0, &json!([])), "{said} {report}");
    let count = lines.lines().count();
    let told = ["/imported", "/skipped/known"].map(|of| report.pointer(of).and_then(Value::as_u64).unwrap_or_default());
    assert_eq!(told.iter().sum::<u64>(), count as u64, "{report}");
    assert_eq!(told[0] == 0, known, "{report}");
}

#[test]
fn all_that_was_lived_comes_back_to_the_byte_with_a_daemon_and_without() {
    let place = Place::new();
    let daemon = place.start();
    for text in [
        "remember that the spare key is in the blue drawer",
        "create a file a.txt with the text hello and then read the file a.txt",
        "create a file b.txt with the text bye and then read the file b.txt",
        "create a file c.txt with the text so long and then read the file c.txt",
        "read the file missing.txt",
        "read the file missing.txt",
        "be brief",
        "where is the spare key?",
    ] {
        assert_eq!(place.cli(&["send", text, "--wait"]).0, 0);
    }
    assert_eq!(place.cli(&["memory", "promote"]).0, 0);
    let lines = exported(&place);
    for part in [
        r#"{"episode":"#,
        r#"{"layer":"anterior_temporal_lobe","part":"concepts""#,
        r#"{"layer":"cross_layer_graph","part":"edges""#,
        r#"{"layer":"nucleus_accumbens","part":"events""#,
        r#"{"layer":"cerebellum","part":"programs""#,
        r#"{"layer":"fear_bridge","part":"lived""#,
        r#"{"layer":"spatial_bridge","part":"things""#,
    ] {
        assert!(lines.lines().any(|line| line.starts_with(part)), "nothing in {part}");
    }
    let predicted = predicted(&place);
    daemon.kill();

    let offline = Place::new();
    brings_in(&offline, &lines, false);
    assert!(exported(&offline) == lines, "without a daemon");
    assert_eq!(self::predicted(&offline), predicted);
    brings_in(&offline, &lines, true);
    assert!(exported(&offline) == lines, "a second time");
    let daemon = offline.start();
    assert!(exported(&offline) == lines, "with a daemon on the same store");
    // What was reported to another room, that room hears now.
    let (code, said, _) = offline.cli(&["send", "run program create-file-text-read with d.txt \"again\"", "--wait"]);
    assert!(code == 0 && offline.work().join("d.txt").exists(), "{said}");
    drop(daemon);

    let online = Place::new();
    let daemon = online.start();
    brings_in(&online, &lines, false);
    assert!(exported(&online) == lines, "through a daemon");
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
    let waiting = || daemon.get("/v1/status").1["approvals"]["waiting"].clone();
    assert!(waiting() == 0 && !place.cli(&["status"]).1.contains("yes or no"));
    let (code, said, _) = place.cli(&["send", "run the command git init && git reset --hard", "--wait"]);
    assert_eq!(code, 0);
    let id = list()["approvals"][0]["id"].as_str().expect("something is asked").to_owned();
    assert!(said.contains(&format!("maxim approvals allow {id}")), "the answer says how: {said}");
    assert!(!place.work().join(".git").exists());
    let (_, shown, _) = place.cli(&["status"]);
    assert!(shown.contains("1 question waits for a yes or no; see `maxim approvals list`"), "{shown}");
    assert!(waiting() == 1 && place.cli(&["status", "--json"]).1.contains("\"waiting\":1"));
    assert_eq!(place.cli(&["approvals", "allow", "0000"]).0, 1);
    let (code, said, _) = place.cli(&["approvals", "allow", &id]);
    assert!(code == 0 && said.contains("allowed"), "{said}");
    daemon.until("it is done", || place.work().join(".git").exists());
    daemon.until("it is asked no more", || list() == json!({"approvals": []}));
    let (code, _, said) = place.cli(&["approvals", "deny", &id]);
    assert!(code == 1 && said.contains("there is no open question"), "{said}");
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

#[test]
fn what_was_lived_is_asked_after_pinned_and_forgotten_through_a_daemon() {
    let place = Place::new();
    let daemon = place.start();
    for _ in 0..2 {
        assert_eq!(place.cli(&["send", "read the file missing.txt", "--wait"]).0, 0);
    }
    let causal = |args: &[&str]| {
        let (code, told, said) = place.cli(&[&["memory", "causal", "--json"], args].concat());
        assert_eq!(code, 0, "{said}");
        serde_json::from_str::<Value>(&told).expect("JSON")
    };
    let learned = causal(&["--event", "read_file", "--valence", "negative"]);
    let link = &learned["results"][0];
    assert!(link["event"].as_str().is_some_and(|event| event.starts_with("read_file")), "{learned}");
    assert_eq!(link["observations"], 2, "{learned}");
    assert_eq!(causal(&["--event", "fly"])["results"], json!([]));

    let (code, told, _) = place.cli(&["memory", "recall", "--tool", "read_file", "--json"]);
    let episode: Value = serde_json::from_str(told.lines().next().expect("an episode")).expect("JSON");
    let id = episode["id"].as_str().expect("an id");
    let (pinned, said, _) = place.cli(&["memory", "pin", id, "--json"]);
    assert_eq!((code, pinned), (0, 0), "{said}");
    assert!(exported(&place).lines().any(|line| line.contains(id) && line.contains(r#""long_term":true"#)));
    let (forgotten, said, _) = place.cli(&["memory", "forget", id, "--json"]);
    assert!(forgotten == 0 && said.contains("missing.txt"), "{said}");
    assert!(!exported(&place).lines().any(|line| line.starts_with(&format!(r#"{{"episode":{{"id":"{id}""#))));
    let (code, _, said) = place.cli(&["memory", "forget", id]);
    assert!(code == 1 && said.contains(id), "{said}");
    drop(daemon);
}
