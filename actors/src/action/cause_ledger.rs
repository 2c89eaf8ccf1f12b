//! The cause ledger: why each thing was done, written while it happens.
//!
//! Biology: none; this is the engineer's part. Law: every step of a turn is a part of the turn's why-record, in order,
//! never reconstructed by a model. Remembers: the parts of the newest turns. Forgets: the oldest turn first.
//! Down: parts wait in its inbox.

use maxim_bus::signals::cycle::{CycleThought, ThoughtGated};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::intent::{Intent, IntentRefused};
use maxim_bus::signals::outbox::DeliveryEnded;
use maxim_bus::signals::outcome::{ExecutionStarted, Outbound, ToolResult};
use maxim_bus::signals::percept::{PainSignal, SalientPercept};
use maxim_bus::signals::prompt::PromptBuilt;
use maxim_bus::signals::recall::{EnrichedPercept, EpisodeStored, InquiryAnswered, PredictionErrorSensed, Reward};
use maxim_bus::signals::thought::{Thought, TurnEnded};
use maxim_bus::{MessageId, RegionName, Signal, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::gate::ClearedIntent;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// How the ledger is set up.
#[derive(Clone, Debug)]
pub struct LedgerSettings {
    /// Turns that are kept; 1 to 1 000 000. Default 10 000.
    pub turns: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CauseLedger {
    /// Numbers of the oldest turn that is kept and of the next one.
    first: u64,
    next: u64,
}

/// One step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CausePart {
    pub kind: String,
    pub id: MessageId,
    pub cause: Option<MessageId>,
    pub at: jiff::Timestamp,
    pub by: String,
    pub body: Json,
}

/// A [`CausePart`] as it is written, without a copy of the signal.
#[derive(Serialize)]
struct PartLine<'a, S> {
    kind: &'a str,
    id: MessageId,
    cause: Option<MessageId>,
    at: jiff::Timestamp,
    by: &'a str,
    body: &'a S,
}

