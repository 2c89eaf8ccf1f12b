//! Descriptive statistics and tests, exact where that is cheap. Values are finite; time runs with the place.

use serde::Serialize;
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;
use statrs::function::factorial::ln_binomial;

/// Makes the median absolute deviation a standard deviation where errors are normal: 1/Φ⁻¹(3/4).
pub const MAD_TO_SD: f64 = 1.482_602_218_505_602;

pub fn mean(values: &[f64]) -> Option<f64> {
    // Deviations from the first keep large offsets from eating the digits.
    let first = *values.first()?;
    Some(first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64)
}

/// Of a sample (n − 1); none below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    (values.len() > 1)
        .then(|| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
}

pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The quantile of `share` (0 to 1) by linear interpolation (type 7 of Hyndman & Fan 1996). `sorted` is ascending.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(last);
    Some(sorted[low] + part * (sorted[high] - sorted[low]))
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// Median absolute deviation from the median.
pub fn median_deviation(values: &[f64]) -> Option<f64> {
    let median = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    self::median(&away)
}

/// The usual numbers of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Description {
    pub count: usize,
    pub sum: f64,
    pub mean: f64,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub q1: f64,
    pub q3: f64,
    /// None below two values.
    pub standard_deviation: Option<f64>,
    /// Adjusted Fisher–Pearson coefficient; none below three values or without variance.
    pub skewness: Option<f64>,
}

impl Description {
    /// None for no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let ascending = sorted(values);
        let (mean, variance) = (mean(values)?, variance(values));
        let at = |share| quantile(&ascending, share);
        let n = values.len() as f64;
        let skewness = variance.filter(|variance| *variance > 0.0 && values.len() > 2).map(|variance| {
            let third = values.iter().map(|value| ((value - mean) / variance.sqrt()).powi(3)).sum::<f64>();
            third * n / ((n - 1.0) * (n - 2.0))
        });
        Some(Self {
            count: values.len(),
            sum: values.iter().sum(),
            mean,
            median: at(0.5)?,
            min: at(0.0)?,
            max: at(1.0)?,
            q1: at(0.25)?,
            q3: at(0.75)?,
            standard_deviation: variance.map(f64::sqrt),
            skewness,
        })
    }
}

/// Pearson's r; none below two pairs or where one side doesn't vary.
pub fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let (mx, my) = (mean(x)?, mean(y)?);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        let (a, b) = (a - mx, b - my);
        (xx, yy, xy) = (xx + a * a, yy + b * b, xy + a * b);
    }
    (xx > 0.0 && yy > 0.0).then(|| (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0))
}

/// Ranks from 1, equal values sharing the mean of theirs.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let equal = order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count();
        let shared = from as f64 + (equal as f64 + 1.0) / 2.0;
        order[from..from + equal].iter().for_each(|at| ranks[*at] = shared);
        from += equal;
    }
    ranks
}

/// Spearman's rank correlation.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    correlation(&ranks(x), &ranks(y))
}

/// Probability that chance alone correlates `n` pairs at least as strongly as `r` (t distribution of n − 2 degrees).
pub fn correlation_p(r: f64, n: usize) -> f64 {
    if n < 3 {
        return 1.0;
    }
    let degrees = (n - 2) as f64;
    // t² / (t² + ν) = r², and P(|T| > t) is the incomplete beta function of ν / (ν + t²) = 1 − r².
    beta_reg(degrees / 2.0, 0.5, (1.0 - r * r).clamp(0.0, 1.0))
}

/// P(F > f) of Fisher's distribution.
pub fn f_tail(f: f64, between: f64, within: f64) -> f64 {
    if f.is_nan() || f <= 0.0 || between <= 0.0 || within <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() { 0.0 } else { beta_reg(within / 2.0, between / 2.0, within / (within + between * f)) }
}

/// P(|Z| > z) of the standard normal.
pub fn normal_two_sided(z: f64) -> f64 {
    if z.is_nan() { 1.0 } else { erfc(z.abs() / std::f64::consts::SQRT_2).clamp(0.0, 1.0) }
}

/// The 95 % interval of a share (Wilson 1927): sane for few trials and for shares near 0 and 1.
pub fn wilson_interval(successes: u64, trials: u64) -> [f64; 2] {
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return [0.0, 1.0];
    }
    let (n, share) = (trials as f64, successes as f64 / trials as f64);
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    [((centre - half) / scale).clamp(0.0, 1.0), ((centre + half) / scale).clamp(0.0, 1.0)]
}

/// Two-sided mid-p of `k` successes in `n` trials where each has probability `share` (Lancaster 1961): the exact test,
/// with only half of the observed count's own probability, which takes away the loss by discreteness.
pub fn binomial_mid_p(k: u64, n: u64, share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return if (share <= 0.0 && k == 0) || (share >= 1.0 && k == n) { 1.0 } else { 0.0 };
    }
    let of = |i: u64| (ln_binomial(n, i) + i as f64 * share.ln() + (n - i) as f64 * (1.0 - share).ln()).exp();
    let own = of(k) / 2.0;
    let below = (0..k).map(of).sum::<f64>() + own;
    let above = (k + 1..=n).map(of).sum::<f64>() + own;
    (2.0 * below.min(above)).min(1.0)
}

