use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn value(text: &str) -> Json {
    read_json(text).unwrap_or_else(|error| panic!("{text:?}: {error}")).value
}

#[test]
fn valid_json_is_taken_as_it_is() {
    for text in ["{}", "[1, 2.5e3]", "\"a \\u2605\"", "null", "{\"a\": {\"b\": [true]}}"] {
        let reading = read_json(text).expect("valid");
        assert_eq!(reading.value, serde_json::from_str::<Json>(text).expect("valid"));
        assert!(!reading.repaired && !reading.bare);
    }
}

#[test]
fn what_models_do_to_json_is_undone() {
    let action = json!({"tool_name": "glob", "params": {"pattern": "*.rs"}});
    let shapes = [
        "```json\n{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}\n```",
        "Here is the JSON:\n{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}\nTell me if it fits!",
        "{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\",},}",
        "{'tool_name': 'glob', 'params': {'pattern': '*.rs'}}",
        "{tool_name: glob, params: {pattern: '*.rs'}}",
        "{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs",
        "{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}",
        "\"{\\\"tool_name\\\": \\\"glob\\\", \\\"params\\\": {\\\"pattern\\\": \\\"*.rs\\\"}}\"",
        "{\\\"tool_name\\\": \\\"glob\\\", \\\"params\\\": {\\\"pattern\\\": \\\"*.rs\\\"}}",
        "{{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}}",
        "<think>{maybe} \"ls\"?</think>\n{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}",
        "I use {braces}. {\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}",
        "{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}\n{\"tool_name\": \"bash\", \"params\": {\"pattern\": \"x\"}}",
        "{\"tool_name\": \"glob\" \"params\": {\"pattern\": \"*.rs\"}} // done",
        "{“tool_name”: “glob”, “params”: {“pattern”: “*.rs”}}",
        "action: {\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}}<|im_end|>",
    ];
    for shape in shapes {
        assert_eq!(value(shape), action, "{shape}");
    }
}

#[test]
fn strings_end_where_they_were_meant_to() {
    let cases = [
        ("{\"a\": \"He said \"hi\" to me\", \"b\": 1}", json!({"a": "He said \"hi\" to me", "b": 1})),
        ("{\"a\": \"one, \"two\", three\", \"b\": 1}", json!({"a": "one, \"two\", three", "b": 1})),
        ("{\"html\": \"<a id=\"x\">y</a>\"}", json!({"html": "<a id=\"x\">y</a>"})),
        ("{\"a\": \"line one\nline two\tend\"}", json!({"a": "line one\nline two\tend"})),
        ("{\"a\": \"no end, \"b\": \"x\"}", json!({"a": "no end", "b": "x"})),
        ("{\"a\": \"no end\n\"b\": 2}", json!({"a": "no end", "b": 2})),
        ("{\"a\": \"no end}", json!({"a": "no end"})),
        ("{'a': 'it's fine', 'b': 2}", json!({"a": "it's fine", "b": 2})),
        ("{\"a\": \"6\" pipe\", \"b\": 2}", json!({"a": "6\" pipe", "b": 2})),
        ("{\"cmd\": \"echo {\"x\"} here\"}", json!({"cmd": "echo {\"x\"} here"})),
        ("[\"one, two]", json!(["one", "two"])),
        ("{\"path\": \"C:\\\\temp\\\\new\", \"bad\": \"\\d+\"}", json!({"path": "C:\\temp\\new", "bad": "d+"})),
    ];
    for (text, meant) in cases {
        assert_eq!(value(text), meant, "{text}");
    }
}

