//! Wrong input at each door names the thing and the fix, ends with the right code, and loses nothing.

use std::fs;

use serde_json::json;

use crate::harness::Place;

#[test]
fn a_second_instance_is_told_who_holds_the_folder() {
    let place = Place::new();
    let daemon = place.start();
    let (code, _, err) = place.cli(&["run", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 75, "{err}");
    assert!(err.contains(&daemon.pid().to_string()), "names the holder: {err}");
    assert!(daemon.say("hello")["reply"].is_string(), "the first goes on");
}

#[test]
fn a_port_in_use_is_named_with_the_flag_that_helps() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, _, err) = place.cli(&["run", "--listen", &address]);
    assert_eq!(code, 75, "{err}");
    assert!(err.contains(&address) && err.contains("--listen"), "{err}");
}

#[test]
fn bad_bodies_are_refused_by_name_and_nothing_is_lost() {
    let place = Place::new();
    let daemon = place.start();
    let (status, problem) = daemon.post("/v1/percepts", &json!({ "txet": "hello" }));
    assert_eq!(status, 400, "{problem}");
    assert!(problem.to_string().contains("txet"), "{problem}");
    let (status, problem) = daemon.post_raw("/v1/percepts", "{\"text\": ".into());
    assert_eq!(status, 400, "{problem}");
    let (status, problem) = daemon.post("/v1/percepts", &json!({ "text": "x".repeat(4 << 20) }));
    assert_eq!(status, 413, "{problem}");
    assert_eq!(daemon.get("/v1/percept").0, 404);
    assert!(daemon.say("hello")["reply"].is_string());
}

#[test]
fn a_repeated_provider_id_is_the_same_message() {
    let place = Place::new();
    let daemon = place.start();
    let message = json!({ "text": "remember that tea is at four", "provider_id": "SM77" });
    let first = daemon.post("/v1/percepts", &message).1;
    daemon.kill();
    let daemon = place.start();
    let again = daemon.post("/v1/percepts", &message).1;
    assert_eq!(first["id"], again["id"]);
    assert!(first["id"].is_string());
}

#[test]
fn a_bad_line_of_an_import_is_told_with_its_number_and_the_rest_is_in() {
    let place = Place::new();
    let daemon = place.start();
    let file = place.root.path().join("episodes.jsonl");
    let lines = [
        r#"{"id": "a", "text": "the red cup is on the shelf", "people": ["Anna"], "timestamp": "2026-01-05T09:00:00Z"}"#,
        r#"{"text": "no such field", "txet": 1}"#,
        r#"{"id": "c", "tool": "move", "params": {"x": 1}, "success": false, "goal": "fetch cup"}"#,
        "{",
    ];
    fs::write(&file, lines.join("\n")).expect("written");
    let (code, out, err) = place.cli(&["memory", "import", file.to_str().expect("text"), "--all", "--json"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(out.contains("\"line\":2") && out.contains("txet") && out.contains("\"line\":4"), "{out}");
    daemon.kill();
    let daemon = place.start();
    let found = daemon.get("/v1/memory/recall?query=red+cup+shelf").1;
    assert_eq!(found["results"][0]["id"], "a", "{found}");
    let failed = daemon.get("/v1/memory/recall?tool_name=move&success=false").1;
    assert_eq!(failed["results"][0]["id"], "c", "{failed}");
}

#[test]
fn it_ends_in_order_and_says_at_the_next_start_how_it_ended() {
    let place = Place::new();
    let daemon = place.start();
    daemon.say("hello");
    assert_eq!(daemon.end(), 0);
    let daemon = place.start();
    daemon.until("it has told", || daemon.heard().contains("ended in order"));
    daemon.kill();
    let daemon = place.start();
    daemon.until("it has told", || daemon.heard().contains("without warning"));
}
