//! The clocks of the room: oscillators that follow the real time, and the phases at which each kind of event comes.
//!
//! A kind of event has a beat on a clock if it came in most of the clock's turns and always at about the same phase.
//! Its resultant R (Mardia & Jupp 2000) must pass Rayleigh's test, n R² > 4.6, which chance passes in 1 of 100 cases.
//! Events less than half a turn apart are one beat, so that a busy hour is no daily rhythm.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::recall::{ClocksDescribed, ExpectedEvent, PhaseLocked};
use serde::{Deserialize, Serialize};

use super::oscillators::{HebbLaw, Oscillators, PERIODS_HOURS};
use maxim_region::keep_most;

/// n R² at which phases are not random: ln 100.
const RAYLEIGH: f64 = 4.605;
/// The same for telling others: four clocks are tested with each kind, so each may be wrong a fourth as often.
const RAYLEIGH_OF_CLOCKS: f64 = 5.991;
/// Share of the earlier beats that a new one leaves: about the latest fifty count.
const BEATS_KEEP: f64 = 0.98;
/// Weight of a new gap in the mean gap between beats.
const GAP_RATE: f64 = 0.2;
/// On average a beat comes at least every second turn; with larger gaps, a slower clock has it.
const MOST_GAP: f64 = 2.0;
/// Kinds whose beats are kept: the latest ones.
const KINDS: usize = 128;

const CLOCKS: usize = PERIODS_HOURS.len();
/// Names of the clocks' turns.
const NAMES: [&str; CLOCKS] = ["day", "week", "month", "year"];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    oscillators: Oscillators,
    /// When the oscillators were last set to the real phases.
    at: Option<Timestamp>,
    kinds: BTreeMap<String, [Beat; CLOCKS]>,
}

/// Phases of one kind of event on one clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Beat {
    /// Σ sin θ, Σ cos θ and the count, each fading.
    sin: f64,
    cos: f64,
    n: f64,
    /// Mean gap between beats, in turns of the clock; 0 before the second beat.
    gap: f64,
    last: Timestamp,
}

/// Phases of one kind of event on each clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beats([Beat; CLOCKS]);

fn hours_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / 3600.0
}

impl Beat {
    /// `phase` in radians, `period` in hours. An event before the last beat came too late to count.
    fn add(&mut self, phase: f64, at: Timestamp, period: f64) {
        let turns = hours_between(self.last, at) / period;
        if self.n > 0.0 {
            if turns < 0.5 {
                return;
            }
            self.gap = if self.gap == 0.0 { turns } else { self.gap + GAP_RATE * (turns - self.gap) };
        }
        self.sin = self.sin * BEATS_KEEP + phase.sin();
        self.cos = self.cos * BEATS_KEEP + phase.cos();
        self.n = self.n * BEATS_KEEP + 1.0;
        self.last = at;
    }

    /// R, 0 (any time) to 1 (always the same phase).
    fn strength(&self) -> f64 {
        self.sin.hypot(self.cos) / self.n.max(1.0)
    }

    fn is_rhythm(&self) -> bool {
        self.passes(RAYLEIGH)
    }

    /// True for a rhythm that is reported to other rooms.
    fn is_locked(&self) -> bool {
        self.passes(RAYLEIGH_OF_CLOCKS)
    }

    fn passes(&self, least: f64) -> bool {
        self.n * self.strength().powi(2) > least && self.gap <= MOST_GAP
    }

    /// Mean phase, radians.
    fn phase(&self) -> f64 {
        self.sin.atan2(self.cos).rem_euclid(TAU)
    }
}

impl Clocks {
    /// Notes a moment: the clocks run until then, learn from their relative phases, and are set. `phases` in radians,
    /// day to year. A moment that isn't after the previous one changes nothing.
    pub fn observe(&mut self, at: Timestamp, phases: &[f64; CLOCKS], law: &HebbLaw) {
        let hours = self.at.map_or(0.0, |before| hours_between(before, at));
        if self.at.is_none_or(|before| before < at) {
            self.oscillators.observe(hours, phases, law);
            self.at = Some(at);
        }
    }

    /// Events of these kinds came at this time.
    pub fn came(&mut self, kinds: Vec<String>, at: Timestamp, phases: &[f64; CLOCKS]) {
        for kind in kinds {
            let beats = self.kinds.entry(kind).or_default();
            let clocks = phases.iter().zip(PERIODS_HOURS);
            beats.iter_mut().zip(clocks).for_each(|(beat, (phase, period))| beat.add(*phase, at, period));
        }
        keep_most(&mut self.kinds, KINDS, |a, b| a[0].last.cmp(&b[0].last));
    }

