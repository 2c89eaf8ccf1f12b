//! The door before a live brain: real rooms on their own threads, a store in memory, and a client over TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use futures_util::{SinkExt, StreamExt};
use jiff::Timestamp;
use maxim_actors::action::tools::core_registry;
use maxim_actors::effectors::body::{Body, BodyPlan};
use maxim_actors::effectors::tool_servers::{ListFolder, ToolServers};
use maxim_actors::store::StateStore;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::routes::ROUTES;
use super::{EventLog, Figures, Guesses, Proof, Served, Sessions, openapi_document, serve};
use crate::agent::{Agent, AgentHandle, AgentSettings, AgentWorld};
use crate::config::{Secret, Settings};

mod clients;
mod doors;
mod plain;
mod reference;
mod trust;
mod watching;

const BODY_MAX: usize = 512 << 10;
/// The daemon's own token, which the client of a house shows.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A live brain on a thread of its own, and its door.
struct House {
    address: SocketAddr,
    served: Arc<Served>,
    client: reqwest::Client,
    close: Option<oneshot::Sender<()>>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
    end: Option<oneshot::Sender<()>>,
    brain: Option<JoinHandle<()>>,
    _folder: TempDir,
}

/// A client that shows nothing.
fn stranger() -> reqwest::Client {
    let roots = maxim_actors::effectors::http_client::Roots::Nobody;
    maxim_actors::effectors::http_client::builder(&roots).no_proxy().build().expect("a client")
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

struct Told {
    status: u16,
    kind: String,
    body: Value,
    retry_after: bool,
    has_cookie: bool,
}

fn brain(
    folder: &TempDir,
    store: &StateStore,
    events: &Arc<EventLog>,
) -> (AgentHandle, oneshot::Sender<()>, JoinHandle<()>) {
    let (store, events, workdir) = (store.clone(), Arc::clone(events), folder.path().to_owned());
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        actix::System::new().block_on(async move {
            let id = AgentId::new("maxim").expect("a good name");
            let rooms =
                AgentSettings::new(&Settings::default(), 1, &workdir, &workdir.join(".saved"), ListFolder::default());
            let world = AgentWorld {
                store: store.agent(&id),
                id,
                clock: Arc::new(SystemClock),
                latch: StopLatch::in_memory(),
                seed: 42,
                tap: Some(events),
            };
            let agent = Agent::live(world, &rooms.expect("settings"), 2).expect("the agent is built");
            tell.send(agent.handle()).expect("the test waits");
            let _ = ended.await;
            agent.stop();
        });
    });
    (told.recv().expect("the brain starts"), end, thread)
}

fn bearer(token: &str) -> HeaderValue {
    format!("Bearer {token}").parse().expect("a header's value")
}

