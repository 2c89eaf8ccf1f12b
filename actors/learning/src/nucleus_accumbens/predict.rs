//! Predicts the outcome of an event before it is tried.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::units::{Confidence, Valence, Value};
use serde::Serialize;

use super::circumstances::makes_unsure;
use super::cues::Present;
use super::delay::DelayEstimate;
use super::event::EventKind;
use super::law::{PredictionLaw, Reinforcement, value_of};
use super::model::{EventRecord, LinkTable, Situation};

/// Maximum number of kinds of one tool that an unseen kind borrows from.
const MOST_LENDERS: usize = 16;

/// The basis of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// This kind of event was observed.
    Observed,
    /// Only similar kinds were observed.
    Borrowed,
    /// Nothing similar is known: value 0.5, confidence 0.
    Unknown,
}

/// A possible outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedOutcome {
    pub name: String,
    pub reinforcement: Reinforcement,
    /// 0 to 1; all outcomes together give 1.
    pub probability: f64,
}

/// A link that supports a prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkName {
    pub event: String,
    pub outcome: String,
    pub observations: u32,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    pub value: Value,
    pub valence: Valence,
    /// Depends on observations, recency and match of the context.
    pub confidence: Confidence,
    /// Until the likeliest outcome, if delays are known.
    pub delay: Option<DelayEstimate>,
    /// The likeliest first.
    pub outcomes: Vec<ExpectedOutcome>,
    pub links: Vec<LinkName>,
    /// Episodes of the likeliest outcome first; for each outcome the newest first.
    pub episodes: Vec<Arc<str>>,
    pub basis: Basis,
}

impl Prediction {
    /// Sets another value, and scales good and bad outcomes to match it.
    fn lean(&mut self, value: Value) {
        (self.value, self.valence) = (value, Valence::of(value));
        let expected: f64 = self.outcomes.iter().map(|o| o.probability * o.reinforcement.lambda()).sum();
        let (good, bad) = (value.get() / expected.max(1e-9), (1.0 - value.get()) / (1.0 - expected).max(1e-9));
        self.outcomes = ranked(std::mem::take(&mut self.outcomes).into_iter().map(|outcome| {
            let lambda = outcome.reinforcement.lambda();
            let share = outcome.probability * (lambda * good + (1.0 - lambda) * bad);
            (outcome.name, outcome.reinforcement, share)
        }));
    }

    fn unknown() -> Self {
        Self {
            value: Value::clamped(0.5),
            valence: Valence::Neutral,
            confidence: Confidence::clamped(0.0),
            delay: None,
            outcomes: Vec::new(),
            links: Vec::new(),
            episodes: Vec::new(),
            basis: Basis::Unknown,
        }
    }
}

impl LinkTable {
    /// Predicts the outcome of an event in a context. If cues are given, the value is theirs. A kind that was never
    /// observed borrows from other kinds of the same tool.
    pub fn predict(&self, event: &EventKind, context: Situation, cues: &[&str], at: Timestamp) -> Prediction {
        let key = event.key();
        if let Some(record) = self.record(&key) {
            let mut prediction = record.predict(&key, context, at, self.law());
            if !cues.is_empty() {
                prediction.value = value_of(self.sum(&key, cues, &[]));
                prediction.valence = Valence::of(prediction.value);
            }
            return prediction;
        }
        self.borrow(&self.similar(event), context, at)
    }

