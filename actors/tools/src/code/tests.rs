//! The tools for code, with the real programs, as the executor calls them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use maxim_bus::latch::{EffectKind, StopLatch};
use serde_json::{Value, json};

use crate::{ErrorKind, Hands, Mode, ToolOutcome, core_registry};

struct Desk {
    folder: tempfile::TempDir,
    hands: Hands,
    latch: StopLatch,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let work = fs::canonicalize(folder.path()).expect("real").join("work");
    fs::create_dir(&work).expect("made");
    let hands = Hands::new(work, Mode::Active, folder.path().join("saved"));
    Desk { folder, hands, latch: StopLatch::in_memory() }
}

impl Desk {
    fn call(&self, tool: &str, params: &Value) -> ToolOutcome {
        let registry = core_registry().expect("good specs");
        let params = registry.validate(tool, params).expect("valid");
        let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
        registry.hands_on(tool).expect("a tool").run(&params, &permit, &self.hands)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.hands.workdir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn git(&self, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=Anna", "-c", "user.email=anna@example.org"])
            .args(args)
            .current_dir(&self.hands.workdir)
            .output()
            .expect("git runs");
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success());
    if !found {
        eprintln!("SKIPPED: {program} isn't on this machine");
    }
    found
}

fn error(outcome: &ToolOutcome) -> (Option<ErrorKind>, &str) {
    assert!(!outcome.success, "{outcome:?}");
    (outcome.error_kind, outcome.error.as_deref().unwrap_or_default())
}

fn places(outcome: &ToolOutcome) -> Vec<String> {
    let matches = outcome.output["matches"].as_array().expect("matches");
    matches.iter().map(|found| format!("{}:{}", found["path"].as_str().unwrap_or("?"), found["line"])).collect()
}

#[test]
fn a_search_finds_lines_in_order_and_honours_gitignore_hidden_and_binary_files() {
    let desk = desk();
    desk.put("b.rs", "fn one() {}\nlet two = 2;\nfn three() {}\n");
    desk.put("a/c.rs", "fn four() {}\n");
    desk.put("a/d.py", "def fn_five(): pass\n");
    desk.put("target/e.rs", "fn built() {}\n");
    desk.put(".hidden/f.rs", "fn hidden() {}\n");
    desk.put(".gitignore", "target/\n");
    fs::write(desk.hands.workdir.join("g.bin"), b"fn \0 binary").expect("written");
    let all = desk.call("search_code", &json!({"pattern": "^fn \\w+"}));
    assert_eq!(places(&all), ["a/c.rs:1", "b.rs:1", "b.rs:3"]);
    assert_eq!((&all.output["found"], &all.output["files"]), (&json!(3), &json!(2)));
    assert_eq!(all.output["matches"][1]["text"], "fn one() {}");
    let some = desk.call("search_code", &json!({"regex": "fn", "glob": "*.py"}));
    assert_eq!(places(&some), ["a/d.py:1"]);
    let below = desk.call("search_code", &json!({"pattern": "FN FOUR", "path": "a", "ignore_case": true}));
    assert_eq!(places(&below), ["c.rs:1"]);
    let none = desk.call("search_code", &json!({"pattern": "one()", "literal": true}));
    assert_eq!(places(&none), ["b.rs:1"]);
}

#[test]
fn a_search_shows_the_lines_around_and_says_what_it_leaves_out() {
    let desk = desk();
    desk.put("a.txt", "one\ntwo\nthree\nfour\n");
    let found = desk.call("search_code", &json!({"pattern": "two", "context": 1})).output["matches"][0].clone();
    assert_eq!((&found["before"], &found["after"]), (&json!(["one"]), &json!(["three"])));
    let some = desk.call("search_code", &json!({"pattern": "o", "limit": 1}));
    assert_eq!(places(&some), ["a.txt:1"]);
    assert!(some.output["cut"].as_str().is_some_and(|cut| cut.contains("2 more matches")), "{some:?}");
    desk.put("secrets.json", "{\"one\": 1}\n");
    let guarded = desk.call("search_code", &json!({"pattern": "one"}));
    assert_eq!(places(&guarded), ["a.txt:1"]);
    assert!(guarded.output["cut"].as_str().is_some_and(|cut| cut.contains("may hold credentials")), "{guarded:?}");
    let named = desk.call("search_code", &json!({"pattern": "one", "path": "secrets.json"}));
    assert_eq!(places(&named), ["secrets.json:1"]);
}

#[test]
fn a_search_that_can_not_be_done_says_why() {
    let desk = desk();
    let outcome = desk.call("search_code", &json!({"pattern": "(a"}));
    assert_eq!(error(&outcome).0, Some(ErrorKind::InvalidParameters));
    assert!(error(&outcome).1.contains("literal"), "{outcome:?}");
    assert_eq!(error(&desk.call("search_code", &json!({"pattern": "a", "path": ".."}))).0, Some(ErrorKind::Refused));
    assert_eq!(error(&desk.call("search_code", &json!({"pattern": "a", "path": "no"}))).0, Some(ErrorKind::NotFound));
    let registry = core_registry().expect("good specs");
    let wrong = registry.validate("search_code", &json!({"pattern": "a", "context": 11})).expect_err("refused");
    assert!(wrong.to_string().contains("field \"context\": expected an integer from 0 to 10"), "{wrong}");
}

#[test]
fn what_has_changed_is_shown_by_file_and_patch() {
    if !has("git") {
        return;
    }
    let desk = desk();
    desk.git(&["init", "-q", "-b", "main"]);
    desk.put("a.txt", "one\ntwo\n");
    desk.put("b.txt", "same\n");
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "first"]);
    desk.put("a.txt", "one\n2\nthree\n");
    desk.put("new.txt", "new\n");
    let outcome = desk.call("git_diff", &json!({}));
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(outcome.output["files"], json!([{"path": "a.txt", "added": 2, "removed": 1}]));
    assert_eq!(outcome.output["untracked"], json!(["new.txt"]));
    assert!(outcome.output["diff"].as_str().is_some_and(|diff| diff.contains("+three")), "{outcome:?}");
    assert_eq!(desk.call("git_diff", &json!({"staged": true})).output["files"], json!([]));
    desk.git(&["add", "a.txt"]);
    assert_eq!(desk.call("git_diff", &json!({"cached": true})).output["files"][0]["path"], "a.txt");
    let against = desk.call("git_diff", &json!({"revision": "HEAD", "path": "b.txt", "summary": true}));
    assert_eq!((&against.output["files"], against.output.get("diff")), (&json!([]), None));
    let registry = core_registry().expect("good specs");
    let wrong = registry.validate("git_diff", &json!({"revision": "--output=x"})).expect_err("refused");
    assert!(wrong.to_string().contains("\"revision\""), "{wrong}");
}

