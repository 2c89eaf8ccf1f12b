//! Consolidation as a room: conducts sleep. The layers work on their own records, one step per request.
//!
//! Biology: slow-wave sleep, in which the hippocampus replays the day and lets go of most of it (Diekelmann & Born 2010).
//! Law: score and mark; promote while every source exists; compress or remove the marked episodes; then the layers of
//! knowledge do their upkeep. Only one step is in progress at a time, so percepts come in between. After a percept it
//! pauses.
//! Remembers: the sleep in progress, as a cursor that survives a crash at any step; the report of the last sleep.
//! Forgets: the sleep, once it has ended.
//! Down: nothing is forgotten meanwhile; memory grows until it is back.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{ConsolidateLayer, LayerConsolidated};
use maxim_bus::signals::percept::SalientPercept;
use maxim_bus::signals::promotion::{Promote, PromotionEnded};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::sleep::{
    CompressEpisodes, EpisodesCompressed, EpisodesScored, RequestSleep, ScoreEpisodes, SessionEnded, SessionStarted,
    SleepEnded, SleepEntered, SleepPhase, SleepReason, SleepReport,
};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::conduct::{Sleep, after, next_at};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Settings of sleep.
#[derive(Clone, Debug)]
pub struct ConsolidationSettings {
    /// Identifies this run of the process.
    pub run: String,
    /// The time zone for nights.
    pub zone: TimeZone,
    /// The time of the daily sleep; none: no daily sleep. Default 03:00.
    pub nightly: Option<Time>,
    /// How long a step may take before it is requested again. Default 10 s.
    pub patience: SignedDuration,
    /// How long it pauses after a percept. Default 1 s.
    pub pause: SignedDuration,
}

impl Default for ConsolidationSettings {
    fn default() -> Self {
        Self {
            run: String::new(),
            zone: TimeZone::UTC,
            nightly: Some(Time::constant(3, 0, 0, 0)),
            patience: SignedDuration::from_secs(10),
            pause: SignedDuration::from_secs(1),
        }
    }
}

/// Questions without an answer after which a part of sleep is skipped.
const MOST_TRIES: u32 = 5;
/// Maximum number of promotions in one sleep. A crash loses a promotion's questions and answers, so it must be
/// requested again afterwards.
const MOST_PROMOTIONS: u32 = 3;
/// Records of a layer of knowledge examined per step.
const LAYER_STEP: usize = 64;
/// Maximum number of requests that one sleep answers; later ones are told that it is already asleep.
const MOST_ASKERS: usize = 64;

#[derive(Default, Serialize, Deserialize)]
pub struct Consolidation {
    sleep: Option<Box<Sleep>>,
    last: Option<Box<SleepReport>>,
    sleeps: u64,
    /// Sessions since the last sleep.
    sessions: u64,
    /// Something was perceived since the last sleep began.
    stirred: bool,
    /// No step before this time.
    awake_until: Option<Timestamp>,
    /// The next daily sleep.
    planned: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ConsolidationEvent {
    /// Something was perceived: sleep pauses until then.
    Stirred {
        until: Timestamp,
    },
    SessionCounted,
    Planned(Timestamp),
    Began(Box<Sleep>),
    Went(Box<Sleep>),
    Ended(Box<SleepReport>),
}

wiring!(Consolidation {
    hears: [
        SalientPercept,
        SessionStarted,
        SessionEnded,
        RequestSleep,
        EpisodesScored,
        PromotionEnded,
        EpisodesCompressed,
        LayerConsolidated,
        ReportStats,
    ],
    back: [],
    emits: [ScoreEpisodes, Promote, CompressEpisodes, ConsolidateLayer, SleepEntered, SleepEnded, StatsReported],
});

impl Region for Consolidation {
    const NAME: RegionName = rooms::CONSOLIDATION;
    const STAGE: Stage = Stage::Sleep;
    type Event = ConsolidationEvent;
    type Settings = ConsolidationSettings;

    fn apply(&mut self, event: ConsolidationEvent) {
        match event {
            ConsolidationEvent::Stirred { until } => {
                self.stirred = true;
                self.awake_until = Some(until);
                if let Some(sleep) = &mut self.sleep {
                    sleep.interruptions += 1;
                }
            }
            ConsolidationEvent::SessionCounted => self.sessions += 1,
            ConsolidationEvent::Planned(at) => self.planned = Some(at),
            ConsolidationEvent::Began(sleep) => {
                self.stirred = false;
                self.sleep = Some(sleep);
            }
            ConsolidationEvent::Went(sleep) => self.sleep = Some(sleep),
            ConsolidationEvent::Ended(report) => {
                self.sleep = None;
                self.sessions = 0;
                self.sleeps += 1;
                self.last = Some(report);
            }
        }
    }

