//! The worker with a server that records requests in order.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use maxim_bus::MessageId;
use serde_json::{Value as Json, json};

use super::*;

/// Requests with their model, in order of arrival.
type Arrived = mpsc::Receiver<(String, String)>;

/// Answers each call; the first one only when released.
fn server() -> (String, Arrived, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("its address"));
    let (arrives, arrived) = mpsc::channel();
    let (lets, mut let_first) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (arrives, held) = (arrives.clone(), std::mem::replace(&mut let_first, mpsc::channel().1));
            thread::spawn(move || answer(stream.expect("a connection"), &arrives, &held));
        }
    });
    (address, arrived, lets)
}

fn answer(mut stream: TcpStream, arrives: &mpsc::Sender<(String, String)>, held: &mpsc::Receiver<()>) {
    let mut reader = BufReader::new(stream.try_clone().expect("two ends"));
    let mut length = 0;
    for line in reader.by_ref().lines() {
        let line = line.expect("a header").to_lowercase();
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let asked: Json = serde_json::from_slice(&body).expect("JSON");
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    arrives.send((text(&asked["model"]), text(&asked["messages"][1]["content"]))).expect("somebody looks");
    let _ = held.recv();
    let reply = json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "well"}}],
        "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0},
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}",
        reply.len()
    );
    write!(stream, "{head}\r\n\r\n{reply}").expect("written");
}

fn line(base_url: &str) -> Line {
    let role = |model: &str, prompt| Role { model: model.into(), price: Price { prompt, reply: 0.0 } };
    let server = ModelServer {
        base_url: base_url.into(),
        roles: Box::new(Roles { review: role("small", 1.0), act: role("quick", 2.0), deliberate: role("large", 3.0) }),
        api_key: String::new(),
        roots: Roots::of(base_url, None).expect("roots"),
        format: Arc::default(),
        stream: false,
        timeout: Duration::from_secs(60),
        calls: CallQueue::new(1),
    };
    Line::to(server).expect("a line")
}

fn call(purpose: Purpose, user: &str) -> ModelCall {
    let id = MessageId::from_parts(1, 1);
    let (system, user) = (String::new(), user.to_owned());
    ModelCall { call: id, turn: id, purpose, system, user, max_tokens: 100, tools: Vec::new(), form: None }
}

#[tokio::test]
async fn where_one_may_call_at_once_acting_goes_before_thinking_and_a_review_beside_them() {
    let (address, arrived, lets) = server();
    let line = Arc::new(line(&address));
    let asks = |purpose, name: &'static str| {
        let line = Arc::clone(&line);
        tokio::spawn(async move { line.call(&call(purpose, name), &StopLatch::in_memory()).await })
    };
    let come = || async {
        loop {
            match arrived.try_recv() {
                Ok(one) => break one,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let mut replies = vec![asks(Purpose::Deliberate, "a long thought")];
    assert_eq!(come().await, ("large".to_owned(), "a long thought".to_owned()));
    for (purpose, name) in [(Purpose::Deliberate, "a thought"), (Purpose::Act, "an act"), (Purpose::Act, "another")] {
        replies.push(asks(purpose, name));
        let waiting = replies.len() - 1;
        while line.server.calls.waiting() < waiting {
            tokio::task::yield_now().await;
        }
    }
    replies.push(asks(Purpose::Review, "a review"));
    assert_eq!(come().await, ("small".to_owned(), "a review".to_owned()), "it waits for no thought");
    lets.send(()).expect("it is held");
    for expected in [("quick", "an act"), ("quick", "another"), ("large", "a thought")] {
        assert_eq!(come().await, (expected.0.to_owned(), expected.1.to_owned()));
    }
    let (mut paid, mut requests) = (Vec::new(), Vec::new());
    for reply in replies {
        let reply = reply.await.expect("no panic");
        paid.push(reply.money);
        requests.push(reply.request_hash);
    }
    assert_eq!(requests[0], call(Purpose::Deliberate, "a long thought").hash());
    requests.sort_unstable();
    requests.dedup();
    assert_eq!(requests.len(), 5, "the journal knows each request from the others");
    assert_eq!(paid, [3.0, 3.0, 2.0, 2.0, 1.0], "each role has its price");
}

/// A server that streams these pieces for ever. Counts the bytes that it has sent.
fn endless(piece: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("its address"));
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.expect("a connection"), Arc::clone(&count));
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("two ends"));
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let many = piece.repeat((1 << 16) / piece.len());
                let _ = stream.write_all(head.as_bytes());
                while stream.write_all(&many).is_ok() {
                    count.fetch_add(many.len(), Ordering::SeqCst);
                }
            });
        }
    });
    (address, written)
}

const DELTA: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const REASONING: &[u8] = b"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\n";

#[tokio::test]
async fn an_endless_line_or_stream_ends_as_a_fault_long_before_the_calls_time() {
    for (piece, why) in [
        (&b"x"[..], "a line or event of a reply's stream: more than 1048576 bytes"),
        (b"data: x", "a line or event of a reply's stream: more than 1048576 bytes"),
        (b"data: 1\n", "a line or event of a reply's stream: more than 1048576 bytes"),
        (b": remark\n", "a reply's stream: more than 67108864 bytes"),
        (b"junk: x\n\n", "a reply's stream: more than 67108864 bytes"),
        (DELTA, "events of a reply's stream: more than 150000"),
        (REASONING, "events of a reply's stream: more than 150000"),
        (b"data: {}\n\n", "events of a reply's stream: more than 150000"),
    ] {
        let (address, _) = endless(piece);
        let reply = line(&address).call(&call(Purpose::Act, "hello"), &StopLatch::in_memory()).await;
        let error = reply.error.expect("a fault");
        assert!(error.contains(why) && error.contains(&address), "{piece:?}: {error}");
        assert!(reply.text.is_none());
    }
}

#[tokio::test]
async fn nothing_is_fetched_of_a_stream_while_nobody_takes_what_has_come() {
    let (address, written) = endless(DELTA);
    let url = format!("{address}/chat/completions");
    let client = http_client::builder(&Roots::Nobody).no_proxy().build().expect("a client");
    let mut events = Events::of(client.post(url).send().await.expect("an answer")).await.expect("a stream");
    events.next().await.expect("within bounds").expect("an event");
    // It writes until the kernel's buffers are full, and then not a byte more, although it has had a hundred chances.
    let (mut before, mut calm) = (0, 0);
    while calm < 100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = written.load(Ordering::SeqCst);
        calm = if now == before { calm + 1 } else { 0 };
        before = now;
        assert!(before < 32 << 20, "{before} bytes were taken, and one event");
    }
    for _ in 0..1000 {
        events.next().await.expect("within bounds").expect("an event");
    }
}
