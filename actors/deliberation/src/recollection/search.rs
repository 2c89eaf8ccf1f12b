//! Further look-ups for a question: whether a find was corrected later, and what was told before.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_speech::answer::{self, Origin};
use maxim_speech::question::wanted::Wanted;
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall};
use super::evidence::{episodes, evidence, joined};

/// Spans after a statement. Words in the first of them with any may correct it by pointing at it.
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
/// Episodes among which the first or last, or a list of a few, is found.
pub(crate) const ENOUGH: usize = 60;

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
            told.then(|| recall(since, Asked::Since { wanted, found, at: Some(at), is_behind: false }))
        }
        Asked::Since { wanted, found, at: Some(at), is_behind: false } => {
            let first = evidence(found, view).into_iter().find(|one| one.at == Some(*at))?;
            let far = at.later(POINTED_AT[POINTED_AT.len() - 1]);
            let mut params = json!({ "time_after": at, "time_before": far, "oldest": true, "limit": BEHIND });
            if let Origin::Told { person: Some(person) } = first.origin {
                params["told_by"] = json!(person);
            }
            let (wanted, found) = (wanted.clone(), joined(found, output));
            Some(recall(params, Asked::Since { wanted, found, at: Some(*at), is_behind: true }))
        }
        Asked::Beside(beside) => beside.further(output, view),
        _ => None,
    }
}

fn span_of(wanted: &Wanted) -> &str {
    wanted.span.as_ref().map_or("", |span| span.words.as_str())
}

/// The find after a statement at `at`, as far as the first of the spans reaches that has any words.
pub(super) fn behind(found: &Json, at: Option<Timestamp>, view: &View<'_>) -> Json {
    let Some(at) = at else { return Json::Null };
    let next = evidence(found, view).into_iter().filter_map(|one| one.at).filter(|time| *time > at).min();
    let mut reach = POINTED_AT.into_iter().map(|far| at.later(far));
    let Some(until) = reach.find(|until| next.is_some_and(|next| next <= *until)) else { return Json::Null };
    let near: Vec<_> = episodes(found).into_iter().filter(|one| one.timestamp <= until).collect();
    json!({ "results": near })
}

/// Episodes in a search for the deeds of a span: as many as the tool gives.
pub(crate) const SPANNED: usize = 20;
