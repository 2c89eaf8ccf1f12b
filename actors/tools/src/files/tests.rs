//! The file tools as the executor calls them: validated, prepared, run, and taken back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use maxim_bus::latch::{EffectKind, StopLatch};
use serde_json::{Value, json};

use crate::{
    ErrorKind, Hands, Mode, Reversal, SideEffectKind, ToolFailure, ToolOutcome, ToolRegistry, core_registry, undo,
};

struct Desk {
    _folder: tempfile::TempDir,
    base: PathBuf,
    hands: Hands,
    registry: ToolRegistry,
    latch: StopLatch,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let base = fs::canonicalize(folder.path()).expect("real");
    fs::create_dir(base.join("work")).expect("made");
    fs::create_dir(base.join("outside")).expect("made");
    let hands = Hands::new(base.join("work"), Mode::Active, base.join("saved"));
    Desk { _folder: folder, base, hands, registry: core_registry().expect("good specs"), latch: StopLatch::in_memory() }
}

impl Desk {
    fn call(&self, tool: &str, params: &Value) -> ToolOutcome {
        let params = self.registry.validate(tool, params).expect("valid");
        let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
        self.registry.hands_on(tool).expect("a tool").run(&params, &permit, &self.hands)
    }

    fn prepare(&self, tool: &str, params: &Value) -> Result<Option<Reversal>, ToolFailure> {
        let params = self.registry.validate(tool, params).expect("valid");
        self.registry.hands_on(tool).expect("a tool").prepare(&params, &self.hands)
    }

    fn undo(&self, reversal: &Reversal) -> ToolOutcome {
        let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
        undo(reversal, &permit, &self.hands)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.hands.workdir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

fn error(outcome: &ToolOutcome) -> (Option<ErrorKind>, &str) {
    assert!(!outcome.success, "{outcome:?}");
    (outcome.error_kind, outcome.error.as_deref().unwrap_or_default())
}

#[test]
fn reading_gives_the_lines_asked_for_and_says_what_is_left_out() {
    let desk = desk();
    desk.put("a.txt", "one\ntwo\nthree\n");
    let whole = desk.call("read_file", &json!({"path": "a.txt"})).output;
    assert_eq!(whole["text"], "one\ntwo\nthree\n");
    assert_eq!(whole.get("cut"), None);
    let part = desk.call("read_file", &json!({"file": "a.txt", "offset": 2, "limit": 1})).output;
    assert_eq!(
        (&part["text"], &part["from"], &part["to"], &part["lines"]),
        (&json!("two\n"), &json!(2), &json!(2), &json!(3))
    );
    assert_eq!(part["cut"], "lines 3 to 3 are left out; read on with offset 3");
    let beyond = desk.call("read_file", &json!({"path": "a.txt", "offset": 9}));
    assert!(error(&beyond).1.contains("has 3 lines"));
    desk.put("empty", "");
    assert_eq!(desk.call("read_file", &json!({"path": "empty"})).output["text"], "");
}

#[test]
fn reading_is_bounded_in_bytes_at_line_ends_and_shows_a_part_of_one_long_line() {
    let mut desk = desk();
    desk.hands.output_cap = 10;
    desk.put("lines", "1234\n5678\n90\n");
    let output = desk.call("read_file", &json!({"path": "lines"})).output;
    assert_eq!((&output["text"], &output["to"]), (&json!("1234\n5678\n"), &json!(2)));
    desk.put("long", &"ä".repeat(100));
    let output = desk.call("read_file", &json!({"path": "long"})).output;
    assert_eq!(output["text"], "äääää");
    assert!(output["cut"].as_str().is_some_and(|cut| cut.contains("200 bytes")));
}

#[test]
fn what_cannot_be_read_says_why() {
    let desk = desk();
    fs::write(desk.hands.workdir.join("binary"), [0x7f, 0xff, 0x00]).expect("written");
    assert!(error(&desk.call("read_file", &json!({"path": "binary"}))).1.contains("UTF-8"));
    assert_eq!(error(&desk.call("read_file", &json!({"path": "none"}))).0, Some(ErrorKind::NotFound));
    assert!(error(&desk.call("read_file", &json!({"path": "."}))).1.contains("folder"));
    let fifo = desk.hands.workdir.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    assert_eq!(
        error(&desk.call("read_file", &json!({"path": "pipe"}))).0,
        Some(ErrorKind::Refused),
        "and it doesn't wait"
    );
}

#[test]
fn no_file_tool_gets_out_of_the_working_folder() {
    let desk = desk();
    let secret = desk.base.join("outside/secret");
    fs::write(&secret, "the secret").expect("written");
    symlink(&secret, desk.hands.workdir.join("link")).expect("linked");
    symlink("../outside", desk.hands.workdir.join("folder")).expect("linked");
    symlink(desk.base.join("outside/new"), desk.hands.workdir.join("dangling")).expect("linked");
    let absolute = secret.display().to_string();
    for path in
        ["../outside/secret", "link", "folder/secret", "folder/new", "dangling", &absolute, "x/../../outside/secret"]
    {
        let calls = [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "the", "new_string": "x"})),
            ("glob", json!({"pattern": "*", "path": path})),
        ];
        for (tool, params) in calls {
            assert_eq!(error(&desk.call(tool, &params)).0, Some(ErrorKind::Refused), "{tool} {path}");
        }
        assert!(desk.prepare("write_file", &json!({"path": path, "content": "x"})).is_err());
    }
    assert_eq!(content(&secret), "the secret");
    assert_eq!(fs::read_dir(desk.base.join("outside")).expect("there").count(), 1);
    assert!(!desk.base.join("saved").exists(), "nothing outside was even copied");
}

