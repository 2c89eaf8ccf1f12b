//! Questions to memory and its upkeep, door by door, on a store without a daemon.

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
    // How sure it is fades while the two are asked.
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
fn a_date_is_the_start_of_that_day_where_the_body_is() {
    let home = filled();
    let found = |zone: &str, args: &[&str]| {
        let args = [&["memory", "recall", "--json"], args].concat();
        let done = home.run_with(&args, "MAXIM__AGENT__TIMEZONE", zone);
        assert_eq!(done.code, Some(0), "{done:?}");
        lines(&done).len()
    };
    // Both episodes are of 9 o'clock in Greenwich, on 5 January.
    assert_eq!(found("UTC", &["--after", "2026-01-05"]), 2);
    assert_eq!(found("UTC", &["--before", "2026-01-05"]), 0);
    assert_eq!(found("UTC", &["--after", "2026-01-05", "--before", "2026-01-06"]), 2);
    // Then it is 23 o'clock of the same day in Kiritimati, and 21 o'clock of the day before 12 hours west of Greenwich.
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
