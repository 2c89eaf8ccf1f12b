//! How a metric goes from being observed to a confirmed pattern or confirmed chance, and back.
//!
//! OBSERVING → PATTERN_FORMING when the quick sense is certain of a pattern → CONFIRMED_PATTERN when it found the
//! same pattern three times in a row. If it isn't certain, or finds another pattern, ESCALATED_TO_AG: the exact sense
//! decides between CONFIRMED_PATTERN and CONFIRMED_RANDOM. If a pattern no longer holds, or one appears in confirmed
//! chance, the metric is observed again.

use maxim_bus::signals::numbers::{Magnitude, SeriesAnalysed, SeriesFeature, SeriesJudged, SeriesVerdict};
use maxim_config::{SHARE, Shape, section};

use super::model::{HeldPattern, Metric, MetricState};
use maxim_language::numbers::statistics::binomial_mid_p;

section! {
    /// When a pattern of a metric is believed.
    #[derive(Copy)]
    PatternLaw = "statistician" {
        /// The quick sense is sure of a pattern that chance makes at most this often.
        sure: f64 = "0.01", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Times in a row that it has to see the pattern.
        times: u32 = "3", "times", Shape::Integer { low: 1, high: 100 };
        /// Values without a pattern after which the exact sense is asked.
        asks_after: usize = "24", "values", Shape::Integer { low: 8, high: 64 };
        /// A share is given up when the latest values are as improbable as this.
        broken: f64 = "0.01", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Times in a row that another pattern may be missed before it is given up.
        misses: u32 = "2", "times", Shape::Integer { low: 1, high: 100 };
        // Chance was ruled out already, so it needs less than others.
        /// The confidence from which a confirmed pattern is offered for promotion.
        promoted_from: f64 = "0.4", "share", SHARE;
    }
}

/// Number of newest values that must fit a confirmed share.
pub const RECENT: usize = 12;

/// The next state of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    Stay {
        pattern: Option<HeldPattern>,
    },
    To {
        state: MetricState,
        pattern: Option<HeldPattern>,
    },
    /// The pattern doesn't hold: start again.
    Drop {
        reason: String,
    },
}

