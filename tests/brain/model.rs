//! A language model behind the real interface, with replies given by a test.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::{Stream, StreamExt};
use maxim::config::Settings;
use maxim_actors::action::tools::ToolRegistry;
use maxim_actors::store::StateStore;
use serde_json::{Value, json};

use crate::common::{Bench, core_tools, loopback};

/// How a server handles one request.
pub enum Act {
    /// A complete reply.
    Say(String),
    /// A reply in pieces; without an end the stream stops as if the connection was lost.
    Pieces(&'static [&'static str], bool),
    /// A reply that was cut because its tokens ran out.
    Cut(String),
    /// A piece every 50 ms, for ever.
    Drip,
    /// Nothing, for ever.
    Hang,
    /// Something else: status, the header `retry-after`, body.
    Answer(u16, Option<u64>, String),
}

type Conduct = Arc<dyn Fn(usize, &Value) -> Act + Send + Sync>;

/// A model whose replies are given, or computed from its prompt; it stores its prompts.
#[derive(Clone, Default)]
pub struct Model {
    prompts: Arc<Mutex<Vec<String>>>,
    requests: Arc<Mutex<Vec<Value>>>,
    replies: Arc<Mutex<VecDeque<String>>>,
    conduct: Option<Conduct>,
}

impl Model {
    /// Computes replies from the prompt, if no reply is given.
    pub fn minded(mind: fn(&str) -> String) -> Self {
        Self::acting(move |_, request| Act::Say(mind(&prompt_of(request))))
    }

    /// Acts by the number of the request, from 0, and the request.
    pub fn acting(conduct: impl Fn(usize, &Value) -> Act + Send + Sync + 'static) -> Self {
        Self { conduct: Some(Arc::new(conduct)), ..Self::default() }
    }

    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().expect("no panic inside").clone()
    }

    /// Number of prompts that begin a turn; the others come after an action.
    pub fn turns(&self) -> usize {
        self.prompts().iter().filter(|prompt| !prompt.contains("What you did in this turn already")).count()
    }

    /// The requests, as received.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("no panic inside").clone()
    }

    pub fn last(&self) -> String {
        self.prompts().pop().expect("it was asked")
    }

    pub fn will_say(&self, reply: String) {
        self.replies.lock().expect("no panic inside").push_back(reply);
    }

    fn act(&self, request: Value) -> Act {
        self.prompts.lock().expect("no panic inside").push(prompt_of(&request));
        let number = {
            let mut requests = self.requests.lock().expect("no panic inside");
            requests.push(request.clone());
            requests.len() - 1
        };
        let given = self.replies.lock().expect("no panic inside").pop_front().map(Act::Say);
        let conduct = || self.conduct.as_ref().map(|conduct| conduct(number, &request));
        given.or_else(conduct).unwrap_or(Act::Say(String::new()))
    }

    /// Returns its base URL.
    pub fn serve(&self) -> String {
        async fn answer(State(model): State<Model>, Json(asked): Json<Value>) -> Response {
            let prompt = prompt_of(&asked);
            match model.act(asked) {
                Act::Say(content) => whole(&prompt, &content, "stop"),
                Act::Cut(content) => whole(&prompt, &content, "length"),
                Act::Pieces(pieces, ends) => {
                    let end = ends.then(|| event("", Some("stop")));
                    let all: Vec<String> = pieces.iter().map(|piece| event(piece, None)).chain(end).collect();
                    events(futures_util::stream::iter(all))
                }
                Act::Drip => events(futures_util::stream::unfold((), |()| async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Some((event(".", None), ()))
                })),
                Act::Hang => std::future::pending().await,
                Act::Answer(status, retry_after, body) => {
                    let answer = Response::builder().status(status);
                    let answer = match retry_after {
                        Some(seconds) => answer.header("retry-after", seconds),
                        None => answer,
                    };
                    answer.body(Body::from(body)).expect("a response")
                }
            }
        }
        let app = Router::new().route("/v1/chat/completions", post(answer)).with_state(self.clone());
        format!("{}/v1", loopback::serve(app))
    }

    /// A whole brain with this model.
    pub fn bench(&self, change: impl FnOnce(&mut Settings)) -> Bench {
        self.bench_with(core_tools, change)
    }

    /// The same with these tools.
    pub fn bench_with(&self, tools: fn() -> ToolRegistry, change: impl FnOnce(&mut Settings)) -> Bench {
        let mut settings = Settings::default();
        settings.effectors.llm.base_url = Some(self.serve());
        settings.effectors.llm.model = Some("gull".into());
        settings.effectors.llm.context_tokens = 32_768;
        change(&mut settings);
        Bench::with("maxim", StateStore::in_memory(), tools, settings)
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

fn prompt_of(request: &Value) -> String {
    let shown = |at: usize| request["messages"][at]["content"].as_str().unwrap_or_default().to_owned();
    format!("{}\n\n{}", shown(0), shown(1))
}

/// Counts four characters as a token.
fn whole(prompt: &str, content: &str, finish: &str) -> Response {
    Json(json!({
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": prompt.len() / 4, "completion_tokens": content.len() / 4},
    }))
    .into_response()
}

fn event(content: &str, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": {"content": content}, "finish_reason": finish});
    format!("data: {}\n\n", json!({"choices": [choice]}))
}

fn events(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    Response::builder().header("content-type", "text/event-stream").body(body).expect("a response")
}