    fn next_deadline(&self, settings: &ConsolidationSettings) -> Option<Timestamp> {
        match &self.sleep {
            Some(sleep) if sleep.is_unheard(&settings.run) => Some(Timestamp::UNIX_EPOCH),
            Some(sleep) => Some(sleep.due),
            None => self.planned,
        }
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        match &self.sleep {
            Some(sleep) if sleep.due <= pulse.now() || sleep.is_unheard(&pulse.settings().run) => {
                self.go_on(sleep.as_ref().clone(), pulse)
            }
            None if self.planned.is_some_and(|planned| planned <= pulse.now()) => {
                self.plan(pulse);
                self.begin(SleepReason::Schedule, None, pulse);
            }
            _ => {}
        }
    }
}

impl Consolidation {
    /// True while it sleeps.
    pub fn is_asleep(&self) -> bool {
        self.sleep.is_some()
    }

    /// The report of the last sleep.
    pub fn last(&self) -> Option<&SleepReport> {
        self.last.as_deref()
    }

    /// Sets the time of the next daily sleep; far in the future when there is none.
    fn plan(&self, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let next = settings.nightly.and_then(|time| next_at(time, &settings.zone, pulse.now()));
        pulse.keep(ConsolidationEvent::Planned(next.unwrap_or(Timestamp::MAX)));
    }

    fn begin(&self, why: SleepReason, asker: Option<MessageId>, pulse: &mut Pulse<'_, Self>) {
        if let Some(sleep) = &self.sleep {
            if let Some(asker) = asker.filter(|_| sleep.askers.len() < MOST_ASKERS) {
                let mut sleep = sleep.as_ref().clone();
                sleep.askers.push(asker);
                pulse.keep(ConsolidationEvent::Went(Box::new(sleep)));
            }
            return;
        }
        let mut sleep = Sleep::new(pulse.fresh_id(), why, pulse.now());
        sleep.askers.extend(asker);
        pulse.emit(SleepEntered { sleep: sleep.id, phase: sleep.phase });
        pulse.keep(ConsolidationEvent::Began(Box::new(sleep.clone())));
        self.step(sleep, pulse);
    }

    /// The expected answer has come, or its time has passed.
    fn go_on(&self, mut sleep: Sleep, pulse: &mut Pulse<'_, Self>) {
        if sleep.asked {
            sleep.tries += 1;
            if sleep.tries >= MOST_TRIES {
                let layer = sleep.layer().filter(|_| sleep.phase == SleepPhase::Layers);
                let part =
                    layer.map_or_else(|| format!("{:?}", sleep.phase).to_lowercase(), |(layer, _)| layer.to_string());
                sleep.missing.push(format!("{part}: no answer after {MOST_TRIES} questions"));
                if layer.is_none() {
                    return self.enter_next(sleep, pulse);
                }
                (sleep.layers, sleep.tries) = (sleep.layers + 1, 0);
            }
        }
        self.step(sleep, pulse);
    }

    /// Requests the next step, unless a person has just said something.
    fn step(&self, mut sleep: Sleep, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        sleep.run.clone_from(&pulse.settings().run);
        if let Some(until) = self.awake_until.filter(|until| *until > now) {
            (sleep.asked, sleep.due) = (false, until);
            return pulse.keep(ConsolidationEvent::Went(Box::new(sleep)));
        }
        match sleep.phase {
            SleepPhase::Scoring => {
                pulse.ask(ScoreEpisodes { sleep: sleep.id });
            }
            SleepPhase::Promoting => {
                pulse.ask(Promote { by: Self::NAME.into() });
            }
            SleepPhase::Compressing => {
                pulse.ask(CompressEpisodes { sleep: sleep.id });
            }
            SleepPhase::Layers => match sleep.layer() {
                Some((_, room)) => {
                    pulse.ask_room(room, ConsolidateLayer { step: LAYER_STEP });
                }
                None => return self.enter_next(sleep, pulse),
            },
        }
        (sleep.asked, sleep.due) = (true, now.later(pulse.settings().patience));
        pulse.keep(ConsolidationEvent::Went(Box::new(sleep)));
    }

