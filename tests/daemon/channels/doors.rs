//! One brain behind all of its doors, and a megabyte in each field of each door: after each, the same daemon must
//! answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::post as posted;
use futures_util::{SinkExt, StreamExt};
use maxim_bus::bounds;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::broker::{Broker, Somebody, toml as mqtt};
use super::mail::{Dovecot, toml as email};
use super::programs::free_port;
use super::webhooks::{World, now, post};
use super::{channel, is_latched};
use crate::harness::Daemon;

const MEGABYTE: usize = 1 << 20;
/// Exceeds the bound of each field, but not that of a webhook's body or a publication.
const FIELD: usize = 200_000;
/// Allowed growth of the process: caches up to their bounds, and memory kept by the allocator.
const GROWTH_KIB: u64 = 320 << 10;
/// For the language model, because habit can't answer it.
const WISH: &str = "what would it take to get the boat ready?";

/// Everything behind the doors.
struct House {
    world: World,
    daemon: Daemon,
    broker: Option<Broker>,
    dovecot: Option<Dovecot>,
    /// The model server's answer.
    model: Arc<Mutex<Value>>,
}

/// A door: its name, its name in the table of bounds, and requests with too much in each of its fields.
struct Door {
    name: &'static str,
    at: &'static [&'static str],
    tries: fn(&mut House),
}

const DOORS: &[Door] = &[
    Door { name: "HTTP", at: &["HTTP", "where nothing else is said", "/v1/chat/completions"], tries: by_http },
    Door { name: "WebSocket", at: &["WebSocket", "streams"], tries: by_websocket },
    Door { name: "stop", at: &["every way to stop"], tries: by_stop },
    Door { name: "command line", at: &[], tries: by_command },
    Door { name: "maxim mcp", at: &[], tries: by_own_mcp },
    Door { name: "telegram", at: &["Telegram"], tries: by_telegram },
    Door { name: "slack", at: &["Slack"], tries: by_slack },
    Door { name: "twilio", at: &["Twilio"], tries: by_twilio },
    Door { name: "discord", at: &["Discord"], tries: by_discord },
    Door { name: "mqtt", at: &["MQTT"], tries: by_mqtt },
    Door { name: "email", at: &["e-mail"], tries: by_email },
    Door { name: "tool server", at: &["MCP server"], tries: by_tool_server },
    Door { name: "model server", at: &["model server"], tries: by_model },
];

/// Other names in the table of bounds: all doors of a kind, places that aren't doors, and input of the model's own
/// reader.
const NO_DOOR: &[&str] = &["every channel", "every message", "store", "embeddings server"];

impl House {
    fn build() -> Self {
        let (broker, dovecot) = (Broker::start(), Dovecot::start());
        let mut world = World::new();
        let mut more = String::from("[autonomy]\nper_minute = 100000\nper_second = 10000\n");
        if let Some(broker) = &broker {
            more += &mqtt(&world.place, broker, "");
        }
        if let Some(dovecot) = &dovecot {
            more += &email(&world.place, dovecot.port, free_port(), "");
        }
        let model = Arc::new(Mutex::new(json!({})));
        more += &format!("[llm]\nbase_url = \"{}/v1\"\nmodel = \"gull\"\ntick = \"0s\"\n", served(&model));
        more += &tool_servers(&world);
        world.also(&more);
        // No rate limits: other tests cover them.
        let daemon = world.place.start_as(&[], |command| {
            for channel in ["TELEGRAM", "SLACK", "TWILIO", "DISCORD", "MQTT", "EMAIL"] {
                for rate in ["PER_SENDER", "PER_CHANNEL"] {
                    command.env(format!("MAXIM__CHANNELS__{channel}__{rate}"), "100000");
                }
            }
        });
        let mut up = vec!["telegram", "slack", "twilio", "discord"];
        up.extend(broker.as_ref().map(|_| "mqtt"));
        up.extend(dovecot.as_ref().map(|_| "email"));
        for name in up {
            daemon.until(name, || channel(&daemon, name)["state"] == "up");
        }
        Self { world, daemon, broker, dovecot, model }
    }

    /// It is the same process, and it works as before.
    fn lives(&self, after: &str) {
        assert_eq!(self.daemon.get("/healthz").0, 200, "after {after}");
        if is_latched(&self.daemon) {
            assert_eq!(self.daemon.post("/v1/reset", &json!({})).0, 200, "after {after}");
        }
        self.daemon.post("/v1/resume", &json!({}));
        let (status, answer) = self.daemon.post("/v1/percepts", &json!({"text": "what is 2 + 2?", "wait_s": 60}));
        assert!(
            status == 200 && answer["reply"].as_str().is_some_and(|reply| reply.contains('4')),
            "{after}: {answer}"
        );
    }

    fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
        line.trim().trim_end_matches("kB").trim().parse().expect("a number")
    }
}

fn long() -> String {
    "x".repeat(MEGABYTE)
}

/// The same object with too much in each of its members, and in one more.
fn each_member(usual: &Value, much: &str) -> Vec<(String, Value)> {
    let members = usual.as_object().into_iter().flatten();
    let mut all: Vec<(String, Value)> = members
        .flat_map(|(name, value)| {
            let with = |value: Value| {
                let mut other = usual.clone();
                other[name] = value;
                (name.clone(), other)
            };
            let inner = each_inner(value, much).into_iter().map(with);
            [with(much.into())].into_iter().chain(inner).collect::<Vec<_>>()
        })
        .collect();
    let mut other = usual.clone();
    other["unknown"] = much.into();
    all.push(("unknown".into(), other));
    all
}

fn each_inner(value: &Value, much: &str) -> Vec<Value> {
    match value {
        Value::Object(_) => each_member(value, much).into_iter().map(|(_, value)| value).collect(),
        Value::Array(items) => items.first().map_or_else(Vec::new, |item| {
            each_inner(item, much).into_iter().map(|item| json!([item])).chain([json!([much])]).collect()
        }),
        _ => Vec::new(),
    }
}

fn by_http(house: &mut House) {
    let described = house.daemon.get("/v1/openapi.json").1;
    let mut tried = 0;
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, route) in methods.as_object().expect("methods") {
            let near = path.replace("{id}", "x").replace("{tool}", "memory_recall").replace("{channel}", "slack");
            let schema = route.pointer("/requestBody/content/application~1json/schema").cloned().unwrap_or_default();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let named = schema["properties"].as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
            for name in named.into_iter().flatten() {
                let mut body = json!({});
                for needed in required.iter().filter_map(Value::as_str) {
                    body[needed] = "x".into();
                }
                for much in [FIELD, MEGABYTE] {
                    body[&name] = "x".repeat(much).into();
                    let (status, answer) = house.daemon.post_raw(&near, body.to_string());
                    // A stop takes effect. Everything else is accepted within its bound, or refused, sometimes before
                    // its body is read.
                    let is_right = if path == "/v1/stop" {
                        answer["latched"] == true
                    } else {
                        status == 0 || (200..=422).contains(&status)
                    };
                    assert!(is_right, "{method} {path}, {name}: {status} {answer}");
                    assert!(
                        much == FIELD || status == 0 || status >= 400,
                        "{method} {path}, {name}: {status} {answer}"
                    );
                }
                tried += 1;
            }
            // A head has less room: the request is refused, or the connection is closed.
            let heads = [
                format!("{near}?{}", "x".repeat(MEGABYTE)),
                format!("{near}?query={}", "x".repeat(60_000)),
                path.replace('{', "").replace('}', &"x".repeat(MEGABYTE)) + &"x".repeat(MEGABYTE),
            ];
            for head in heads {
                let (status, answer) = match method.as_str() {
                    "get" => house.daemon.get(&head),
                    _ => house.daemon.post(&head, &json!({})),
                };
                assert!(status == 0 || (200..500).contains(&status), "{method} {path}: {status} {answer}");
            }
            house.lives(&format!("{method} {path}"));
        }
    }
    assert!(tried > 40, "{tried}");
    for header in ["idempotency-key", "user-agent", "x-anything", "cookie", "accept", "origin"] {
        let much = long();
        let (status, _) = house.daemon.post_with("/v1/percepts", &[(header, &much)], "{\"text\": \"hello\"}");
        assert!(status == 0 || (400..500).contains(&status), "{header}: {status}");
        house.lives(header);
    }
    let said = json!({
        "model": "maxim", "user": "anna", "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}], "name": "anna"}],
    });
    for (name, said) in each_member(&said, &"x".repeat(FIELD)) {
        let (status, answer) = house.daemon.post("/v1/chat/completions", &said);
        assert!((200..=422).contains(&status), "{name}: {status}");
        assert!(status == 200 || answer["error"]["message"].is_string(), "{name}: {answer}");
        house.lives(&format!("{name} of a chat client"));
    }
    let observed = json!({
        "source": "camera", "people": ["Anna"], "speech": {"text": "hello", "confidence": 0.9},
        "sound": {"name": "bell", "confidence": 0.7}, "pain": {"place": "arm", "intensity": 0.1, "reason": "a push"},
        "objects": [{"name": "cup", "confidence": 0.9}], "pose": {"yaw": 1.0},
    });
    for (name, observed) in each_member(&observed, &"x".repeat(FIELD)) {
        let (status, answer) = house.daemon.post("/v1/observations", &observed);
        assert!((400..=422).contains(&status), "{name}: {status} {answer}");
        house.lives(&format!("{name} of an observation"));
    }
}

