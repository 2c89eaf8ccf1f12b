//! Help, mistakes, and output as other programs use it.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::Home;

#[test]
fn help_and_version_need_nothing_and_go_to_standard_output() {
    let home = Home::new();
    // A broken configuration must not affect them.
    home.write("work/maxim.toml", "nonsense");
    let version = home.run(&["--version"]);
    assert_eq!((version.code, version.out.as_str()), (Some(0), concat!("maxim ", env!("CARGO_PKG_VERSION"), "\n")));
    let help = home.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in ["send", "stop", "memory", "config", "doctor", "Exit codes"] {
        assert!(help.out.contains(command), "{command} in {}", help.out);
    }
    assert!(home.run(&["memory", "import", "--help"]).out.contains("maxim memory import episodes.jsonl"));
    let bare = home.run(&[]);
    assert_eq!((bare.code, bare.out.as_str()), (Some(2), ""), "help that nobody asked for is no data");
}

#[test]
fn a_mistyped_command_or_flag_names_the_nearest() {
    let home = Home::new();
    let done = home.run(&["statsu"]);
    assert_eq!((done.code, done.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(done.err, @"maxim: unrecognized subcommand 'statsu'; a similar subcommand exists: 'status'");
    let done = home.run(&["send", "hello", "--wiat"]);
    assert_eq!(done.code, Some(2));
    insta::assert_snapshot!(done.err, @"maxim: unexpected argument '--wiat' found; a similar argument exists: '--wait'");
    let done = home.run(&["send", "hello", "--wait", "--timeout", "soon"]);
    insta::assert_snapshot!(done.err, @"maxim: invalid value 'soon' for '--timeout <S>': give seconds from 0 to 86400; see `maxim COMMAND --help`");
    let done = home.run(&["--json", "send"]);
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!((done.code, &error["exit_code"], &error["title"]), (Some(2), &json!(2), &json!("usage or bad input")));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let home = Home::new();
    for args in [&["config", "show"][..], &["man"], &["completions", "bash"], &["--help"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert!(output.status.success(), "{args:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let done = home.run(&["completions", shell]);
        assert_eq!(done.code, Some(0));
        assert!(done.out.contains("maxim") && done.out.contains("redirect"), "{shell}");
    }
    assert!(home.run(&["man"]).out.contains(".TH maxim"));
    assert_eq!(home.run(&["man", "--json"]).json()["page"].as_str().map(|page| page.contains(".TH")), Some(true));
    fs::create_dir(home.path("pages")).expect("made");
    assert_eq!(home.run(&["man", "--dir", "../pages"]).code, Some(0));
    assert!(home.path("pages/maxim-memory-import.1").exists());
    assert_eq!(home.run(&["man", "--dir", "/nonexistent"]).code, Some(1));
}