    /// The kinds of the same tool that an unseen kind borrows from: the most similar, then the most observed.
    pub(super) fn similar(&self, event: &EventKind) -> Vec<(&str, f64)> {
        let kinds = self.records_of(&event.tool);
        let mut kinds: Vec<_> =
            kinds.map(|(key, record)| (event.similarity(&record.kind), record.observations, key)).collect();
        kinds.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1)).then_with(|| a.2.cmp(b.2)));
        kinds.truncate(MOST_LENDERS);
        kinds.into_iter().map(|(similarity, _, key)| (key, similarity)).collect()
    }

    /// Predicts the outcome of a tool in general: the average of its kinds, weighted by observations, with the
    /// confidence of all of them. For a tool with very many kinds only the most observed count.
    pub fn predict_tool(&self, tool: &str, context: Situation, at: Timestamp) -> Prediction {
        let mut kinds: Vec<_> = self.records_of(tool).collect();
        kinds.sort_by(|a, b| b.1.observations.cmp(&a.1.observations).then_with(|| a.0.cmp(b.0)));
        kinds.truncate(MOST_LENDERS);
        let all: u32 = kinds.iter().map(|(_, record)| record.observations).sum();
        let share = |record: &EventRecord| f64::from(record.observations) / f64::from(all.max(1));
        let known = kinds
            .into_iter()
            .map(|(key, record)| (share(record), record, record.predict(key, context, at, self.law())));
        let known: Vec<_> = known.collect();
        if all == 0 {
            return Prediction::unknown();
        }
        let value = Value::clamped(known.iter().map(|(share, _, one)| share * one.value.get()).sum());
        let doubt = |record: &EventRecord, one: &Prediction| {
            one.confidence.get() / self.law().confidence(record.observations).get().max(f64::MIN_POSITIVE)
        };
        let left: f64 = known.iter().map(|(share, record, one)| share * doubt(record, one)).sum();
        let shares = known.iter().map(|(share, _, one)| (*share, one));
        Prediction {
            value,
            valence: Valence::of(value),
            confidence: Confidence::clamped(self.law().confidence(all).get() * left),
            delay: known.first().and_then(|(_, _, one)| one.delay),
            outcomes: blended(shares),
            links: known.iter().flat_map(|(_, _, one)| one.links.clone()).collect(),
            episodes: known.iter().flat_map(|(_, _, one)| one.episodes.clone()).collect(),
            basis: Basis::Observed,
        }
    }

    /// The same in the presence of things, if they took part before.
    pub fn predict_among(
        &self,
        event: &EventKind,
        context: Situation,
        around: &[Present],
        at: Timestamp,
    ) -> Prediction {
        let mut prediction = self.predict(event, context, &[], at);
        let key = event.key();
        if let Some(record) = self.record(&key).filter(|record| !record.around.is_empty()) {
            let value = value_of(self.sum(&key, &[], around) + record.context_shift(context, self.law()));
            prediction.lean(value);
        }
        prediction
    }

    /// Blends what is known of similar events, given by key and similarity in [0, 1], weighted by similarity and
    /// confidence. Confidence is at most half of the best lender's, times its similarity.
    pub fn borrow(&self, similar: &[(&str, f64)], context: Situation, at: Timestamp) -> Prediction {
        let mut lenders: Vec<(f64, Prediction)> = similar
            .iter()
            .filter(|(_, similarity)| *similarity > 0.0)
            .filter_map(|(key, similarity)| {
                Some((*similarity, self.record(key)?.predict(key, context, at, self.law())))
            })
            .collect();
        lenders.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let total: f64 = lenders.iter().map(weight).sum();
        let Some((similarity, best)) = lenders.first().filter(|_| total > 0.0) else {
            return Prediction::unknown();
        };
        // Shares first: so what only one lender knows is passed on exactly, however old it is.
        let share = |lender: &(f64, Prediction)| weight(lender) / total;
        let value = lenders.iter().map(|lender| share(lender) * lender.1.value.get()).sum::<f64>();
        Prediction {
            value: Value::clamped(value),
            valence: Valence::of(Value::clamped(value)),
            confidence: Confidence::clamped(self.law().borrowed * similarity * best.confidence.get()),
            delay: best.delay,
            outcomes: blended(lenders.iter().map(|lender| (share(lender), &lender.1))),
            links: lenders.iter().flat_map(|(_, lender)| lender.links.clone()).collect(),
            episodes: lenders.iter().flat_map(|(_, lender)| lender.episodes.clone()).collect(),
            basis: Basis::Borrowed,
        }
    }
}

