//! Causal knowledge about a text: the results of the actions that it mentions.

use jiff::Timestamp;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{KnowledgeEntry, KnowledgeRecalled, Layer, RecallKnowledge};
use maxim_bus::units::Confidence;

use super::known::Known;
use super::region::NucleusAccumbens;
use maxim_region::{Hears, Pulse};

/// Default number of entries.
const LIMIT: usize = 5;

/// The links of actions whose name occurs completely in the text, the most certain first.
fn causes(known: &Known, text: &str, limit: usize, now: Timestamp) -> Vec<KnowledgeEntry> {
    let law = known.links().law();
    let mut found = Vec::new();
    let named = known.named().in_text(text);
    for (event, record) in named.into_iter().flat_map(|tool| known.links().records_of(tool)) {
        let tool = &record.kind.tool;
        for link in &record.links {
            let sure = Confidence::clamped(law.confidence(link.observations).get() * law.recency(link.last, now));
            let (outcome, times, all) = (&link.outcome.name, link.observations, record.observations);
            let after = link.delay.estimate().map_or(String::new(), |delay| format!(", after {:.1} s", delay.median));
            found.push(KnowledgeEntry {
                layer: Layer::Nac,
                id: format!("{event} -> {outcome}"),
                name: tool.clone(),
                category: "causal link".into(),
                text: format!("{event} led to {outcome} {times} of {all} times{after}"),
                score: sure.get(),
                confidence: sure,
                trust: Trust::Own,
                relations: Vec::new(),
                read: false,
            });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    found.truncate(if limit == 0 { LIMIT } else { limit });
    found
}

impl Hears<RecallKnowledge> for NucleusAccumbens {
    fn hear(&self, asked: &RecallKnowledge, pulse: &mut Pulse<'_, Self>) {
        let entries = causes(&self.known(), &asked.text, asked.limit, pulse.now());
        pulse.reply(KnowledgeRecalled { layer: Layer::Nac, entries });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::event::{EventKind, OutcomeKind};
    use super::super::events::Observed;
    use super::*;

    #[test]
    fn a_text_reminds_of_what_the_actions_that_it_names_led_to() {
        let mut links = Known::default();
        for (second, (tool, success)) in (0i64..).zip([("write_file", true), ("write_file", true), ("bash", false)]) {
            let params: Map<_, _> = json!({"path": "a.txt"}).as_object().expect("an object").clone();
            links.learn(&Observed {
                kind: EventKind::of(tool, &params),
                outcome: OutcomeKind::of_success(Some(success)),
                circumstances: Vec::new(),
                around: Vec::new(),
                delay_s: None,
                episode: "e".into(),
                at: Timestamp::from_second(second).expect("a time"),
                alpha: 0.14,
                reward: None,
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
