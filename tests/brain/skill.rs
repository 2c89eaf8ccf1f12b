//! Practice makes a program: what was done three times is offered as one step, and not without the cerebellum.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use maxim::config::Settings;
use maxim_actors::store::StateStore;
use maxim_bus::signals::thought::TurnEnded;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

fn tools(ended: &TurnEnded) -> Vec<&str> {
    ended.actions.iter().map(|action| action.tool.as_str()).collect()
}

fn note(file: &str, text: &str) -> String {
    format!("create a file {file} with the text {text} and then read the file {file}")
}

/// Three times the same kind of goal, with the cerebellum or without.
fn practised(cut: bool) -> Bench {
    let mut bench = Bench::new();
    if cut {
        assert!(bench.agent.cut("cerebellum"));
    }
    for (file, text) in [("a.txt", "hello"), ("b.txt", "good morning"), ("c.txt", "bye")] {
        let ended = bench.say(&note(file, text));
        assert_eq!(tools(&ended), ["write_file", "read_file", "respond"], "{ended:?}");
    }
    bench
}

const CALL: &str = "run program create-file-text-read with d.txt \"so long\"";

#[test]
fn what_was_done_three_times_is_one_step_that_can_be_called_by_name() {
    let mut bench = practised(false);
    bench.crash();
    let ended = bench.say(CALL);
    assert_eq!(tools(&ended), ["write_file", "read_file", "respond"], "{ended:?}");
    assert_eq!(std::fs::read_to_string(bench.file("d.txt")).expect("written").trim_end(), "so long");
    assert!(ended.reply.is_some_and(|reply| reply.contains("so long")));
    let listed = bench.say("which programs do you know?").reply.unwrap_or_default();
    assert!(listed.contains("create a file <1> with the text <2> and then read the file <1>"), "{listed}");

    let mut twin = practised(true);
    twin.say(CALL);
    assert!(!twin.file("d.txt").exists(), "without the cerebellum it does not know how");
}

#[test]
fn the_person_is_told_once_that_it_is_one_step_by_now() {
    let mut bench = practised(false);
    let reply = bench.say(&note("e.txt", "again")).reply.unwrap_or_default();
    assert!(reply.contains("run program create-file-text-read with \"e.txt\" \"again\""), "{reply}");
    let reply = bench.say(&note("f.txt", "again")).reply.unwrap_or_default();
    assert!(!reply.contains("run program"), "once: {reply}");
    let mut twin = practised(true);
    let reply = twin.say(&note("e.txt", "again")).reply.unwrap_or_default();
    assert!(!reply.contains("run program"), "{reply}");
}

/// A model that knows one thing to do; counts how often it was asked.
fn model() -> (String, Arc<AtomicUsize>) {
    async fn answer(State(asked): State<Arc<AtomicUsize>>, Json(_prompt): Json<Value>) -> Json<Value> {
        asked.fetch_add(1, Ordering::SeqCst);
        let action = json!({
            "tool_name": "write_file", "params": {"path": "report.txt", "content": "all is well"},
            "reasoning": "I write it down.",
        });
        Json(json!({
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": action.to_string()}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10},
        }))
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("for tokio");
    let address = listener.local_addr().expect("its address");
    let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(Arc::clone(&asked));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, app).await.expect("it serves");
        });
    });
    (format!("http://{address}/v1"), asked)
}

#[test]
fn what_the_model_found_three_times_is_done_without_asking_it_again() {
    let calls = |cut: bool| {
        let (url, asked) = model();
        let mut settings = Settings::default();
        settings.llm.base_url = Some(url);
        settings.llm.model = Some("gull".into());
        let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
        if cut {
            assert!(bench.agent.cut("cerebellum"));
        }
        for _ in 0..3 {
            assert_eq!(tools(&bench.say("prepare the morning report")), ["write_file", "respond"]);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 3);
        std::fs::remove_file(bench.file("report.txt")).expect("it was written");
        let ended = bench.say("Prepare the morning report!");
        assert_eq!(tools(&ended), ["write_file", "respond"], "{ended:?}");
        assert!(bench.file("report.txt").exists(), "the goal is reached either way");
        asked.load(Ordering::SeqCst)
    };
    assert_eq!(calls(false), 3, "the fourth time it knows how");
    assert_eq!(calls(true), 4, "without the cerebellum it has to think again");
}

#[test]
fn a_program_that_fails_is_not_offered_any_more() {
    let (url, asked) = model();
    let mut settings = Settings::default();
    settings.llm.base_url = Some(url);
    settings.llm.model = Some("gull".into());
    let mut bench = Bench::with("maxim", StateStore::in_memory(), core_tools, settings);
    for _ in 0..3 {
        bench.say("prepare the morning report");
    }
    std::fs::remove_file(bench.file("report.txt")).expect("it was written");
    std::fs::create_dir(bench.file("report.txt")).expect("a folder in its place");
    let failed = bench.say("prepare the morning report");
    assert_eq!((failed.actions[0].status.as_str(), asked.load(Ordering::SeqCst)), ("failed", 3));
    bench.say("prepare the morning report");
    assert_eq!(asked.load(Ordering::SeqCst), 4, "it deliberates again");
}
