//! The action tools in the whole brain, as a model calls them: each with its parameters, and what it reports about
//! the rest.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use maxim::config::Span;
use maxim_bus::signals::thought::TurnEnded;
use serde_json::{Value, json};

use crate::common::Bench;
use crate::model::{Act, Model, acts};

/// A brain whose model does as it is told.
struct Doer {
    bench: Bench,
    model: Model,
    /// What it does next; after that it answers.
    next: Arc<Mutex<Option<String>>>,
    turns: usize,
}

impl Doer {
    fn new() -> Self {
        let next: Arc<Mutex<Option<String>>> = Arc::default();
        let planned = Arc::clone(&next);
        let model = Model::acting(move |_, _| {
            let planned = planned.lock().expect("no panic inside").take();
            Act::Say(planned.unwrap_or_else(|| acts("respond", &json!({"message": "Well."}))))
        });
        let bench = model.bench(|settings| settings.effectors.llm.tick = Span::new(Duration::ZERO));
        Self { bench, model, next, turns: 0 }
    }

    fn turn(&mut self, tool: &str, params: &Value) -> TurnEnded {
        *self.next.lock().expect("no panic inside") = Some(acts(tool, params));
        self.turns += 1;
        self.bench.pass(Duration::from_secs(5));
        self.bench.say(&format!("what would plumber number {} say to this mess?", self.turns))
    }

    /// The result of a call; a question about it gets a yes.
    fn does(&mut self, tool: &str, params: Value) -> Value {
        let ended = self.turn(tool, &params);
        let called = ended.actions.iter().find(|action| action.tool != "respond");
        let called = called.unwrap_or_else(|| panic!("{tool} was not tried: {ended:?}")).clone();
        if called.status == "asked" {
            self.bench.agent.outside.door.decide(called.id, true, false, "anna".into());
            self.bench.pass(Duration::from_secs(5));
        }
        let why = self.bench.why_all();
        let mut parts = why.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let turn = json!(ended.turn);
        let result = |part: &Value| {
            part["kind"] == "ToolResult" && part["body"]["turn"] == turn && part["body"]["tool"] != "respond"
        };
        let result = parts.rfind(result);
        result.unwrap_or_else(|| panic!("nothing came of {tool}: {ended:?}"))["body"].clone()
    }

    fn done(&mut self, tool: &str, params: Value) -> Value {
        let result = self.does(tool, params);
        assert_eq!(result["success"], true, "{result}");
        result["output"].clone()
    }

    fn fails(&mut self, tool: &str, params: Value) -> String {
        let result = self.does(tool, params);
        assert_eq!(result["success"], false, "{result}");
        result["error"].as_str().unwrap_or_default().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.bench.file(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.bench.file(name)).expect("there")
    }
}

#[test]
fn files_are_read_in_parts_written_whole_or_added_to_and_changed_where_it_is_clear() {
    let mut doer = Doer::new();
    let lines: String = (1..=2_500).map(|line| format!("line {line}\n")).collect();
    doer.write("long.txt", &lines);
    let part = doer.done("read_file", json!({"filename": "long.txt", "offset": 10, "limit": 2}));
    assert_eq!(
        (&part["text"], &part["from"], &part["lines"]),
        (&json!("line 10\nline 11\n"), &json!(10), &json!(2_500))
    );
    assert!(part["cut"].as_str().is_some_and(|cut| cut.contains("read on with offset 12")), "{part}");
    let whole = doer.done("read_file", json!({"path": "long.txt"}));
    assert_eq!(whole["to"], 2_000, "the default");

    doer.done("write_file", json!({"file": "new/list.txt", "text": "milk"}));
    let added = doer.done("write_file", json!({"path": "new/list.txt", "content": "eggs", "append": true}));
    assert_eq!((&added["appended"], &added["created"]), (&json!(true), &json!(false)));
    assert_eq!(doer.read("new/list.txt"), "milk\neggs");
    doer.bench.say("undo that");
    assert_eq!(doer.read("new/list.txt"), "milk", "what was added is taken back");
    doer.done("write_file", json!({"path": "new/list.txt", "content": "tea"}));
    assert_eq!(doer.read("new/list.txt"), "tea");

    doer.write("lamps.txt", "red lamp off\nblue lamp off\nred light off\n");
    let unclear = doer.fails("edit_file", json!({"path": "lamps.txt", "old": "off", "new": "on"}));
    assert!(unclear.contains("stands 3 times") && unclear.contains("expected_count"), "{unclear}");
    let clear = json!({"path": "lamps.txt", "old_string": "off", "new_string": "on", "context_before": "blue lamp"});
    assert_eq!(doer.done("edit_file", clear)["lines"], json!([2]));
    let after = json!({"path": "lamps.txt", "old_string": "red", "new_string": "green", "context_after": "light"});
    assert_eq!(doer.done("edit_file", after)["lines"], json!([3]));
    doer.done("edit_file", json!({"path": "lamps.txt", "old_string": "off", "new_string": "out", "expected_count": 2}));
    assert_eq!(doer.read("lamps.txt"), "red lamp out\nblue lamp on\ngreen light out\n");
    let missing = doer.fails("edit_file", json!({"path": "lamps.txt", "old_string": "gren light", "new_string": "x"}));
    assert!(missing.contains("the most like is line 3"), "{missing}");
    let outside = doer.turn("write_file", &json!({"path": "../outside.txt", "content": "x"}));
    assert!(outside.actions.iter().all(|action| action.tool == "respond" || action.status != "done"), "{outside:?}");
}

