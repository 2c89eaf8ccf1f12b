//! Memory over HTTP: questions through the introspector, import through the door, and the store's upkeep.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use maxim_actors::action::introspector::moment;
use maxim_actors::region::{Carried, Carrying, Lines};
use maxim_actors::store::{StoreError, StoreStatus};
use maxim_bus::bounds::{IMPORT_ID, IMPORT_LINE};
use serde_json::{Value, json};

use super::fields::{Field, Given, Kind, body_fields, query_fields, whole_body};
use super::layers;
use super::problem::{Answer, ok};
use super::status::health;
use super::{Problem, Served};

/// How long to wait for the end of a sleep.
const SLEEP_LIMIT: Duration = Duration::from_secs(55);
/// Most results of one question.
pub(super) const MOST: u64 = 1000;

pub(super) const LIMIT: Field = Field::optional("limit", Kind::Whole(1, MOST), "at most this many; default 5");

pub(super) const TIME_AFTER: Field =
    Field::optional("time_after", Kind::Text, "only from this time on, RFC 3339, or the start of a date");
pub(super) const TIME_BEFORE: Field =
    Field::optional("time_before", Kind::Text, "only up to this time, RFC 3339, or the start of a date");

pub const RECALL: &[Field] = &[
    Field::optional("query", Kind::Text, "words to look for"),
    Field::optional("keyword", Kind::Text, "the same as query"),
    Field::optional("goal", Kind::Text, "only with this goal"),
    Field::optional("tool_name", Kind::Text, "only where this tool was used"),
    Field::optional("tool", Kind::Text, "the same as tool_name"),
    Field::optional("success", Kind::Flag, "only what succeeded, or failed"),
    Field::optional("object", Kind::Text, "only with this object"),
    Field::optional("person", Kind::Text, "only with this person"),
    Field::optional("mode", Kind::Text, "only in this mode"),
    TIME_AFTER,
    TIME_BEFORE,
    Field::optional("expand", Kind::Flag, "follow associations as well"),
    LIMIT,
];
pub const PREDICT: &[Field] = &[
    Field::needed("tool_name", Kind::Text, "the tool"),
    Field::optional("context", Kind::Text, "the circumstances, in words"),
    Field::optional("goal", Kind::Text, "for this goal"),
    Field::optional("object", Kind::Text, "with this object"),
    Field::optional("person", Kind::Text, "with this person"),
    Field::optional("mode", Kind::Text, "in this mode"),
    Field::optional("params", Kind::Object, "the tool's parameters as JSON"),
    Field::optional("include_all_outcomes", Kind::Flag, "all outcomes known, not only the likeliest"),
    Field::optional("limit", Kind::Whole(1, MOST), "at most this many outcomes, links and episodes each"),
];
pub const TEMPORAL: &[Field] = &[
    Field::optional("hour", Kind::Wholes(0, 23), "in one of these hours of the day"),
    Field::optional("day", Kind::Wholes(0, 6), "on one of these days of the week, 0 is Monday"),
    Field::optional("week", Kind::Wholes(0, 3), "in one of these weeks of the month: days 1-7, 8-14, 15-21, the rest"),
    Field::optional("month", Kind::Wholes(1, 12), "in one of these months"),
    Field::optional("like_now", Kind::Flag, "the episodes at times most similar to now instead"),
    TIME_AFTER,
    TIME_BEFORE,
    Field::optional("sole", Kind::Flag, "only episodes that are the only one in a bin of hour, day, week or month"),
    Field::optional("discover_rhythms", Kind::Flag, "look for what recurs"),
    LIMIT,
];
const VALENCES: [&str; 3] = ["positive", "neutral", "negative"];
pub const CAUSAL: &[Field] = &[
    Field::optional("event", Kind::Text, "only events whose name contains this"),
    Field::optional("outcome", Kind::Text, "only outcomes whose name contains this"),
    Field::optional("memory_id", Kind::Text, "only what was learned from this episode"),
    Field::optional("valence", Kind::Text, "only events of this valence: positive, neutral or negative"),
    Field { meaning: "only links last seen at or after this time, RFC 3339, or the start of a date", ..TIME_AFTER },
    Field { meaning: "only links last seen up to this time, RFC 3339, or the start of a date", ..TIME_BEFORE },
    LIMIT,
];
pub const IMPORT: &[Field] = &[
    Field::optional("all", Kind::Flag, "no selective capture, no merge of equal moments"),
    Field::optional("first_line", Kind::Whole(1, 1 << 52), "the number of the first line, for reports; default 1"),
    Field::optional("import", Kind::Text, "a word of your own for an import in several requests"),
    Field::optional(
        "more",
        Kind::Flag,
        "more parts follow: lines wait for the records that they name until the last \
    part",
    ),
];
pub const BACKUP: &[Field] =
    &[Field::optional("to", Kind::Text, "a full path to an empty folder; without it the backups of the data folder")];

