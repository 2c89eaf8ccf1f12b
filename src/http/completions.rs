//! The brain behind the interface of a language model, so that any chat client can talk to it: `POST /v1/chat/completions`
//! and `GET /v1/models`.
//!
//! Only the last user message is said to the brain. Earlier messages are the client's own record; the brain remembers
//! the conversation by itself. Options that only make sense for a model (temperature, tools, …) are accepted and
//! ignored. A stream sends each utterance of the turn when it is said (`word_stream.rs`).

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
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
use super::percepts::{OWNER, accepted, checked_text, ended_before};
use super::problem::{Answer, json_answer, ok};
use super::retries::Known;
use super::word_stream::WordStream;
use super::{Problem, Served};

/// The only model that there is.
pub(super) const MODEL: &str = "maxim";
/// How long to wait for the end of a turn; longer than any turn takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(900);
/// How a turn ended, or why the wait for its end failed.
pub(super) type Ended = Result<Result<Result<TurnEnded, String>, RecvError>, Elapsed>;

/// What is read of a request.
#[derive(Deserialize)]
struct Asked {
    messages: Vec<Message>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// The speaker's name. It gives no rights.
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
    /// The message's text, or the texts of its parts. A part that isn't text (an image, a sound) is refused with its
    /// type.
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
                "description": "the last message of role user is said to the brain",
                "items": {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}, "content": {}}},
            },
            "model": {"type": "string", "description": "any name; there is only one model"},
            "stream": {"type": ["boolean", "null"]},
            "stream_options": {
                "type": ["object", "null"],
                "properties": {"include_usage": {"type": ["boolean", "null"]}},
            },
            "user": {"type": ["string", "null"], "description": "the speaker's name; it gives no rights"},
        },
        "required": ["messages"],
        "additionalProperties": true,
    })
}

/// `GET /v1/models`.
pub async fn models(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    ok(&json!({"object": "list", "data": [model_document(&served)]}))
}

/// `GET /v1/models/{id}`.
pub async fn model(State(served): State<Arc<Served>>, Path(id): Path<String>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    if id == MODEL {
        return ok(&model_document(&served));
    }
    let shown: String = id.chars().take(60).collect();
    let fix = format!("call it {MODEL:?}; chat requests accept any name");
    let mut problem = Problem::new(StatusCode::NOT_FOUND, format!("there is no model {shown:?}"), fix);
    problem.more.insert("code".into(), "model_not_found".into());
    problem.more.insert("field".into(), "model".into());
    Err(problem)
}

fn model_document(served: &Served) -> Value {
    json!({"id": MODEL, "object": "model", "created": served.started.as_second(), "owned_by": MODEL})
}

/// `POST /v1/chat/completions`.
pub async fn complete(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let served = &served;
    served.refuse_while_draining()?;
    let (head, body) = request.into_parts();
    let bytes = whole_body(body, served.body_max).await?;
    let Known { provider_id, retry } = Known::of("completion", &head.headers, &bytes)?;
    let asked: Asked = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::bad(format!("the request can't be read: {error}"), "send {\"messages\": […]} as JSON")
    })?;
    let said = asked.messages.iter().rev().find(|message| message.role == "user");
    let said = said.ok_or_else(|| Problem::bad("no message has the role user", "put the text into one"))?;
    let body = checked_text(served, "content", &said.text()?)?;
    let sender = asked.user.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| OWNER.into());
    let sender = USER.take(&sender).map_err(|much| Problem::beyond(&much))?.into_owned();
    let desk = Arc::clone(&served.agent.outside.http);
    let submission = Submission { channel: "http".into(), sender, body, provider_id, trust: Trust::Owner };
    // Listens before the words are submitted, so that no part of the answer is missed.
    let heard = (asked.stream == Some(true)).then(|| desk.listen());
    let accepted = accepted(desk.submit_once(submission, None, retry)).await?;
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

/// What was said in the turn; empty if nothing was said.
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

/// The tokens of the turn's model calls; 0 for a turn by habit.
pub(super) fn usage(served: &Served, turn: MessageId) -> Value {
    let (prompt, completion) = served.events.tokens_of(turn);
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
}

/// Paths of OpenAI's interface that its clients call, including those that don't exist here.
const OF_CLIENTS: [&str; 11] = [
    "/v1/audio",
    "/v1/chat",
    "/v1/completions",
    "/v1/conversations",
    "/v1/embeddings",
    "/v1/files",
    "/v1/images",
    "/v1/models",
    "/v1/moderations",
    "/v1/realtime",
    "/v1/responses",
];

/// True if clients of OpenAI's interface call this path.
pub(super) fn is_of_chat_clients(path: &str) -> bool {
    let is_below = |head: &&str| path.strip_prefix(*head).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    OF_CLIENTS.iter().any(is_below)
}

/// Adds to a refusal the object that such clients show, beside the problem document.
pub(super) fn as_clients_read_it(mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    // The head is kept: it may say more than the problem does.
    let (mut head, _) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(for_clients(problem).document().to_string()))
}

/// Adds the error object that such clients look for.
pub(super) fn for_clients(mut problem: Problem) -> Problem {
    problem.more.insert("error".into(), client_error(&problem));
    problem
}

fn client_error(problem: &Problem) -> Value {
    let (kind, code) = match problem.status {
        StatusCode::UNAUTHORIZED => ("invalid_request_error", Some("invalid_api_key")),
        StatusCode::FORBIDDEN => ("invalid_request_error", Some("forbidden")),
        StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", Some("rate_limit_exceeded")),
        StatusCode::PAYLOAD_TOO_LARGE => ("invalid_request_error", Some("request_too_large")),
        status if status.is_client_error() => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    let more = |name: &str| problem.more.get(name).and_then(Value::as_str);
    json!({
        "message": format!("{}; {}", problem.detail, problem.fix),
        "type": kind,
        "param": more("field"),
        "code": more("code").or(code),
    })
}
