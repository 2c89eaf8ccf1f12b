//! The agent's deeds, looked up by the name of a tool.
//!
//! Law: a tool's name that memory knows is looked up in its index, from the newest or the oldest on, and counted there. A verb of
//! the grammar comes after it.

use maxim_bus::signals::recall::{EpisodesCounted, RecalledEpisode};
use maxim_speech::Which;
use maxim_speech::answer::{self, Evidence, Often, Origin, Reply};
use maxim_speech::question::topic;
use maxim_speech::time::spans::NamedSpan;
use maxim_speech::word::lexicon::{is_vague, terms};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall, within};
use super::evidence::{episodes, evidence, joined};
use super::search::{PAGE, PAGES};

/// A look-up of deeds by the name of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deeds {
    /// Possible names of the tool, each with the rest of the topic. The first is tried now.
    tries: Vec<(String, String)>,
    /// The name that memory knows. `None` while it is looked for, or if any tool is meant.
    tool: Option<String>,
    is_found: bool,
    /// The fitting deeds filled more than a page, so all uses are read in their order.
    #[serde(default)]
    in_order: bool,
    /// The topic without the tool's name.
    about: String,
    topic: String,
    which: Which,
    success: Option<bool>,
    span: Option<NamedSpan>,
    found: Json,
    pages: u32,
    /// The look-up if memory knows no such tool.
    otherwise: Box<StepWanted>,
}

/// The look-up of deeds. `tool`: the tool that the grammar knows by its verb. `plainly`: the look-up by words.
pub(crate) fn deeds(
    tool: Option<&str>,
    topic: &str,
    which: Which,
    success: Option<bool>,
    span: Option<NamedSpan>,
    plainly: StepWanted,
) -> StepWanted {
    let about = topic::without_failure(topic).unwrap_or_else(|| topic.to_owned());
    let success = success.or_else(|| topic::without_failure(topic).map(|_| false));
    let (about, success) = match topic::without_success(&about).filter(|_| which == Which::Counted) {
        Some(rest) => (rest, Some(true)),
        None => (about, success),
    };
    let about = if which == Which::Any && success.is_none() { about } else { topic::without_order(&about) };
    let mut tries = topic::tries(&about);
    // The verb of a tool is no part of the tool's object.
    if let Some(tool) = tool.filter(|_| which != Which::Any) {
        let rest = about.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
        tries.push((tool.to_owned(), rest));
    }
    let mut deeds = Deeds {
        tries,
        tool: None,
        is_found: false,
        in_order: false,
        about: String::new(),
        topic: topic.to_owned(),
        which,
        success,
        span,
        found: Json::Null,
        pages: 0,
        otherwise: Box::new(plainly),
    };
    if !deeds.tries.is_empty() {
        return deeds.look_for();
    }
    // "How many times did you fail?" is about any tool.
    if which == Which::Counted && deeds.success.is_some() && terms(&about).is_empty() {
        deeds.is_found = true;
        return deeds.look();
    }
    *deeds.otherwise
}

impl Deeds {
    pub(super) fn is_begun(&self) -> bool {
        self.pages > 0
    }

    fn look_for(self) -> StepWanted {
        let name = self.tries.first().map(|(name, _)| name.clone());
        recall(json!({ "tool_name": name, "limit": 1 }), Asked::Deeds(self))
    }

    /// A page of the tool's deeds.
    fn look(self) -> StepWanted {
        let mut params = within(self.span.as_ref(), PAGE);
        if let Some(tool) = &self.tool {
            params["tool_name"] = json!(tool);
        }
        if let Some(success) = self.success {
            params["success"] = json!(success);
        }
        if self.is_by_words() {
            params["query"] = json!(self.about);
        } else if self.which == Which::First {
            params["oldest"] = json!(true);
        } else if self.which == Which::Counted && self.is_of_all() {
            params["count"] = json!(true);
        }
        recall(params, Asked::Deeds(self))
    }

    /// Whether each use counts: "it" and "a file" narrow nothing.
    fn is_of_all(&self) -> bool {
        terms(&self.about).iter().all(|word| is_vague(word))
    }

    /// Whether the tool's deeds are looked up by the words, the best fit first.
    fn is_by_words(&self) -> bool {
        !self.in_order && !self.is_of_all()
    }

