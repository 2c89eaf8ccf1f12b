//! How often something was told, or told of.

use maxim_bus::signals::recall::{EpisodeFilter, EpisodesCounted};
use maxim_speech::Whose;
use maxim_speech::answer::{self, Evidence, Often, Reply};
use maxim_speech::time::spans::NamedSpan;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::View;
use super::asked::{Asked, StepWanted, narrow, recall, within};
use super::evidence::{evidence, is_mine, recalled};

/// A count of what holds all words of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    topic: String,
    told: bool,
    span: Option<NamedSpan>,
}

/// The look-up for such a count.
pub(crate) fn counting(topic: &str, told: bool, span: Option<NamedSpan>, asker: &str) -> StepWanted {
    let mut params = within(span.as_ref(), EpisodeFilter::READ);
    narrow(&mut params, if told { Whose::Askers } else { Whose::Anyones }, topic, asker);
    recall(params, Asked::Counting(Counting { topic: topic.to_owned(), told, span }))
}

impl Counting {
    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let zone = view.zone;
        let recalled = recalled(output);
        let at_least = recalled.read.is_some() || recalled.episodes.len() >= EpisodeFilter::READ;
        let mut found = evidence(output, view);
        found.retain(|one| answer::covers_all(&self.topic, &one.text));
        if self.told {
            found.retain(|one| is_mine(one, view.asker));
            found.reverse();
            return (answer::how_often_told(&self.topic, at_least, &found, zone), found);
        }
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = format!("anything of the kind{when} (about “{}”)", self.topic);
        let counted = EpisodesCounted { total: found.len() as u64, ..EpisodesCounted::default() };
        (answer::how_often(&what, Often { counted, at_least }, &found, zone), found)
    }
}
