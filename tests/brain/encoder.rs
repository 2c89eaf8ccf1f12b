//! An encoder in addition to the embedded one: a server with the real interface, or a folder. What changes when it
//! appears, fails, is replaced, or is killed in the middle.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use maxim::config::Settings;
use maxim_actors::store::StateStore;
use maxim_bus::signals::concepts::IngestDocument;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools, loopback, static_model};
use crate::replay::{Session, limits, replayed};

/// How the server answers a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Conduct {
    /// Vectors by the subject of the texts, with this many numbers.
    Meaning(usize),
    Down,
    Garbage,
    NotFinite,
    /// Texts with this word are refused.
    RefusesWord(&'static str),
}

/// Subjects whose words share a direction, although the texts share no word.
const SUBJECTS: [&[&str]; 4] = [
    &["zorble", "quandary", "flimflam"],
    &["parliament", "vote", "senator"],
    &["lamp", "light"],
    &["soup", "kettle", "stove"],
];

#[derive(Clone)]
struct Server {
    conduct: Arc<Mutex<Conduct>>,
    requests: Arc<Mutex<Vec<Value>>>,
    /// Rotates all vectors: another encoder behind another name.
    turned: bool,
}

impl Server {
    fn new(conduct: Conduct) -> Self {
        Self { conduct: Arc::new(Mutex::new(conduct)), requests: Arc::default(), turned: false }
    }

    fn is_now(&self, conduct: Conduct) {
        *self.conduct.lock().expect("no panic inside") = conduct;
    }