#[test]
fn a_commit_keeps_what_was_named_and_only_that() {
    if !has("git") {
        return;
    }
    let desk = desk();
    desk.git(&["init", "-q", "-b", "main"]);
    desk.put("a.txt", "a");
    desk.put("b.txt", "b");
    let outcome = desk.call("git_commit", &json!({"message": "Keeps a\n\nand says why", "files": ["a.txt"]}));
    assert!(outcome.success, "{outcome:?}");
    assert_eq!((&outcome.output["summary"], &outcome.output["files"]), (&json!("Keeps a"), &json!(["a.txt"])));
    assert_eq!(outcome.output["author"], "Maxim <maxim@localhost>");
    assert_eq!(desk.call("git_diff", &json!({})).output["untracked"], json!(["b.txt"]));
    let all = desk.call("git_commit", &json!({"message": "The rest", "all": true}));
    assert_eq!(all.output["files"], json!(["b.txt"]));
    let nothing = desk.call("git_commit", &json!({"message": "Nothing"}));
    assert!(error(&nothing).1.contains("nothing is staged"), "{nothing:?}");
    assert_eq!(
        error(&desk.call("git_commit", &json!({"message": "x", "paths": ["../x"]}))).0,
        Some(ErrorKind::Refused)
    );
}

#[test]
fn a_credential_is_not_committed_along_with_everything() {
    if !has("git") {
        return;
    }
    let desk = desk();
    desk.git(&["init", "-q", "-b", "main"]);
    desk.put("a.txt", "a");
    desk.put(".env", "TOKEN=x");
    let outcome = desk.call("git_commit", &json!({"message": "All", "all": true}));
    assert_eq!(error(&outcome).0, Some(ErrorKind::Refused));
    assert!(error(&outcome).1.contains(".env"), "{outcome:?}");
    let named = desk.call("git_commit", &json!({"message": "Named", "paths": [".env", "a.txt"]}));
    assert!(named.success, "the gate asks about a path that is named: {named:?}");
}