/// Runs on the two sides of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runs {
    pub runs: u64,
    pub low: u64,
    pub high: u64,
    /// Two-sided, exact.
    pub p: f64,
}

/// Runs test of Wald and Wolfowitz (1940) on a median split. Values equal to the median go to that side which makes the
/// two sides more even, so that no value is thrown away however many are tied. None when all are equal.
pub fn runs_test(values: &[f64]) -> Option<Runs> {
    let median = median(values)?;
    let (below, above) = (
        values.iter().filter(|value| **value < median).count() as u64,
        values.iter().filter(|value| **value > median).count() as u64,
    );
    let n = values.len() as u64;
    let ties_are_high = below.min(n - below) >= above.min(n - above);
    let is_high = |value: &f64| if ties_are_high { *value >= median } else { *value > median };
    let high = values.iter().filter(|value| is_high(value)).count() as u64;
    let low = n - high;
    if low == 0 || high == 0 {
        return None;
    }
    let runs = 1 + values.windows(2).filter(|pair| is_high(&pair[0]) != is_high(&pair[1])).count() as u64;
    let fewer: f64 = (2..=runs).map(|count| runs_share(count, low, high)).sum();
    let more = 1.0 - fewer + runs_share(runs, low, high);
    Some(Runs { runs, low, high, p: (2.0 * fewer.min(more)).clamp(0.0, 1.0) })
}

/// Probability of exactly so many runs among `a` and `b` values of two kinds.
fn runs_share(runs: u64, a: u64, b: u64) -> f64 {
    // Ways to cut `of` values into `parts` pieces that aren't empty.
    let ways = |of: u64, parts: u64| {
        if parts == 0 || parts > of { f64::NEG_INFINITY } else { ln_binomial(of - 1, parts - 1) }
    };
    let (half, all) = (runs / 2, ln_binomial(a + b, a));
    if runs.is_multiple_of(2) {
        return 2.0 * (ways(a, half) + ways(b, half) - all).exp();
    }
    (ways(a, half) + ways(b, half + 1) - all).exp() + (ways(a, half + 1) + ways(b, half) - all).exp()
}

/// Kendall's rank test of a trend in time (Mann 1945), corrected for ties: two-sided p, and the sign of the trend.
pub fn trend_test(values: &[f64]) -> (f64, f64) {
    let n = values.len();
    let mut score = 0.0;
    for (at, early) in values.iter().enumerate() {
        for late in &values[at + 1..] {
            score += if late > early { 1.0 } else { f64::from(i8::from(late == early)) - 1.0 };
        }
    }
    let of = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let ascending = sorted(values);
    let ties: f64 = ascending.chunk_by(|a, b| a == b).map(|group| of(group.len() as f64)).sum();
    let variance = (of(n as f64) - ties) / 18.0;
    if variance <= 0.0 || score == 0.0 {
        return (1.0, 0.0);
    }
    // One less: the score moves in steps of two.
    (normal_two_sided((score.abs() - 1.0) / variance.sqrt()), score.signum())
}

/// The median of the slopes between all pairs (Theil 1950, Sen 1968), per value of the series.
pub fn robust_slope(values: &[f64]) -> f64 {
    let slopes: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(at, early)| {
            values[at + 1..].iter().enumerate().map(move |(gap, late)| (late - early) / (gap + 1) as f64)
        })
        .collect();
    median(&slopes).unwrap_or(0.0)
}

/// r_k = Σ (x_t − x̄)(x_{t+k} − x̄) / Σ (x_t − x̄)²; none without variance.
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    let mean = mean(values)?;
    let all: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let shifted = values.iter().zip(values.iter().skip(lag));
    (all > 0.0 && lag < values.len()).then(|| shifted.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / all)
}

/// Two-sided p of an autocorrelation of `n` values (the scaling of Ljung & Box 1978; chance lies around −1/n).
pub fn autocorrelation_p(r: f64, n: usize, lag: usize) -> f64 {
    let n = n as f64;
    let left = (n - lag as f64).max(1.0);
    normal_two_sided((r + 1.0 / n) * (n * (n + 2.0) / left).sqrt())
}

