//! Learning from prediction errors (Rescorla & Wagner 1972).
//!
//! V ← V + α (λ − V). If several cues are present they share one error: each has a strength v in about [−1, 1] and
//! changes by α (λ′ − Σ v); V = clamp((1 + Σ v)/2, 0, 1). With one cue both laws are the same, since v = 2V − 1. The
//! sum explains blocking, overshadowing, conditioned inhibition and over-expectation.

use jiff::Timestamp;
use maxim_bus::units::{Confidence, Value};
use maxim_config::{SHARE, Shape, Span, section};
use serde::{Deserialize, Serialize};

/// Learning rate α, 0 to 1. After a complete reversal, valence leaves its old sign with the 4th observation and has
/// the new one with the 7th (0.86⁷ < 0.4).
pub const ALPHA: f64 = 0.14;
section! {
    /// How sure the nucleus accumbens is of what it expects. Its learning rate is `memory.nac_alpha`.
    #[derive(Copy)]
    PredictionLaw = "nucleus_accumbens" {
        /// Kinds of events (a tool with the shape of its parameters) of which it knows what they led to. What is small of each,
        /// a few kilobytes, stays in memory; beyond that many go, those that hurt last.
        kinds_max: usize = "2000", "kinds", Shape::Integer { low: 16, high: 100_000 };
        // After n observations: first + growth · √n, and never above max.
        /// Confidence before anything was observed.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of observations adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// Confidence never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
        /// After this, half of what age takes off confidence is gone.
        recency_half_life: Span = "30days", "time", Shape::Span { low: "1min", high: "36500days" };
        /// The share of confidence that no age takes off.
        recency_floor: f64 = "0.5", "share", SHARE;
        /// The share of confidence that is left in circumstances that were never met.
        strange_context: f64 = "0.5", "share", SHARE;
        /// Observations in a circumstance that count as much as all others together.
        context_prior: f64 = "4.0", "observations", Shape::Real { low: 0.1, high: 1_000.0 };
        /// The share of confidence that is left where experience is borrowed from what is called alike.
        borrowed: f64 = "0.5", "share", SHARE;
        // Names are short, so a chance likeness is common below.
        /// The likeness of names from which one borrows from the other.
        lends_from: f64 = "0.3", "share", Shape::Real { low: 0.01, high: 1.0 };
    }
    ordered { confidence_first <= confidence_max }
}

/// What an outcome teaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reinforcement {
    Bad,
    Neutral,
    Good,
}

impl Reinforcement {
    /// λ, the value taught: bad 0, neutral 0.5, good 1.
    pub fn lambda(self) -> f64 {
        match self {
            Self::Bad => 0.0,
            Self::Neutral => 0.5,
            Self::Good => 1.0,
        }
    }

    /// λ′ = 2λ − 1, the strength taught.
    pub fn target(self) -> f64 {
        2.0 * self.lambda() - 1.0
    }
}

/// Moves every present cue (a strength and its rate) by its rate times the shared error λ′ − Σ v. Returns that error.
pub fn learn_together(cues: &mut [(f64, f64)], target: f64) -> f64 {
    let error = target - cues.iter().map(|(strength, _)| strength).sum::<f64>();
    for (strength, alpha) in cues {
        *strength += *alpha * error;
    }
    error
}

/// V for the summed strength of the present cues.
pub fn value_of(sum: f64) -> Value {
    Value::clamped((1.0 + sum) / 2.0)
}

impl PredictionLaw {
    /// min(0.99, 0.5 + 0.1 √n) after n observations.
    pub fn confidence(&self, observations: u32) -> Confidence {
        let grown = self.confidence_first + self.confidence_growth * f64::from(observations).sqrt();
        Confidence::clamped(grown.min(self.confidence_max))
    }

    /// Share of confidence left when the last observation was at `last`: from 1 towards 0.5, half-way after 30 days.
    pub fn recency(&self, last: Timestamp, now: Timestamp) -> f64 {
        let age = now.duration_since(last).as_secs_f64().max(0.0);
        let left = 0.5f64.powf(age / self.recency_half_life.get().as_secs_f64().max(f64::MIN_POSITIVE));
        self.recency_floor + (1.0 - self.recency_floor) * left
    }

