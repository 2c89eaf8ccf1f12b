//! How long until the outcome: streaming quantiles in constant space by the P² algorithm (Jain & Chlamtac 1985), with
//! markers for several quantiles at once (Raatikainen 1987).

use serde::{Deserialize, Serialize};

/// Minimum, the 10th, 50th and 90th percentile, the midpoints between them, and the maximum.
const MARKS: [f64; 9] = [0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0];
const MEDIAN: usize = 4;
const LOW: usize = 2;
const HIGH: usize = 6;

/// Delays seen so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayQuantiles {
    count: u64,
    /// Heights of the markers, seconds. With fewer than nine delays: the delays, sorted.
    heights: [f64; 9],
    /// Positions of the markers among all delays, from 0.
    places: [f64; 9],
}

/// The expected delay, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayEstimate {
    pub median: f64,
    /// 80 % of delays lie between `low` and `high`.
    pub low: f64,
    pub high: f64,
}

impl DelayQuantiles {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes a delay in seconds; what is not a number or negative is ignored.
    pub fn observe(&mut self, seconds: f64) {
        if !seconds.is_finite() || seconds < 0.0 {
            return;
        }
        if self.count < 9 {
            let known = self.count as usize;
            let at = self.heights[..known].partition_point(|h| *h <= seconds);
            self.heights[at..=known].rotate_right(1);
            self.heights[at] = seconds;
            self.count += 1;
            if self.count == 9 {
                self.places = std::array::from_fn(|i| i as f64);
            }
            return;
        }
        self.count += 1;
        self.heights[0] = self.heights[0].min(seconds);
        self.heights[8] = self.heights[8].max(seconds);
        let cell = self.heights[1..8].partition_point(|h| *h <= seconds);
        self.places[cell + 1..].iter_mut().for_each(|place| *place += 1.0);
        (1..8).for_each(|i| self.settle(i));
    }

    /// Moves a marker by one position towards its target, its height along a parabola through its neighbours.
    fn settle(&mut self, i: usize) {
        let wanted = MARKS[i] * (self.count - 1) as f64;
        let (before, here, after) = (self.places[i - 1], self.places[i], self.places[i + 1]);
        let off = wanted - here;
        let step = if off >= 1.0 && after - here > 1.0 {
            1.0
        } else if off <= -1.0 && before - here < -1.0 {
            -1.0
        } else {
            return;
        };
        let (low, height, high) = (self.heights[i - 1], self.heights[i], self.heights[i + 1]);
        let parabola = height
            + step / (after - before)
                * ((here - before + step) * (high - height) / (after - here)
                    + (after - here - step) * (height - low) / (here - before));
        self.heights[i] = if low < parabola && parabola < high {
            parabola
        } else if step > 0.0 {
            height + (high - height) / (after - here)
        } else {
            height - (low - height) / (before - here)
        };
        self.places[i] += step;
    }

    /// None before the first delay.
    pub fn estimate(&self) -> Option<DelayEstimate> {
        match self.count {
            0 => None,
            n if n < 9 => {
                let seen = &self.heights[..n as usize];
                let at = |q: f64| {
                    let place = q * (seen.len() - 1) as f64;
                    let (low, high) = (seen[place.floor() as usize], seen[place.ceil() as usize]);
                    low + (high - low) * place.fract()
                };
                Some(DelayEstimate { median: at(0.5), low: at(0.1), high: at(0.9) })
            }
            _ => Some(DelayEstimate { median: self.heights[MEDIAN], low: self.heights[LOW], high: self.heights[HIGH] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{LN_2, LN_10};

    fn fed(delays: impl IntoIterator<Item = f64>) -> DelayQuantiles {
        let mut quantiles = DelayQuantiles::default();
        delays.into_iter().for_each(|d| quantiles.observe(d));
        quantiles
    }

    #[test]
    fn few_delays_are_exact() {
        assert_eq!(fed([]).estimate(), None);
        let three = fed([3.0, 1.0, 2.0]).estimate().expect("three delays");
        assert_eq!((three.median, three.low, three.high), (2.0, 1.2, 2.8));
        assert_eq!(fed([f64::NAN, -1.0]).count(), 0);
    }

    #[test]
    fn many_delays_come_close_to_their_true_quantiles_in_any_order() {
        let shuffled = (0..10_007u64).map(|i| ((i * 7919) % 10_007) as f64 / 10_007.0);
        let even = fed(shuffled.clone()).estimate().expect("delays");
        assert!((even.median - 0.5).abs() < 0.02 && (even.low - 0.1).abs() < 0.02 && (even.high - 0.9).abs() < 0.02);
        // Exponential delays of mean 1: ln 2, −ln 0.9, ln 10.
        let skewed = fed(shuffled.map(|u| -(1.0 - u).ln())).estimate().expect("delays");
        assert!((skewed.median - LN_2).abs() < 0.03, "{skewed:?}");
        assert!((skewed.low - 0.1054).abs() < 0.03 && (skewed.high - LN_10).abs() < 0.15, "{skewed:?}");
    }

    #[test]
    fn equal_delays_give_that_delay() {
        let same = fed([4.0; 100]).estimate().expect("delays");
        assert_eq!((same.low, same.median, same.high), (4.0, 4.0, 4.0));
    }
}
