//! One sleep from beginning to end: its phase, what it waits for, and its results so far.

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use maxim_bus::MessageId;
use maxim_bus::RegionName;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{Layer, LayerConsolidated};
use maxim_bus::signals::sleep::{EpisodeTally, KnowledgeTally, SleepPhase, SleepReason, SleepReport};
use serde::{Deserialize, Serialize};

/// The layers of knowledge, in the order in which they consolidate.
pub const LAYERS: [(Layer, RegionName); 2] =
    [(Layer::Atl, rooms::ANTERIOR_TEMPORAL_LOBE), (Layer::AngularGyrus, rooms::ANGULAR_GYRUS)];

/// A sleep in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sleep {
    pub id: MessageId,
    pub why: SleepReason,
    pub began: Timestamp,
    pub phase: SleepPhase,
    /// A room was asked and has not answered.
    pub asked: bool,
    /// When it continues, or asks again.
    pub due: Timestamp,
    /// The run of the process in which it last asked. A later run never gets the answer.
    pub run: String,
    /// Questions without an answer in this phase.
    pub tries: u32,
    pub tally: EpisodeTally,
    /// Layers of knowledge that have consolidated.
    pub layers: usize,
    pub knowledge: KnowledgeTally,
    pub promoted: u64,
    pub reinforced: u64,
    /// Promotions in which a room was not heard.
    pub unheard: u32,
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
            run: String::new(),
            tries: 0,
            tally: EpisodeTally::default(),
            layers: 0,
            knowledge: KnowledgeTally::default(),
            promoted: 0,
            reinforced: 0,
            unheard: 0,
            interruptions: 0,
            missing: Vec::new(),
            askers: Vec::new(),
        }
    }

    /// The answer can't come any more, because another run of the process asked. A promotion continues without being
    /// asked again.
    pub fn is_unheard(&self, run: &str) -> bool {
        self.run != run && self.phase != SleepPhase::Promoting
    }

    /// The layer to consolidate next.
    pub fn layer(&self) -> Option<(Layer, RegionName)> {
        LAYERS.get(self.layers).copied()
    }

    /// Adds the results of a layer's step.
    pub fn consolidated(&mut self, step: &LayerConsolidated) {
        let all = &mut self.knowledge;
        all.looked_at += step.looked_at;
        all.compressed += step.compressed;
        all.pruned += step.pruned;
        all.bytes_before += step.bytes_before;
        all.bytes_after += step.bytes_after;
        self.layers += usize::from(step.done);
    }

    pub fn report(&self, sessions: u64, ended: Timestamp) -> SleepReport {
        SleepReport {
            sleep: self.id,
            why: self.why,
            began: self.began,
            ended,
            sessions,
            episodes: self.tally,
            knowledge: self.knowledge,
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

/// The next time after `now` at which the local clock shows `time`.
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