#[test]
fn without_git_or_a_repository_the_error_names_the_fix() {
    let mut desk = desk();
    if has("git") {
        let outcome = desk.call("git_diff", &json!({}));
        assert_eq!(error(&outcome).0, Some(ErrorKind::NotFound));
        assert!(error(&outcome).1.contains("git init"), "{outcome:?}");
    }
    desk.hands.sandbox.path = "/nowhere".into();
    for (tool, params) in [("git_diff", json!({})), ("git_commit", json!({"message": "x"}))] {
        let outcome = desk.call(tool, &params);
        assert_eq!(error(&outcome).0, Some(ErrorKind::Unavailable));
        assert!(error(&outcome).1.contains("install it"), "{outcome:?}");
    }
}

#[test]
fn passive_mode_runs_none_of_them() {
    let mut desk = desk();
    desk.put("a.sh", "touch ran\n");
    desk.hands.mode = Mode::Passive;
    let calls = [
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "x"})),
        ("run_tests", json!({})),
        ("execute_file", json!({"path": "a.sh"})),
    ];
    for (tool, params) in calls {
        assert_eq!(error(&desk.call(tool, &params)).0, Some(ErrorKind::Refused), "{tool}");
    }
    assert!(!desk.hands.workdir.join("ran").exists());
}

#[test]
fn a_file_runs_by_its_first_line_or_by_the_interpreter_of_its_ending() {
    let desk = desk();
    desk.put("a.sh", "echo \"$1 $(cat)\"\n");
    let outcome = desk.call("execute_file", &json!({"script": "a.sh", "args": ["hello"], "stdin": "you"}));
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(outcome.output["stdout"], "hello you\n");
    let own = desk.put("own", "#!/bin/sh\nexit 3\n");
    let plain = desk.call("execute_file", &json!({"path": "own"}));
    assert!(error(&plain).1.contains("chmod +x"), "{plain:?}");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(own, mode).expect("set");
    assert_eq!(desk.call("execute_file", &json!({"path": "own"})).output["exit_code"], 3);
    assert_eq!(error(&desk.call("execute_file", &json!({"path": "../x.sh"}))).0, Some(ErrorKind::Refused));
    assert_eq!(error(&desk.call("execute_file", &json!({"path": "no.sh"}))).0, Some(ErrorKind::NotFound));
    assert!(desk.folder.path().exists());
}

