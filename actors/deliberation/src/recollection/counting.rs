//! How often something was told, or told of: counted among the results that fit the words best.

use std::cmp::Reverse;

use maxim_bus::signals::recall::EpisodesCounted;
use maxim_speech::answer::{self, Evidence, Often, Reply};
use maxim_speech::time::spans::NamedSpan;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall, within};
use super::evidence::{episodes, evidence, is_mine};

/// Results that are counted.
const MOST: usize = 20;

/// A count among the best results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    topic: String,
    told: bool,
    span: Option<NamedSpan>,
}

/// The look-up for such a count.
pub(crate) fn counting(topic: &str, told: bool, span: Option<NamedSpan>) -> StepWanted {
    let mut params = within(span.as_ref(), MOST);
    params["query"] = json!(topic);
    recall(params, Asked::Counting(Counting { topic: topic.to_owned(), told, span }))
}

impl Counting {
    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let zone = view.zone;
        let page = episodes(output);
        let mut found = evidence(output, view);
        found.retain(|one| answer::covers_all(&self.topic, &one.text));
        // The best fit comes first. If the last one doesn't fit, no others do.
        let is_all = page.len() < MOST || page.last().is_some_and(|last| !answer::covers_all(&self.topic, &last.text));
        if self.told {
            found.retain(|one| is_mine(one, view.asker));
            found.sort_by_key(|one| one.at);
            return (answer::how_often_told(&self.topic, !is_all, &found, zone), found);
        }
        found.sort_by_key(|one| Reverse(one.at));
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = format!("anything of the kind{when} (about “{}”)", self.topic);
        let counted = EpisodesCounted { total: found.len() as u64, ..EpisodesCounted::default() };
        (answer::how_often(&what, Often { counted, at_least: !is_all }, &found, zone), found)
    }
}
