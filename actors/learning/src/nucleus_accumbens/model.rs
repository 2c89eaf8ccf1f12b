//! Causal links: which kind of event led to which kind of outcome, when, and how certainly.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::units::{Confidence, Valence, Value};
use serde::{Deserialize, Serialize};

use super::cues::{CueStrengths, Present};
use super::delay::DelayQuantiles;
use super::event::{EventKind, OutcomeKind};
use super::law::{ALPHA, PredictionLaw, learn_together, value_of};
use super::series::OutcomeSeries;
use maxim_bus::Provenance;
use maxim_region::{FewSources, source_hash};

/// Maximum number of episode ids per link, the newest.
pub const MOST_EPISODES: usize = 16;
/// Maximum number of values per context field; the least observed is removed first.
pub const MOST_VALUES: usize = 32;
/// Maximum number of context fields of an event; later ones are not learned.
pub const MOST_FIELDS: usize = 16;

/// The situation of an event: field and value, e.g. mode = active, goal = fetch cup.
pub type Situation<'a> = &'a [(&'a str, &'a str)];

/// How often a context value occurred, and what followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionCount {
    pub value: String,
    pub observations: u32,
    /// Strength learned in only this condition, −1 to 1.
    pub strength: f64,
    /// The episodes in which it occurred, while these are few.
    #[serde(default, skip_serializing_if = "FewSources::is_empty")]
    pub of: FewSources,
}

/// Conditions by context field; in each field the most observed values come first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextCondition(pub(super) BTreeMap<String, Vec<ConditionCount>>);

impl ContextCondition {
    pub fn field(&self, field: &str) -> &[ConditionCount] {
        self.0.get(field).map_or(&[], Vec::as_slice)
    }

    /// Each field with each of its values.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(field, counts)| counts.iter().map(|count| (field.as_str(), count.value.as_str())))
    }

    pub fn get(&self, field: &str, value: &str) -> Option<&ConditionCount> {
        self.field(field).iter().find(|count| count.value == value)
    }

    /// Whether a value occurred in one of these episodes.
    pub(super) fn names(&self, gone: &BTreeSet<u64>) -> bool {
        self.0.values().flatten().any(|count| count.of.names(gone))
    }

    /// Removes values that occurred only in episodes that a person has forgotten.
    fn forget(&mut self, gone: &BTreeSet<u64>) {
        self.0.values_mut().for_each(|counts| counts.retain_mut(|count| !count.of.forget(gone)));
        self.0.retain(|_, counts| !counts.is_empty());
    }

    fn observe(&mut self, seen: &Observation, target: f64, alpha: f64) {
        for (field, value) in seen.context {
            if !self.0.contains_key(*field) {
                if self.0.len() >= MOST_FIELDS {
                    continue;
                }
                self.0.insert((*field).to_string(), Vec::new());
            }
            let Some(counts) = self.0.get_mut(*field) else {
                continue;
            };
            let known = counts.iter().position(|count| count.value == *value).unwrap_or_else(|| {
                if counts.len() >= MOST_VALUES
                    && let Some((least, _)) = counts.iter().enumerate().min_by_key(|(_, c)| c.observations)
                {
                    counts.remove(least);
                }
                counts.push(ConditionCount {
                    value: (*value).to_string(),
                    observations: 0,
                    strength: 0.0,
                    of: FewSources::default(),
                });
                counts.len() - 1
            });
            let count = &mut counts[known];
            count.of.note(seen.episode.unwrap_or_default(), count.observations);
            count.observations = count.observations.saturating_add(1);
            count.strength += alpha * (target - count.strength);
        }
    }
}

