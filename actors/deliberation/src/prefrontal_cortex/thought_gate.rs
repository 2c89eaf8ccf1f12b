//! The ThoughtGate: is this worth thinking about? A cascade that stops at the first no.
//!
//! ```text
//! (1) refractory   two ticks after the last thought; who may command isn't told to wait, nor is a goal of its own
//! (2) energy       15 % of the scarcest at least
//! (3) salience     of the head of working memory, 0.2 at least
//! (4) threshold    θ ≤ worth = salience · (½ + ½ novelty)
//! ```
//!
//! θ follows experience, as the control that is spent on a task follows what it earned (Shenhav, Botvinick & Cohen 2013):
//! after an action that was deliberated, θ ← θ − η (δ − δ̄), where δ is the reward prediction error of that action and δ̄
//! the running mean of those of actions that were taken at once.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::cycle::ThoughtBar;
use maxim_bus::signals::working_memory::WorkingEntry;
use maxim_bus::units::Novelty;
use maxim_bus::{MessageId, Trust};
use serde::{Deserialize, Serialize};

/// Ticks after a thought in which nothing else is thought about.
const REFRACTORY_TICKS: i32 = 2;
/// What is less salient is worth no thought.
pub const LEAST_SALIENCE: f64 = 0.2;
/// θ at birth: what a person says passes, said before (0.45) or not (0.9).
pub const THRESHOLD: f64 = 0.3;
/// θ at least and at most. What is new and said by a person (0.9) passes whatever was experienced, so that θ can fall again.
pub const BOUNDS: [f64; 2] = [0.05, 0.8];
/// How far one prediction error moves θ: η.
pub const LEARNING: f64 = 0.1;
/// Share of an action taken at once that its running mean δ̄ takes over.
pub const MEAN: f64 = 0.1;
/// Deliberated turns whose outcomes are waited for.
const OPEN: usize = 64;

/// What the gate knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThoughtGate {
    /// When something passed last.
    passed: Option<Timestamp>,
    threshold: f64,
    /// δ̄: the mean prediction error of what was done at once.
    at_once: f64,
    /// Turns in which the model acted, the newest last.
    deliberated: VecDeque<MessageId>,
}

impl Default for ThoughtGate {
    fn default() -> Self {
        Self { passed: None, threshold: THRESHOLD, at_once: 0.0, deliberated: VecDeque::new() }
    }
}

/// Why something isn't thought about.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub bar: ThoughtBar,
    pub reason: String,
    pub worth: Option<f64>,
}

impl Refused {
    fn new(bar: ThoughtBar, reason: String) -> Self {
        Self { bar, reason, worth: None }
    }
}

/// Why thinking rests, with the share that is left of the scarcest.
pub fn tiredness(level: f64, scarcest: &str) -> String {
    format!("only {:.0} % of energy is left ({scarcest}), so thinking rests", level * 100.0)
}

/// What thinking about it may bring: what is salient and new most, what is known half.
pub fn worth(salience: f64, novelty: Option<Novelty>) -> f64 {
    salience * (0.5 + 0.5 * novelty.map_or(1.0, Novelty::get))
}

impl ThoughtGate {
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The bars that need no looking up. `tired`: what is left of the scarcest, and its name, where that is too little.
    ///
    /// # Errors
    /// It is too soon, or too little energy is left.
    pub fn admit(
        &self,
        trust: Trust,
        tired: Option<&(f64, String)>,
        tick: SignedDuration,
        now: Timestamp,
    ) -> Result<(), Refused> {
        // A goal of its own comes from a thought just now.
        let commands = matches!(trust, Trust::Owner | Trust::Listed | Trust::Own);
        if let Some(passed) = self.passed.filter(|passed| !commands && now < passed.later(tick * REFRACTORY_TICKS)) {
            let ago = now.duration_since(passed).as_millis();
            let wait = (tick * REFRACTORY_TICKS).as_millis();
            let reason = format!("I thought of something else {ago} ms ago, and wait {wait} ms after each thought");
            return Err(Refused::new(ThoughtBar::Refractory, reason));
        }
        match tired {
            Some((level, scarcest)) => Err(Refused::new(ThoughtBar::Energy, tiredness(*level, scarcest))),
            None => Ok(()),
        }
    }

    /// The bars that need the head of working memory; what isn't known is no reason against it.
    ///
    /// # Errors
    /// It isn't salient, or such thinking didn't pay.
    pub fn weigh(&self, head: Option<&WorkingEntry>) -> Result<Option<f64>, Refused> {
        let Some(head) = head else { return Ok(None) };
        let salience = head.salience.get();
        if salience < LEAST_SALIENCE {
            let reason = format!("its salience {salience:.2} is below {LEAST_SALIENCE:.2}");
            return Err(Refused::new(ThoughtBar::Salience, reason));
        }
        let worth = worth(salience, head.novelty);
        if worth < self.threshold {
            let reason = format!("it is worth {worth:.2}, and thinking pays from {:.2} on", self.threshold);
            return Err(Refused { worth: Some(worth), ..Refused::new(ThoughtBar::Threshold, reason) });
        }
        Ok(Some(worth))
    }

    pub fn pass(&mut self, at: Timestamp) {
        self.passed = Some(at);
    }

    /// The model acts in this turn: what comes of it is deliberation's.
    pub fn expect(&mut self, turn: MessageId) {
        self.deliberated.push_back(turn);
        if self.deliberated.len() > OPEN {
            self.deliberated.pop_front();
        }
    }

    pub fn has_deliberated(&self, turn: MessageId) -> bool {
        self.deliberated.contains(&turn)
    }

