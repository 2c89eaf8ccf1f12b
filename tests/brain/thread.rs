//! The thread: percept → memory → thought → gate → action → learning.

use crate::common::Bench;

#[test]
fn a_typed_command_becomes_an_action_and_an_answer() {
    let mut bench = Bench::new();
    let ended = bench.say("please create a file hello.txt with the text good morning");
    assert_eq!(std::fs::read_to_string(bench.file("hello.txt")).expect("the file").trim_end(), "good morning");
    let tools: Vec<&str> = ended.actions.iter().map(|action| action.tool.as_str()).collect();
    assert_eq!(tools, ["write_file", "respond"]);
    assert!(ended.reply.expect("a reply").contains("hello.txt"));
}

#[test]
fn it_answers_from_what_it_was_told_also_after_a_crash() {
    let mut bench = Bench::new();
    bench.say("remember that the spare key is in the blue drawer");
    bench.say("the weather is fine today");
    bench.crash();
    let ended = bench.say("where is the spare key?");
    let reply = ended.reply.expect("a reply");
    assert!(reply.contains("blue drawer"), "{reply}");
    assert!(reply.contains("2026-01-05"), "with its date: {reply}");
}
