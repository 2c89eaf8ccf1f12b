//! A language model behind the real interface. It searches memory when asked what is known, thinks twice about gulls,
//! and otherwise speaks.

use std::sync::OnceLock;

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

/// Returns its base URL. One server for all tests of this process.
pub fn url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| {
        let app = Router::new().route("/v1/chat/completions", post(answer));
        format!("{}/v1", super::loopback::serve(app))
    })
}

async fn answer(Json(asked): Json<Value>) -> Json<Value> {
    let prompt = asked["messages"][1]["content"].as_str().unwrap_or_default();
    let asked_for_gulls = prompt.contains("The person says: what would the gulls say");
    let thought = prompt.contains("thought in this turn so far");
    let said = if prompt.contains("The person says: what do you know") {
        json!({"tool_name": "memory_recall", "params": {"query": "spare key"}, "reasoning": "I look it up."})
    } else if asked_for_gulls && !thought {
        let leaning = json!({"tool_name": "read_file", "params": {"path": "gulls.txt"}});
        json!({"ready_to_act": false, "action": leaning, "reasoning": "I wonder what is known of gulls."})
    } else {
        json!({"tool_name": "respond", "params": {"message": "The gull said nothing."}, "reasoning": "I like gulls."})
    };
    // Talking about gulls is expensive, so the remaining energy is reported afterwards.
    let tokens = if asked_for_gulls && thought { 12_000 } else { 10 };
    Json(json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said.to_string()}}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 10},
    }))
}