    /// Share of confidence left when `strange` of `asked` context fields have a value never observed.
    pub fn context_match(&self, strange: usize, asked: usize) -> f64 {
        if asked == 0 { 1.0 } else { 1.0 - (1.0 - self.strange_context) * strange as f64 / asked as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::Reinforcement::{Bad, Good, Neutral};
    use super::*;
    use crate::nucleus_accumbens::cues::Present;
    use crate::nucleus_accumbens::event::{EventKind, OutcomeKind};
    use crate::nucleus_accumbens::model::{LinkTable, Observation, Update};
    use maxim_bus::Provenance;

    fn law() -> PredictionLaw {
        PredictionLaw::default()
    }

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }

    /// One kind of event in a table of links, as the room learns it.
    struct Pressed {
        table: LinkTable,
        event: EventKind,
    }

    impl Pressed {
        /// At V = 0.5, as everything begins.
        fn new(alpha: f64) -> Self {
            Self { table: LinkTable::new(alpha), event: EventKind::of("press", &serde_json::Map::new()) }
        }

        /// At V = 0, as the cases of acquisition begin.
        fn at_zero(alpha: f64) -> Self {
            let mut pressed = Self::new(alpha);
            pressed.table.restore_cue(pressed.event.key(), -1.0);
            pressed
        }

        fn observe(&mut self, outcome: Reinforcement, cues: &[&str], around: &[Present]) -> Update {
            self.table.observe(&Observation {
                event: &self.event,
                context: &[],
                outcome: &OutcomeKind::new("outcome", outcome),
                cues,
                around,
                delay: None,
                episode: None,
                provenance: Provenance::default(),
                at: Timestamp::UNIX_EPOCH,
                reward: None,
            })
        }

        /// V after this many trials of the event alone.
        fn after(&mut self, outcome: Reinforcement, trials: usize) -> f64 {
            (0..trials).map(|_| self.observe(outcome, &[], &[]).value.get()).last().expect("a trial")
        }

        fn trials(&mut self, count: usize, cues: &[&str], outcome: Reinforcement) {
            (0..count).for_each(|_| drop(self.observe(outcome, cues, &[])));
        }

        fn cue(&self, name: &str) -> f64 {
            self.table.cue(name).unwrap_or(0.0)
        }
    }

    #[test]
    fn acquisition_follows_its_closed_form() {
        let trials = [1, 5, 10, 20, 50];
        let cases = [
            (0.05, [0.05, 0.22621906250000023, 0.4012630607616213, 0.6415140775914581, 0.9230550247232868]),
            (0.1, [0.1, 0.40951, 0.6513215599, 0.8784233454094307, 0.9948462247926799]),
            (0.3, [0.3, 0.83193, 0.9717524751, 0.9992020773370239, 0.9999999820153496]),
        ];
        for (alpha, expected) in cases {
            let mut pressed = Pressed::at_zero(alpha);
            let curve: Vec<f64> = (0..60).map(|_| pressed.after(Good, 1)).collect();
            for (n, value) in trials.into_iter().zip(expected) {
                near(curve[n - 1], value, 1e-9);
                near(curve[n - 1], 1.0 - (1.0 - alpha).powi(n as i32), 1e-9);
            }
            assert!(curve.windows(2).all(|w| w[0] < w[1] && w[1] <= 1.0), "rises and never overshoots");
        }
    }

    #[test]
    fn half_life_and_extinction_agree_with_theory() {
        // The error left after one trial shows how many trials halve it, and how many leave a twentieth.
        let left = 1.0 - Pressed::at_zero(0.1).after(Good, 1);
        near(0.5f64.ln() / left.ln(), 6.578813478960585, 1e-9);
        near(0.05f64.ln() / left.ln(), 28.43315880574342, 1e-9);
        let curve = |trials| Pressed::at_zero(0.1).after(Good, trials);
        assert!(curve(6) < 0.5 && curve(7) > 0.5);
        assert!(curve(28) < 0.95 && curve(29) > 0.95);
        let mut pressed = Pressed::at_zero(0.1);
        near(pressed.after(Good, 30), 0.9576088417247838, 1e-9);
        near(pressed.after(Bad, 30), 0.0405941479753018, 1e-9);
    }

    #[test]
    fn a_known_cue_blocks_a_new_one() {
        let (mut blocked, mut control) = (Pressed::new(0.1), Pressed::new(0.1));
        blocked.trials(40, &["A"], Good);
        blocked.trials(40, &["A", "B"], Good);
        control.trials(40, &["A", "B"], Good);
        near(blocked.cue("A"), 0.9926085761711122, 1e-6);
        near(blocked.cue("B"), 0.007389459112546939, 1e-6);
        near(control.cue("B"), 0.4999335386002107, 1e-6);
        assert!(blocked.cue("B") / control.cue("B") < 0.05);
    }

    #[test]
    fn a_salient_cue_overshadows_a_faint_one() {
        // Surrounding things learn at their own rate, α times their salience: 0.2 and 0.2 · 0.25 = 0.05.
        let mut pressed = Pressed::new(0.2);
        (0..200).for_each(|_| drop(pressed.observe(Good, &["A"], &[("B".into(), 0.25)])));
        let faint = pressed.table.record(&pressed.event.key()).expect("a record").around.get("B");
        near(pressed.cue("A"), 0.8, 1e-6);
        near(faint, 0.2, 1e-6);
    }

    #[test]
    fn what_announces_absence_becomes_an_inhibitor_and_superconditions() {
        // A alone is followed by the outcome, A with X isn't; then B is trained with X.
        let mut pressed = Pressed::new(0.1);
        for _ in 0..400 {
            pressed.trials(1, &["A"], Good);
            pressed.trials(1, &["A", "X"], Neutral);
        }
        near(pressed.cue("A"), 0.9999999382845495, 1e-6);
        near(pressed.cue("X"), -0.9999999074268242, 1e-6);
        near(pressed.cue("A") + pressed.cue("X"), 3.085772526389974e-08, 1e-6);
        pressed.trials(100, &["X", "B"], Good);
        near(pressed.cue("B"), 0.9999999535097085, 1e-3);
        near(pressed.cue("X"), 4.608288431851626e-08, 1e-3);
        let mut control = Pressed::new(0.1);
        control.trials(100, &["X", "B"], Good);
        near(control.cue("B"), 0.5, 1e-3);
    }

    #[test]
    fn two_full_cues_together_expect_too_much_and_fall_to_half() {
        let mut pressed = Pressed::new(0.1);
        [&["A"][..], &["B"], &["A", "B"]].into_iter().for_each(|cues| pressed.trials(100, cues, Good));
        near(pressed.cue("A"), 0.5000000001018464, 1e-4);
        near(pressed.cue("B"), 0.5000000001018464, 1e-4);
    }

    #[test]
    fn half_reinforcement_settles_at_one_half_with_the_known_variance() {
        let (mut state, mut pressed) = (0x9e37_79b9_7f4a_7c15u64, Pressed::new(0.05));
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = pressed.after(if state >> 63 == 1 { Good } else { Bad }, 1);
            sum += value;
            squares += value * value;
        }
        let mean = sum / 20_000.0;
        near(mean, 0.5, 0.02);
        near((squares / 20_000.0 - mean * mean).sqrt(), 0.08006407690254357, 0.02);
    }