#[test]
fn files_and_code_are_found_without_what_any_gitignore_leaves_out() {
    let mut doer = Doer::new();
    doer.write(".gitignore", "src/made/\n*.log\n");
    for (name, text) in [
        ("src/a.rs", "fn feed() {}\n// FEED it\n"),
        ("src/deep/b.rs", "let x = feed();\n"),
        ("src/made/c.rs", "fn feed() {}\n"),
        ("src/d.log", "feed\n"),
        ("notes.md", "feed the gulls\nfn of none\n"),
    ] {
        doer.write(name, text);
    }
    let places = |found: &Value| {
        let matches = found["matches"].as_array().expect("matches").iter();
        matches.map(|one| format!("{}:{}", one["path"].as_str().unwrap_or_default(), one["line"])).collect::<Vec<_>>()
    };
    let all = doer.done("search_code", json!({"query": "feed"}));
    assert_eq!(places(&all), ["notes.md:1", "src/a.rs:1", "src/deep/b.rs:1"], "{all}");
    let below = doer.done("search_code", json!({"pattern": "feed", "path": "src"}));
    assert_eq!(places(&below), ["a.rs:1", "deep/b.rs:1"], "a .gitignore above holds too: {below}");
    let named = doer.done("search_code", json!({"pattern": "feed", "path": "src/made"}));
    assert_eq!(places(&named), ["c.rs:1"], "what is named is looked into");
    let regex = doer.done("search_code", json!({"pattern": "^fn \\w+", "files": "*.rs", "context": 1}));
    assert_eq!((places(&regex), &regex["matches"][0]["after"]), (vec!["src/a.rs:1".into()], &json!(["// FEED it"])));
    let any_case = doer.done("search_code", json!({"pattern": "feed", "ignore_case": true, "limit": 1}));
    assert_eq!((&any_case["found"], places(&any_case).len()), (&json!(4), 1), "{any_case}");
    assert!(any_case["cut"].as_str().is_some_and(|cut| cut.contains("3 more matches")), "{any_case}");
    let plain = doer.done("search_code", json!({"pattern": "feed()", "literal": true}));
    assert_eq!(plain["found"], 2, "{plain}");
    let wrong = doer.fails("search_code", json!({"pattern": "("}));
    assert!(wrong.contains("no regular expression") && wrong.contains("literal"), "{wrong}");

    let entries = |found: &Value| found["entries"].clone();
    assert_eq!(entries(&doer.done("glob", json!({"pattern": "*.rs", "folder": "src"}))), json!(["a.rs", "deep/b.rs"]));
    let ignored = doer.done("glob", json!({"pattern": "*.rs", "path": "src", "include_ignored": true}));
    assert_eq!(entries(&ignored), json!(["a.rs", "deep/b.rs", "made/c.rs"]));
    let few = doer.done("glob", json!({"pattern": "*.rs", "limit": 1}));
    assert!(few["found"] == 2 && few["cut"].as_str().is_some_and(|cut| cut.contains("1 more")), "{few}");
    assert_eq!(entries(&doer.done("glob", json!({"pattern": "./*"}))), json!(["notes.md", "src/"]));
}

