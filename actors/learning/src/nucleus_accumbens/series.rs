//! The newest outcomes of an event, in order: chance leaves another pattern than a cause.

use serde::{Deserialize, Serialize};

use super::law::Reinforcement;

/// Number of outcomes stored, the newest.
pub const LENGTH: u8 = 64;

/// The newest outcomes, one bit each: 1 good, 0 bad. Neutral ones are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeSeries {
    /// The newest is the lowest bit.
    bits: u64,
    length: u8,
}

impl OutcomeSeries {
    pub fn push(&mut self, outcome: Reinforcement) {
        let good = match outcome {
            Reinforcement::Good => 1,
            Reinforcement::Bad => 0,
            Reinforcement::Neutral => return,
        };
        self.bits = (self.bits << 1) | good;
        self.length = (self.length + 1).min(LENGTH);
    }

    /// In order of time, 1 for outcomes of this kind.
    pub fn of(self, wanted: Reinforcement) -> Vec<f64> {
        let good = (0..self.length).rev().map(|at| (self.bits >> at) & 1 == 1);
        good.map(|good| f64::from(u8::from(good == (wanted == Reinforcement::Good)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_back_in_their_order_and_only_the_newest() {
        let mut series = OutcomeSeries::default();
        assert!(series.of(Reinforcement::Good).is_empty());
        for outcome in [Reinforcement::Good, Reinforcement::Neutral, Reinforcement::Bad, Reinforcement::Good] {
            series.push(outcome);
        }
        assert_eq!(series.of(Reinforcement::Good), [1.0, 0.0, 1.0]);
        assert_eq!(series.of(Reinforcement::Bad), [0.0, 1.0, 0.0]);
        (0..100).for_each(|_| series.push(Reinforcement::Bad));
        assert_eq!(series.of(Reinforcement::Bad), vec![1.0; 64]);
    }
}
