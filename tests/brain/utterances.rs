//! What people type to a whole brain without a model: what must be done, and what must not.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::common::Bench;

/// `does`: the first tool, or one of several; none if empty. `params`: of that call. `not`: tools that must not be
/// called. `reply`: a part of the answer. `unknown`: it says that it doesn't know.
fn cases() -> Vec<Value> {
    let lines = include_str!("utterances.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn names(wanted: &Value) -> Vec<&str> {
    match wanted {
        Value::String(name) => vec![name],
        list => list.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    }
}

#[test]
fn what_people_type_is_done_and_what_they_only_talk_of_is_not() {
    let mut bench = Bench::new();
    for (path, text) in [
        ("notes.txt", "Buy a new kettle."),
        ("todo.md", "milk\nbread\n"),
        ("src/main.rs", "fn main() {\n    // TODO: greet\n    None::<u8>.unwrap();\n}\n"),
    ] {
        let file = bench.file(path);
        fs::create_dir_all(file.parent().expect("in a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    let (cases, mut failures) = (cases(), Vec::new());
    for case in &cases {
        let said = case["say"].as_str().expect("what is said");
        let ended = bench.say(said);
        // Nobody types fast enough to reach the limit of effects per second.
        bench.pass(Duration::from_secs(1));
        let reply = ended.reply.clone().unwrap_or_default();
        let did: Vec<_> = ended.actions.iter().filter(|action| action.tool != "respond").collect();
        let first = did.first().map(|action| action.tool.as_str());
        let mut faults = Vec::new();
        if !case["does"].is_null() {
            let wanted = names(&case["does"]);
            let is_right = first.map_or(wanted.is_empty(), |first| wanted.contains(&first));
            faults.extend((!is_right).then(|| format!("did {first:?}, meant {wanted:?}")));
        }
        let barred = names(&case["not"]);
        faults
            .extend(did.iter().find(|action| barred.contains(&action.tool.as_str())).map(|action| action.tool.clone()));
        for (name, wanted) in case["params"].as_object().into_iter().flatten() {
            let found = did.first().map(|action| &action.params[name]);
            faults.extend((found != Some(wanted)).then(|| format!("{name} is {found:?}, meant {wanted}")));
        }
        let part = case["reply"].as_str().unwrap_or_default();
        faults.extend((!reply.contains(part)).then(|| format!("says nothing of {part:?}")));
        if case["unknown"] == true
            && !["don't know", "do not know", "know nothing"].iter().any(|word| reply.contains(word))
        {
            faults.push("doesn't say that it doesn't know".into());
        }
        if !faults.is_empty() {
            failures.push(format!("{said:?}: {}\n    {did:?}\n    {reply:?}", faults.join("; ")));
        }
    }
    println!("{} of {} as meant", cases.len() - failures.len(), cases.len());
    assert!(failures.is_empty(), "{} of {} wrong:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn what_was_done_is_told_of_the_time_that_is_asked_for() {
    let mut bench = Bench::new();
    let day = Duration::from_secs(86_400);
    bench.say("create a file tide.txt with the text high at noon");
    bench.pass(day);
    bench.say("read the file nowhere.txt");
    bench.pass(Duration::from_secs(120));
    let mut told = |question: &str| bench.say(question).reply.unwrap_or_default();
    let today = told("what did you do today?");
    assert!(today.contains("nowhere.txt") && !today.contains("tide.txt"), "{today}");
    let yesterday = told("what did you do yesterday?");
    assert!(yesterday.contains("tide.txt") && !yesterday.contains("nowhere.txt"), "{yesterday}");
    assert!(told("did you write any files today?").contains("I don't remember doing anything using write_file today"));
    for failures in ["what went wrong last time?", "how many times did you fail today?", "did anything fail today?"] {
        let failed = told(failures);
        assert!(failed.contains("nowhere.txt") && failed.contains("It failed"), "{failures}: {failed}");
    }
    assert!(told("did anything go wrong yesterday?").contains("I don't remember doing anything yesterday"));
}
