//! What comes in is bounded: a megabyte in each field of each route, half requests, and what attackers send to a door.

use std::time::Duration;

use maxim_bus::bounds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::fields::{Field, Kind};
use super::super::routes::{Body as Wanted, ROUTES};
use super::*;

const MEGABYTE: usize = 1 << 20;

async fn roomy() -> House {
    House::with(|served| served.body_max = 8 << 20).await
}

/// Something that the field takes.
fn small(field: &Field) -> Value {
    match field.kind {
        Kind::Text | Kind::Words(_) | Kind::Spoken => "x".into(),
        Kind::Flag => false.into(),
        Kind::Number(low, _) => low.into(),
        Kind::Whole(low, _) => low.into(),
        Kind::Wholes(low, _) => json!([low]),
        Kind::Object | Kind::Any => json!({}),
    }
}

/// Values of a megabyte that a field of this kind may be given.
fn large(field: &Field) -> Vec<Value> {
    let long = "x".repeat(MEGABYTE);
    match field.kind {
        Kind::Text | Kind::Words(_) | Kind::Spoken => vec![long.into()],
        Kind::Object | Kind::Any => vec![
            json!({long.clone(): 1}),
            json!({"name": long, "confidence": 1, "text": long, "place": long, "intensity": 1, "reason": long}),
            json!({"text": long, "confidence": 1}),
            json!([long]),
            json!([{"name": long, "confidence": 1}]),
            json!(vec![1; MEGABYTE / 2]),
        ],
        Kind::Wholes(low, _) => vec![json!(vec![low; 100_000])],
        Kind::Flag | Kind::Number(..) | Kind::Whole(..) => vec![json!("9".repeat(MEGABYTE))],
    }
}

/// True if a caller that gave too much is told so, and nothing broke.
fn is_refused(status: u16) -> bool {
    (400..500).contains(&status)
}

