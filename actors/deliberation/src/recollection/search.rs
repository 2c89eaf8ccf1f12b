//! Further look-ups for a question: whether a find was corrected later, and what was told before.

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

/// How far after a statement the next one is looked for, in turn. It may correct it by words that only point at it. The first
/// hit ends the search, so a busy day costs one look-up.
const POINTED_AT: [SignedDuration; 5] = [
    SignedDuration::from_mins(2),
    SignedDuration::from_mins(20),
    SignedDuration::from_hours(3),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(30 * 24),
];
/// Episodes that are read after a statement, and about the same. The grammar reads each of them, so they are few.
const BEHIND: usize = 20;
const OF_THE_SAME: usize = 10;
/// Episodes on a page, and further pages, in a search for what was told.
pub(crate) const PAGE: usize = 20;
pub(super) const PAGES: u32 = 24;

/// The next look-up for this question. `None`: it can be answered.
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
            // Only the fitting episodes wait with the turn.
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
                // One more shows that there are more.
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

/// The find after a statement. Nothing, if it may be incomplete.
pub(super) fn behind(found: &Json) -> Json {
    if episodes(found).len() < BEHIND { found.clone() } else { Json::Null }
}

/// Episodes in a search for the deeds of a span: as many as the tool gives.
pub(crate) const SPANNED: usize = 20;

/// The number of episodes that were read, if the limit was reached.
pub(super) fn looked_through(pages: u32) -> Option<usize> {
    (pages >= PAGES).then_some(PAGE * (PAGES as usize + 1))
}

/// Whether the finds so far suffice for an answer, if the next look-up fails.
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