impl CausePart {
    /// What its turn is found under.
    fn indexed(&self) -> Option<String> {
        match self.kind.as_str() {
            Intent::NAME => Some(self.id.to_string()),
            ToolResult::NAME => self.body.get("action").and_then(Json::as_str).map(str::to_owned),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LedgerEvent {
    Opened,
    Forgot,
}

wiring!(CauseLedger {
    hears: [
        SalientPercept,
        EnrichedPercept,
        ThoughtGated,
        PromptBuilt,
        CycleThought,
        Thought,
        Intent,
        IntentRefused,
        ClearedIntent,
        ExecutionStarted,
        ToolResult,
        Outbound,
        DeliveryEnded,
        TurnEnded,
        EpisodeStored,
        PainSignal,
        InquiryAnswered,
        GoalChanged,
    ],
    back: [PredictionErrorSensed, Reward],
    emits: [],
});

impl Region for CauseLedger {
    const NAME: RegionName = "cause_ledger";
    const STAGE: Stage = Stage::Action;
    type Event = LedgerEvent;
    type Settings = LedgerSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: LedgerEvent) {
        match event {
            LedgerEvent::Opened => self.next += 1,
            LedgerEvent::Forgot => self.first += 1,
        }
    }
}

/// Under which the parts of a turn are kept, in their order.
pub fn parts_prefix(turn: MessageId) -> String {
    format!("part/{turn}/")
}

/// Under which an action's, intent's or message's turn is found.
pub fn index_key(id: MessageId) -> String {
    format!("of/{id}")
}

/// Under which the turns are numbered, oldest first.
pub const TURNS_PREFIX: &str = "turn/";

impl CauseLedger {
    fn note<S: Signal>(&self, signal: &S, pulse: &mut Pulse<'_, Self>) {
        if let Some(meta) = pulse.cause() {
            self.note_in(meta.correlation, signal, pulse);
        }
    }

    /// For what may come without a turn, or long after it: nobody would forget it any more.
    fn note_in_open_turn<S: Signal>(&self, signal: &S, pulse: &mut Pulse<'_, Self>) {
        let prefix = parts_prefix(pulse.turn());
        if !pulse.records().prefixed(prefix.as_bytes(), 1).is_empty() {
            self.note(signal, pulse);
        }
    }

    fn note_in<S: Signal>(&self, turn: MessageId, signal: &S, pulse: &mut Pulse<'_, Self>) {
        let Some(meta) = pulse.cause() else { return };
        let part =
            PartLine { kind: S::NAME, id: meta.id, cause: meta.cause, at: meta.at, by: &meta.sender, body: signal };
        pulse.put(format!("{}{}", parts_prefix(turn), meta.id), &part);
    }

    /// An intent and an action lead to their turn. Both signals are journalled, so no crash loses the way to them.
    fn index(&self, id: MessageId, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        pulse.put(index_key(id), &turn);
    }

    fn open(&self, turn: MessageId, pulse: &mut Pulse<'_, Self>) {
        pulse.put(format!("{TURNS_PREFIX}{:016x}", self.next), &turn);
        pulse.keep(LedgerEvent::Opened);
        if self.next - self.first >= pulse.settings().turns {
            self.forget_oldest(pulse);
        }
    }

    fn forget_oldest(&self, pulse: &mut Pulse<'_, Self>) {
        let key = format!("{TURNS_PREFIX}{:016x}", self.first);
        if let Some(turn) = pulse.record::<MessageId>(key.as_bytes()) {
            for (part, bytes) in pulse.records().prefixed(parts_prefix(turn).as_bytes(), usize::MAX) {
                if let Some(id) = serde_json::from_slice::<CausePart>(&bytes).ok().and_then(|part| part.indexed()) {
                    pulse.remove(format!("of/{id}"));
                }
                pulse.remove(part);
            }
        }
        pulse.remove(key);
        pulse.keep(LedgerEvent::Forgot);
    }
}

impl Hears<SalientPercept> for CauseLedger {
    fn hear(&self, signal: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        self.open(pulse.turn(), pulse);
        self.note(signal, pulse);
    }
}

impl Hears<GoalChanged> for CauseLedger {
    fn hear(&self, signal: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        self.note_in_open_turn(signal, pulse);
        // The question whether to go on is a turn of its own, which no percept begins.
        if let Some(meta) = pulse.cause().filter(|_| signal.goal.is_in_question()) {
            self.open(meta.id, pulse);
            self.note_in(meta.id, signal, pulse);
        }
    }
}

impl Hears<DeliveryEnded> for CauseLedger {
    fn hear(&self, signal: &DeliveryEnded, pulse: &mut Pulse<'_, Self>) {
        self.note_in_open_turn(signal, pulse);
    }
}

impl Hears<Intent> for CauseLedger {
    fn hear(&self, signal: &Intent, pulse: &mut Pulse<'_, Self>) {
        if let Some(meta) = pulse.cause() {
            self.index(meta.id, pulse);
        }
        self.note(signal, pulse);
    }
}

impl Hears<ToolResult> for CauseLedger {
    fn hear(&self, signal: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        self.index(signal.action, pulse);
        self.note(signal, pulse);
    }
}

macro_rules! noted {
    ($($signal:ty),*) => {$(
        impl Hears<$signal> for CauseLedger {
            fn hear(&self, signal: &$signal, pulse: &mut Pulse<'_, Self>) {
                self.note(signal, pulse);
            }
        }
    )*};
}

noted!(
    EnrichedPercept,
    ThoughtGated,
    PromptBuilt,
    CycleThought,
    Thought,
    IntentRefused,
    ClearedIntent,
    ExecutionStarted,
    Outbound,
    TurnEnded,
    EpisodeStored,
    PainSignal,
    InquiryAnswered,
    PredictionErrorSensed,
    Reward
);
