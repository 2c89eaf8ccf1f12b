//! Commands for the mind's laws: replies are parsed and tools are ranked without a daemon.

use serde_json::{Value, json};

use crate::home::{Done, Home};

fn lines(done: &Done) -> Vec<Value> {
    done.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn replies_are_read_line_by_line() {
    let home = Home::new();
    let replies = [
        json!({"id": "a", "input": "Sure: {'tool_name': 'glob', 'params': {},}"}),
        json!({"id": "b", "input": "{\"a\" ]"}),
        json!({"id": "c", "input": "{\"a\": 1}"}),
    ];
    home.write("work/replies.jsonl", &replies.map(|reply| reply.to_string()).join("\n"));
    let done = home.run(&["prompt", "parse", "--in", "replies.jsonl"]);
    assert_eq!(done.code, Some(0), "a reply that can't be read is an answer: {done:?}");
    let read = lines(&done);
    assert_eq!(read[0]["value"], json!({"tool_name": "glob", "params": {}}));
    let told: Vec<_> = read.iter().map(|line| (line["id"].as_str(), &line["ok"], &line["repaired"])).collect();
    assert_eq!(
        told,
        [
            (Some("a"), &json!(true), &json!(true)),
            (Some("b"), &json!(false), &json!(false)),
            (Some("c"), &json!(true), &json!(false))
        ]
    );
    assert!(read[1]["error"].as_str().is_some_and(|error| error.contains("has no value")), "{}", read[1]);
    home.write("work/bad.jsonl", "{\"id\": 1}\n{\"id\": 2, \"input\": \"[1\"}\n");
    let done = home.run(&["prompt", "parse", "--in", "bad.jsonl"]);
    assert_eq!((done.code, &lines(&done)[1]["value"]), (Some(2), &json!([1])));
}

#[test]
fn tools_are_ranked_and_learning_changes_the_ranking_in_any_order() {
    let home = Home::new();
    let tool = |name: &str, description: &str| {
        json!({"name": name, "description": description, "parameters": {"type": "dict", "properties": {}}}).to_string()
    };
    let names = ["oven.bake", "fridge", "lamp", "radio", "blinds", "door"];
    let texts =
        ["Bakes food.", "Keeps food cold.", "Lights the room.", "Plays music.", "Lets daylight in.", "Locks up."];
    home.write(
        "work/tools.jsonl",
        &names.iter().zip(texts).map(|(name, text)| tool(name, text)).collect::<Vec<_>>().join("\n"),
    );
    let successes =
        [r#"{"q": "make it gemütlich", "gold": ["blinds"]}"#, r#"{"q": "sing along", "gold": ["radio", "lamp"]}"#];
    home.write("work/past.jsonl", &successes.join("\n"));
    home.write("work/past2.jsonl", &[successes[1], successes[0]].join("\n"));
    home.write("work/goals.jsonl", "{\"q\": \"bake a cake\"}\n{\"q\": \"gemütlich\"}\n");
    let rank = |more: &[&str]| {
        let args = [&["tools", "rank", "--catalog", "tools.jsonl", "--in", "goals.jsonl"][..], more].concat();
        let done = home.run(&args);
        assert_eq!(done.code, Some(0), "{done:?}");
        let mut told = lines(&done);
        told.iter_mut().for_each(|line| drop(line.as_object_mut().map(|line| line.remove("elapsed_us"))));
        told
    };
    let cold = rank(&["-k", "2"]);
    assert_eq!(cold[0]["ranked"][0], "oven.bake");
    assert_eq!(cold[0]["ranked"].as_array().map(Vec::len), Some(2));
    assert!(cold[0]["shown"].as_array().is_some_and(|shown| shown.len() >= 5));
    assert!(cold[0]["tokens_shown"].as_u64() < cold[0]["tokens_full"].as_u64());
    let learned = rank(&["--learn", "past.jsonl"]);
    assert_eq!(learned[1]["ranked"][0], "blinds");
    assert_eq!(learned, rank(&["--learn", "past2.jsonl"]));
    assert_eq!(home.run(&["tools", "rank", "--catalog", "absent.jsonl"]).code, Some(2));
}

#[test]
fn what_events_teach_and_when_moments_were_is_told_line_by_line() {
    let home = Home::new();
    let events = [
        json!({"id": 1, "event": "push", "outcome": "good"}),
        json!({"id": 2, "event": "push", "context": 7, "outcome": "good"}),
        json!({"id": 3, "event": "push", "outcome": "bad"}),
        json!({"id": 4, "event": "push", "outcome": "purple"}),
    ];
    home.write("work/events.jsonl", &events.map(|event| event.to_string()).join("\n"));
    let done = home.run(&["nac", "learn", "--in", "events.jsonl"]);
    let learned = lines(&done);
    assert_eq!((done.code, learned.len()), (Some(2), 4), "{done:?}");
    // V = 0.5 + 0.14·(1 − 0.5), then 0.57 + 0.14·(0 − 0.57); malformed lines teach nothing.
    for (at, value, rpe) in [(0, 0.57, 0.5), (2, 0.4902, -0.57)] {
        let near = |name: &str, expected: f64| learned[at][name].as_f64().is_some_and(|n| (n - expected).abs() < 1e-9);
        assert!(near("value", value) && near("rpe", rpe), "{}", learned[at]);
    }
    for (at, words) in [(1, "the field \"context\""), (3, "purple")] {
        assert!(learned[at]["error"].as_str().is_some_and(|why| why.contains(words)), "{}", learned[at]);
    }
    home.write(
        "work/words.jsonl",
        &json!({"event": "push", "context": "in the kitchen", "outcome": "good"}).to_string(),
    );
    let said = home.run(&["nac", "learn", "--in", "words.jsonl"]);
    let value = lines(&said)[0]["value"].as_f64().expect("a value");
    assert!(said.code == Some(0) && (value - 0.57).abs() < 1e-9, "{said:?}");
    home.write("work/times.jsonl", "{\"id\": 1, \"timestamp\": \"2026-03-02T06:00:00Z\"}\n{\"timestamp\": \"noon\"}\n");
    let done = home.run(&["scn", "bins", "--in", "times.jsonl"]);
    let binned = lines(&done);
    // Monday, the second of March, at 6 o'clock.
    let told = ["hour", "day", "week", "month"].map(|bin| binned[0][bin].as_u64());
    assert_eq!((done.code, told), (Some(2), [6, 0, 0, 3].map(Some)), "{done:?}");
    assert_eq!(binned[0]["phases"]["circadian"], 0.25);
    let why = binned[1]["error"].as_str().unwrap_or_default();
    assert!(why.contains("the field \"timestamp\"") && why.contains("2026-01-05T09:00:00Z"), "{why}");
    let there = lines(&home.run(&["scn", "bins", "--in", "times.jsonl", "--zone", "America/New_York"]));
    assert_eq!((&there[0]["hour"], &there[0]["day"]), (&json!(1), &json!(0)));
}
