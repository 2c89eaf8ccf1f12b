//! A model is answering when its process is killed, its worker fails or a stop is raised.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::harness::{Daemon, Place};
use crate::loopback;

const QUESTION: &str = "what do you think of gulls?";
const ANSWER: &str = "Gulls are fine.";

/// Hangs on its first request and answers the others; with a folder configured for it.
struct Slow {
    asked: Arc<AtomicUsize>,
    place: Place,
}

impl Slow {
    fn new() -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let answer = move |Json(_): Json<Value>| async move {
            if count.fetch_add(1, Ordering::SeqCst) == 0 {
                std::future::pending::<()>().await;
            }
            let action = json!({"tool_name": "respond", "params": {"message": ANSWER}});
            let reply = json!({"ready_to_act": true, "action": action, "confidence": 0.8, "reasoning": "I say it."});
            let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply.to_string()}});
            Json(json!({"choices": [choice], "usage": {"prompt_tokens": 900, "completion_tokens": 30}}))
        };
        let url = loopback::serve(Router::new().route("/v1/chat/completions", post(answer)));
        let place = Place::new();
        let text = format!("[llm]\nbase_url = \"{url}/v1\"\nmodel = \"gull\"\ntimeout = \"10m\"\n");
        std::fs::write(place.work().join("maxim.toml"), text).expect("written");
        Self { asked, place }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Asks, and waits until the model has the request; returns the turn.
    fn ask(&self, daemon: &Daemon) -> String {
        let (status, accepted) = daemon.post("/v1/percepts", &json!({ "text": QUESTION }));
        assert_eq!(status, 202, "{accepted}");
        daemon.until("asked", || self.asked() == 1);
        accepted["id"].as_str().expect("an id").to_owned()
    }
}

fn why(daemon: &Daemon, turn: &str) -> String {
    daemon.get(&format!("/v1/why/{turn}")).1.to_string()
}

#[test]
fn a_question_outlives_the_process_that_asked_the_model() {
    let slow = Slow::new();
    let daemon = slow.place.start();
    let turn = slow.ask(&daemon);
    daemon.kill();
    let daemon = slow.place.start();
    daemon.until("answered by the model", || why(&daemon, &turn).contains(ANSWER));
    assert_eq!(slow.asked(), 2);
    let (_, energy) = daemon.post("/v1/introspection/energy_status", &json!({}));
    assert!(energy.to_string().contains("930"), "the one answer is metered once: {energy}");
}

#[test]
fn a_question_outlives_the_worker_that_carried_it() {
    let slow = Slow::new();
    let daemon = slow.place.start_with(&["--chaos"]);
    let turn = slow.ask(&daemon);
    assert_eq!(daemon.post("/v1/chaos/kill", &json!({ "region": "llm_worker" })).0, 200);
    daemon.until("answered by the model", || why(&daemon, &turn).contains(ANSWER));
    assert_eq!(slow.asked(), 2);
}

#[test]
fn a_stop_ends_the_call_for_good() {
    let slow = Slow::new();
    let daemon = slow.place.start();
    let turn = slow.ask(&daemon);
    assert_eq!(daemon.post("/v1/stop", &json!({ "reason": "a test" })).0, 200);
    daemon.kill();
    let daemon = slow.place.start();
    assert_eq!(daemon.post("/v1/reset", &json!({})).0, 200);
    assert_eq!(daemon.post("/v1/resume", &json!({})).0, 200);
    // Any repeated request comes before a later question is answered.
    daemon.say("what is 1 + 1?");
    assert!(!why(&daemon, &turn).contains(ANSWER));
}

/// Stands in for a key; no other text contains it.
const KEY: &str = "sk-gull-4711-never-told";

#[test]
fn the_servers_key_goes_to_the_server_and_nowhere_else_though_the_server_repeats_it() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&shown);
    let refuse = move |headers: HeaderMap, body: String| async move {
        let bearer = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        keep.lock().expect("no reader panicked").push((bearer.clone(), body));
        let error = json!({"error": {"message": format!("the key {bearer} is not known here")}});
        (StatusCode::UNAUTHORIZED, Json(error))
    };
    let url = loopback::serve(Router::new().route("/v1/chat/completions", post(refuse)));
    let place = Place::new();
    std::fs::write(place.work().join("key.txt"), format!("{KEY}\n")).expect("written");
    let text = format!(
        "[llm]\nbase_url = \"{url}/v1\"\nmodel = \"gull\"\napi_key_file = \"key.txt\"\n[telemetry]\nlevel = \"trace\"\n"
    );
    std::fs::write(place.work().join("maxim.toml"), text).expect("written");
    let daemon = place.start();
    let turn = daemon.say(QUESTION)["id"].as_str().expect("an id").to_owned();
    let told = why(&daemon, &turn);
    assert!(told.contains("401") && told.contains("is not known here"), "what the server said is told: {told}");
    let asked = shown.lock().expect("no server panicked").clone();
    assert!(asked.iter().all(|(bearer, body)| *bearer == format!("Bearer {KEY}") && !body.contains(KEY)), "{asked:?}");
    assert!(!asked.is_empty() && !told.contains(KEY), "{told}");
    for path in ["/v1/status", "/metrics", "/v1/dead-letters"] {
        assert!(!daemon.text(path).contains(KEY), "{path}");
    }
    let heard = daemon.heard();
    assert!(heard.contains("TRACE"), "everything was logged");
    assert!(!heard.contains(KEY), "the log");
    assert_eq!(daemon.end(), 0);
    let mut folders = vec![place.data()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let bytes = std::fs::read(&entry).expect("readable");
                    assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", entry.display());
                }
            }
        }
    }
}

