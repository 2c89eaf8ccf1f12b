//! ExecutionTracker: what was begun, and whether it ended.
//!
//! Biology: the efference copy, by which a brain knows that it acts.
//! Law: an action is on disk before it begins. An action that has begun and has no outcome after a crash is `unknown`:
//! one that may be repeated is, any other never without asking. Each effect happens at most once.
//! Remembers: open actions, and the latest intents, so that none begins twice. Forgets: an action that has its outcome.
//! Down: cleared intents wait; the gate issues them again.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::outcome::{ExecutionStarted, FailureKind, ToolResult};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use crate::gate::ClearedIntent;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Intents that are remembered as begun; a clearance older than these has expired.
const REMEMBERED: usize = 4096;

/// How the tracker is set up.
#[derive(Clone, Debug)]
pub struct TrackerSettings {
    /// Names this process: an action that another one began has nobody left who could end it.
    pub boot: u64,
    /// How long the executor may take for one tool, its own deadline and some grace.
    pub limit: SignedDuration,
    /// Tools that may be repeated: reading, or writing the same again.
    pub repeatable: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExecutionTracker {
    open: BTreeMap<MessageId, Open>,
    begun: VecDeque<MessageId>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    intent: MessageId,
    boot: u64,
    began: Timestamp,
    trust: Trust,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TrackerEvent {
    Began { action: MessageId, intent: MessageId, boot: u64, at: Timestamp, trust: Trust },
    Ended { action: MessageId },
}

wiring!(ExecutionTracker { hears: [ClearedIntent, ToolResult], back: [], emits: [ExecutionStarted, ToolResult] });

impl Region for ExecutionTracker {
    const NAME: RegionName = "execution_tracker";
    const STAGE: Stage = Stage::Action;
    type Event = TrackerEvent;
    type Settings = TrackerSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: TrackerEvent) {
        match event {
            TrackerEvent::Began { action, intent, boot, at, trust } => {
                self.open.insert(action, Open { intent, boot, began: at, trust });
                if !self.begun.contains(&intent) {
                    self.begun.push_back(intent);
                }
                if self.begun.len() > REMEMBERED {
                    self.begun.pop_front();
                }
            }
            TrackerEvent::Ended { action } => {
                self.open.remove(&action);
            }
        }
    }

    fn next_deadline(&self, settings: &TrackerSettings) -> Option<Timestamp> {
        self.open.values().map(|open| open.due(settings)).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let settings = pulse.settings();
        for (action, open) in self.open.iter().filter(|(_, open)| open.due(settings) <= now) {
            self.resolve(*action, open, pulse);
        }
    }
}

impl Open {
    /// When nobody will report its end any more.
    fn due(&self, settings: &TrackerSettings) -> Timestamp {
        if self.boot == settings.boot { self.began + settings.limit } else { self.began }
    }
}

fn record_key(action: MessageId) -> Vec<u8> {
    format!("open/{action}").into_bytes()
}

impl ExecutionTracker {
    /// Whether it happened is not known.
    fn resolve(&self, action: MessageId, open: &Open, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TrackerEvent::Ended { action });
        let Some(started) = pulse.record::<ExecutionStarted>(&record_key(action)) else { return };
        pulse.remove(record_key(action));
        let turn = started.intent.turn;
        let crashed = open.boot != pulse.settings().boot;
        if crashed && pulse.settings().repeatable.contains(&started.intent.tool) {
            self.begin(started.intent_id, started.intent, started.rule, started.attempt + 1, open.trust, pulse);
            return;
        }
        let why = if crashed {
            "it had begun when the process went down; whether it happened is not known, so it is not repeated without asking"
        } else {
            "the executor has not reported its end; whether it happened is not known"
        };
        let result = ToolResult {
            action,
            intent: started.intent_id,
            turn,
            tool: started.intent.tool,
            params: started.intent.params,
            success: None,
            output: serde_json::Value::Null,
            error: Some(why.into()),
            failure: Some(FailureKind::Unknown),
            duration_us: 0,
            side_effects: Vec::new(),
        };
        pulse.emit_trusted(turn, open.trust, result);
    }

    fn begin(
        &self,
        id: MessageId,
        intent: Intent,
        rule: String,
        attempt: u32,
        trust: Trust,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let action = pulse.fresh_id();
        let (turn, boot, at) = (intent.turn, pulse.settings().boot, pulse.now());
        let started = ExecutionStarted { action, intent_id: id, intent, rule, attempt };
        pulse.put(record_key(action), &started);
        pulse.keep(TrackerEvent::Began { action, intent: id, boot, at, trust });
        pulse.emit_trusted(turn, trust, started);
    }
}

impl Hears<ClearedIntent> for ExecutionTracker {
    fn hear(&self, cleared: &ClearedIntent, pulse: &mut Pulse<'_, Self>) {
        if self.begun.contains(&cleared.id()) || cleared.expires() < pulse.now() {
            return;
        }
        let trust = pulse.trust();
        self.begin(cleared.id(), cleared.intent().clone(), cleared.rule().into(), 1, trust, pulse);
    }
}

impl Hears<ToolResult> for ExecutionTracker {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        if self.open.contains_key(&result.action) {
            pulse.keep(TrackerEvent::Ended { action: result.action });
            pulse.remove(record_key(result.action));
        }
    }
}
