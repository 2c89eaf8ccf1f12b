//! The novelty of a percept, and the attention it deserves.

use std::collections::VecDeque;

use maxim_bus::signals::bridges::{Moment, SignificanceWeights};
use maxim_bus::units::{Novelty, Salience};
use serde::{Deserialize, Serialize};

use maxim_language::Gist;

/// Number of percepts that a new one is compared with.
pub const RECENT: usize = 32;
/// Weights of source, novelty, goal relevance and learned history.
pub const WEIGHTS: [f64; 4] = [0.4, 0.25, 0.2, 0.15];
/// History of an object when nothing is known.
pub const NEUTRAL_HISTORY: f64 = 0.5;
/// Strength of history: share of the rest up to 1 that a full history adds, or of the value that an empty history
/// removes.
pub const SENSITISATION: f64 = 0.5;
/// How much a certainly significant moment is raised, compared with a certainly insignificant one.
pub const SIGNIFICANCE: f64 = 0.5;
/// Seconds in which a startle loses 1 − 1/e of its effect.
pub const STARTLE_FADES: f64 = 60.0;

/// The source of a percept, as far as attention is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A person's message; it has a fixed salience.
    Person,
    /// An observation of the surroundings.
    Observation,
}

/// Salience of every message of a person, whatever else happens.
pub const PERSON: f64 = 0.9;

impl SourceKind {
    /// 0 to 1.
    pub fn weight(self) -> f64 {
        match self {
            Self::Person => PERSON,
            Self::Observation => 0.4,
        }
    }
}

/// The recent percepts, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentPercepts(VecDeque<Gist>);

impl RecentPercepts {
    /// 1 − the similarity to the most similar recent percept. Memory's knowledge is added later, where memory was
    /// asked.
    pub fn novelty(&self, gist: &Gist) -> Novelty {
        let nearest = self.0.iter().map(|recent| gist.similarity(recent)).fold(0.0, f64::max);
        Novelty::clamped(1.0 - nearest)
    }

    pub fn remember(&mut self, gist: Gist) {
        if self.0.len() >= RECENT {
            self.0.pop_front();
        }
        self.0.push_back(gist);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes it as if it had never been there.
    pub fn forget(&mut self, at: usize) {
        self.0.remove(at);
    }
}

/// The components of salience.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Appraisal {
    pub source: SourceKind,
    pub novelty: Novelty,
    /// Share of the active goal's words that occur in the percept, 0 to 1.
    pub goal_relevance: f64,
    /// How much attention these objects earned before, 0 to 1; [`NEUTRAL_HISTORY`] when nothing is known.
    pub history: f64,
    /// The sense's own confidence in what it reports, 0 to 1.
    pub confidence: f64,
    /// The learned worth of such moments, −1 to 1; 0 when nothing was learned.
    pub significance: f64,
}

impl Appraisal {
    /// 0.40·source + 0.25·novelty + 0.20·goal + 0.15·history, times (0.5 + 0.5·confidence). An object's history then
    /// sensitises, s + ½·(2h − 1)·(1 − s) for h above ½, or habituates, s − ½·(1 − 2h)·s below (the two processes of
    /// Groves & Thompson 1970). The learned significance is added: ½·(learned − at birth). A person's message is
    /// never below 0.9; heard speech is never below 0.9 times the same confidence factor.
    pub fn salience(&self) -> Salience {
        let parts = [self.source.weight(), self.novelty.get(), self.goal_relevance, self.history];
        let sum: f64 = parts.iter().zip(WEIGHTS).map(|(part, weight)| weight * part.clamp(0.0, 1.0)).sum();
        let trust = 0.5 + 0.5 * self.confidence.clamp(0.0, 1.0);
        let trusted = sum * trust;
        let pull = SENSITISATION * (2.0 * self.history.clamp(0.0, 1.0) - 1.0);
        let moved = if pull > 0.0 { trusted + pull * (1.0 - trusted) } else { trusted + pull * trusted };
        let floor = if self.source == SourceKind::Person { PERSON * trust } else { 0.0 };
        Salience::clamped((moved + SIGNIFICANCE * self.significance).max(floor))
    }
}

