//! How usefulness teaches significance.

use maxim_bus::signals::bridges::{Moment, SignificanceWeights};
use maxim_config::{SHARE, Shape, Span, section};

section! {
    /// How it is learned which moments are worth keeping.
    #[derive(Copy)]
    SignificanceLaw = "significance" {
        /// Experience after which a kept moment is judged by what it was good for.
        judged_after: Span = "1day", "time", Shape::Span { low: "1min", high: "365days" };
        // η of the logistic rule.
        /// How much one judgement teaches.
        eta: f64 = "0.2", "share", SHARE;
        /// The prediction error above which what is perceived next counts for more.
        surprise: f64 = "0.3", "share", SHARE;
    }
}

/// Limit of every weight.
pub const BOUND: f64 = 4.0;

/// How useful a stored moment turned out: 1 − e^−uses. One full use gives 0.63, three 0.95.
pub fn usefulness(uses: f64) -> f64 {
    1.0 - (-uses.max(0.0)).exp()
}

/// One step of logistic regression towards the usefulness u: w ← w + η (u − σ(b + Σ w x)) x, and the same for the
/// bias with x = 1 (Widrow & Hoff 1960, on log-odds). Weights are bounded, so that a long run of one kind can't fix
/// them for ever.
pub fn learn(weights: &SignificanceWeights, moment: &Moment, useful: f64, eta: f64) -> SignificanceWeights {
    let step = eta * (useful - weights.of(moment));
    let mut learned = *weights;
    for (weight, feature) in learned.features.iter_mut().zip(moment.features()) {
        *weight = (*weight + step * feature).clamp(-BOUND, BOUND);
    }
    learned.bias = (learned.bias + step).clamp(-BOUND, BOUND);
    learned
}

/// The largest difference between two corresponding weights.
pub fn distance(a: &SignificanceWeights, b: &SignificanceWeights) -> f64 {
    let features = a.features.iter().zip(b.features).map(|(a, b)| (a - b).abs());
    features.fold((a.bias - b.bias).abs(), f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETA: f64 = 0.2;

    #[test]
    fn uses_add_up_to_usefulness() {
        assert_eq!(usefulness(0.0), 0.0);
        assert!((usefulness(1.0) - 0.632_120_558_828_557_7).abs() < 1e-12);
        assert!((usefulness(3.0) - 0.950_212_931_632_136).abs() < 1e-12);
    }

    #[test]
    fn a_step_goes_by_the_rule() {
        let weights = SignificanceWeights::default();
        let moment = Moment { person: 1.0, novelty: 1.0, ..Moment::default() };
        // σ(−2 + 1 + 1) = ½: the step is 0.2 · (1 − 0.5).
        let learned = learn(&weights, &moment, 1.0, ETA);
        assert_eq!(learned.features, [1.0, 1.1, 1.1, 1.0, 0.5, 1.0]);
        assert!((learned.bias + 1.9).abs() < 1e-12);
        assert!((distance(&weights, &learned) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn what_turns_out_useful_becomes_significant_and_the_rest_does_not() {
        let mut weights = SignificanceWeights::default();
        let startling = Moment { surprise: 1.0, ..Moment::default() };
        let novel = Moment { novelty: 1.0, ..Moment::default() };
        for _ in 0..200 {
            weights = learn(&weights, &startling, 1.0, ETA);
            weights = learn(&weights, &novel, 0.0, ETA);
        }
        assert!(weights.of(&startling) > 0.9 && weights.of(&novel) < 0.1, "{weights:?}");
        assert!(weights.features.iter().all(|weight| weight.abs() <= BOUND));
    }
}
