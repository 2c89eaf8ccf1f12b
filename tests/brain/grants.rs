//! A person's "always" covers what was said and nothing else. A yes is never requested for what a boundary refuses,
//! and such a refusal teaches nothing.

use std::fs;

use maxim_bus::Trust;
use maxim_bus::signals::fear::SurveyFears;
use maxim_bus::signals::grants::{GrantReach, GrantsSurveyed, SurveyGrants};
use maxim_bus::signals::thought::TurnEnded;
use serde_json::json;

use crate::common::Bench;

fn status(ended: &TurnEnded) -> &str {
    ended.actions.first().map_or("", |action| action.status.as_str())
}

fn reason(ended: &TurnEnded) -> String {
    ended.actions.first().and_then(|action| action.reason.clone()).unwrap_or_default()
}

/// The letters in a reply that name the question.
fn code_in(ended: &TurnEnded) -> String {
    let reply = ended.reply.clone().unwrap_or_default();
    let (_, rest) = reply.split_once("“yes ").unwrap_or_else(|| panic!("no question: {reply}"));
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

fn survey(bench: &mut Bench, revoke: Option<String>) -> GrantsSurveyed {
    bench.ask("fear_agent", SurveyGrants { revoke, by: "anna".into() })
}

#[test]
fn an_always_covers_that_command_and_no_other_script_chain_or_substitution() {
    let mut bench = Bench::new();
    for name in ["count.sh", "other.sh", "run.sh"] {
        fs::write(bench.file(name), format!("#!/bin/sh\necho {name} >> ran\n")).expect("written");
    }
    let asked = bench.say("run the command sh count.sh");
    assert_eq!(status(&asked), "asked", "{asked:?}");
    let reply = asked.reply.clone().unwrap_or_default();
    let folder = fs::canonicalize(bench.folder.path()).expect("real");
    let covers = format!("for exactly the command “sh count.sh” in {}", folder.display());
    assert!(reply.contains(&covers), "what it covers is told first: {reply}");
    let told = bench.say(&format!("always {}", code_in(&asked)));
    assert!(told.reply.clone().unwrap_or_default().contains("Allowed for good: g-"), "{told:?}");
    let ran = || fs::read_to_string(folder.join("ran")).unwrap_or_default().lines().count();
    assert_eq!(ran(), 1);
    bench.crash();
    assert_eq!(status(&bench.say("run the command sh count.sh")), "done");
    assert_eq!(ran(), 2);

    for other in [
        "sh other.sh",
        "./run.sh",
        "sh count.sh x",
        "sh count.sh $(touch made2)",
        "sh count.sh && git reset --hard",
        "sh count.sh && sudo id",
        "sh count.sh; sh other.sh",
        "sh count.sh | sh",
        "sh other.sh | sh count.sh",
        "sh count.sh > out.txt",
        "sh count.sh < other.sh",
        "A=1 sh count.sh",
        "cd . && sh count.sh",
        "timeout 5 sh count.sh",
    ] {
        let ended = bench.say(&format!("run the command {other}"));
        assert!(["asked", "blocked"].contains(&status(&ended)), "{other}: {ended:?}");
    }
    assert!(!bench.file("made2").exists() && !bench.file("out.txt").exists());
    assert_eq!(ran(), 2);

    let listed = survey(&mut bench, None);
    let [grant] = listed.grants.as_slice() else { panic!("{listed:?}") };
    assert_eq!((grant.used, grant.last_used.is_some(), grant.by.as_str()), (1, true, "anna on http"));
    assert!(grant.covers.contains("exactly the command “sh count.sh”"), "{grant:?}");
    let id = grant.id.clone();
    assert!(survey(&mut bench, Some(id)).grants.is_empty());
    assert_eq!(status(&bench.say("run the command sh count.sh")), "asked");
}

#[test]
fn a_pattern_is_given_by_the_door_and_fits_one_simple_command() {
    let mut bench = Bench::new();
    fs::create_dir(bench.file("t")).expect("made");
    for name in ["t/a.sh", "t/b.sh", "c.sh"] {
        fs::write(bench.file(name), "true\n").expect("written");
    }
    let asked = bench.say("run the command python3 t/a.sh");
    assert_eq!(status(&asked), "asked", "{asked:?}");
    let id = asked.actions[0].id;
    let door = std::sync::Arc::clone(&bench.agent.outside.door);
    door.decide_for(id, true, Some(GrantReach::Pattern("python3 t/a.sh *".into())), "anna".into());
    bench.agent.settle();
    let listed = survey(&mut bench, None);
    assert_eq!(listed.grants.len(), 1, "{listed:?}");
    let ended = bench.say("run the command python3 t/a.sh x y");
    assert!(!["asked", "blocked"].contains(&status(&ended)), "{ended:?}");
    for other in ["python3 c.sh", "python3 t/../c.sh", "python3 t/b.sh", "python3 t/a.sh; python3 c.sh"] {
        assert_eq!(status(&bench.say(&format!("run the command {other}"))), "asked", "{other}");
    }
}

/// Nothing is feared, and a call that was free is still free.
fn nothing_is_learned(bench: &mut Bench) {
    let feared = bench.ask("fear_agent", SurveyFears { change: None, by: "anna".into() }).fears;
    assert!(feared.is_empty(), "{feared:?}");
    for tool in ["read_file", "write_file", "bash"] {
        let learned = bench.inquire("predict_outcome", json!({ "tool_name": tool }));
        assert!(!learned.to_string().contains("denied"), "{tool}: {learned}");
    }
    let pains = bench.inquire("system_stats", json!({}))["regions"]["pain_detector"]["pains"].clone();
    assert_eq!(pains, 0, "no wall hurts");
}

#[test]
fn no_yes_is_asked_for_what_a_wall_refuses_and_the_refusal_teaches_nothing() {
    let mut bench = Bench::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let elsewhere = fs::canonicalize(elsewhere.path()).expect("real");
    fs::write(elsewhere.join("a.txt"), "a").expect("written");
    let there = elsewhere.display();
    let wishes = [
        format!("read {there}/a.txt"),
        format!("create a file {there}/inbox.txt with the text a"),
        format!("run the command touch {there}/made.txt"),
        "run the command sudo id".to_owned(),
        "run the command env unshare -r id".to_owned(),
        "run the command kill -9 1".to_owned(),
        "run the command chmod u+s calm.txt".to_owned(),
        "run the command timeout 5 setsid python3 x.py".to_owned(),
        "run the command date -s 2030-01-01".to_owned(),
        "run the command ssh somewhere.example id".to_owned(),
    ];
    for round in 0..10 {
        for wish in &wishes {
            let ended = bench.say(wish);
            assert_eq!(status(&ended), "blocked", "{round}, {wish}: {ended:?}");
            let reply = ended.reply.clone().unwrap_or_default();
            assert!(reply.contains("sandbox") || reply.contains("working folder"), "{wish}: {reply}");
        }
    }
    assert!(!elsewhere.join("inbox.txt").exists() && !elsewhere.join("made.txt").exists());
    nothing_is_learned(&mut bench);
    let created = bench.say("create a file calm.txt with the text fine");
    assert_eq!(status(&created), "done", "{created:?}");
    assert_eq!(status(&bench.say("read calm.txt")), "done");
    assert_eq!(status(&bench.say("run the command ls")), "done");
}

#[test]
fn what_the_kernel_refuses_to_an_allowed_command_teaches_nothing() {
    let mut bench = Bench::new();
    let support = maxim_actors::action::tools::contained::KernelSupport::probe();
    if !support.is_complete() {
        println!("skipped: this kernel enforces less ({support:?})");
        return;
    }
    let elsewhere = tempfile::tempdir().expect("a folder");
    let elsewhere = fs::canonicalize(elsewhere.path()).expect("real");
    fs::write(elsewhere.join("a.txt"), "a").expect("written");
    for _ in 0..10 {
        let ended = bench.say(&format!("run the command cat {}/a.txt", elsewhere.display()));
        assert_eq!(status(&ended), "failed", "{ended:?}");
        assert!(reason(&ended).contains("the sandbox refused"), "{ended:?}");
    }
    nothing_is_learned(&mut bench);
    assert_eq!(status(&bench.say("run the command ls")), "done");
}

#[test]
fn one_rule_for_a_path_by_tool_and_by_shell() {
    let mut bench = Bench::new();
    if !std::path::Path::new("/etc/hostname").exists() {
        println!("skipped: this machine has no /etc/hostname");
        return;
    }
    let by_tool = bench.say("read /etc/hostname");
    let by_shell = bench.say("run the command cat /etc/hostname");
    assert_eq!((status(&by_tool), status(&by_shell)), ("done", "done"), "{by_tool:?} {by_shell:?}");
    // Process information would reveal the daemon to a tool.
    let of_itself = bench.say("read /proc/self/status");
    assert_eq!(status(&of_itself), "blocked", "{}", reason(&of_itself));
}

#[test]
fn who_may_not_command_can_guess_and_answers_nothing() {
    let mut bench = Bench::new();
    fs::write(bench.file("count.sh"), "echo x > ran\n").expect("written");
    let asked = bench.say("run the command sh count.sh");
    let code = code_in(&asked);
    for guess in 0..300 {
        let guess = format!("{guess:04x}");
        bench.say_as(&format!("yes {guess}"), "mallory", Trust::Outside);
    }
    bench.say_as(&format!("always {code}"), "mallory", Trust::Outside);
    // The time of the question is not a code.
    let time: String = asked.actions[0].id.to_string().chars().take(4).collect();
    bench.say(&format!("yes {time}"));
    assert!(!bench.file("ran").exists());
    assert!(survey(&mut bench, None).grants.is_empty());
    bench.say(&format!("yes {code}"));
    assert!(bench.file("ran").exists(), "whoever may and knows it");
}