/// Holds each request until it is released, in order of arrival; this many concurrent calls are allowed.
struct Held {
    came: Arc<Mutex<Vec<String>>>,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    lets: Arc<tokio::sync::Semaphore>,
    place: Place,
}

impl Held {
    /// `thinks`: the first request with this question is answered with a thought, all others with an answer.
    fn new(concurrency: u32, thinks: &'static str) -> Self {
        let came = Arc::new(Mutex::new(Vec::new()));
        let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let lets = Arc::new(tokio::sync::Semaphore::new(0));
        let state = (Arc::clone(&came), Arc::clone(&open), Arc::clone(&most), Arc::clone(&lets));
        let answer = move |Json(asked): Json<Value>| {
            let (came, open, most, lets) = state.clone();
            async move {
                let text = asked["messages"][1]["content"].as_str().unwrap_or_default();
                let wish = text.rsplit("The person says: ").next().unwrap_or_default();
                let wish = wish.lines().next().unwrap_or_default().to_owned();
                let is_first = {
                    let mut came: std::sync::MutexGuard<'_, Vec<String>> = came.lock().expect("no panic inside");
                    came.push(wish.clone());
                    came.iter().filter(|other| **other == wish).count() == 1
                };
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                lets.acquire().await.expect("it stays open").forget();
                open.fetch_sub(1, Ordering::SeqCst);
                let action = json!({"tool_name": "respond", "params": {"message": ANSWER}});
                let ready = !(is_first && wish == thinks);
                let reply = json!({"ready_to_act": ready, "action": action, "confidence": 0.8, "reasoning": "Gulls."});
                let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply.to_string()}});
                Json(json!({"choices": [choice], "usage": {"prompt_tokens": 900, "completion_tokens": 30}}))
            }
        };
        let url = loopback::serve(Router::new().route("/v1/chat/completions", post(answer)));
        let place = Place::new();
        let text = format!(
            "[llm]\nbase_url = \"{url}/v1\"\nmodel = \"gull\"\ntimeout = \"10m\"\ncycles = 2\nconcurrency = {concurrency}\n"
        );
        std::fs::write(place.work().join("maxim.toml"), text).expect("written");
        Self { came, open, most, lets, place }
    }

    fn came(&self) -> Vec<String> {
        self.came.lock().expect("no panic inside").clone()
    }

    /// Asks, and waits until this many prompts of the turn are built.
    fn ask(&self, daemon: &Daemon, text: &str) -> String {
        let (status, accepted) = daemon.post("/v1/percepts", &json!({ "text": text }));
        assert_eq!(status, 202, "{accepted}");
        let turn = accepted["id"].as_str().expect("an id").to_owned();
        daemon.until("prompted", || prompts(daemon, &turn) == 1);
        turn
    }
}

fn prompts(daemon: &Daemon, turn: &str) -> usize {
    why(daemon, turn).matches("\"PromptBuilt\"").count()
}

/// A turn without the model: when it has ended, earlier requests are on disk and with the worker.
fn barrier(daemon: &Daemon) {
    daemon.say("what is 1 + 1?");
}

#[test]
fn no_more_calls_than_allowed_are_out_at_once() {
    let held = Held::new(2, "");
    let daemon = held.place.start();
    let turns: Vec<String> =
        (0..5).map(|number| held.ask(&daemon, &format!("what do you think of gull {number}?"))).collect();
    barrier(&daemon);
    for answered in 1..=5 {
        daemon.until("asked", || held.came().len() >= (answered + 1).min(5));
        held.lets.add_permits(1);
    }
    for turn in &turns {
        daemon.until("answered", || why(&daemon, turn).contains(ANSWER));
    }
    assert_eq!((held.most.load(Ordering::SeqCst), held.open.load(Ordering::SeqCst)), (2, 0));
}

#[test]
fn who_must_act_is_asked_before_who_only_begins_to_think() {
    let (first, second, third) = ("what of the first gull?", "what of the second gull?", "what of the third gull?");
    let held = Held::new(1, first);
    let daemon = held.place.start();
    let turn = held.ask(&daemon, first);
    daemon.until("asked", || held.came().len() == 1);
    held.ask(&daemon, second);
    held.ask(&daemon, third);
    barrier(&daemon);
    held.lets.add_permits(1);
    // The first has thought, and must act now: it comes after the second, which is running, and before the third.
    daemon.until("thought", || prompts(&daemon, &turn) == 2 && held.came().len() == 2);
    barrier(&daemon);
    held.lets.add_permits(1);
    daemon.until("asked", || held.came().len() == 3);
    held.lets.add_permits(2);
    daemon.until("asked", || held.came().len() == 4);
    assert_eq!(held.came(), [first, second, first, third]);
}
