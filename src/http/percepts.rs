//! Words for the brain, by `POST /v1/percepts`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::effectors::channels::{Accepted, Desk, Submission};
use maxim_bus::Trust;
use maxim_bus::bounds;
use maxim_bus::signals::thought::{ActionStatus, ActionSummary, TurnEnded};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::fields::{Field, Given, Kind, object, query_fields, whole_body};
use super::memory::blocking;
use super::problem::{Answer, json_answer};
use super::retries::Known;
use super::{Problem, Served};

/// How long the brain may take to have a percept on disk.
const ACCEPTANCE: Duration = Duration::from_secs(30);
/// The longest `wait_s`: a day.
const LONGEST_WAIT: f64 = 86_400.0;
/// The sender when none is named.
pub const OWNER: &str = "owner";

pub const PERCEPT: &[Field] = &[
    Field::needed("text", Kind::Spoken, "what is said; up to gateway.text_max, by default 64 KiB"),
    Field::optional("channel", Kind::Words(&bounds::CHANNEL), "http or console"),
    Field::optional("sender", Kind::Words(&bounds::SENDER), "a name; it gives no rights"),
    Field::optional(
        "provider_id",
        Kind::Words(&bounds::PROVIDER_ID),
        "a repeated id means the same message; the header Idempotency-Key is another way",
    ),
    Field::optional("wait_s", Kind::Number(0.0, LONGEST_WAIT), "wait this many seconds for the reply"),
];

/// `POST /v1/percepts`.
pub async fn perceive(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    query_fields(&request, &[])?;
    let (head, body) = request.into_parts();
    let bytes = whole_body(body, served.body_max).await?;
    let given = Given::check(object(&bytes)?, PERCEPT)?;
    let (desk, mut submission) = submission(&served, &given)?;
    let mut retry = None;
    if submission.provider_id.is_none() {
        Known { provider_id: submission.provider_id, retry } = Known::of("percept", &head.headers, &bytes)?;
    }
    let accepted = accepted(desk.submit_once(submission, None, retry)).await?;
    let id = accepted.percept;
    if let Some(seconds) = given.number("wait_s") {
        let turn = desk.turn(id);
        if let Some(ended) = ended_before(&served, &accepted).await {
            return Ok(json_answer(StatusCode::OK, &ended_document(&ended)));
        }
        match tokio::time::timeout(Duration::from_secs_f64(seconds), turn).await {
            Ok(Ok(Ok(ended))) => return Ok(json_answer(StatusCode::OK, &ended_document(&ended))),
            // The percept is on disk all the same, and its end is in the why-record.
            Ok(Ok(Err(lost))) => {
                let body = json!({"id": id, "durable": true, "repeated": accepted.repeated, "lost": lost});
                return Ok(json_answer(StatusCode::ACCEPTED, &body));
            }
            Ok(Err(_)) | Err(_) => {}
        }
    }
    let body = json!({"id": id, "durable": true, "repeated": accepted.repeated});
    Ok(json_answer(StatusCode::ACCEPTED, &body))
}

fn submission(served: &Served, given: &Given) -> Result<(Arc<Desk>, Submission), Problem> {
    let (desk, channel) = match given.text("channel") {
        None | Some("http") => (&served.agent.outside.http, "http"),
        Some("console") => (&served.agent.outside.console, "console"),
        Some(other) => {
            let found = format!("the channel {other:?} can't be used here");
            return Err(Problem::bad(found, "give \"http\" or \"console\", or leave it out"));
        }
    };
    let body = checked_text(served, "text", given.text("text").unwrap_or_default())?;
    let sender = given.text("sender").unwrap_or(OWNER).to_owned();
    let provider_id = given.text("provider_id").map(str::to_owned);
    let submission = Submission { channel: channel.into(), sender, body, provider_id, trust: Trust::Owner };
    Ok((Arc::clone(desk), submission))
}

/// The end of a repeated message's turn, if it has ended, also in an earlier process.
pub async fn ended_before(served: &Served, accepted: &Accepted) -> Option<TurnEnded> {
    let (store, turn) = (served.agent.frame.store.clone(), accepted.percept);
    let read = async { blocking(move || super::why::ended(&store, turn)).await.ok().flatten() };
    if accepted.repeated { read.await } else { None }
}

/// Text that can become a percept whole.
pub fn checked_text(served: &Served, name: &str, text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::bad(format!("the field {name:?} is empty"), "say something"));
    }
    let limit = served.text_max;
    if text.len() > limit {
        let found = format!("the field {name:?} has {} bytes; at most {limit} become a percept", text.len());
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, found, "say it in parts"));
    }
    Ok(text.to_owned())
}

/// Submits it, and waits until it is on disk.
pub async fn submit(desk: &Desk, submission: Submission) -> Result<Accepted, Problem> {
    accepted(desk.submit(submission)).await
}

/// Waits until a message is on disk.
pub async fn accepted(told: oneshot::Receiver<Result<Accepted, String>>) -> Result<Accepted, Problem> {
    match tokio::time::timeout(ACCEPTANCE, told).await {
        Ok(Ok(Ok(accepted))) if accepted.differs => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "this Idempotency-Key belongs to an earlier request with another body; no turn begins for this one",
            "give each new request a key of its own, and send the same body when a request is sent again",
        )),
        Ok(Ok(Ok(accepted))) => Ok(accepted),
        Ok(Ok(Err(why))) => Err(Problem::later(
            format!("it could not be made durable: {why}"),
            "see \"disk\" in `maxim status`, and send it again with the same provider_id",
        )),
        _ => Err(Problem::later(
            format!("the brain did not accept it within {} s", ACCEPTANCE.as_secs()),
            "see `maxim status` for rooms that are down, and send it again with the same provider_id",
        )),
    }
}

fn ended_document(ended: &TurnEnded) -> Value {
    let actions: Vec<Value> = ended.actions.iter().map(action_document).collect();
    json!({"id": ended.turn, "reply": ended.reply, "actions": actions})
}

fn action_document(action: &ActionSummary) -> Value {
    let mut document = json!(action);
    match action.status {
        ActionStatus::Done => document["success"] = true.into(),
        ActionStatus::Failed | ActionStatus::Unavailable => document["success"] = false.into(),
        _ => {}
    }
    document
}
