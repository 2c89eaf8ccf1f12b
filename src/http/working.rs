//! What is on the mind, over HTTP.

use std::sync::Arc;

use axum::extract::{Request, State};
use maxim_actors::deliberation::working_memory::WorkingMemory;
use maxim_actors::region::Region;
use maxim_bus::signals::working_memory::{EntryKind, SurveyOrder, SurveyWorkingMemory};
use serde_json::{Value, json};

use super::fields::{Field, Kind, query_fields};
use super::problem::{Answer, ok};
use super::{Problem, Served};

const KINDS: &str = "percept, outcome, reaction, pain, activation, thought, recall, conversation";

pub const WORKING: &[Field] = &[
    Field::optional("kind", Kind::Text, "kinds of entries, separated by commas, such as conversation,pain"),
    Field::optional("since", Kind::Text, "at or after this time, such as 2026-01-05T09:00:00Z"),
    Field::optional("salient", Kind::Flag, "the most salient first, instead of the newest last"),
    Field::optional("limit", Kind::Whole(1, 64), "at most this many; default all"),
];

/// `GET /v1/memory/working`.
pub async fn working(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = query_fields(&request, WORKING)?;
    let words = given.text("kind").unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    let kinds: Result<Vec<EntryKind>, Problem> = words.map(kind).collect();
    let since = given.text("since").map(str::parse::<jiff::Timestamp>).transpose().map_err(|error| {
        Problem::bad(format!("the field \"since\" is no time: {error}"), "write it like 2026-01-05T09:00:00Z")
    })?;
    let order = if given.flag("salient") == Some(true) { SurveyOrder::Salient } else { SurveyOrder::Recent };
    let limit = given.0.get("limit").and_then(Value::as_u64).unwrap_or(0) as usize;
    let survey = SurveyWorkingMemory { kinds: kinds?, since, order, limit, turn: None };
    let surveyed = served.agent.outside.door.ask(WorkingMemory::NAME, survey).await?;
    ok(&json!({ "results": surveyed.entries }))
}

fn kind(word: &str) -> Result<EntryKind, Problem> {
    serde_json::from_value(Value::from(word))
        .map_err(|_| Problem::bad(format!("{word:?} is no kind of entry"), format!("give one of {KINDS}")))
}