impl House {
    async fn open() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Served)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (store, events) = (StateStore::in_memory(), EventLog::new(7, None));
        let (agent, end, brain) = brain(&folder, &store, &events);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let backups = crate::backups::Backups::new(store.clone(), Duration::ZERO, 3);
        let figures = Figures::of(&agent.frame.latch);
        let mut served = Served {
            agent,
            store,
            events,
            chaos: false,
            proof: Proof::own(&Secret::new(TOKEN.into())),
            sessions: Sessions::new(Duration::from_secs(3600)),
            guesses: Guesses::default(),
            origins: Vec::new(),
            listen: address,
            started: Timestamp::now(),
            zone: jiff::tz::TimeZone::UTC,
            draining: Arc::new(AtomicBool::new(false)),
            llm: "none".into(),
            tokens: None,
            body: Body::new(BodyPlan::default()),
            backups,
            text_max: 64 << 10,
            body_max: BODY_MAX,
            latch_file: None,
            is_stop_path_tested: Arc::new(AtomicBool::new(true)),
            stop_threads: None,
            figures,
            machines: None,
            tools: Arc::new(core_registry().expect("good specs")),
            channels: Arc::default(),
            imports: super::Imports::default(),
            containment: None,
            tool_servers: Arc::new(ToolServers::new(Vec::new(), &[], ListFolder::default())),
        };
        change(&mut served);
        let served = Arc::new(served);
        let (close, closed) = oneshot::channel();
        let shutdown = async {
            let _ = closed.await;
        };
        let serving = tokio::spawn(serve(listener, Arc::clone(&served), shutdown));
        let client =
            maxim_actors::effectors::http_client::builder(&maxim_actors::effectors::http_client::Roots::Nobody)
                .no_proxy()
                .default_headers([(AUTHORIZATION, bearer(TOKEN))].into_iter().collect())
                .build()
                .expect("a client");
        let (close, end, brain) = (Some(close), Some(end), Some(brain));
        let house = Self { address, served, client, close, serving, end, brain, _folder: folder };
        // Rooms load on their threads; readiness is the door's own word for that.
        while house.get("/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
        house
    }

    /// A WebSocket of the owner.
    async fn socket(&self) -> Socket {
        self.try_socket().await.expect("connects")
    }

    /// The same where it may be refused.
    async fn try_socket(&self) -> Result<Socket, tokio_tungstenite::tungstenite::Error> {
        let mut request = format!("ws://{}/ws", self.address).into_client_request()?;
        request.headers_mut().insert(AUTHORIZATION, bearer(TOKEN));
        tokio_tungstenite::connect_async(request).await.map(|(socket, _)| socket)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn get(&self, path: &str) -> Told {
        tell(self.client.get(self.url(path))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Told {
        self.post_raw(path, body.to_string().into_bytes()).await
    }

    async fn post_raw(&self, path: &str, body: Vec<u8>) -> Told {
        tell(self.client.post(self.url(path)).body(body)).await
    }

    /// Says something and waits for the end of the turn.
    async fn say(&self, text: &str) -> Value {
        let told = self.post("/v1/percepts", &json!({"text": text, "wait_s": 60})).await;
        assert_eq!(told.status, 200, "{}", told.body);
        told.body
    }

    async fn close(mut self) {
        let _ = self.close.take().expect("open").send(());
        self.serving.await.expect("served").expect("no error");
        drop(self.end.take());
        let brain = self.brain.take().expect("alive");
        tokio::task::spawn_blocking(move || brain.join()).await.expect("waited").expect("the brain ends");
    }
}

async fn tell(request: reqwest::RequestBuilder) -> Told {
    let response = request.send().await.expect("an answer");
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (status, kind) = (response.status().as_u16(), header("content-type").unwrap_or_default());
    let retry_after = header("retry-after").is_some();
    let has_cookie = header("set-cookie").is_some();
    let bytes = response.bytes().await.expect("a body");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::String(text));
    Told { status, kind, body, retry_after, has_cookie }
}

fn refused(told: &Told, status: u16, words: &[&str]) {
    assert_eq!((told.status, told.kind.as_str()), (status, "application/problem+json"), "{}", told.body);
    for name in ["type", "title", "status", "detail", "fix"] {
        assert!(!told.body[name].is_null(), "{name} is missing in {}", told.body);
    }
    let text = told.body.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_percept_is_answered_and_can_be_explained() {
    let house = House::open().await;
    let said = house.say("write hello into notes.txt").await;
    assert!(said["reply"].is_string(), "{said}");
    let turn = said["id"].as_str().expect("an id");
    let action = said["actions"][0]["id"].as_str().expect("an action").to_owned();
    for id in ["last", turn, &action] {
        let why = house.get(&format!("/v1/why/{id}")).await;
        assert_eq!((why.status, &why.body["turn"]), (200, &json!(turn)), "{}", why.body);
        assert_eq!(why.body["perceived"]["content"], "write hello into notes.txt");
        let kinds: Vec<&str> =
            why.body["steps"].as_array().expect("steps").iter().filter_map(|step| step["kind"].as_str()).collect();
        let at =
            |kind: &str| kinds.iter().position(|found| *found == kind).unwrap_or_else(|| panic!("{kind}: {kinds:?}"));
        assert!(at("SalientPercept") < at("Intent") && at("Intent") < at("ToolResult"), "{kinds:?}");
    }
    refused(&house.get("/v1/why/nonsense").await, 400, &["nonsense"]);
    refused(&house.get("/v1/why/0192f3c4-5d6e-7f80-9abc-def012345678").await, 404, &["0192f3c4"]);

    let once = json!({"text": "hello there", "provider_id": "p-1", "sender": "anna"});
    let first = house.post("/v1/percepts", &once).await;
    let again = house.post("/v1/percepts", &once).await;
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!((&first.body["durable"], &first.body["id"]), (&json!(true), &again.body["id"]));
    assert_eq!(again.body["repeated"], true);
    let console = house.post("/v1/percepts", &json!({"text": "hello", "channel": "console", "wait_s": 60})).await;
    assert_eq!(console.status, 200, "{}", console.body);
    refused(&house.post("/v1/percepts", &json!({"text": "hi", "channel": "sms"})).await, 400, &["sms", "console"]);
    let late = house.post("/v1/percepts", &json!({"text": "hello", "wait_s": 0})).await;
    assert!(matches!(late.status, 200 | 202), "{}", late.body);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_stops_whatever_is_wrong_with_the_call() {
    let house = House::open().await;
    let typo = house.post("/v1/stop", &json!({"reasn": "x"})).await;
    refused(&typo, 400, &["reasn", "reason", "it is stopped all the same"]);
    assert_eq!(typo.body["latched"], true);
    assert_eq!(house.get("/v1/status").await.body["stop"]["latched"], true);
    for what in [json!({"goal": "create a file a.txt"}), json!({"goal": ""})] {
        refused(&house.post("/v1/goals", &what).await, if what["goal"] == "" { 400 } else { 409 }, &[""]);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_shown_until_it_is_released() {
    let house = House::open().await;
    assert!(house.get("/v1/status").await.body["hold"].is_null());
    house.post("/v1/hold", &json!({})).await;
    assert_eq!(house.get("/v1/status").await.body["hold"], json!({"until": null, "by": "http"}));
    house.post("/v1/resume", &json!({})).await;
    assert!(house.get("/v1/status").await.body["hold"].is_null());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_named_with_its_fix() {
    let house = House::open().await;
    refused(&house.post("/v1/percepts", &json!({"text": "a", "chanel": "http"})).await, 400, &["chanel", "channel"]);
    refused(&house.post("/v1/percepts", &json!({"sender": "a"})).await, 400, &["text", "missing"]);
    refused(&house.post("/v1/percepts", &json!({"text": 5})).await, 400, &["text", "5"]);
    refused(&house.post("/v1/percepts", &json!({"text": " "})).await, 400, &["empty"]);
    refused(&house.post_raw("/v1/percepts", b"{\"text\": \"a\",\n oops}".to_vec()).await, 400, &["line 2 column 2"]);
    refused(&house.post_raw("/v1/percepts", b"[]".to_vec()).await, 400, &["not an object"]);
    refused(&house.post_raw("/v1/percepts", vec![b' '; BODY_MAX + 1]).await, 413, &["524288"]);
    refused(&house.post("/v1/percepts", &json!({"text": "a".repeat(65_537)})).await, 413, &["65536"]);
    refused(&house.get("/v1/statsu").await, 404, &["/v1/statsu", "/v1/status"]);
    refused(&house.get("/v1/percepts").await, 405, &["POST"]);
    refused(&house.get("/ws").await, 400, &["WebSocket"]);
    refused(&house.get("/v1/memory/recall?limit=0").await, 400, &["limit", "1000"]);
    refused(&house.get("/v1/memory/recall?querry=x").await, 400, &["querry", "query"]);
    refused(&house.get("/v1/memory/recall?time_after=monday").await, 400, &["time_after"]);
    refused(&house.get("/v1/memory/predict").await, 400, &["tool_name"]);
    refused(&house.get("/v1/events?type=Percpt").await, 400, &["Percpt", "Percept"]);
    refused(&house.get("/v1/events?type=zz").await, 400, &["TurnEnded", "GoalChanged"]);
    refused(&house.get("/v1/percept").await, 404, &["did you mean /v1/percepts?"]);
    refused(&house.get("/nope").await, 404, &["/v1/openapi.json"]);
    refused(&house.get("/v1/memory/similar").await, 400, &["memory_id", "context"]);
    refused(&house.post("/v1/chaos/panic", &json!({"region": "habit"})).await, 403, &["--chaos"]);
    refused(&house.get("/v1/chaos").await, 403, &["--chaos"]);
    refused(&house.post("/v1/approvals/x", &json!({"allow": true})).await, 404, &["x"]);
    house.served.draining.store(true, Ordering::SeqCst);
    let draining = house.post("/v1/percepts", &json!({"text": "hello"})).await;
    refused(&draining, 503, &["ending"]);
    assert!(draining.retry_after);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_latched_until_it_is_reset_and_motion_until_it_is_resumed() {
    let house = House::open().await;
    let stop = house.post("/v1/stop", &json!({"reason": "smoke"})).await;
    assert_eq!((stop.status, &stop.body["latched"], &stop.body["durable"]), (200, &json!(true), &json!(true)));
    assert!(stop.body["latency_us"].is_u64() && stop.body["cancelled"].is_array(), "{}", stop.body);
    let status = house.get("/v1/status").await.body;
    assert_eq!((&status["state"], &status["stop"]["reason"]), (&json!("stopped"), &json!("smoke")));
    assert_eq!(status["stop"]["by"], "http");
    assert_eq!(house.get("/readyz").await.status, 200, "a latched daemon is ready");
    let said = house.say("write hello into notes.txt").await;
    assert!(said["actions"].as_array().expect("actions").iter().all(|action| action["success"] != true), "{said}");
    assert!(!house._folder.path().join("notes.txt").exists());
    refused(&house.post("/v1/resume", &json!({})).await, 409, &["reset"]);
    let reset = house.post("/v1/reset", &json!({})).await;
    assert_eq!((&reset.body["latched"], &reset.body["motion"]), (&json!(false), &json!("held")), "{}", reset.body);
    assert_eq!(house.post("/v1/resume", &json!({})).await.body["motion"], "free");
    assert_eq!(house.get("/v1/status").await.body["state"], "awake");
    assert!(house.say("write hello into notes.txt").await["reply"].is_string());
    assert!(house._folder.path().join("notes.txt").exists());

    let hold = house.post("/v1/hold", &json!({"duration_s": 3600})).await;
    assert_eq!(hold.status, 200, "{}", hold.body);
    assert!(hold.body["until"].is_string() && hold.body["latency_us"].is_u64(), "{}", hold.body);
    refused(&house.post("/v1/hold", &json!({"duration_s": -1})).await, 400, &["duration_s"]);
    assert_eq!(house.post("/v1/resume", &json!({})).await.status, 200);
    let redirect = house.post("/v1/redirect", &json!({"goal": "say hello"})).await;
    assert_eq!((redirect.status, &redirect.body["goal"]), (200, &json!("say hello")), "{}", redirect.body);
    assert!(redirect.body["id"].is_string());
    let stopped = house.post("/v1/percepts", &json!({"text": "STOP!!!", "sender": "a stranger"})).await;
    assert_eq!(stopped.status, 202);
    assert_eq!(house.get("/v1/status").await.body["stop"]["latched"], true, "a stop phrase stops");
    let figures = house.get("/metrics").await.body;
    let figures = figures.as_str().expect("text");
    for by in ["http", "phrase"] {
        let counted = format!("maxim_hard_stop_latency_seconds_count{{by=\"{by}\"}} 1\n");
        assert!(figures.contains(&counted), "{by}: {figures}");
    }
    let allowed = "maxim_fear_verdicts_total{verdict=\"allow\",layer=\"deterministic\"}";
    assert!(figures.contains(allowed), "{figures}");
    assert!(!figures.lines().any(|line| line.starts_with("# HELP") && line.ends_with("..")), "{figures}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_taken_in_asked_and_counted() {
    let house = House::open().await;
    let lines = "{\"id\": \"e1\", \"text\": \"the red cup is on the shelf\"}\n\n{\"txt\": 1}\n{\"text\": \"rain\"}\n";
    let import = house.post_raw("/v1/memory/import?all=true", lines.into()).await;
    assert_eq!((import.status, &import.body["imported"]), (200, &json!(2)), "{}", import.body);
    assert_eq!(import.body["errors"][0]["line"], 3);
    assert_eq!(import.body["errors"].as_array().map(Vec::len), Some(1));
    let recall = house.get("/v1/memory/recall?query=red+cup&limit=1").await;
    assert_eq!(recall.body["results"][0]["id"], "e1", "{}", recall.body);
    assert_eq!(house.get("/v1/memory/recall?keyword=red%20cup").await.body["results"][0]["id"], "e1");
    assert_eq!(house.get("/v1/memory/predict?tool_name=bash").await.body["known"], false);
    let time = house.get("/v1/memory/temporal?hour=6,7&day=0&month=12").await.body;
    assert_eq!((&time["hour"], &time["day"], &time["month"]), (&json!([6, 7]), &json!(0), &json!(12)), "{time}");
    refused(&house.get("/v1/memory/temporal?hour=7,24").await, 400, &["hour", "from 0 to 23"]);
    assert!(house.get("/v1/memory/stats").await.body["regions"]["hippocampus"]["episodes"].is_u64());
    assert_eq!(house.post("/v1/memory/verify", &json!({})).await.body["ok"], true);
    refused(&house.post("/v1/memory/backup", &json!({"to": "here"})).await, 400, &["here", "full path"]);
    refused(&house.post("/v1/memory/backup", &json!({})).await, 409, &[]);

    let status = house.get("/v1/status").await.body;
    assert_eq!(
        (&status["state"], &status["llm"], &status["body"]["driver"]),
        (&json!("awake"), &json!("none"), &json!("none"))
    );
    assert_eq!(status["memory"]["hippocampus"], 2, "{status}");
    assert_eq!(status["disk"]["status"], "ok");
    assert_eq!((&status["energy"]["level"], &status["energy"]["money"]), (&json!(1.0), &json!(0.0)), "{status}");
    let regions = status["regions"].as_array().expect("regions");
    assert_eq!(regions.len(), house.served.agent.parts.len());
    for region in regions {
        assert_eq!(region["state"], "running", "{region}");
        assert!(region["restarts"].is_u64() && region["inbox_depth"].is_u64() && region["p99_us"].is_u64());
    }

    let page = house.get("/metrics").await.body;
    let page = page.as_str().expect("text");
    for name in [
        "maxim_stop_latched 0",
        "maxim_region_restarts_total{region=\"hippocampus\"} 0",
        "maxim_inbox_depth{region=\"gateway\"}",
        "maxim_inbox_high_water{region=\"gateway\"}",
        "maxim_inbox_oldest_seconds{region=\"gateway\"}",
        "maxim_inbox_conflated_total{region=\"scene\"}",
        "maxim_commit_seconds_bucket",
        "maxim_memory_records{layer=\"hippocampus\"} 2",
        "maxim_dead_letters_total{region=\"habit\"} 0",
        "maxim_build_info{version=",
        "maxim_llm_tokens_total{purpose=\"embed\"} 0",
        "maxim_money_spent_total 0",
        "maxim_degrees_moved_total 0",
        "# EOF",
    ] {
        assert!(page.contains(name), "{name} is not in {page}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_gate_asks_is_listed_and_decided() {
    let house = House::open().await;
    assert_eq!(house.get("/v1/approvals").await.body, json!({"approvals": []}));
    assert_eq!(house.get("/v1/dead-letters").await.body, json!({"dead_letters": []}));
    let said = house.say("run `cargo build`").await;
    assert_eq!(said["actions"][0]["status"], "asked", "{said}");
    let asked = house.get("/v1/approvals").await.body;
    let approvals = asked["approvals"].as_array().expect("a list");
    let id = approvals.iter().find(|entry| entry["tool"] == "bash").expect("what would be run")["id"].clone();
    let path = format!("/v1/approvals/{}", id.as_str().expect("an id"));
    let why = house.get(&format!("/v1/why/{}", id.as_str().expect("an id"))).await;
    assert_eq!(why.body["turn"], said["id"], "{}", why.body);
    refused(&house.post(&path, &json!({})).await, 400, &["allow"]);
    assert_eq!(house.post(&path, &json!({"allow": false})).await.status, 200);
    let is_asked = |asked: Value| asked["approvals"].as_array().expect("a list").iter().any(|entry| entry["id"] == id);
    assert!(!is_asked(house.get("/v1/approvals").await.body), "who was told so finds it so");
    refused(&house.post(&path, &json!({"allow": true})).await, 404, &[]);
    house.close().await;
}