/// `GET /v1/memory/recall`.
pub async fn recall(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, RECALL)?;
    for (alias, name) in [("keyword", "query"), ("tool", "tool_name")] {
        if let Some(value) = given.0.remove(alias)
            && given.0.insert(name.into(), value).is_some()
        {
            return Err(Problem::bad(format!("{alias:?} and {name:?} are the same"), "give one of them"));
        }
    }
    read_times(&mut given, &served.zone)?;
    ask(&served, "memory_recall", given).await
}

/// Replaces the words of time filters with times.
pub(super) fn read_times(given: &mut Given, zone: &TimeZone) -> Result<(), Problem> {
    for name in [TIME_AFTER.name, TIME_BEFORE.name] {
        let time = given.text(name).map(|word| moment(word, zone));
        let time = time.transpose().map_err(|error| {
            let fix = "write it like 2026-01-05T09:00:00Z, or like 2026-01-05 for the start of that day";
            Problem::bad(format!("the field {name:?} is no time: {error}"), fix)
        })?;
        given.0.extend(time.map(|time| (name.to_owned(), time.to_string().into())));
    }
    Ok(())
}

/// `GET /v1/memory/predict`.
pub async fn predict(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, PREDICT)?;
    let limit = given.0.remove("limit").and_then(|limit| limit.as_u64());
    // Circumstances are given in words. Known ones are looked for among them.
    let words = ["context", "goal", "object", "person", "mode"].map(|name| given.0.remove(name));
    let words: Vec<String> = words.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
    if !words.is_empty() {
        given.0.insert("context".into(), words.join(", ").into());
    }
    let mut answer = served.agent.outside.door.inquire("predict_outcome", Value::Object(given.0)).await?;
    for name in ["outcomes", "links", "episodes"] {
        if let (Some(limit), Some(all)) = (limit, answer[name].as_array_mut()) {
            all.truncate(limit as usize);
        }
    }
    ok(&answer)
}

/// `GET /v1/memory/temporal`.
pub async fn temporal(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, TEMPORAL)?;
    read_times(&mut given, &served.zone)?;
    ask(&served, "temporal_patterns", given).await
}

/// `GET /v1/memory/stats`.
pub async fn stats(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = query_fields(&request, &[])?;
    ask(&served, "system_stats", given).await
}

pub(super) async fn ask(served: &Served, tool: &str, given: Given) -> Answer {
    ok(&served.agent.outside.door.inquire(tool, Value::Object(given.0)).await?)
}

/// `GET /v1/memory/causal`.
pub async fn causal(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let mut given = query_fields(&request, CAUSAL)?;
    read_times(&mut given, &served.zone)?;
    if let Some(odd) = given.text("valence").filter(|valence| !VALENCES.contains(valence)) {
        return Err(Problem::bad(format!("{odd:?} is no valence"), format!("give one of {}", VALENCES.join(", "))));
    }
    ask(&served, "causal_links", given).await
}

/// `POST /v1/memory/import`: JSON lines, durable when it is answered.
pub async fn import(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = query_fields(&request, IMPORT)?;
    let all = given.flag("all").unwrap_or(false);
    let first = given.0.get("first_line").and_then(Value::as_u64).unwrap_or(1);
    let bytes = whole_body(request.into_body(), served.body_max).await?;
    let (lines, unreadable) = numbered(&bytes, first);
    let name = given.text("import").map(str::to_owned);
    let is_last = !given.flag("more").unwrap_or(false) || name.is_none();
    let mut carrying = name.as_deref().map_or_else(Carrying::default, |name| served.imports.take(name));
    let done = layers::take_in(&served, &mut carrying, &lines, all, is_last).await?;
    if let Some(name) = name.filter(|_| !is_last) {
        served.imports.put(&name, carrying);
    }
    let Carried { kept, merged, known, unremarkable, edges_left_out, mut bad } = done;
    bad.extend(unreadable);
    bad.sort();
    let errors: Vec<Value> = bad.iter().map(|(line, reason)| json!({"line": line, "reason": reason})).collect();
    let skipped = json!({"known": known, "unremarkable": unremarkable});
    let mut answer = json!({"imported": kept, "merged": merged, "skipped": skipped, "errors": errors});
    if edges_left_out > 0 {
        answer["edges_left_out"] = edges_left_out.into();
    }
    ok(&answer)
}

/// Line numbers, and the reasons against these lines.
pub(super) type BadLines = Vec<(u64, String)>;

