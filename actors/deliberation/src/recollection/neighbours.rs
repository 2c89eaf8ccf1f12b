//! The event next before or after another one.

use jiff::{SignedDuration, Timestamp};
use maxim_speech::answer::{self, Evidence, Reply};
use maxim_speech::question::wanted::Wanted;
use maxim_speech::{Side, Whose};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall};
use super::evidence::{episodes, evidence, is_of, joined};
use super::search::{PAGE, PAGES};

/// How far behind an event the next is looked for, in turn. An event that came soon is found among few.
const BEHIND: [SignedDuration; 7] = [
    SignedDuration::from_mins(2),
    SignedDuration::from_mins(20),
    SignedDuration::from_hours(3),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(7 * 24),
    SignedDuration::from_hours(60 * 24),
    SignedDuration::from_hours(3_650 * 24),
];

/// A search for the event next to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    side: Side,
    event: Wanted,
    about: String,
    whose: Whose,
    /// The time of the event, once it is found.
    at: Option<Timestamp>,
    it: Json,
    /// The nearest find so far.
    found: Json,
    window: usize,
    pages: u32,
}

/// The look-up of the event. Its neighbour comes after that.
pub(crate) fn beside(side: Side, event: Wanted, about: String, whose: Whose) -> StepWanted {
    let params = json!({ "query": event.topic, "limit": 10 });
    let (it, found) = (Json::Null, Json::Null);
    recall(params, Asked::Beside(Beside { side, event, about, whose, at: None, it, found, window: 0, pages: 0 }))
}

impl Beside {
    pub(super) fn is_begun(&self) -> bool {
        self.pages > 0 || self.window > 0
    }

    /// A page of the episodes on this side of the event, the latest first.
    fn look(self, at: Timestamp, until: Option<Timestamp>) -> StepWanted {
        let mut params = json!({ "limit": PAGE });
        match self.side {
            Side::Before => params["time_before"] = json!(until.unwrap_or(at)),
            Side::After => {
                params["time_after"] = json!(at);
                let behind = BEHIND.get(self.window).and_then(|behind| at.checked_add(*behind).ok());
                params["time_before"] = json!(until.or(behind));
            }
        }
        recall(params, Asked::Beside(self))
    }

    fn event(&self, found: &Json, view: &View<'_>) -> Option<Evidence> {
        let all = evidence(found, view);
        answer::best(&self.event, &all, view.zone).cloned()
    }

    /// The find nearest to the event.
    fn next(&self, found: &Json, at: Timestamp, view: &View<'_>) -> Option<Evidence> {
        let it = self.event(&self.it, view).map(|it| it.text).unwrap_or_default();
        let is_next = |one: &Evidence| {
            let is_there = one.at.is_some_and(|when| match self.side {
                Side::Before => when < at,
                Side::After => when > at,
            });
            is_there && !answer::is_alike(&one.text, &it) && is_of(one, self.whose, &self.about, view.asker)
        };
        let all = evidence(found, view).into_iter().filter(is_next);
        match self.side {
            Side::Before => all.max_by_key(|one| one.at),
            Side::After => all.min_by_key(|one| one.at),
        }
    }

    pub(super) fn further(&self, output: &Json, view: &View<'_>) -> Option<StepWanted> {
        let Some(at) = self.at else {
            let at = self.event(output, view)?.at?;
            return Some(Self { at: Some(at), it: output.clone(), ..self.clone() }.look(at, None));
        };
        let page = episodes(output);
        let all = joined(&self.found, output);
        let next = self.next(&all, at, view);
        let (is_full, oldest) = (page.len() >= PAGE, page.iter().map(|episode| episode.timestamp).min());
        let kept = next.as_ref().map(|next| &next.episode);
        let found: Vec<_> = episodes(&all).into_iter().filter(|one| Some(&one.id) == kept).collect();
        let going_on = Self { found: json!({ "results": found }), ..self.clone() };
        let is_searched = match self.side {
            Side::Before => next.is_some() || !is_full,
            // The latest come first, so the nearest may be on a later page.
            Side::After => !is_full,
        };
        if !is_searched && self.pages < PAGES {
            return Some(Self { pages: self.pages + 1, ..going_on }.look(at, oldest));
        }
        let is_wider = self.side == Side::After && next.is_none() && self.window + 1 < BEHIND.len();
        is_wider.then(|| Self { window: self.window + 1, pages: 0, ..going_on }.look(at, None))
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let event = self.at.and_then(|_| self.event(&self.it, view));
        let next = self.at.and_then(|at| self.next(&joined(&self.found, output), at, view));
        let asker = Some(view.asker);
        let text = answer::beside(self.side, &self.event.topic, event.as_ref(), next.as_ref(), asker, view.zone);
        let told: Vec<Evidence> = next.into_iter().chain(event).collect();
        (Reply { text, rests_on: (0..told.len()).collect(), known: !told.is_empty() }, told)
    }
}