#[test]
fn pythons_tests_are_counted_one_by_one() {
    if !has("python3") {
        return;
    }
    let mut desk = desk();
    desk.hands.home = std::env::home_dir().unwrap_or_default();
    desk.put(
        "test_sums.py",
        "import unittest\n\nclass Sums(unittest.TestCase):\n    def test_good(self):\n        self.assertEqual(1 + 1, 2)\n\n    def test_bad(self):\n        self.assertEqual(1 + 1, 3)\n\n    @unittest.skip('later')\n    def test_later(self):\n        pass\n",
    );
    let outcome = desk.call("run_tests", &json!({}));
    let (kind, why) = error(&outcome);
    assert_eq!(kind, Some(ErrorKind::Failed));
    assert!(why.contains("1 of 2 tests failed") && why.contains("test_bad"), "{outcome:?}");
    let counts = ["passed", "failed", "skipped"].map(|field| outcome.output[field].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(1)]);
    let one = desk.call("run_tests", &json!({"framework": "unittest", "filter": "test_good"}));
    assert!(one.success && one.output["passed"] == 1, "{one:?}");
}

/// Whose home Rust was installed in: not always that of who runs the tests.
fn home_of_rust() -> PathBuf {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).unwrap_or_default();
    let installed = cargo.ancestors().find(|part| part.ends_with(".rustup") || part.ends_with(".cargo"));
    installed.and_then(Path::parent).map(Path::to_owned).or_else(std::env::home_dir).unwrap_or_default()
}

#[test]
fn a_crates_tests_are_counted_and_a_build_that_fails_is_told() {
    if !has("cargo") {
        return;
    }
    let mut desk = desk();
    desk.hands.home = home_of_rust();
    desk.hands.deadline = Duration::from_secs(300);
    desk.put("Cargo.toml", "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let lib = "pub fn add(a: i32, b: i32) -> i32 { a + b }\n#[test]\nfn good() { assert_eq!(add(1, 1), 2); }\n#[test]\nfn bad() { assert_eq!(add(1, 1), 3); }\n";
    desk.put("src/lib.rs", lib);
    let outcome = desk.call("run_tests", &json!({}));
    assert_eq!(outcome.output["framework"], "cargo", "{outcome:?}");
    assert_eq!((&outcome.output["passed"], &outcome.output["failed"]), (&json!(1), &json!(1)), "{outcome:?}");
    assert_eq!(outcome.output["failures"][0]["name"], "bad");
    assert!(outcome.output["failures"][0]["message"].as_str().is_some_and(|text| text.contains("right: 3")));
    desk.put("src/lib.rs", "pub fn add() -> i32 { nothing }\n");
    let broken = desk.call("run_tests", &json!({}));
    assert!(error(&broken).1.contains("no test ran: error"), "{broken:?}");
}

#[test]
fn node_tests_are_counted_behind_npm() {
    if !has("npm") {
        return;
    }
    let mut desk = desk();
    desk.hands.home = std::env::home_dir().unwrap_or_default();
    desk.put("package.json", "{\"name\": \"sums\", \"scripts\": {\"test\": \"node --test\"}}");
    desk.put(
        "sums.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\ntest('good', () => assert.equal(1 + 1, 2));\ntest('bad', () => assert.equal(1 + 1, 3));\n",
    );
    let outcome = desk.call("run_tests", &json!({"framework": "npm"}));
    assert_eq!((&outcome.output["passed"], &outcome.output["failed"]), (&json!(1), &json!(1)), "{outcome:?}");
    assert!(error(&outcome).1.contains("bad"), "{outcome:?}");
}

#[test]
fn a_folder_without_tests_and_an_absent_runner_are_told() {
    let mut desk = desk();
    let outcome = desk.call("run_tests", &json!({}));
    assert_eq!(error(&outcome).0, Some(ErrorKind::NotFound));
    assert!(error(&outcome).1.contains("Cargo.toml"), "{outcome:?}");
    desk.hands.home = Path::new("/nowhere").into();
    desk.hands.sandbox.path = "/nowhere".into();
    for framework in ["cargo", "npm", "unittest"] {
        let outcome = desk.call("run_tests", &json!({"framework": framework}));
        assert_eq!(error(&outcome).0, Some(ErrorKind::Unavailable), "{outcome:?}");
    }
}
