//! A chat without a running daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::harness::Place;

/// Says these lines; returns the exit code, the answers and its other output.
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

#[test]
fn what_is_said_later_of_a_goal_is_shown_before_the_lines_end() {
    let place = Place::new();
    let daemon = place.start();
    for (goal, later) in
        [("read the file nowhere.txt", "nowhere.txt"), ("create a file tide.txt with the text high", "tide.txt")]
    {
        let (code, said, beside) = chat(&place, &format!("your goal is to {goal}\n"));
        assert_eq!(code, Some(0), "{beside}");
        let (answer, rest) = said.split_once('\n').expect("an answer and what came later");
        assert!(answer.contains("Understood, a goal"), "{said}");
        assert!(rest.contains(later), "{said}");
        assert_eq!(said.matches("Understood, a goal").count(), 1, "an answer is shown once: {said}");
    }
    drop(daemon);
}

#[test]
fn an_answer_that_comes_too_late_is_shown_when_it_comes() {
    let place = Place::new();
    let daemon = place.start();
    let mut chat = place.command();
    chat.args(["chat", "--plain", "--timeout", "0", "--data"]).arg(place.data());
    chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut chat = chat.spawn().expect("runs");
    let (mut typed, mut shown) =
        (chat.stdin.take().expect("a pipe"), BufReader::new(chat.stdout.take().expect("a pipe")).lines());
    typed.write_all(b"what is 6 * 7?\n").expect("typed");
    let mut line = || shown.next().expect("another line").expect("text");
    let first = line();
    // Whether it comes in time depends on the machine; it must be shown exactly once.
    let second = if first.contains("still at work") { line() } else { first };
    assert!(second.contains("42"), "{second}");
    drop(typed);
    assert!(chat.wait().is_ok_and(|status| status.code().is_some()));
    drop(daemon);
}
