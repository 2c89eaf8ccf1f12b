//! One sleep from its beginning to its end: which part it is in, what it waits for, and what came of it so far.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use maxim_bus::MessageId;
use maxim_bus::signals::sleep::{EpisodeTally, SleepPhase, SleepReason, SleepReport};
use serde::{Deserialize, Serialize};

/// A sleep under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sleep {
    pub id: MessageId,
    pub why: SleepReason,
    pub began: Timestamp,
    pub phase: SleepPhase,
    /// Somebody was asked and has not answered.
    pub asked: bool,
    /// When it goes on, or asks again.
    pub due: Timestamp,
    /// Questions without an answer in this phase.
    pub tries: u32,
    pub tally: EpisodeTally,
    pub promoted: u64,
    pub reinforced: u64,
    pub interruptions: u64,
    pub missing: Vec<String>,
    /// Requests that it answers.
    pub askers: Vec<MessageId>,
}

impl Sleep {
    pub fn new(id: MessageId, why: SleepReason, began: Timestamp) -> Self {
        Self {
            id,
            why,
            began,
            phase: SleepPhase::Scoring,
            asked: false,
            due: began,
            tries: 0,
            tally: EpisodeTally::default(),
            promoted: 0,
            reinforced: 0,
            interruptions: 0,
            missing: Vec::new(),
            askers: Vec::new(),
        }
    }

    pub fn report(&self, sessions: u64, ended: Timestamp) -> SleepReport {
        SleepReport {
            sleep: self.id,
            why: self.why,
            began: self.began,
            ended,
            sessions,
            episodes: self.tally,
            promoted: self.promoted,
            reinforced: self.reinforced,
            interruptions: self.interruptions,
            missing: self.missing.clone(),
        }
    }
}

/// The phase after this one.
pub fn after(phase: SleepPhase) -> Option<SleepPhase> {
    match phase {
        SleepPhase::Scoring => Some(SleepPhase::Promoting),
        SleepPhase::Promoting => Some(SleepPhase::Compressing),
        SleepPhase::Compressing => Some(SleepPhase::Layers),
        SleepPhase::Layers => None,
    }
}

/// The next time after `now` at which the clock on the wall shows `time`.
pub fn next_at(time: Time, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let today = now.to_zoned(zone.clone()).date();
    let on = |date: jiff::civil::Date| Some(zone.to_zoned(date.to_datetime(time)).ok()?.timestamp());
    on(today).filter(|at| *at > now).or_else(|| on(today.tomorrow().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_night_is_found_also_when_the_clocks_change() {
        let zone = TimeZone::get("Europe/Berlin").expect("a zone");
        let three = Time::constant(3, 0, 0, 0);
        let next = |now: &str| next_at(three, &zone, now.parse().expect("a time")).expect("a next").to_string();
        assert_eq!(next("2026-01-05T01:00:00Z"), "2026-01-05T02:00:00Z");
        assert_eq!(next("2026-01-05T02:00:00Z"), "2026-01-06T02:00:00Z");
        // On 29 March 2026 the clock goes from 2 to 3 at 01:00 UTC.
        assert_eq!(next("2026-03-28T12:00:00Z"), "2026-03-29T01:00:00Z");
    }
}