    /// What these events change in the known rhythms.
    pub fn locking(&self, kinds: &[String], at: Timestamp, phases: &[f64; CLOCKS]) -> Vec<PhaseLocked> {
        let mut changes = Vec::new();
        for kind in kinds {
            let before = self.kinds.get(kind).copied().unwrap_or_default();
            for (clock, period) in PERIODS_HOURS.into_iter().enumerate() {
                let mut after = before[clock];
                after.add(phases[clock], at, period);
                if after.is_locked() != before[clock].is_locked() {
                    changes.push(PhaseLocked {
                        kind: kind.clone(),
                        clock: NAMES[clock].into(),
                        phase: after.phase(),
                        coupling: after.strength().clamp(0.0, 1.0),
                        holds: after.is_locked(),
                    });
                }
            }
        }
        changes
    }

    /// The beats of a kind by these times alone, each with its phases; `None` without times. Also returns what this
    /// changes in the known rhythms.
    pub fn relearned(&self, kind: &str, times: &[(Timestamp, [f64; CLOCKS])]) -> (Option<Beats>, Vec<PhaseLocked>) {
        let mut after: [Beat; CLOCKS] = Default::default();
        for (at, phases) in times {
            let clocks = phases.iter().zip(PERIODS_HOURS);
            after.iter_mut().zip(clocks).for_each(|(beat, (phase, period))| beat.add(*phase, *at, period));
        }
        let before = self.kinds.get(kind).copied().unwrap_or_default();
        let changed =
            before.iter().zip(&after).zip(NAMES).filter(|((one, other), _)| one.is_locked() != other.is_locked());
        let changes = changed.map(|((_, beat), clock)| PhaseLocked {
            kind: kind.to_owned(),
            clock: clock.into(),
            phase: beat.phase(),
            coupling: beat.strength().clamp(0.0, 1.0),
            holds: beat.is_locked(),
        });
        let changes = changes.collect();
        ((!times.is_empty()).then_some(Beats(after)), changes)
    }

    /// Sets or removes the beats of a kind.
    pub fn set(&mut self, kind: String, beats: Option<Beats>) {
        match beats {
            Some(Beats(beats)) => drop(self.kinds.insert(kind, beats)),
            None => drop(self.kinds.remove(&kind)),
        }
    }

    /// When the oscillators were last set, and when the latest known event came.
    pub fn latest(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        (self.at, self.kinds.values().map(|beats| beats[0].last).max())
    }

    /// True if their number is right, which a file may violate.
    pub fn are_sound(&self) -> bool {
        self.oscillators.count() == Some(CLOCKS)
    }

    /// The state of the clocks. `phases`: the real ones of now, which are also those of clocks that were never set.
    pub fn describe(&self, now: Timestamp, phases: &[f64; CLOCKS]) -> ClocksDescribed {
        let mut ahead = self.oscillators.clone();
        match self.at {
            Some(at) => ahead.advance(hours_between(at, now)),
            None => ahead.set_phases(phases),
        }
        let (coherence, anomaly) = (ahead.coherence(), ahead.anomaly(phases));
        let predicted = ahead.phases().to_vec();
        ahead.set_phases(phases);
        let mut expected: Vec<ExpectedEvent> =
            self.kinds.iter().filter_map(|(kind, beats)| expect(kind, beats, &ahead, now)).collect();
        expected.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.kind.cmp(&b.kind)));
        ClocksDescribed { coherence, anomaly, predicted, eigenvalues: ahead.eigenvalues(), expected }
    }
}