/// From a kind of event to a kind of outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CausalLink {
    pub outcome: OutcomeKind,
    pub observations: u32,
    /// How regularly this outcome followed recently: moves by α towards 1 when it came, towards 0 when another came.
    pub strength: f64,
    pub last: Timestamp,
    /// Prediction error at its last observation, about −1 to 1.
    pub last_rpe: f64,
    pub delay: DelayQuantiles,
    /// Contributing episodes, the newest last.
    pub episodes: Vec<Arc<str>>,
    /// Contexts in which this outcome occurred.
    pub conditions: ContextCondition,
    pub provenance: Provenance,
    /// The number of its observations that a person had forgotten.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub forgotten: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_none_of_them(count: &u32) -> bool {
    *count == 0
}

/// Everything learned of one kind of event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    pub kind: EventKind,
    pub observations: u32,
    pub last: Timestamp,
    /// Strength learned by the event alone, whatever cues were with it; −1 to 1.
    pub strength: f64,
    /// What followed in which context.
    pub conditions: ContextCondition,
    /// The strengths of surrounding things, beside the event's own strength as a cue.
    #[serde(default, skip_serializing_if = "CueStrengths::is_empty")]
    pub around: CueStrengths,
    /// Sorted by outcome name.
    pub links: Vec<CausalLink>,
    /// When an outcome last showed it as bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hurt: Option<Timestamp>,
    /// The newest results, in order.
    #[serde(default)]
    pub series: OutcomeSeries,
}

impl EventRecord {
    pub fn value(&self) -> Value {
        value_of(self.strength)
    }

    /// Whether one of these episodes occurs in its circumstances or its surroundings.
    pub(super) fn names(&self, gone: &BTreeSet<u64>) -> bool {
        self.conditions.names(gone)
            || self.around.names(gone)
            || self.links.iter().any(|link| link.conditions.names(gone))
    }

    /// Removes what occurred only in these episodes, which a person had forgotten. True when nothing at all is left.
    pub(super) fn forget(&mut self, ids: &BTreeSet<&str>) -> bool {
        let gone: BTreeSet<u64> = ids.iter().map(|id| source_hash(id)).collect();
        self.conditions.forget(&gone);
        self.around.forget(&gone);
        self.links.retain_mut(|link| {
            link.conditions.forget(&gone);
            let before = link.episodes.len();
            link.episodes.retain(|episode| !ids.contains(&**episode));
            link.forgotten += (before - link.episodes.len()) as u32;
            link.forgotten < link.observations
        });
        self.links.is_empty()
    }
}

/// One observation to learn from.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    pub event: &'a EventKind,
    pub context: Situation<'a>,
    pub outcome: &'a OutcomeKind,
    /// Cues that were present and share the error. Without any, the event itself is the cue. Repeats count once.
    pub cues: &'a [&'a str],
    /// Surrounding things that share the error with the cues, each by its salience.
    pub around: &'a [Present],
    /// Seconds from event to outcome, if known.
    pub delay: Option<f64>,
    /// The episode of the outcome.
    pub episode: Option<&'a str>,
    pub provenance: Provenance,
    pub at: Timestamp,
    /// λ′, −1 to 1, if it was reported how good the outcome was; else the outcome's own.
    pub reward: Option<f64>,
}

impl Observation<'_> {
    /// The strength that is taught.
    fn target(&self) -> f64 {
        self.reward.unwrap_or(self.outcome.reinforcement.target())
    }
}

/// The changes by an observation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Update {
    /// Key of the event's record.
    pub event: String,
    pub outcome: String,
    /// V of the present cues, after learning.
    pub value: Value,
    /// (λ′ − Σ v)/2 before learning; λ − V with one cue. With several cues it can leave [−1, 1].
    pub rpe: f64,
    pub confidence: Confidence,
    pub valence: Valence,
}

/// All links, by event.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTable {
    alpha: f64,
    events: BTreeMap<String, EventRecord>,
    /// Associative strength of each cue, −1 to 1 and slightly beyond.
    cues: BTreeMap<String, f64>,
    law: PredictionLaw,
}

impl Default for LinkTable {
    fn default() -> Self {
        Self::new(ALPHA)
    }
}