    /// Enters the next phase, or ends.
    fn enter_next(&self, mut sleep: Sleep, pulse: &mut Pulse<'_, Self>) {
        (sleep.asked, sleep.tries) = (false, 0);
        match after(sleep.phase) {
            Some(phase) => {
                sleep.phase = phase;
                pulse.emit(SleepEntered { sleep: sleep.id, phase });
                self.step(sleep, pulse);
            }
            None => {
                let report = sleep.report(self.sessions, pulse.now());
                pulse.emit(SleepEnded { report: report.clone(), askers: sleep.askers });
                pulse.keep(ConsolidationEvent::Ended(Box::new(report)));
            }
        }
    }

    /// The sleep in progress, if it is this one and in this phase. Late answers of other sleeps change nothing.
    fn current(&self, sleep: Option<MessageId>, phase: SleepPhase) -> Option<Sleep> {
        let current = self.sleep.as_deref().filter(|current| current.phase == phase && current.asked)?;
        sleep.is_none_or(|id| id == current.id).then(|| Sleep { tries: 0, asked: false, ..current.clone() })
    }
}

impl Hears<SalientPercept> for Consolidation {
    fn hear(&self, _percept: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        if self.planned.is_none() {
            self.plan(pulse);
        }
        if self.sleep.is_some() || !self.stirred {
            pulse.keep(ConsolidationEvent::Stirred { until: pulse.now().later(pulse.settings().pause) });
        }
    }
}

impl Hears<SessionStarted> for Consolidation {
    fn hear(&self, _started: &SessionStarted, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(ConsolidationEvent::SessionCounted);
    }
}

impl Hears<SessionEnded> for Consolidation {
    fn hear(&self, _ended: &SessionEnded, pulse: &mut Pulse<'_, Self>) {
        self.begin(SleepReason::SessionEnd, None, pulse);
    }
}

impl Hears<RequestSleep> for Consolidation {
    fn hear(&self, _request: &RequestSleep, pulse: &mut Pulse<'_, Self>) {
        let asker = pulse.cause().map(|cause| cause.id);
        self.begin(SleepReason::Asked, asker, pulse);
    }
}

impl Hears<EpisodesScored> for Consolidation {
    fn hear(&self, scored: &EpisodesScored, pulse: &mut Pulse<'_, Self>) {
        let Some(mut sleep) = self.current(Some(scored.sleep), SleepPhase::Scoring) else { return };
        sleep.tally = scored.tally;
        match scored.done {
            true => self.enter_next(sleep, pulse),
            false => self.step(sleep, pulse),
        }
    }
}

impl Hears<PromotionEnded> for Consolidation {
    fn hear(&self, ended: &PromotionEnded, pulse: &mut Pulse<'_, Self>) {
        let Some(mut sleep) = self.current(None, SleepPhase::Promoting) else { return };
        // A promotion that went on without a room has already taught part of it.
        sleep.promoted += ended.created;
        sleep.reinforced += ended.reinforced;
        if !ended.unheard.is_empty() {
            sleep.unheard += 1;
            if sleep.unheard < MOST_PROMOTIONS {
                return self.step(sleep, pulse);
            }
        }
        sleep.missing.extend(ended.reason.iter().map(|reason| format!("promotion: {reason}")));
        self.enter_next(sleep, pulse);
    }
}

impl Hears<EpisodesCompressed> for Consolidation {
    fn hear(&self, compressed: &EpisodesCompressed, pulse: &mut Pulse<'_, Self>) {
        let Some(mut sleep) = self.current(Some(compressed.sleep), SleepPhase::Compressing) else { return };
        sleep.tally = compressed.tally;
        match compressed.done {
            true => self.enter_next(sleep, pulse),
            false => self.step(sleep, pulse),
        }
    }
}

impl Hears<LayerConsolidated> for Consolidation {
    fn hear(&self, done: &LayerConsolidated, pulse: &mut Pulse<'_, Self>) {
        let Some(mut sleep) = self.current(None, SleepPhase::Layers) else { return };
        if sleep.layer().is_some_and(|(layer, _)| layer == done.layer) {
            sleep.consolidated(done);
            self.step(sleep, pulse);
        }
    }
}

impl Hears<ReportStats> for Consolidation {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({
            "asleep": self.is_asleep(),
            "phase": self.sleep.as_ref().map(|sleep| sleep.phase),
            "sleeps": self.sleeps,
            "last": self.last.as_ref().map(|last| serde_json::json!({
                "why": last.why,
                "episodes": last.episodes,
                "knowledge": last.knowledge,
                "promoted": last.promoted,
                "reinforced": last.reinforced,
                "missing": last.missing,
            })),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
