//! The events of a span of time.

use jiff::SignedDuration;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::EpisodeFilter;
use maxim_speech::Whose;
use maxim_speech::answer::{self, Evidence, Origin, Reply};
use maxim_speech::time::spans::{self, NamedSpan};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, narrow, recall, within};
use super::evidence::{episodes, is_of, piece};

/// The events of a span may be told a day later.
const TOLD_LATER: SignedDuration = SignedDuration::from_hours(24);

/// A search for the events of a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    about: String,
    whose: Whose,
    span: NamedSpan,
}

/// The look-up of the events of a span.
pub(crate) fn events(about: &str, whose: Whose, span: NamedSpan, asker: &str) -> StepWanted {
    let about = ["to ", "with ", "at ", "in ", "on "].iter().find_map(|lead| about.strip_prefix(lead)).unwrap_or(about);
    let about = about.trim_end_matches(',').to_owned();
    let mut params = within(Some(&span), EpisodeFilter::READ);
    if let Some(before) = span.before {
        params["time_before"] = json!(before.later(TOLD_LATER));
    }
    narrow(&mut params, whose, &about, asker);
    recall(params, Asked::Events(Events { about, whose, span }))
}

/// The look-up of the agent's own deeds in a span.
pub(crate) fn deeds_in(span: NamedSpan) -> StepWanted {
    events("", Whose::Own, span, "")
}

impl Events {
    fn is_of_it(&self, one: &Evidence, view: &View<'_>) -> bool {
        let is_of_span = match one.origin {
            Origin::Told { .. } | Origin::Heard | Origin::Other => {
                spans::is_of(&self.span, &one.text, one.at, view.zone)
            }
            _ => one.at.is_some_and(|at| self.span.holds(at)),
        };
        is_of_span && is_of(one, self.whose, &self.about, view.asker)
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let found = episodes(output).into_iter().filter_map(|episode| piece(episode, view));
        let found = found.filter(|one| self.is_of_it(one, view));
        if self.whose == Whose::Own {
            let found: Vec<Evidence> = found.collect();
            return (answer::happened(None, &self.about, Some(&self.span.words), &found, view.zone), found);
        }
        // One more shows that there are more.
        let found: Vec<Evidence> = found.take(answer::DEEDS + 1).collect();
        (answer::events(&self.about, &self.span.words, &found, Some(view.asker), view.zone), found)
    }
}
