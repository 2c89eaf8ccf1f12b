//! What waits for a person: approvals, and dead letters.

use std::ops::Bound;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::gate::fear_agent::FearAgent;
use maxim_actors::gate::fear_agent::{ENTRIES, GateEntry, GateStatus};
use maxim_actors::region::{DeadLetter, Region, end_of};
use maxim_actors::store::{AgentStore, StoreError};
use maxim_bus::signals::approval::code_of;
use maxim_bus::signals::grants::{GrantReach, GrantsSurveyed, SurveyGrants};
use maxim_bus::{MessageId, RegionName};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fields::{Field, Given, Kind, body_fields, query_fields};
use super::guard::Caller;
use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// Dead letters of one room that are shown, at most.
const LETTERS: usize = 1000;

pub const DECISION: &[Field] = &[
    Field::needed("allow", Kind::Flag, "whether it may be done"),
    Field::optional("always", Kind::Flag, "also from now on, for exactly what the question's \"always\" says"),
    Field::optional("any_arguments", Kind::Flag, "also from now on, for what the question's \"any_arguments\" says"),
    Field::optional(
        "pattern",
        Kind::Text,
        "also from now on, for one simple command of this form, such as cargo test *",
    ),
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
    entries.retain(|entry| entry.status == GateStatus::Asked);
    Ok(entries)
}

fn approval(entry: &GateEntry) -> Value {
    json!({
        "id": entry.approval(),
        "intent": entry.id,
        "tool": entry.intent.tool,
        "params": entry.intent.params,
        "rule": entry.rule,
        "reason": entry.reason,
        "code": code_of(entry.approval()),
        "replaced": entry.replaced,
        "asks": entry.asks,
        "always": entry.always,
        "any_arguments": entry.any_arguments,
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
    let Caller(by) = Caller::of(&request);
    let given = body_fields(&served, request, DECISION).await?;
    let allow = given.flag("allow").unwrap_or(false);
    let reach = reach_of(&given)?;
    if let (false, Some(_)) = (allow, &reach) {
        return Err(Problem::bad("a no is for this question alone", "leave out always, any_arguments and pattern"));
    }
    let unknown = |why: String| Problem::new(StatusCode::NOT_FOUND, why, "see GET /v1/approvals for what is asked");
    let approval: MessageId = id.parse().map_err(|error| unknown(format!("{id:?} is no approval's id: {error}")))?;
    let open = asked(&served).await?;
    if let Some(entry) = open.iter().find(|entry| entry.replaced.contains(&approval)) {
        let why = format!("{approval} was replaced by a new question: {}", entry.reason);
        let fix = format!(
            "nothing was decided; the new question is {} (code {})",
            entry.approval(),
            code_of(entry.approval())
        );
        return Err(Problem::new(StatusCode::CONFLICT, why, fix));
    }
    if !open.iter().any(|entry| entry.approval() == approval) {
        return Err(unknown(format!("nothing is asked under {approval}; it may have expired or been answered")));
    }
    let door = &served.agent.outside.door;
    // A yes that a crash could undo doesn't count.
    let always = reach.is_some();
    let decided = door.answered(door.decide_for(approval, allow, reach, by.into())).await?;
    if let Some(why) = decided.refused {
        let fix =
            "nothing was decided: allow it this once, or name less; see GET /v1/approvals for what can be granted";
        return Err(Problem::new(StatusCode::CONFLICT, why, fix));
    }
    if !decided.taken {
        return Err(unknown(format!("{approval} expired or was answered meanwhile")));
    }
    ok(&json!({"id": approval, "allow": allow, "always": always, "granted": decided.granted}))
}

/// How far a yes reaches beyond this once.
fn reach_of(given: &Given) -> Result<Option<GrantReach>, Problem> {
    let flag = |name: &str| given.flag(name).unwrap_or(false);
    let pattern = given.text("pattern").map(|pattern| GrantReach::Pattern(pattern.to_owned()));
    let any = flag("any_arguments").then_some(GrantReach::AnyArguments);
    match (pattern, any) {
        (Some(_), Some(_)) => Err(Problem::bad("both a pattern and any_arguments are given", "give one of them")),
        (None, None) => Ok(flag("always").then_some(GrantReach::Call)),
        (pattern, any) => Ok(pattern.or(any)),
    }
}

async fn survey_grants(served: &Served, revoke: Option<String>) -> Result<GrantsSurveyed, Problem> {
    let survey = SurveyGrants { revoke, by: "http".into() };
    Ok(served.agent.outside.door.ask(FearAgent::NAME, survey).await?)
}

/// `GET /v1/approvals/grants`: the standing grants.
pub async fn grants(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    ok(&json!(survey_grants(&served, None).await?))
}

/// `DELETE /v1/approvals/grants/{id}`: revokes a grant.
pub async fn revoke(State(served): State<Arc<Served>>, Path(id): Path<String>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let told = survey_grants(&served, Some(id)).await?;
    match told.refused {
        Some(why) => {
            let (found, fix) =
                why.split_once("; ").unwrap_or((&why, "see GET /v1/approvals/grants for the existing ones"));
            Err(Problem::new(StatusCode::NOT_FOUND, found, fix))
        }
        None => ok(&json!(told)),
    }
}
