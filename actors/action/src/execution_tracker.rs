//! ExecutionTracker: which actions have begun, and whether they ended.
//!
//! Biology: the efference copy, by which a brain knows that it acts.
//! Law: an action is on disk before it begins, and its reversal before its effect. An action that has begun and has no
//! outcome after a crash is `unknown`. If it is repeatable, it is repeated. Else, if it is reversible, it is reversed.
//! Any other is left alone, and a person is asked whether to do it again. Each effect of an action that isn't
//! repeatable happens at most once without a new yes.
//! Remembers: open actions, the latest intents (so that none begins twice), reversals of the latest effects, and the
//! body's last known place.
//! Forgets: actions that have an outcome; the oldest reversals.
//! Down: cleared intents wait; the gate issues them again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::outcome::{
    ExecutionStarted, FailureKind, NOT_KNOWN, OutcomeDoubted, PUT_BACK, ReversalPrepared, ToolResult,
};
use maxim_bus::signals::scene::{Pose, READINGS};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use maxim_bus::rooms::RESPOND;
use maxim_gate::{ClearedIntent, Terms};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};
use maxim_tools::{Reversal, UNDO};

/// Intents remembered as begun. A clearance older than these has expired.
const REMEMBERED: usize = 4096;
/// What is known of an action that an earlier process began.
const WENT_DOWN: &str = "the process went down before it ended";
/// Reversals that are kept, at most.
const WAYS_BACK: usize = 256;

/// The tracker's settings.
#[derive(Clone, Debug)]
pub struct TrackerSettings {
    /// Identifies this run of the process. Nobody can report the end of an action that an earlier run began.
    pub boot: u64,
    /// How long the executor may take for one tool: the tool's deadline and some grace.
    pub limit: SignedDuration,
    /// Tools that may be repeated, because they only read or write the same again.
    pub repeatable: Vec<String>,
    /// The effect class of each tool.
    pub effects: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExecutionTracker {
    open: BTreeMap<MessageId, Open>,
    /// Intents, oldest first, because ids are in the order of time.
    begun: BTreeSet<MessageId>,
    /// Reversible actions, newest last.
    reversible: VecDeque<MessageId>,
    pose: Pose,
}

/// Record of an action's reversal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WayBack {
    tool: String,
    reversal: Json,
    /// It ended well, so there is something to reverse.
    done: bool,
}

impl WayBack {
    /// Whether it moves a body.
    fn moves(&self) -> bool {
        Reversal::deserialize(&self.reversal).is_ok_and(|reversal| reversal.is_motion())
    }
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
    Reversible { action: MessageId },
    Reversed { action: MessageId },
    Stands { pose: Pose },
}

wiring!(ExecutionTracker {
    hears: [ClearedIntent, ToolResult, ReversalPrepared, MovementSensed],
    back: [],
    emits: [ExecutionStarted, ToolResult, OutcomeDoubted]
});

impl Region for ExecutionTracker {
    const NAME: RegionName = rooms::EXECUTION_TRACKER;
    const STAGE: Stage = Stage::Action;
    type Event = TrackerEvent;
    type Settings = TrackerSettings;

