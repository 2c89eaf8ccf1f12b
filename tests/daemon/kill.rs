//! P5, P6: acknowledged means durable, after kill -9 and damage.

use std::fs;

use serde_json::json;

use crate::harness::{Daemon, Place};

/// Words that no other line has, so that recalling them finds one episode.
fn unique(cycle: usize, n: usize) -> String {
    let letters: String = format!("{cycle:03}{n:03}").bytes().map(|digit| char::from(b'a' + digit - b'0')).collect();
    format!("remember that the code word is zq{letters}x")
}

/// `MAXIM_KILL_CYCLES` makes the test longer.
#[test]
fn nothing_acknowledged_is_lost_over_fifty_kills() {
    let cycles = std::env::var("MAXIM_KILL_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let place = Place::new();
    let mut acknowledged = Vec::new();
    for cycle in 0..cycles {
        let daemon = place.start();
        let texts: Vec<String> = (0..12).map(|n| unique(cycle, n)).collect();
        // Half are sent and acknowledged; the kill comes while all turns are still running.
        acknowledged.extend(daemon.tell_all(&texts));
        daemon.kill();
    }
    assert!(acknowledged.len() >= cycles * 6, "only {} acknowledged", acknowledged.len());
    let daemon = place.start();
    let lost: Vec<&String> = acknowledged.iter().filter(|text| !recalls(&daemon, text)).collect();
    assert!(lost.is_empty(), "{} of {} acknowledged are lost: {lost:?}", lost.len(), acknowledged.len());
    println!("{} acknowledged over {cycles} kills, none lost", acknowledged.len());
}

#[test]
fn what_was_under_way_is_told_at_the_next_start_and_not_repeated() {
    let place = Place::new();
    let daemon = place.start();
    let wish = json!({ "text": "run the command touch began.txt && sleep 60" });
    assert_eq!(daemon.post("/v1/percepts", &wish).0, 202);
    let began = place.work().join("began.txt");
    daemon.until("it began", || began.exists());
    daemon.kill();
    fs::remove_file(&began).expect("it is there");
    let daemon = place.start();
    daemon.until("it says what it found", || daemon.heard().contains("ready in"));
    let heard = daemon.heard();
    assert!(heard.contains("it was doing bash") && heard.contains("touch began.txt"), "{heard}");
    daemon.say("what is 1 + 1?");
    assert!(!began.exists(), "it is never repeated unasked");
}

/// A start's message about a damaged part: put aside, repaired, lost, or stopped until a person looks.
const TOLD: [&str; 7] = [
    "put aside",
    "repaired: ",
    "restored from",
    "LOST: ",
    "STOPPED since an unknown time",
    "a token was made",
    "a new token took the place",
];
/// Files without data of the previous run, which are recreated silently: the lock; `complete`, of which only the
/// existence counts; `mark`, which only detects a cleanly truncated database; the space reserved for a full disk;
/// sled's own settings, if they are missing.
const SILENT: [(&str, &[&str]); 5] = [
    ("lock", &["cut", "flip", "delete"]),
    ("complete", &["cut", "flip"]),
    ("mark", &["cut", "flip", "delete"]),
    ("reserve", &["cut", "flip", "delete"]),
    ("conf", &["delete"]),
];

#[test]
fn any_damaged_file_is_found_and_told_and_it_starts() {
    let place = Place::new();
    let daemon = place.start();
    let said: Vec<String> = (0..20).map(|n| unique(0, n)).collect();
    for text in &said {
        daemon.say(text);
    }
    let blocks = daemon.post("/v1/memory/verify", &json!({})).1["blocks"].as_u64();
    assert_eq!(daemon.end(), 0);
    let whole = tempfile::tempdir().expect("a folder");
    copy(&place.data(), whole.path());
    let files = files_of(&place.data());
    assert!(files.len() >= 3, "{files:?}");
    let mut faults = Vec::new();
    for file in files {
        for damage in ["cut", "flip", "delete"] {
            fs::remove_dir_all(place.data()).expect("removed");
            copy(whole.path(), &place.data());
            let held = harm(&place.data().join(&file), damage);
            let daemon = place.start();
            daemon.until("it says what it found", || daemon.heard().contains("ready in"));
            let (heard, name) = (daemon.heard(), format!("{} after {damage}", file.display()));
            // Data in blocks is read on demand, or earlier by a command that reads everything.
            let is_told = TOLD.iter().any(|words| heard.contains(words))
                || daemon.post("/v1/memory/verify", &json!({})).1["ok"] == false;
            let is_silent = |(known, how): &(&str, &[&str])| file.ends_with(known) && how.contains(&damage);
            // After such a short run the pack may still be empty.
            let is_harmless =
                (file.ends_with("pack") && blocks == Some(0)) || held == 0 || SILENT.iter().any(is_silent);
            let lost = said.iter().filter(|text| !recalls(&daemon, text)).count();
            let has_said_so = heard.contains("LOST: ");
            if (lost > 0 && !has_said_so) || !(is_told || is_harmless) {
                faults.push(format!("{name}: told {is_told}, {lost} lost; it said {heard}"));
            }
            let (status, health) = daemon.get("/v1/status");
            assert_eq!(status, 200, "{name}");
            if health["stop"]["latched"] == true {
                // A damaged latch means stopped, and a person clears it.
                assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
                assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
            }
            let answer = daemon.say("remember that the lamp is green");
            assert!(answer["reply"].is_string(), "{name}: {answer}");
            daemon.kill();
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Damages a file; returns how many bytes there were to damage.
fn harm(path: &std::path::Path, damage: &str) -> usize {
    let mut bytes = fs::read(path).expect("read");
    let held = bytes.len();
    match damage {
        "cut" => bytes.truncate(bytes.len() / 2),
        "flip" => {
            let at = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x10;
            }
        }
        _ => {
            fs::remove_file(path).expect("removed");
            return held;
        }
    }
    fs::write(path, bytes).expect("written");
    held
}

fn recalls(daemon: &Daemon, text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default();
    let (status, found) = daemon.get(&format!("/v1/memory/recall?query={word}&limit=3"));
    assert_eq!(status, 200, "{found}");
    found["results"].as_array().is_some_and(|all| all.iter().any(|episode| episode["text"] == text))
}

fn files_of(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("listed").flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && !path.starts_with(folder.join("recordings")) {
                found.push(path.strip_prefix(folder).expect("inside").to_owned());
            }
        }
    }
    found.sort();
    found
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("listed").flatten() {
        let kind = entry.file_type().expect("a kind");
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
