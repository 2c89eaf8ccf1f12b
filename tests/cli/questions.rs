//! Questions to memory and its upkeep, command by command, on a store without a daemon.

use serde_json::{Value, json};

use crate::home::{Done, Home};
use crate::offline::{filled, lines};

fn asked(home: &Home, door: &str, questions: &[Value]) -> Done {
    let file: String = questions.iter().map(|question| format!("{question}\n")).collect();
    home.write("work/asked.jsonl", &file);
    home.run(&["memory", door, "--queries", "asked.jsonl"])
}

#[test]
fn each_door_answers_many_questions_as_it_answers_one() {
    let home = filled();
    let done = asked(
        &home,
        "similar",
        &[
            json!({"id": 1, "query": "a spare key", "limit": 1}),
            json!({"id": 2, "memory_id": "key"}),
            json!({"id": 3, "memory_id": "nosuch"}),
            json!({"id": 4, "depth": 3}),
        ],
    );
    let answers = lines(&done);
    assert_eq!((done.code, answers.len()), (Some(2), 4), "{done:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["results"][0]["id"]), (&json!(1), &json!("key")), "{done:?}");
    assert!(answers.iter().all(|line| line["elapsed_us"].is_u64()), "{done:?}");
    let one = lines(&home.run(&["memory", "similar", "--id", "key", "--json"]));
    assert_eq!(answers[1]["results"], json!(one), "the live answer");
    for (at, word) in [(2, "\"nosuch\""), (3, "\"depth\"")] {
        assert!(answers[at]["error"].as_str().is_some_and(|why| why.contains(word)), "{}", answers[at]);
    }

    let done = asked(&home, "associated", &[json!({"id": "a", "query": "red cup"}), json!({"id": "b"})]);
    let answers = lines(&done);
    assert_eq!((done.code, &answers[0]["id"]), (Some(2), &json!("a")), "{done:?}");
    let one = lines(&home.run(&["memory", "associated", "red cup", "--json"]));
    let both = ["results", "concepts"].map(|name| answers[0][name].as_array().cloned().expect("a list")).concat();
    assert_eq!(both, one, "{done:?}");
    assert!(answers[1]["error"].as_str().is_some_and(|why| why.contains("asks for nothing")), "{done:?}");

    let done = asked(&home, "predict", &[json!({"id": 7, "tool": "move", "params": {"x": 1}})]);
    let one = home.run(&["memory", "predict", "move", "--params", "{\"x\": 1}", "--json"]).json();
    let mut answer = lines(&done).remove(0);
    assert_eq!((done.code, &answer["id"]), (Some(0), &json!(7)));
    assert_eq!((&one["known"], &one["outcomes"][0][0]), (&json!(true), &json!("failure")), "as the import said: {one}");
    // Confidence decreases between the two questions.
    let mut sure = [answer["results"][0].take(), one].map(|mut told| (told["confidence"].take(), told));
    let [(first, told), (then, again)] = &mut sure;
    assert_eq!(told, again);
    let apart = first.as_f64().expect("a number") - then.as_f64().expect("a number");
    assert!((0.0..1e-6).contains(&apart), "{apart}");
    for args in [&["predict"][..], &["predict", "move", "--queries", "asked.jsonl"]] {
        assert_eq!(home.run(&[&["memory"], args].concat()).code, Some(2), "{args:?}");
    }
}

#[test]
fn what_does_not_exist_is_refused_by_its_name() {
    let home = filled();
    for (args, word) in [
        (&["similar", "x", "--layer", "nosuch"][..], "\"nosuch\""),
        (&["similar", "--id", "nosuch"], "\"nosuch\""),
        (&["associated", "--memory", "nosuch"], "\"nosuch\""),
        (&["associated", "--concept", "concept-99"], "\"concept-99\""),
        (&["associated", "--concept", "nosuch"], "\"nosuch\""),
        (&["concepts", "--id", "concept-99"], "\"concept-99\""),
        (&["concepts", "--property", ""], "property is empty"),
        (&["predict", "move", "--params", "[1]"], "JSON object"),
        (&["recall", "x", "--after", "yesterday"], "--after is no time"),
        (&["recall", "x", "--before", "2026-01-40"], "--before is no time"),
        (&["similar", "x", "--after", "yesterday"], "--after is no time"),
        (&["similar", "--after", "2026-01-05"], "nothing is given to compare with"),
        (&["associated", "x", "--before", "2026-01-40"], "--before is no time"),
        (&["temporal", "--after", "yesterday"], "--after is no time"),
        (&["causal", "--before", "2026-01-40"], "--before is no time"),
        (&["working", "--since", "noon"], "--since"),
    ] {
        let done = home.run(&[&["memory"], args].concat());
        assert!(done.code == Some(2) && done.err.contains(word), "{args:?}: {done:?}");
    }
    assert_eq!(home.run(&["memory", "associated", "--memory", "key"]).code, Some(0));
}

#[test]
fn what_is_alike_or_associated_is_of_the_time_that_is_asked_for() {
    let home = Home::new();
    let moment = |day: u32| {
        let text = format!("the red cup {day} stands on the kitchen table beside the blue kettle");
        let time = format!("2026-01-{day:02}T09:00:00Z");
        json!({"id": format!("day{day}"), "timestamp": time, "goal": "set the table", "objects": ["cup", "kettle"],
            "text": text})
    };
    let file: String = (5..12).map(|day| format!("{}\n", moment(day))).collect();
    home.write("work/days.jsonl", &file);
    let done = home.run(&["memory", "import", "days.jsonl", "--all", "--json"]);
    assert_eq!((done.code, &done.json()["imported"]), (Some(0), &json!(7)), "{done:?}");
    let ids = |args: &[&str]| {
        let done = home.run(&[&["memory"], args, &["--limit", "3", "--json"]].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        let found = lines(&done).into_iter().filter(|line| line["timestamp"].is_string());
        let mut ids: Vec<String> = found.map(|line| line["id"].as_str().unwrap_or_default().to_owned()).collect();
        ids.sort();
        ids
    };
    for door in [&["similar", "--id", "day11"][..], &["associated", "--memory", "day11"]] {
        let of = |args: &[&str]| ids(&[door, args].concat());
        assert_eq!(of(&["--before", "2026-01-06"]), ["day5"], "{door:?}");
        assert_eq!(of(&["--after", "2026-01-06", "--before", "2026-01-08"]), ["day6", "day7"], "{door:?}");
        assert_eq!(of(&["--after", "2026-01-12"]), [""; 0], "{door:?}");
        assert_eq!(of(&[]).len(), 3, "{door:?}");
    }
    let asked = asked(&home, "similar", &[json!({"id": 1, "query": "cup", "time_before": "2026-01-06"})]);
    assert_eq!(lines(&asked)[0]["results"][0]["id"], "day5", "{asked:?}");
}

#[test]
fn what_is_told_of_times_and_causes_is_of_the_time_that_is_asked_for() {
    let home = Home::new();
    let moment = |day: u32| {
        let time = format!("2026-01-{day:02}T09:00:00Z");
        json!({"id": format!("day{day}"), "timestamp": time, "tool": format!("tool_{day}"), "success": day.is_multiple_of(2)})
    };
    let file: String = (5..12).map(|day| format!("{}\n", moment(day))).collect();
    home.write("work/days.jsonl", &file);
    assert_eq!(home.run(&["memory", "import", "days.jsonl", "--all"]).code, Some(0));
    let told = |args: &[&str]| {
        let done = home.run(&[&["memory"], args, &["--limit", "20", "--json"]].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()
    };
    let between = ["--after", "2026-01-06", "--before", "2026-01-08"];
    let time = told(&[&["temporal", "--hour", "9"][..], &between].concat());
    assert_eq!((&time["matching"], &time["episodes"]), (&json!(2), &json!(["day7", "day6"])), "{time}");
    assert_eq!(time["typical"].as_array().map(Vec::len), Some(2), "{time}");
    let like = told(&[&["temporal", "--like-now"][..], &between].concat());
    assert_eq!(like["episodes"].as_array().map(Vec::len), Some(2), "{like}");
    assert_eq!(told(&["temporal", "--hour", "9"])["matching"], 7);
    let events = |args: &[&str]| {
        let told = told(&[&["causal"][..], args].concat());
        let mut events: Vec<String> =
            told["results"].as_array().into_iter().flatten().map(|link| link["event"].to_string()).collect();
        events.sort();
        events.iter().map(|event| event.trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(events(&between), ["tool_6", "tool_7"]);
    assert_eq!(events(&["--after", "2026-01-12"]), [""; 0]);
    assert_eq!(events(&[]).len(), 7);
}

#[test]
fn each_door_takes_the_filters_and_the_limit_of_a_recall() {
    let home = Home::new();
    let moment = |n: u32| {
        json!({"id": format!("m{n}"), "timestamp": format!("2026-01-05T09:{n:02}:00Z"), "text": "the red cup was moved",
            "tool": "move", "goal": "set the table", "objects": ["cup"], "people": ["Anna"],
            "mode": if n < 6 { "active" } else { "passive" }, "success": n.is_multiple_of(2)})
    };
    let file: String = (0..12).map(|n| format!("{}\n", moment(n))).collect();
    home.write("work/moments.jsonl", &file);
    assert_eq!(home.run(&["memory", "import", "moments.jsonl", "--all"]).code, Some(0));
    let filters = json!({"id": 1, "query": "the red cup", "tool": "move", "goal": "set the table", "object": "cup",
        "person": "Anna", "mode": "active", "success": false, "limit": 2,
        "time_after": "2026-01-05T09:01:00Z", "time_before": "2026-01-05T09:05:00Z"});
    for door in ["recall", "similar", "associated"] {
        let done = asked(&home, door, std::slice::from_ref(&filters));
        assert_eq!(done.code, Some(0), "{door}: {done:?}");
        let results = lines(&done)[0]["results"].as_array().cloned().expect("a list");
        let ids: Vec<&str> = results.iter().filter_map(|line| line["id"].as_str()).collect();
        assert!(ids.len() == 2 && ids.iter().all(|id| ["m1", "m3", "m5"].contains(id)), "{door}: {ids:?}");
        assert!(results.iter().all(|line| line["via"].is_string() && line["score"].is_number()), "{door}: {results:?}");
        if door == "similar" {
            assert!(results.iter().all(|line| line["via"] == "similarity"), "{results:?}");
        }
    }
    let only = asked(&home, "associated", &[json!({"id": 2, "person": "Anna", "success": true, "limit": 20})]);
    let results = lines(&only)[0]["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(only.code, Some(0), "{only:?}");
    assert!(!results.is_empty() && results.iter().all(|line| line["success"] == true), "{only:?}");
    let line = json!({"id": 3, "tool": "move", "query": "the red cup", "goal": "set the table", "object": "cup",
        "person": "Anna", "mode": "active", "include_all_outcomes": true, "limit": 1});
    let done = asked(&home, "predict", &[line]);
    let told = &lines(&done)[0]["results"][0];
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((&told["known"], told["outcomes"].as_array().map(Vec::len)), (&json!(true), Some(1)), "{told}");
    assert!(told["episodes"].as_array().is_some_and(|episodes| episodes.len() <= 1), "{told}");
}

#[test]
fn a_date_is_the_start_of_that_day_where_the_body_is() {
    let home = filled();
    let found = |zone: &str, args: &[&str]| {
        let args = [&["memory", "recall", "--json"], args].concat();
        let done = home.run_with(&args, "MAXIM__AGENT__TIMEZONE", zone);
        assert_eq!(done.code, Some(0), "{done:?}");
        lines(&done).len()
    };
    // Both episodes are at 9 o'clock in Greenwich, on 5 January.
    assert_eq!(found("UTC", &["--after", "2026-01-05"]), 2);
    assert_eq!(found("UTC", &["--before", "2026-01-05"]), 0);
    assert_eq!(found("UTC", &["--after", "2026-01-05", "--before", "2026-01-06"]), 2);
    // Then it is 23 o'clock of the same day in Kiritimati, and 21 o'clock of the previous day 12 hours west of
    // Greenwich.
    assert_eq!(found("Pacific/Kiritimati", &["--after", "2026-01-06"]), 0);
    assert_eq!(found("Etc/GMT+12", &["--after", "2026-01-05"]), 0);
    assert_eq!(found("Etc/GMT+12", &["--before", "2026-01-05"]), 2);
}

#[test]
fn a_document_is_learned_looked_up_pinned_and_forgotten() {
    let home = Home::new();
    home.write(
        "work/notes.md",
        "# Pump\n\nThe pump moves water.\n\nA valve is a part of the pump. It is cleaned in May.\n",
    );
    home.write("work/cut.pdf", "%PDF-1.5\n1 0 obj\n<< /Type /Cat");
    let done = home.run(&["memory", "ingest", "notes.md", "cut.pdf", "--json"]);
    let reports = lines(&done);
    assert_eq!((done.code, &reports[0]["passages"]), (Some(2), &json!(2)), "{done:?}");
    assert!(reports[0]["created"].as_u64().is_some_and(|created| created >= 2), "{done:?}");
    assert!(
        reports[1]["error"].as_str().is_some_and(|why| why.contains("PDF") && !why.contains("scanned")),
        "{done:?}"
    );
    let pump = lines(&home.run(&["memory", "concepts", "--name", "pump", "--json"])).remove(0);
    assert_eq!(pump["definition"], "The pump moves water.");
    let id = pump["id"].as_str().expect("an id");
    let near = lines(&home.run(&["memory", "associated", "--concept", id, "--json"]));
    assert!(near.iter().any(|line| line["name"] == "valve"), "{near:?}");
    let again = home.run(&["memory", "ingest", "notes.md", "--json"]).json();
    assert_eq!((&again["created"], &again["reinforced"]), (&json!(0), &json!(0)), "{again}");

    let is_pinned = || lines(&home.run(&["memory", "concepts", "--id", id, "--json"])).remove(0)["pinned"].clone();
    for (args, pinned) in [(&["pin", id][..], true), (&["pin", id, "--off"], false)] {
        assert_eq!((home.run(&[&["memory"], args].concat()).code, is_pinned()), (Some(0), json!(pinned)), "{args:?}");
    }
    let gone = home.run(&["memory", "forget", id, "--json"]);
    assert_eq!((gone.code, &gone.json()["what"]), (Some(0), &json!("Pump")), "{gone:?}");
    for args in [&["forget", id][..], &["pin", id]] {
        let done = home.run(&[&["memory"], args].concat());
        assert!(done.code == Some(1) && done.err.contains(id), "{args:?}: {done:?}");
    }
    let near = home.run(&["memory", "associated", "--concept", id]);
    assert!(near.code == Some(2) && near.err.contains(id), "its edges are gone with it: {near:?}");
}
