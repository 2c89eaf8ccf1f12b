//! Export and import of all memory, one JSON line per record. Episodes come from a frozen view of their room. The other
//! layers come from the rooms that own them, all by the same query.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::memory::entorhinal_cortex::EntorhinalCortex;
use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::memory::hippocampus::exporting::{self, EpisodePage};
use maxim_actors::region::{Carried, Carrying, NextStep, RecordView, Region};
use maxim_bus::signals::associations::FollowAssociations;
use maxim_bus::signals::layers::ExportRecords;
use maxim_bus::{RegionName, Signal};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fields::{Field, Kind, query_fields};
use super::memory::{MOST, blocking};
use super::problem::{Answer, ok};
use super::{Problem, Served};

pub const EXPORT: &[Field] = &[
    Field::optional("after", Kind::Text, "an earlier answer's next"),
    Field::optional("limit", Kind::Whole(1, MOST), "at most this many; default 1000"),
];

/// Rooms that own memory, in the order of an export. It is the order of a percept: a record comes before those that
/// refer to it.
fn layers(served: &Served) -> Vec<RegionName> {
    let owns = |part: &&crate::agent::Part| part.hears.iter().any(|wire| wire.signal == ExportRecords::NAME);
    served.agent.parts.iter().filter(owns).map(|part| part.name).collect()
}

/// `GET /v1/memory/export`: a page of records as they are stored: episodes in the order of experience, then layer after
/// layer. The lines are texts, so they stay the same byte for byte.
pub async fn export(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = query_fields(&request, EXPORT)?;
    let limit = given.0.get("limit").and_then(Value::as_u64).unwrap_or(MOST) as usize;
    let layers = layers(&served);
    let nothing = |after: &str| Problem::bad(format!("nothing follows {after:?}"), "give an earlier answer's next");
    let (mut at, mut after) = match given.text("after") {
        None => return episodes(&served, None, limit, &layers).await,
        Some(after) if exporting::is_place(after) => {
            return episodes(&served, Some(after.to_owned()), limit, &layers).await;
        }
        Some(place) => {
            let (layer, after) = place.split_once(':').ok_or_else(|| nothing(place))?;
            let at = layers.iter().position(|known| *known == layer).ok_or_else(|| nothing(place))?;
            (at, Some(after.to_owned()).filter(|after| !after.is_empty()))
        }
    };
    let mut lines: Vec<String> = Vec::new();
    while let Some(layer) = layers.get(at).filter(|_| lines.len() < limit) {
        let wish = ExportRecords { after: after.take(), limit: limit - lines.len() };
        let page = served.agent.outside.door.ask(layer, wish).await?;
        lines.extend(page.lines);
        if let Some(next) = page.next {
            return ok(&json!({"lines": lines, "next": format!("{layer}:{next}")}));
        }
        at += 1;
    }
    ok(&json!({"lines": lines, "next": layers.get(at).map(|layer| format!("{layer}:"))}))
}

async fn episodes(served: &Served, after: Option<String>, limit: usize, layers: &[RegionName]) -> Answer {
    let store = served.agent.frame.store.clone();
    let read = move || {
        let (frozen, compared) = (store.freeze(Hippocampus::NAME), store.freeze(EntorhinalCortex::NAME));
        let compared = RecordView::frozen(&compared);
        let situation = |id: &str| EntorhinalCortex::situation_in(&compared, Hippocampus::NAME, id);
        exporting::page(&RecordView::frozen(&frozen), &situation, after.as_deref(), limit)
    };
    let EpisodePage { lines, next, unreadable } = blocking(read).await?;
    if unreadable > 0 {
        let found = format!("{unreadable} episodes are not text");
        return Err(Problem::new(StatusCode::CONFLICT, found, "see `maxim memory verify`"));
    }
    let next = next.or_else(|| layers.first().map(|layer| format!("{layer}:")));
    ok(&json!({"lines": lines, "next": next}))
}

/// Gives each room its lines, in the order of the file. Lines that name later records come again. With the last part of
/// a file nothing more follows.
///
/// # Errors
/// A room didn't answer. What was accepted before stays.
pub async fn take_in(
    served: &Served,
    carrying: &mut Carrying,
    lines: &[(u64, String)],
    all: bool,
    is_last: bool,
) -> Result<Carried, Problem> {
    carrying.push(lines, &layers(served));
    let door = &served.agent.outside.door;
    while let Some(step) = carrying.next(is_last) {
        let before = carrying.at_line().map_or(0, |line| line - 1);
        let told = |problem: Problem| Problem {
            detail: format!("{}; the lines up to {before} are imported", problem.detail),
            ..problem
        };
        match step {
            NextStep::Episodes { lines, refused, waits } => {
                let done = door.import_beside(lines, all, refused, waits).await;
                carrying.took_episodes(done.map_err(|error| told(error.into()))?);
            }
            NextStep::Records { room, wish } => {
                let done = door.ask(room, wish).await;
                carrying.took_records(done.map_err(|error| told(error.into()))?);
            }
            NextStep::Whether { episodes } => {
                let found = door.ask(Hippocampus::NAME, FollowAssociations { ids: episodes }).await;
                carrying.are_missing(&found.map_err(|error| told(error.into()))?.missing);
            }
        }
    }
    Ok(carrying.carried())
}

/// Imports that may be open at the same time. If there are more, the import whose last request is oldest is dropped.
const MOST_IMPORTS: usize = 8;

/// Imports whose last part hasn't come yet, the newest last.
#[derive(Debug, Default)]
pub struct Imports(Mutex<Vec<(String, Carrying)>>);

impl Imports {
    /// What is known of an import so far.
    pub fn take(&self, name: &str) -> Carrying {
        let mut under_way = self.0.lock();
        let place = under_way.iter().position(|(known, _)| known == name);
        place.map(|place| under_way.remove(place).1).unwrap_or_default()
    }

    pub fn put(&self, name: &str, carrying: Carrying) {
        let mut under_way = self.0.lock();
        under_way.push((name.to_owned(), carrying));
        let over = under_way.len().saturating_sub(MOST_IMPORTS);
        for (name, _) in under_way.drain(..over) {
            tracing::warn!(import = name, "an import was dropped: others began, and its last part has not come");
        }
    }
}
