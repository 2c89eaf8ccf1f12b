//! The outbox: what goes outside, and a person's word on it.

use std::ops::Bound;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::action::outbox::{ENTRIES, Outbox};
use maxim_actors::region::{Region, end_of};
use maxim_bus::MessageId;
use maxim_bus::signals::outbox::{ChangeOutbox, OutboxChanged, OutboxEntry, OutboxWish};
use serde_json::{Value, json};

use super::fields::{Field, Kind, body_fields, query_fields};
use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// More entries than the outbox ever holds.
const ALL: usize = 10_000;

pub const OUTBOX: &[Field] = &[Field::optional("all", Kind::Flag, "also those that are over")];
pub const WISH: &[Field] = &[Field::needed("do", Kind::Text, "retry or drop")];

/// `GET /v1/outbox`.
pub async fn outbox(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let all = query_fields(&request, OUTBOX)?.flag("all").unwrap_or(false);
    let store = served.agent.frame.store.clone();
    let prefix = ENTRIES.as_bytes();
    let range = (Bound::Included(prefix.to_vec()), end_of(prefix));
    let found = blocking(move || store.records(Outbox::NAME, range, ALL)).await?;
    let mut entries: Vec<OutboxEntry> =
        found.iter().filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect();
    entries.retain(|entry| all || !entry.state.is_over());
    entries.sort_by_key(|entry| (entry.created, entry.id));
    ok(&json!({"entries": entries}))
}

/// `POST /v1/outbox/{id}`.
pub async fn change(State(served): State<Arc<Served>>, Path(id): Path<String>, request: Request) -> Answer {
    let given = body_fields(&served, request, WISH).await?;
    let wish = match given.text("do") {
        Some("retry") => OutboxWish::Retry,
        Some("drop") => OutboxWish::Drop,
        other => {
            let found = format!("the field \"do\" is {:?}", other.unwrap_or_default());
            return Err(Problem::bad(found, "give \"retry\" or \"drop\""));
        }
    };
    let unknown = |why: String| Problem::new(StatusCode::NOT_FOUND, why, "see GET /v1/outbox?all=true");
    let entry: MessageId = id.parse().map_err(|error| unknown(format!("{id:?} is no entry's id: {error}")))?;
    let changed = served.agent.outside.door.ask(Outbox::NAME, ChangeOutbox { entry, wish, by: "http".into() }).await?;
    let OutboxChanged { done, state, reason, .. } = changed;
    match (done, state) {
        (true, Some(state)) => ok(&json!({"id": entry, "state": state})),
        (_, None) => Err(unknown(reason.unwrap_or_default())),
        (false, Some(state)) => {
            let mut problem =
                Problem::new(StatusCode::CONFLICT, reason.unwrap_or_default(), "see `maxim outbox list --all`");
            problem.more.insert("state".into(), Value::from(state.word()));
            Err(problem)
        }
    }
}