fn by_websocket(house: &mut House) {
    let usual = json!({"text": "hello", "sender": "anna", "provider_id": "w1"});
    let mut frames: Vec<String> =
        each_member(&usual, &"x".repeat(FIELD)).into_iter().map(|(_, said)| said.to_string()).collect();
    frames.extend(each_member(&usual, &long()).into_iter().map(|(_, said)| said.to_string()));
    frames.push(long());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for frame in frames {
        runtime.block_on(async {
            let mut socket = house.daemon.socket().await;
            let _ = socket.send(Message::Text(frame.into())).await;
            // Refused, accepted, or the connection is closed.
            let _ = socket.next().await;
        });
        house.lives("a frame");
    }
}

fn by_stop(house: &mut House) {
    let data = house.world.place.data();
    for line in [format!("stop {}\n", long()), long(), format!("{}\n", long())] {
        let mut socket = UnixStream::connect(data.join("stop.sock")).expect("it listens");
        let _ = socket.write_all(line.as_bytes());
        let mut answer = String::new();
        let _ = BufReader::new(&socket).read_line(&mut answer);
        assert_eq!(is_latched(&house.daemon), line.starts_with("stop"), "{answer}");
        house.lives("the stop socket");
    }
    fs::write(data.join("stop.request"), long()).expect("written");
    house.daemon.until("stopped by the file", || is_latched(&house.daemon));
    fs::remove_file(data.join("stop.request")).expect("it is still there");
    let told = house.daemon.get("/v1/status").1["stop"]["reason"].to_string();
    assert!(told.len() < 2 * bounds::REASON.limit, "{} bytes", told.len());
    house.lives("the stop file");
}

