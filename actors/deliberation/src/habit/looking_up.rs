//! What is looked up further, once something was recalled: whether it was put right later, and what was told before.

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::RecalledEpisode;
use serde_json::{Value as Json, json};

use super::answer::{self, Evidence, Origin};
use super::past;
use super::plan::{evidence, questions};
use super::settings::HabitSettings;
use super::turn::{Asked, StepWanted};
use super::understanding::Place;
use super::wanted::Wanted;

/// How far behind what was told the next that was told is looked for, which may put it right by words that only point at it:
/// not further than it takes to find one, so that a busy day costs one look.
const POINTED_AT: [SignedDuration; 5] = [
    SignedDuration::from_mins(2),
    SignedDuration::from_mins(20),
    SignedDuration::from_hours(3),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(30 * 24),
];
/// Memories that are looked through behind one, and of the same. Each is read by the grammar, so there are few.
const BEHIND: usize = 20;
const OF_THE_SAME: usize = 10;
/// Memories on a page, and further pages, that are looked through for what was told.
pub(super) const PAGE: usize = 20;
pub(super) const PAGES: u32 = 24;

/// The next look for this question; none where it can be answered.
pub(super) fn further(asked: &Asked, output: &Json, asker: &str, settings: &HabitSettings) -> Option<StepWanted> {
    let step =
        |params: Json, question: Asked| StepWanted { tool: "memory_recall".into(), params, question: Some(question) };
    match asked {
        Asked::Recall(wanted) | Asked::Wider(wanted) => {
            let all = evidence(output, settings);
            let Some(best) = answer::best(wanted, &all, &settings.zone) else {
                let is_new = wanted.span.is_some() && matches!(asked, Asked::Recall(_));
                // It may have been told at another time.
                let wider = json!({ "query": format!("{} {}", wanted.topic, span_of(wanted)), "limit": OF_THE_SAME });
                return is_new.then(|| step(wider, Asked::Wider(wanted.clone())));
            };
            let (told, at) = (matches!(best.origin, Origin::Told { .. }), best.at?);
            let since = json!({ "query": best.text, "time_after": at, "limit": OF_THE_SAME });
            let (wanted, found) = (wanted.clone(), output.clone());
            told.then(|| step(since, Asked::Since { wanted, found, at: Some(at), looks: 0 }))
        }
        Asked::Since { wanted, found, at: Some(at), looks } => {
            let first = evidence(found, settings).into_iter().find(|one| one.at == Some(*at))?;
            let is_next = |one: &Evidence| one.origin == first.origin && one.at > first.at;
            let is_told = *looks > 0 && evidence(output, settings).iter().any(is_next);
            let is_all = *looks == 0 || episodes(output).len() < BEHIND;
            let far = *POINTED_AT.get(*looks).filter(|_| is_all && !is_told)?;
            let behind = json!({ "time_after": at, "time_before": at.later(far), "limit": BEHIND });
            let (wanted, found) = (wanted.clone(), joined(found, output));
            Some(step(behind, Asked::Since { wanted, found, at: Some(*at), looks: looks + 1 }))
        }
        Asked::Told { about, place, asked, span, within, found, pages } => {
            let page: Vec<RecalledEpisode> = episodes(output);
            // Of what was looked through only what is needed waits with the turn.
            let bears =
                |one: &RecalledEpisode| !mine(&json!({ "results": [one] }), *asked, about, asker, settings).is_empty();
            let mut told: Vec<RecalledEpisode> = page.iter().filter(|one| bears(one)).cloned().collect();
            told.sort_by_key(|one| one.timestamp);
            let is_none = told.is_empty();
            let kept = match place {
                Place::All | Place::Counted => joined(found, &json!({ "results": told })),
                _ if is_none => found.clone(),
                _ => json!({ "results": told[..1] }),
            };
            let is_enough = match place {
                Place::First | Place::Counted => false,
                Place::Last => !is_none,
                // One more tells that there are more.
                Place::All => episodes(&kept).len() > answer::DEEDS,
            };
            let oldest = page.iter().map(|episode| episode.timestamp).min()?;
            if is_enough || page.len() < PAGE || *pages >= PAGES {
                return None;
            }
            let mut params = within.clone();
            params["time_before"] = json!(oldest);
            let (about, span, within) = (about.clone(), span.clone(), within.clone());
            let (place, asked, pages) = (*place, *asked, pages + 1);
            Some(step(params, Asked::Told { about, place, asked, span, within, found: kept, pages }))
        }
        Asked::Grounds(recounting) => recounting.further(output),
        _ => past::further(asked, output, asker, settings),
    }
}

fn span_of(wanted: &Wanted) -> &str {
    wanted.span.as_ref().map_or("", |span| span.words.as_str())
}

/// What this person told or asked, where it bears on `about`, in the order in which it was said.
pub(super) fn mine(found: &Json, asked: bool, about: &str, asker: &str, settings: &HabitSettings) -> Vec<Evidence> {
    let mut told = if asked { questions(found, settings) } else { evidence(found, settings) };
    told.retain(|one| is_mine(one, asker));
    told.retain(|one| about.is_empty() || answer::bears_on(about, &one.text));
    told.sort_by_key(|one| one.at);
    told
}

/// Whether who asks told it.
pub(super) fn is_mine(one: &Evidence, asker: &str) -> bool {
    match &one.origin {
        Origin::Told { person } => person.as_ref().is_none_or(|person| person.eq_ignore_ascii_case(asker)),
        _ => false,
    }
}

pub(super) fn episodes(found: &Json) -> Vec<RecalledEpisode> {
    let results = found.get("results").cloned().unwrap_or_default();
    serde_json::from_value(results).unwrap_or_default()
}

/// Ids of all records in what was found, whatever its shape.
pub(super) fn ids(found: &Json) -> Vec<String> {
    match found {
        Json::Object(fields) => {
            let own = fields.get("id").and_then(Json::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(ids)).collect()
        }
        Json::Array(items) => items.iter().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

/// Both, each episode once.
pub(super) fn joined(found: &Json, more: &Json) -> Json {
    let mut all = episodes(found);
    for episode in episodes(more) {
        if !all.iter().any(|known| known.id == episode.id) {
            all.push(episode);
        }
    }
    json!({ "results": all })
}

/// What was found behind something: nothing where it isn't sure that all of it was.
pub(super) fn behind(found: &Json) -> Json {
    if episodes(found).len() < BEHIND { found.clone() } else { Json::Null }
}

/// How many memories were looked through, where that were as many as may be.
pub(super) fn looked_through(pages: u32) -> Option<usize> {
    (pages >= PAGES).then_some(PAGE * (PAGES as usize + 1))
}

/// Whether what was found so far is enough for an answer, when looking further failed.
pub(super) fn is_begun(asked: &Asked) -> bool {
    let is_told = matches!(asked, Asked::Told { pages, .. } if *pages > 0);
    is_told || matches!(asked, Asked::Since { .. }) || past::is_begun(asked)
}
