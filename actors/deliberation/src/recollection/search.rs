//! What is looked up further, once something was recalled: whether it was put right later, and what was told before.

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::RecalledEpisode;
use maxim_speech::Place;
use maxim_speech::answer::{self, Evidence, Origin};
use maxim_speech::question::wanted::Wanted;
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall};
use super::evidence::{episodes, evidence, joined, mine};

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
pub(crate) const PAGE: usize = 20;
pub(super) const PAGES: u32 = 24;

/// The next look for this question; none where it can be answered.
pub(crate) fn further(asked: &Asked, output: &Json, view: &View<'_>) -> Option<StepWanted> {
    match asked {
        Asked::Recall(wanted) | Asked::Wider(wanted) => {
            let all = evidence(output, view);
            let Some(best) = answer::best(wanted, &all, view.zone) else {
                let is_new = wanted.span.is_some() && matches!(asked, Asked::Recall(_));
                // It may have been told at another time.
                let wider = json!({ "query": format!("{} {}", wanted.topic, span_of(wanted)), "limit": OF_THE_SAME });
                return is_new.then(|| recall(wider, Asked::Wider(wanted.clone())));
            };
            let (told, at) = (matches!(best.origin, Origin::Told { .. }), best.at?);
            let since = json!({ "query": best.text, "time_after": at, "limit": OF_THE_SAME });
            let (wanted, found) = (wanted.clone(), output.clone());
            told.then(|| recall(since, Asked::Since { wanted, found, at: Some(at), looks: 0 }))
        }
        Asked::Since { wanted, found, at: Some(at), looks } => {
            let first = evidence(found, view).into_iter().find(|one| one.at == Some(*at))?;
            let is_next = |one: &Evidence| one.origin == first.origin && one.at > first.at;
            let is_told = *looks > 0 && evidence(output, view).iter().any(is_next);
            let is_all = *looks == 0 || episodes(output).len() < BEHIND;
            let far = *POINTED_AT.get(*looks).filter(|_| is_all && !is_told)?;
            let behind = json!({ "time_after": at, "time_before": at.later(far), "limit": BEHIND });
            let (wanted, found) = (wanted.clone(), joined(found, output));
            Some(recall(behind, Asked::Since { wanted, found, at: Some(*at), looks: looks + 1 }))
        }
        Asked::Told { about, place, asked, span, within, found, pages } => {
            let page: Vec<RecalledEpisode> = episodes(output);
            // Of what was looked through only what is needed waits with the turn.
            let bears = |one: &RecalledEpisode| !mine(&json!({ "results": [one] }), *asked, about, view).is_empty();
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
            Some(recall(params, Asked::Told { about, place, asked, span, within, found: kept, pages }))
        }
        Asked::Grounds(recounting) => recounting.further(output),
        Asked::Deeds(deeds) => deeds.further(output, view),
        Asked::Events(events) => events.further(output, view),
        Asked::Beside(beside) => beside.further(output, view),
        _ => None,
    }
}

fn span_of(wanted: &Wanted) -> &str {
    wanted.span.as_ref().map_or("", |span| span.words.as_str())
}

/// What was found behind something: nothing where it isn't sure that all of it was.
pub(super) fn behind(found: &Json) -> Json {
    if episodes(found).len() < BEHIND { found.clone() } else { Json::Null }
}

/// Memories that are looked through for what was done in a span of time: as many as the tool gives.
pub(crate) const SPANNED: usize = 20;

/// How many memories were looked through, where that were as many as may be.
pub(super) fn looked_through(pages: u32) -> Option<usize> {
    (pages >= PAGES).then_some(PAGE * (PAGES as usize + 1))
}

/// Whether what was found so far is enough for an answer, when looking further failed.
pub(crate) fn is_begun(asked: &Asked) -> bool {
    match asked {
        Asked::Told { pages, .. } => *pages > 0,
        Asked::Since { .. } => true,
        Asked::Deeds(deeds) => deeds.is_begun(),
        Asked::Events(events) => events.is_begun(),
        Asked::Beside(beside) => beside.is_begun(),
        _ => false,
    }
}