#[test]
fn a_link_that_appears_after_the_check_is_not_followed() {
    let desk = desk();
    fs::create_dir(desk.hands.workdir.join("sub")).expect("made");
    let judged = desk.hands.resolve("sub/a", crate::Access::Write).expect("inside");
    fs::remove_dir(desk.hands.workdir.join("sub")).expect("removed");
    symlink(desk.base.join("outside"), desk.hands.workdir.join("sub")).expect("linked");
    assert!(super::place::place(&judged, true).is_err());
    let judged = desk.hands.resolve("b", crate::Access::Read).expect("inside");
    fs::write(desk.base.join("outside/secret"), "s").expect("written");
    symlink(desk.base.join("outside/secret"), desk.hands.workdir.join("b")).expect("linked");
    assert_eq!(super::place::open(&judged).err().map(|failure| failure.kind), Some(ErrorKind::Refused));
}

#[test]
fn writing_makes_folders_keeps_permissions_and_leaves_nothing_beside() {
    let desk = desk();
    let outcome = desk.call("write_file", &json!({"path": "a/b/c.txt", "text": "hello"}));
    assert_eq!((&outcome.output["created"], &outcome.output["bytes"]), (&json!(true), &json!(5)));
    let kinds: Vec<_> = outcome.side_effects.iter().map(|effect| effect.kind).collect();
    assert_eq!(kinds, [SideEffectKind::FolderCreated, SideEffectKind::FolderCreated, SideEffectKind::FileCreated]);
    let path = desk.hands.workdir.join("a/b/c.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("set");
    let outcome = desk.call("write_file", &json!({"path": "a/b/c.txt", "content": "again"}));
    assert_eq!(outcome.side_effects[0].kind, SideEffectKind::FileChanged);
    assert_eq!(content(&path), "again");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("there").count(), 1);
}

#[test]
fn a_link_inside_the_working_folder_is_written_through() {
    let desk = desk();
    let target = desk.put("real.txt", "old");
    symlink("real.txt", desk.hands.workdir.join("alias")).expect("linked");
    assert!(desk.call("write_file", &json!({"path": "alias", "content": "new"})).success);
    assert_eq!(content(&target), "new");
    assert!(fs::symlink_metadata(desk.hands.workdir.join("alias")).expect("there").is_symlink());
}

#[test]
fn passive_mode_writes_only_in_its_sandbox() {
    let mut desk = desk();
    desk.hands.mode = Mode::Passive;
    let outside = desk.call("write_file", &json!({"path": "a", "content": "x"}));
    assert_eq!(error(&outside).0, Some(ErrorKind::Refused));
    assert!(error(&outside).1.contains(".maxim_sandbox"));
    assert!(desk.call("write_file", &json!({"path": ".maxim_sandbox/a", "content": "x"})).success);
}

#[test]
fn a_write_is_taken_back_and_the_taking_back_too() {
    let desk = desk();
    let path = desk.put("a.txt", "before");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    let params = json!({"path": "a.txt", "content": "after"});
    let reversal = desk.prepare("write_file", &params).expect("saved").expect("reversible");
    assert!(desk.call("write_file", &params).success);
    // As the tracker keeps it.
    let stored = serde_json::to_string(&reversal).expect("serialises");
    let reversal: Reversal = serde_json::from_str(&stored).expect("deserialises");
    let undone = desk.undo(&reversal);
    assert!(undone.success, "{undone:?}");
    assert_eq!(content(&path), "before");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let again: Reversal = serde_json::from_value(undone.output["reversal"].clone()).expect("a reversal");
    assert!(desk.undo(&again).success);
    assert_eq!(content(&path), "after");
}

