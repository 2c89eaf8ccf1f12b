//! Memory without a daemon: the same commands on the store itself.

use std::fs;

use serde_json::{Value, json};

use crate::home::{Done, Home};

const EPISODES: &str = concat!(
    r#"{"id": "key", "timestamp": "2026-01-05T09:00:00Z", "people": ["Anna"], "text": "the spare key is in the blue drawer"}"#,
    "\n",
    r#"{"id": "cup", "timestamp": "2026-01-05T09:05:00Z", "people": ["Ben"], "text": "the red cup fell", "tool": "move", "params": {"x": 0.30000000000000004}, "success": false, "result": "it broke", "salience": 0.1}"#,
    "\n",
);

pub fn filled() -> Home {
    let home = Home::new();
    home.write("work/episodes.jsonl", EPISODES);
    let done = home.run(&["memory", "import", "episodes.jsonl", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.json()["imported"], 2);
    home
}

fn lines_of(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
}

pub fn lines(done: &Done) -> Vec<Value> {
    lines_of(&done.out).collect()
}

#[test]
fn what_was_imported_is_found_counted_checked_and_backed_up() {
    let home = filled();
    let done = home.run(&["memory", "recall", "where is the spare key", "--json"]);
    assert_eq!((done.code, lines(&done)[0]["id"].as_str()), (Some(0), Some("key")), "{done:?}");
    let done = home.run(&["memory", "recall", "--person", "Ben", "--success", "false", "--json"]);
    assert_eq!(lines(&done).iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), ["cup"], "{done:?}");
    let stats = home.run(&["memory", "stats", "--json"]).json();
    assert_eq!((&stats["regions"]["hippocampus"]["episodes"], &stats["missing"]), (&json!(2), &json!([])), "{stats}");
    let mind = home.run(&["memory", "working"]);
    assert_eq!(
        (mind.code, mind.out.as_str()),
        (Some(0), "nothing is on its mind\n"),
        "what is imported was not lived: {mind:?}"
    );
    assert_eq!(home.run(&["memory", "working", "--kind", "dream"]).code, Some(2));
    let time = home.run(&["memory", "temporal", "--hour", "9", "--json"]);
    assert_eq!((time.code, &time.json()["hour"]), (Some(0), &json!(9)), "{time:?}");
    let mornings = home.run(&["memory", "temporal", "--hour", "6,7,8,9", "--month", "1,2", "--sole", "--json"]);
    assert_eq!((mornings.code, &mornings.json()["month"]), (Some(0), &json!([1, 2])), "{mornings:?}");
    let day = home.run(&["memory", "temporal", "--after", "2026-01-05", "--before", "2026-01-06", "--json"]).json();
    assert_eq!((&day["matching"], &day["episodes"]), (&json!(2), &json!(["cup", "key"])), "{day}");
    let other = home.run(&["memory", "temporal", "--after", "2026-01-06", "--before", "2027-01-06", "--json"]).json();
    assert_eq!(other["matching"], 0, "{other}");
    assert_eq!(home.run(&["memory", "temporal", "--like-now"]).code, Some(0));
    assert_eq!(home.run(&["memory", "temporal", "--week", "4"]).code, Some(2));
    assert_eq!(home.run(&["memory", "predict", "move", "--json"]).code, Some(0));
    let verified = home.run(&["memory", "verify", "--json"]);
    assert_eq!((verified.code, &verified.json()["ok"]), (Some(0), &json!(true)));
    let backup = home.run(&["memory", "backup", "--json"]);
    assert_eq!(backup.code, Some(0), "{backup:?}");
    assert!(backup.json()["place"].as_str().is_some_and(|place| place.ends_with("backups/000001")), "{backup:?}");
}

#[test]
fn a_bad_line_of_an_import_is_named_and_the_rest_is_kept() {
    let home = Home::new();
    home.write("work/episodes.jsonl", &format!("{EPISODES}{{\"txet\": 1}}\n"));
    let done = home.run(&["memory", "import", "episodes.jsonl", "--json"]);
    let report = done.json();
    assert_eq!((done.code, &report["imported"], &report["errors"][0]["line"]), (Some(2), &json!(2), &json!(3)));
    assert!(report["errors"][0]["reason"].as_str().is_some_and(|why| why.contains("txet")), "{report}");
    assert_eq!(home.run(&["memory", "import", "absent.jsonl"]).code, Some(2));
}

