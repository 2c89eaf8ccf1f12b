//! The configuration in force, its layers, and the messages about a faulty one.

use std::fs;

use serde_json::{Value, json};

use crate::home::Home;

#[test]
fn every_fault_of_a_configuration_is_named_with_its_file_and_fix() {
    let home = Home::new();
    home.write("work/maxim.toml", "[gateway]\ncredits = 1\n[memory]\nnac_alpha = \"high\"\n[http]\ntoken = \"t\"\n");
    home.write(".config/maxim/maxim.toml", "[agent]\nmode = \"bold\"\n");
    let done = home.run_with(&["config", "show"], "MAXIM__GATEWAY__CREDIT", "0");
    assert_eq!((done.code, done.out.as_str()), (Some(78), ""));
    insta::assert_snapshot!(done.err, @r#"
    maxim: agent.mode = "bold" from ~/.config/maxim/maxim.toml is not one of passive, active, singularity; correct it or remove it (default active)
    maxim: maxim.toml has an unknown key gateway.credits; did you mean gateway.credit?
    maxim: http.token in maxim.toml is a secret in a configuration file; put it in its own file and name that file as http.token_file, or set MAXIM__HTTP__TOKEN
    maxim: memory.nac_alpha = "high" from maxim.toml is not a number from 0.001 to 1; correct it or remove it (default 0.14)
    maxim: gateway.credit = "0" from MAXIM__GATEWAY__CREDIT is not a whole number from 1 to 65536; correct it or remove it (default 256)
    "#);
    let done = home.run_with(&["config", "show", "--json"], "MAXIM__GATEWAY__CREDIT", "0");
    let error: Value = serde_json::from_str(&done.err).expect("JSON on standard error");
    assert_eq!(error["exit_code"], 78);
    let keys: Vec<_> = error["faults"].as_array().expect("faults").iter().map(|fault| fault["key"].clone()).collect();
    assert_eq!(keys, ["agent.mode", "gateway.credits", "http.token", "memory.nac_alpha", "gateway.credit"]);
}

#[test]
fn a_wrong_value_of_a_flag_is_an_error_of_usage() {
    let home = Home::new();
    for (flag, value) in [("--mode", "bold"), ("--autonomy", "much"), ("--body", "ghost"), ("--listen", "here")] {
        let done = home.run(&["run", flag, value]);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.err.contains(flag) && done.err.contains(value), "{done:?}");
    }
    assert_eq!(home.run(&["fear", "check", "--mode", "bold"]).code, Some(2));
    home.write("work/maxim.toml", "[agent]\nmode = \"bold\"\n");
    assert_eq!(home.run(&["run", "--mode", "bold"]).code, Some(78), "the file has to be corrected too");
}

#[test]
fn a_file_that_cant_be_read_is_named() {
    let home = Home::new();
    let done = home.run(&["config", "show", "--config", "absent.toml"]);
    assert_eq!(done.code, Some(78));
    insta::assert_snapshot!(done.err, @"maxim: the configuration file absent.toml can't be read: No such file or directory (os error 2); name a file that exists and that this user may read");
    home.write("work/maxim.toml", "[agent]\nmode = \n");
    let done = home.run(&["status"]);
    assert_eq!(done.code, Some(78));
    assert!(done.err.contains("maxim.toml is not TOML") && done.err.contains("line 2"), "{}", done.err);
    home.write("work/maxim.toml", "[http]\nlisten = \"0.0.0.0:80\"\n");
    let done = home.run(&["config", "show"]);
    assert_eq!(done.code, Some(78));
    assert!(done.err.contains("set MAXIM__HTTP__TOKEN"), "{}", done.err);
}

