//! `GET /v1/why/{id}`: a turn's why-record, read from what the cause ledger wrote while it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use maxim_actors::action::cause_ledger::{CauseLedger, CausePart, TURNS_PREFIX, index_key, parts_prefix};
use maxim_actors::region::{Region, end_of};
use maxim_actors::store::{AgentStore, StoreError};
use maxim_bus::MessageId;
use maxim_bus::signals::thought::TurnEnded;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

mod words;
use words::{rests_on, sentence};

/// Turns that are searched for an id that has no index, newest first.
const SEARCHED: usize = 500;

/// `GET /v1/why/{id}`: a turn, an action, an intent or any message of a turn; `last` is the newest turn.
pub async fn why(State(served): State<Arc<Served>>, Path(id): Path<String>) -> Answer {
    let store = served.agent.frame.store.clone();
    let wanted = match id.as_str() {
        "last" => None,
        text => Some(text.parse::<MessageId>().map_err(|error| {
            Problem::bad(
                format!("{text:?} is no id: {error}"),
                "give the id of a percept, turn, action or intent, or last",
            )
        })?),
    };
    let found = blocking(move || record_of(&store, wanted)).await?;
    match found {
        Some(record) => ok(&record),
        None => {
            let found = match wanted {
                Some(id) => format!("no turn is known that has to do with {id}"),
                None => "nothing has happened yet".into(),
            };
            Err(Problem::new(StatusCode::NOT_FOUND, found, "GET /v1/why/last shows the newest turn"))
        }
    }
}

/// The why-record of a turn, if there is one.
pub fn why_document(store: &AgentStore, turn: MessageId) -> Result<Option<Value>, StoreError> {
    record_of(store, Some(turn))
}

/// How a turn ended, as far as that is recorded.
pub fn ended(store: &AgentStore, turn: MessageId) -> Result<Option<TurnEnded>, StoreError> {
    let parts = parts_of(store, turn)?;
    let ended = parts.into_iter().rev().find(|part| part.kind == "TurnEnded");
    Ok(ended.and_then(|part| serde_json::from_value(part.body).ok()))
}

fn record_of(store: &AgentStore, wanted: Option<MessageId>) -> Result<Option<Value>, StoreError> {
    let turn = match wanted {
        None => turns(store)?.pop(),
        Some(id) => turn_of(store, id)?,
    };
    let Some(turn) = turn else { return Ok(None) };
    let parts = parts_of(store, turn)?;
    Ok((!parts.is_empty()).then(|| document(turn, &parts)))
}

/// Oldest first.
fn turns(store: &AgentStore) -> Result<Vec<MessageId>, StoreError> {
    prefixed(store, TURNS_PREFIX)
}

fn turn_of(store: &AgentStore, id: MessageId) -> Result<Option<MessageId>, StoreError> {
    if !parts_of(store, id)?.is_empty() {
        return Ok(Some(id));
    }
    if let Some(bytes) = store.record(CauseLedger::NAME, index_key(id).as_bytes())? {
        return Ok(serde_json::from_slice(&bytes).ok());
    }
    // Intents and actions are indexed; other messages, approvals and episodes are looked for in the newest turns.
    for turn in turns(store)?.into_iter().rev().take(SEARCHED) {
        if parts_of(store, turn)?.iter().any(|part| part.id == id || mentions(&part.body, id)) {
            return Ok(Some(turn));
        }
    }
    Ok(None)
}

fn mentions(body: &Value, id: MessageId) -> bool {
    let id = id.to_string();
    ["action", "intent", "intent_id", "id", "approval", "episode", "entry"]
        .iter()
        .any(|name| body[*name] == id.as_str())
}

