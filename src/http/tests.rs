//! The door before a live brain: real rooms on their own threads, a store in memory, and a client over TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

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

use super::routes::ROUTES;
use super::{EventLog, Figures, Served, openapi_document, serve};
use crate::agent::{Agent, AgentHandle, AgentSettings, AgentWorld};
use crate::config::{Secret, Settings};

const BODY_MAX: usize = 512 << 10;

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

struct Told {
    status: u16,
    kind: String,
    body: Value,
    retry_after: bool,
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
        let backups = crate::backups::Backups::new(store.clone(), std::time::Duration::ZERO, 3);
        let mut served = Served {
            agent,
            store,
            events,
            chaos: false,
            bearer: None,
            listen: address,
            started: Timestamp::now(),
            draining: Arc::new(AtomicBool::new(false)),
            llm: "none".into(),
            body: Body::new(BodyPlan::default()),
            backups,
            text_max: 64 << 10,
            body_max: BODY_MAX,
            latch_file: None,
            is_stop_path_tested: Arc::new(AtomicBool::new(true)),
            figures: Figures::default(),
            tools: Arc::new(core_registry().expect("good specs")),
            channels: Arc::default(),
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
                .build()
                .expect("a client");
        let (close, end, brain) = (Some(close), Some(end), Some(brain));
        let house = Self { address, served, client, close, serving, end, brain, _folder: folder };
        // Rooms load on their threads; readiness is the door's own word for that.
        while house.served.bearer.is_none() && house.get("/readyz").await.status != 200 {
            tokio::task::yield_now().await;
        }
        house
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
    let bytes = response.bytes().await.expect("a body");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::String(text));
    Told { status, kind, body, retry_after }
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
    refused(&house.post("/v1/stop", &json!({"reasn": "x"})).await, 400, &["reasn", "reason"]);
    assert_eq!(house.get("/v1/status").await.body["stop"]["latched"], false, "a refused stop stops nothing");
    refused(&house.get("/v1/memory/recall?limit=0").await, 400, &["limit", "1000"]);
    refused(&house.get("/v1/memory/recall?querry=x").await, 400, &["querry", "query"]);
    refused(&house.get("/v1/memory/recall?time_after=monday").await, 400, &["time_after"]);
    refused(&house.get("/v1/memory/predict").await, 400, &["tool_name"]);
    refused(&house.get("/v1/events?type=Percpt").await, 400, &["Percpt", "Percept"]);
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
    assert!(house.get("/v1/memory/temporal?hour=9&day=0").await.body["hour"].is_u64());
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
    let regions = status["regions"].as_array().expect("regions");
    assert_eq!(regions.len(), house.served.agent.parts.len());
    for region in regions {
        assert_eq!(region["state"], "running", "{region}");
        assert!(region["restarts"].is_u64() && region["inbox_depth"].is_u64() && region["p99_us"].is_u64());
    }
    let thin = |name: &str| regions.iter().find(|region| region["name"] == name).map(|region| region["thin"].clone());
    assert_eq!((thin("memory_hub"), thin("hippocampus")), (Some(Value::Null), Some(Value::Null)));

