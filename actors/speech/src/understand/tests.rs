//! The grammar as a whole, on utterances as people type them, with the speech of real tools and of one made up.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Effect, Grammar, ToolSpeech, Understanding};

static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::new(&["maxim", "max"], &speeches()).expect("the speeches compile"));

fn speech(tool: &str, effect: Effect, verbs: &[&str], patterns: &[&str], defaults: Value) -> ToolSpeech {
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ToolSpeech { tool: tool.to_owned(), effect, verbs: own(verbs), patterns: own(patterns), defaults }
}

fn speeches() -> Vec<ToolSpeech> {
    use Effect::{Irreversible, ReadOnly, Reversible};
    vec![
        speech(
            "respond",
            Reversible,
            &["say", "respond", "reply", "answer"],
            &["{verb} [with] [:] {text:rest}"],
            Value::Null,
        ),
        speech(
            "read_file",
            ReadOnly,
            &["read", "open", "show", "print", "cat", "display", "view"],
            &[
                "{verb} [me] [to me] [out] [the] [contents of|content of|text of] [the] [file] [called|named] {path:path} [file] [to me|aloud]",
                "{verb} [me] [what is in|what is inside] [the] [file] {path:path}",
                "what is (in|inside|written in) [the] [file] [called|named] {path:path} [file]",
                "what does [the] [file] {path:path} (say|contain|hold)",
                "(give|show) me [the] [contents of] [the] [file] {path:path}",
            ],
            Value::Null,
        ),
        speech(
            "write_file",
            Reversible,
            &["write", "create", "save", "make"],
            &[
                "{verb} [me] [the] [new|text|empty] [file] [called|named] {path:path} (with|containing|saying|that says|which says) [the] [text|content|contents|words|following] [:] {content:rest}",
                "{verb} [me] [the] [new|text] [file] [called|named] {path:path} : {content:rest}",
                "{verb} [the] [text|words|line] [:] {content:rest} (to|into|in|as) [the] [file] [called|named] {path:path} [file]",
                "put [the] [text|words] {content:rest} (into|in) [the] [file] [called|named] {path:path}",
            ],
            Value::Null,
        ),
        speech(
            "edit_file",
            Reversible,
            &["replace", "change", "substitute"],
            &[
                "{verb} {old:rest} (with|to|by) {new:rest} in [the] [file] {path:path}",
                "in [the] [file] {path:path} {verb} {old:rest} (with|to|by) {new:rest}",
                "edit [the] [file] {path:path} and {verb} {old:rest} (with|to|by) {new:rest}",
            ],
            json!({"expected_count": 1}),
        ),
        speech(
            "glob",
            ReadOnly,
            &["list", "show", "find", "search for", "look for"],
            &[
                "{verb} [me] [all] [of] [the] (files|folders) (matching|like|named|called|with the pattern) {pattern:path}",
                "{verb} [me] [all] [of] [the] (files|folders|things|everything) (in|under|inside) [the] [folder|directory] {path:path} [folder|directory]",
                "{verb} [me] [all] [of] [the] (files|everything|folders) [here|in here|in this folder|in the current folder|in the working folder]",
                "{verb} [me] [all] [the] {pattern:path} [files] [in the folder|in] [{path:path}]",
                "(what|which) files (are|do we have|do you have|exist) [there] [here|in this folder]",
                "(what|which) files are [there] (in|under) [the] [folder|directory] {path:path} [folder|directory]",
                "{verb} [the] {path:path} (folder|directory)",
            ],
            json!({"pattern": "*"}),
        ),
        speech(
            "bash",
            Irreversible,
            &["run", "execute"],
            &["{verb} [the] [shell|bash] [command] [:] {command:rest}", "{verb} [the] {command:word} command"],
            Value::Null,
        ),
        speech(
            "delete_file",
            Irreversible,
            &["delete", "remove", "erase"],
            &["{verb} [the] [file] [called|named] {path:path} [file]"],
            Value::Null,
        ),
        speech(
            "memory_recall",
            ReadOnly,
            &["recall", "search memory for", "search your memory for", "look up"],
            &["{verb} [what you know about|everything about|memories about|memories of] {query:rest}"],
            json!({"limit": 5}),
        ),
        speech(
            "predict_outcome",
            ReadOnly,
            &["predict"],
            &[
                "{verb} [the] [outcome|result|outcomes] [of] {tool_name:word}",
                "{verb} what {tool_name:word} (does|will do|would do)",
            ],
            Value::Null,
        ),
        speech(
            "system_stats",
            ReadOnly,
            &["show", "print", "give me", "display", "get"],
            &[
                "{verb} [me] [the] [system|memory|your] (stats|statistics|numbers)",
                "how (much|many) memories do you have",
                "[system] stats",
            ],
            Value::Null,
        ),
        speech(
            "turn_lamp",
            Reversible,
            &["turn", "switch", "dim"],
            &[
                "{verb} {state:on|off} [the] {lamp:word} (lamp|light)",
                "{verb} [the] {lamp:word} (lamp|light) {state:on|off}",
                "{verb} [the] {lamp:word} (lamp|light) [down] to {percent:number} [percent]",
            ],
            Value::Null,
        ),
        speech(
            "turn_head",
            Reversible,
            &["turn", "rotate", "look"],
            &["{verb} [the|your] [head] {direction:left|right|up|down} [by] {degrees:number} [degrees|degree]"],
            Value::Null,
        ),
    ]
}