/// In the order of time. An effect comes after its cause, and the results of one input come in the order of a turn.
fn parts_of(store: &AgentStore, turn: MessageId) -> Result<Vec<CausePart>, StoreError> {
    let mut parts: Vec<CausePart> = prefixed(store, &parts_prefix(turn))?;
    let ids: BTreeSet<MessageId> = parts.iter().map(|part| part.id).collect();
    let percept = parts.iter().find(|part| part.kind == "SalientPercept").map(|part| part.id);
    // Not every signal is a part, so a cause may be missing. Then a part comes after the one that it refers to.
    let above = |part: &CausePart| {
        let is_known = |id: &MessageId| *id != part.id && ids.contains(id);
        let spoken = ["intent", "intent_id", "action", "id"];
        let mut spoken = spoken.iter().filter_map(|name| part.body[*name].as_str()?.parse().ok());
        let by_cause = part.cause.filter(is_known).map(|id| (id, 1));
        let by_words = || spoken.find(is_known).map(|id| (id, behind_its_intent(&part.kind)));
        by_cause.or_else(by_words).or(percept.filter(|id| *id != part.id).map(|id| (id, 1)))
    };
    let causes: BTreeMap<MessageId, Option<(MessageId, usize)>> =
        parts.iter().map(|part| (part.id, above(part))).collect();
    let depth = |part: &CausePart| {
        let (mut depth, mut at) = (0, part.id);
        for _ in 0..causes.len() {
            let Some(Some((above, steps))) = causes.get(&at) else { break };
            (depth, at) = (depth + steps, *above);
        }
        depth
    };
    parts.sort_by_cached_key(|part| (part.at, depth(part), place(&part.kind)));
    Ok(parts)
}

/// Steps as they follow one another in a turn.
const COURSE: [&str; 19] = [
    "SalientPercept",
    "EpisodeStored",
    "EnrichedPercept",
    "ThoughtGated",
    "PromptBuilt",
    "CycleThought",
    "InquiryAnswered",
    "Thought",
    "ActChosen",
    "Intent",
    "IntentRefused",
    "ClearedIntent",
    "ExecutionStarted",
    "ToolResult",
    "Outbound",
    "PainSignal",
    "Reward",
    "PredictionErrorSensed",
    "TurnEnded",
];

fn place(kind: &str) -> usize {
    COURSE.iter().position(|known| *known == kind).unwrap_or(COURSE.len())
}

/// How far behind an intent a step of its life comes.
fn behind_its_intent(kind: &str) -> usize {
    match kind {
        "IntentRefused" | "ClearedIntent" => 1,
        "ExecutionStarted" => 2,
        "ToolResult" => 3,
        _ => 4,
    }
}

fn prefixed<T: DeserializeOwned>(store: &AgentStore, prefix: &str) -> Result<Vec<T>, StoreError> {
    let range = (Bound::Included(prefix.as_bytes().to_vec()), end_of(prefix.as_bytes()));
    let records = store.records(CauseLedger::NAME, range, usize::MAX)?;
    Ok(records.iter().filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect())
}

fn document(turn: MessageId, parts: &[CausePart]) -> Value {
    let find = |kind: &str| parts.iter().find(|part| part.kind == kind);
    let perceived = find("SalientPercept").map(|part| {
        let percept = &part.body["percept"];
        json!({
            "content": percept["content"], "source": percept["source"], "sender": percept["metadata"]["sender"],
            "at": part.at, "salience": part.body["salience"], "novelty": part.body["novelty"],
        })
    });
    let ended = parts.iter().rev().find(|part| part.kind == "TurnEnded");
    let steps: Vec<Value> = parts.iter().map(step).collect();
    json!({
        "turn": turn,
        "perceived": perceived,
        "reply": ended.map(|part| &part.body["reply"]),
        "actions": ended.map_or_else(|| json!([]), |part| part.body["actions"].clone()),
        "is_over": ended.is_some(),
        "steps": steps,
    })
}

fn step(part: &CausePart) -> Value {
    json!({
        "what": format!("{}: {}", part.by, sentence(part)),
        "kind": part.kind, "at": part.at, "by": part.by, "id": part.id, "cause": part.cause, "detail": part.body,
        "rests_on": rests_on(part),
    })
}