/// The lines that aren't blank, with their numbers; those that aren't UTF-8 are listed apart.
fn numbered(bytes: &[u8], first: u64) -> (Lines, BadLines) {
    let (mut lines, mut bad) = (Vec::new(), Vec::new());
    for (number, line) in (first..).zip(bytes.split(|byte| *byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => match too_long(text) {
                Some(why) => bad.push((number, why)),
                None => lines.push((number, text.to_owned())),
            },
            Err(error) => bad.push((number, format!("it is not UTF-8: {error}"))),
        }
    }
    (lines, bad)
}

/// Why a line is refused: it, or its id or key, is longer than its bound.
fn too_long(line: &str) -> Option<String> {
    IMPORT_LINE.take(line).err().map(|much| much.to_string()).or_else(|| {
        let of = |name: &str| maxim_actors::region::lines::member(line, name).map(|member| member.get().to_owned());
        let named = ["id", "key"].into_iter().filter_map(of);
        named.filter_map(|text| IMPORT_ID.take(&text).err()).map(|much| much.to_string()).next()
    })
}

/// `POST /v1/memory/sleep`: sleeps, and returns the report. A caller that stops waiting doesn't wake it.
pub async fn sleep(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    let report = served.agent.outside.door.sleep("http", SLEEP_LIMIT).await?;
    ok(&json!(report))
}

/// `POST /v1/memory/verify`: reads everything on disk.
pub async fn verify(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    let store = served.store.clone();
    let report = blocking(move || Ok(store.verify())).await?;
    ok(&json!({
        "ok": report.is_sound(), "frames": report.frames, "roots": report.roots, "blocks": report.blocks,
        "bad": report.bad,
    }))
}

/// `POST /v1/memory/backup`.
pub async fn backup(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, BACKUP).await?;
    let to = given.text("to").map(PathBuf::from);
    if let Some(relative) = to.as_ref().filter(|to| !to.is_absolute()) {
        let found = format!("the folder {:?} is not a full path", relative.display().to_string());
        return Err(Problem::bad(found, "give it from / on: the daemon has its own working folder"));
    }
    refuse_without_disk(&served).await?;
    let (store, backups) = (served.store.clone(), Arc::clone(&served.backups));
    let report = blocking(move || match to {
        Some(to) => store.backup(&to),
        None => backups.make(),
    })
    .await?;
    ok(&json!({
        "place": report.place, "keys": report.keys, "bytes": report.bytes, "damaged_blocks": report.damaged_blocks,
    }))
}

/// Refuses while the disk accepts nothing: a copy of the store would only wait.
async fn refuse_without_disk(served: &Served) -> Result<(), Problem> {
    let found = match health(served).await.map(|health| health.status) {
        Some(StoreStatus::Ok) => return Ok(()),
        Some(StoreStatus::Degraded { reason }) => format!("the store can't write to its disk: {reason}"),
        None => "the store does not answer".to_owned(),
    };
    Err(Problem::later(found, "make room on the store's disk, then back up; until then, accepted data waits in memory"))
}

/// Runs long reads or writes on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let broke = |error: String| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error, "see the daemon's log");
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| broke(error.to_string()))?;
    done.map_err(|error| {
        let fix = "see \"disk\" in `maxim status`, and `maxim doctor`";
        Problem::new(StatusCode::CONFLICT, error.to_string(), fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_start_of_that_day_where_the_body_is() {
        let zone = TimeZone::get("Asia/Tokyo").expect("a zone");
        let told = |word: &str| moment(word, &zone).map(|time| time.to_string()).ok();
        assert_eq!(told("2026-01-06").as_deref(), Some("2026-01-05T15:00:00Z"));
        assert_eq!(told("2026-01-06T00:00:00Z").as_deref(), Some("2026-01-06T00:00:00Z"));
        assert_eq!(told("2026-01-06T00:00:00+09:00").as_deref(), Some("2026-01-05T15:00:00Z"));
        assert_eq!((told("2026-01-06T00:00:00"), told("2026-01-40"), told("noon")), (None, None, None));
    }

    #[test]
    fn lines_keep_their_numbers_over_blank_and_broken_ones() {
        let (lines, bad) = numbered(b"{\"text\":\"a\"}\n\n  \r\n\xff\n{}", 1);
        assert_eq!(lines, [(1, "{\"text\":\"a\"}".to_owned()), (5, "{}".to_owned())]);
        assert_eq!(bad.len(), 1);
        assert_eq!(bad[0].0, 4);
        let long = "x".repeat(2000);
        let of_long = format!("{{\"id\":\"{long}\"}}\n{{\"layer\":\"a\",\"key\":\"{long}\"}}\n{{\"text\":\"{long}\"}}");
        let (lines, bad) = numbered(of_long.as_bytes(), 1);
        assert_eq!((lines.len(), bad.len(), lines[0].0), (1, 2, 3), "{bad:?}");
    }
}