    fn texts(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no panic inside");
        let inputs = requests.iter().flat_map(|request| request["input"].as_array().cloned().unwrap_or_default());
        inputs.map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    fn vector(&self, text: &str, dims: usize) -> Vec<f32> {
        let text = text.to_lowercase();
        let mut vector = vec![0.0; dims];
        for (at, words) in SUBJECTS.iter().enumerate() {
            if words.iter().any(|word| text.contains(word)) {
                vector[if self.turned { dims - 1 - at } else { at }] = 1.0;
            }
        }
        // A unique part, so that no two texts are equal.
        let mut own = text
            .bytes()
            .fold(0x9E37_79B9_7F4A_7C15u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        for number in &mut vector[4..] {
            own = own.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *number += ((own >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 0.6;
        }
        vector
    }

    fn answer(&self, request: &Value) -> (u16, String) {
        self.requests.lock().expect("no panic inside").push(request.clone());
        let inputs = request["input"].as_array().cloned().unwrap_or_default();
        let texts: Vec<String> = inputs.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect();
        let conduct = *self.conduct.lock().expect("no panic inside");
        let data = |dims: usize| {
            let items = texts.iter().enumerate();
            let items = items.map(|(index, text)| json!({ "index": index, "embedding": self.vector(text, dims) }));
            // Out of order, as the interface allows.
            let tokens = 10 * texts.len();
            json!({ "object": "list", "usage": { "prompt_tokens": tokens }, "data": items.rev().collect::<Vec<_>>() })
                .to_string()
        };
        match conduct {
            Conduct::Meaning(dims) => (200, data(dims)),
            Conduct::Down => (503, r#"{"error":{"message":"the model is loading"}}"#.into()),
            Conduct::Garbage => (200, "<html>welcome</html>".into()),
            Conduct::NotFinite => (200, data(16).replacen("[0.0", "[1e39", 1)),
            Conduct::RefusesWord(word) if texts.iter().any(|text| text.contains(word)) => {
                (400, r#"{"error":{"message":"maximum context length is 8 tokens"}}"#.into())
            }
            Conduct::RefusesWord(_) => (200, data(16)),
        }
    }

    /// Returns its base URL.
    fn serve(&self) -> String {
        async fn answer(State(server): State<Server>, Json(asked): Json<Value>) -> Response {
            let (status, body) = server.answer(&asked);
            Response::builder().status(status).body(Body::from(body)).expect("a response")
        }
        let app = Router::new().route("/v1/embeddings", post(answer)).with_state(self.clone());
        format!("{}/v1", loopback::serve(app))
    }
}

fn with_server(url: &str, model: &str) -> Settings {
    let mut settings = Settings::default();
    settings.effectors.encoder.base_url = Some(url.to_owned());
    settings.effectors.encoder.model = Some(model.to_owned());
    settings.effectors.encoder.timeout = "2s".parse().expect("a time");
    settings
}

fn bench(settings: Settings) -> Bench {
    Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
}

/// Sixty remarks about other subjects than the question, and two about it.
fn remember(bench: &mut Bench) {
    let mut lines: Vec<Value> = (0..60)
        .map(|n| json!({ "text": format!("the {n}th crate was carried to rack {} by noon", n * 7 % 13), "person_involved": true }))
        .collect();
    lines[20] = json!({ "text": "a zorble wandered past the gate", "person_involved": true });
    lines[40] = json!({ "text": "senators quarrelled until midnight", "person_involved": true });
    let lines = lines.iter().zip(1..).map(|(line, number)| (number, line.to_string())).collect();
    assert_eq!(bench.import(lines, true).kept, 60);
    bench.pass(Duration::from_secs(5));
}

fn recalled(bench: &mut Bench, query: &str) -> Vec<(String, String)> {
    let found = bench.inquire("memory_recall", json!({ "query": query, "limit": 3 }));
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = found["results"].as_array().cloned().unwrap_or_default();
    lines.iter().map(|line| (word(&line["text"]), word(&line["via"]))).collect()
}

fn state(bench: &mut Bench) -> Value {
    bench.inquire("system_stats", json!({}))["regions"]["entorhinal_cortex"]["outer_encoder"].clone()
}

fn finds_the_zorble(bench: &mut Bench) -> bool {
    recalled(bench, "what was the flimflam?").first().is_some_and(|(text, _)| text.contains("zorble"))
}

#[test]
fn a_question_without_a_shared_word_finds_what_the_server_says_is_like_it() {
    let server = Server::new(Conduct::Meaning(16));
    let mut plain = bench(Settings::default());
    remember(&mut plain);
    assert!(!finds_the_zorble(&mut plain), "the embedded encoder doesn't know the word");
    assert_eq!(state(&mut plain), Value::Null);
    let mut bench = bench(with_server(&server.serve(), "gull"));
    remember(&mut bench);
    let report = state(&mut bench);
    assert_eq!((&report["state"], &report["encoded"]), (&json!("in use"), &json!(60)), "{report}");
    assert_eq!(recalled(&mut bench, "what was the flimflam?")[0].1, "similarity");
    assert!(finds_the_zorble(&mut bench));
    // Text search works as before, and the similarity room sees the same.
    assert_eq!(recalled(&mut bench, "who quarrelled until midnight?")[0].0, "senators quarrelled until midnight");
    let like = bench.inquire("similarity_search", json!({ "context": "a quandary", "limit": 1 }));
    assert!(like["results"][0]["text"].as_str().is_some_and(|text| text.contains("zorble")), "{like}");
    // Each text was sent once.
    let sent = server.texts().iter().filter(|text| text.contains("crate was carried")).count();
    assert_eq!(sent, 58);
}

#[test]
fn a_concept_is_found_by_what_the_server_says_is_like_it_and_by_words_without_it() {
    let server = Server::new(Conduct::Meaning(16));
    let text = "A zorble is an animal. A crate is a container. A rack is a shelf.\n".to_owned();
    let document = IngestDocument {
        document: "farm.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    let names = |bench: &mut Bench, query: &str| -> Vec<String> {
        let found = bench.inquire("concept_query", json!({ "query": query }));
        let lines = found["results"].as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| line["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut plain = bench(Settings::default());
    let mut bench = bench(with_server(&server.serve(), "gull"));
    for bench in [&mut plain, &mut bench] {
        remember(bench);
        bench.ask("anterior_temporal_lobe", document.clone());
        bench.pass(Duration::from_secs(5));
    }
    assert!(!names(&mut plain, "flimflam").contains(&"zorble".to_owned()));
    assert_eq!(names(&mut bench, "flimflam").first().map(String::as_str), Some("zorble"));
    server.is_now(Conduct::Down);
    assert_eq!(names(&mut bench, "what is a zorble?").first().map(String::as_str), Some("zorble"));
}

#[test]
fn a_percept_never_waits_for_the_server_and_is_encoded_later() {
    let server = Server::new(Conduct::Meaning(16));
    let mut bench = bench(with_server(&server.serve(), "gull"));
    remember(&mut bench);
    server.requests.lock().expect("no panic inside").clear();
    let ended = bench.say("remember that the kettle is in the cellar");
    assert!(ended.reply.is_some());
    bench.pass(Duration::from_secs(5));
    let texts = server.texts();
    assert_eq!(
        texts.iter().filter(|text| text.contains("cellar")).count(),
        1,
        "its episode, not its question: {texts:?}"
    );
    assert_eq!(state(&mut bench)["encoded"], 61);
    assert!(recalled(&mut bench, "soup").iter().any(|(text, _)| text.contains("kettle")));
}

#[test]
fn whatever_the_server_does_recall_goes_on_and_the_reason_is_told() {
    for (conduct, why) in
        [(Conduct::Down, "the model is loading"), (Conduct::Garbage, "welcome"), (Conduct::NotFinite, "not finite")]
    {
        let server = Server::new(conduct);
        let mut bench = bench(with_server(&server.serve(), "gull"));
        remember(&mut bench);
        let report = state(&mut bench);
        assert_eq!((&report["state"], &report["encoded"]), (&json!("failing"), &json!(0)), "{report}");
        assert!(report["problem"].as_str().is_some_and(|problem| problem.contains(why)), "{conduct:?}: {report}");
        assert_eq!(recalled(&mut bench, "who quarrelled until midnight?")[0].0, "senators quarrelled until midnight");
        // It works again: nothing is lost.
        server.is_now(Conduct::Meaning(16));
        bench.pass(Duration::from_secs(300));
        assert_eq!(state(&mut bench)["problem"], Value::Null);
        assert!(finds_the_zorble(&mut bench), "{conduct:?}");
        // It is down again: the question itself falls back.
        server.is_now(Conduct::Down);
        assert!(!finds_the_zorble(&mut bench));
        assert_eq!(state(&mut bench)["state"], "failing");
    }
    let mut nobody = bench(with_server("http://127.0.0.1:9/v1", "gull"));
    remember(&mut nobody);
    assert_eq!(state(&mut nobody)["state"], "failing");
    assert_eq!(recalled(&mut nobody, "who quarrelled until midnight?")[0].0, "senators quarrelled until midnight");
}

#[test]
fn vectors_of_another_length_are_refused_with_the_fix_and_a_refused_text_stops_no_other() {
    let server = Server::new(Conduct::RefusesWord("zorble"));
    let mut bench = bench(with_server(&server.serve(), "gull"));
    remember(&mut bench);
    let report = state(&mut bench);
    assert_eq!((&report["state"], &report["problem"]), (&json!("in use"), &Value::Null), "{report}");
    assert!(!finds_the_zorble(&mut bench));
    server.is_now(Conduct::Meaning(24));
    bench.say("remember that the soup is cold");
    bench.pass(Duration::from_secs(5));
    let problem = state(&mut bench)["problem"].as_str().unwrap_or_default().to_owned();
    assert!(problem.contains("24 numbers") && problem.contains("encoder.model"), "{problem}");
    assert!(recalled(&mut bench, "who quarrelled until midnight?")[0].0.contains("senators"));
}

#[test]
fn another_encoder_is_taken_up_in_the_background_and_its_vectors_never_meet_the_old_ones() {
    let (first, second) = (Server::new(Conduct::Meaning(16)), Server { turned: true, ..Server::new(Conduct::Down) });
    let mut bench = bench(with_server(&first.serve(), "gull"));
    remember(&mut bench);
    assert!(finds_the_zorble(&mut bench));
    let (asked_before, url) = (first.texts().len(), second.serve());
    bench.restart_with_settings(with_server(&url, "tern"));
    bench.pass(Duration::from_secs(1));
    // The old vectors answer no question of the new encoder, and no question is sent to the old one.
    assert!(!finds_the_zorble(&mut bench));
    assert_eq!(recalled(&mut bench, "who quarrelled until midnight?")[0].0, "senators quarrelled until midnight");
    second.is_now(Conduct::Meaning(16));
    bench.pass(Duration::from_secs(300));
    let report = state(&mut bench);
    assert!(report["encoder"].as_str().is_some_and(|encoder| encoder.starts_with("tern@")), "{report}");
    assert!(finds_the_zorble(&mut bench));
    assert_eq!(first.texts().len(), asked_before);
    // Without any encoder, its vectors are removed from the disk.
    bench.restart_with_settings(Settings::default());
    bench.pass(Duration::from_secs(1));
    assert!(!finds_the_zorble(&mut bench));
    let kept = bench.agent.frame.store.records("entorhinal_cortex", .., usize::MAX).expect("read");
    assert!(kept.iter().all(|(key, _)| !key.starts_with(b"outer/")), "{}", kept.len());
}

#[test]
fn a_kill_at_any_step_of_encoding_loses_nothing_and_ends_whole() {
    let server = Server::new(Conduct::Meaning(16));
    let url = server.serve();
    for steps in [1usize, 2, 3, 5, 8, 13, 21] {
        let store = StateStore::in_memory();
        let mut bench = Bench::with("maxim", store, core_tools, Settings::default());
        remember(&mut bench);
        bench.restart_with_settings(with_server(&url, "gull"));
        for _ in 0..steps {
            bench.agent.step();
        }
        bench.crash();
        bench.pass(Duration::from_secs(300));
        let report = state(&mut bench);
        assert_eq!((&report["state"], &report["encoded"]), (&json!("in use"), &json!(60)), "after {steps}: {report}");
        assert!(finds_the_zorble(&mut bench), "after {steps}");
        bench.crash();
        assert!(finds_the_zorble(&mut bench), "it is on disk");
    }
}

#[test]
fn what_is_forgotten_takes_its_vector_along() {
    let server = Server::new(Conduct::Meaning(16));
    let mut bench = bench(with_server(&server.serve(), "gull"));
    remember(&mut bench);
    let kept = |bench: &Bench| -> usize {
        let records = bench.agent.frame.store.records("entorhinal_cortex", .., usize::MAX).expect("read");
        records.iter().filter(|(key, _)| key.starts_with(b"outer/")).map(|(_, bytes)| bytes.len()).sum()
    };
    let before = kept(&bench);
    let found = bench.inquire("memory_recall", json!({ "query": "flimflam", "limit": 1 }));
    let id = found["results"][0]["id"].as_str().expect("an id").to_owned();
    bench.ask("hippocampus", maxim_bus::signals::concepts::ForgetRecord { id });
    bench.pass(Duration::from_secs(5));
    assert!(!finds_the_zorble(&mut bench));
    assert!(kept(&bench) + 16 <= before, "{} of {before} bytes", kept(&bench));
}

#[test]
fn a_folder_of_ones_own_is_an_encoder_and_another_kind_of_model_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        ("zorble", [1.0, 0.0, 0.0]),
        ("flimflam", [0.9, 0.1, 0.0]),
        ("the", [0.0, 0.01, 0.0]),
        ("crate", [0.0, 1.0, 0.1]),
        ("was", [0.0, 0.02, 0.0]),
        ("senators", [0.0, 0.0, 1.0]),
        ("midnight", [0.0, 0.1, 0.9]),
    ];
    static_model::write(folder.path(), r#"{"model_type":"bert","architectures":["BertModel"]}"#, &words);
    let mut settings = Settings::default();
    settings.effectors.encoder.folder = Some(folder.path().to_owned());
    let mut bench = bench(settings);
    remember(&mut bench);
    let problem = state(&mut bench)["problem"].as_str().unwrap_or_default().to_owned();
    assert!(problem.contains("BertModel") && problem.contains("Model2Vec"), "{problem}");
    assert!(!finds_the_zorble(&mut bench));
    // Repaired while it runs.
    static_model::write(folder.path(), static_model::CONFIG, &words);
    bench.pass(Duration::from_secs(120));
    assert_eq!(state(&mut bench)["state"], "in use");
    assert!(finds_the_zorble(&mut bench));
}

#[test]
fn what_the_server_said_is_in_the_recording_and_replays_without_it() {
    let server = Server::new(Conduct::Meaning(16));
    let folder = tempfile::tempdir().expect("a folder");
    let (work, recordings) = (folder.path().join("work"), folder.path().join("recordings"));
    std::fs::create_dir_all(&work).expect("a folder");
    let mut session =
        Session::with(StateStore::in_memory(), &work, &recordings, limits(), with_server(&server.serve(), "gull"));
    session.turn("remember that a zorble wandered past the gate");
    session.turn("remember that the kettle is in the cellar");
    let asked = server.texts().len();
    assert!(asked > 0);
    for file in session.end() {
        assert!(replayed(&file).regions["entorhinal_cortex"].inputs > 0);
    }
    assert_eq!(server.texts().len(), asked, "a replay asks nobody");
}

#[test]
fn what_vectors_cost_is_metered_and_with_too_little_left_the_server_is_not_asked() {
    let server = Server::new(Conduct::Meaning(16));
    let lived = |price: f64| {
        let mut settings = with_server(&server.serve(), "meaning");
        (settings.effectors.encoder.price, settings.effectors.llm.money_per_session) = (price, 1.0);
        let mut bench = bench(settings);
        remember(&mut bench);
        bench.pass(Duration::from_secs(60));
        bench
    };
    let mut bench = lived(1.0);
    let energy = bench.inquire("energy_status", json!({}));
    let tokens = energy["purposes"]["embed"]["tokens"].as_u64().unwrap_or_default();
    assert!(tokens >= 10 && tokens % 10 == 0, "{energy}");
    assert_eq!(energy["budgets"]["hour"]["spent"], 0, "the model's tokens are another budget");
    assert!(finds_the_zorble(&mut bench));

    // One text uses up the whole budget.
    let mut bench = lived(100_000.0);
    let before = server.texts().len();
    bench.say("remember that the lamp is by the door");
    bench.pass(Duration::from_secs(60));
    assert!(!finds_the_zorble(&mut bench), "the embedded table answers");
    assert_eq!(server.texts().len(), before, "nothing more is asked");
    let state = state(&mut bench);
    assert!(state["state"] == "resting" && state["problem"].to_string().contains("money"), "{state}");
}