fn weight(lender: &(f64, Prediction)) -> f64 {
    lender.0 * lender.1.confidence.get()
}

/// The outcomes of several predictions, each weighted by its share.
fn blended<'a>(predictions: impl Iterator<Item = (f64, &'a Prediction)>) -> Vec<ExpectedOutcome> {
    let mut shares: BTreeMap<(String, Reinforcement), f64> = BTreeMap::new();
    for (share, prediction) in predictions {
        for outcome in &prediction.outcomes {
            *shares.entry((outcome.name.clone(), outcome.reinforcement)).or_insert(0.0) += share * outcome.probability;
        }
    }
    ranked(shares.into_iter().map(|((name, kind), share)| (name, kind, share)))
}

fn ranked(outcomes: impl Iterator<Item = (String, Reinforcement, f64)>) -> Vec<ExpectedOutcome> {
    let mut all: Vec<ExpectedOutcome> = outcomes
        .map(|(name, reinforcement, probability)| ExpectedOutcome { name, reinforcement, probability })
        .collect();
    let total: f64 = all.iter().map(|outcome| outcome.probability).sum();
    if total > 0.0 {
        all.iter_mut().for_each(|outcome| outcome.probability /= total);
    }
    all.sort_by(|a, b| b.probability.total_cmp(&a.probability).then_with(|| a.name.cmp(&b.name)));
    all
}

impl EventRecord {
    fn predict(&self, key: &str, context: Situation, at: Timestamp, law: &PredictionLaw) -> Prediction {
        let asked = context.iter().filter(|(field, _)| makes_unsure(field));
        let strange = asked.clone().filter(|(field, value)| self.is_strange(field, value)).count();
        let sure = law.confidence(self.observations).get()
            * law.recency(self.last, at)
            * law.context_match(strange, asked.count());
        let value = value_of(self.strength + self.context_shift(context, law));
        let outcomes = ranked(self.links.iter().map(|link| {
            let fit: f64 = context.iter().map(|(field, value)| self.fit(link, field, value)).product();
            (link.outcome.name.clone(), link.outcome.reinforcement, link.strength * fit)
        }));
        let by_likelihood: Vec<_> = outcomes
            .iter()
            .filter_map(|o| {
                self.links.iter().find(|l| l.outcome.name == o.name && l.outcome.reinforcement == o.reinforcement)
            })
            .collect();
        Prediction {
            value,
            valence: Valence::of(value),
            confidence: Confidence::clamped(sure),
            delay: by_likelihood.first().and_then(|link| link.delay.estimate()),
            links: by_likelihood
                .iter()
                .map(|link| LinkName {
                    event: key.to_string(),
                    outcome: link.outcome.name.clone(),
                    observations: link.observations,
                })
                .collect(),
            episodes: by_likelihood.iter().flat_map(|link| link.episodes.iter().rev().cloned()).collect(),
            outcomes,
            basis: Basis::Observed,
        }
    }

    /// The field was observed with this event, but never with this value.
    fn is_strange(&self, field: &str, value: &str) -> bool {
        !self.conditions.field(field).is_empty() && self.conditions.get(field, value).is_none()
    }

    /// How far the most informative part of the context moves the strength. A value seen n times counts n/(n + 4).
    fn context_shift(&self, context: Situation, law: &PredictionLaw) -> f64 {
        let shifts = context.iter().filter_map(|(field, value)| {
            let seen = self.conditions.get(field, value)?;
            let n = f64::from(seen.observations);
            Some(n / (n + law.context_prior) * (seen.strength - self.strength))
        });
        shifts.fold(0.0, |most: f64, shift| if shift.abs() > most.abs() { shift } else { most })
    }

