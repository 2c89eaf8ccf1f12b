//! `maxim sim run`: scenario files.

use std::path::Path;

use serde_json::Value;

use crate::home::Home;

fn shipped() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/scenarios");
    let files = std::fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<String> = files.map(|file| file.display().to_string()).collect();
    files.sort();
    files
}

fn write(home: &Home, name: &str, text: &str) -> String {
    std::fs::write(home.path("work").join(name), text).expect("written");
    name.to_owned()
}

/// Each expectation, and whether it holds.
fn checked(document: &Value) -> Vec<(String, bool)> {
    let scenarios = document["scenarios"].as_array().expect("scenarios").iter();
    let all = scenarios.flat_map(|scenario| scenario["expectations"].as_array().expect("a list"));
    all.map(|one| (one["expectation"].as_str().unwrap_or_default().to_owned(), one["holds"] == true)).collect()
}

#[test]
fn what_is_shipped_holds_and_is_lived_the_same_again() {
    let home = Home::new();
    let files = shipped();
    assert!(files.len() >= 3, "{files:?}");
    let args: Vec<&str> =
        ["sim", "run", "--junit", "results.xml"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let done = home.run(&args);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("action_blocked bash") && !done.out.contains("FAILS"), "{}", done.out);
    let xml = std::fs::read_to_string(home.path("work/results.xml")).expect("written");
    assert_eq!((xml.matches("<testsuite ").count(), xml.matches("<failure").count()), (files.len(), 0), "{xml}");
    let json = |file: &str| home.run(&["sim", "run", "--json", file]).json();
    for file in files.iter().filter(|file| !file.contains("safety")) {
        assert_eq!(json(file), json(file), "but for how long a stop took, in real time");
    }
}

#[test]
fn what_does_not_come_about_fails_and_says_what_was_found() {
    let home = Home::new();
    let file = write(
        &home,
        "wrong.yaml",
        r#"
name: expects what doesn't come
percepts:
  - content: remember that the boat is red
  - { at: 3s, content: run the command rm -rf / }
expectations:
  - action_taken: { tool: write_file }
  - action_blocked: { tool: bash, reason: too late in the evening }
  - memory_formed: { about: boat, contains: green }
  - concept_formed: { name: zeppelin }
  - causal_link_formed: { tool: write_file }
  - prediction_valence: { tool: bash, valence: positive }
  - tool_used: { tool: read_file }
  - tool_success_rate: { tool: read_file, at_least: 0.5 }
  - memory_count_range: { max: 1 }
  - action_count_range: { min: 50 }
  - graph_density_above: { density: 1 }
  - pain_signal_count: { min: 40 }
  - stopped_within: { at_most: 1s }
  - reply_contains: { text: green }
"#,
    );
    let document = home.run(&["sim", "run", "--json", &file]);
    assert_eq!(document.code, Some(1), "{document:?}");
    let all = checked(&document.json());
    assert_eq!(all.len(), 14);
    let held: Vec<_> = all.iter().filter(|(_, holds)| *holds).collect();
    assert!(held.is_empty(), "{held:?}: {document:?}");
    let shown = home.run(&["sim", "run", &file, "--junit", "results.xml"]);
    assert!(shown.out.contains("0 of 14 hold") && shown.out.contains("bash (refused)"), "{}", shown.out);
    let xml = std::fs::read_to_string(home.path("work/results.xml")).expect("written");
    assert_eq!(xml.matches("<failure").count(), 14, "{xml}");
    let short = write(
        &home,
        "short.yaml",
        "name: short\npercepts:\n- content: create a file a.txt with the text a\n- content: create a file b.txt with the text b\n\
         expectations:\n- pipeline_continued\nbudget: { actions: 1 }\n",
    );
    let done = home.run(&["sim", "run", &short]);
    assert!(done.code == Some(1) && done.out.contains("2 actions were taken, of at most 1"), "{done:?}");
}

#[test]
fn a_file_that_is_no_scenario_is_refused_with_its_line_and_the_fix_before_anything_is_lived() {
    let home = Home::new();
    let with = |percepts: &str, expectations: &str| {
        format!("name: x\npercepts:\n  - {percepts}\nexpectations:\n  - {expectations}\n")
    };
    let wrong = [
        (with("contents: hello", "pipeline_continued"), "wrong.yaml:3:5", "did you mean content?"),
        (with("content: hello", "tool_uses: { tool: bash }"), "wrong.yaml:5:5", "did you mean tool_used?"),
        (with("content: hello", "tool_used: { tol: bash }"), "wrong.yaml:5", "did you mean tool?"),
        (with("{ content: hello, at: soon }", "pipeline_continued"), "wrong.yaml:3", "not a length of time"),
        (with("{ at: 5s }", "pipeline_continued"), "percept 1 is empty", "content"),
        (with("{ content: a, at: 2h }", "pipeline_continued"), "after the end of the budget", "budget.time"),
        (with("content: a", "hallucination_rate_below: { rate: 0.1 }"), "hallucination_rate_below", "remove it"),
        (
            with("content: a", "prediction_valence: { tool: bash, valence: good }"),
            "good",
            "positive, neutral or negative",
        ),
        ("name: x\nscene: [cup]\npercepts: []\nexpectations: []\n".into(), "wrong.yaml:2:1", "detections"),
        ("name: x\npercepts: []\nexpectations: []\n".into(), "expects nothing", "at least one"),
        (with("content: a", "pipeline_continued") + "budget: { time: 90000years }\n", "ten years", "give less"),
        ("name: [\n".into(), "wrong.yaml:", "--help"),
    ];
    for (text, place, fix) in wrong {
        let file = write(&home, "wrong.yaml", &text);
        let done = home.run(&["sim", "run", &shipped()[0], &file]);
        assert_eq!((done.code, done.out.as_str()), (Some(2), ""), "{text}: {done:?}");
        assert!(done.err.contains(place) && done.err.contains(fix), "{text}: {done:?}");
    }
    let unwritten = home.run(&["sim", "run", &shipped()[0], "--junit", "nowhere/results.xml"]);
    assert_eq!(unwritten.code, Some(75), "{unwritten:?}");
    assert!(
        unwritten.out.contains("hold") && unwritten.err.contains("--junit"),
        "what was lived isn't lost: {unwritten:?}"
    );
    let none = home.run(&["sim", "run", "nowhere.yaml"]);
    assert!(none.code == Some(2) && none.err.contains("nowhere.yaml can't be read"), "{none:?}");
}
