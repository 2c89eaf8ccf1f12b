//! The exact look at a series: which pattern explains it, corrected for all that were tried.
//!
//! What the quick sense sees by ranks is computed here on the values themselves: a straight line (least squares, F test),
//! a recurring shape (analysis of variance over the phases of each period), echoes of several lags together (Ljung &
//! Box 1978), and the share of the greater of two values (exact binomial).

use maxim_bus::signals::numbers::{SeriesAnalysed, SeriesFeature};

use super::matrix::fit;
use super::statistics::{autocorrelation, binomial_mid_p, f_tail, mean, ranks};

/// Patterns of at most this p count.
pub const SIGNIFICANCE: f64 = 0.05;
/// Fewer values are not analysed.
pub const LEAST_VALUES: usize = 8;
/// Fewer values are too few for echoes.
const LEAST_ECHOING: usize = 16;
/// Whole turns that a period needs.
const TURNS: usize = 3;

/// The strongest pattern of a series of finite values, if chance doesn't explain it.
pub fn analyse(series: &str, values: &[f64]) -> SeriesAnalysed {
    let values: Vec<f64> = values.iter().copied().filter(|value| value.abs() <= 1e100).collect();
    let mut analysed =
        SeriesAnalysed { series: series.to_owned(), observations: values.len(), feature: None, p: 1.0, r_squared: 0.0 };
    if values.len() < LEAST_VALUES {
        return analysed;
    }
    if values.iter().all(|value| *value == values[0]) {
        analysed.feature = Some(SeriesFeature::Constant);
        analysed.p = 0.0;
        return analysed;
    }
    let time: Vec<f64> = (0..values.len()).map(|at| at as f64).collect();
    let mut tried: Vec<(f64, SeriesFeature)> = Vec::new();
    if let Some(line) = fit(&time, &values, 1) {
        analysed.r_squared = line.r_squared;
        tried.push((line.p, SeriesFeature::Trend { slope: line.coefficients[1] }));
    }
    tried.extend(period(&values));
    let echo = autocorrelation(&ranks(&values), 1).unwrap_or(0.0);
    tried.push((echoes(&ranks(&values)), SeriesFeature::Serial { r: echo }));
    let tests = tried.len() as f64;
    tried.iter_mut().for_each(|(p, _)| *p = (*p * tests).min(1.0));
    // Which of two values prevails is another question than their order, so it isn't corrected for the others.
    tried.extend(prevailing(&values));
    let best = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((p, feature)) = best {
        analysed.p = p;
        analysed.feature = (p < SIGNIFICANCE).then_some(feature);
    }
    analysed
}

/// The period whose phases differ most surely, its p corrected for the periods tried.
fn period(values: &[f64]) -> Option<(f64, SeriesFeature)> {
    let tried = 2..=values.len() / TURNS;
    let count = tried.clone().count() as f64;
    let best = tried.map(|period| (phases_p(values, period), period)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(((best.0 * count).min(1.0), SeriesFeature::Periodic { period: best.1 }))
}

/// One-way analysis of variance (Fisher 1925) over the phases of a period.
fn phases_p(values: &[f64], period: usize) -> f64 {
    let Some(all) = mean(values) else { return 1.0 };
    let (mut between, mut within) = (0.0, 0.0);
    for phase in 0..period {
        let group: Vec<f64> = values.iter().skip(phase).step_by(period).copied().collect();
        let Some(own) = mean(&group) else { continue };
        between += group.len() as f64 * (own - all).powi(2);
        within += group.iter().map(|value| (value - own).powi(2)).sum::<f64>();
    }
    let (a, b) = ((period - 1) as f64, (values.len() - period) as f64);
    if within <= 1e-12 * between { 0.0 } else { f_tail((between / a) / (within / b), a, b) }
}

/// p of Ljung and Box's Q over the first lags: χ² tail by the normal approximation of Wilson & Hilferty (1931).
fn echoes(ranks: &[f64]) -> f64 {
    // The distribution of Q is only known for longer series; in short ones it would see too much.
    if ranks.len() < LEAST_ECHOING {
        return 1.0;
    }
    let n = ranks.len() as f64;
    let lags = (ranks.len() / 4).clamp(1, 10);
    let q: f64 =
        (1..=lags).filter_map(|lag| autocorrelation(ranks, lag).map(|r| r * r / (n - lag as f64))).sum::<f64>()
            * n
            * (n + 2.0);
    let degrees = lags as f64;
    let spread = 2.0 / (9.0 * degrees);
    let z = ((q / degrees).cbrt() - (1.0 - spread)) / spread.sqrt();
    if z <= 0.0 {
        1.0 - super::statistics::normal_two_sided(z) / 2.0
    } else {
        super::statistics::normal_two_sided(z) / 2.0
    }
}

fn prevailing(values: &[f64]) -> Option<(f64, SeriesFeature)> {
    let (low, high) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    if values.iter().any(|value| *value != low && *value != high) {
        return None;
    }
    let (count, n) = (values.iter().filter(|value| **value == high).count(), values.len());
    let share = count as f64 / n as f64;
    Some((binomial_mid_p(count as u64, n as u64, 0.5), SeriesFeature::Prevailing { share }))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_kind_of_pattern_is_named() {
        let of = |values: &[f64]| analyse("s", values).feature;
        assert_eq!(of(&[3.0; 8]), Some(SeriesFeature::Constant));
        let rising: Vec<f64> = noise(1, 30).iter().enumerate().map(|(at, noise)| at as f64 * 0.1 + noise).collect();
        let analysed = analyse("s", &rising);
        assert!(matches!(analysed.feature, Some(SeriesFeature::Trend { slope }) if (0.07..0.13).contains(&slope)));
        assert!(analysed.r_squared > 0.7, "{analysed:?}");
        let wave: Vec<f64> = noise(2, 42)
            .iter()
            .enumerate()
            .map(|(at, noise)| [0.0, 1.0, 3.0, 1.5, -1.0, 0.5, -2.0][at % 7] + noise)
            .collect();
        assert!(matches!(of(&wave), Some(SeriesFeature::Periodic { period }) if period % 7 == 0), "{:?}", of(&wave));
        let mostly: Vec<f64> = noise(3, 30).iter().map(|noise| f64::from(u8::from(*noise > 0.1))).collect();
        assert!(matches!(of(&mostly), Some(SeriesFeature::Prevailing { share }) if share > 0.8));
        let mut walk = noise(4, 60);
        for at in 1..60 {
            walk[at] = 0.9 * walk[at - 1] + walk[at] - 0.5;
        }
        assert!(of(&walk).is_some());
        assert_eq!(analyse("s", &[1.0, 2.0, 3.0]).feature, None);
    }

    #[test]
    fn noise_has_no_pattern_but_rarely() {
        for count in [8, 20, 60] {
            let found = (0..500).filter(|seed| analyse("s", &noise(seed * 31 + 7, count)).feature.is_some()).count();
            println!("{count}: {found} of 500");
            assert!(found <= 40, "{count}: {found} of 500 random series have a pattern");
        }
    }
}