#[test]
fn what_changed_is_shown_and_committed_as_it_is_asked_for() {
    let mut doer = Doer::new();
    let git = |doer: &Doer, args: &[&str]| {
        let ran = Command::new("git").current_dir(doer.bench.folder.path()).args(args).output().expect("git runs");
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let nowhere = doer.fails("git_diff", json!({}));
    assert!(nowhere.contains("git init") && !nowhere.contains('\n'), "{nowhere}");
    git(&doer, &["init", "-q", "-b", "main"]);
    git(&doer, &["config", "user.email", "anna@example.org"]);
    git(&doer, &["config", "user.name", "Anna"]);
    doer.write("a.txt", "one\n");
    doer.write("b.txt", "one\n");
    let first = doer.done("git_commit", json!({"msg": "The first", "all": true}));
    assert_eq!((&first["branch"], &first["summary"]), (&json!("main"), &json!("The first")), "{first}");
    doer.write("a.txt", "one\ntwo\n");
    doer.write("b.txt", "two\n");
    doer.write("c.txt", "new\n");
    let changed = doer.done("git_diff", json!({"path": "a.txt"}));
    assert_eq!(changed["files"], json!([{"path": "a.txt", "added": 1, "removed": 0}]), "{changed}");
    assert!(changed["diff"].as_str().is_some_and(|patch| patch.contains("+two")), "{changed}");
    let short = doer.done("git_diff", json!({"summary": true}));
    let untracked = short["untracked"].to_string();
    assert!(short["diff"].is_null() && untracked.contains("c.txt"), "{short}");
    let second = doer.done("git_commit", json!({"message": "Only a", "paths": ["a.txt"]}));
    assert_eq!(second["files"], json!(["a.txt"]));
    git(&doer, &["add", "b.txt"]);
    let staged = doer.done("git_diff", json!({"cached": true}));
    assert_eq!(staged["files"][0]["path"], "b.txt", "{staged}");
    let since = doer.done("git_diff", json!({"revision": "HEAD~1"}));
    assert!(since["files"].to_string().contains("a.txt"), "{since}");
    assert_eq!(git(&doer, &["log", "--format=%s"]), "Only a\nThe first\n");
}

#[test]
fn scripts_and_tests_are_run_and_counted_once_a_person_allows_it() {
    let mut doer = Doer::new();
    doer.write("sum.sh", "read -r word\necho \"$1 and $word in $(basename \"$PWD\")\"\n");
    doer.write("inner/keep", "");
    let call = json!({"script": "sum.sh", "arguments": ["one"], "input": "two\n", "cwd": "inner"});
    assert_eq!(doer.done("execute_file", call)["stdout"], "one and two in inner\n");
    let missing = doer.fails("execute_file", json!({"path": "nowhere.sh"}));
    assert!(missing.contains("nowhere.sh"), "{missing}");
    doer.write("slow.sh", "sleep 600\n");
    let late = doer.fails("execute_file", json!({"path": "slow.sh", "timeout": 1}));
    assert!(late.contains("longer than 1 s"), "{late}");
    let cases = "import unittest\n\nclass Sums(unittest.TestCase):\n    def test_good(self):\n        \
        self.assertEqual(1 + 1, 2)\n\n    def test_bad(self):\n        self.assertEqual(1 + 1, 3)\n";
    doer.write("sums/test_sums.py", cases);
    doer.write("sums/package.json", "{}");
    let failed = doer.does("run_tests", json!({"folder": "sums", "framework": "unittest"}));
    let counts = ["passed", "failed"].map(|name| failed["output"][name].as_u64());
    assert_eq!((counts, &failed["success"]), ([Some(1), Some(1)], &json!(false)), "{failed}");
    let failures = failed["output"]["failures"].to_string();
    assert!(failures.contains("test_bad") && failures.contains("2 != 3"), "{failures}");
    let one = doer.done("run_tests", json!({"path": "sums", "framework": "unittest", "filter": "test_good"}));
    assert_eq!((&one["passed"], &one["failed"]), (&json!(1), &json!(0)), "{one}");
    let none = doer.fails("run_tests", json!({"path": "inner"}));
    assert!(none.contains("Cargo.toml, go.mod, package.json or Python tests"), "{none}");
}

#[test]
fn a_command_tells_its_output_what_was_cut_and_how_it_ended() {
    let mut doer = Doer::new();
    let told = doer.done("bash", json!({"cmd": "echo out; echo err >&2; pwd", "cwd": "."}));
    assert!(told["stdout"].as_str().is_some_and(|out| out.starts_with("out\n")) && told["stderr"] == "err\n", "{told}");
    let failed = doer.does("bash", json!({"command": "exit 3"}));
    assert_eq!((&failed["output"]["exit_code"], &failed["failure"]), (&json!(3), &json!("failed")), "{failed}");
    let much = doer.done("bash", json!({"command": "yes gull | head -c 200000"}));
    assert!(much["cut"].as_str().is_some_and(|cut| cut.contains("bytes of output are left out")), "{}", much["cut"]);
    assert!(much["stdout"].as_str().is_some_and(|out| out.len() <= 64 << 10));
    let late = doer.fails("bash", json!({"command": "sleep 600", "timeout_seconds": 1}));
    assert!(late.contains("longer than 1 s"), "{late}");
}

#[test]
fn a_wrong_parameter_of_an_action_is_named_to_the_model_with_what_was_expected() {
    let mut doer = Doer::new();
    let wrong = doer.fails("read_file", json!({"pth": "a.txt", "limit": "many"}));
    for part in
        ["read_file", "field \"pth\"", "did you mean \"path\"", "field \"limit\": expected an integer", "\"many\""]
    {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    let shown = doer.model.last().replace('\\', "");
    assert!(shown.contains("did you mean \"path\""), "the model sees it: {shown}");
    let missing = doer.fails("write_file", json!({"path": "a.txt"}));
    assert!(missing.contains("field \"content\"") && missing.contains("got nothing"), "{missing}");
}

#[test]
fn the_web_is_read_by_its_switch_and_only_where_it_is_public() {
    let mut doer = Doer::new();
    for url in ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://localhost/", "file:///etc/passwd"] {
        let ended = doer.turn("http_fetch", &json!({"url": url}));
        let tried = ended.actions.iter().find(|action| action.tool == "http_fetch").expect("tried");
        assert_ne!(tried.status, "done", "{url}: {ended:?}");
    }
    assert_eq!(doer.done("web_access", json!({"on": false}))["web"], false);
    let off = doer.fails("http_fetch", json!({"url": "https://example.org/"}));
    assert!(off.contains("switched off") && off.contains("maxim powers restore"), "{off}");
    let raised = doer.fails("web_access", json!({"on": true}));
    assert!(raised.contains("can't be raised"), "{raised}");
    doer.bench.crash();
    assert!(doer.fails("http_fetch", json!({"url": "https://example.org/"})).contains("switched off"), "over a crash");
}

#[test]
fn what_it_says_shows_and_names_goes_where_it_belongs() {
    let mut doer = Doer::new();
    let asked =
        json!({"question": "Which branch?", "choices": ["main", "next"], "reason": "both are green", "critical": true});
    let ended = doer.turn("request_interaction", &asked);
    let said = ended.reply.unwrap_or_default();
    let expected = ["Which branch?\n1. main\n2. next", "both are green", "This matters much"];
    assert!(expected.iter().all(|part| said.contains(part)), "{said}");
    doer.done("set_scene", json!({"title": "the kitchen", "description": "small, at noon"}));
    let scene = doer.bench.inquire("scene_summary", json!({}));
    assert_eq!(scene["scene"], json!({"title": "the kitchen", "description": "small, at noon"}), "{scene}");
    assert_eq!(doer.done("display_mode", json!({"level": "off"}))["mode"], "off");
    assert_eq!(doer.done("autonomy_level", json!({"level": "supervised"}))["was"], "autonomous");
    let raised = doer.does("autonomy_level", json!({"level": "autonomous"}));
    assert!(raised["success"] == false && raised["error"].to_string().contains("can't be raised"), "{raised}");
    for (tool, params) in [
        ("send_message", json!({"channel": "twilio", "to": "+15550100", "text": "tea is ready"})),
        ("call_user", json!({"number": "+15550100", "text": "tea is ready"})),
        ("move", json!({"yaw": 20, "duration": 1})),
        ("track_target", json!({"name": "cup"})),
    ] {
        let result = doer.does(tool, params);
        assert_eq!(
            (&result["output"]["available"], &result["failure"]),
            (&json!(false), &json!("unavailable")),
            "{result}"
        );
        assert!(result["output"]["reason"].as_str().is_some_and(|why| !why.is_empty()), "{result}");
    }
}
