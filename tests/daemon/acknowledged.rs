//! P5 for everything acknowledged over HTTP: whatever a person was told is done stays done after kill -9.

use serde_json::{Value, json};

use crate::harness::{Daemon, Place};

/// Letters that no other cycle has.
fn letters(kind: &str, cycle: usize) -> String {
    let digits: String = format!("{cycle:03}").bytes().map(|digit| char::from(b'a' + digit - b'0')).collect();
    format!("zq{kind}{digits}x")
}

/// For concepts: names that differ in one letter count as the same.
const FERNS: [&str; 6] = ["quillwort", "bracken", "maidenhair", "moonwort", "spleenwort", "polypody"];

/// Something acknowledged, by the evidence for it.
#[derive(Debug)]
enum Done {
    /// An episode with this word exists.
    Remembered(String),
    /// No episode with this word exists.
    Forgotten(String),
    /// The export shows it as pinned.
    Pinned(String),
    /// It is among the goals, in any state.
    Wanted(String),
    /// The gate no longer asks it.
    Decided(String),
    Feared(String),
    Relation(String),
    /// A concept of this name exists.
    Known(String),
    /// Whether it stays off the web, as it was told.
    Offline(bool),
    Held,
}

impl Done {
    /// Each kind takes its turn as the last before the kill, because later requests wait for earlier
    /// acknowledgements.
    const KINDS: usize = 13;

    fn do_one(kind: usize, cycle: usize, daemon: &Daemon) -> Self {
        let done = |path: &str, body: Value| {
            let (status, answer) = daemon.post(path, &body);
            assert!(status == 200 || status == 202, "{path} {body}: {status} {answer}");
            answer
        };
        match kind {
            0 => {
                let word = letters("i", cycle);
                let line = json!({"id": word, "text": format!("the code word is {word}")}).to_string();
                let (status, answer) = daemon.post_raw("/v1/memory/import?all=true", line);
                assert_eq!((status, &answer["imported"]), (200, &json!(1)), "{answer}");
                Self::Remembered(word)
            }
            1 => {
                let goal = format!("say hello to {}", letters("g", cycle));
                done("/v1/goals", json!({"goal": goal}));
                Self::Wanted(goal)
            }
            2 => {
                let goal = format!("say goodbye to {}", letters("r", cycle));
                done("/v1/redirect", json!({"goal": goal}));
                Self::Wanted(goal)
            }
            3 => {
                let word = letters("p", cycle);
                let episode = remembered(daemon, &word);
                done("/v1/memory/pin", json!({"id": episode}));
                Self::Pinned(word)
            }
            4 => {
                let word = letters("f", cycle);
                let episode = remembered(daemon, &word);
                done("/v1/memory/forget", json!({"id": episode}));
                Self::Forgotten(word)
            }
            5 => {
                let approval = asked(daemon, &format!("run the command git reset --hard {}", letters("d", cycle)));
                done(&format!("/v1/approvals/{approval}"), json!({"allow": false}));
                Self::Decided(approval)
            }
            6 => {
                let tool = ["bash", "write_file", "edit_file", "read_file", "glob"][cycle % 5].to_owned();
                done(&format!("/v1/fears/{tool}"), json!({"wish": "pin"}));
                Self::Feared(tool)
            }
            7 => {
                let word = letters("s", cycle);
                let heard = json!({"text": format!("remember that the code word is {word}"), "confidence": 1.0});
                let answer = done("/v1/observations", json!({"speech": heard}));
                assert!(answer["speech"].is_string(), "{answer}");
                Self::Remembered(word)
            }
            8 => {
                let name = letters("t", cycle).to_uppercase();
                let answer = done("/v1/memory/relation-types", json!({"name": name}));
                assert_eq!(answer["accepted"], true, "{answer}");
                Self::Relation(name)
            }
            9 => {
                // Names that differ in a letter count as misspellings of the same one.
                let name =
                    ["quillwort", "bracken", "maidenhair", "moonwort", "spleenwort", "polypody"][cycle % 6].to_owned();
                let answer = done(
                    "/v1/memory/ingest",
                    json!({"document": format!("{name}.txt"), "text": format!("The {name} is a kind of fern.")}),
                );
                assert_eq!(answer["passages"], 1, "{answer}");
                Self::Known(name)
            }
            10 => {
                let tool = format!("press_{}", FERNS[cycle % FERNS.len()]);
                let line = |n| {
                    json!({"id": format!("{tool}{n}"), "text": "it worked", "tool": tool, "success": true}).to_string()
                };
                let lines: Vec<String> = (0..5).map(line).collect();
                let (status, answer) = daemon.post_raw("/v1/memory/import?all=true", lines.join("\n"));
                assert_eq!((status, &answer["imported"]), (200, &json!(5)), "{answer}");
                let answer = done("/v1/memory/promote", json!({}));
                let name = format!("{tool} success");
                assert!(answer["verdicts"].to_string().contains(&json!([name, "promoted"]).to_string()), "{answer}");
                Self::Known(name)
            }
            11 => {
                let reply = daemon.say("stay offline")["reply"].clone();
                assert!(reply.is_string(), "{reply}");
                let stays = cycle.is_multiple_of(2);
                if !stays {
                    done("/v1/powers/restore", json!({}));
                }
                Self::Offline(stays)
            }
            _ => {
                done("/v1/hold", json!({"duration_s": 3600}));
                Self::Held
            }
        }
    }