/// The slowest clock with a beat predicts the next event: an event on Tuesdays at ten also comes at ten.
fn expect(kind: &str, beats: &[Beat; CLOCKS], now_set: &Oscillators, now: Timestamp) -> Option<ExpectedEvent> {
    let clock = beats.iter().rposition(Beat::is_rhythm)?;
    let (beat, period_hours) = (beats[clock], PERIODS_HOURS[clock]);
    let hours = now_set.hours_until(clock, beat.phase())?;
    let at = now.checked_add(SignedDuration::from_secs((hours * 3600.0).round() as i64)).ok()?;
    let apart = hours.min(period_hours - hours) / (period_hours / 2.0);
    Some(ExpectedEvent { kind: kind.to_owned(), at, period_hours, strength: beat.strength(), anomaly: apart })
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::suprachiasmatic_nucleus::law::TimeSignature;

    /// 5 January 2026 is a Monday.
    fn at(hours: i64) -> Timestamp {
        let start: Timestamp = "2026-01-05T00:00:00Z".parse().expect("a time");
        start + SignedDuration::from_hours(hours)
    }

    fn phases(at: Timestamp) -> [f64; 4] {
        TimeSignature::of(at, &TimeZone::UTC).phases.to_radians()
    }

    fn lived(clocks: &mut Clocks, hours: i64, kind: &str) {
        let (at, phases) = (at(hours), phases(at(hours)));
        clocks.observe(at, &phases, &HebbLaw::default());
        clocks.came(vec![kind.into()], at, &phases);
    }

    fn expected(clocks: &Clocks, hours: i64) -> Vec<(String, Timestamp)> {
        let told = clocks.describe(at(hours), &phases(at(hours)));
        told.expected.into_iter().map(|one| (one.kind, one.at)).collect()
    }

    #[test]
    fn a_daily_event_is_expected_tomorrow_and_a_weekly_one_next_week() {
        let mut clocks = Clocks::default();
        for day in 0..56 {
            lived(&mut clocks, 24 * day + 7, "water");
            if day % 7 == 1 {
                lived(&mut clocks, 24 * day + 10, "meet");
            }
            lived(&mut clocks, 24 * day + 11 + (day * 5) % 12, "bash");
        }
        // Monday of the ninth week, noon.
        let found = expected(&clocks, 24 * 56 + 12);
        let told = |kind: &str, days: std::ops::Range<i64>| {
            let mut clocks = Clocks::default();
            let mut told = Vec::new();
            for day in days {
                // At seven in the first weeks, then at any hour.
                let hour = 24 * day + if day < 14 { 7 } else { (day * 7) % 24 };
                told.extend(clocks.locking(&[kind.to_owned()], at(hour), &phases(at(hour))));
                lived(&mut clocks, hour, kind);
            }
            told
        };
        let locked = told("water", 0..14);
        assert_eq!((locked[0].clock.as_str(), locked[0].holds, locked.len()), ("day", true, 1), "{locked:?}");
        assert!((locked[0].phase - TAU * 7.0 / 24.0).abs() < 1e-6 && locked[0].coupling > 0.99, "{locked:?}");
        let lost = told("water", 0..120);
        assert!(!lost.iter().rfind(|one| one.clock == "day").expect("told").holds, "{lost:?}");
        let of = |kind: &str| found.iter().find(|(name, _)| name == kind).expect("a rhythm").1;
        let near = |found: Timestamp, wanted: i64| hours_between(at(wanted), found).abs() < 0.1;
        assert!(near(of("water"), 24 * 57 + 7) && near(of("meet"), 24 * 57 + 10), "{found:?}");
    }

    #[test]
    fn a_busy_hour_or_a_time_of_its_own_each_day_is_nothing_to_expect() {
        let mut busy = Clocks::default();
        (0..50).for_each(|_| lived(&mut busy, 9, "bash"));
        (0..50).for_each(|n| lived(&mut busy, 10 + n / 25, "bash"));
        assert_eq!(expected(&busy, 12), []);
        let mut scattered = Clocks::default();
        (0..60).for_each(|day| lived(&mut scattered, 24 * day + (day * 7) % 24, "bash"));
        assert_eq!(expected(&scattered, 24 * 60), []);
    }

    #[test]
    fn weeks_of_silence_are_no_surprise_and_a_time_that_jumped_in_them_is() {
        // From this anomaly on, a model is told that the time is unusual (habit).
        const TOLD: f64 = 0.1;
        // The relative phase of two slow clocks depends on the time of the year.
        for start in (0..365).step_by(30).map(|day| 24 * day + 9) {
            let mut clocks = Clocks::default();
            for minute in (0..3).flat_map(|day| (0..60).map(move |n| 60 * 24 * day + n)) {
                let at = at(start) + SignedDuration::from_mins(minute);
                clocks.observe(at, &phases(at), &HebbLaw::default());
            }
            for now in (1..=8).map(|weeks| start + 24 * 7 * weeks) {
                let told = |shown: i64| clocks.describe(at(now), &phases(at(shown))).anomaly;
                assert!(told(now) < TOLD, "{} after {}: {}", at(now), at(start), told(now));
                assert!(told(now + 12) >= TOLD, "{} after {}: {}", at(now), at(start), told(now + 12));
            }
        }
    }

    #[test]
    fn the_clocks_foresee_the_time_and_notice_one_that_jumped() {
        let mut clocks = Clocks::default();
        (0..20).for_each(|day| lived(&mut clocks, 24 * day + 7, "water"));
        let told = |now: i64, shown: i64| clocks.describe(at(now), &phases(at(shown)));
        assert!(told(24 * 20, 24 * 20).anomaly < 0.02);
        let jumped = told(24 * 20, 24 * 20 + 12);
        assert!(jumped.anomaly > 0.2, "the zone is another: {jumped:?}");
        assert_eq!(jumped.eigenvalues.len(), 4);
        assert!(jumped.eigenvalues.iter().sum::<f64>().abs() < 1e-9, "the trace of W is 0");
        let off = |now: i64| told(now, now).expected[0].anomaly;
        assert!(off(24 * 20 + 7) < 0.01 && off(24 * 20 + 19) > 0.99);
    }
}
