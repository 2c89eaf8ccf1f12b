//! Magnitudes, trends, outliers and chance at a glance.
//!
//! Two tests distinguish a series from noise. First, is there order in it: fewer or more runs than by chance (Wald &
//! Wolfowitz 1940, ties handled), similar or opposite neighbours, a trend (Mann 1945), repetition after some lag?
//! Second, for a series of two values: does one value dominate more than a fair coin would? The first is corrected
//! for the number of tests (Bonferroni). A series that repeats exactly has order whatever the tests say, because a
//! period of four has as many runs as chance.

use maxim_bus::signals::numbers::{Magnitude, SeriesFeature, SeriesJudged, SeriesVerdict};
use maxim_config::{Shape, section};

use maxim_language::numbers::statistics as exact;

section! {
    /// What the quick sense of numbers notices.
    #[derive(Copy)]
    QuickLaw = "intraparietal_sulcus" {
        /// The difference of two magnitudes that is just noticed (Weber's fraction).
        weber: f64 = "0.15", "share", Shape::Real { low: 0.001, high: 10.0 };
        // A modified z-score (Iglewicz & Hoaglin 1993).
        /// How far off a value is odd, in robust standard deviations.
        odd_from: f64 = "3.5", "deviations", Shape::Real { low: 0.5, high: 100.0 };
        /// How often noise may be taken for order.
        significance: f64 = "0.05", "share", Shape::Real { low: 0.000_001, high: 0.5 };
        /// Values under which nothing is said of chance.
        values_min: usize = "8", "values", Shape::Integer { low: 4, high: 256 };
    }
}

/// The number of newest values that are examined; more would not be quick.
pub const MOST_VALUES: usize = 256;
/// Beyond this, squares and sums overflow.
const LARGEST: f64 = 1e100;
/// A repetition is only searched where the series contains this many full periods.
const TURNS: usize = 3;

/// How `a` compares with `b`: by their ratio, whatever the unit (Weber 1834; Fechner 1860).
pub fn compare(a: f64, b: f64, law: &QuickLaw) -> Magnitude {
    let (small, large) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
    let apart = if a.signum() == b.signum() { large - small } else { large + small };
    // A small tolerance: 2.3 is 15 % more than 2 although its last bit says less.
    if apart == 0.0 || apart < law.weber * small - 1e-12 * large {
        Magnitude::Same
    } else if a < b {
        Magnitude::Smaller
    } else {
        Magnitude::Greater
    }
}

/// Indices of outliers, by the distance from the median in robust standard deviations (median absolute deviation; the
/// mean absolute deviation where more than half are equal). Two values have no outlier.
pub fn anomalies(values: &[f64], law: &QuickLaw) -> Vec<usize> {
    let Some(median) = exact::median(values) else { return Vec::new() };
    if distinct(values) <= 2 {
        return Vec::new();
    }
    let away: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let spread = match exact::median(&away) {
        Some(deviation) if deviation > 0.0 => deviation * exact::MAD_TO_SD,
        // √(π/2): converts the normal's mean absolute deviation into a standard deviation.
        _ => exact::mean(&away).unwrap_or(0.0) * (std::f64::consts::PI / 2.0).sqrt(),
    };
    let odd = |(at, away): (usize, &f64)| (spread > 0.0 && away / spread > law.odd_from).then_some(at);
    away.iter().enumerate().filter_map(odd).collect()
}

fn distinct(values: &[f64]) -> usize {
    let mut sorted = exact::sorted(values);
    sorted.dedup();
    sorted.len()
}

/// Describes a series. The caller names the answer's `series`.
pub fn judge(values: &[f64], reference: Option<f64>, law: &QuickLaw) -> SeriesJudged {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| value.abs() <= LARGEST).collect();
    values.drain(..values.len().saturating_sub(MOST_VALUES));
    let median = exact::median(&values).unwrap_or(0.0);
    let mut judged = SeriesJudged {
        series: String::new(),
        observations: values.len(),
        verdict: SeriesVerdict::TooShort,
        p: 1.0,
        features: Vec::new(),
        median,
        spread: exact::median_deviation(&values).unwrap_or(0.0) * exact::MAD_TO_SD,
        anomalies: anomalies(&values, law),
        compared: reference.filter(|_| !values.is_empty()).map(|reference| compare(median, reference, law)),
    };
    if values.len() < law.values_min {
        return judged;
    }
    let (features, p) = order(&values, law);
    judged.verdict = if p < law.significance { SeriesVerdict::Structured } else { SeriesVerdict::Random };
    (judged.features, judged.p) = (features, p);
    judged
}