#[test]
fn an_export_that_is_imported_elsewhere_exports_the_same_bytes() {
    let (home, other) = (filled(), Home::new());
    let done = home.run(&["memory", "export", "all.jsonl", "--json"]);
    // Two episodes, the clocks' state, past actions, causal links, and the number of observed outcomes.
    assert_eq!((done.code, &done.json()["exported"]), (Some(0), &json!(6)), "{done:?}");
    let exported = fs::read_to_string(home.path("work/all.jsonl")).expect("written");
    assert!(exported.contains("0.30000000000000004") && exported.lines().count() == 6, "{exported}");
    assert_eq!(home.run(&["memory", "export", "all.jsonl"]).code, Some(2), "never overwritten");
    other.write("work/all.jsonl", &exported);
    let done = other.run(&["memory", "import", "all.jsonl", "--json"]);
    assert_eq!((done.code, &done.json()["imported"]), (Some(0), &json!(6)), "{done:?}");
    assert_eq!(other.run(&["memory", "export", "-"]).out, exported);
    let again = other.run(&["memory", "import", "all.jsonl", "--json"]).json();
    assert_eq!((&again["imported"], &again["skipped"]["known"]), (&json!(0), &json!(6)), "{again}");
    assert_eq!(other.run(&["memory", "export", "-"]).out, exported);
    let recalled = other.run(&["memory", "recall", "spare key", "--json"]);
    assert_eq!(recalled.out, home.run(&["memory", "recall", "spare key", "--json"]).out);
}

/// A line from a life in which a few tools are used at hours without a rhythm, or with an apparent one for a while.
fn used(n: u32) -> Value {
    let at = n.wrapping_mul(2_654_435_761) >> 16;
    let at = format!("2025-{:02}-{:02}T{:02}:{:02}:00Z", 1 + n / 56, 1 + n % 56 / 2, at % 24, at / 24 % 60);
    let tool = ["read_arm", "read_door", "write_log", "move_crane"][(at.len() as u32 + n / 3 + n % 7) as usize % 4];
    let text = format!("{tool} by the harbour wall beside crate {}", n % 5);
    json!({"id": format!("u{n}"), "timestamp": at, "text": text, "tool": tool, "params": {"n": n}, "success": !n.is_multiple_of(3),
        "objects": [format!("crate {}", n % 5), "harbour wall"], "goal": format!("tidy berth {}", n % 4)})
}

#[test]
fn a_life_that_was_only_imported_is_joined_when_the_command_ends_and_comes_back_to_the_byte() {
    let (home, other) = (Home::new(), Home::new());
    home.write("work/life.jsonl", &(0..600).map(|n| format!("{}\n", used(n))).collect::<String>());
    assert_eq!(home.run(&["memory", "import", "life.jsonl", "--all", "--json"]).json()["imported"], 600);
    let exported = home.run(&["memory", "export", "-"]).out;
    assert!(exported.contains("clocks") && exported.matches("Associates").count() > 600, "{}", exported.len());
    assert_eq!(home.run(&["memory", "export", "-"]).out, exported, "nothing was done in between");
    other.write("work/all.jsonl", &exported);
    assert_eq!(other.run(&["memory", "import", "all.jsonl"]).code, Some(0));
    let again = other.run(&["memory", "export", "-"]).out;
    let differs = again.lines().zip(exported.lines()).find(|(there, here)| there != here);
    assert_eq!((differs, again.len()), (None, exported.len()));
}

