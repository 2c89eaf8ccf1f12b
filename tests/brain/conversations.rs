//! People tell, correct, take back and ask about things over several turns and days. A whole brain without a model
//! answers.

use std::time::Duration;

use serde_json::Value;

use crate::common::Bench;

/// A conversation per line: `say`; parts of the answer that must all occur (`reply`) or not occur (`not`); `pass`:
/// hours that pass first. The results must be words only.
fn conversations() -> Vec<Vec<Value>> {
    let lines = include_str!("conversations.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn parts(of: &Value) -> Vec<&str> {
    match of {
        Value::String(part) => vec![part],
        list => list.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    }
}

#[test]
fn what_is_told_put_right_and_asked_over_several_turns_is_answered_by_what_holds() {
    let mut failures = Vec::new();
    for conversation in conversations() {
        let mut bench = Bench::new();
        for turn in conversation {
            let hours = turn["pass"].as_u64().unwrap_or(0);
            bench.pass(Duration::from_secs(hours * 3_600 + 20));
            let said = turn["say"].as_str().expect("what is said");
            let ended = bench.say(said);
            let reply = ended.reply.clone().unwrap_or_default();
            let lacks = parts(&turn["reply"]).into_iter().find(|part| !reply.contains(part));
            let holds = parts(&turn["not"]).into_iter().find(|part| reply.contains(part));
            let did = ended.actions.iter().find(|action| action.tool != "respond");
            if lacks.is_some() || holds.is_some() || did.is_some() || reply.is_empty() {
                failures.push(format!("{said:?}: lacks {lacks:?}, holds {holds:?}, did {did:?}\n    {reply:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_was_put_right_long_ago_and_among_much_of_the_same_is_looked_up() {
    let mut bench = Bench::new();
    bench.say("My dentist appointment is on Tuesday at 3pm");
    bench.pass(Duration::from_secs(20));
    bench.say("no, it's on Wednesday");
    for number in 0..25 {
        bench.pass(Duration::from_secs(3_600));
        bench.say(&format!("The dentist of neighbour number {number} is closed before spring"));
    }
    let told = bench.say("when is my dentist appointment?").reply.unwrap_or_default();
    assert!(told.contains("corrected that") && told.contains("it's on Wednesday.” Before that: "), "{told}");
    let first = bench.say("what did I tell you first?").reply.unwrap_or_default();
    assert!(first.contains("My dentist appointment is on Tuesday at 3pm"), "{first}");
}

#[test]
fn why_after_a_refusal_tells_the_refusal_and_not_what_was_done_before() {
    let mut bench = Bench::new();
    let mut say = |text: &str| {
        bench.pass(Duration::from_secs(20));
        bench.say(text).reply.unwrap_or_default()
    };
    say("list the files");
    assert!(say("run rm -rf /").contains("destroy.root"));
    let why = say("why?");
    assert!(why.contains("It wasn't done (destroy.root") && !why.contains("list the files"), "{why}");
    let why = say("why did you not run rm -rf /?");
    assert!(why.starts_with("I didn't. At “run rm -rf /”") && why.contains("destroy.root"), "{why}");
}