async fn lives(house: &House) {
    let said = house.say("what is 2 + 2?").await;
    assert!(said["reply"].as_str().is_some_and(|reply| reply.contains('4')), "{said}");
    let status = house.get("/v1/status").await.body;
    for region in status["regions"].as_array().expect("rooms") {
        assert!(region["restarts"] == 0 && region["state"] == "running", "{region}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_in_each_field_of_each_route_is_refused_and_the_brain_lives() {
    let house = roomy().await;
    // Paths that end or break something when asked are covered by other tests.
    let is_left = |path: &str| path.starts_with("/v1/chaos") || path.starts_with("/hooks");
    for route in ROUTES.iter().filter(|route| !is_left(route.path)) {
        let path = route.path.replace("{id}", "x").replace("{tool}", "memory_recall");
        if let Wanted::Object(fields) = route.body {
            for field in fields {
                for value in large(field) {
                    let mut body: serde_json::Map<String, Value> = fields
                        .iter()
                        .filter(|one| one.is_required)
                        .map(|one| (one.name.to_owned(), small(one)))
                        .collect();
                    body.insert(field.name.into(), value);
                    let told = house.post(&path, &body.into()).await;
                    let is_stop = path == "/v1/stop";
                    assert!(
                        is_refused(told.status) || (is_stop && told.status == 200),
                        "{path} {}: {}",
                        field.name,
                        told.status
                    );
                    if matches!(field.kind, Kind::Text | Kind::Words(_) | Kind::Spoken) && !is_stop {
                        assert!(matches!(told.status, 413 | 422), "{path} {}: {}", field.name, told.body);
                        assert!(told.body.to_string().contains(field.name), "{}", told.body);
                    }
                    assert!(told.body.to_string().len() < 2000, "{path}: what was sent isn't sent back");
                }
            }
        }
        for field in route.query {
            if matches!(field.kind, Kind::Text | Kind::Words(_)) {
                let long = "x".repeat(2 * bounds::FIELD.limit);
                let (name, path) = (field.name, &path);
                let url = house.url(&format!("{path}?{name}={long}"));
                let request = if route.method == "post" { house.client.post(url) } else { house.client.get(url) };
                let told = tell(request).await;
                assert_eq!(told.status, 422, "{path} {name}: {}", told.body);
            }
        }
        if route.path.contains('{') {
            let long = route.path.replace("{id}", &"x".repeat(1000)).replace("{tool}", &"x".repeat(1000));
            let told =
                if route.method == "post" { house.post(&long, &json!({})).await } else { house.get(&long).await };
            assert_eq!(told.status, 414, "{}: {}", route.path, told.body);
        }
    }
    house.post("/v1/reset", &json!({})).await;
    house.post("/v1/resume", &json!({})).await;
    lives(&house).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_senders_and_reasons_without_end_are_refused_or_cut_and_hold_no_room() {
    let house = roomy().await;
    for n in 0..30 {
        let long = format!("{n}{}", "x".repeat(900_000));
        let told = house.post("/v1/percepts", &json!({"text": "hello", "provider_id": long})).await;
        refused(&told, 422, &["provider_id", "512"]);
        let told = house.post("/v1/percepts", &json!({"text": "hello", "sender": long})).await;
        refused(&told, 422, &["sender", "320"]);
        let told =
            house.post("/v1/observations", &json!({"objects": [{"name": &long[..200_000], "confidence": 1}]})).await;
        refused(&told, 422, &["objects", "200"]);
        let asked = json!({"messages": [{"role": "user", "content": "hello"}], "user": long});
        assert_eq!(house.post("/v1/chat/completions", &asked).await.status, 422);
    }
    let keyed = house.client.post(house.url("/v1/chat/completions")).header("idempotency-key", "k".repeat(300));
    let told = tell(keyed.body(json!({"messages": [{"role": "user", "content": "hello"}]}).to_string())).await;
    assert_eq!(told.status, 422, "{}", told.body);
    let stopped = house.post("/v1/stop", &json!({"reason": "x".repeat(MEGABYTE)})).await;
    assert!(stopped.status == 200 && stopped.body["latched"] == true, "{}", stopped.body);
    let status = house.get("/v1/status").await.body;
    let reason = status["stop"]["reason"].as_str().expect("a reason");
    assert!(reason.len() <= bounds::REASON.limit && reason.ends_with("(cut)"), "{}", reason.len());
    house.post("/v1/reset", &json!({})).await;
    house.post("/v1/resume", &json!({})).await;
    lives(&house).await;
    house.close().await;
}

/// Sends bytes as they are, and returns the answer as far as it comes.
async fn raw(house: &House, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(house.address).await.expect("connected");
    // It may be refused, and closed, before all of it is read.
    let _ = stream.write_all(sent).await;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    let reading = async {
        while let Ok(read) = stream.read(&mut piece).await {
            if read == 0 {
                break;
            }
            answer.extend_from_slice(&piece[..read]);
            if answer.windows(4).any(|end| end == b"\r\n\r\n") {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("it answers or closes");
    String::from_utf8_lossy(&answer).into_owned()
}

fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_are_bounded_and_no_request_is_smuggled_in_another() {
    let house = roomy().await;
    let long = "x".repeat(MEGABYTE);
    for head in [
        format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: {long}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "a: b\r\n".repeat(bounds::HEADERS.limit + 1)),
        format!("{long} / HTTP/1.1\r\n\r\n"),
    ] {
        let answer = raw(&house, head.as_bytes()).await;
        assert!(answer.is_empty() || is_refused(status_of(&answer)), "{}", &answer[..answer.len().min(200)]);
    }
    // Two lengths, a length and chunks, invalid chunks: the rest is not a separate request.
    let inner = "POST /v1/stop HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    for (headers, body) in [
        ("content-length: 5\r\ncontent-length: 6".to_owned(), format!("hello{inner}")),
        ("transfer-encoding: identity, chunked, identity".to_owned(), format!("0\r\n\r\n{inner}")),
        ("transfer-encoding: xchunked".to_owned(), format!("0\r\n\r\n{inner}")),
        ("content-length: -1".to_owned(), inner.to_owned()),
        ("content-length: 0x5".to_owned(), inner.to_owned()),
        (format!("content-length: 5\r\ntransfer-encoding: chunked, {long}"), inner.to_owned()),
        (format!("content-length : {}", inner.len()), inner.to_owned()),
        ("transfer-encoding: chunked".to_owned(), format!("zz\r\n{inner}")),
        ("transfer-encoding: chunked".to_owned(), format!("ffffffffffffffffff\r\n{inner}")),
    ] {
        let sent = format!("POST /v1/percepts HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n{body}");
        let answer = raw(&house, sent.as_bytes()).await;
        assert!(answer.is_empty() || is_refused(status_of(&answer)), "{headers}: {answer}");
    }
    // RFC 9112, 6.3: chunks count, and the connection ends behind them.
    let both = format!(
        "POST /v1/percepts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{inner}"
    );
    raw(&house, both.as_bytes()).await;
    assert_eq!(house.get("/v1/status").await.body["stop"]["latched"], false, "nothing that was hidden was heard");
    lives(&house).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_door() {
    let house = House::open().await;
    for path in [
        "/../../etc/passwd",
        "/page/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/page.css/../../../etc/passwd",
        "/page.js%00.png",
        "/.git/config",
        "/v1/../latch.json",
        "/\\..\\etc",
    ] {
        let sent = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let answer = raw(&house, sent.as_bytes()).await;
        assert!(is_refused(status_of(&answer)) && !answer.contains("root:"), "{path}: {answer}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_bodies_and_control_fields_are_refused_by_name_and_change_nothing() {
    let house = House::open().await;
    let deep = "[".repeat(100_000);
    let deep_object = format!("{}1{}", "{\"text\":".repeat(10_000), "}".repeat(10_000));
    let bodies: [&[u8]; 24] = [
        b"{",
        b"}",
        b"[",
        b"[]",
        b"null",
        b"true",
        b"7",
        b"\"text\"",
        b"{\"text\"}",
        b"{\"text\":}",
        b"{\"text\": hello}",
        b"{'text': 'hello'}",
        b"{\"text\": \"hello\"",
        b"{\"text\": \"hello\"} x",
        b"{\"text\": \"\\ud800\"}",
        b"{\"text\": \"\xff\xfe\"}",
        b"\xef\xbb\xbf{\"text\": \"hello\"}",
        b"{\"text\": NaN}",
        b"{\"text\": 1e999}",
        b"{\"text\": [\"hello\"]}",
        b"text=hello",
        b"<text>hello</text>",
        deep.as_bytes(),
        deep_object.as_bytes(),
    ];
    for body in bodies {
        let told = house.post_raw("/v1/percepts", body.to_vec()).await;
        assert!(is_refused(told.status), "{}: {}", String::from_utf8_lossy(&body[..body.len().min(40)]), told.status);
    }
    for (field, value) in [
        ("salience", json!(1.0)),
        ("novelty", json!(1)),
        ("hard_override", json!("HARD_STOP")),
        ("trust", json!("owner")),
        ("interests", json!(["x"])),
        ("source", json!("speech")),
        ("heard", json!(1)),
        ("is_signed", json!(true)),
    ] {
        let told = house.post("/v1/percepts", &json!({"text": "hello", field: value})).await;
        refused(&told, 400, &[field, "unknown"]);
    }
    assert_eq!(house.get("/v1/status").await.body["stop"]["latched"], false);
    lives(&house).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_bounds_its_fields_its_frames_and_how_many_there_are() {
    let house = roomy().await;
    let mut socket = house.socket().await;
    for field in ["sender", "provider_id", "text"] {
        let mut said = json!({"text": "hello"});
        said[field] = "x".repeat(500_000).into();
        socket.send(Message::Text(said.to_string().into())).await.expect("sent");
        let told = loop {
            if let Message::Text(text) = socket.next().await.expect("open").expect("a message") {
                break text;
            }
        };
        assert!(told.contains("\"error\"") && told.contains(field), "{told}");
    }
    let _ = socket.send(Message::Text("x".repeat(3 * MEGABYTE).into())).await;
    while let Some(Ok(message)) = socket.next().await {
        assert!(message.is_close() || message.is_ping(), "{message:?}");
    }
    let mut open = Vec::new();
    let mut others = Vec::new();
    for _ in 0..100 {
        match house.try_socket().await {
            Ok(socket) => open.push(socket),
            Err(error) => others.push(error.to_string()),
        }
    }
    assert_eq!(open.len(), bounds::PEER_SOCKETS.limit, "{others:?}");
    assert!(others.iter().all(|why| why.contains("503")), "{others:?}");
    lives(&house).await;
    drop(open);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_carried_out_when_its_head_has_come_though_its_body_never_does() {
    for hangs_up in [false, true] {
        let house = House::open().await;
        let mut stream = TcpStream::connect(house.address).await.expect("connected");
        let head = format!("POST /v1/stop HTTP/1.1\r\nhost: {}\r\ncontent-length: 20\r\n\r\n", house.address);
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut stream = Some(stream);
        if hangs_up {
            stream = None;
        }
        let stopped = async {
            while !house.served.agent.frame.latch.is_stopped() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), stopped).await.expect("it is stopped");
        drop(stream);
        house.close().await;
    }
}
