//! Which kinds of events cluster in which bin of time, or pair of bins. Each cluster is tested against what the kind's
//! number and the bin's share of all experience would give by chance (exact binomial tail), and false discoveries are
//! controlled over all tests (Benjamini & Hochberg 1995).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::law::TimeSignature;

/// Accepted share of false discoveries.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// A cluster has at least so many events.
pub const LEAST_EVENTS: u32 = 4;

/// A bin of one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bin {
    Hour(u8),
    Day(u8),
    Week(u8),
    Month(u8),
}

/// A kind of event that comes more often at a time than chance would have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rhythm {
    pub kind: String,
    /// One bin, or two of different scales that must both hold.
    pub bins: Vec<Bin>,
    pub events: u32,
    /// Events that chance would put there.
    pub expected: f64,
    /// Probability of as many by chance, before the correction for many tests.
    pub p: f64,
}

/// Bins of a time: the four alone, then hour and day together.
fn bins_of(time: &TimeSignature) -> [Vec<Bin>; 5] {
    let (hour, day) = (Bin::Hour(time.hour), Bin::Day(time.day));
    [vec![hour], vec![day], vec![Bin::Week(time.week)], vec![Bin::Month(time.month)], vec![hour, day]]
}

/// The clusters of kinds in time that are significant, the surest first. `events` are all of experience: what happens in
/// a busy hour is no rhythm of one kind.
pub fn discover<'a>(events: impl IntoIterator<Item = (&'a str, TimeSignature)>, rate: f64) -> Vec<Rhythm> {
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    let mut shares: BTreeMap<Vec<Bin>, u32> = BTreeMap::new();
    let mut together: BTreeMap<(&str, Vec<Bin>), u32> = BTreeMap::new();
    let mut total = 0u32;
    for (kind, time) in events {
        total += 1;
        *kinds.entry(kind).or_insert(0) += 1;
        for bins in bins_of(&time) {
            *shares.entry(bins.clone()).or_insert(0) += 1;
            *together.entry((kind, bins)).or_insert(0) += 1;
        }
    }
    // Every kind in every bin that occurred is a test, whether or not they met.
    let tests = kinds.len() * shares.len();
    let mut found: Vec<Rhythm> = together
        .into_iter()
        .filter(|(_, events)| *events >= LEAST_EVENTS)
        .map(|((kind, bins), events)| {
            let others = f64::from(shares[&bins] - events) + 1.0;
            let share = others / (f64::from(total - kinds[kind]) + bins_in(&bins));
            let expected = f64::from(kinds[kind]) * share;
            let p = binomial_tail(events, kinds[kind], share);
            Rhythm { kind: kind.to_string(), bins, events, expected, p }
        })
        .collect();
    found.sort_by(|a, b| a.p.total_cmp(&b.p).then_with(|| (&a.kind, &a.bins).cmp(&(&b.kind, &b.bins))));
    let last = found.iter().enumerate().rposition(|(i, r)| r.p <= rate * (i + 1) as f64 / tests as f64);
    found.truncate(last.map_or(0, |last| last + 1));
    found
}

/// How many bins of this scale there are: the prior spreads one event over them.
fn bins_in(bins: &[Bin]) -> f64 {
    let of = |bin: &Bin| match bin {
        Bin::Hour(_) => 24.0,
        Bin::Day(_) => 7.0,
        Bin::Week(_) => 4.0,
        Bin::Month(_) => 12.0,
    };
    bins.iter().map(of).product()
}

/// P(X ≥ k) for X ~ Binomial(n, p).
fn binomial_tail(k: u32, n: u32, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 || k > n {
        return 0.0;
    }
    let (n, k) = (f64::from(n), f64::from(k));
    let log_term = ln_choose(n, k) + k * p.ln() + (n - k) * (1.0 - p).ln();
    let (mut sum, mut term, mut i) = (0.0, 1.0, k);
    // Terms relative to the first; beyond the mode they fall geometrically.
    while i <= n && (term > 1e-16 * sum || i < n * p) {
        sum += term;
        term *= (n - i) / (i + 1.0) * p / (1.0 - p);
        i += 1.0;
    }
    (log_term + sum.ln()).exp().min(1.0)
}

fn ln_choose(n: f64, k: f64) -> f64 {
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// Stirling's series after lifting the argument above 10; exact to about 1e-12.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut lifted) = (x, 0.0);
    while x < 10.0 {
        lifted += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let series = inverse * (1.0 / 12.0 - inverse * inverse * (1.0 / 360.0 - inverse * inverse / 1260.0));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - lifted
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{Timestamp, tz::TimeZone};

    fn at(hours: i64) -> TimeSignature {
        // 5 January 2026 is a Monday.
        let start: Timestamp = "2026-01-05T00:00:00Z".parse().expect("a time");
        TimeSignature::of(start + jiff::SignedDuration::from_hours(hours), &TimeZone::UTC)
    }

    #[test]
    fn the_tail_agrees_with_hand_computed_values() {
        assert!((binomial_tail(2, 2, 0.5) - 0.25).abs() < 1e-9);
        assert!((binomial_tail(1, 3, 0.5) - 0.875).abs() < 1e-9);
        assert!((binomial_tail(8, 10, 0.1) - 3.736e-7).abs() < 1e-10);
        assert_eq!((binomial_tail(0, 5, 0.3), binomial_tail(5, 5, 1.0), binomial_tail(1, 5, 0.0)), (1.0, 1.0, 0.0));
        assert!((binomial_tail(10, 1000, 0.1) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_daily_habit_is_found_at_its_hour_and_noise_is_not() {
        let days = 0..60i64;
        let mut events: Vec<(String, TimeSignature)> =
            days.clone().map(|d| ("coffee".into(), at(d * 24 + 8))).collect();
        for n in 0..1500i64 {
            // Other kinds come at all hours.
            events.push((format!("other {}", n % 5), at((n * 7919 + n * n) % 1440)));
        }
        let found = discover(events.iter().map(|(kind, time)| (kind.as_str(), *time)), FALSE_DISCOVERY_RATE);
        assert_eq!((found[0].kind.as_str(), found[0].bins.as_slice()), ("coffee", &[Bin::Hour(8)][..]));
        assert_eq!(found[0].events, 60);
    }

    #[test]
    fn a_weekly_meeting_is_found_in_its_pair_of_bins() {
        let mut events: Vec<(String, TimeSignature)> =
            (0..16i64).map(|week| ("meeting".into(), at(week * 168 + 24 + 10))).collect();
        for n in 0..2000i64 {
            events.push((format!("other {}", n % 7), at((n * 104_729) % 2688)));
        }
        let found = discover(events.iter().map(|(kind, time)| (kind.as_str(), *time)), FALSE_DISCOVERY_RATE);
        assert_eq!((found[0].kind.as_str(), found[0].bins.as_slice()), ("meeting", &[Bin::Hour(10), Bin::Day(1)][..]));
        assert!(found[0].expected < 1.0);
    }

    #[test]
    fn a_busy_hour_is_no_rhythm_of_one_kind() {
        let events = (0..400i64).map(|n| (["a", "b"][(n % 2) as usize], at((n / 2) * 24 + 9)));
        assert!(discover(events, FALSE_DISCOVERY_RATE).is_empty());
    }
}