/// What is wrong with an understanding, if anything.
fn wrong(understood: &Value, case: &Value) -> Option<String> {
    let steps = understood["steps"].as_array().cloned().unwrap_or_default();
    let tools: Vec<&str> = steps.iter().filter_map(|step| step["tool"].as_str()).collect();
    for never in case["must_not"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if tools.contains(&never) || (never == "*" && !tools.is_empty()) {
            return Some(format!("DANGER: calls {tools:?}"));
        }
    }
    let must = &case["must"];
    let first = steps.first().cloned().unwrap_or(Value::Null);
    let partial = &understood["understood"];
    for (key, wanted) in must.as_object().into_iter().flatten() {
        let got = match key.as_str() {
            "kind" | "about" | "topic" | "fact" | "agrees" | "what" => understood[key].clone(),
            "tools" => json!(tools),
            "certainty" => first["certainty"].clone(),
            "tool" => [&first["tool"], &understood["tool"], &partial["tool"]]
                .into_iter()
                .find(|v| !v.is_null())
                .cloned()
                .unwrap_or(Value::Null),
            "params" => {
                let params = if first.is_null() { &understood["params"] } else { &first["params"] };
                let held = wanted.as_object().into_iter().flatten().all(|(name, value)| params[name] == *value);
                if held { wanted.clone() } else { params.clone() }
            }
            other => return Some(format!("the case has an unknown key {other}")),
        };
        let held = got == *wanted || wanted.as_array().is_some_and(|any| key != "tools" && any.contains(&got));
        if !held {
            return Some(format!("{key} should be {wanted}, is {got}"));
        }
    }
    None
}

