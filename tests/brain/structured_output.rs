//! A model server that has some forms of structured output and lacks others.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use maxim::config::Settings;
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// The forms in which replies were asked for, in order; `-` where none was named.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that refuses the forms named; its base URL, and what it was asked.
fn server(refused: &'static [&'static str]) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, refused, &told);
        }
    });
    (url, asked)
}

fn answer(mut stream: TcpStream, refused: &[&str], asked: &Asked) -> std::io::Result<()> {
    let (mut read, mut part) = (Vec::new(), [0; 4096]);
    let body: Value = loop {
        let count = stream.read(&mut part)?;
        read.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&read);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        match body.and_then(|body| serde_json::from_str(body).ok()) {
            Some(body) => break body,
            None if count == 0 => return Ok(()),
            None => {}
        }
    };
    let form = body["response_format"]["type"].as_str().unwrap_or("-").to_owned();
    let is_refused = refused.contains(&form.as_str());
    asked.lock().expect("no panic").push(form);
    let action = json!({ "tool_name": "respond", "params": { "message": "Gulls are fine." } });
    let said = json!({ "ready_to_act": true, "action": action, "reasoning": "I answer.", "confidence": 0.9 });
    let (status, body) = if is_refused {
        (
            "400 Bad Request",
            json!({ "error": { "message": "this form isn't supported", "type": "invalid_request_error" } }),
        )
    } else {
        let message = json!({ "role": "assistant", "content": said.to_string() });
        ("200 OK", json!({ "choices": [{ "index": 0, "finish_reason": "stop", "message": message }] }))
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json");
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// What two questions were asked for in, and the second answer.
fn two_questions(refused: &'static [&'static str]) -> (Vec<String>, String) {
    let (url, asked) = server(refused);
    let mut settings = Settings::default();
    (settings.llm.base_url, settings.llm.model) = (Some(url), Some("gull".into()));
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    bench.say("what do you think of gulls?");
    let reply = bench.say("and what do you think of terns?").reply.unwrap_or_default();
    let asked = asked.lock().expect("no panic").clone();
    (asked, reply)
}

#[test]
fn a_server_with_schemas_is_asked_for_one() {
    let (asked, reply) = two_questions(&[]);
    assert_eq!(asked, ["json_schema", "json_schema"]);
    assert_eq!(reply, "Gulls are fine.");
}

#[test]
fn what_a_server_lacks_is_tried_once_and_the_answer_is_had_all_the_same() {
    let (asked, reply) = two_questions(&["json_schema"]);
    assert_eq!(asked, ["json_schema", "json_object", "json_object"]);
    assert_eq!(reply, "Gulls are fine.");
    let (asked, reply) = two_questions(&["json_schema", "json_object"]);
    assert_eq!(asked, ["json_schema", "json_object", "-", "-"]);
    assert_eq!(reply, "Gulls are fine.");
}

#[test]
fn a_server_that_refuses_everything_is_asked_in_each_form_and_habit_answers() {
    let (asked, reply) = two_questions(&["json_schema", "json_object", "-"]);
    assert_eq!(asked[..3], ["json_schema", "json_object", "-"]);
    assert!(!reply.is_empty() && !reply.contains("Gulls are fine"), "{reply}");
}