/// The kind of a pattern, without its numbers.
pub fn same_kind(a: &SeriesFeature, b: &SeriesFeature) -> bool {
    let side = |share: f64| share >= 0.5;
    match (a, b) {
        (SeriesFeature::Trend { slope: a }, SeriesFeature::Trend { slope: b }) => a.signum() == b.signum(),
        (SeriesFeature::Prevailing { share: a }, SeriesFeature::Prevailing { share: b }) => side(*a) == side(*b),
        (SeriesFeature::Serial { r: a }, SeriesFeature::Serial { r: b }) => a.signum() == b.signum(),
        (SeriesFeature::Periodic { period: a }, SeriesFeature::Periodic { period: b }) => a == b,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// The main pattern of a judgement. For successes and failures, a share comes first.
fn leading(judged: &SeriesJudged, metric: &Metric) -> Option<SeriesFeature> {
    if metric.is_share() {
        let share = metric.values.iter().sum::<f64>() / metric.values.len().max(1) as f64;
        let prevails = judged
            .features
            .iter()
            .any(|feature| matches!(feature, SeriesFeature::Constant | SeriesFeature::Prevailing { .. }));
        if prevails {
            return Some(SeriesFeature::Prevailing { share });
        }
    }
    judged.features.first().cloned()
}

/// The next state of a metric after a verdict of the quick sense.
pub fn judged(metric: &Metric, judged: &SeriesJudged, law: &PatternLaw) -> Move {
    let seen = leading(judged, metric).filter(|_| judged.verdict == SeriesVerdict::Structured);
    let pattern =
        |feature: &SeriesFeature| Some(HeldPattern { feature: feature.clone(), level: judged.median, missed: 0 });
    let forming = |feature: &SeriesFeature, seen| Move::To {
        state: MetricState::PatternForming { seen },
        pattern: pattern(feature),
    };
    let escalate = Move::To { state: MetricState::EscalatedToAg, pattern: metric.pattern.clone() };
    match (metric.state, seen) {
        (MetricState::Observing | MetricState::ConfirmedRandom, Some(feature)) if judged.p <= law.sure => {
            forming(&feature, 1)
        }
        (MetricState::Observing, Some(_)) => escalate,
        (MetricState::Observing, None) if metric.values.len() >= law.asks_after => escalate,
        (MetricState::PatternForming { seen }, Some(feature))
            if metric.pattern.as_ref().is_some_and(|held| same_kind(&held.feature, &feature)) =>
        {
            if seen + 1 < law.times {
                forming(&feature, seen + 1)
            } else {
                Move::To { state: MetricState::ConfirmedPattern, pattern: pattern(&feature) }
            }
        }
        (MetricState::PatternForming { .. }, _) => escalate,
        (MetricState::EscalatedToAg, _) => escalate,
        (MetricState::ConfirmedPattern, seen) => held(metric, judged, seen, law),
        (MetricState::Observing | MetricState::ConfirmedRandom, _) => Move::Stay { pattern: None },
    }
}

/// Whether a confirmed pattern still holds.
fn held(metric: &Metric, judged: &SeriesJudged, seen: Option<SeriesFeature>, law: &PatternLaw) -> Move {
    let Some(held) = &metric.pattern else {
        return Move::Drop { reason: "it has no pattern".into() };
    };
    if let (SeriesFeature::Prevailing { share }, true) = (&held.feature, metric.is_share()) {
        let recent: Vec<f64> = metric.values.iter().rev().take(RECENT).copied().collect();
        let good = recent.iter().sum::<f64>();
        // One success and one failure are added to the observed ones, so that no share counts as certain (Laplace).
        let seen = metric.values.len() as f64;
        let expected = (share * seen + 1.0) / (seen + 2.0);
        let p = binomial_mid_p(good as u64, recent.len() as u64, expected);
        return if p < law.broken {
            let reason = format!("{good} of the last {} instead of {:.0} %", recent.len(), share * 100.0);
            Move::Drop { reason }
        } else {
            Move::Stay { pattern: Some(HeldPattern { missed: 0, ..held.clone() }) }
        };
    }
    let moved = judged.compared.is_some_and(|compared| compared != Magnitude::Same)
        && !matches!(held.feature, SeriesFeature::Trend { .. });
    let found = seen.as_ref().is_some_and(|seen| same_kind(&held.feature, seen))
        || judged.features.iter().any(|feature| same_kind(&held.feature, feature));
    if found && !moved {
        return Move::Stay { pattern: Some(HeldPattern { missed: 0, ..held.clone() }) };
    }
    let missed = held.missed + 1;
    if missed >= law.misses {
        let reason = if moved {
            format!("its level went from {} to {}", held.level, judged.median)
        } else {
            "it was not seen again".into()
        };
        return Move::Drop { reason };
    }
    Move::Stay { pattern: Some(HeldPattern { missed, ..held.clone() }) }
}

/// The next state of an escalated metric after the exact answer.
pub fn analysed(metric: &Metric, analysed: &SeriesAnalysed) -> Move {
    if metric.state != MetricState::EscalatedToAg {
        return Move::Stay { pattern: metric.pattern.clone() };
    }
    let level = maxim_language::numbers::statistics::median(&metric.window()).unwrap_or(0.0);
    match &analysed.feature {
        Some(feature) => {
            let feature = match feature {
                SeriesFeature::Constant if metric.is_share() => SeriesFeature::Prevailing { share: level },
                other => other.clone(),
            };
            let pattern = Some(HeldPattern { feature, level, missed: 0 });
            Move::To { state: MetricState::ConfirmedPattern, pattern }
        }
        None => Move::To { state: MetricState::ConfirmedRandom, pattern: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intraparietal_sulcus::law::{QuickLaw, judge};
    use maxim_language::numbers::analysis::analyse;

    fn metric(values: &[f64], state: MetricState, pattern: Option<HeldPattern>) -> Metric {
        Metric { values: values.iter().copied().collect(), state, pattern, ..Metric::default() }
    }

    /// Judges as the quick sense would, with the held level as the reference.
    fn next(metric: &Metric) -> Move {
        let reference = metric.pattern.as_ref().map(|held| held.level);
        judged(metric, &judge(&metric.window(), reference, &QuickLaw::default()), &PatternLaw::default())
    }

    fn held(feature: SeriesFeature, level: f64) -> Option<HeldPattern> {
        Some(HeldPattern { feature, level, missed: 0 })
    }

    /// Splitmix64 (Steele et al. 2014), as numbers in [0, 1).
    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_sure_pattern_forms_and_is_confirmed_at_the_third_sight() {
        let successes = vec![1.0; 12];
        let mut state = metric(&successes, MetricState::Observing, None);
        for expected in [
            MetricState::PatternForming { seen: 1 },
            MetricState::PatternForming { seen: 2 },
            MetricState::ConfirmedPattern,
        ] {
            let Move::To { state: to, pattern } = next(&state) else { panic!("it moves") };
            assert_eq!(to, expected);
            (state.state, state.pattern) = (to, pattern);
        }
        assert_eq!(state.pattern.map(|held| held.feature), Some(SeriesFeature::Prevailing { share: 1.0 }));
    }

    #[test]
    fn what_the_quick_sense_is_not_sure_of_goes_to_the_exact_one() {
        // Twenty series of chance: most of them are found to be just that.
        let mut random = 0;
        for seed in 0..20 {
            let metric = metric(&noise(seed, 24), MetricState::Observing, None);
            if let Move::To { state: MetricState::EscalatedToAg, .. } = next(&metric) {
                let escalated = Metric { state: MetricState::EscalatedToAg, ..metric };
                let to = analysed(&escalated, &analyse("noise", &escalated.window()));
                random += usize::from(to == Move::To { state: MetricState::ConfirmedRandom, pattern: None });
            }
        }
        assert!(random >= 16, "{random} of 20");
        let few = metric(&noise(1, 10), MetricState::Observing, None);
        assert!(matches!(next(&few), Move::Stay { .. }), "too few to say that there is none");
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let rising = metric(&rising, MetricState::EscalatedToAg, None);
        let to = analysed(&rising, &analyse("rising", &rising.window()));
        assert!(matches!(to, Move::To { state: MetricState::ConfirmedPattern, .. }), "{to:?}");
        // A pattern that changes while it forms isn't sure either.
        let forming =
            metric(&[1.0; 12], MetricState::PatternForming { seen: 2 }, held(SeriesFeature::Trend { slope: 1.0 }, 1.0));
        assert!(matches!(next(&forming), Move::To { state: MetricState::EscalatedToAg, .. }));
        // A late answer about a metric that isn't escalated changes nothing.
        assert!(matches!(
            analysed(&metric(&[1.0; 12], MetricState::Observing, None), &analyse("s", &[1.0; 12])),
            Move::Stay { .. }
        ));
    }

    #[test]
    fn a_share_that_does_not_hold_any_more_is_dropped() {
        let share = SeriesFeature::Prevailing { share: 0.95 };
        let mut values = vec![1.0; 40];
        let confirmed = |values: &[f64]| metric(values, MetricState::ConfirmedPattern, held(share.clone(), 1.0));
        assert!(matches!(next(&confirmed(&values)), Move::Stay { .. }));
        values.extend([0.0]);
        assert!(matches!(next(&confirmed(&values)), Move::Stay { .. }), "one failure in twelve is no news");
        values.extend([0.0; 5]);
        let Move::Drop { reason } = next(&confirmed(&values)) else { panic!("six of twelve fail") };
        assert_eq!(reason, "6 of the last 12 instead of 95 %");
    }

    #[test]
    fn a_level_that_moved_noticeably_is_dropped_after_two_judgements() {
        let values: Vec<f64> = (0..24).map(|at| [1.0, 1.2][at % 2]).collect();
        let mut confirmed =
            metric(&values, MetricState::ConfirmedPattern, held(SeriesFeature::Periodic { period: 2 }, 1.1));
        assert_eq!(next(&confirmed), Move::Stay { pattern: confirmed.pattern.clone() });
        confirmed.values = values.iter().map(|value| value * 2.0).collect();
        let Move::Stay { pattern } = next(&confirmed) else { panic!("once is no news") };
        assert_eq!(pattern.as_ref().map(|held| held.missed), Some(1));
        confirmed.pattern = pattern;
        assert!(matches!(next(&confirmed), Move::Drop { .. }));
    }

    #[test]
    fn chance_in_which_a_pattern_appears_is_observed_anew() {
        let rising: Vec<f64> = (0..30).map(f64::from).collect();
        let random = metric(&rising, MetricState::ConfirmedRandom, None);
        assert!(matches!(next(&random), Move::To { state: MetricState::PatternForming { seen: 1 }, .. }));
        let still = metric(&[3.0, 1.0, 2.0, 9.0, 4.0, 7.0, 5.0, 6.0, 3.5, 8.0], MetricState::ConfirmedRandom, None);
        assert!(matches!(next(&still), Move::Stay { .. }), "{:?}", next(&still));
    }
}
