//! What a text reminds of what was learned: what the actions that it speaks of led to.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{KnowledgeEntry, KnowledgeRecalled, Layer, RecallKnowledge};
use maxim_bus::units::Confidence;

use super::law::{confidence, recency};
use super::model::LinkTable;
use super::region::NucleusAccumbens;
use crate::language::Stems;
use crate::region::{Hears, Pulse};

/// Pieces when nobody says how many.
const LIMIT: usize = 5;

/// The links of the actions all of whose name's words are in the text, the surest first.
fn causes(links: &LinkTable, text: &str, limit: usize, now: Timestamp) -> Vec<KnowledgeEntry> {
    let stems = Stems::default();
    let of = |text: &str| stems.of_text(&text.replace('_', " ")).into_iter().collect::<BTreeSet<String>>();
    let said = of(text);
    let is_named = |tool: &str| {
        let words = of(tool);
        !words.is_empty() && words.is_subset(&said)
    };
    let mut named: BTreeMap<&str, bool> = BTreeMap::new();
    let mut found = Vec::new();
    for (event, record) in links.records() {
        let tool = record.kind.tool.as_str();
        if !*named.entry(tool).or_insert_with(|| is_named(tool)) {
            continue;
        }
        for link in &record.links {
            let sure = Confidence::clamped(confidence(link.observations).get() * recency(link.last, now));
            let (outcome, times, all) = (&link.outcome.name, link.observations, record.observations);
            let after = link.delay.estimate().map_or(String::new(), |delay| format!(", after {:.1} s", delay.median));
            found.push(KnowledgeEntry {
                layer: Layer::Nac,
                id: format!("{event} -> {outcome}"),
                name: tool.to_owned(),
                category: "causal link".into(),
                text: format!("{event} led to {outcome} {times} of {all} times{after}"),
                score: sure.get(),
                confidence: sure,
                trust: Trust::Own,
                relations: Vec::new(),
            });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    found.truncate(if limit == 0 { LIMIT } else { limit });
    found
}

impl Hears<RecallKnowledge> for NucleusAccumbens {
    fn hear(&self, asked: &RecallKnowledge, pulse: &mut Pulse<'_, Self>) {
        let entries = self.links().map_or_else(Vec::new, |links| causes(links, &asked.text, asked.limit, pulse.now()));
        pulse.reply(KnowledgeRecalled { layer: Layer::Nac, entries });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Provenance;
    use serde_json::{Map, json};

    use super::super::event::{EventKind, OutcomeKind};
    use super::super::model::Observation;
    use super::*;

    #[test]
    fn a_text_reminds_of_what_the_actions_that_it_names_led_to() {
        let mut links = LinkTable::new(0.14);
        for (second, (tool, success)) in (0i64..).zip([("write_file", true), ("write_file", true), ("bash", false)]) {
            let params: Map<_, _> = json!({"path": "a.txt"}).as_object().expect("an object").clone();
            links.observe(&Observation {
                event: &EventKind::of(tool, &params),
                context: &[],
                outcome: &OutcomeKind::of_success(Some(success)),
                cues: &[],
                around: &[],
                delay: None,
                episode: None,
                provenance: Provenance::OwnExperience,
                at: Timestamp::from_second(second).expect("a time"),
            });
        }
        let now = Timestamp::from_second(10).expect("a time");
        let found = causes(&links, "could you write my file?", 5, now);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.ends_with("led to success 2 of 2 times"), "{}", found[0].text);
        assert!(causes(&links, "could you write to me?", 5, now).is_empty(), "half of a name is no name");
        assert!(causes(&links, "bash it", 0, now)[0].text.contains("1 of 1"));
    }
}