    fn apply(&mut self, event: TrackerEvent) {
        match event {
            TrackerEvent::Began { action, intent, boot, at, trust } => {
                self.open.insert(action, Open { intent, boot, began: at, trust });
                self.begun.insert(intent);
                if self.begun.len() > REMEMBERED {
                    self.begun.pop_first();
                }
            }
            TrackerEvent::Ended { action } => {
                self.open.remove(&action);
            }
            TrackerEvent::Reversible { action } => {
                self.reversible.retain(|known| *known != action);
                self.reversible.push_back(action);
                if self.reversible.len() > WAYS_BACK {
                    self.reversible.pop_front();
                }
            }
            TrackerEvent::Reversed { action } => self.reversible.retain(|known| *known != action),
            TrackerEvent::Stands { pose } => self.pose = pose,
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
    /// When it counts as unknown: nobody will report its end after this.
    fn due(&self, settings: &TrackerSettings) -> Timestamp {
        if self.boot == settings.boot { self.began.later(settings.limit) } else { self.began }
    }
}

fn way_key(action: MessageId) -> Vec<u8> {
    format!("back/{action}").into_bytes()
}

fn record_key(action: MessageId) -> Vec<u8> {
    format!("open/{action}").into_bytes()
}

impl ExecutionTracker {
    /// It isn't known whether it happened.
    fn resolve(&self, action: MessageId, open: &Open, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TrackerEvent::Ended { action });
        let Some(started) = pulse.record::<ExecutionStarted>(&record_key(action)) else { return };
        pulse.remove(record_key(action));
        let turn = started.intent.turn;
        let crashed = open.boot != pulse.settings().boot;
        if crashed && pulse.settings().repeatable.contains(&started.intent.tool) {
            let ExecutionStarted { intent_id, intent, rule, attempt, powers, called, reversal, sealed, .. } = started;
            let again =
                Beginning { intent, rule, attempt: attempt + 1, terms: Terms { powers, called, sealed }, reversal };
            self.begin(intent_id, again, open.trust, pulse);
            return;
        }
        let way = pulse.record::<WayBack>(&way_key(action)).filter(|_| crashed);
        let (known, so) = if way.is_some() {
            (WENT_DOWN, ", so what it may have changed is put back")
        } else if crashed {
            (WENT_DOWN, ", so it is not repeated without asking")
        } else {
            ("the executor has not reported its end", "")
        };
        let result = ToolResult {
            action,
            intent: started.intent_id,
            turn,
            tool: started.called.clone().unwrap_or_else(|| started.intent.tool.clone()),
            params: started.intent.params.clone(),
            success: None,
            output: way.as_ref().map_or(Json::Null, |_| json!({ PUT_BACK: true })),
            error: Some(format!("{known}{NOT_KNOWN}{so}")),
            failure: Some(FailureKind::Unknown),
            duration_us: 0,
            side_effects: Vec::new(),
            reward: None,
        };
        let known = result.known().to_owned();
        pulse.emit_trusted(turn, open.trust, result);
        let Some(way) = way else { return self.doubt(started, known, open.trust, pulse) };
        let intent = Intent {
            tool: UNDO.into(),
            params: json!({ "action": action.to_string() }),
            commanded: false,
            then: Vec::new(),
            instead: Vec::new(),
            ..started.intent
        };
        let (terms, rule) =
            (Terms { powers: started.powers, called: None, sealed: None }, "tracker.interrupted".to_owned());
        let undoing = Beginning { intent, rule, attempt: 1, terms, reversal: Some(way.reversal) };
        let id = pulse.fresh_id();
        self.begin(id, undoing, open.trust, pulse);
    }

    /// Has a person asked. Not for words, because the outbox knows which were sent; not for tools that only read,
    /// because repeating them does no harm.
    fn doubt(&self, started: ExecutionStarted, known: String, trust: Trust, pulse: &mut Pulse<'_, Self>) {
        let tool = &started.intent.tool;
        if tool != RESPOND && !pulse.settings().repeatable.contains(tool) {
            pulse.emit_trusted(started.intent.turn, trust, OutcomeDoubted { started, known });
        }
    }

    /// The action that an undo call means: the named one, else the newest that ended well.
    fn meant(&self, params: &Json, pulse: &Pulse<'_, Self>) -> Option<(MessageId, WayBack)> {
        let named = params.get("action").and_then(Json::as_str).map(str::trim).filter(|name| !name.is_empty());
        let newest_first = self.reversible.iter().rev();
        let fits = |action: &&MessageId| named.is_none_or(|name| action.to_string().starts_with(name));
        newest_first.filter(fits).find_map(|action| {
            let way = pulse.record::<WayBack>(&way_key(*action))?;
            (way.done || named.is_some()).then_some((*action, way))
        })
    }

    /// Keeps a reversal, and drops the oldest if there are too many.
    fn keep_way(&self, action: MessageId, way: &WayBack, pulse: &mut Pulse<'_, Self>) {
        if self.reversible.len() >= WAYS_BACK
            && let Some(oldest) = self.reversible.front()
        {
            pulse.remove(way_key(*oldest));
        }
        pulse.put(way_key(action), way);
        pulse.keep(TrackerEvent::Reversible { action });
    }

    fn begin(&self, id: MessageId, beginning: Beginning, trust: Trust, pulse: &mut Pulse<'_, Self>) {
        let Beginning { intent, rule, attempt, terms: Terms { powers, called, sealed }, reversal } = beginning;
        let action = pulse.fresh_id();
        let (turn, boot, at) = (intent.turn, pulse.settings().boot, pulse.now());
        let effect = pulse.settings().effects.get(&intent.tool).cloned().unwrap_or_default();
        let pose = self.pose.clone();
        let started = ExecutionStarted {
            action,
            intent_id: id,
            intent,
            rule,
            attempt,
            powers,
            called,
            reversal,
            sealed,
            effect,
            pose,
        };
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
        let mut intent = cleared.intent().clone();
        let meant = if intent.tool == UNDO { self.meant(&intent.params, pulse) } else { None };
        let reversal = meant.map(|(action, way)| {
            intent.params = json!({ "action": action.to_string(), "tool": way.tool });
            way.reversal
        });
        let (rule, terms) = (cleared.rule().to_owned(), cleared.terms().clone());
        self.begin(cleared.id(), Beginning { intent, rule, attempt: 1, terms, reversal }, trust, pulse);
    }
}

/// What begins.
struct Beginning {
    intent: Intent,
    rule: String,
    attempt: u32,
    terms: Terms,
    reversal: Option<Json>,
}

impl Hears<MovementSensed> for ExecutionTracker {
    fn hear(&self, moved: &MovementSensed, pulse: &mut Pulse<'_, Self>) {
        let mut pose = self.pose.clone();
        for (name, reading) in &moved.after {
            if pose.len() < READINGS || pose.contains_key(name) {
                pose.insert(name.clone(), *reading);
            }
        }
        if pose != self.pose {
            pulse.keep(TrackerEvent::Stands { pose });
        }
    }
}

impl Hears<ReversalPrepared> for ExecutionTracker {
    fn hear(&self, prepared: &ReversalPrepared, pulse: &mut Pulse<'_, Self>) {
        if !self.open.contains_key(&prepared.action) {
            return; // given up meanwhile
        }
        let Some(started) = pulse.record::<ExecutionStarted>(&record_key(prepared.action)) else { return };
        let way = WayBack { tool: started.intent.tool, reversal: prepared.reversal.clone(), done: false };
        self.keep_way(prepared.action, &way, pulse);
    }
}

impl ExecutionTracker {
    /// What an outcome means for the reversals.
    fn settle(&self, result: &ToolResult, started: &ExecutionStarted, pulse: &mut Pulse<'_, Self>) {
        let action = result.action;
        if started.intent.tool == UNDO {
            let undone = started.intent.params.get("action").and_then(Json::as_str);
            let undone = self.reversible.iter().copied().find(|known| undone == Some(known.to_string().as_str()));
            if let (Some(undone), Some(true)) = (undone, result.success) {
                pulse.remove(way_key(undone));
                pulse.keep(TrackerEvent::Reversed { action: undone });
            }
            // The state before the undo was saved too, so the undo can be reversed.
            if let (Some(true), Some(reversal)) = (result.success, result.output.get("reversal")) {
                self.keep_way(action, &WayBack { tool: UNDO.into(), reversal: reversal.clone(), done: true }, pulse);
            }
            return;
        }
        if !self.reversible.contains(&action) {
            return;
        }
        match (result.success, pulse.record::<WayBack>(&way_key(action))) {
            // A movement that was stopped is part of the way, and can be taken back when motion is allowed again; one that
            // moved nothing is none, however it ended.
            (Some(_), Some(way)) if way.moves() && !result.side_effects.is_empty() => {
                pulse.put(way_key(action), &WayBack { done: true, ..way });
            }
            (Some(true), Some(way)) if !way.moves() => {
                pulse.put(way_key(action), &WayBack { done: true, ..way });
            }
            // A failed tool has changed nothing, or it reports what it changed.
            (Some(_), _) => {
                pulse.remove(way_key(action));
                pulse.keep(TrackerEvent::Reversed { action });
            }
            _ => {}
        }
    }
}

impl Hears<ToolResult> for ExecutionTracker {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(open) = self.open.get(&result.action) else { return };
        let started = pulse.record::<ExecutionStarted>(&record_key(result.action));
        pulse.keep(TrackerEvent::Ended { action: result.action });
        pulse.remove(record_key(result.action));
        if let Some(started) = started {
            self.settle(result, &started, pulse);
            if result.failure == Some(FailureKind::Unknown) {
                self.doubt(started, result.known().to_owned(), open.trust, pulse);
            }
        }
    }
}