#[test]
fn taking_back_a_new_file_removes_it_and_doing_it_twice_is_harmless() {
    let desk = desk();
    let params = json!({"path": "new/a.txt", "content": "x"});
    let reversal = desk.prepare("write_file", &params).expect("looked").expect("reversible");
    assert!(matches!(&reversal, Reversal::RestoreFile { was_absent: true, saved: None, .. }));
    assert!(desk.call("write_file", &params).success);
    let undone = desk.undo(&reversal);
    assert_eq!(undone.side_effects[0].kind, SideEffectKind::FileRemoved);
    assert!(!desk.hands.workdir.join("new/a.txt").exists());
    let twice = desk.undo(&reversal);
    assert!(twice.success && twice.side_effects.is_empty(), "{twice:?}");
}

#[test]
fn taking_back_stays_in_bounds_and_needs_its_copy() {
    let mut desk = desk();
    let path = desk.put("a.txt", "before");
    let reversal =
        desk.prepare("write_file", &json!({"path": "a.txt", "content": ""})).expect("saved").expect("reversible");
    desk.hands.mode = Mode::Passive;
    assert_eq!(error(&desk.undo(&reversal)).0, Some(ErrorKind::Refused));
    desk.hands.mode = Mode::Active;
    fs::write(&path, "meanwhile").expect("written");
    fs::remove_dir_all(desk.base.join("saved")).expect("removed");
    assert!(error(&desk.undo(&reversal)).1.contains("saved copy"));
    assert_eq!(content(&path), "meanwhile");
}

#[test]
fn without_room_for_a_copy_an_effect_is_not_prepared() {
    let mut desk = desk();
    desk.put("a.txt", "before");
    desk.hands.saved = desk.put("not_a_folder", "");
    let failure = desk.prepare("write_file", &json!({"path": "a.txt", "content": ""})).expect_err("no copy");
    assert_eq!(failure.kind, ErrorKind::Io);
}

#[test]
fn an_edit_replaces_exactly_the_places_expected() {
    let desk = desk();
    let path = desk.put("a.rs", "let a = 1;\nlet b = 1;\nlet c = 1;\n");
    let outcome =
        desk.call("edit_file", &json!({"path": "a.rs", "find": " = 1", "replace": " = 2", "expected_count": 3}));
    assert_eq!(outcome.output["lines"], json!([1, 2, 3]));
    assert_eq!(content(&path), "let a = 2;\nlet b = 2;\nlet c = 2;\n");
    assert_eq!(outcome.side_effects[0].kind, SideEffectKind::FileChanged);
}

#[test]
fn context_tells_equal_places_apart() {
    let desk = desk();
    let path = desk.put("a.rs", "fn a() {\n    go(1);\n}\nfn b() {\n    go(1);\n}\n");
    let edit = |before: &str, after: &str| json!({"path": "a.rs", "old_string": "go(1)", "new_string": "go(2)", "context_before": before, "context_after": after});
    assert!(desk.call("edit_file", &edit("fn b() {", ";")).success);
    assert_eq!(content(&path), "fn a() {\n    go(1);\n}\nfn b() {\n    go(2);\n}\n");
    assert!(desk.call("edit_file", &edit("", "; } fn b")).error.is_some(), "white space within the context counts");
    assert!(desk.call("edit_file", &edit("", ";\n}\nfn b")).success);
    assert_eq!(content(&path), "fn a() {\n    go(2);\n}\nfn b() {\n    go(2);\n}\n");
}

#[test]
fn an_edit_that_is_not_clear_changes_nothing_and_says_how_many_matches_there_are_and_where() {
    let desk = desk();
    let path = desk.put("a.txt", "x\ny\nx\nx\n");
    let outcome = desk.call("edit_file", &json!({"path": "a.txt", "old": "x", "new": "z"}));
    let (kind, message) = error(&outcome);
    assert_eq!(kind, Some(ErrorKind::Ambiguous));
    assert!(
        message.contains("3 times") && message.contains("lines 1, 3, 4") && message.contains("expected 1"),
        "{message}"
    );
    let outcome = desk.call(
        "edit_file",
        &json!({"path": "a.txt", "old": "x", "new": "z", "context_before": "y", "expected_count": 2}),
    );
    assert!(error(&outcome).1.contains("of which 1 fit the context"), "{outcome:?}");
    assert_eq!(content(&path), "x\ny\nx\nx\n");
}