/// The order in a series, and its probability by chance.
fn order(values: &[f64], law: &QuickLaw) -> (Vec<SeriesFeature>, f64) {
    if distinct(values) == 1 {
        return (vec![SeriesFeature::Constant], 0.0);
    }
    let mut features = Vec::new();
    // Ranks, so that a long tail doesn't dominate.
    let ranks = exact::ranks(values);
    let n = values.len();
    let (trend, _) = exact::trend_test(values);
    let runs = exact::runs_test(values).map_or(1.0, |runs| runs.p);
    let neighbours = exact::autocorrelation(&ranks, 1).unwrap_or(0.0);
    let serial = exact::autocorrelation_p(neighbours, n, 1);
    let (period, back) = best_return(&ranks);
    let tests = [trend, runs, serial, back];
    let corrected = |p: f64| (p * tests.len() as f64).min(1.0);
    let mut p = corrected(tests.into_iter().fold(1.0, f64::min));
    if corrected(trend) < law.significance {
        features.push(SeriesFeature::Trend { slope: exact::robust_slope(values) });
    }
    if let Some(period) = exact_period(values) {
        features.push(SeriesFeature::Periodic { period });
        p = 0.0;
    } else if corrected(back) < law.significance {
        features.push(SeriesFeature::Periodic { period });
    }
    if corrected(serial.min(runs)) < law.significance {
        features.push(SeriesFeature::Serial { r: neighbours });
    }
    if let Some((share, chance)) = prevailing(values) {
        p = p.min(chance);
        if chance < law.significance {
            features.push(SeriesFeature::Prevailing { share });
        }
    }
    (features, p)
}

/// The shortest period with which the series repeats exactly, at least twice.
fn exact_period(values: &[f64]) -> Option<usize> {
    (1..=values.len() / 2).find(|period| values.iter().zip(&values[*period..]).all(|(early, late)| early == late))
}

/// The lag of at least 2 with the highest self-similarity, and its p, corrected for the lags that were tried.
fn best_return(ranks: &[f64]) -> (usize, f64) {
    let lags = 2..=ranks.len() / TURNS;
    let tried = lags.clone().count() as f64;
    let echoes = lags.filter_map(|lag| exact::autocorrelation(ranks, lag).filter(|r| *r > 0.0).map(|r| (lag, r)));
    let p = echoes.map(|(lag, r)| (lag, (exact::autocorrelation_p(r, ranks.len(), lag) * tried).min(1.0)));
    p.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 1.0))
}