#[test]
fn numbers_keywords_and_python_are_understood() {
    let cases = [
        ("{a: True, b: None, c: undefined}", json!({"a": true, "b": null, "c": null})),
        ("{a: 1_000, b: .5, c: 2., d: 3e, e: +4}", json!({"a": 1000, "b": 0.5, "c": 2, "d": 3, "e": 4})),
        ("{zip: 00501, id: 57eeeeb1-450b, share: 1/3}", json!({"zip": "00501", "id": "57eeeeb1-450b", "share": "1/3"})),
        ("{a: (1, 2), b: ('x'), c: {'y', 'z'}}", json!({"a": [1, 2], "b": "x", "c": ["y", "z"]})),
        (
            "{id: ObjectId(\"42\"), at: https://x.org/a?b=c, age: 30 years}",
            json!({"id": "42", "at": "https://x.org/a?b=c", "age": "30 years"}),
        ),
        ("[1, 2, ..., 9, /* more */ 10] # end", json!([1, 2, 9, 10])),
    ];
    for (text, meant) in cases {
        assert_eq!(value(text), meant, "{text}");
    }
}

#[test]
fn what_is_whole_inside_of_something_broken_is_a_part_of_it() {
    let cases = [
        ("Sure: {'tool_name': 'glob', 'params': {},}", json!({"tool_name": "glob", "params": {}})),
        (
            "I do {tool_name: \"glob\", params: {\"pattern\": \"*\"}",
            json!({"tool_name": "glob", "params": {"pattern": "*"}}),
        ),
        ("Either {\"a\": 1}\nor that.", json!({"a": 1})),
    ];
    for (text, meant) in cases {
        assert_eq!(value(text), meant, "{text}");
    }
}

#[test]
fn what_cannot_be_told_is_refused_with_its_place() {
    let refused = |text: &str| read_json(text).expect_err(text).to_string();
    assert!(refused("").contains("empty") && refused(" \n").contains("empty"));
    assert!(refused("{\"a\" ]").contains("\"a\" has no value"));
    assert!(refused("{\"a\",").contains("\"a\" has no value"));
    assert!(refused("{:2}").contains("a key is expected"));
    assert!(refused("{\"a\":2}foo").contains("foo"));
    assert!(refused("{\"a\":2}{}").contains("nothing is expected here"));
    assert!(refused("\"\\u26\"").contains("hexadecimal"));
    assert!(refused("{\"a\": \"b\u{0}\"}").contains("U+0000"));
    assert!(refused(&"[".repeat(100_000)).contains("deeper"));
    assert!(refused(&"{\"a\":".repeat(1_000)).contains("deeper"));
    assert!(refused("foo [").contains('['));
}

fn action(reply: &str) -> (String, Json) {
    read_action(reply).unwrap_or_else(|error| panic!("{reply}: {error}")).action.expect("an action")
}

#[test]
fn an_action_is_found_in_every_shape_that_models_use() {
    let glob = ("glob".to_owned(), json!({"pattern": "*"}));
    for reply in [
        r#"{"ready_to_act": true, "action": {"tool_name": "glob", "params": {"pattern": "*"}}, "confidence": 0.9}"#,
        r#"{"tool_name": "glob", "params": {"pattern": "*"}, "reasoning": "I look"}"#,
        r#"{"name": "glob", "arguments": "{\"pattern\": \"*\"}"}"#,
        r#"{"tool_calls": [{"function": {"name": "glob", "arguments": {"pattern": "*"}}}]}"#,
        r#"{"action": "glob", "action_input": {"pattern": "*"}}"#,
        r#"[{"tool": "glob", "args": {"pattern": "*"}}, {"tool": "bash", "args": {}}]"#,
        r#"{"response": {"tool_name": "glob", "params": {"pattern": "*"}}}"#,
    ] {
        assert_eq!(action(reply), glob, "{reply}");
    }
    assert_eq!(action("{\"tool_name\": \"system_stats\"}").1, json!({}));
}

#[test]
fn words_without_json_are_an_answer_to_the_person() {
    for (reply, message) in [
        ("The key is in the drawer.", "The key is in the drawer."),
        ("Yes, no, maybe", "Yes, no, maybe"),
        ("42", "42"),
        ("\"Hello, Anna.\"", "Hello, Anna."),
        ("{\"answer\": \"In the drawer.\"}", "In the drawer."),
        ("See [1] and [2] for {details}.", "See [1] and [2] for {details}."),
    ] {
        assert_eq!(action(reply), ("respond".into(), json!({"message": message})), "{reply}");
    }
}

