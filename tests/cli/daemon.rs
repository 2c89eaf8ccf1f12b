//! Requests to a daemon, the handling of its answers, and messages without a daemon.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::door::door;
use crate::home::{Home, note};

#[test]
fn without_a_daemon_each_command_says_what_it_tried() {
    let home = Home::new();
    let commands: &[&[&str]] = &[
        &["status"],
        &["send", "hello"],
        &["reset"],
        &["resume"],
        &["hold", "5s"],
        &["redirect", "dock"],
        &["top"],
        &["why"],
        &["memory", "recall", "cup"],
        &["memory", "stats"],
        &["chaos", "list"],
        &["stop"],
    ];
    for command in commands {
        let done = home.run(command);
        assert_eq!((done.code, done.out.as_str()), (Some(75), ""), "{command:?} {done:?}");
        assert!(done.err.contains("~/.local/state/maxim/daemon.json"), "{command:?} {done:?}");
    }
    insta::assert_snapshot!(home.run(&["status"]).err, @"maxim: no daemon is running; tried ~/.local/state/maxim/daemon.json, which isn't there; start one with `maxim run`, or name it with --url or --data");
    // Nothing listens on port 1.
    let url = "http://127.0.0.1:1".to_owned();
    note(&home, &url, 1);
    let done = home.run(&["status"]);
    assert_eq!(done.code, Some(75));
    assert!(done.err.contains(&url) && done.err.contains("daemon.json, process 1"), "{}", done.err);
    let done = home.run(&["status", "--url", &url, "--json"]);
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!((done.code, &error["exit_code"]), (Some(75), &json!(75)));
    assert_eq!(home.run(&["status", "--url", "ftp://x"]).code, Some(2));
    assert_eq!(home.run(&["doctor"]).code, Some(1), "a note that leads nowhere is a fault");
}

#[test]
fn a_percept_is_sent_and_its_reply_printed() {
    let home = Home::new();
    let reply = json!({"id": "p1", "reply": "It is on\u{1b}[2J the table.", "actions": [
        {"tool": "move", "params": {"x": 1}, "status": "unavailable", "success": false},
        {"tool": "bash", "params": {}, "status": "asked"}, {"tool": "glob", "params": {}, "status": "done", "success": true}]});
    let daemon = door(vec![
        (202, json!({"id": "p0", "durable": true})),
        (200, reply),
        (202, json!({"id": "p2", "durable": true})),
    ]);
    note(&home, &daemon.url, 1);
    let done = home.run(&["send", "hello"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "accepted p0\n"), "{done:?}");
    let done = home.run_with(
        &["send", "where is the cup?", "--wait", "--timeout", "2"],
        "MAXIM__HTTP__TOKEN",
        "s3cret-of-the-owner",
    );
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "It is on [2J the table.\n* move {\"x\":1} (unavailable)\n* bash {} (asked)\n* glob {} (done)\n"),
        "{done:?}"
    );
    let done = home.run(&["send", "hello", "--wait", "--timeout", "0"]);
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""));
    assert!(done.err.contains("accepted as p2"), "{}", done.err);
    let asked = daemon.asked.join().expect("served");
    assert_eq!(asked[0].body, json!({"text": "hello", "channel": "console"}));
    assert_eq!(asked[1].line, "POST /v1/percepts HTTP/1.1");
    assert_eq!(asked[1].body["wait_s"], 2.0);
    assert_eq!((asked[0].token.as_deref(), asked[1].token.as_deref()), (None, Some("Bearer s3cret-of-the-owner")));
}

