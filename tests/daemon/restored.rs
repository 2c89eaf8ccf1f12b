//! A backup is restored, with and without the recordings made since.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Daemon, Place};

const BEFORE: &str = "remember that the code word is zqbefore";
const AFTER: &str = "remember that the other word is zqafter";

/// A place whose daemon was told one thing before a backup and another after it; returns both turns.
fn lived() -> (Place, [String; 2]) {
    let place = Place::new();
    let daemon = place.start();
    let turn = |text: &str| daemon.say(text)["id"].as_str().expect("an id").to_owned();
    let before = turn(BEFORE);
    // A clearance, which only the gate can make, must not wait in an inbox during the backup. Otherwise the following
    // inputs of a recording would be reported as left out.
    daemon.until("each room has heard all of it", || {
        let figures = daemon.text("/metrics");
        let mut depths = figures.lines().filter(|line| line.starts_with("maxim_inbox_depth{")).peekable();
        depths.peek().is_some() && depths.all(|line| line.ends_with(" 0"))
    });
    let (status, made) = daemon.post("/v1/memory/backup", &json!({}));
    assert_eq!(status, 200, "{made}");
    let after = turn(AFTER);
    daemon.say("create a file once.txt with the text once");
    assert_eq!(daemon.end(), 0);
    fs::remove_file(place.work().join("once.txt")).expect("it was written");
    (place, [before, after])
}

fn knows(daemon: &Daemon, text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default();
    let found = daemon.get(&format!("/v1/memory/recall?query={word}&limit=3")).1;
    found["results"].as_array().is_some_and(|all| all.iter().any(|episode| episode["text"] == text))
}

fn whys(daemon: &Daemon, turns: &[String; 2]) -> [u16; 2] {
    [0, 1].map(|number| daemon.get(&format!("/v1/why/{}", turns[number])).0)
}

#[test]
fn a_restored_backup_is_as_it_was_made_and_tells_what_is_not_in_it() {
    let (place, turns) = lived();
    let (code, out, err) = place.cli(&["memory", "restore", "1"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 later recordings") && out.contains("--recordings"), "{out}");
    let daemon = place.start();
    assert_eq!([BEFORE, AFTER].map(|text| knows(&daemon, text)), [true, false]);
    assert_eq!(whys(&daemon, &turns), [200, 404]);
    let from = turns[1].as_str();
    let (code, out, err) = place.cli(&["replay", "--from", from]);
    assert_eq!(code, 0, "what is recorded is replayed all the same: {out}{err}");
}

#[test]
fn a_backup_restored_with_its_recordings_knows_all_that_was_lived_and_does_nothing_again() {
    let (place, turns) = lived();
    let (code, out, err) = place.cli(&["memory", "restore", "1", "--recordings", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert!(told["recordings"]["inputs"].as_u64().is_some_and(|inputs| inputs > 0), "{told}");
    assert_eq!(told["recordings"]["left_out"], 0, "{told}");
    let daemon = place.start();
    assert_eq!([BEFORE, AFTER].map(|text| knows(&daemon, text)), [true, true]);
    assert_eq!(whys(&daemon, &turns), [200, 200]);
    daemon.say("hello");
    assert!(!place.work().join("once.txt").exists());
    assert_eq!(daemon.post("/v1/memory/verify", &json!({})).1["ok"], true);
}

#[test]
fn a_store_whose_folder_is_gone_comes_back_out_of_the_recordings_and_is_no_new_brain() {
    let place = Place::new();
    let daemon = place.start();
    daemon.say(BEFORE);
    assert_eq!(daemon.end(), 0);
    fs::remove_dir_all(place.data().join("store")).expect("removed");
    fs::remove_file(place.data().join("latch.json")).expect("removed");
    let daemon = place.start();
    daemon.until("it has told all", || daemon.heard().contains("ready in"));
    let told = daemon.heard();
    assert!(told.contains("LOST: everything") && told.contains("remove the whole data folder"), "{told}");
    assert!(knows(&daemon, BEFORE), "{told}");
    assert_eq!(
        daemon.get("/v1/status").1["stop"]["latched"],
        true,
        "a latch that is missing beside a life means stopped"
    );
    assert_eq!(daemon.end(), 0);
    let daemon = place.start();
    daemon.until("it has told all", || daemon.heard().contains("ready in"));
    assert!(!daemon.heard().contains("LOST") && knows(&daemon, BEFORE), "{}", daemon.heard());
}

#[test]
fn with_its_store_removed_beneath_it_nothing_is_acknowledged_any_more_and_the_end_says_so() {
    let place = Place::new();
    let daemon = place.start();
    daemon.say(BEFORE);
    fs::remove_dir_all(place.data().join("store")).expect("removed");
    let disk = &daemon.get("/v1/status").1["disk"];
    assert!(disk["reason"].as_str().is_some_and(|why| why.contains("was removed or replaced")), "{disk}");
    let (status, answer) = daemon.post("/v1/percepts", &json!({ "text": AFTER }));
    assert_eq!(status, 503, "{answer}");
    assert!(answer["detail"].as_str().is_some_and(|why| why.contains("was removed or replaced")), "{answer}");
    daemon.signal(rustix::process::Signal::TERM);
    let (code, told) = daemon.ended_saying();
    assert_ne!(code, 0, "{told}");
    assert!(!told.contains("everything acknowledged is on disk"), "{told}");
}

#[test]
fn a_damaged_database_comes_back_out_of_backup_and_recordings() {
    // Of a truncated database a part is left; of the other one nothing except its backup.
    for (how, is_gone) in [("cut", false), ("overwritten", true)] {
        let (place, _) = lived();
        assert!(damage_databases(&place.data().join("store"), how) > 0);
        let daemon = place.start();
        daemon.until("it says what it found", || daemon.heard().contains("ready in"));
        let heard = daemon.heard();
        assert!(heard.contains("LOST: ") && heard.contains("restored from the recordings"), "{how}: {heard}");
        assert_eq!(heard.contains("restored from the backup"), is_gone, "{how}: {heard}");
        assert_eq!([BEFORE, AFTER].map(|text| knows(&daemon, text)), [true, true], "{how}: {heard}");
        daemon.say("hello");
        assert!(!place.work().join("once.txt").exists(), "{how}");
    }
}

fn damage_databases(folder: &Path, how: &str) -> usize {
    let entries = fs::read_dir(folder).expect("listed").flatten().map(|entry| entry.path());
    let damage = |path: std::path::PathBuf| match path.is_dir() {
        true if path.ends_with("backups") => 0,
        true => damage_databases(&path, how),
        false if path.ends_with("db") => {
            let mut bytes = fs::read(&path).expect("read");
            match how {
                "cut" => bytes.truncate(bytes.len() / 2),
                _ => bytes.fill(0xA5),
            }
            fs::write(&path, bytes).expect("written");
            1
        }
        false => 0,
    };
    entries.map(damage).sum()
}