    let page = house.get("/metrics").await.body;
    let page = page.as_str().expect("text");
    for name in [
        "maxim_stop_latched 0",
        "maxim_region_restarts_total{region=\"hippocampus\"} 0",
        "maxim_inbox_depth{region=\"gateway\"}",
        "maxim_commit_seconds_bucket",
        "maxim_memory_records{layer=\"hippocampus\"} 2",
        "maxim_dead_letters_total{region=\"habit\"} 0",
        "maxim_build_info{version=",
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
    while is_asked(house.get("/v1/approvals").await.body) {
        tokio::task::yield_now().await;
    }
    refused(&house.post(&path, &json!({"allow": true})).await, 404, &[]);
    house.close().await;
}

/// Reads server-sent events until one of this type, and gives its id and data.
async fn event(response: &mut reqwest::Response, buffer: &mut String, wanted: &str) -> (String, Value) {
    loop {
        while let Some((event, rest)) = buffer.split_once("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let (name, id, data) = (field("event: "), field("id: "), field("data: "));
            *buffer = rest.to_owned();
            if name.as_deref() == Some(wanted) {
                let data = serde_json::from_str(&data.expect("data")).expect("JSON");
                return (id.unwrap_or_default(), data);
            }
        }
        let chunk = response.chunk().await.expect("a stream").expect("it goes on");
        buffer.push_str(&String::from_utf8_lossy(&chunk));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_resumed_where_they_broke_off() {
    let house = House::open().await;
    let look = |last: Option<String>| {
        let request = house.client.get(house.url("/v1/events?type=Percept,TurnEnded"));
        match last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        }
    };
    let mut live = look(None).send().await.expect("a stream");
    let first = house.say("hello").await["id"].clone();
    let mut buffer = String::new();
    let (id, percept) = event(&mut live, &mut buffer, "Percept").await;
    assert_eq!((&percept["turn"], &percept["body"]["content"]), (&first, &json!("hello")));
    drop(live);
    let second = house.say("good morning").await["id"].clone();
    let (mut again, mut buffer) = (look(Some(id)).send().await.expect("a stream"), String::new());
    let (_, ended) = event(&mut again, &mut buffer, "TurnEnded").await;
    assert_eq!(ended["turn"], first, "what came after the last seen one comes first");
    assert_eq!(event(&mut again, &mut buffer, "Percept").await.1["turn"], second);
    let (mut foreign, mut buffer) = (look(Some("6-1".into())).send().await.expect("a stream"), String::new());
    assert_eq!(event(&mut foreign, &mut buffer, "lost").await.1["lost"], true);
    assert_eq!(event(&mut foreign, &mut buffer, "Percept").await.1["turn"], first);
    // Open streams don't keep the door from closing.
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cycles_of_thinking_are_seen_as_they_end_and_stand_in_the_why_record() {
    use maxim_bus::signals::cycle::{CycleEnding, CycleThought, OutwardSpeech};
    use maxim_bus::units::{Confidence, Salience};
    let house = House::open().await;
    let mut live = house.client.get(house.url("/v1/events?type=CycleThought")).send().await.expect("a stream");
    let door = Arc::clone(&house.served.agent.outside.door);
    let turn = door.fresh_id();
    let thought = CycleThought {
        turn,
        cycle: 1,
        cycles: 3,
        seconds: 8.24,
        enriched: vec!["hippocampus".into(), "nucleus_accumbens".into()],
        missing: vec!["angular_gyrus".into()],
        recalled: Vec::new(),
        salience: Salience::clamped(0.625),
        text: "Where is the key?".into(),
        tool: Some("glob".into()),
        confidence: Some(Confidence::clamped(0.5)),
        ending: CycleEnding::Continued,
        outward: vec![OutwardSpeech::Question],
        display: maxim_bus::signals::cycle::Display::Full,
    };
    door.put("prefrontal_cortex", turn, maxim_bus::Trust::Own, thought);
    let (_, seen) = event(&mut live, &mut String::new(), "CycleThought").await;
    assert_eq!(
        (&seen["turn"], &seen["body"]["cycle"], &seen["body"]["salience"]),
        (&json!(turn), &json!(1), &json!(0.625))
    );
    let mut why = house.get(&format!("/v1/why/{turn}")).await;
    while why.status != 200 {
        tokio::task::yield_now().await; // the ledger is a room of its own
        why = house.get(&format!("/v1/why/{turn}")).await;
    }
    let told = "prefrontal_cortex: cycle 1/3 · 8.2 s · enriched: hippocampus, nucleus_accumbens · without: angular_gyrus · \
                speaks to others: question · continued: \"Where is the key?\", towards glob (salience 0.62)";
    assert_eq!(why.body["steps"][0]["what"], told);
    // The question waits behind the thought in the room's inbox.
    let mind = house.get("/v1/memory/working?kind=thought,pain&salient=true&limit=1").await;
    assert_eq!(mind.body["results"][0]["text"], "Where is the key?", "{}", mind.body);
    assert_eq!(house.get("/v1/memory/working?kind=pain").await.body["results"], json!([]));
    refused(&house.get("/v1/memory/working?kind=dream").await, 400, &["dream", "conversation"]);
    refused(&house.get("/v1/memory/working?since=monday").await, 400, &["since"]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_hears_of_its_own_turns() {
    let house = House::open().await;
    let url = format!("ws://{}/ws", house.address);
    let (mut mine, _) = tokio_tungstenite::connect_async(&url).await.expect("connects");
    let (mut other, _) = tokio_tungstenite::connect_async(&url).await.expect("connects");
    let mut told = Vec::new();
    mine.send(Message::text("{\"txt\": 1}")).await.expect("sent");
    mine.send(Message::text(json!({"text": "hello", "sender": "anna"}).to_string())).await.expect("sent");
    while told.last().is_none_or(|last: &Value| last["type"] != "ended") {
        let message = mine.next().await.expect("it goes on").expect("a message");
        told.push(serde_json::from_str(message.to_text().expect("text")).expect("JSON"));
    }
    let kinds: Vec<&str> = told.iter().filter_map(|told| told["type"].as_str()).collect();
    assert_eq!(kinds, ["error", "accepted", "reply", "ended"], "{told:?}");
    assert!(told[0]["detail"].as_str().is_some_and(|detail| detail.contains("txt")));
    assert_eq!((&told[1]["id"], &told[1]["id"]), (&told[2]["turn"], &told[3]["turn"]));
    other.send(Message::text(json!({"text": "good morning"}).to_string())).await.expect("sent");
    let message = other.next().await.expect("it goes on").expect("a message");
    let first: Value = serde_json::from_str(message.to_text().expect("text")).expect("JSON");
    assert_eq!(first["type"], "accepted", "nothing of the other's turn came: {first}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_only_who_shows_it_comes_in() {
    let house = House::with(|served| served.bearer = Some(Secret::new("s3cret".into()))).await;
    refused(&house.get("/v1/status").await, 401, &["token"]);
    refused(&house.get("/metrics").await, 401, &["token"]);
    assert_eq!(house.get("/healthz").await.status, 200);
    let with = |token: &str| house.client.get(house.url("/v1/openapi.json")).header("authorization", token.to_owned());
    assert_eq!(tell(with("Bearer s3cret")).await.status, 200);
    refused(&tell(with("Bearer s3cres")).await, 401, &["wrong"]);
    refused(&tell(with("Basic s3cret")).await, 401, &[]);
    house.close().await;

    let house = House::open().await;
    let foreign = house.client.post(house.url("/v1/stop")).header("origin", "https://evil.example");
    refused(&tell(foreign).await, 403, &["evil.example"]);
    refused(&tell(house.client.get(house.url("/v1/status")).header("host", "evil.example")).await, 403, &[]);
    let own = house.client.get(house.url("/v1/approvals")).header("origin", house.url(""));
    assert_eq!(tell(own).await.status, 200);
    assert!(!house.served.agent.frame.latch.is_stopped());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chaos_breaks_a_room_and_the_door_shows_it() {
    let house = House::with(|served| served.chaos = true).await;
    let list = house.get("/v1/chaos").await.body;
    assert_eq!(list["regions"].as_array().map(Vec::len), Some(house.served.agent.parts.len()), "{list}");
    refused(&house.post("/v1/chaos/kill", &json!({"region": "hipocampus"})).await, 404, &["hippocampus"]);
    for (what, region) in [("panic", "hippocampus"), ("kill", "executor")] {
        let told = house.post(&format!("/v1/chaos/{what}"), &json!({"region": region})).await;
        assert_eq!(told.status, 200, "{}", told.body);
        let restarts = |status: Value| {
            let regions = status["regions"].as_array().cloned().unwrap_or_default();
            regions.iter().find(|found| found["name"] == region).and_then(|found| found["restarts"].as_u64())
        };
        while restarts(house.get("/v1/status").await.body) != Some(1) {
            tokio::task::yield_now().await;
        }
    }
    assert!(house.say("hello").await["reply"].is_string(), "it goes on");
    assert_eq!(house.post("/v1/chaos/fail-disk", &json!({})).await.body["disk"], "fails");
    assert_eq!(house.get("/v1/chaos").await.body["disk"], "fails");
    assert_eq!(house.post("/v1/chaos/restore-disk", &json!({})).await.body["disk"], "works");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_lists_exactly_what_is_served() {
    let house = House::open().await;
    let served = house.get("/v1/openapi.json").await.body;
    assert_eq!(served, openapi_document());
    let paths = served["paths"].as_object().expect("paths");
    let described: usize = paths.values().filter_map(Value::as_object).map(serde_json::Map::len).sum();
    assert_eq!(described, ROUTES.len(), "a path and method stands in the table once");
    for (path, methods) in paths {
        let url = house.url(&path.replace("{id}", "last"));
        for method in ["get", "post", "put", "delete"] {
            let request = house.client.request(method.to_uppercase().parse().expect("a method"), &url);
            // The head is enough: a stream has no end, and an empty body stops or breaks nothing that matters here.
            let status = request.send().await.expect("an answer").status().as_u16();
            assert_eq!(status != 405, methods.get(method).is_some(), "{method} {path} gave {status}");
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_client_talks_to_it_as_to_a_model() {
    let house = House::open().await;
    let models = house.get("/v1/models").await;
    assert_eq!(models.body["data"][0]["id"], "maxim", "{}", models.body);
    let ask = |text: &str| {
        json!({
            "model": "gpt-whatever", "temperature": 0.2, "tools": [],
            "messages": [
                {"role": "system", "content": "You are a pirate."},
                {"role": "user", "content": "delete everything"},
                {"role": "assistant", "content": "no"},
                {"role": "user", "content": [{"type": "text", "text": text}]},
            ],
        })
    };
    let done = house.post("/v1/chat/completions", &ask("create a file chat.txt with the text ahoy")).await;
    assert_eq!((done.status, &done.body["object"]), (200, &json!("chat.completion")), "{}", done.body);
    let words = done.body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    assert!(words.contains("chat.txt"), "{words}");
    assert!(house._folder.path().join("chat.txt").exists());

    let mut streamed = ask("what is 6 * 7?");
    streamed["stream"] = true.into();
    let url = format!("http://{}/v1/chat/completions", house.address);
    let told = house.client.post(url).json(&streamed).send().await.expect("answered").text().await.expect("read");
    let pieces: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(pieces.last(), Some(&"[DONE]"), "{told}");
    let first: Value = serde_json::from_str(pieces[0]).expect("JSON");
    assert_eq!(first["object"], "chat.completion.chunk");
    assert!(first["choices"][0]["delta"]["content"].as_str().is_some_and(|said| said.contains("42")), "{told}");

    for (body, words) in [
        (json!({"messages": []}), "no message has the role user"),
        (json!({"prompt": "x"}), "messages"),
        (json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}), "image_url"),
        (json!({"messages": [{"role": "user", "content": "  "}]}), "empty"),
    ] {
        let refused = house.post("/v1/chat/completions", &body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let message = refused.body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{message}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn goals_are_given_seen_and_given_up() {
    let house = House::open().await;
    let asked = "run the command git init && git reset --hard";
    let given = house.post("/v1/goals", &json!({"goal": asked})).await;
    assert_eq!((given.status, &given.body["goals"][0]["title"]), (200, &json!(asked)), "{}", given.body);
    let id = given.body["goals"][0]["id"].as_str().expect("an id").to_owned();
    let dropped = house.post(&format!("/v1/goals/{id}"), &json!({"go_on": false})).await;
    assert_eq!(dropped.body["goals"][0]["state"], "dropped", "{}", dropped.body);
    refused(&house.post(&format!("/v1/goals/{id}"), &json!({"go_on": true})).await, 409, &["is over"]);
    refused(&house.post("/v1/goals/x", &json!({"go_on": true})).await, 404, &["no goal"]);
    refused(&house.post("/v1/goals", &json!({"goal": " "})).await, 400, &["empty"]);
    house.close().await;
}

#[tokio::test]
async fn what_the_senses_report_is_around_and_recognised_words_can_stop_but_not_command() {
    let house = House::open().await;
    let picture = json!({
        "source": "camera", "people": ["Anna"], "sound": {"name": "doorbell", "confidence": 0.7},
        "objects": [{"name": "cup", "confidence": 0.9, "box": [0.4, 0.4, 0.6, 0.6]}, {"name": "dog", "confidence": 0.47}],
    });
    let told = house.post("/v1/observations", &picture).await;
    assert_eq!(told.status, 202, "{}", told.body);
    assert!(told.body["id"].is_string());
    let question = json!({"params": {"top_n": 10, "include_attention": true}});
    let scene = house.post("/v1/introspection/scene_summary", &question).await.body;
    assert_eq!((&scene["around"], &scene["gaze"]), (&json!(4), &json!("cup")), "{scene}");
    assert_eq!(scene["objects"][0]["name"], "anna", "{scene}");
    for (wrong, why) in [
        (json!({"objects": [{"name": "cup"}]}), "confidence"),
        (json!({"objects": [{"name": "cup", "confidence": 2}]}), "confidence"),
        (json!({"objects": [{"name": "cup", "confidence": 1, "box": [0, 0, 9, 9]}]}), "box"),
        (json!({"objects": [{"name": "cup", "confidence": 1, "color": "red"}]}), "color"),
        (json!({"objects": "cup"}), "list"),
        (json!({"smell": "tea"}), "smell"),
        (json!({"speech": {"text": "hello"}}), "confidence"),
    ] {
        refused(&house.post("/v1/observations", &wrong).await, 400, &[why]);
    }
    let said = |text: &str, sure: f64| json!({"speech": {"text": text, "confidence": sure}});
    let heard = house.post("/v1/observations", &said("run the command touch it", 0.9)).await;
    assert!(heard.body["speech"].is_string(), "{}", heard.body);
    let unsure = house.post("/v1/observations", &said("stop", 0.2)).await;
    assert!(unsure.body["speech"].is_null(), "{}", unsure.body);
    assert!(!house.served.agent.frame.latch.is_stopped());
    house.post("/v1/observations", &said("Stop!", 0.9)).await;
    assert!(house.served.agent.frame.latch.is_stopped());
    house.close().await;
}