    fn bears(&self, text: &str) -> bool {
        self.is_of_all() || answer::bears_on(&self.about, text)
    }

    pub(super) fn further(&self, output: &Json, view: &View<'_>) -> Option<StepWanted> {
        let page = episodes(output);
        if !self.is_found {
            let mut next = self.clone();
            let (tool, about) = next.tries.remove(0);
            if !page.is_empty() {
                return Some(Self { tool: Some(tool), about, is_found: true, ..next }.look());
            }
            return Some(if next.tries.is_empty() { *next.otherwise } else { next.look_for() });
        }
        if self.is_by_words() {
            // The best fit comes first. If the last one doesn't fit, no others do.
            let is_more = page.len() >= PAGE && page.last().is_some_and(|last| self.bears(&last.text));
            return is_more.then(|| Self { in_order: true, ..self.clone() }.look());
        }
        let kept: Vec<RecalledEpisode> = page.iter().filter(|one| self.bears(&one.text)).cloned().collect();
        let found = joined(&self.found, &json!({ "results": kept }));
        let is_done = evidence(&found, view).iter().any(|one| one.undone().is_none());
        let is_enough = match self.which {
            Which::Counted => self.is_of_all(),
            _ => is_done,
        };
        let times = page.iter().map(|episode| episode.timestamp);
        let (bound, at) = match self.which {
            Which::First => ("time_after", times.max()?),
            _ => ("time_before", times.min()?),
        };
        if is_enough || page.len() < PAGE || self.pages >= PAGES {
            return None;
        }
        let mut step = Self { found, pages: self.pages + 1, ..self.clone() }.look();
        step.params[bound] = json!(at);
        Some(step)
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let all = joined(&self.found, output);
        let mut deeds = evidence(&all, view);
        deeds.retain(|one| matches!(one.origin, Origin::Did { .. }) && self.bears(&one.text));
        deeds.sort_by_key(|one| std::cmp::Reverse(one.at));
        if self.which == Which::First {
            deeds.reverse();
        }
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = match (&self.tool, self.success) {
            (Some(tool), Some(false)) => format!("that {tool} failed{when}"),
            (Some(tool), Some(true)) => format!("that {tool} worked{when}"),
            (Some(tool), None) => format!("using {tool}{when}"),
            (None, _) => format!("that anything of mine failed{when}"),
        };
        let about = if self.is_of_all() { String::new() } else { format!(" (about “{}”)", self.about) };
        let what = format!("{what}{about}");
        let zone = view.zone;
        let reply = match self.which {
            Which::Counted => {
                let counted: Option<EpisodesCounted> = serde_json::from_value(output["counted"].clone()).ok();
                let of = |success| deeds.iter().filter(|one| one.success == success).count() as u64;
                let looked =
                    EpisodesCounted { total: deeds.len() as u64, succeeded: of(Some(true)), failed: of(Some(false)) };
                let at_least = counted.is_none() && self.pages >= PAGES;
                answer::how_often(&what, Often { counted: counted.unwrap_or(looked), at_least }, &deeds, zone)
            }
            _ => answer::first_done(&what, &deeds, zone),
        };
        (reply, deeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_failed_how_often_is_counted_by_the_index() {
        let plainly = recall(json!({}), Asked::Predict { topic: "plainly".into() });
        let step = deeds(None, "print fail", Which::Counted, None, None, plainly.clone());
        assert_eq!(step.params, json!({ "tool_name": "print", "limit": 1 }), "is it a tool that memory knows?");
        let Some(Asked::Deeds(asked)) = step.question else { panic!("{step:?}") };
        let known = Deeds { tool: Some("print".into()), is_found: true, ..asked };
        let params = known.clone().look().params;
        assert_eq!(params, json!({ "tool_name": "print", "success": false, "count": true, "limit": PAGE }));
        let report = |in_order| Deeds { about: "the weekly report".into(), in_order, ..known.clone() }.look().params;
        assert_eq!(report(false)["query"], "the weekly report", "by its words first");
        assert_eq!(report(true), json!({ "tool_name": "print", "success": false, "limit": PAGE }));
        let step = deeds(None, "fail", Which::Counted, None, None, plainly.clone());
        assert_eq!(step.params, json!({ "success": false, "count": true, "limit": PAGE }));
        assert_eq!(deeds(None, "", Which::Any, None, None, plainly.clone()), plainly);
    }
}
