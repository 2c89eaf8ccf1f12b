//! The brain behind the interface of a language model, so that any chat client can talk to it: `POST /v1/chat/completions`
//! and `GET /v1/models`.
//!
//! The last message of the user is what is said; the messages before it are the client's own record of a conversation that
//! the brain remembers by itself. What only makes sense for a model (temperature, tools, …) is taken and has no effect. A
//! stream brings each thing that is said in the turn when it is said (`word_stream.rs`).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use maxim_actors::effectors::channels::Submission;
use maxim_bus::bounds::USER;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, Trust};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot::error::RecvError;
use tokio::time::error::Elapsed;

use super::fields::{query_fields, whole_body};
use super::percepts::{OWNER, checked_text, ended_before, submit};
use super::problem::{Answer, json_answer, ok};
use super::word_stream::WordStream;
use super::{Problem, Served};

/// The only model that there is.
pub(super) const MODEL: &str = "maxim";
/// How long the end of a turn is waited for; longer than any turn takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(900);
/// How a turn ended, as far as it was waited for.
pub(super) type Ended = Result<Result<Result<TurnEnded, String>, RecvError>, Elapsed>;

/// What is read of a request.
#[derive(Deserialize)]
struct Asked {
    messages: Vec<Message>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// Who speaks; a name, nothing more.
    #[serde(default)]
    user: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

impl Message {
    /// Its words: a text, or the texts among its parts. What isn't text (an image, a sound) is refused with its type.
    fn text(&self) -> Result<String, Problem> {
        let part = |part: &Value| match (part["type"].as_str(), part["text"].as_str()) {
            (Some("text" | "input_text"), Some(text)) => Ok(text.to_owned()),
            (kind, _) => {
                let found = format!("a part of the message is {}, not text", kind.unwrap_or("of no type"));
                Err(Problem::bad(found, "send parts of type \"text\""))
            }
        };
        match &self.content {
            Value::String(text) => Ok(text.clone()),
            Value::Array(parts) => Ok(parts.iter().map(part).collect::<Result<Vec<_>, _>>()?.join("\n")),
            _ => Err(Problem::bad("the user's last message has no content", "give it a text as \"content\"")),
        }
    }
}

/// What the interface takes, for its description.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "messages": {
                "type": "array",
                "minItems": 1,
                "description": "the last one of role user is what is said",
                "items": {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}, "content": {}}},
            },
            "model": {"type": "string", "description": "any; there is one"},
            "stream": {"type": ["boolean", "null"]},
            "stream_options": {
                "type": ["object", "null"],
                "properties": {"include_usage": {"type": ["boolean", "null"]}},
            },
            "user": {"type": ["string", "null"], "description": "who speaks; a name, nothing more"},
        },
        "required": ["messages"],
        "additionalProperties": true,
    })
}

/// `GET /v1/models`.
pub async fn models(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let created = served.started.as_second();
    ok(&json!({"object": "list", "data": [{"id": MODEL, "object": "model", "created": created, "owned_by": MODEL}]}))
}

/// `POST /v1/chat/completions`.
pub async fn complete(State(served): State<Arc<Served>>, request: Request) -> Result<Response, Problem> {
    completed(&served, request).await.map_err(as_clients_read_it)
}

async fn completed(served: &Arc<Served>, request: Request) -> Result<Response, Problem> {
    served.refuse_while_draining()?;
    let (head, body) = request.into_parts();
    let bytes = whole_body(body, served.body_max).await?;
    let provider_id = served.provider_id("completion", &head.headers, &bytes)?;
    let asked: Asked = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::bad(format!("the request can't be read: {error}"), "send {\"messages\": […]} as JSON")
    })?;
    let said = asked.messages.iter().rev().find(|message| message.role == "user");
    let said = said.ok_or_else(|| Problem::bad("no message has the role user", "put what is said into one"))?;
    let body = checked_text(served, "content", &said.text()?)?;
    let sender = asked.user.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| OWNER.into());
    let sender = USER.take(&sender).map_err(|much| Problem::beyond(&much))?.into_owned();
    let desk = Arc::clone(&served.agent.outside.http);
    let submission = Submission { channel: "http".into(), sender, body, provider_id, trust: Trust::Owner };
    // Before the words are handed in, so that nothing of the answer is missed.
    let heard = (asked.stream == Some(true)).then(|| desk.listen());
    let accepted = submit(&desk, submission).await?;
    let turn = accepted.percept;
    let told = desk.turn(turn);
    let before = ended_before(served, &accepted).await;
    let ended = async move {
        match before {
            Some(ended) => Ok(Ok(Ok(ended))),
            None => tokio::time::timeout(PATIENCE, told).await,
        }
    };
    let created = served.agent.frame.clock.now().as_second();
    if let Some(heard) = heard {
        let wants_usage = asked.stream_options.and_then(|options| options.include_usage) == Some(true);
        return Ok(WordStream::new(served, turn, created, wants_usage).response(heard, ended));
    }
    let words = spoken(turn, ended.await)?;
    Ok(json_answer(
        StatusCode::OK,
        &json!({
            "id": format!("chatcmpl-{turn}"),
            "object": "chat.completion",
            "created": created,
            "model": MODEL,
            "choices": [{
                "index": 0, "message": {"role": "assistant", "content": words}, "logprobs": null, "finish_reason": "stop",
            }],
            "usage": usage(served, turn),
        }),
    ))
}

/// What was said in the turn; who said nothing did what the client can't see.
pub(super) fn spoken(turn: MessageId, ended: Ended) -> Result<String, Problem> {
    let see = format!("see `maxim why {turn}` for what is known");
    match ended {
        Ok(Ok(Ok(ended))) => Ok(ended.reply.unwrap_or_default()),
        Ok(Ok(Err(lost))) => Err(Problem::later(lost, see)),
        _ => Err(Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!("the turn has not ended within {} s", PATIENCE.as_secs()),
            see,
        )),
    }
}

/// What the turn's model calls cost; by habit nothing.
pub(super) fn usage(served: &Served, turn: MessageId) -> Value {
    let (prompt, completion) = served.events.tokens_of(turn);
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
}

/// Chat clients look for `error.message`.
pub(super) fn as_clients_read_it(mut problem: Problem) -> Problem {
    let kind = if problem.status.is_client_error() { "invalid_request_error" } else { "server_error" };
    let message = format!("{}; {}", problem.detail, problem.fix);
    problem.more.insert("error".into(), json!({"message": message, "type": kind, "param": null, "code": null}));
    problem
}
