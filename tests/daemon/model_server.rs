//! Against an external test server for models: it answers by its prompt, records requests, and has faults on demand.
//! It is found as in `components`.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::components::{folder, node};
use crate::harness::{Daemon, PATIENCE, Place};

/// On a busy machine too, every prompt must contain all of memory's answers, because a tape matches requests.
const WHOLE: &str = "[memory]\nenrichment_deadline = \"10s\"\n";
const WISH: &str = "what would it take to get the boat ready?";

/// The experience from before the crash is slept on at the start, and a prompt says whether the brain sleeps.
fn rested(daemon: &Daemon) {
    let sleeps = || daemon.get("/v1/memory/stats").1["regions"]["consolidation"]["sleeps"].clone();
    daemon.until("it has slept", || sleeps() == 1);
}

/// The server, on a port that stays the same when it is restarted.
struct Scripted(Child);

impl Scripted {
    /// None if it isn't installed. That is printed, and is a failure where it is required.
    fn serve(port: u16, script: &Path, faults: &[&str]) -> Option<Self> {
        let program = folder()?.join("node_modules/@copilotkit/aimock/dist/cli.js");
        let Some(node) = node().filter(|_| program.is_file()) else {
            assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "missing: node, or {}", program.display());
            println!("SKIPPED: {} isn't there; .ci/run installs it", program.display());
            return None;
        };
        let mut command = Command::new(node);
        command.arg(program).args(["--strict", "--port", &port.to_string(), "--fixtures"]).arg(script).args(faults);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let server = Self(child);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the model server doesn't listen");
            std::thread::yield_now();
        }
        Some(server)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// A folder whose brain uses this server; and the script, which knows only the prompt.
fn prepared(port: u16) -> (Place, std::path::PathBuf) {
    let place = Place::new();
    let url = format!("http://127.0.0.1:{port}/v1");
    let text = format!("[llm]\nbase_url = \"{url}\"\nmodel = \"gull\"\ntick = \"0s\"\ncontext_tokens = 32768\n{WHOLE}");
    fs::write(place.work().join("maxim.toml"), text).expect("written");
    let reply = |shown: &str, tool: &str, params: Value| {
        let action = json!({"tool_name": tool, "params": params});
        let content = json!({"ready_to_act": true, "action": action, "confidence": 0.8, "reasoning": "I go on."});
        json!({"match": {"userMessage": shown}, "response": {"content": content.to_string()}})
    };
    // The first match is given: actions of this turn come before memories.
    let script = json!({"fixtures": [
        reply("write_file {", "respond", json!({"message": "Take the key out of the shed; I noted it in boat.txt."})),
        reply("predict_outcome {", "write_file", json!({"path": "boat.txt", "content": "the key hangs in the shed"})),
        reply("hangs in the shed", "predict_outcome", json!({"tool_name": "write_file", "context": "a note"})),
    ]});
    let file = place.root.path().join("script.json");
    fs::write(&file, script.to_string()).expect("written");
    (place, file)
}

/// The requests to the server, from its own journal.
fn asked(port: u16) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let journal = runtime.block_on(async {
        let answer = reqwest::get(format!("http://127.0.0.1:{port}/__aimock/journal")).await.expect("an answer");
        answer.text().await.expect("text")
    });
    let entries: Vec<Value> = serde_json::from_str(&journal).expect("a list");
    entries.into_iter().map(|entry| entry["body"].clone()).collect()
}

#[test]
fn with_a_server_of_others_it_recalls_predicts_acts_in_steps_explains_and_replays() {
    let port = free_port();
    let (place, script) = prepared(port);
    let Some(server) = Scripted::serve(port, &script, &["--latency", "1"]) else { return };
    let daemon = place.start();
    daemon.say("remember that the boat key hangs in the shed");
    daemon.kill();
    let before = place.root.path().join("before");
    copied(&place.data(), &before);
    let daemon = place.start();
    rested(&daemon);
    let answer = daemon.say(WISH);
    assert_eq!(answer["reply"], "Take the key out of the shed; I noted it in boat.txt.", "{answer}");
    assert_eq!(fs::read_to_string(place.work().join("boat.txt")).expect("written"), "the key hangs in the shed");
    let (_, why, _) = place.cli(&["why", "last"]);
    for step in
        ["hangs in the shed", "asked the model", "asked predict_outcome", "wanted write_file", "cleared", "learned"]
    {
        assert!(why.contains(step), "{step} is missing in {why}");
    }
    let calls = asked(port);
    assert_eq!(calls.len(), 3, "{calls:?}");
    for call in &calls {
        assert_eq!((&call["model"], &call["stream"]), (&json!("gull"), &json!(true)));
        assert_eq!(call["response_format"]["type"], "json_schema", "it has the strictest form");
    }
    assert_eq!(daemon.end(), 0);
    let recorded = fs::read_dir(place.data().join("recordings")).expect("recordings").flatten();
    let mut recorded: Vec<_> = recorded.map(|file| file.path().display().to_string()).collect();
    recorded.sort();
    let (code, told, err) = place.cli(&["replay", recorded.last().expect("a recording")]);
    assert!(code == 0 && told.contains(" equal"), "{told}{err}");

    // The same request to the brain as it was before, with the tape instead of the server.
    drop(server);
    let tape = place.root.path().join("tape.mcap");
    fs::copy(recorded.last().expect("a recording"), &tape).expect("copied");
    fs::remove_dir_all(place.data()).expect("removed");
    copied(&before, &place.data());
    fs::remove_file(place.work().join("boat.txt")).expect("removed");
    let text = format!("[llm]\ntape = {tape:?}\ntick = \"0s\"\ncontext_tokens = 32768\n{WHOLE}");
    fs::write(place.work().join("maxim.toml"), text).expect("written");
    let daemon = place.start();
    rested(&daemon);
    assert_eq!(daemon.say(WISH)["reply"], answer["reply"], "the tape says the same");
    let note = fs::read_to_string(place.work().join("boat.txt")).expect("written");
    assert_eq!(note, "the key hangs in the shed", "and the same is done");
}

/// Copies a brain's data folder while no process has it open.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("its kind");
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => copied(&from, &to),
            (_, true) => drop(fs::copy(&from, &to).expect("copied")),
            _ => {} // a socket of the ended process
        }
    }
}

#[test]
fn faults_of_a_server_of_others_cost_no_answer_and_it_is_asked_again_when_it_is_well() {
    let port = free_port();
    let (place, script) = prepared(port);
    let mut daemon = None;
    for fault in ["--chaos-ratelimit", "--chaos-malformed", "", "--chaos-disconnect"] {
        let faults: &[&str] = if fault.is_empty() { &[] } else { &[fault, "1"] };
        let Some(_server) = Scripted::serve(port, &script, faults) else { return };
        let daemon = daemon.get_or_insert_with(|| {
            let daemon = place.start();
            daemon.say("remember that the boat key hangs in the shed");
            daemon
        });
        let answer = daemon.say(WISH);
        let reply = answer["reply"].as_str().unwrap_or_default();
        let is_by_model = reply.contains("I noted it");
        assert_eq!(is_by_model, fault.is_empty(), "{fault}: {answer}");
        assert!(!reply.is_empty(), "{fault}: {answer}");
        let (_, why, _) = place.cli(&["why", "last"]);
        assert_eq!(why.contains("the model could not help"), !fault.is_empty(), "{fault}: {why}");
    }
}