/// What is left of a startle after `seconds`.
pub fn startle_left(strength: f64, seconds: f64) -> f64 {
    strength * (-seconds.max(0.0) / STARTLE_FADES).exp()
}

/// How much more significant the moment is by learned weights than by the initial ones, −1 to 1.
pub fn significance(learned: &SignificanceWeights, moment: &Moment) -> f64 {
    learned.of(moment) - SignificanceWeights::default().of(moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::Stems;

    fn gist(text: &str) -> Gist {
        Gist::of(&Stems::default(), text, [])
    }

    fn appraisal(source: SourceKind, novelty: f64) -> Appraisal {
        let novelty = Novelty::clamped(novelty);
        Appraisal { source, novelty, goal_relevance: 0.0, history: NEUTRAL_HISTORY, confidence: 1.0, significance: 0.0 }
    }

    #[test]
    fn what_was_perceived_lately_is_not_new_in_other_word_forms_either() {
        let mut recent = RecentPercepts::default();
        assert_eq!(recent.novelty(&gist("a red cup")).get(), 1.0);
        recent.remember(gist("a red cup"));
        assert_eq!(recent.novelty(&gist("the red cups")).get(), 0.0);
        assert!((recent.novelty(&gist("a red lamp")).get() - 2.0 / 3.0).abs() < 1e-12);
        (0..RECENT).for_each(|n| recent.remember(gist(&format!("filler {n}"))));
        assert_eq!(recent.novelty(&gist("a red cup")).get(), 1.0, "long ago");
    }

    #[test]
    fn a_person_is_always_salient_and_a_doubtful_label_less_than_a_sure_one() {
        assert_eq!(appraisal(SourceKind::Person, 0.0).salience().get(), 0.9);
        let sure = appraisal(SourceKind::Observation, 1.0);
        let doubtful = Appraisal { confidence: 0.2, ..sure };
        assert!((sure.salience().get() - (0.16 + 0.25 + 0.075)).abs() < 1e-12);
        assert!(doubtful.salience() < sure.salience());
    }

    #[test]
    fn novelty_goal_and_history_each_raise_salience() {
        let plain = appraisal(SourceKind::Observation, 0.0);
        let raised = [
            Appraisal { novelty: Novelty::clamped(1.0), ..plain },
            Appraisal { goal_relevance: gist("fetch the red cup").covers(&gist("cup")), ..plain },
            Appraisal { history: 1.0, ..plain },
        ];
        assert!(raised.iter().all(|a| a.salience() > plain.salience()));
    }

    #[test]
    fn an_object_that_earned_attention_sensitises_and_one_that_earned_none_habituates() {
        let seen = |history| Appraisal { history, ..appraisal(SourceKind::Observation, 0.0) }.salience().get();
        // 0.16 + 0.15·0.9 = 0.295, then + ½·0.8·0.705.
        assert!((seen(0.9) - (0.295 + 0.4 * 0.705)).abs() < 1e-12);
        // 0.16 + 0.15·0.1 = 0.175, then − ½·0.8·0.175.
        assert!((seen(0.1) - 0.175 * 0.6).abs() < 1e-12);
        assert!((seen(NEUTRAL_HISTORY) - 0.235).abs() < 1e-12, "nothing known, nothing moved");
    }

    #[test]
    fn significance_moves_salience_by_what_was_learned_alone() {
        let moment = Moment { novelty: 0.5, ..Moment::default() };
        assert_eq!(significance(&SignificanceWeights::default(), &moment), 0.0);
        let learned = SignificanceWeights { bias: -0.5, ..SignificanceWeights::default() };
        // σ(−0.5 + 0.5) − σ(−2 + 0.5)
        let expected = 0.5 - 1.0 / (1.0 + 1.5f64.exp());
        assert!((significance(&learned, &moment) - expected).abs() < 1e-12);
        let raised = Appraisal { significance: expected, ..appraisal(SourceKind::Observation, 0.5) };
        assert!((raised.salience().get() - (0.16 + 0.125 + 0.075 + 0.5 * expected)).abs() < 1e-12);
        assert!((startle_left(0.8, 60.0) - 0.8 / std::f64::consts::E).abs() < 1e-12);
    }
}