    /// How much likelier a link's outcome is when a field has this value (naive Bayes with one count added).
    fn fit(&self, link: &super::model::CausalLink, field: &str, value: &str) -> f64 {
        let count = |seen: Option<&super::model::ConditionCount>| seen.map_or(0.0, |c| f64::from(c.observations));
        let here = count(link.conditions.get(field, value));
        let everywhere = count(self.conditions.get(field, value));
        if everywhere == 0.0 {
            return 1.0;
        }
        let share = f64::from(link.observations) / f64::from(self.observations.max(1));
        ((here + share) / (everywhere + 1.0) / share.max(1e-9)).max(1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::OutcomeKind;
    use super::super::model::{Observation, Update};
    use super::*;
    use maxim_bus::Provenance;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn kind(tool: &str, params: serde_json::Value) -> EventKind {
        EventKind::of(tool, params.as_object().expect("an object"))
    }

    fn see(table: &mut LinkTable, event: &EventKind, context: Situation, success: bool, number: usize) -> Update {
        table.observe(&Observation {
            event,
            context,
            outcome: &OutcomeKind::of_success(Some(success)),
            cues: &[],
            around: &[],
            delay: Some(1.0 + number as f64),
            episode: Some(&format!("e{number}")),
            provenance: Provenance::OwnExperience,
            at: NOW,
            reward: None,
        })
    }

    #[test]
    fn a_reversed_world_loses_its_valence_at_the_fourth_and_turns_it_at_the_seventh_observation() {
        for (first, before, after) in
            [(true, Valence::Positive, Valence::Negative), (false, Valence::Negative, Valence::Positive)]
        {
            let mut table = LinkTable::default();
            let push = kind("push", json!({}));
            let learned = (0..50).map(|n| see(&mut table, &push, &[], first, n)).last().expect("fifty");
            assert_eq!(learned.valence, before);
            let turned: Vec<Valence> = (0..7).map(|n| see(&mut table, &push, &[], !first, n).valence).collect();
            assert_eq!(turned.iter().position(|v| *v != before), Some(3));
            assert_eq!(turned.iter().position(|v| *v == after), Some(6));
            assert_eq!(table.predict(&push, &[], &[], NOW).valence, after);
        }
    }

    #[test]
    fn a_prediction_names_outcomes_delay_links_and_episodes() {
        let mut table = LinkTable::default();
        let read = kind("read", json!({"path": "/a"}));
        (0..3).for_each(|n| {
            see(&mut table, &read, &[], true, n);
        });
        see(&mut table, &read, &[], false, 3);
        let expected = table.predict(&kind("read", json!({"path": "/other"})), &[], &[], NOW);
        assert_eq!(expected.basis, Basis::Observed);
        assert_eq!(expected.outcomes.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["success", "failure"]);
        assert!((expected.outcomes.iter().map(|o| o.probability).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(expected.delay.map(|d| d.median), Some(2.0));
        assert_eq!(expected.episodes.iter().map(|id| &**id).collect::<Vec<_>>(), ["e2", "e1", "e0", "e3"]);
        assert_eq!((expected.links[0].event.as_str(), expected.links[0].observations), ("read(path: path)", 3));
        assert!((expected.confidence.get() - 0.7).abs() < 1e-12);
    }

    #[test]
    fn context_decides_where_the_same_act_helps_and_hurts() {
        let mut table = LinkTable::default();
        let touch = kind("touch", json!({}));
        for n in 0..40 {
            see(
                &mut table,
                &touch,
                &[("place", if n % 2 == 0 { "stove" } else { "cat" }), ("mode", "active")],
                n % 2 == 1,
                n,
            );
        }
        let at = |place| table.predict(&touch, &[("place", place), ("mode", "active")], &[], NOW);
        assert_eq!((at("stove").valence, at("cat").valence), (Valence::Negative, Valence::Positive));
        assert_eq!(
            (at("stove").outcomes[0].name.as_str(), at("cat").outcomes[0].name.as_str()),
            ("failure", "success")
        );
        assert!(at("garden").confidence < at("cat").confidence, "never observed there");
    }

    #[test]
    fn the_unseen_borrows_with_less_confidence_and_the_unknown_stays_open() {
        let mut table = LinkTable::default();
        let path = kind("open", json!({"what": "/a", "mode": true}));
        (0..9).for_each(|n| {
            see(&mut table, &path, &[], false, n);
            see(&mut table, &kind("opener", json!({})), &[], true, n);
        });
        let borrowed = table.predict(&kind("open", json!({"what": "https://a.org", "mode": false})), &[], &[], NOW);
        assert_eq!((borrowed.basis, borrowed.valence), (Basis::Borrowed, Valence::Negative));
        assert!(borrowed.confidence.get() < 0.5 * table.predict(&path, &[], &[], NOW).confidence.get());
        assert_eq!(table.predict(&kind("fly", json!({})), &[], &[], NOW), Prediction::unknown());
        let both = table.borrow(&[("opener", 0.5), (path.key().as_str(), 0.5)], &[], NOW);
        assert!((both.value.get() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_tool_as_such_is_as_sure_as_all_that_was_observed_of_it() {
        let mut table = LinkTable::default();
        let (file, page) = (kind("open", json!({"what": "/a"})), kind("open", json!({"what": "https://a.org"})));
        for n in 0..12 {
            see(&mut table, &file, &[("mode", "active")], true, n);
        }
        let one = table.predict_tool("open", &[], NOW);
        assert_eq!((one.basis, one.value), (Basis::Observed, table.predict(&file, &[], &[], NOW).value));
        assert_eq!(one.confidence, PredictionLaw::default().confidence(12));
        for n in 0..4 {
            see(&mut table, &page, &[("mode", "active")], false, n);
        }
        let both = table.predict_tool("open", &[], NOW);
        assert_eq!(both.confidence, PredictionLaw::default().confidence(16));
        let expected = 0.75 * table.predict(&file, &[], &[], NOW).value.get()
            + 0.25 * table.predict(&page, &[], &[], NOW).value.get();
        assert!((both.value.get() - expected).abs() < 1e-12);
        assert_eq!(both.outcomes.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["success", "failure"]);
        assert!((both.outcomes[1].probability - 0.25).abs() < 1e-12);
        let late = table.predict_tool(
            "open",
            &[("mode", "never seen")],
            NOW + PredictionLaw::default().recency_half_life.signed(),
        );
        assert!((late.confidence.get() - 0.9 * 0.75 * 0.5).abs() < 1e-9, "{}", late.confidence.get());
        assert_eq!(table.predict_tool("fly", &[], NOW), Prediction::unknown());
    }

    #[test]
    fn old_experience_is_less_sure_and_cues_speak_for_themselves() {
        let mut table = LinkTable::default();
        let push = kind("push", json!({}));
        (0..9).for_each(|n| {
            see(&mut table, &push, &[], true, n);
        });
        let late = table.predict(&push, &[], &[], NOW + PredictionLaw::default().recency_half_life.signed());
        assert!((late.confidence.get() - 0.8 * 0.75).abs() < 1e-9);
        table.restore_cue("storm".into(), -1.0);
        assert_eq!(table.predict(&push, &[], &["storm"], NOW).valence, Valence::Negative);
    }

    #[test]
    fn a_table_comes_back_from_its_rows() {
        let mut table = LinkTable::default();
        let push = kind("push", json!({"force": 3}));
        (0..40).for_each(|n| {
            see(&mut table, &push, &[("place", "hall")], n % 3 == 0, n);
        });
        let mut again = LinkTable::default();
        for (_, record) in table.records() {
            let text = serde_json::to_string(record).expect("plain data");
            again.restore_record(serde_json::from_str(&text).expect("its own form"));
        }
        let key = push.key();
        again.restore_cue(key.clone(), table.cue(&key).expect("learned"));
        assert_eq!(again, table);
        assert_eq!(table.record(&key).expect("there").links[0].episodes.len(), 16);
    }
}
