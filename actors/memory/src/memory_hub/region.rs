//! The memory hub as a room: knows when a session begins and ends, and tells the layers. It has no memory itself.
//!
//! Biology: the medial prefrontal cortex, which tells one episode of life from the next.
//! Law: a session begins with the first percept after a pause. It ends on request, when nothing was perceived for a
//! while, or, if the process was killed in it, at the next start. Sleep follows each end, in every mode.
//! Remembers: the open session, how the last one ended, the present part of sleep. Forgets: sessions that ended.
//! Down: sessions go on meanwhile and end when it is back.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::signals::percept::SalientPercept;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::sleep::{
    EndSession, SessionEnded, SessionEnding, SessionStarted, SleepEnded, SleepEntered, SleepPhase,
};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Settings of sessions.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// Identifies this run of the process: a session of another run was killed with it.
    pub run: String,
    /// A session ends when nothing was perceived for this long. Default 30 min, like a sitting of episodes.
    pub idle: SignedDuration,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Session {
    id: MessageId,
    run: String,
    began: Timestamp,
    last: Timestamp,
    percepts: u64,
}

#[derive(Default, Serialize, Deserialize)]
pub struct MemoryHub {
    session: Option<Session>,
    sessions: u64,
    ended: Option<SessionEnding>,
    /// The present part of sleep; `None` while awake.
    sleeping: Option<SleepPhase>,
    /// Number of records removed from their layers.
    removed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HubEvent {
    Started { id: MessageId, run: String, at: Timestamp },
    Perceived { at: Timestamp },
    Ended { why: SessionEnding },
    Sleeping(Option<SleepPhase>),
    Removed { records: u64 },
}

wiring!(MemoryHub {
    hears: [SalientPercept, EndSession, SleepEntered, SleepEnded, RecordsRemoved, ReportStats],
    back: [],
    emits: [SessionStarted, SessionEnded, StatsReported],
});

impl Region for MemoryHub {
    const NAME: RegionName = rooms::MEMORY_HUB;
    const STAGE: Stage = Stage::Memory;
    type Event = HubEvent;
    type Settings = HubSettings;

    fn apply(&mut self, event: HubEvent) {
        match event {
            HubEvent::Started { id, run, at } => {
                self.sessions += 1;
                self.session = Some(Session { id, run, began: at, last: at, percepts: 1 });
            }
            HubEvent::Perceived { at } => {
                if let Some(session) = &mut self.session {
                    session.last = at;
                    session.percepts += 1;
                }
            }
            HubEvent::Ended { why } => {
                self.session = None;
                self.ended = Some(why);
            }
            HubEvent::Sleeping(phase) => self.sleeping = phase,
            HubEvent::Removed { records } => self.removed += records,
        }
    }

    fn next_deadline(&self, settings: &HubSettings) -> Option<Timestamp> {
        let session = self.session.as_ref()?;
        Some(if session.run == settings.run { session.last.later(settings.idle) } else { session.last })
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(session) = &self.session else { return };
        let killed = session.run != pulse.settings().run;
        let why = if killed { SessionEnding::Killed } else { SessionEnding::Idle };
        self.end(why, pulse);
    }
}

impl MemoryHub {
    fn end(&self, why: SessionEnding, pulse: &mut Pulse<'_, Self>) {
        let Some(session) = &self.session else { return };
        let Session { id, began, last, percepts, .. } = *session;
        pulse.emit(SessionEnded { session: id, began, last, why, percepts });
        pulse.keep(HubEvent::Ended { why });
    }
}

impl Hears<SalientPercept> for MemoryHub {
    fn hear(&self, _percept: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let (now, run) = (pulse.now(), pulse.settings().run.clone());
        match &self.session {
            Some(session) if session.run == run => pulse.keep(HubEvent::Perceived { at: now }),
            former => {
                if former.is_some() {
                    self.end(SessionEnding::Killed, pulse);
                }
                let id = pulse.turn();
                pulse.emit(SessionStarted { session: id, at: now });
                pulse.keep(HubEvent::Started { id, run, at: now });
            }
        }
    }
}

impl Hears<EndSession> for MemoryHub {
    fn hear(&self, _wish: &EndSession, pulse: &mut Pulse<'_, Self>) {
        self.end(SessionEnding::Asked, pulse);
    }
}

impl Hears<SleepEntered> for MemoryHub {
    fn hear(&self, entered: &SleepEntered, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HubEvent::Sleeping(Some(entered.phase)));
    }
}

impl Hears<SleepEnded> for MemoryHub {
    fn hear(&self, _ended: &SleepEnded, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HubEvent::Sleeping(None));
    }
}

impl Hears<RecordsRemoved> for MemoryHub {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        // A repeated message was counted when the record was removed.
        if !removed.again {
            pulse.keep(HubEvent::Removed { records: removed.ids.len() as u64 });
        }
    }
}

impl Hears<ReportStats> for MemoryHub {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({
            "sessions": self.sessions,
            "open": self.session.is_some(),
            "last_ended": self.ended,
            "sleeping": self.sleeping,
            "removed": self.removed,
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