    #[test]
    fn the_error_falls_below_the_causal_gate_with_the_thirteenth_trial() {
        let mut pressed = Pressed::at_zero(0.1);
        let errors: Vec<f64> = (0..13).map(|_| pressed.observe(Good, &[], &[]).rpe).collect();
        near(errors[11], 0.31381059609000006, 1e-9);
        near(errors[12], 0.2824295364810001, 1e-9);
        assert_eq!(errors.iter().filter(|error| **error > 0.3).count(), 12);
    }

    #[test]
    fn bad_experience_falls_below_the_fear_gate_with_the_sixteenth_trial() {
        let below = |alpha: f64, is_below: fn(&Update) -> bool| {
            let mut pressed = Pressed::new(alpha);
            (1..).find(|_| is_below(&pressed.observe(Bad, &[], &[])))
        };
        assert_eq!(below(0.1, |after| after.value.get() < 0.1), Some(16));
        assert_eq!(below(ALPHA, |after| after.value.get() < 0.25 && after.confidence.get() > 0.7), Some(5));
    }

    #[test]
    fn one_cue_among_strengths_is_the_plain_law() {
        let (mut value, mut pressed) = (0.5, Pressed::new(ALPHA));
        for outcome in [Good, Good, Bad, Neutral, Good] {
            value += ALPHA * (outcome.lambda() - value);
            near(pressed.observe(outcome, &["A"], &[]).value.get(), value, 1e-12);
        }
    }

    #[test]
    fn confidence_grows_with_the_root_of_observations() {
        let expected = [(0, 0.5), (1, 0.6), (4, 0.7), (9, 0.8), (16, 0.9), (25, 0.99)];
        expected.into_iter().for_each(|(n, c)| near(law().confidence(n).get(), c, 1e-9));
    }

    #[test]
    fn confidence_ages_and_doubts_strange_contexts() {
        let start = Timestamp::UNIX_EPOCH;
        near(law().recency(start, start), 1.0, 1e-12);
        near(law().recency(start, start + law().recency_half_life.signed()), 0.75, 1e-12);
        near(law().recency(start + law().recency_half_life.signed(), start), 1.0, 1e-12);
        assert_eq!((law().context_match(0, 2), law().context_match(1, 2), law().context_match(2, 2)), (1.0, 0.75, 0.5));
    }
}