#[test]
fn preemption_sends_its_parameters_and_prints_the_measured_latency() {
    let home = Home::new();
    let held = json!({"latched": false, "latency_us": 1234, "cancelled": ["goal fetch"]});
    let daemon = door(vec![(200, held.clone()), (200, held.clone()), (200, held.clone()), (200, held)]);
    let url = daemon.url.as_str();
    let done = home.run(&["hold", "5min", "--url", url]);
    insta::assert_snapshot!(done.out, @r#"
    hold in 1.234 ms
      cancelled: goal fetch
      latched: false
    "#);
    assert_eq!(home.run(&["hold", "--url", url]).code, Some(0));
    assert_eq!(home.run(&["hold", "soon", "--url", url]).code, Some(2));
    let done = home.run(&["redirect", "dock", "--url", url, "--json"]);
    assert_eq!((&done.json()["latency_us"], done.json()["round_trip_us"].is_u64()), (&json!(1234), true));
    assert_eq!(home.run(&["reset", "--url", url]).code, Some(0));
    let asked = daemon.asked.join().expect("served");
    let sent: Vec<_> = asked.iter().map(|asked| (asked.line.as_str(), asked.body.clone())).collect();
    assert_eq!(
        sent,
        [
            ("POST /v1/hold HTTP/1.1", json!({"duration_s": 300})),
            ("POST /v1/hold HTTP/1.1", json!({})),
            ("POST /v1/redirect HTTP/1.1", json!({"goal": "dock"})),
            ("POST /v1/reset HTTP/1.1", json!({})),
        ]
    );
}

#[test]
fn a_refusal_keeps_the_daemons_words_and_maps_to_an_exit_code() {
    let home = Home::new();
    let cases = [(422, 2), (401, 78), (404, 1), (409, 1), (429, 75), (503, 75), (500, 70)];
    for (status, code) in cases {
        let daemon =
            door(vec![(status, json!({"title": "no", "detail": "the region amygdala is unknown", "status": status}))]);
        let done = home.run(&["chaos", "panic", "amygdala", "--url", &daemon.url]);
        assert_eq!(done.code, Some(code), "{status}: {done:?}");
        assert!(done.err.starts_with("maxim: the region amygdala is unknown; "), "{}", done.err);
        let asked = daemon.asked.join().expect("served");
        assert_eq!(
            (asked[0].line.as_str(), &asked[0].body),
            ("POST /v1/chaos/panic HTTP/1.1", &json!({"region": "amygdala"}))
        );
    }
}

#[test]
fn the_status_is_a_table_for_people_and_the_document_for_programs() {
    let home = Home::new();
    let status = json!({
        "state": "stopped", "version": "0.1.0",
        "stop": {"latched": true, "reason": "smoke", "at": "2026-01-05T09:00:00Z", "by": "Anna"},
        "regions": [
            {"name": "hippocampus", "state": "running", "restarts": 0, "inbox_depth": 12, "p99_us": 340},
            {"name": "fear_agent", "state": "held", "restarts": 5, "inbox_depth": 0, "p99_us": 8},
        ],
        "body": {"driver": "none"}, "disk": {"free_bytes": 1}, "llm": {"state": "off"}, "memory": {"episodic": 3},
        "encoder": {"name": "gull", "state": "failing", "encoded": 3, "of": 9, "problem": "nobody is there"},
    });
    let daemon = door(vec![(200, status.clone()), (200, status.clone()), (200, status.clone()), (200, status.clone())]);
    note(&home, &daemon.url, 1);
    insta::assert_snapshot!(home.run(&["status"]).out, @r#"
    stopped maxim 0.1.0
    latched at 2026-01-05T09:00:00Z by Anna: smoke
    clear it with `maxim reset`

    region       state    restarts  inbox  p99 us
    hippocampus  running         0     12     340
    fear_agent   held            5      0       8

    body
      driver: none

    disk
      free_bytes: 1

    llm
      state: off

    memory
      episodic: 3

    encoder
      encoded: 3
      name: gull
      of: 9
      problem: nobody is there
      state: failing
    "#);
    assert_eq!(home.run(&["status", "--json"]).json(), status);
    assert_eq!(home.run(&["top", "--count", "1", "--json"]).json(), status);
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!((doctor.code, &doctor.json()["ok"]), (Some(1), &json!(false)));
    let findings = doctor.json()["findings"].clone();
    let fault = findings.as_array().expect("a list").iter().find(|finding| finding["name"] == "fear_agent").cloned();
    assert_eq!(fault.expect("named")["health"], "fault");
    let encoder = findings.as_array().expect("a list").iter().find(|finding| finding["name"] == "encoder.daemon");
    let found = &encoder.expect("named")["found"];
    assert_eq!(*found, "failing, 3 of 9 encoded: nobody is there");
}

#[test]
fn recall_prints_a_line_each_and_an_import_counts_and_names_bad_lines() {
    let home = Home::new();
    let line = json!({"id": "e1", "score": 0.5, "via": "text", "timestamp": "2026-01-05T09:00:00Z", "goal": null,
        "tool": "move", "success": false, "text": "the red cup"});
    let daemon = door(vec![
        (200, json!({"results": [line.clone(), line.clone()]})),
        (200, json!({"results": [line.clone()]})),
        (
            200,
            json!({"imported": 1, "skipped": {"unremarkable": 1}, "errors": [{"line": 2, "reason": "unknown field foo"}]}),
        ),
    ]);
    note(&home, &daemon.url, 1);
    let done = home.run(&["memory", "recall", "red cup", "--tool", "move", "--success", "false", "--json"]);
    assert_eq!((done.code, done.out.lines().count()), (Some(0), 2));
    assert_eq!(serde_json::from_str::<Value>(done.out.lines().next().expect("a line")).expect("JSON"), line);
    insta::assert_snapshot!(home.run(&["memory", "recall", "red cup"]).out, @r#"
    score  via   time                  goal  tool           text
    0.500  text  2026-01-05T09:00:00Z  -     move (failed)  the red cup
    "#);
    home.write("work/e.jsonl", "{\"text\": \"a\"}\n{\"foo\": 1}\n{\"text\": \"b\"}\n");
    let done = home.run(&["memory", "import", "e.jsonl", "--all"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(2), "imported: 1\nskipped:\n  unremarkable: 1\nline 2: unknown field foo\n"),
        "{done:?}"
    );
    assert_eq!(home.run(&["memory", "import", "absent.jsonl"]).code, Some(2));
    let asked = daemon.asked.join().expect("served");
    assert_eq!(asked[0].line, "GET /v1/memory/recall?query=red+cup&tool_name=move&success=false&limit=5 HTTP/1.1");
    assert_eq!(asked[2].line, "POST /v1/memory/import?all=true&first_line=1 HTTP/1.1");
    assert_eq!(asked[2].body, json!("{\"text\": \"a\"}\n{\"foo\": 1}\n{\"text\": \"b\"}\n"));
}

#[test]
fn chat_answers_line_by_line_in_a_pipe() {
    let home = Home::new();
    let daemon = door(vec![
        // It first asks for events besides its own lines, and continues without them if the answer is 404.
        (404, json!({})),
        (200, json!({"id": "1", "reply": "one", "actions": []})),
        (200, json!({"latched": true, "latency_us": 5})),
        (200, json!({"id": "2", "reply": "two", "actions": []})),
    ]);
    note(&home, &daemon.url, 1);
    let mut chat =
        home.command(&["chat", "--plain"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    chat.stdin.take().expect("a pipe").write_all(b"first\n\n!\nsecond\n").expect("typed");
    let done = home.done(chat.wait_with_output().expect("ends"));
    assert_eq!((done.code, done.out.as_str()), (Some(0), "one\nstopped; clear it with `maxim reset`\ntwo\n"));
    let lines: Vec<_> = daemon.asked.join().expect("served").into_iter().map(|asked| asked.line).collect();
    assert_eq!(lines[0], "GET /v1/events?type=TurnEnded%2COutbound%2CGoalWished%2CGoalChanged HTTP/1.1");
    assert_eq!(lines[2], "POST /v1/stop HTTP/1.1");
}