fn cases() -> Vec<Value> {
    let lines = include_str!("utterances.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn utterances_are_understood_as_they_must_be() {
    let cases = cases();
    assert!(cases.len() >= 240, "only {} utterances", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let text = case["text"].as_str().expect("a case has a text");
        let understood = serde_json::to_value(GRAMMAR.understand(text)).expect("an understanding is JSON");
        if let Some(fault) = wrong(&understood, case) {
            failures.push(format!("{text:?}\n    {fault}\n    {understood}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} wrong:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn a_question_in_a_tools_own_words_is_the_tools() {
    let ask = |effect: Effect, text: &str| {
        let tides = speech("tides", effect, &["tell"], &["when is high tide (at|in) {harbour:word}"], Value::Null);
        Grammar::new(&["maxim"], &[tides]).expect("it compiles").understand(text)
    };
    let understood = ask(Effect::ReadOnly, "when is high tide in Whitby?");
    assert!(matches!(&understood, Understanding::Command { steps } if steps[0].tool == "tides"), "{understood:?}");
    for (effect, text) in
        [(Effect::Reversible, "when is high tide in Whitby?"), (Effect::ReadOnly, "when is the next train?")]
    {
        let understood = ask(effect, text);
        assert!(matches!(understood, Understanding::Question { .. }), "{text}: {understood:?}");
    }
}

#[test]
fn a_faulty_pattern_names_its_tool() {
    let faulty = speech("broken", Effect::ReadOnly, &[], &["show [me"], Value::Null);
    let error = Grammar::new(&[], &[faulty]).expect_err("never closed").to_string();
    assert!(error.contains("broken") && error.contains("show [me"), "{error}");
}

#[test]
fn a_grammar_without_tools_still_talks_and_never_acts() {
    let grammar = Grammar::new(&["maxim"], &[]).expect("nothing to compile");
    assert_eq!(grammar.understand("hello maxim"), Understanding::Greeting);
    for case in cases() {
        let understood = grammar.understand(case["text"].as_str().expect("a text"));
        assert!(!matches!(understood, Understanding::Command { .. }), "{case}");
    }
}

#[test]
fn abilities_are_examples_that_are_understood_again() {
    let abilities = GRAMMAR.abilities();
    assert_eq!(abilities.len(), speeches().len());
    assert!(abilities.iter().any(|(tool, example)| tool == "bash" && example == "run <command>"), "{abilities:?}");
}

const ACTIONS: [&str; 7] = [
    "run rm -rf build",
    "delete a.txt",
    "write hello to a.txt",
    "create the file a.txt with hi",
    "turn on the kitchen lamp",
    "turn your head left 30 degrees",
    "read a.txt",
];

fn acts(text: &str) -> bool {
    matches!(GRAMMAR.understand(text), Understanding::Command { .. })
}

#[test]
fn each_action_is_one_when_it_stands_alone() {
    for action in ACTIONS {
        assert!(acts(action), "{action}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_understood_without_panic(text in "\\PC{0,200}") {
        let _ = GRAMMAR.understand(&text);
    }

    #[test]
    fn words_of_the_grammar_in_any_order_are_understood_without_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "run", "write", "to", "with", "\"", "'", "`", "a.txt", "and then", "what", "if", "don't", "the", "file", ",", "?", "…", "maxim",
            "please", "é", "🙂", "tell me", "you", "```", "in 5 minutes", ":", "replace", "what's", "’s", "\n",
        ]), 0..30)
    ) {
        let _ = GRAMMAR.understand(&words.join(" "));
        let _ = GRAMMAR.understand(&words.concat());
    }

    #[test]
    fn what_someone_said_is_never_done(
        who in "[A-Z][a-z]{1,8}",
        verb in prop::sample::select(vec!["said", "says", "told me", "asked", "wrote", "shouted"]),
        mark in prop::sample::select(vec![("\"", "\""), ("'", "'"), ("“", "”"), ("", "")]),
        action in prop::sample::select(ACTIONS.to_vec()),
        lead in prop::sample::select(vec!["", "hey maxim, ", "yesterday "]),
    ) {
        let text = format!("{lead}{who} {verb}: {}{action}{}", mark.0, mark.1);
        prop_assert!(!acts(&text), "{text}");
    }

    #[test]
    fn a_negated_request_is_never_done(
        lead in prop::sample::select(vec!["", "maxim, ", "please ", "could you please ", "ok so ", "I want you to ", "hey max just "]),
        no in prop::sample::select(vec!["don't ", "do not ", "never ", "dont ", "Don’t ever ", "not ", "avoid ", "you must not ", "I don't want you to ", "please never "]),
        action in prop::sample::select(ACTIONS.to_vec()),
        tail in prop::sample::select(vec!["", " please", "!", " ever", ", thanks"]),
    ) {
        let text = format!("{lead}{no}{action}{tail}");
        prop_assert!(!acts(&text), "{text}");
    }

    #[test]
    fn a_conditional_or_delayed_request_is_never_done(
        when in prop::sample::select(vec!["tomorrow", "when I come back", "if it rains", "in 5 minutes", "at 5pm", "every hour", "on monday", "after lunch"]),
        action in prop::sample::select(vec!["run make", "delete a.txt", "turn on the kitchen lamp", "turn your head left 30 degrees"]),
        first in any::<bool>(),
    ) {
        let text = if first { format!("{when}, {action}") } else { format!("{action} {when}") };
        let understood = GRAMMAR.understand(&text);
        prop_assert!(matches!(understood, Understanding::Unsupported { .. }), "{text}: {understood:?}");
    }
}