/// Runs the binary with this standard input; returns its standard output.
fn tells(house: &House, args: &[&str], said: &str) -> String {
    let mut command = house.world.place.command();
    command.arg("--data").arg(house.world.place.data()).args(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("runs");
    let mut stdin = child.stdin.take().expect("piped");
    let said = said.to_owned();
    let saying = std::thread::spawn(move || drop(stdin.write_all(said.as_bytes())));
    let output = child.wait_with_output().expect("it ends");
    saying.join().expect("said");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn by_command(house: &mut House) {
    // The kernel accepts no longer arguments of a command.
    let word = "x".repeat(100_000);
    for args in [
        &["send", &word, "--wait"][..],
        &["recall", &word],
        &["goals", "add", &word],
        &["approvals", "allow", &word],
        &["memory", "forget", &word],
        &["why", &word],
        &["fear", "explain", &word],
    ] {
        tells(house, args, "");
        house.lives(args[0]);
    }
    tells(house, &["chat", "--plain"], &format!("{}\n{}\nhello\n", long(), "y ".repeat(MEGABYTE / 2)));
    house.lives("chat");
}

fn by_own_mcp(house: &mut House) {
    let client = json!({"name": "hand", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "memory_recall", "arguments": {"query": "key"}},
    });
    for (name, call) in each_member(&call, &long()) {
        tells(house, &["mcp"], &format!("{hello}\n{ready}\n{call}\n"));
        house.lives(&format!("{name} by MCP"));
    }
    for (name, hello) in each_member(&hello, &long()) {
        tells(house, &["mcp"], &format!("{hello}\n{ready}\n{call}\n"));
        house.lives(&format!("{name} of an MCP client"));
    }
}

fn by_telegram(house: &mut House) {
    let message = json!({
        "from": {"id": 42, "is_bot": false, "first_name": "Anna"}, "chat": {"id": 42, "title": "home"}, "text": "hello",
        "caption": "a picture", "message_id": 7, "forward_origin": {"type": "user", "sender_user": {"id": 42}},
    });
    for (name, message) in each_member(&message, &long()) {
        house.world.providers.telegram_update(message);
        house.daemon.until("it is taken", || house.world.providers.unread_by_the_bot() == 0);
        house.lives(&format!("{name} of Telegram"));
    }
}

fn by_slack(house: &mut House) {
    let event =
        json!({"type": "message", "user": "U1", "text": "hello", "channel": "D1", "ts": "1.1", "thread_ts": "1.0"});
    let body = json!({"type": "event_callback", "event_id": "E1", "team_id": "T1", "event": event});
    for much in [FIELD, MEGABYTE] {
        for (name, body) in each_member(&body, &"x".repeat(much)) {
            let (status, said) = post(&house.daemon, "slack", &house.world.slack_body(now(), body.to_string()));
            assert!((200..500).contains(&status), "{name}: {status} {said}");
            house.lives(&format!("{name} of Slack"));
        }
    }
}

fn by_twilio(house: &mut House) {
    for size in [FIELD, MEGABYTE] {
        let much = "x".repeat(size);
        for (from, sid, text) in
            [(much.as_str(), "1", "hello"), ("+15550100", &much, "hello"), ("+15550100", "2", &much)]
        {
            let (status, said) = post(&house.daemon, "twilio", &house.world.twilio(from, sid, text));
            assert!((200..500).contains(&status), "{status} {said}");
            house.lives("Twilio");
        }
    }
}

fn by_discord(house: &mut House) {
    for size in [FIELD, MEGABYTE] {
        let much = "x".repeat(size);
        for (user, id, text) in [(much.as_str(), "1", "hello"), ("77", &much, "hello"), ("77", "2", &much)] {
            let (status, said) = post(&house.daemon, "discord", &house.world.discord(user, id, text));
            assert!((200..500).contains(&status), "{status} {said}");
            house.lives("Discord");
        }
    }
}

fn by_mqtt(house: &mut House) {
    let Some(broker) = &house.broker else { return };
    let anna = Somebody::at(broker, "anna");
    for (name, said) in each_member(&json!({"text": "hello", "id": "m1", "sender": "anna"}), &"x".repeat(FIELD)) {
        anna.says("maxim/in/anna", &said.to_string());
        house.lives(&format!("{name} of MQTT"));
    }
    anna.says(&format!("maxim/in/{}", "x".repeat(60_000)), "hello");
    house.lives("a topic");
    anna.whispers("maxim/in/anna", &long());
    house.lives("a publication");
    house.daemon.until("connected again", || channel(&house.daemon, "mqtt")["state"] == "up");
}

fn by_email(house: &mut House) {
    let much = long();
    let Some(dovecot) = &mut house.dovecot else { return };
    let folded = "x".repeat(900) + "\r\n ";
    let folded = folded.repeat(MEGABYTE / folded.len());
    let from = "anna@example.org";
    dovecot.arrives(&format!("{folded}@example.org"), "f@example.org", "", "hello");
    dovecot.arrives(from, &folded, "", "hello");
    for header in ["References", "In-Reply-To", "Authentication-Results", "Subject", "X-Anything", "Auto-Submitted"] {
        dovecot.arrives(from, &format!("{header}@example.org"), &format!("{header}: {folded}\r\n"), "hello");
    }
    dovecot.arrives(from, "body@example.org", "", &much);
    house.daemon.until("all are read", || house.dovecot.as_ref().is_some_and(|dovecot| dovecot.unread() == 0));
    house.lives("e-mail");
}

/// Servers that each send too much of one thing on request.
const SAID: &[(&str, &str)] = &[
    ("name", r#"{"name":"MUCH","inputSchema":{"type":"object"}}"#),
    ("described", r#"{"name":"a","description":"MUCH","inputSchema":{"type":"object"}}"#),
    ("schema", r#"{"name":"a","inputSchema":{"type":"object","properties":{"MUCH":{"type":"string"}}}}"#),
    ("unknown", r#"{"name":"a","inputSchema":{"type":"object"},"MUCH":"MUCH"}"#),
    ("cursor", r#"{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"MUCH","x":[1"#),
];

fn tool_servers(world: &World) -> String {
    let script = r#"
result() { printf '{"jsonrpc":"2.0","id":%s,"result":' "$1"; cat "$2"; printf '}\n'; }
while IFS= read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) result "$id" "$1/hello.json" ;;
    *'"method":"tools/list"'*) result "$id" "$1/tools.json" ;;
    *'"method":"ping"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;
    let mut toml = String::new();
    for (name, tool) in SAID {
        let folder = world.place.root.path().join("servers").join(name);
        fs::create_dir_all(&folder).expect("made");
        let hello =
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
        fs::write(folder.join("hello.json"), hello).expect("written");
        let tools = format!("{{\"tools\":[{tool}]}}").replace("MUCH", &long());
        fs::write(folder.join("tools.json"), tools).expect("written");
        fs::write(folder.join("serve.sh"), script).expect("written");
        let shown = folder.display();
        toml += &format!(
            "[mcp.{name}]\ncommand = [\"/bin/sh\", \"{shown}/serve.sh\", \"{shown}\"]\nread = [\"{shown}\"]\n"
        );
    }
    toml
}

fn by_tool_server(house: &mut House) {
    house.daemon.until("each server was heard", || {
        let told = house.daemon.get("/v1/status").1["tool_servers"].clone();
        let servers = told.as_array().cloned().unwrap_or_default();
        servers.len() == SAID.len() && servers.iter().all(|server| server["state"] == "up" || server["why"].is_string())
    });
    let told = house.daemon.get("/v1/status").1["tool_servers"].to_string();
    assert!(told.len() < 64 << 10, "{} bytes are told of them", told.len());
    house.lives("tool servers");
}

/// A model server that gives the latest set answer; returns its address.
fn served(model: &Arc<Mutex<Value>>) -> String {
    let model = Arc::clone(model);
    let answer = move || {
        let reply = model.lock().expect("no panic inside").to_string();
        async move { ([("content-type", "application/json")], reply).into_response() }
    };
    crate::loopback::serve(Router::new().route("/v1/chat/completions", posted(answer)))
}

fn by_model(house: &mut House) {
    let content = |content: &Value| {
        let message = json!({"role": "assistant", "content": content});
        json!({
            "id": "c1", "object": "chat.completion", "model": "gull", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        })
    };
    let action = json!({"tool_name": "respond", "params": {"message": "Take the key."}});
    let plan = json!({"ready_to_act": true, "action": action, "confidence": 0.8, "reasoning": "I go on."});
    let plain = content(&Value::from(plan.to_string()));
    let of_reply = each_member(&plain, &long());
    let of_plan = each_member(&plan, &long()).into_iter().map(|(name, plan)| (name, content(&plan.to_string().into())));
    for (name, reply) in of_reply.into_iter().chain(of_plan) {
        *house.model.lock().expect("no panic inside") = reply;
        let (status, answer) = house.daemon.post("/v1/percepts", &json!({"text": WISH, "wait_s": 20}));
        assert!(matches!(status, 200 | 202), "{name}: {status} {answer}");
        house.lives(&format!("{name} of a model"));
    }
}

/// The places named in the table of bounds.
fn named_in_the_table() -> BTreeSet<&'static str> {
    bounds::ALL.iter().flat_map(|bound| bound.at.split(", ")).collect()
}

#[test]
fn each_door_of_the_table_of_bounds_is_tried() {
    let tried: BTreeSet<&str> = DOORS.iter().flat_map(|door| door.at).chain(NO_DOOR).copied().collect();
    for at in named_in_the_table() {
        // A route counts as a door of HTTP, where all routes are tried.
        assert!(
            tried.contains(at) || at.starts_with("POST /"),
            "{at} stands in deploy/bounds.md, and no test tries it"
        );
    }
}

#[test]
fn a_megabyte_in_each_field_of_each_door_is_refused_or_cut_and_the_same_brain_goes_on() {
    let mut house = House::build();
    let status = house.daemon.get("/v1/status").1;
    for channel in status["channels"].as_array().into_iter().flatten() {
        let name = channel["name"].as_str().expect("a name");
        assert!(DOORS.iter().any(|door| door.name == name), "the channel {name} is new, and no test tries it");
    }
    house.lives("the start");
    let (begun, pid) = (house.resident_kib(), house.daemon.pid());
    for door in DOORS {
        (door.tries)(&mut house);
        println!("{}: {} KiB resident", door.name, house.resident_kib());
    }
    let grown = house.resident_kib().saturating_sub(begun);
    assert!(grown < GROWTH_KIB, "it has grown by {grown} KiB");
    assert_eq!(house.daemon.pid(), pid);
    let status = house.daemon.get("/v1/status").1;
    let rooms = status["regions"].as_array().expect("a list").iter();
    let broken: Vec<_> = rooms.filter(|room| room["restarts"] != 0 || room["state"] != "running").collect();
    assert!(broken.is_empty(), "{broken:?}");
    // Earlier memories still exist after a restart.
    house.daemon.say("remember that the spare key is in the blue drawer");
    house.daemon.kill();
    let daemon = house.world.place.start();
    let found = daemon.get("/v1/memory/recall?query=spare%20key").1;
    assert!(found["results"].to_string().contains("blue drawer"), "{found}");
}
