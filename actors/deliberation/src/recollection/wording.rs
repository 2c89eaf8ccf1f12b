//! The words of an answer, from the find.

use maxim_bus::signals::concepts::{ConceptShown, KnowledgeEntry};
use maxim_bus::signals::recall::{OutcomesPredicted, RecalledEpisode};
use maxim_speech::answer::{self, Evidence, Expectation};
use maxim_speech::{Grammar, Place, Understanding, Unsupported};
use serde_json::Value as Json;

use super::View;
use super::asked::Asked;
use super::evidence::{evidence, joined, mine, piece, recalled as recalled_of};
use super::grounds::{self, Ground};
use super::search::{SPANNED, behind};

/// An answer in words.
#[derive(Debug, Default)]
pub(crate) struct Worded {
    pub text: String,
    /// The episodes that it rests on.
    pub rests_on: Vec<Ground>,
}

impl Worded {
    /// Words that rest on no episode.
    fn bare(text: String) -> Self {
        Self { text, rests_on: Vec::new() }
    }

    fn told(text: String, evidence: &[Evidence]) -> Self {
        Self { text, rests_on: grounds::of(evidence) }
    }

    fn of(reply: answer::Reply, evidence: &[Evidence]) -> Self {
        let told: Vec<Evidence> = reply.rests_on.iter().filter_map(|place| evidence.get(*place).cloned()).collect();
        Self { rests_on: grounds::of(&told), text: reply.text }
    }
}

impl Worded {
    /// Says how many moments were read, if there may be older ones.
    fn of_newest(mut self, found: &Json) -> Self {
        let looked_through = found["results"].as_array().map_or(0, Vec::len);
        if looked_through >= SPANNED {
            let more = format!("\n(From the last {looked_through} moments; more: `maxim memory recall`.)");
            self.text.push_str(&more);
        }
        self
    }
}

impl From<(answer::Reply, Vec<Evidence>)> for Worded {
    fn from((reply, evidence): (answer::Reply, Vec<Evidence>)) -> Self {
        Self::of(reply, &evidence)
    }
}

/// The answer to a question, from the find.
pub(crate) fn worded(
    asked: &Asked,
    found: &Json,
    (recalled, knowledge): (&[RecalledEpisode], &[KnowledgeEntry]),
    view: &View<'_>,
) -> Worded {
    let zone = view.zone;
    match asked {
        Asked::Told { about, place, asked, span } => {
            let told = mine(found, *asked, about, view);
            let did = if *asked { "asked" } else { "told" };
            let mut words = answer::tellings(*place, did, about, span.as_deref(), &told, zone);
            let is_sure = matches!(place, Place::First | Place::Last) && !told.is_empty();
            if let Some(read) = recalled_of(found).read.filter(|_| !is_sure) {
                let end = if *place == Place::First { "first" } else { "last" };
                words.push_str(&format!("\n(From the {end} {read} moments.)"));
            }
            Worded::told(words, &told)
        }
        Asked::WhyDid { topic, refused } => {
            let evidence = evidence(found, view);
            match answer::why(topic, *refused, &evidence, zone) {
                Some(words) => Worded::told(words, &evidence),
                None => Worded::bare(why_not(topic, *refused, view.grammar)),
            }
        }
        Asked::Since { wanted, found: before, at, .. } => {
            let asked = Asked::Recall(wanted.clone());
            let found = joined(before, &behind(found, *at, view));
            worded(&asked, &found, (recalled, knowledge), view)
        }
        Asked::Recall(wanted) | Asked::Wider(wanted) => {
            let words = &wanted.words;
            let mut evidence = evidence(found, view);
            if evidence.is_empty() {
                evidence = recalled.iter().filter_map(|episode| piece(episode.clone(), view)).collect();
            }
            let reply = answer::recalled(wanted, &evidence, Some(view.asker), zone);
            let known = reply.known;
            let worded = Worded::of(reply, &evidence);
            match (answer::known(words, knowledge), known) {
                (Some(general), true) => Worded { text: format!("{} {general}", worded.text), ..worded },
                (Some(general), false) => Worded::bare(general),
                (None, _) => worded,
            }
        }
        Asked::Deeds(deeds) => Worded::from(deeds.answered(found, view)),
        Asked::Counting(counting) => Worded::from(counting.answered(found, view)),
        Asked::Events(events) => Worded::from(events.answered(found, view)),
        Asked::Beside(beside) => Worded::from(beside.answered(found, view)),
        Asked::Grounds => {
            let evidence = evidence(found, view);
            Worded::told(answer::grounds(&evidence, Some(view.asker), zone), &evidence)
        }
        Asked::Concepts { topic } => {
            let found = found.get("results").cloned().unwrap_or_default();
            let concepts: Vec<ConceptShown> = serde_json::from_value(found).unwrap_or_default();
            Worded::bare(answer::concepts(topic, &concepts))
        }
        Asked::WhyNewest => {
            let evidence = evidence(found, view);
            Worded::of(answer::newest(&evidence, zone), &evidence).of_newest(found)
        }
        Asked::Happened { tool, topic, span } => {
            let evidence = evidence(found, view);
            let reply = answer::happened(tool.as_deref(), topic, span.as_deref(), &evidence, zone);
            Worded::of(reply, &evidence).of_newest(found)
        }
        Asked::Predict { topic } => {
            let predicted: Option<OutcomesPredicted> = serde_json::from_value(found.clone()).ok();
            let expectation = predicted.filter(|p| p.known).map(|p| Expectation {
                tool: p.tool_name.clone(),
                value: p.value,
                confidence: p.confidence,
                outcomes: usize::try_from(p.observations).unwrap_or(usize::MAX),
                usual: p.outcomes.first().map(|(name, _)| name.clone()),
            });
            Worded::bare(answer::expected(topic, expectation.as_ref()))
        }
    }
}

/// The answer if no such act is known.
fn why_not(topic: &str, refused: bool, grammar: &Grammar) -> String {
    if !refused {
        return format!("I don't remember doing that (“{topic}”).");
    }
    match grammar.understand(topic) {
        Understanding::Unsupported { what: Unsupported::NoTool, .. } => format!("Because I know no way to “{topic}”."),
        Understanding::Unsupported { reply, .. } => reply,
        Understanding::Command { .. } => {
            format!("I don't remember that I was asked to. Say “{topic}”, and I do it if I may.")
        }
        _ => format!("I don't know; I don't remember anything of “{topic}”."),
    }
}