/// For a series of two values: the share of the greater value, and the probability of such an imbalance for a fair
/// coin.
fn prevailing(values: &[f64]) -> Option<(f64, f64)> {
    if distinct(values) != 2 {
        return None;
    }
    let greater = values.iter().copied().fold(f64::MIN, f64::max);
    let count = values.iter().filter(|value| **value == greater).count() as u64;
    let n = values.len() as u64;
    Some((count as f64 / n as f64, exact::binomial_mid_p(count, n, 0.5)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Splitmix64 (Steele et al. 2014), as numbers in [0, 1).
    fn chances(seed: u64, count: usize) -> Vec<f64> {
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

    fn verdict(values: &[f64]) -> SeriesVerdict {
        judge(values, None, &QuickLaw::default()).verdict
    }

    #[test]
    fn fifteen_percent_is_the_least_noticed_difference() {
        assert_eq!(compare(115.0, 100.0, &QuickLaw::default()), Magnitude::Greater);
        assert_eq!(compare(114.9, 100.0, &QuickLaw::default()), Magnitude::Same);
        assert_eq!(compare(100.0, 115.0, &QuickLaw::default()), Magnitude::Smaller);
        assert_eq!(compare(2.3, 2.0, &QuickLaw::default()), Magnitude::Greater, "the last bit doesn't decide");
        assert_eq!(compare(0.0, 0.0, &QuickLaw::default()), Magnitude::Same);
        assert_eq!(compare(0.0, 1e-9, &QuickLaw::default()), Magnitude::Smaller);
        assert_eq!(compare(-100.0, -115.0, &QuickLaw::default()), Magnitude::Greater);
        assert_eq!(compare(-0.1, 0.1, &QuickLaw::default()), Magnitude::Smaller);
    }

    #[test]
    fn an_odd_value_is_found_by_median_and_deviation() {
        let mut values = vec![10.0, 11.0, 9.0, 10.5, 9.5, 10.2, 9.8, 10.1];
        assert!(anomalies(&values, &QuickLaw::default()).is_empty());
        values.push(15.0);
        assert_eq!(anomalies(&values, &QuickLaw::default()), [8]);
        assert_eq!(
            anomalies(&[5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 5.0, 90.0], &QuickLaw::default()),
            [7],
            "also where most are equal"
        );
        let rare = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert!(anomalies(&rare, &QuickLaw::default()).is_empty(), "a rare failure is no odd number");
        assert!(anomalies(&[], &QuickLaw::default()).is_empty());
    }

    #[test]
    fn fewer_than_eight_values_say_nothing() {
        assert_eq!(verdict(&[1.0; 7]), SeriesVerdict::TooShort);
        assert_eq!(verdict(&[1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0, 6.0, 7.0]), SeriesVerdict::TooShort);
        assert_eq!(judge(&[], Some(1.0), &QuickLaw::default()).compared, None);
        assert_eq!(judge(&[9.0, 10.0, 11.0], Some(5.0), &QuickLaw::default()).compared, Some(Magnitude::Greater));
    }

    #[test]
    fn what_repeats_exactly_is_never_random() {
        for period in 1..=12usize {
            for turns in 2..=5 {
                let values: Vec<f64> = (0..period * turns).map(|at| ((at % period) * 7 % 13) as f64).collect();
                if values.len() >= QuickLaw::default().values_min {
                    assert_eq!(verdict(&values), SeriesVerdict::Structured, "period {period}, {turns} turns");
                }
            }
        }
        let four = [0.0, 0.0, 1.0, 1.0].repeat(6);
        assert!((exact::runs_test(&four).expect("varies").p) > 0.5, "as many runs as chance has");
        assert_eq!(judge(&four, None, &QuickLaw::default()).features, [SeriesFeature::Periodic { period: 4 }]);
    }

    #[test]
    fn a_wave_under_noise_is_found_with_its_period() {
        let noise = chances(5, 60);
        let wave = noise.iter().enumerate().map(|(at, noise)| (at as f64 * std::f64::consts::TAU / 10.0).sin() + noise);
        let judged = judge(&wave.collect::<Vec<_>>(), None, &QuickLaw::default());
        assert_eq!(judged.verdict, SeriesVerdict::Structured);
        let period = judged.features.iter().find_map(|feature| match feature {
            SeriesFeature::Periodic { period } => Some(*period),
            _ => None,
        });
        assert_eq!(period, Some(10), "{judged:?}");
    }

    #[test]
    fn a_series_of_ninety_percent_success_is_not_noise_because_it_is_skewed() {
        for (seed, count) in [(1, 10), (2, 20), (3, 40), (4, 200)] {
            let mut chance = chances(seed, count);
            // Exactly nine of ten, in random order.
            let ascending = exact::sorted(&chance);
            let bound = ascending[count / 10];
            chance.iter_mut().for_each(|value| *value = f64::from(u8::from(*value >= bound)));
            let judged = judge(&chance, None, &QuickLaw::default());
            assert_eq!(judged.verdict, SeriesVerdict::Structured, "{count}: {judged:?}");
            assert!(judged.features.contains(&SeriesFeature::Prevailing { share: 0.9 }), "{judged:?}");
            assert!(judged.anomalies.is_empty());
        }
        assert_eq!(verdict(&[1.0; 12]), SeriesVerdict::Structured, "and one that never fails neither");
    }

    #[test]
    fn a_trend_is_found_through_noise_and_a_long_tail_is_none() {
        let noise = chances(8, 40);
        let rising: Vec<f64> = noise.iter().enumerate().map(|(at, noise)| at as f64 * 0.05 + noise).collect();
        let judged = judge(&rising, None, &QuickLaw::default());
        assert!(
            matches!(judged.features.first(), Some(SeriesFeature::Trend { slope }) if (0.02..0.08).contains(slope)),
            "{judged:?}"
        );
        let tail: Vec<f64> = chances(9, 64).iter().map(|chance| 1.0 / (1.0 - chance)).collect();
        assert_eq!(verdict(&tail), SeriesVerdict::Random);
    }

    /// Noise is rarely taken for order; the two tests for a coin use 5 % each.
    #[test]
    fn noise_is_rarely_taken_for_order() {
        for count in [8, 16, 40, 100] {
            let noise = |seed: u64| chances(seed * 77 + count as u64, count);
            let of = |make: &dyn Fn(u64) -> Vec<f64>| {
                (0..1000).filter(|seed| verdict(&make(*seed)) == SeriesVerdict::Structured).count()
            };
            let numbers = of(&noise);
            let coins = of(&|seed| noise(seed).into_iter().map(f64::round).collect());
            println!("{count}: order seen in {numbers} of 1000 random series, {coins} of 1000 coins");
            assert!(numbers <= 70, "{count}: {numbers} of 1000 random series");
            // Eight coins have only 256 sequences, and every second one repeats itself or is unbalanced by chance.
            assert!(coins <= if count == 8 { 250 } else { 140 }, "{count}: {coins} of 1000 coins");
        }
    }

    proptest! {
        #[test]
        fn no_series_breaks_it(values in proptest::collection::vec(proptest::num::f64::ANY, 0..80)) {
            let judged = judge(&values, Some(1.0), &QuickLaw::default());
            prop_assert!((0.0..=1.0).contains(&judged.p), "{judged:?}");
            prop_assert!(judged.observations <= values.len());
        }

        #[test]
        fn comparing_is_symmetric(a in -1e9..1e9f64, b in -1e9..1e9f64) {
            let mirrored = match compare(b, a, &QuickLaw::default()) {
                Magnitude::Smaller => Magnitude::Greater,
                Magnitude::Same => Magnitude::Same,
                Magnitude::Greater => Magnitude::Smaller,
            };
            prop_assert_eq!(compare(a, b, &QuickLaw::default()), mirrored);
        }
    }
}
