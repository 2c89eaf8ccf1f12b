//! The agent's deeds, looked up by the name of a tool.
//!
//! Law: the first name of a tool that memory knows is looked up in its index, and counted there. A verb of the grammar comes
//! after the names in the words. If memory knows no such tool, it answers the look-up by words instead.

use maxim_bus::signals::recall::{EpisodeFilter, EpisodesCounted};
use maxim_speech::Which;
use maxim_speech::answer::{self, Evidence, Often, Origin, Reply};
use maxim_speech::question::topic;
use maxim_speech::time::spans::NamedSpan;
use maxim_speech::word::lexicon::{is_vague, terms};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::View;
use super::asked::{Asked, StepWanted, recall, within};
use super::evidence::{evidence, recalled};
use super::search::ENOUGH;

/// A look-up of deeds by the name of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deeds {
    /// Possible names of the tool, each with the rest of the topic. `None`: any tool is meant.
    tries: Vec<(Option<String>, String)>,
    which: Which,
    success: Option<bool>,
    span: Option<NamedSpan>,
    /// The question if memory knows no such tool.
    otherwise: Option<Box<Asked>>,
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
    let tries = topic::tries(&about).into_iter().map(|(name, rest)| (Some(name), rest));
    let mut tries: Vec<(Option<String>, String)> = tries.collect();
    // The verb of a tool is no part of the tool's object.
    if let Some(tool) = tool.filter(|_| which != Which::Any) {
        let rest = about.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
        tries.push((Some(tool.to_owned()), rest));
    }
    // "How many times did you fail?" is about any tool.
    if tries.is_empty() && which == Which::Counted && success.is_some() && terms(&about).is_empty() {
        tries.push((None, String::new()));
    }
    if tries.is_empty() {
        return plainly;
    }
    let mut deeds = Deeds { tries, which, success, span, otherwise: None };
    let mut alternatives: Vec<Json> =
        deeds.tries.iter().map(|(tool, about)| deeds.look(tool.as_deref(), about)).collect();
    alternatives.push(plainly.params);
    deeds.otherwise = plainly.question.map(Box::new);
    recall(json!({ "alternatives": alternatives }), Asked::Deeds(deeds))
}

/// Whether each use counts: "it" and "a file" narrow nothing.
fn is_of_all(about: &str) -> bool {
    terms(about).iter().all(|word| is_vague(word))
}

impl Deeds {
    /// The parameters for the deeds of a tool.
    fn look(&self, tool: Option<&str>, about: &str) -> Json {
        let is_counted = self.which == Which::Counted;
        let is_of_all = is_of_all(about);
        let limit = if is_counted && !is_of_all { EpisodeFilter::READ } else { ENOUGH };
        let mut params = within(self.span.as_ref(), limit);
        if let Some(tool) = tool {
            params["tool_name"] = json!(tool);
        }
        if let Some(success) = self.success {
            params["success"] = json!(success);
        }
        if !is_of_all {
            params["about"] = json!(about);
        }
        if self.which == Which::First {
            params["oldest"] = json!(true);
        }
        if is_counted {
            params["count"] = json!(true);
        }
        params
    }

    /// The question that was answered if memory knows no such tool.
    pub(super) fn without_tool(&self, found: &Json) -> Option<&Asked> {
        let is_none = recalled(found).alternative.is_some_and(|number| number >= self.tries.len());
        self.otherwise.as_deref().filter(|_| is_none)
    }

    pub(super) fn answered(&self, output: &Json, view: &View<'_>) -> (Reply, Vec<Evidence>) {
        let recalled = recalled(output);
        let Some((tool, about)) = recalled.alternative.and_then(|number| self.tries.get(number)).or(self.tries.first())
        else {
            return (Reply::default(), Vec::new());
        };
        let mut deeds = evidence(output, view);
        deeds.retain(|one| matches!(one.origin, Origin::Did { .. }));
        let when = self.span.as_ref().map_or(String::new(), |span| format!(" {}", span.words));
        let what = match (tool, self.success) {
            (Some(tool), Some(false)) => format!("that {tool} failed{when}"),
            (Some(tool), Some(true)) => format!("that {tool} worked{when}"),
            (Some(tool), None) => format!("using {tool}{when}"),
            (None, _) => format!("that anything of mine failed{when}"),
        };
        let of = if is_of_all(about) { String::new() } else { format!(" (about “{about}”)") };
        let what = format!("{what}{of}");
        let zone = view.zone;
        let reply = match self.which {
            Which::Counted => {
                let of = |success| deeds.iter().filter(|one| one.success == success).count() as u64;
                let looked =
                    EpisodesCounted { total: deeds.len() as u64, succeeded: of(Some(true)), failed: of(Some(false)) };
                let at_least = recalled.read.is_some() || deeds.len() >= EpisodeFilter::READ;
                let at_least = recalled.counted.is_none() && at_least;
                answer::how_often(&what, Often { counted: recalled.counted.unwrap_or(looked), at_least }, &deeds, zone)
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
        let plainly = recall(json!({ "query": "plainly" }), Asked::Predict { topic: "plainly".into() });
        let asked = |topic: &str| deeds(None, topic, Which::Counted, None, None, plainly.clone());
        let alternatives = |topic: &str| asked(topic).params["alternatives"].clone();
        let print = json!({ "tool_name": "print", "success": false, "count": true, "limit": ENOUGH });
        assert_eq!(alternatives("print fail"), json!([print, { "query": "plainly" }]));
        let any = json!({ "success": false, "count": true, "limit": ENOUGH });
        assert_eq!(alternatives("fail"), json!([any, { "query": "plainly" }]));
        let Some(Asked::Deeds(of_print)) = asked("print fail").question else { panic!("no deeds") };
        let report = of_print.look(Some("print"), "the weekly report");
        assert_eq!((&report["about"], &report["limit"]), (&json!("the weekly report"), &json!(EpisodeFilter::READ)));
        assert_eq!(deeds(None, "", Which::Any, None, None, plainly.clone()), plainly);
        let question = Asked::Deeds(of_print);
        assert_eq!(question.answered_by(&json!({ "results": [], "alternative": 0 })), &question);
        let plain = plainly.question.expect("a question");
        assert_eq!(question.answered_by(&json!({ "results": [], "alternative": 1 })), &plain);
    }
}
