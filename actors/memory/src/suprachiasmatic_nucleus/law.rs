//! The signature of a time on the body's local calendar.

use std::f64::consts::TAU;

use jiff::Timestamp;
use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The position of a moment in the day, the week, the month and the year.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeSignature {
    /// Hour of day, 0 to 23.
    pub hour: u8,
    /// Day of week, Monday 0 to Sunday 6.
    pub day: u8,
    /// Quarter of the calendar month by days, 0 to 3: days 1–7, 8–14, 15–21, and the rest.
    pub week: u8,
    /// Month, January 1 to December 12.
    pub month: u8,
    pub phases: Phases,
}

/// Elapsed fractions of the periods, each in [0, 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Seconds of day / 86 400, by the wall clock.
    pub circadian: f64,
    /// From Monday 00:00.
    pub weekly: f64,
    /// From the first of the calendar month.
    pub monthly: f64,
    /// From 1 January.
    pub annual: f64,
}

impl Phases {
    pub fn to_array(self) -> [f64; 4] {
        [self.circadian, self.weekly, self.monthly, self.annual]
    }

    /// As angles in [0, 2π).
    pub fn to_radians(self) -> [f64; 4] {
        self.to_array().map(|phase| phase * TAU)
    }
}

impl TimeSignature {
    /// The signature of `time` in an IANA time zone.
    pub fn of(time: Timestamp, zone: &TimeZone) -> Self {
        Self::of_local(zone.to_datetime(time))
    }

    fn of_local(local: DateTime) -> Self {
        let day_share = (f64::from(local.hour()) * 3600.0
            + f64::from(local.minute()) * 60.0
            + f64::from(local.second())
            + f64::from(local.subsec_nanosecond()) / 1e9)
            / 86_400.0;
        let day = local.weekday().to_monday_zero_offset();
        let share = |days_before: i16, days: i16| (f64::from(days_before) + day_share) / f64::from(days);
        Self {
            hour: local.hour().unsigned_abs(),
            day: day.unsigned_abs(),
            week: ((local.day() - 1) / 7).min(3).unsigned_abs(),
            month: local.month().unsigned_abs(),
            phases: Phases {
                circadian: share(0, 1),
                weekly: share(i16::from(day), 7),
                monthly: share(i16::from(local.day()) - 1, i16::from(local.days_in_month())),
                annual: share(local.day_of_year() - 1, local.days_in_year()),
            },
        }
    }

    /// Similarity of two times, 0 (opposite) to 1 (the same), by circular distance. The hour weighs most: day 0.5,
    /// week 0.25, month 0.1, year 0.15.
    pub fn similarity(&self, other: &Self) -> f64 {
        Self::likeness(self.phases.to_array(), other.phases.to_array())
    }

    /// The same for phases alone.
    pub fn likeness(a: [f64; 4], b: [f64; 4]) -> f64 {
        const WEIGHTS: [f64; 4] = [0.5, 0.25, 0.1, 0.15];
        let pairs = a.into_iter().zip(b);
        pairs.zip(WEIGHTS).map(|((a, b), weight)| weight * (1.0 - 2.0 * circular_distance(a, b))).sum()
    }
}

/// Days since 1970-01-01 of the local calendar day.
pub fn local_day(time: Timestamp, zone: &TimeZone) -> i32 {
    zone.to_datetime(time).date().since(date(1970, 1, 1)).map_or(0, |span| span.get_days())
}

/// Distance of two phases on the circle of length 1: 0 to 0.5.
pub fn circular_distance(a: f64, b: f64) -> f64 {
    let apart = (a - b).rem_euclid(1.0);
    apart.min(1.0 - apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(time: &str, zone: &str) -> TimeSignature {
        TimeSignature::of(time.parse().expect("a time"), &TimeZone::get(zone).expect("a zone"))
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn a_time_has_its_calendar_bins_in_the_local_zone() {
        // Sunday 1 March 2026, 23:30 UTC is Monday 2 March, 00:30 in Berlin.
        let utc = of("2026-03-01T23:30:00Z", "UTC");
        assert_eq!((utc.hour, utc.day, utc.week, utc.month), (23, 6, 0, 3));
        let berlin = of("2026-03-01T23:30:00Z", "Europe/Berlin");
        assert_eq!((berlin.hour, berlin.day, berlin.week, berlin.month), (0, 0, 0, 3));
        assert_eq!(local_day("2026-03-01T23:30:00Z".parse().expect("a time"), &TimeZone::UTC) + 1, {
            local_day("2026-03-01T23:30:00Z".parse().expect("a time"), &TimeZone::get("Europe/Berlin").expect("a zone"))
        });
    }

    #[test]
    fn weeks_of_a_month_are_seven_days_and_the_rest() {
        let week = |day: &str| of(&format!("2026-01-{day}T12:00:00Z"), "UTC").week;
        assert_eq!(["01", "07", "08", "14", "15", "21", "22", "31"].map(week), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn phases_are_the_passed_share_of_each_period() {
        let noon = of("2026-01-05T12:00:00Z", "UTC").phases;
        near(noon.circadian, 0.5);
        near(noon.weekly, 0.5 / 7.0);
        near(noon.monthly, 4.5 / 31.0);
        near(noon.annual, 4.5 / 365.0);
        let last = of("2024-12-31T23:59:59.999Z", "UTC").phases.to_array();
        assert!(last.iter().all(|phase| (0.0..1.0).contains(phase)) && last[3] > 0.99);
    }

    #[test]
    fn likeness_is_circular() {
        let a = of("2026-01-05T23:50:00Z", "UTC");
        let b = of("2026-01-06T00:10:00Z", "UTC");
        let c = of("2026-01-05T12:00:00Z", "UTC");
        near(a.similarity(&a), 1.0);
        assert!(a.similarity(&b) > 0.95 && a.similarity(&c) < 0.6);
        near(circular_distance(0.95, 0.05), 0.1);
    }
}