#[test]
fn a_file_that_is_imported_twice_is_there_once() {
    let line = |n: u32| {
        let at = format!("2026-01-05T{:02}:{:02}:00Z", 9 + n / 60, n % 60);
        json!({"id": format!("a{n}"), "timestamp": at, "people": ["Anna"], "text": format!("shelf {n} holds a kettle")})
    };
    let file: String = (0..300).map(|n| format!("{}\n", line(n))).collect();
    let (home, other) = (Home::new(), Home::new());
    home.write("work/a.jsonl", &file);
    for (args, imported, known) in [(&["--json"][..], 300, 0), (&["--json"], 0, 300), (&["--json", "--all"], 0, 300)] {
        let report = home.run(&[&["memory", "import", "a.jsonl"], args].concat()).json();
        let told = (&report["imported"], &report["skipped"]["known"], &report["errors"]);
        assert_eq!(told, (&json!(imported), &json!(known), &json!([])), "{report}");
    }
    home.write("work/b.jsonl", r#"{"id": "a1", "text": "another thing"}"#);
    let done = home.run(&["memory", "import", "b.jsonl"]);
    assert!(done.code == Some(2) && done.out.contains("line 1: the id \"a1\" is stored already"), "{done:?}");
    let exported = home.run(&["memory", "export", "-"]).out;
    other.write("work/all.jsonl", &exported);
    assert_eq!(other.run(&["memory", "import", "all.jsonl", "--json"]).json()["imported"], 300);
    assert_eq!((exported.lines().count(), other.run(&["memory", "export", "-"]).out), (300, exported));

    assert_eq!(home.run(&["memory", "pin", "a2"]).code, Some(0));
    let forgotten = home.run(&["memory", "forget", "a1"]);
    assert!(
        forgotten.code == Some(0) && !forgotten.out.contains("still contain it"),
        "nothing was recorded: {forgotten:?}"
    );
    home.run(&["memory", "backup"]);
    let forgotten = home.run(&["memory", "forget", "a3"]);
    assert!(forgotten.out.contains("still contain it") && forgotten.out.contains("store/backups"), "{forgotten:?}");
    let found = home.run(&["memory", "recall", "shelf 1 holds a kettle", "--limit", "1000", "--json"]);
    assert!(!lines(&found).iter().any(|line| line["id"] == "a1"), "{found:?}");
    for args in [&["pin", "a1"][..], &["forget", "a1"], &["similar", "--id", "a1"]] {
        let done = home.run(&[&["memory"], args].concat());
        assert!(done.code.is_some_and(|code| code != 0) && done.err.contains("\"a1\""), "{args:?}: {done:?}");
    }
}

#[test]
fn a_line_that_is_too_long_is_named_and_the_rest_is_kept() {
    let home = Home::new();
    let line =
        |id: &str, blanks: usize| format!("{{\"id\": \"{id}\", \"text\": \"the {id} lamp\"{}}}", " ".repeat(blanks));
    let mut file = vec![line("first", 10), line("endless", 1_100_000), line("second", 0), line("wide", 400_000)];
    file.extend((0..40).map(|n| line(&format!("a{n}"), 8 * 1024)));
    file.push("{".into());
    home.write("work/long.jsonl", &file.join("\n"));
    let done = home.run(&["memory", "import", "long.jsonl", "--all", "--json"]);
    let report = done.json();
    assert_eq!((done.code, &report["imported"]), (Some(2), &json!(43)), "{done:?}");
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(2), "{report}");
    let errors = [0, 1].map(|at| (report["errors"][at]["line"].as_u64(), report["errors"][at]["reason"].to_string()));
    assert!(errors[0].0 == Some(2) && errors[0].1.contains("1048576") && errors[0].1.contains("body_max"), "{report}");
    assert!(errors[1].0 == Some(45) && errors[1].1.contains("not JSON"), "{report}");
    let found = home.run(&["memory", "recall", "second lamp", "--limit", "1", "--json"]);
    assert_eq!(lines(&found)[0]["id"], "second", "{found:?}");
}