impl LinkTable {
    /// `alpha` in (0, 1]; the default is 0.14.
    pub fn new(alpha: f64) -> Self {
        let alpha = alpha.clamp(f64::MIN_POSITIVE, 1.0);
        Self { alpha, events: BTreeMap::new(), cues: BTreeMap::new(), law: PredictionLaw::default() }
    }

    /// Replaces the law of predictions.
    pub fn under(self, law: PredictionLaw) -> Self {
        Self { law, ..self }
    }

    pub fn law(&self) -> &PredictionLaw {
        &self.law
    }

    /// Sets the learning rate from now on, in (0, 1].
    pub(super) fn learn_at(&mut self, alpha: f64) {
        self.alpha = alpha.clamp(f64::MIN_POSITIVE, 1.0);
    }

    /// The number of known kinds of events.
    pub fn kinds(&self) -> usize {
        self.events.len()
    }

    /// Records by key, ascending.
    pub fn records(&self) -> impl Iterator<Item = (&str, &EventRecord)> {
        self.events.iter().map(|(key, record)| (key.as_str(), record))
    }

    /// Records whose key begins with the tool's name, including the tool's own.
    pub(super) fn records_of(&self, tool: &str) -> impl Iterator<Item = (&str, &EventRecord)> {
        let from = self.events.range::<str, _>((std::ops::Bound::Included(tool), std::ops::Bound::Unbounded));
        let near = from.take_while(move |(key, _)| key.starts_with(tool));
        near.filter(move |(_, record)| record.kind.tool == tool).map(|(key, record)| (key.as_str(), record))
    }

    pub fn record(&self, key: &str) -> Option<&EventRecord> {
        self.events.get(key)
    }

    pub(super) fn record_mut(&mut self, key: &str) -> Option<&mut EventRecord> {
        self.events.get_mut(key)
    }

    pub fn cue(&self, name: &str) -> Option<f64> {
        self.cues.get(name).copied()
    }

    /// Restores the stored record of an event.
    pub fn restore_record(&mut self, record: EventRecord) {
        self.events.insert(record.kind.key(), record);
    }

    /// Restores the stored strength of a cue.
    pub fn restore_cue(&mut self, name: String, strength: f64) {
        self.cues.insert(name, strength);
    }

    /// The kinds to remove when there are more than `most`, a sixteenth more than necessary. Kinds that hurt stay
    /// longest, then the most frequent, then the latest.
    pub fn beyond(&self, most: usize) -> Vec<String> {
        if self.events.len() <= most {
            return Vec::new();
        }
        let excess = self.events.len() - (most - most / 16);
        let mut ranked: Vec<_> = self
            .events
            .iter()
            .map(|(key, record)| ((record.hurt.is_some(), record.observations, record.last), key))
            .collect();
        ranked.select_nth_unstable(excess - 1);
        ranked[..excess].iter().map(|(_, key)| (*key).clone()).collect()
    }

    /// Removes everything known of this kind.
    pub fn forget(&mut self, key: &str) {
        self.events.remove(key);
        self.cues.remove(key);
    }

    /// Learns from one outcome. The cost grows with cues and context fields, not with the number of known kinds.
    pub fn observe(&mut self, seen: &Observation) -> Update {
        let key = seen.event.key();
        let target = seen.target();
        let alpha = self.alpha;
        let record = self.events.entry(key.clone()).or_insert_with(|| EventRecord::new(seen.event.clone(), seen.at));
        let error = learn_cues(&mut self.cues, &mut record.around, &key, seen, alpha);
        record.series.push(seen.outcome.reinforcement);
        record.observations = record.observations.saturating_add(1);
        record.last = record.last.max(seen.at);
        record.strength += alpha * (target - record.strength);
        record.conditions.observe(seen, target, alpha);
        record.observe_link(seen, error / 2.0, alpha);
        let confidence = self.law.confidence(record.observations);
        let value = value_of(self.sum(&key, seen.cues, seen.around));
        let (outcome, valence) = (seen.outcome.name.clone(), Valence::of(value));
        if valence == Valence::Negative
            && let Some(record) = self.events.get_mut(&key)
        {
            record.hurt = record.hurt.max(Some(seen.at));
        }
        Update { event: key, outcome, value, rpe: error / 2.0, confidence, valence }
    }

