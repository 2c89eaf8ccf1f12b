//! Which kinds of events cluster in which time bin, or pair of bins. A cluster must exceed the bin's share of the
//! elapsed time (binomial tail). If enough else happened, it must also exceed the share of other kinds there (Fisher's
//! exact test). False discoveries are controlled over all tests (Benjamini & Hochberg 1995).

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::keys::ClockKeys;
use super::law::TimeSignature;

/// The criteria for a rhythm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RhythmLaw {
    /// Accepted share of false discoveries (Benjamini & Hochberg 1995).
    pub false_discoveries: f64,
    /// With fewer events of a kind in a bin, nothing is said of them.
    pub least_events: u32,
}

impl From<&ClockKeys> for RhythmLaw {
    fn from(keys: &ClockKeys) -> Self {
        Self { false_discoveries: keys.false_discoveries, least_events: keys.rhythm_events_min }
    }
}

impl Default for RhythmLaw {
    fn default() -> Self {
        Self::from(&ClockKeys::default())
    }
}

/// With fewer events of other kinds, a busy time can't be judged.
const LEAST_OTHERS: u32 = 20;
/// Samples of the elapsed time, at most, that measure the bins' shares of it.
const MOST_SAMPLES: i64 = 10_000;

/// A bin of one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bin {
    Hour(u8),
    Day(u8),
    Week(u8),
    Month(u8),
}

/// A kind of event that comes more often at a time than by chance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rhythm {
    pub kind: String,
    /// One bin, or two of different scales that must both match.
    pub bins: Vec<Bin>,
    pub events: u32,
    /// Expected events by chance.
    pub expected: f64,
    /// Probability of as many by chance, before the correction for multiple tests.
    pub p: f64,
}

/// One bin, or two of different scales.
type Bins = (Bin, Option<Bin>);

/// Bins of a time: each of the four alone, then each pair.
fn bins_of(time: &TimeSignature) -> [Bins; 10] {
    let [hour, day, week, month] =
        [Bin::Hour(time.hour), Bin::Day(time.day), Bin::Week(time.week), Bin::Month(time.month)];
    let pairs = [(hour, day), (hour, week), (hour, month), (day, week), (day, month), (week, month)];
    let mut all = [(hour, None); 10];
    all[1..4].copy_from_slice(&[(day, None), (week, None), (month, None)]);
    all[4..].copy_from_slice(&pairs.map(|(a, b)| (a, Some(b))));
    all
}

/// The significant clusters of kinds in time, the surest first. `events` must be all of experience: activity in a busy
/// hour is no rhythm of one kind.
pub fn discover<'a>(
    events: impl IntoIterator<Item = (&'a str, Timestamp)>,
    zone: &TimeZone,
    law: &RhythmLaw,
) -> Vec<Rhythm> {
    let seen = Seen::count(events, zone);
    // Every kind in every occurring bin is a test, whether or not they met.
    let tests = seen.kinds.len() * seen.bins.len();
    let enough = seen.together.iter().filter(|(_, events)| **events >= law.least_events);
    let mut found: Vec<Rhythm> = enough.map(|((kind, bins), events)| seen.test(kind, *bins, *events)).collect();
    found.sort_by(|a, b| a.p.total_cmp(&b.p).then_with(|| (&a.kind, &a.bins).cmp(&(&b.kind, &b.bins))));
    let last =
        found.iter().enumerate().rposition(|(i, r)| r.p <= law.false_discoveries * (i + 1) as f64 / tests as f64);
    found.truncate(last.map_or(0, |last| last + 1));
    found
}

/// Counts of events, and shares of the elapsed time.
#[derive(Default)]
struct Seen<'a> {
    total: u32,
    kinds: BTreeMap<&'a str, u32>,
    bins: BTreeMap<Bins, u32>,
    together: BTreeMap<(&'a str, Bins), u32>,
    time: BTreeMap<Bins, f64>,
}

