//! Wrong input at each door: the error names the thing and the fix, the exit code is right, and nothing is lost.

use std::fs;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{PATIENCE, Place};

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
fn lines_that_nobody_will_read_are_said_to_be_so_with_the_command_that_reads_them() {
    let place = Place::new();
    let lines = place.work().join("lines.txt");
    fs::write(&lines, "hello\n").expect("written");
    let fed = fs::File::open(&lines).expect("there");
    let daemon = place.start_as(&[], |command| {
        command.stdin(fed);
    });
    daemon.until("said", || daemon.heard().contains("standard input is not read"));
    assert!(daemon.heard().contains("maxim chat --plain"), "{}", daemon.heard());
    daemon.kill();
    let daemon = place.start();
    daemon.until("ready", || daemon.heard().contains("ready in"));
    assert!(daemon.say("hello")["reply"].is_string());
    assert!(!daemon.heard().contains("standard input"), "{}", daemon.heard());
}

#[test]
fn a_port_in_use_is_named_with_the_flag_that_helps() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, _, err) = place.cli(&["run", "--listen", &address]);
    assert_eq!(code, 75, "{err}");
    let port = address.rsplit(':').next().expect("a port");
    assert!(err.contains(port) && err.contains("--listen"), "{err}");
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
fn who_asked_by_websocket_hears_there_what_the_command_line_decided() {
    let place = Place::new();
    let daemon = place.start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut socket = daemon.socket().await;
        let wish = json!({"text": "run the command git init && git reset --hard"}).to_string();
        socket.send(Message::Text(wish.into())).await.expect("sent");
        let mut until = async |kind: &str, holds: fn(&Value) -> bool| loop {
            let next =
                tokio::time::timeout(PATIENCE, socket.next()).await.expect("in time").expect("open").expect("a frame");
            let Message::Text(text) = next else { continue };
            let said: Value = serde_json::from_str(&text).expect("JSON");
            if said["type"] == kind && holds(&said) {
                return said;
            }
        };
        until("ended", |_| true).await;
        let asked: Value = serde_json::from_str(&place.cli(&["approvals", "list", "--json"]).1).expect("JSON");
        let id = asked["approvals"][0]["id"].as_str().expect("one is asked").to_owned();
        let (code, _, err) = place.cli(&["approvals", "deny", &id]);
        assert_eq!(code, 0, "{err}");
        let told = until("reply", |said| said["text"].as_str().is_some_and(|text| text.contains("isn't done"))).await;
        assert!(!place.work().join(".git").exists(), "{told}");
    });
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

#[test]
fn the_doctor_sees_a_disk_that_fails_and_motion_that_is_held() {
    let place = Place::new();
    let daemon = place.start_with(&["--chaos"]);
    let (code, told, err) = place.cli(&["doctor"]);
    assert_eq!(code, 0, "{told}{err}");
    assert_eq!(daemon.get("/v1/status").1["disk"]["damage_seen"], false, "what the doctor reads is there");
    assert_eq!(place.cli(&["stop"]).0, 0);
    assert_eq!(place.cli(&["reset"]).0, 0);
    let (code, told, _) = place.cli(&["doctor"]);
    assert!(code == 0 && told.contains("maxim resume"), "held motion is told, and no fault: {told}");
    assert_eq!(place.cli(&["chaos", "fail-disk"]).0, 0);
    daemon.post("/v1/percepts", &json!({ "text": "hello" }));
    daemon.until("degraded", || daemon.get("/v1/status").1["disk"]["status"] != "ok");
    let (code, told, _) = place.cli(&["doctor"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.lines().any(|line| line.contains("FAULT") && line.contains("disk")), "{told}");
    let (code, _, err) = place.cli(&["memory", "backup"]);
    assert!(code == 75 && err.contains("make room"), "refused with what helps: {code} {err}");
    let (code, _, err) = place.cli(&["memory", "recall", "hello"]);
    assert!(code == 75 && err.contains("make room"), "{code} {err}");
    assert_eq!(place.cli(&["chaos", "restore-disk"]).0, 0);
    daemon.until("the disk is back", || daemon.get("/v1/status").1["disk"]["status"] == "ok");
    assert_eq!(place.cli(&["memory", "backup"]).0, 0);
}

#[test]
fn a_command_is_told_of_commands_and_of_the_token_it_lacks() {
    let place = Place::new();
    let daemon = place.start_guarded("s3cret-of-the-owner");
    let (code, _, err) = place.cli(&["status"]);
    assert!(code == 78 && err.contains("MAXIM__HTTP__TOKEN") && !err.contains("Authorization"), "{code} {err}");
    let told = |args: &[&str]| {
        let mut command = place.command();
        command.env("MAXIM__HTTP__TOKEN", "s3cret-of-the-owner").arg("--data").arg(place.data()).args(args);
        let done = command.output().expect("runs");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    assert_eq!(told(&["stop"]).0, Some(0));
    let (code, err) = told(&["resume"]);
    assert!(code == Some(1) && err.contains("maxim reset") && !err.contains("/v1/"), "{err}");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(place.data().join(name)).expect("it is there").permissions().mode() & 0o077
    };
    assert_eq!((mode("daemon.json"), mode("latch.json")), (0, 0), "for its user alone");
    drop(daemon);
}

#[test]
fn a_tool_is_shown_from_its_own_description_and_a_wrong_name_gets_the_nearest() {
    let place = Place::new();
    let _daemon = place.start();
    let (code, told, err) = place.cli(&["tools", "show", "edit_file"]);
    assert_eq!(code, 0, "{err}");
    for words in [
        "edit_file: Replaces text",
        "effect reversible",
        "old_string: a string",
        "required",
        "default 1",
        "also file",
        "example: {",
        "said as: replace ",
    ] {
        assert!(told.contains(words), "{words:?} is missing in {told}");
    }
    let (_, told, _) = place.cli(&["tools", "show", "move"]);
    assert!(told.contains("not available: "), "{told}");
    let (code, _, err) = place.cli(&["tools", "show", "edit_fiel"]);
    assert!(code == 2 && err.contains("did you mean edit_file?"), "{err}");
}
