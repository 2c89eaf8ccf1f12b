//! `maxim mcp` with hand-written messages: only the protocol appears on standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::Place;

/// Sends these lines; returns all answers until the end, one JSON object per line.
fn speak(place: &Place, messages: &[Value], answers: usize) -> Vec<Value> {
    let mut command = place.command();
    command.env("MAXIM_LOG", "trace").arg("--data").arg(place.data()).arg("mcp");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    messages.iter().for_each(|message| writeln!(stdin, "{message}").expect("spoken"));
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut heard = Vec::new();
    while heard.len() < answers {
        let line = lines.next().expect("an answer").expect("text");
        heard.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}")));
    }
    drop(stdin);
    assert_eq!(lines.count(), 0, "nothing but answers");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    heard
}

fn initialize() -> [Value; 2] {
    let client = json!({"name": "hand", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn without_a_daemon_the_tools_are_listed_and_each_call_says_what_is_missing() {
    let place = Place::new();
    let [hello, ready] = initialize();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let heard = speak(&place, &[hello, ready, list, call(3, "system_stats", &json!({}))], 3);
    assert_eq!(heard[0]["result"]["serverInfo"]["name"], "maxim");
    let answer = |id: u64| heard.iter().find(|answer| answer["id"] == id).expect("answered");
    assert!(answer(2)["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{heard:?}");
    assert_eq!(answer(3)["result"]["isError"], true);
    assert!(answer(3).to_string().contains("maxim run"), "it says how to help it: {}", answer(3));
}

#[test]
fn every_introspection_tool_answers_with_the_daemons_own_result_and_no_other_tool_is_there() {
    let place = Place::new();
    let daemon = place.start();
    daemon.say("remember that tea is at four");
    let (_, listed) = daemon.get("/v1/tools");
    let all = listed["tools"].as_array().expect("tools");
    let questions: Vec<&str> =
        all.iter().filter(|tool| tool["introspection"] == true).filter_map(|tool| tool["name"].as_str()).collect();
    let arguments = |tool: &str| match tool {
        "memory_recall" | "discover_tools" => json!({"query": "tea"}),
        "predict_outcome" | "similarity_search" => json!({"tool_name": "bash"}),
        "math" => json!({"expression": "1 + 2"}),
        "concept_query" => json!({"name": "tea"}),
        "sense" | "examine" => json!({"entity": "tea"}),
        _ => json!({}),
    };
    let [hello, ready] = initialize();
    let calls = (2..).zip(&questions).map(|(id, tool)| call(id, tool, &arguments(tool)));
    let messages: Vec<Value> =
        [hello, ready].into_iter().chain(calls).chain([call(1000, "bash", &json!({}))]).collect();
    let heard = speak(&place, &messages, questions.len() + 2);
    for (id, tool) in (2_u64..).zip(&questions) {
        let answer = heard.iter().find(|answer| answer["id"] == id).expect("answered");
        assert!(answer["result"]["isError"] != true, "{tool}: {answer}");
        assert!(answer["result"]["structuredContent"].is_object(), "{tool}: {answer}");
    }
    let refused = heard.iter().find(|answer| answer["id"] == 1000).expect("answered");
    assert!(refused["error"].is_object(), "{refused}");
    assert_eq!(daemon.post("/v1/introspection/bash", &json!({})).0, 404);
    assert_eq!(daemon.post("/v1/introspection/memory_recall", &json!({"params": {"limit": 1000}})).0, 400);
}