    /// Learns from the prediction error of an action.
    pub fn credit(&mut self, deliberated: bool, rpe: f64) {
        if deliberated {
            let [least, most] = BOUNDS;
            self.threshold = (self.threshold - LEARNING * (rpe - self.at_once)).clamp(least, most);
        } else {
            self.at_once += MEAN * (rpe - self.at_once);
        }
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::working_memory::EntryKind;
    use maxim_bus::units::Salience;

    use super::*;
    use maxim_region::rig::monday_morning;

    const TICK: SignedDuration = SignedDuration::from_millis(500);

    fn head(salience: f64, novelty: f64) -> WorkingEntry {
        WorkingEntry {
            kind: EntryKind::Conversation,
            at: monday_morning(),
            turn: MessageId::from_parts(1, 1),
            salience: Salience::clamped(salience),
            novelty: Some(Novelty::clamped(novelty)),
            heard: None,
            trust: Trust::Owner,
            of: String::new(),
            own: false,
            text: String::new(),
            rests_on: Vec::new(),
        }
    }

    fn bar<T>(weighed: Result<T, Refused>) -> Option<ThoughtBar> {
        weighed.err().map(|refused| refused.bar)
    }

    #[test]
    fn two_ticks_after_a_thought_only_who_may_command_is_thought_about() {
        let mut gate = ThoughtGate::default();
        let now = monday_morning();
        let admit =
            |gate: &ThoughtGate, trust, ms| bar(gate.admit(trust, None, TICK, now + SignedDuration::from_millis(ms)));
        assert_eq!(admit(&gate, Trust::Outside, 0), None, "nothing was thought about yet");
        gate.pass(now);
        assert_eq!(admit(&gate, Trust::Outside, 999), Some(ThoughtBar::Refractory));
        assert_eq!(admit(&gate, Trust::Sensor, 999), Some(ThoughtBar::Refractory));
        assert_eq!(admit(&gate, Trust::Own, 0), None, "a goal of its own follows a thought");
        assert_eq!(admit(&gate, Trust::Outside, 1_000), None);
        assert_eq!((admit(&gate, Trust::Owner, 0), admit(&gate, Trust::Listed, 0)), (None, None));
        let tired = (0.1, "tokens of the hour".to_owned());
        let refused = gate.admit(Trust::Owner, Some(&tired), TICK, now).expect_err("tired");
        assert_eq!(refused.reason, "only 10 % of energy is left (tokens of the hour), so thinking rests");
        let both = bar(gate.admit(Trust::Outside, Some(&tired), TICK, now));
        assert_eq!(both, Some(ThoughtBar::Refractory), "the first no is the one that is told");
    }

    #[test]
    fn what_is_not_salient_or_not_worth_it_is_left_to_habit() {
        let gate = ThoughtGate::default();
        assert_eq!(bar(gate.weigh(Some(&head(0.19, 1.0)))), Some(ThoughtBar::Salience));
        // 0.5 · (½ + ½ · 0.1) = 0.275, below 0.3.
        let refused = gate.weigh(Some(&head(0.5, 0.1))).expect_err("not worth it");
        assert_eq!(refused.bar, ThoughtBar::Threshold);
        assert!((refused.worth.expect("known") - 0.275).abs() < 1e-12);
        assert_eq!(refused.reason, "it is worth 0.28, and thinking pays from 0.30 on");
        assert_eq!(gate.weigh(Some(&head(0.5, 0.2))), Ok(Some(0.3)));
        assert_eq!(gate.weigh(Some(&head(0.9, 0.0))), Ok(Some(0.45)), "a person is thought about, said before or not");
        assert_eq!(gate.weigh(None), Ok(None), "what isn't known is no reason against it");
    }

    #[test]
    fn the_threshold_falls_where_thinking_led_to_better_and_rises_where_it_led_to_worse() {
        let mut gate = ThoughtGate::default();
        gate.credit(true, 0.5);
        assert!((gate.threshold() - 0.25).abs() < 1e-12, "0.3 − 0.1 · 0.5");
        gate.credit(false, 0.4);
        gate.credit(false, 0.4);
        assert!((gate.at_once - 0.076).abs() < 1e-12, "0.04, then 0.04 + 0.1 · 0.36");
        assert!((gate.threshold() - 0.25).abs() < 1e-12, "what is done at once says nothing of thinking");
        gate.credit(true, 0.076);
        assert!((gate.threshold() - 0.25).abs() < 1e-12, "no better and no worse");
        gate.credit(true, -0.424);
        assert!((gate.threshold() - 0.3).abs() < 1e-12, "0.25 + 0.1 · 0.5");
        (0..20).for_each(|_| gate.credit(true, -1.0));
        assert_eq!(gate.threshold(), 0.8);
        assert_eq!(bar(gate.weigh(Some(&head(0.9, 0.0)))), Some(ThoughtBar::Threshold));
        assert_eq!(
            bar(gate.weigh(Some(&head(0.9, 1.0)))),
            None,
            "what is new is thought about whatever was experienced"
        );
        (0..20).for_each(|_| gate.credit(true, 1.0));
        assert_eq!(gate.threshold(), 0.05);
    }

    #[test]
    fn the_newest_deliberated_turns_are_known() {
        let mut gate = ThoughtGate::default();
        (0..70).for_each(|n| gate.expect(MessageId::from_parts(n, 1)));
        assert!(
            gate.has_deliberated(MessageId::from_parts(69, 1)) && !gate.has_deliberated(MessageId::from_parts(5, 1))
        );
        assert_eq!(gate.deliberated.len(), OPEN);
    }
}
