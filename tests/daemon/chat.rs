//! A chat where no daemon runs.

use std::io::Write;
use std::process::Stdio;

use crate::harness::Place;

/// Says these lines, and gives the exit code, the answers and what it said beside them.
fn chat(place: &Place, lines: &str) -> (Option<i32>, String, String) {
    let mut chat = place.command();
    chat.args(["chat", "--plain", "--data"]).arg(place.data());
    chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut chat = chat.spawn().expect("runs");
    chat.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("typed");
    let output = chat.wait_with_output().expect("ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_chat_has_a_brain_of_its_own_where_none_runs_which_ends_with_it_and_remembers() {
    let place = Place::new();
    let (code, said, beside) = chat(&place, "remember that the boat is moored at the old pier\n");
    assert_eq!(code, Some(0), "{beside}");
    assert!(said.contains("I will remember"), "{said}");
    assert!(beside.contains("started for the chat and ends with it"), "{beside}");
    assert!(!place.data().join("daemon.json").exists(), "it ended in order");
    let (_, said, _) = chat(&place, "where is the boat?\n");
    assert!(said.contains("old pier"), "{said}");
}

#[test]
fn a_chat_talks_with_the_daemon_that_runs() {
    let place = Place::new();
    let daemon = place.start();
    let (code, said, beside) = chat(&place, "what is 2 + 2?\n");
    assert_eq!((code, beside.contains("started for the chat")), (Some(0), false), "{beside}");
    assert!(said.contains('4'), "{said}");
    assert_eq!(daemon.get("/healthz").0, 200, "it goes on without the chat");
}

#[test]
fn a_chat_whose_brain_cannot_start_says_why() {
    let place = Place::new();
    std::fs::write(place.work().join("maxim.toml"), "[agent]\nnames = []\n").expect("written");
    let (code, said, beside) = chat(&place, "hello\n");
    assert_ne!(code, Some(0));
    assert!(said.is_empty() && beside.contains("agent.names"), "{beside}");
}
