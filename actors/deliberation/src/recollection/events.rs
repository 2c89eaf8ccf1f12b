//! The events of a span of time.
//!
//! Law: the pages are read one by one, and only fitting episodes are kept.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::RecalledEpisode;
use maxim_speech::Whose;
use maxim_speech::answer::{self, Evidence, Origin, Reply};
use maxim_speech::time::spans::{self, NamedSpan};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall, within};
use super::evidence::{episodes, evidence, is_of, joined};
use super::search::{PAGE, PAGES};

/// The events of a span may be told a day later.
const TOLD_LATER: SignedDuration = SignedDuration::from_hours(24);

/// A search for the events of a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    about: String,
    whose: Whose,
    span: NamedSpan,
    found: Json,
    pages: u32,
}

/// The look-up of the events of a span.
pub(crate) fn events(about: &str, whose: Whose, span: NamedSpan) -> StepWanted {
    let about = ["to ", "with ", "at ", "in ", "on "].iter().find_map(|lead| about.strip_prefix(lead)).unwrap_or(about);
    let events = Events { about: about.trim_end_matches(',').to_owned(), whose, span, found: Json::Null, pages: 0 };
    events.look(None)
}

/// The look-up of the agent's own deeds in a span.
pub(crate) fn deeds_in(span: NamedSpan) -> StepWanted {
    events("", Whose::Own, span)
}

impl Events {
    pub(super) fn is_begun(&self) -> bool {
        self.pages > 0
    }

    fn look(self, before: Option<Timestamp>) -> StepWanted {
        let mut params = within(Some(&self.span), PAGE);
        if let Some(before) = before.or(self.span.before.map(|before| before.later(TOLD_LATER))) {
            params["time_before"] = json!(before);
        }
        recall(params, Asked::Events(self))
    }

    /// The finds that belong to the span, the latest first.
    fn kept(&self, found: &Json, view: &View<'_>) -> Vec<Evidence> {
        let mut kept = evidence(found, view);
        let is_of_it = |one: &Evidence| match one.origin {
            Origin::Told { .. } | Origin::Heard | Origin::Other => {
                spans::is_of(&self.span, &one.text, one.at, view.zone)
            }
            _ => one.at.is_some_and(|at| self.span.holds(at)),
        };
        kept.retain(|one| is_of(one, self.whose, &self.about, view.asker) && is_of_it(one));
        kept.sort_by_key(|one| Reverse(one.at));
        kept
    }

    pub(super) fn further(&self, output: &Json, view: &View<'_>) -> Option<StepWanted> {
        let page = episodes(output);
        let bears = |one: &RecalledEpisode| !self.kept(&json!({ "results": [one] }), view).is_empty();
        let kept: Vec<RecalledEpisode> = page.iter().filter(|one| bears(one)).cloned().collect();
        let found = joined(&self.found, &json!({ "results": kept }));
        let oldest = page.iter().map(|episode| episode.timestamp).min()?;
        // One more shows that there are more.
        let is_enough = episodes(&found).len() > answer::DEEDS;
        let goes_on = !is_enough && page.len() >= PAGE && self.pages < PAGES;
        goes_on.then(|| Self { found, pages: self.pages + 1, ..self.clone() }.look(Some(oldest)))
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let found = self.kept(&joined(&self.found, output), view);
        let reply = match self.whose {
            Whose::Own => answer::happened(None, &self.about, Some(&self.span.words), &found, view.zone),
            _ => answer::events(&self.about, &self.span.words, &found, Some(view.asker), view.zone),
        };
        (reply, found)
    }
}