    /// Σ v of these cues (of the event itself if there are none) and of the surrounding things.
    pub(super) fn sum(&self, event: &str, cues: &[&str], around: &[Present]) -> f64 {
        let known = self.events.get(event).map(|record| &record.around);
        let beside: f64 = known.map_or(0.0, |known| around.iter().map(|(name, _)| known.get(name)).sum());
        if cues.is_empty() {
            return self.cue(event).unwrap_or(0.0) + beside;
        }
        let counted = cues.iter().enumerate().filter(|(i, cue)| !cues[..*i].contains(cue));
        beside + counted.map(|(_, cue)| self.cue(cue).unwrap_or(0.0)).sum::<f64>()
    }
}

/// Moves every present cue and thing by its own rate times the shared error. Returns that error.
fn learn_cues(
    cues: &mut BTreeMap<String, f64>,
    around: &mut CueStrengths,
    event: &str,
    seen: &Observation,
    alpha: f64,
) -> f64 {
    let own = [event];
    let mut present: Vec<&str> = if seen.cues.is_empty() { own.to_vec() } else { seen.cues.to_vec() };
    present.sort_unstable();
    present.dedup();
    let named = present.iter().map(|cue| (cues.get(*cue).copied().unwrap_or(0.0), alpha));
    let things = seen.around.iter().map(|(name, salience)| (around.get(name), alpha * salience));
    let mut strengths: Vec<(f64, f64)> = named.chain(things).collect();
    let error = learn_together(&mut strengths, seen.target());
    for (cue, (strength, _)) in present.iter().zip(&strengths) {
        match cues.get_mut(*cue) {
            Some(known) => *known = *strength,
            None => drop(cues.insert((*cue).to_string(), *strength)),
        }
    }
    for ((name, _), (strength, _)) in seen.around.iter().zip(&strengths[present.len()..]) {
        around.learn(name, *strength, seen);
    }
    error
}

impl EventRecord {
    fn new(kind: EventKind, at: Timestamp) -> Self {
        Self {
            kind,
            observations: 0,
            last: at,
            strength: 0.0,
            conditions: ContextCondition::default(),
            around: CueStrengths::default(),
            links: Vec::new(),
            hurt: None,
            series: OutcomeSeries::default(),
        }
    }

    fn observe_link(&mut self, seen: &Observation, rpe: f64, alpha: f64) {
        let at = match self.links.binary_search_by(|link| link.outcome.cmp(seen.outcome)) {
            Ok(at) => at,
            Err(at) => {
                let link = CausalLink {
                    outcome: seen.outcome.clone(),
                    observations: 0,
                    strength: 0.0,
                    last: seen.at,
                    last_rpe: 0.0,
                    delay: DelayQuantiles::default(),
                    episodes: Vec::new(),
                    conditions: ContextCondition::default(),
                    provenance: seen.provenance,
                    forgotten: 0,
                };
                self.links.insert(at, link);
                at
            }
        };
        for (i, link) in self.links.iter_mut().enumerate() {
            link.strength += alpha * (f64::from(u8::from(i == at)) - link.strength);
        }
        let link = &mut self.links[at];
        link.observations = link.observations.saturating_add(1);
        link.last = link.last.max(seen.at);
        link.last_rpe = rpe;
        link.conditions.observe(seen, seen.outcome.reinforcement.target(), alpha);
        if let Some(delay) = seen.delay {
            link.delay.observe(delay);
        }
        if let Some(episode) = seen.episode {
            if link.episodes.len() >= MOST_EPISODES {
                link.episodes.remove(0);
            }
            link.episodes.push(episode.into());
        }
    }
}
