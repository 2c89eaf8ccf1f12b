//! What the model is shown of the tools follows from what served before.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use maxim::config::Settings;
use maxim_actors::action::tools::{ToolRegistry, ToolSpec};
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

type Prompts = Arc<Mutex<Vec<String>>>;

/// A model whose replies are given; keeps what it was shown.
fn model(replies: &[String]) -> (String, Prompts) {
    type Shared = (Prompts, Arc<Mutex<std::collections::VecDeque<String>>>);
    async fn answer(State((prompts, replies)): State<Shared>, Json(asked): Json<Value>) -> Json<Value> {
        let shown = |at: usize| asked["messages"][at]["content"].as_str().unwrap_or_default().to_owned();
        prompts.lock().expect("no panic inside").push(format!("{}\n\n{}", shown(0), shown(1)));
        let content = replies.lock().expect("no panic inside").pop_front().unwrap_or_default();
        Json(json!({
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10},
        }))
    }
    let prompts = Prompts::default();
    let replies = Arc::new(Mutex::new(replies.iter().cloned().collect()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("for tokio");
    let address = listener.local_addr().expect("its address");
    let app = Router::new().route("/v1/chat/completions", post(answer)).with_state((Arc::clone(&prompts), replies));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            axum::serve(listener, app).await.expect("it serves");
        });
    });
    (format!("http://{address}/v1"), prompts)
}

/// The core tools among many that nothing of the goals points to.
fn many_tools() -> ToolRegistry {
    let mut registry = core_tools();
    for n in 0..60 {
        let name = format!("instrument_{n}");
        let description =
            format!("Reads dial {n} of the spectrometer, in counts a second, and resets its calibration.");
        let spec = ToolSpec::new(&name, &description);
        let spec = spec.with_parameters(json!({"channel": {"type": "integer", "description": "which channel"}}), &[]);
        registry.register_brain(spec).expect("a good spec");
    }
    registry
}

fn bench(replies: &[String]) -> (Bench, Prompts) {
    let (url, prompts) = model(replies);
    let mut settings = Settings::default();
    settings.llm.base_url = Some(url);
    settings.llm.model = Some("gull".into());
    settings.llm.context_tokens = 32_768;
    (Bench::with("maxim", StateStore::in_memory(), many_tools, settings), prompts)
}

fn act(tool: &str, params: Value) -> String {
    json!({"tool_name": tool, "params": params, "reasoning": "I do it."}).to_string()
}

fn last(prompts: &Prompts) -> String {
    prompts.lock().expect("no panic inside").last().cloned().expect("it was asked")
}

const GOAL: &str = "zanzibar please, as on each tuesday";

#[test]
fn a_tool_that_served_a_goal_is_shown_whole_the_next_time_and_after_a_crash() {
    let shown_whole = |cut: bool| {
        let speak = act("respond", json!({"message": "What do you mean?"}));
        let write = act("write_file", json!({"path": "z.txt", "content": "as ever"}));
        let (mut bench, prompts) = bench(&[speak.clone(), write, speak.clone(), speak]);
        if cut {
            assert!(bench.agent.cut("tool_index"));
        }
        let whole = |prompt: &str| prompt.contains("- write_file: ");
        bench.say("zanzibar");
        let before = whole(&last(&prompts));
        bench.say(GOAL);
        assert!(bench.file("z.txt").exists());
        bench.say("zanzibar on tuesday");
        let after = whole(&last(&prompts));
        if !cut {
            bench.crash();
        }
        bench.say("tuesday: zanzibar");
        (before, after, whole(&last(&prompts)))
    };
    assert_eq!(shown_whole(false), (false, true, true));
    // Without the index all are shown, ranked by nobody.
    assert_eq!(shown_whole(true), (true, true, true));
}

#[test]
fn what_found_room_in_the_prompt_is_in_the_why_record() {
    let (mut bench, prompts) = bench(&[act("respond", json!({"message": "Good."}))]);
    bench.say("tell me something about zanzibar and the sea");
    assert!(last(&prompts).contains("The person says: tell me something"));
    let why = bench.why_all();
    assert!(why.contains("PromptBuilt") && why.contains("user_request") && why.contains("foundational"), "{why}");
}

#[test]
fn a_reply_that_cannot_be_read_is_answered_once_and_then_habit_answers() {
    let broken = "{\"tool_name\" ]".to_owned();
    let (mut bench, prompts) = bench(&[broken.clone(), act("respond", json!({"message": "Now I can."}))]);
    let ended = bench.say("tell me something about zanzibar and the sea");
    assert_eq!(ended.reply.as_deref(), Some("Now I can."));
    assert!(last(&prompts).contains("has no value"), "{}", last(&prompts));
    let (mut bench, prompts) = self::bench(&[broken.clone(), broken]);
    let ended = bench.say("tell me something about zanzibar and the sea");
    assert!(ended.reply.is_some_and(|reply| reply != "Now I can."), "habit answers");
    assert_eq!(prompts.lock().expect("no panic inside").len(), 2);
    let counts = bench.agent.frame.store.record("prefrontal_cortex", b"counts").expect("read").expect("counted");
    let counts: Value = serde_json::from_slice(&counts).expect("counts");
    assert_eq!((&counts["retried"], &counts["handed_back"]), (&json!(1), &json!(1)), "{counts}");
}
