//! What waits for a person: approvals, and messages that rooms failed on.

use std::ops::Bound;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::gate::fear_agent::FearAgent;
use maxim_actors::gate::fear_agent::{ENTRIES, GateEntry};
use maxim_actors::region::{DeadLetter, Region, end_of};
use maxim_actors::store::{AgentStore, StoreError};
use maxim_bus::{MessageId, RegionName};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fields::{Field, Kind, body_fields, query_fields};
use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// Letters of one room that are shown.
const LETTERS: usize = 1000;

pub const DECISION: &[Field] = &[
    Field::needed("allow", Kind::Flag, "whether it may be done"),
    Field::optional("always", Kind::Flag, "remember it for this kind of action"),
];

fn records<T: DeserializeOwned>(store: &AgentStore, room: RegionName, prefix: &str) -> Result<Vec<T>, StoreError> {
    let range = (Bound::Included(prefix.as_bytes().to_vec()), end_of(prefix.as_bytes()));
    let found = store.records(room, range, LETTERS)?;
    Ok(found.iter().filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect())
}

/// `GET /v1/dead-letters`: what each room failed on twice, in the order of the anatomy, a room's newest first.
pub async fn dead_letters(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let (store, parts) = (served.agent.frame.store.clone(), Arc::clone(&served.agent.parts));
    let letters = blocking(move || {
        let mut letters: Vec<DeadLetter> = Vec::new();
        for part in parts.iter() {
            letters.extend(records(&store, part.name, DeadLetter::PREFIX)?.into_iter().rev());
        }
        Ok(letters)
    })
    .await?;
    ok(&json!({"dead_letters": letters}))
}

/// `GET /v1/approvals`: what the gate asks a person about.
pub async fn approvals(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let asked: Vec<Value> = asked(&served).await?.iter().map(approval).collect();
    ok(&json!({"approvals": asked}))
}

/// What the gate asks at present.
pub async fn asked(served: &Served) -> Result<Vec<GateEntry>, Problem> {
    let store = served.agent.frame.store.clone();
    let mut entries: Vec<GateEntry> = blocking(move || records(&store, FearAgent::NAME, ENTRIES)).await?;
    entries.retain(|entry| entry.status == "asked");
    Ok(entries)
}

fn approval(entry: &GateEntry) -> Value {
    json!({
        "id": entry.id,
        "tool": entry.intent.tool,
        "params": entry.intent.params,
        "rule": entry.rule,
        "reason": entry.reason,
        "turn": entry.intent.turn,
        "goal": entry.intent.goal,
        "channel": entry.intent.channel,
        "sender": entry.intent.recipient,
        "trust": entry.trust,
        "expires": entry.expires,
    })
}

/// `POST /v1/approvals/{id}`: a person's yes or no.
pub async fn decide(State(served): State<Arc<Served>>, Path(id): Path<String>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = body_fields(&served, request, DECISION).await?;
    let (allow, always) = (given.flag("allow").unwrap_or(false), given.flag("always").unwrap_or(false));
    let unknown = |why: String| Problem::new(StatusCode::NOT_FOUND, why, "see GET /v1/approvals for what is asked");
    let approval: MessageId = id.parse().map_err(|error| unknown(format!("{id:?} is no approval's id: {error}")))?;
    if !asked(&served).await?.iter().any(|entry| entry.id == approval) {
        return Err(unknown(format!("nothing is asked under {approval}; it may have expired or been answered")));
    }
    let door = &served.agent.outside.door;
    // A yes that a crash could take back again is none.
    if !door.answered(door.decide(approval, allow, always, "http".into())).await?.taken {
        return Err(unknown(format!("{approval} expired or was answered meanwhile")));
    }
    ok(&json!({"id": approval, "allow": allow, "always": always}))
}