#[test]
fn explain_says_which_layer_won() {
    let home = Home::new();
    let layer = |home: &Home, args: &[&str]| {
        let done = home.run(&[&["config", "explain", "gateway.credit", "--json"], args].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        (done.json()["value"].as_u64(), done.json()["layer"].as_str().map(str::to_owned))
    };
    assert_eq!(layer(&home, &[]), (Some(256), Some("built-in".into())));
    home.write(".config/maxim/maxim.toml", "[gateway]\ncredit = 2\n");
    assert_eq!(layer(&home, &[]), (Some(2), Some("~/.config/maxim/maxim.toml".into())));
    home.write("work/maxim.toml", "[gateway]\ncredit = 3\n");
    assert_eq!(layer(&home, &[]), (Some(3), Some("maxim.toml".into())));
    home.write("work/other.toml", "[gateway]\ncredit = 4\n");
    assert_eq!(layer(&home, &["--config", "other.toml"]), (Some(4), Some("other.toml".into())));
    let done = home.run_with(&["config", "explain", "gateway.credit"], "MAXIM__GATEWAY__CREDIT", "5");
    insta::assert_snapshot!(done.out, @r#"
    gateway.credit
      value     5
      from      MAXIM__GATEWAY__CREDIT
      meaning   Turns in flight; further percepts wait, durable, until one ends.
      unit      turns
      takes     a whole number from 1 to 65536
      default   256
      variable  MAXIM__GATEWAY__CREDIT
    "#);
    let done = home.run(&["config", "explain", "store.data", "--data", "/srv/maxim", "--json"]);
    assert_eq!((&done.json()["value"], &done.json()["layer"]), (&json!("/srv/maxim"), &json!("--data")));
    let done = home.run(&["config", "explain", "gateway.credti"]);
    assert_eq!(done.code, Some(2));
    insta::assert_snapshot!(done.err, @"maxim: there is no configuration key gateway.credti; did you mean gateway.credit?");
    assert_eq!(home.run(&["config", "explain", "llm", "--json"]).json().as_array().map(Vec::len), Some(29));
}

#[test]
fn secrets_are_never_shown() {
    let home = Home::new();
    for args in
        [&["config", "show"][..], &["config", "show", "--json"], &["config", "explain", "llm.api_key"], &["doctor"]]
    {
        let done = home.run_with(args, "MAXIM__LLM__API_KEY", "hunter2");
        assert!(!done.out.contains("hunter2") && !done.err.contains("hunter2"), "{done:?}");
    }
    let done = home.run_with(&["config", "show"], "MAXIM__LLM__API_KEY", "hunter2");
    assert!(done.out.contains("# api_key = (set)"), "{}", done.out);
}

#[test]
fn init_writes_the_sample_and_refuses_to_overwrite() {
    let home = Home::new();
    let done = home.run(&["config", "init"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "wrote ~/.config/maxim/maxim.toml\n"));
    assert_eq!(fs::read_to_string(home.path(".config/maxim/maxim.toml")).expect("a file"), maxim::config::sample());
    assert_eq!(home.run(&["config", "show"]).code, Some(0), "the sample is valid");
    home.write(".config/maxim/maxim.toml", "# mine\n");
    let done = home.run(&["config", "init"]);
    assert_eq!(done.code, Some(1));
    insta::assert_snapshot!(done.err, @"maxim: ~/.config/maxim/maxim.toml exists already; name another file, or move it away first");
    assert_eq!(fs::read_to_string(home.path(".config/maxim/maxim.toml")).expect("a file"), "# mine\n");
}

#[test]
fn doctor_is_useful_without_a_daemon() {
    let home = Home::new();
    home.data();
    let done = home.run(&["doctor"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("data folder") && done.out.contains("acts by habit"), "{}", done.out);
    home.write("token", "secret-of-the-owner\n");
    let token = home.path("token").display().to_string();
    let done = home.run_with(&["doctor"], "MAXIM__HTTP__TOKEN_FILE", &token);
    assert!(done.out.contains("chmod 600 ~/token"), "{}", done.out);
    home.write("bert/config.json", r#"{"model_type": "bert", "architectures": ["BertModel"]}"#);
    let folder = home.path("bert").display().to_string();
    let done = home.run_with(&["doctor"], "MAXIM__TOOLS__PIPER_VOICE", "/nowhere/joe.onnx");
    assert!(done.out.contains("/nowhere/joe.onnx isn't there"), "{done:?}");
    let done = home.run_with(&["doctor"], "MAXIM__ENCODER__FOLDER", &folder);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.out.contains("of a bert model (BertModel); supported is") && done.out.contains("Model2Vec"),
        "{}",
        done.out
    );
    home.write("work/maxim.toml", "[agent]\nmod = 1\n");
    let done = home.run(&["doctor"]);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("did you mean agent.mode?"), "{}", done.out);
}

#[test]
fn a_tokenizer_that_cant_be_read_is_a_configuration_error_by_the_name_of_its_file() {
    let home = Home::new();
    home.write("work/words.json", "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {}}}");
    home.write("work/maxim.toml", "[llm]\ntokenizer_file = \"words.json\"\n");
    let done = home.run(&["run", "--listen", "127.0.0.1:0"]);
    assert_eq!((done.code, done.out.as_str()), (Some(78), ""));
    assert!(done.err.contains("words.json has a tokenizer of the kind WordLevel"), "{}", done.err);
    assert!(done.err.contains("expected is the model's tokenizer.json with BPE"), "{}", done.err);
    let done = home.run(&["doctor"]);
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("of the kind WordLevel"), "{}", done.out);
}

#[test]
fn a_log_filter_that_cant_be_read_is_a_configuration_error() {
    let done = Home::new().run_with(&["config", "show"], "MAXIM_LOG", "maxim=loud");
    assert_eq!((done.code, done.out.as_str()), (Some(78), ""));
    assert!(done.err.contains("MAXIM_LOG=\"maxim=loud\" is no filter"), "{}", done.err);
}
