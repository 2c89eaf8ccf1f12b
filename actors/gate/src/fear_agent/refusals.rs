//! The history of fear for the mind that thinks: what hurt, and what was refused lately.
//!
//! Law: a refusal is remembered by tool and rule, with its count and the reason of the last one. A refusal by a stop or
//! by an unanswered question says nothing about the action and isn't remembered.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::signals::fear::{FearsRecalled, PastRefusal, RecallFears};
use serde::{Deserialize, Serialize};

use super::region::{FearAgent, FearEvent, GateEntry};
use maxim_language::Stems;
use maxim_region::{Hears, Pulse};

/// Refusals remembered, at most. The oldest leaves.
const MOST: usize = 32;
/// Characters kept of a reason.
const REASON: usize = 160;
/// A fear is told only while at least this share of its confidence is left.
const FAINT: f64 = 0.05;

/// By tool and rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Refusals(BTreeMap<String, PastRefusal>);

impl Refusals {
    pub(super) fn note(&mut self, tool: String, rule: String, reason: String, at: Timestamp) {
        let key = format!("{tool}/{rule}");
        let times = self.0.get(&key).map_or(0, |past| past.times).saturating_add(1);
        self.0.insert(key, PastRefusal { tool, rule, reason, times, last: at });
        if self.0.len() > MOST {
            let oldest = self.0.iter().min_by_key(|(_, past)| past.last).map(|(key, _)| key.clone());
            oldest.map(|key| self.0.remove(&key));
        }
    }
}

impl FearAgent {
    pub(super) fn remember_refusal(entry: &GateEntry, rule: &str, reason: &str, pulse: &mut Pulse<'_, Self>) {
        let (tool, rule) = (entry.intent.tool.clone(), rule.to_owned());
        let reason = reason.chars().take(REASON).collect();
        pulse.keep(FearEvent::Refused { tool, rule, reason, at: pulse.now() });
    }
}

/// Whether a text names a tool: it holds all words of the tool's name.
fn names(said: &BTreeSet<String>, tool: &str, stems: &Stems) -> bool {
    let words = stems.of_text(&tool.replace('_', " "));
    !words.is_empty() && words.iter().all(|word| said.contains(word))
}

impl Hears<RecallFears> for FearAgent {
    fn hear(&self, asked: &RecallFears, pulse: &mut Pulse<'_, Self>) {
        if pulse.settings().fearless.is_some()
            || (self.hurtful.is_empty() && self.pinned.is_empty() && self.refusals.0.is_empty())
        {
            pulse.reply(FearsRecalled::default());
            return;
        }
        let stems = Stems::default();
        let said: BTreeSet<String> = stems.of_text(&asked.text.replace('_', " ")).into_iter().collect();
        let mut hurts = self.fears(pulse);
        hurts.retain(|fear| fear.pinned || fear.unforgiven >= FAINT);
        let mut refusals: Vec<PastRefusal> = self.refusals.0.values().cloned().collect();
        let tools: BTreeSet<&String> =
            hurts.iter().map(|fear| &fear.tool).chain(refusals.iter().map(|past| &past.tool)).collect();
        let named: Vec<String> = tools.into_iter().filter(|tool| names(&said, tool, &stems)).cloned().collect();
        hurts.sort_by_key(|fear| (!named.contains(&fear.tool), std::cmp::Reverse(fear.hurt)));
        refusals.sort_by_key(|past| (!named.contains(&past.tool), std::cmp::Reverse(past.last)));
        hurts.truncate(asked.limit);
        refusals.truncate(asked.limit);
        pulse.reply(FearsRecalled { hurts, refusals, named });
    }
}
