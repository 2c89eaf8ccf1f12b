//! A language model behind the real interface, whose replies a test gives.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use maxim::config::Settings;
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools};

/// A model whose next replies are given, or follow from what it is shown; keeps what it was shown.
#[derive(Clone, Default)]
pub struct Model {
    prompts: Arc<Mutex<Vec<String>>>,
    replies: Arc<Mutex<VecDeque<String>>>,
    mind: Option<fn(&str) -> String>,
}

impl Model {
    /// Replies by what it is shown, where no reply is given.
    pub fn minded(mind: fn(&str) -> String) -> Self {
        Self { mind: Some(mind), ..Self::default() }
    }

    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().expect("no panic inside").clone()
    }

    pub fn last(&self) -> String {
        self.prompts().pop().expect("it was asked")
    }

    pub fn will_say(&self, reply: String) {
        self.replies.lock().expect("no panic inside").push_back(reply);
    }

    fn reply(&self, prompt: &str) -> String {
        self.prompts.lock().expect("no panic inside").push(prompt.to_owned());
        let given = self.replies.lock().expect("no panic inside").pop_front();
        given.or_else(|| self.mind.map(|mind| mind(prompt))).unwrap_or_default()
    }

    /// Its base URL.
    pub fn serve(&self) -> String {
        async fn answer(State(model): State<Model>, Json(asked): Json<Value>) -> Json<Value> {
            let shown = |at: usize| asked["messages"][at]["content"].as_str().unwrap_or_default().to_owned();
            let content = model.reply(&format!("{}\n\n{}", shown(0), shown(1)));
            Json(json!({
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 10},
            }))
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("for tokio");
        let address = listener.local_addr().expect("its address");
        let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(self.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                axum::serve(listener, app).await.expect("it serves");
            });
        });
        format!("http://{address}/v1")
    }

    /// A whole brain with this model.
    pub fn bench(&self, change: impl FnOnce(&mut Settings)) -> Bench {
        let mut settings = Settings::default();
        settings.llm.base_url = Some(self.serve());
        settings.llm.model = Some("gull".into());
        settings.llm.context_tokens = 32_768;
        change(&mut settings);
        Bench::with("maxim", StateStore::in_memory(), core_tools, settings)
    }
}

/// A reply that acts.
pub fn acts(tool: &str, params: &Value) -> String {
    json!({"ready_to_act": true, "action": {"tool_name": tool, "params": params}, "confidence": 0.7, "reasoning": "I do it."})
        .to_string()
}

/// A reply that thinks on.
pub fn thinks(reasoning: &str) -> String {
    json!({"ready_to_act": false, "confidence": 0.4, "reasoning": reasoning}).to_string()
}