#[test]
fn thinking_on_confidence_and_reasoning_are_read() {
    let read =
        read_action(r#"{"ready_to_act": false, "action": null, "confidence": "40%", "reasoning": "I look first."}"#)
            .expect("a thought");
    assert!(!read.ready && read.action.is_none());
    assert_eq!((read.reasoning.as_str(), read.confidence.map(|c| c.get())), ("I look first.", Some(0.4)));
    let error = read_action("{\"mood\": \"fine\"}").expect_err("no tool").to_string();
    assert!(error.contains("mood") && error.contains("tool_name"), "{error}");
    let error = read_action("{\"tool_name\": \"glob\", \"params\": 7}").expect_err("bad").to_string();
    assert!(error.contains("glob") && error.contains('7'), "{error}");
}

#[test]
fn a_block_in_a_string_is_its_value_where_its_marks_stand_bare_and_text_where_they_are_escaped() {
    let read = |text: &str| read_json(text).expect("readable").value;
    let meant = json!({"params": {"path": "a.txt", "n": [1]}});
    for block in ["```json {\"path\": \"a.txt\", \"n\": [1]}```", "```\n{\"path\": \"a.txt\", \"n\": [1]}\n``` "] {
        assert_eq!(read(&format!("{{\"params\": \"{block}\"}}")), meant, "{block}");
        let escaped = block.replace('"', "\\\"").replace('\n', "\\n");
        // A comma too many, so that it has to be repaired.
        let kept = json!({"content": block.trim_end(), "n": 1});
        let text = read(&format!("{{\"content\": \"{}\", \"n\": 1,}}", escaped.trim_end()));
        assert_eq!(text, kept);
    }
    let words = read("{\"content\": \"```sh ls``` and \"more\"\", \"n\": 1,}");
    assert_eq!(words["n"], 1, "{words}");
}

/// Broken replies with what was meant, where they are at hand.
fn cases() -> Option<Vec<Json>> {
    let text = maxim_region::development_data::text("json/repair.jsonl")?;
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect())
}

/// Equal, numbers by value.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[test]
fn nine_in_ten_broken_replies_are_read_as_they_were_meant() {
    let Some(cases) = cases() else { return };
    let (mut right, mut meant, mut refused, mut irreparable, mut own) = (0, 0, 0, 0, true);
    let (mut objects, mut objects_right) = (0, 0);
    for case in &cases {
        let input = case["input"].as_str().expect("an input");
        let read = read_json(input);
        if case["throws"] == true {
            irreparable += 1;
            refused += usize::from(read.is_err());
            if let Ok(read) = read {
                println!("not refused: {input:?} read as {}", read.value);
            }
            continue;
        }
        let hit = read.as_ref().is_ok_and(|read| same(&read.value, &case["expect"]));
        (meant, right) = (meant + 1, right + usize::from(hit));
        if case["expect"].is_object() {
            (objects, objects_right) = (objects + 1, objects_right + usize::from(hit));
        }
        own &= hit || !case["class"].as_str().is_some_and(|class| class.contains("llm"));
        if !hit {
            let found = read.map_or_else(|error| error.to_string(), |read| read.value.to_string());
            println!("{} {}: {input:?}\n  meant {}\n  found {found}", case["id"], case["class"], case["expect"]);
        }
    }
    println!(
        "read as meant {right} of {meant}, objects {objects_right} of {objects}; refused {refused} of {irreparable}"
    );
    assert!(right * 10 >= meant * 9 && objects_right * 10 >= objects * 9 && own);
    assert_eq!(refused, irreparable);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic_and_what_is_valid_stays(
        text in "(\\PC|[{}\\[\\]\",:'`\\\\/\\n .a0-]){0,60}",
        numbers in proptest::collection::vec(any::<i32>(), 0..5),
    ) {
        let _ = read_json(&text);
        let _ = read_action(&text);
        let whole = json!({"a": numbers, "b": text});
        prop_assert_eq!(&read_json(&whole.to_string()).expect("valid").value, &whole);
        let cut = whole.to_string();
        for (at, _) in cut.char_indices() {
            let _ = read_json(&cut[..at]);
        }
    }
}