impl<'a> Seen<'a> {
    fn count(events: impl IntoIterator<Item = (&'a str, Timestamp)>, zone: &TimeZone) -> Self {
        let mut seen = Self::default();
        let mut span: Option<(Timestamp, Timestamp)> = None;
        for (kind, at) in events {
            seen.total += 1;
            *seen.kinds.entry(kind).or_insert(0) += 1;
            for bins in bins_of(&TimeSignature::of(at, zone)) {
                *seen.bins.entry(bins).or_insert(0) += 1;
                *seen.together.entry((kind, bins)).or_insert(0) += 1;
            }
            span = Some(span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
        }
        if let Some((first, last)) = span {
            seen.sample(first, last, zone);
        }
        seen
    }

    /// Walks through the period and counts the elapsed time. A shorter period is extended to a week, so that a single
    /// morning isn't all of time. The step of an odd number of hours plus some minutes meets all hours and days.
    fn sample(&mut self, first: Timestamp, last: Timestamp, zone: &TimeZone) {
        let hours = last.duration_since(first).as_hours().max(168);
        let step = SignedDuration::from_mins(60 * (hours / MOST_SAMPLES * 2 + 1));
        let samples = (hours * 60 / step.as_mins()).max(1);
        let mut at = first;
        for _ in 0..samples {
            for bins in bins_of(&TimeSignature::of(at, zone)) {
                *self.time.entry(bins).or_insert(0.0) += 1.0 / samples as f64;
            }
            at = at.checked_add(step).unwrap_or(at);
        }
    }

    /// The share of events that the elapsed time gives to these bins. For a pair, what one of its bins alone explains
    /// is no news: a daily habit isn't also a habit of Mondays.
    fn share(&self, kind: &str, bins: Bins) -> f64 {
        let time = |bins: Bins| self.time.get(&bins).copied().unwrap_or(0.0);
        let (a, Some(b)) = bins else {
            return time(bins);
        };
        let own = |bin: Bin| {
            let events = self.together.get(&(kind, (bin, None))).copied().unwrap_or(0);
            f64::from(events) / f64::from(self.kinds[kind])
        };
        time(bins).max(own(a) * time((b, None))).max(own(b) * time((a, None)))
    }

    fn test(&self, kind: &str, bins: Bins, events: u32) -> Rhythm {
        let of_kind = self.kinds[kind];
        let share = self.share(kind, bins).max(1e-9);
        let mut p = binomial_tail(events, of_kind, share);
        if self.total - of_kind >= LEAST_OTHERS {
            p = p.max(fisher_tail(events, of_kind, self.bins[&bins], self.total));
        }
        let bins = std::iter::once(bins.0).chain(bins.1).collect();
        Rhythm { kind: kind.to_string(), bins, events, expected: f64::from(of_kind) * share, p }
    }
}

/// P(X ≥ k) when n of `total` events are drawn without replacement and `marked` of them are in the bin.
fn fisher_tail(k: u32, n: u32, marked: u32, total: u32) -> f64 {
    let [k, n, marked, total] = [k, n, marked, total].map(f64::from);
    let all = ln_choose(total, n);
    let (mut sum, mut x) = (0.0, k.max(n + marked - total));
    while x <= n.min(marked) {
        sum += (ln_choose(marked, x) + ln_choose(total - marked, n - x) - all).exp();
        x += 1.0;
    }
    sum.min(1.0)
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
    // Terms relative to the first; beyond the mode they decrease geometrically.
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

/// Stirling's series after raising the argument above 10; exact to about 1e-12.
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

    fn at(hours: i64) -> Timestamp {
        // 5 January 2026 is a Monday.
        let start: Timestamp = "2026-01-05T00:00:00Z".parse().expect("a time");
        start + SignedDuration::from_hours(hours)
    }

    fn found(events: &[(String, Timestamp)]) -> Vec<Rhythm> {
        let events = events.iter().map(|(kind, time)| (kind.as_str(), *time));
        discover(events, &TimeZone::UTC, &RhythmLaw::default())
    }

    /// Events of five kinds at chance times (xorshift, Marsaglia 2003).
    fn others(count: usize, hours: i64) -> Vec<(String, Timestamp)> {
        let mut state = 88_172_645_463_325_252u64;
        let mut chance = |below: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as i64 % below
        };
        (0..count).map(|_| (format!("other {}", chance(5)), at(chance(hours)))).collect()
    }

    #[test]
    fn the_tails_agree_with_hand_computed_values() {
        assert!((binomial_tail(2, 2, 0.5) - 0.25).abs() < 1e-9);
        assert!((binomial_tail(1, 3, 0.5) - 0.875).abs() < 1e-9);
        assert!((binomial_tail(8, 10, 0.1) - 3.736e-7).abs() < 1e-10);
        assert_eq!((binomial_tail(0, 5, 0.3), binomial_tail(5, 5, 1.0), binomial_tail(1, 5, 0.0)), (1.0, 1.0, 0.0));
        assert!((binomial_tail(10, 1000, 0.1) - 1.0).abs() < 1e-6);
        // The lady tasting tea: 4 of 4 right is 1 in 70, at least 3 is 17 in 70 (Fisher 1935).
        assert!((fisher_tail(4, 4, 4, 8) - 1.0 / 70.0).abs() < 1e-9);
        assert!((fisher_tail(3, 4, 4, 8) - 17.0 / 70.0).abs() < 1e-9);
    }

    #[test]
    fn a_daily_habit_is_found_at_its_hour_and_nothing_else_is() {
        let mut events = others(1500, 1440);
        events.extend((0..60i64).map(|day| ("coffee".to_string(), at(day * 24 + 8))));
        let rhythms = found(&events);
        assert_eq!(rhythms.len(), 1, "{rhythms:?}");
        assert_eq!((rhythms[0].kind.as_str(), rhythms[0].bins.as_slice()), ("coffee", &[Bin::Hour(8)][..]));
        assert_eq!(rhythms[0].events, 60);
        assert_eq!(found(&events[1500..]).len(), 1, "the same with nothing else to compare");
    }

    #[test]
    fn a_weekly_meeting_is_found_in_its_pair_of_bins() {
        let mut events = others(2000, 2688);
        events.extend((0..16i64).map(|week| ("meeting".to_string(), at(week * 168 + 24 + 10))));
        let rhythms = found(&events);
        let pair = rhythms.iter().find(|r| r.bins.len() == 2).expect("a pair");
        assert_eq!((pair.kind.as_str(), pair.bins.as_slice()), ("meeting", &[Bin::Hour(10), Bin::Day(1)][..]));
        assert!(rhythms.iter().all(|r| r.kind == "meeting"));
    }

    #[test]
    fn what_comes_in_any_two_bins_of_different_scales_is_found_there() {
        let start = at(0);
        // Every hour of two years, and events that come only in both bins of a pair.
        let hours: Vec<Timestamp> = (0..2 * 8_760i64).map(|hour| start + SignedDuration::from_hours(hour)).collect();
        let signature = |time: &Timestamp| TimeSignature::of(*time, &TimeZone::UTC);
        type Holds = fn(&TimeSignature) -> bool;
        let pairs: [([Bin; 2], Holds); 6] = [
            ([Bin::Hour(10), Bin::Day(1)], |time| time.hour == 10 && time.day == 1),
            ([Bin::Hour(10), Bin::Week(0)], |time| time.hour == 10 && time.week == 0),
            ([Bin::Hour(10), Bin::Month(3)], |time| time.hour == 10 && time.month == 3),
            ([Bin::Day(1), Bin::Week(0)], |time| time.day == 1 && time.week == 0 && time.hour == (time.month * 2) - 1),
            ([Bin::Day(1), Bin::Month(3)], |time| time.day == 1 && time.month == 3 && time.hour % 5 == 2),
            ([Bin::Week(0), Bin::Month(3)], |time| time.week == 0 && time.month == 3 && time.hour % 5 == 2),
        ];
        for (bins, holds) in pairs {
            let own = hours.iter().filter(|time| holds(&signature(time))).map(|time| ("rite".to_owned(), *time));
            let mut events = others(2_000, 2 * 8_760);
            events.extend(own);
            let rhythms = found(&events);
            let own = rhythms.iter().filter(|rhythm| rhythm.kind == "rite");
            let all: Vec<&[Bin]> = own.map(|rhythm| rhythm.bins.as_slice()).collect();
            assert!(all.contains(&&bins[..]), "{bins:?} is not among {all:?}");
        }
    }

    #[test]
    fn a_busy_hour_is_no_rhythm_of_one_kind() {
        let events: Vec<_> =
            (0..400i64).map(|n| (["a", "b"][(n % 2) as usize].to_string(), at((n / 2) * 24 + 9))).collect();
        assert_eq!(found(&events), []);
    }

    #[test]
    fn even_noise_has_no_rhythm() {
        assert_eq!(found(&others(3000, 2000)), []);
        assert_eq!(found(&[]), []);
    }
}