#[test]
fn lines_of_every_layer_are_taken_in_and_a_bad_one_is_named() {
    let home = filled();
    let exported = home.run(&["memory", "export", "-"]).out;
    let known = r#"{"layer":"spatial_bridge","part":"things","key":"spare key","record":{"met":"2026-01-05T09:00:00Z","tallies":{"in blue drawer":{"hits":2,"misses":0,"place":"in the blue drawer"}}}}"#;
    let fear = r#"{"layer":"semantic_promoter","part":"forgotten","key":"mallory","record":true}"#;
    let lines =
        [known, r#"{"layer":"dreams","part":"x","key":"","record":1}"#, fear, r#"{"layer":"cerebellum","part":"x"}"#];
    home.write("work/layers.jsonl", &lines.join("\n"));
    for (imported, known) in [(2, 0), (0, 2)] {
        let done = home.run(&["memory", "import", "layers.jsonl", "--json"]);
        let report = done.json();
        assert_eq!(
            (done.code, &report["imported"], &report["skipped"]["known"]),
            (Some(2), &json!(imported), &json!(known))
        );
        assert_eq!((&report["errors"][0]["line"], &report["errors"][1]["line"]), (&json!(2), &json!(4)), "{report}");
        let reasons = [0, 1].map(|at| report["errors"][at]["reason"].as_str().unwrap_or_default().to_owned());
        assert!(reasons[0].contains("no layer \"dreams\"") && reasons[1].contains("missing field"), "{report}");
    }
    assert_eq!(home.run(&["memory", "export", "-"]).out, format!("{exported}{known}\n{fear}\n"));
}

#[test]
fn concepts_of_another_brain_come_in_by_their_names_over_all_parts_of_a_file() {
    let (home, other) = (Home::new(), Home::new());
    let document = |kind: &str, from: u32, to: u32| -> String {
        let said = (from..to).map(|n| format!("A zorb{n} is a {kind}{}. ", n % 7));
        format!("# Things\n\n{}\n", said.collect::<Vec<_>>().join("\n\n"))
    };
    home.write("work/here.md", &document("vessel", 0, 40));
    other.write("work/there.md", &document("engine", 30, 150));
    assert_eq!(home.run(&["memory", "ingest", "here.md"]).code, Some(0));
    assert_eq!(other.run(&["memory", "ingest", "there.md"]).code, Some(0));
    let lines = other.run(&["memory", "export", "-"]).out;
    assert!(lines.len() > 80 << 10, "it goes in several parts: {}", lines.len());
    // Lines that refer to others come before them.
    let turned: Vec<&str> = lines.lines().rev().collect();
    home.write("work/there.jsonl", &turned.join("\n"));
    let done = home.run(&["memory", "import", "there.jsonl", "--json"]);
    assert_eq!((done.code, &done.json()["errors"]), (Some(0), &json!([])), "{done:?}");
    let related = |name: &str| -> Vec<String> {
        let done = home.run(&["memory", "concepts", "--name", name, "--json"]);
        let found = lines_of(&done.out).next().expect("known");
        let of =
            |one: &Value| format!("{} {}", one["type"].as_str().unwrap_or("-"), one["name"].as_str().unwrap_or("-"));
        let mut relations: Vec<String> = found["relations"].as_array().into_iter().flatten().map(of).collect();
        relations.sort();
        assert!(!relations.is_empty(), "{found}");
        relations
    };
    assert_eq!(related("zorb3"), ["IS_A vessel3"]);
    assert_eq!(related("zorb33"), ["IS_A engine5", "IS_A vessel5"]);
    assert_eq!(related("zorb149"), ["IS_A engine2"]);
    let known = home.run(&["memory", "import", "there.jsonl", "--json"]).json();
    assert_eq!((&known["imported"], &known["skipped"]["known"]), (&json!(0), &json!(turned.len())), "{known}");
    assert_eq!(home.run(&["memory", "verify"]).code, Some(0));
}

#[test]
fn an_export_of_before_that_holds_episodes_alone_still_comes_in() {
    let (home, other) = (filled(), Home::new());
    let exported = home.run(&["memory", "export", "-"]).out;
    let episodes = lines_of(&exported).filter(|line| line["episode"] != json!(null));
    let before: Vec<String> = episodes.map(|line| json!({"episode": line["episode"]}).to_string()).collect();
    other.write("work/before.jsonl", &before.join("\n"));
    let done = other.run(&["memory", "import", "before.jsonl", "--json"]);
    assert_eq!((done.code, &done.json()["imported"]), (Some(0), &json!(2)), "{done:?}");
    let recalled = other.run(&["memory", "recall", "spare key", "--json"]);
    assert_eq!(recalled.out, home.run(&["memory", "recall", "spare key", "--json"]).out);
}

#[test]
fn many_questions_are_answered_line_by_line() {
    let home = filled();
    let questions = [
        r#"{"qid": "q1", "question": "where is the spare key?", "category": "place", "answer": "drawer"}"#,
        r#"{"qid": "q2", "answer": "nothing is asked"}"#,
        r#"{"id": 7, "person": "Ben", "limit": 1}"#,
        r#"{"id": 8, "qurey": "x"}"#,
        "nonsense",
        r#"{"qid": "q3", "query": "red cup"}"#,
    ];
    home.write("work/questions.jsonl", &questions.join("\n"));
    let done = home.run(&["memory", "recall", "--queries", "questions.jsonl", "--limit", "10"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    let answers = lines(&done);
    assert_eq!(answers.len(), 6);
    assert_eq!((&answers[0]["qid"], &answers[0]["ranked"][0]), (&json!("q1"), &json!("key")));
    assert_eq!((&answers[2]["id"], &answers[2]["results"][0]["id"]), (&json!(7), &json!("cup")));
    assert_eq!((&answers[5]["qid"], &answers[5]["ranked"][0]), (&json!("q3"), &json!("cup")));
    for (line, word) in [(2, "question"), (4, "qurey"), (5, "not JSON")] {
        let told = done.err.lines().find(|told| told.contains(&format!("line {line}:")));
        assert!(told.is_some_and(|told| told.contains(word)), "line {line} of {}", done.err);
    }
    home.write("work/good.jsonl", questions[0]);
    assert_eq!(home.run(&["memory", "recall", "--queries", "good.jsonl"]).code, Some(0));
    assert_eq!(home.run(&["memory", "recall", "--queries", "absent.jsonl"]).code, Some(2));
    assert_eq!(home.run(&["memory", "recall", "words", "--queries", "good.jsonl"]).code, Some(2));
}

#[test]
fn a_backup_is_listed_and_restored() {
    let home = filled();
    let none = home.run(&["memory", "restore"]);
    assert!(none.code == Some(0) && none.out.contains("there is no backup"), "{none:?}");
    assert_eq!(home.run(&["memory", "backup"]).code, Some(0));
    home.write("work/more.jsonl", r#"{"id": "later", "text": "the lamp is new", "people": ["Anna"]}"#);
    assert_eq!(home.run(&["memory", "import", "more.jsonl"]).code, Some(0));
    let count = |home: &Home| home.run(&["memory", "export", "-"]).out.lines().count();
    assert_eq!(count(&home), 7);
    let listed = home.run(&["memory", "restore", "--json"]).json();
    assert_eq!((&listed["backups"][0]["number"], listed["backups"].as_array().map(Vec::len)), (&json!(1), Some(1)));
    for (wrong, word) in [("7", "no backup 7"), ("/nowhere", "neither"), (".", "no usable backup")] {
        let done = home.run(&["memory", "restore", wrong]);
        assert!(done.code == Some(2) && done.err.contains(word), "{wrong}: {done:?}");
    }
    assert_eq!(count(&home), 7, "what failed changed nothing");
    let done = home.run(&["memory", "restore", "1", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.json()["set_aside"].as_str().is_some_and(|aside| aside.contains("quarantine")), "{done:?}");
    assert_eq!(count(&home), 6);
    assert_eq!(home.run(&["memory", "verify"]).code, Some(0));
}

#[test]
fn a_store_of_another_engine_is_refused_and_converted_on_request() {
    let home = filled();
    let redb = |args: &[&str]| home.run_with(args, "MAXIM__STORE__ENGINE", "redb");
    let done = redb(&["memory", "stats"]);
    assert_eq!(done.code, Some(78), "{done:?}");
    assert!(done.err.contains("made by sled") && done.err.contains("maxim memory convert"), "{}", done.err);
    assert_eq!(redb(&["memory", "convert", "--json"]).json()["engine"], "redb");
    let recalled = redb(&["memory", "recall", "spare key", "--json"]);
    assert_eq!(lines(&recalled)[0]["id"], "key", "{recalled:?}");
    assert_eq!(home.run(&["memory", "stats"]).code, Some(78), "sled is the other one now");
    let memory = home.run_with(&["memory", "stats"], "MAXIM__STORE__ENGINE", "memory");
    assert_eq!(memory.code, Some(78), "{memory:?}");
}

#[test]
fn where_no_store_is_none_is_made_by_asking() {
    let home = Home::new();
    for args in
        [&["memory", "recall", "x"][..], &["memory", "verify"], &["memory", "export", "-"], &["memory", "backup"]]
    {
        let done = home.run(args);
        assert!(done.code == Some(75) && done.err.contains("there is no store in"), "{args:?}: {done:?}");
    }
    assert!(!home.path(".local/state/maxim/store").exists());
    assert_eq!(home.run(&["memory", "convert"]).code, Some(2));
}

#[test]
fn a_file_of_no_lines_is_counted_as_such() {
    let home = filled();
    home.write("work/empty.jsonl", "");
    let done = home.run(&["memory", "import", "empty.jsonl"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "imported: 0\n"), "{done:?}");
    assert!(home.run(&["tools", "refresh"]).out.contains("no tool server is configured"));
}

#[test]
fn what_it_remembers_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = filled();
    let others = |path: std::path::PathBuf| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o077;
    let data = home.path("new");
    let folder = data.to_str().expect("text");
    assert_eq!(home.run(&["memory", "import", "episodes.jsonl", "--data", folder]).code, Some(0));
    assert_eq!((others(data.clone()), others(data.join("latch.json"))), (0, 0));
    assert_eq!(home.run(&["memory", "export", "out.jsonl", "--data", folder]).code, Some(0));
    assert_eq!(others(home.path("work/out.jsonl")), 0);
    assert!(!home.run(&["doctor", "--data", folder]).out.contains("chmod"));
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).expect("set");
    let told = home.run(&["doctor", "--data", folder]).out;
    assert!(told.contains("chmod -R go= "), "{told}");
}

#[test]
fn a_result_of_a_calculation_is_pinned_and_forgotten_by_its_id() {
    let home = filled();
    let fact = |id: &str, name: &str| {
        let record = json!({
            "id": id, "name": name, "category": "fact", "domain": "arithmetic", "verbal": format!("{name} = 42"),
            "code": name, "inputs": [], "outputs": {"result": 42.0}, "confidence": 1.0,
            "created": "2026-01-05T09:00:00Z", "accessed": "2026-01-05T09:00:00Z", "access_count": 0,
            "long_term": false, "provenance": "own_experience", "trust": "owner", "run": "r1",
        });
        // In the exporter's order: the layer comes first.
        format!(r#"{{"layer":"angular_gyrus","part":"records","key":"{id}","record":{record}}}"#)
    };
    let lines = format!("{}\n{}\n", fact("sum-1", "40 + 2"), fact("sum-2", "6 * 7"));
    home.write("work/numbers.jsonl", &lines);
    let done = home.run(&["memory", "import", "numbers.jsonl", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let kept = || {
        let exported = home.run(&["memory", "export", "-"]).out;
        let kept = lines_of(&exported).filter(|line| line["layer"] == "angular_gyrus");
        kept.map(|line| (line["key"].to_string(), line["record"]["long_term"] == true)).collect::<Vec<_>>()
    };
    let is = |id: &str, pinned: bool| (format!("{id:?}"), pinned);
    assert_eq!(home.run(&["memory", "pin", "sum-2"]).code, Some(0));
    assert_eq!(kept(), [is("sum-1", false), is("sum-2", true)]);
    assert_eq!(home.run(&["memory", "forget", "sum-1"]).code, Some(0));
    assert_eq!(kept(), [is("sum-2", true)]);
    for args in [["pin", "sum-1"], ["forget", "sum-1"], ["forget", "constant/pi"]] {
        let done = home.run(&[&["memory"], &args[..]].concat());
        assert!(done.code.is_some_and(|code| code != 0) && done.err.contains(args[1]), "{args:?}: {done:?}");
    }
}