    fn holds(&self, daemon: &Daemon) -> bool {
        match self {
            Self::Remembered(word) => found(daemon, word).is_some(),
            Self::Forgotten(word) => found(daemon, word).is_none(),
            Self::Pinned(word) => {
                exported(daemon).iter().any(|line| line.contains(word) && line.contains("\"long_term\":true"))
            }
            Self::Wanted(goal) => all(daemon, "/v1/goals", "goals").iter().any(|known| known["title"] == *goal),
            Self::Decided(approval) => {
                !all(daemon, "/v1/approvals", "approvals").iter().any(|asked| asked["id"] == *approval)
            }
            Self::Feared(tool) => {
                let fears = all(daemon, "/v1/fears", "fears");
                fears.iter().any(|fear| fear["tool"] == *tool && fear["pinned"] == true)
            }
            Self::Relation(name) => exported(daemon).iter().any(|line| line.contains(name)),
            Self::Known(name) => {
                let (status, found) = daemon.get(&format!("/v1/memory/concepts?name={}", name.replace(' ', "%20")));
                assert_eq!(status, 200, "{found}");
                found["results"].as_array().is_some_and(|found| found.iter().any(|known| known["name"] == **name))
            }
            Self::Offline(stays) => {
                let (status, powers) = daemon.get("/v1/powers");
                assert_eq!(status, 200, "{powers}");
                let keeps_off = powers["lowered"].to_string().contains("web");
                assert_eq!(daemon.post("/v1/powers/restore", &json!({})).0, 200);
                keeps_off == *stays
            }
            Self::Held => {
                let reply = daemon.say("what is 1 + 1?")["reply"].clone();
                let is_held = reply.as_str().is_some_and(|reply| reply.contains("on hold"));
                let resumed = daemon.post("/v1/resume", &json!({}));
                assert_eq!(resumed.0, 200, "{}", resumed.1);
                is_held
            }
        }
    }
}

fn all(daemon: &Daemon, path: &str, name: &str) -> Vec<Value> {
    let (status, answer) = daemon.get(path);
    assert_eq!(status, 200, "{path}: {answer}");
    answer[name].as_array().cloned().unwrap_or_default()
}

fn exported(daemon: &Daemon) -> Vec<String> {
    let (mut lines, mut after) = (Vec::new(), None::<String>);
    loop {
        let path = after.map_or_else(|| "/v1/memory/export".into(), |after| format!("/v1/memory/export?after={after}"));
        let (status, page) = daemon.get(&path);
        assert_eq!(status, 200, "{path}: {page}");
        let page_lines = page["lines"].as_array().cloned().unwrap_or_default();
        lines.extend(page_lines.iter().filter_map(|line| line.as_str().map(str::to_owned)));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            return lines;
        }
    }
}

/// The id of the episode with this word.
fn found(daemon: &Daemon, word: &str) -> Option<String> {
    let (status, found) = daemon.get(&format!("/v1/memory/recall?query={word}&limit=3"));
    assert_eq!(status, 200, "{found}");
    let results = found["results"].as_array().cloned().unwrap_or_default();
    let mut with_word =
        results.iter().filter(|episode| episode["text"].as_str().is_some_and(|text| text.contains(word)));
    with_word.next().and_then(|episode| episode["id"].as_str().map(str::to_owned))
}

fn remembered(daemon: &Daemon, word: &str) -> String {
    let line = json!({"id": word, "text": format!("the code word is {word}")}).to_string();
    assert_eq!(daemon.post_raw("/v1/memory/import?all=true", line).0, 200);
    found(daemon, word).expect("it was imported")
}

/// Makes the gate ask about a command; returns the approval's id.
fn asked(daemon: &Daemon, wish: &str) -> String {
    daemon.say(wish);
    let asked = all(daemon, "/v1/approvals", "approvals");
    let word = wish.rsplit(' ').next().unwrap_or_default();
    let own = asked.iter().find(|asked| asked["params"].to_string().contains(word));
    own.and_then(|asked| asked["id"].as_str()).unwrap_or_else(|| panic!("{wish} is asked: {asked:?}")).to_owned()
}

/// `MAXIM_KILL_CYCLES` makes the test longer, as for the percepts.
#[test]
fn nothing_of_any_kind_that_was_acknowledged_is_lost_over_kills() {
    let cycles = std::env::var("MAXIM_KILL_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let place = Place::new();
    let mut daemon = place.start();
    let stays = asked(&daemon, "run the command git reset --hard undecided");
    let mut last = Vec::new();
    for cycle in 0..cycles {
        let done: Vec<Done> =
            (0..3).map(|n| Done::do_one((cycle + 1 + n + Done::KINDS - 3) % Done::KINDS, cycle, &daemon)).collect();
        daemon.kill();
        daemon = place.start();
        let lost: Vec<&Done> = done.iter().filter(|done| !done.holds(&daemon)).collect();
        assert!(lost.is_empty(), "cycle {cycle}: {lost:?}");
        last.extend(done);
    }
    let still: Vec<Value> = all(&daemon, "/v1/approvals", "approvals");
    assert!(still.iter().any(|asked| asked["id"] == *stays), "what nobody decided is still asked: {still:?}");
    let kept = last.iter().filter(|done| matches!(done, Done::Remembered(_) | Done::Forgotten(_) | Done::Feared(_)));
    let lost: Vec<&Done> = kept.filter(|done| !done.holds(&daemon)).collect();
    assert!(lost.is_empty(), "over the later kills: {lost:?}");
    println!("{} acknowledged over {cycles} kills, none lost", last.len());
}