#[test]
fn text_that_is_not_there_is_answered_with_the_most_like_line() {
    let desk = desk();
    desk.put("a.txt", "alpha\nlet colour = red;\nomega\n");
    let outcome = desk.call("edit_file", &json!({"path": "a.txt", "old": "let color = red;", "new": "x"}));
    let (kind, message) = error(&outcome);
    assert_eq!(kind, Some(ErrorKind::NotFound));
    assert!(message.contains("line 2: let colour = red;"), "{message}");
    let same = desk.call("edit_file", &json!({"path": "a.txt", "old": "alpha", "new": "alpha"}));
    assert_eq!(error(&same).0, Some(ErrorKind::InvalidParameters));
}

#[test]
fn an_edit_is_taken_back() {
    let desk = desk();
    let path = desk.put("a.txt", "one two");
    let params = json!({"path": "a.txt", "old": "two", "new": "three"});
    let reversal = desk.prepare("edit_file", &params).expect("saved").expect("reversible");
    assert!(desk.call("edit_file", &params).success);
    assert!(desk.undo(&reversal).success);
    assert_eq!(content(&path), "one two");
}

#[test]
fn glob_finds_sorted_at_any_depth_and_leaves_out_what_is_ignored() {
    let desk = desk();
    for name in ["b.rs", "a.rs", "sub/c.rs", "sub/deep/d.rs", "target/e.rs", ".hidden/f.rs", "g.md"] {
        desk.put(name, "");
    }
    desk.put(".gitignore", "target/\n");
    let entries = |params: Value| desk.call("glob", &params).output["entries"].clone();
    assert_eq!(entries(json!({"pattern": "*.rs"})), json!(["a.rs", "b.rs", "sub/c.rs", "sub/deep/d.rs"]));
    assert_eq!(entries(json!({"pattern": "./*"})), json!(["a.rs", "b.rs", "g.md", "sub/"]));
    assert_eq!(entries(json!({"pattern": "sub/*.rs"})), json!(["sub/c.rs"]));
    assert_eq!(entries(json!({"pattern": "**/deep/*"})), json!(["sub/deep/d.rs"]));
    assert_eq!(entries(json!({"pattern": "./*", "folder": "sub"})), json!(["c.rs", "deep/"]));
    assert_eq!(entries(json!({"pattern": "{a,g}.*"})), json!(["a.rs", "g.md"]));
    let all = entries(json!({"pattern": "*.rs", "include_ignored": true}));
    assert!(all.as_array().is_some_and(|all| all.len() == 6), "{all}");
    assert_eq!(entries(json!({"pattern": "*.nothing"})), json!([]));
}

#[test]
fn glob_is_bounded_and_says_so() {
    let mut desk = desk();
    for number in 0..50 {
        desk.put(&format!("{number:02}.txt"), "");
    }
    let output = desk.call("glob", &json!({"pattern": "*.txt", "limit": 2})).output;
    assert_eq!((&output["entries"], &output["found"]), (&json!(["00.txt", "01.txt"]), &json!(50)));
    assert!(output["cut"].as_str().is_some_and(|cut| cut.contains("48 more")));
    desk.hands.output_cap = 100;
    let output = desk.call("glob", &json!({"pattern": "*.txt"})).output;
    assert_eq!(output["entries"].as_array().map(Vec::len), Some(11));
}

#[test]
fn glob_does_not_follow_links_out_and_refuses_a_bad_pattern() {
    let desk = desk();
    fs::write(desk.base.join("outside/secret.txt"), "").expect("written");
    symlink("../outside", desk.hands.workdir.join("out")).expect("linked");
    assert_eq!(desk.call("glob", &json!({"pattern": "*.txt"})).output["found"], 0);
    for pattern in ["out/*.txt", "../outside/*", "/etc/*"] {
        let outcome = desk.call("glob", &json!({ "pattern": pattern }));
        assert_eq!(error(&outcome).0, Some(ErrorKind::Refused), "{pattern}");
        assert!(error(&outcome).1.contains("is outside of"), "{pattern}: {}", error(&outcome).1);
    }
    desk.put("sub/in.txt", "");
    let absolute = format!("{}/sub/*.txt", desk.hands.workdir.display());
    assert_eq!(desk.call("glob", &json!({ "pattern": absolute })).output["entries"], json!(["in.txt"]));
    let outcome = desk.call("glob", &json!({"pattern": "[a"}));
    assert_eq!(error(&outcome).0, Some(ErrorKind::InvalidParameters));
    assert!(error(&outcome).1.contains("[a"));
}
