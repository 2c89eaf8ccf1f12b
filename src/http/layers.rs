//! Export and import of all memory, a JSON line a record: episodes out of a frozen view of their room, what is of the
//! other layers from the rooms that own it, each asked the same question.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::memory::hippocampus::exporting::{self, EpisodePage};
use maxim_actors::region::{RecordView, Region, layer_of};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords};
use maxim_bus::{RegionName, Signal};
use serde_json::{Value, json};

use super::fields::{Field, Kind, query_fields};
use super::memory::{BATCH, BATCH_BYTES, BadLines, MOST, blocking};
use super::problem::{Answer, ok};
use super::{Problem, Served};

pub const EXPORT: &[Field] = &[
    Field::optional("after", Kind::Text, "an earlier answer's next"),
    Field::optional("limit", Kind::Whole(1, MOST), "at most so many; default 1000"),
];

/// Rooms that own memory, in the order of an export: a percept's way, so that what others rest on comes first.
fn layers(served: &Served) -> Vec<RegionName> {
    let owns = |part: &&crate::agent::Part| part.hears.iter().any(|wire| wire.signal == ExportRecords::NAME);
    served.agent.parts.iter().filter(owns).map(|part| part.name).collect()
}

/// `GET /v1/memory/export`: a page of records as they are stored: episodes in the order of experience, then layer after
/// layer. The lines are texts, so that they come through to the byte.
pub async fn export(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = query_fields(&request, EXPORT)?;
    let limit = given.0.get("limit").and_then(Value::as_u64).unwrap_or(MOST) as usize;
    let layers = layers(&served);
    let nothing = |after: &str| Problem::bad(format!("after {after:?} nothing comes"), "give an earlier answer's next");
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
        let frozen = store.freeze(Hippocampus::NAME);
        exporting::page(&RecordView::frozen(&frozen), after.as_deref(), limit)
    };
    let EpisodePage { lines, next, unreadable } = blocking(read).await?;
    if unreadable > 0 {
        let found = format!("{unreadable} episodes are no text");
        return Err(Problem::new(StatusCode::CONFLICT, found, "see `maxim memory verify`"));
    }
    let next = next.or_else(|| layers.first().map(|layer| format!("{layer}:")));
    ok(&json!({"lines": lines, "next": next}))
}

/// Lines with their numbers.
pub type Lines = Vec<(u64, String)>;

/// What became of the lines of an import.
#[derive(Default)]
pub struct Taken {
    pub kept: u64,
    pub merged: u64,
    /// Known here already.
    pub known: u64,
    /// Let pass by selective capture.
    pub unremarkable: u64,
    pub bad: BadLines,
}

/// Lines in stretches that a room gets at once.
fn batches(lines: &[(u64, String)]) -> Vec<&[(u64, String)]> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, (_, line)) in lines.iter().enumerate() {
        if at > start && (at - start >= BATCH || bytes + line.len() > BATCH_BYTES) {
            batches.push(&lines[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += line.len();
    }
    batches.push(&lines[start..]);
    batches
}

/// Gives each room its lines, in the order of the file.
///
/// # Errors
/// A room didn't answer; what was taken before stays.
pub async fn take_in(served: &Served, lines: &[(u64, String)], all: bool) -> Result<Taken, Problem> {
    let layers = layers(served);
    let mut taken = Taken::default();
    let of: Vec<Option<String>> = lines.iter().map(|(_, line)| layer_of(line)).collect();
    let mut rest = lines;
    for same in of.chunk_by(|a, b| a == b) {
        let (run, after) = rest.split_at(same.len());
        rest = after;
        let layer = same.first().and_then(Option::as_deref);
        for batch in batches(run) {
            let before = batch.first().map_or(0, |(number, _)| number - 1);
            let told = |problem: Problem| Problem {
                detail: format!("{}; the lines up to {before} are imported", problem.detail),
                ..problem
            };
            match layer {
                None => {
                    let done = served.agent.outside.door.import(batch.to_vec(), all).await;
                    let done = done.map_err(|error| told(error.into()))?;
                    taken.kept += done.kept;
                    taken.merged += done.merged;
                    taken.known += done.known;
                    taken.unremarkable += done.unremarkable;
                    taken.bad.extend(done.bad);
                }
                Some(layer) => match layers.iter().find(|known| **known == layer) {
                    Some(layer) => {
                        let wish = ImportRecords { lines: batch.to_vec() };
                        let done = served.agent.outside.door.ask(layer, wish).await;
                        let done = done.map_err(|error| told(error.into()))?;
                        taken.kept += done.kept;
                        taken.known += done.merged;
                        taken.bad.extend(done.bad);
                    }
                    None => {
                        let reason = format!("there is no layer {layer:?}; there are {}", layers.join(", "));
                        taken.bad.extend(batch.iter().map(|(number, _)| (*number, reason.clone())));
                    }
                },
            }
        }
    }
    taken.bad.sort();
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_gets_few_lines_and_few_bytes_at_once() {
        let lines = |lengths: &[usize]| -> Lines { (1..).zip(lengths.iter().map(|n| "x".repeat(*n))).collect() };
        let sizes = |lengths: &[usize]| batches(&lines(lengths)).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&[9; 150]), [64, 64, 22]);
        assert_eq!(sizes(&[8 * 1024; 9]), [4, 4, 1]);
        assert_eq!(sizes(&[10, BATCH_BYTES * 3, 10, 10]), [1, 1, 2]);
    }
}