/// Smallest false-discovery rate at which each test counts (Benjamini & Hochberg 1995), in the order given. `tests` is
/// how many were tried in all, at least as many as are given; the others had no smaller p.
pub fn false_discovery_rates(p: &[f64], tests: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let (mut rates, mut least, tests) = (vec![1.0; p.len()], 1.0f64, tests.max(p.len()) as f64);
    for (passed, at) in order.into_iter().enumerate() {
        let rank = (p.len() - passed) as f64;
        least = least.min(p[at] * tests / rank);
        rates[at] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{found} instead of {expected}");
    }

    #[test]
    fn descriptions_agree_with_hand_computed_values() {
        let seen = Description::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("values");
        assert_eq!((seen.count, seen.sum, seen.mean, seen.median), (8, 40.0, 5.0, 4.5));
        assert_eq!((seen.min, seen.q1, seen.q3, seen.max), (2.0, 4.0, 5.5, 9.0));
        near(seen.standard_deviation.expect("varies"), (32.0f64 / 7.0).sqrt());
        near(seen.skewness.expect("varies"), 0.818_487_553_449_1);
        assert_eq!(Description::of(&[]), None);
        let huge = [1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0];
        assert_eq!((mean(&huge), variance(&huge)), (Some(1e15 + 2.0), Some(1.0)));
        assert_eq!(median_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(quantile(&[15.0, 20.0, 35.0, 40.0, 50.0], 0.4), Some(29.0));
    }

    #[test]
    fn correlations_and_their_chance_agree_with_tables() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 5.0, 4.0, 5.0]);
        near(correlation(&x, &y).expect("varies"), 0.774_596_669_241_483);
        near(correlation_p(0.774_596_669_241_483, 5), 0.124_027_076_7);
        // The 5 % point of r for 10 pairs in every table.
        near(correlation_p(0.631_897, 10), 0.05);
        assert_eq!(rank_correlation(&x, &[1.0, 8.0, 27.0, 64.0, 125.0]), Some(1.0));
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(correlation(&x, &[1.0; 5]), None);
        near(f_tail(4.964_602_744, 1.0, 10.0), 0.05);
        near(normal_two_sided(1.959_963_984_540_054), 0.05);
    }

    #[test]
    fn shares_have_their_interval_and_their_chance() {
        let [low, high] = wilson_interval(9, 10);
        near(low, 0.595_849_973);
        near(high, 0.982_123_812);
        assert_eq!(wilson_interval(0, 0), [0.0, 1.0]);
        // 9 of 10: 2 (1 + 10/2) / 1024; 7 of 8: 2 (1 + 8/2) / 256.
        near(binomial_mid_p(9, 10, 0.5), 12.0 / 1024.0);
        near(binomial_mid_p(1, 8, 0.5), 10.0 / 256.0);
        near(binomial_mid_p(5, 10, 0.5), 1.0);
        assert_eq!((binomial_mid_p(10, 10, 1.0), binomial_mid_p(9, 10, 1.0)), (1.0, 0.0));
    }

    #[test]
    fn runs_are_counted_exactly_with_ties_on_one_side() {
        // 5 low and 5 high without a change: 2 of the 252 orders have two runs, so p is 2 · 2/252.
        let sorted: Vec<f64> = (0..10).map(f64::from).collect();
        let runs = runs_test(&sorted).expect("varies");
        assert_eq!((runs.runs, runs.low, runs.high), (2, 5, 5));
        near(runs.p, 4.0 / 252.0);
        // Nine equal values and one other: the split is 1 to 9, and its place says nothing.
        let skewed = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let runs = runs_test(&skewed).expect("varies");
        assert_eq!((runs.runs, runs.low, runs.high, runs.p), (3, 1, 9, 1.0));
        assert_eq!(runs_test(&[2.0; 9]), None);
        let all: f64 = (2..=10).map(|count| runs_share(count, 5, 5)).sum();
        near(all, 1.0);
    }

    #[test]
    fn trends_and_echoes_agree_with_hand_computed_values() {
        // S = 28, var = 8·7·21/18; z = 27/√var.
        let rising: Vec<f64> = (0..8).map(f64::from).collect();
        let (p, sign) = trend_test(&rising);
        near(p, normal_two_sided(27.0 / (8.0 * 7.0 * 21.0 / 18.0f64).sqrt()));
        assert_eq!((sign, robust_slope(&rising)), (1.0, 1.0));
        assert_eq!(trend_test(&[3.0; 9]), (1.0, 0.0));
        near(autocorrelation(&[1.0, 2.0, 3.0, 4.0, 5.0], 1).expect("varies"), 0.4);
        near(autocorrelation(&[1.0, -1.0, 1.0, -1.0], 1).expect("varies"), -0.75);
    }

    #[test]
    fn false_discoveries_are_controlled_as_in_the_paper() {
        // The worked example of Benjamini & Hochberg (1995): at 5 %, the first four of fifteen count.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let rates = false_discovery_rates(&p, 15);
        assert_eq!(rates.iter().filter(|rate| **rate <= 0.05).count(), 4);
        near(rates[3], 0.0095 * 15.0 / 4.0);
        assert!(false_discovery_rates(&p, 1000)[1] > 0.05, "more tests make each count less");
    }
}
