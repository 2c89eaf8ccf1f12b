//! The cause ledger: why each thing was done, written while it happens.
//!
//! Biology: none; this is the engineer's part. Law: every step of a turn becomes a part of the turn's why-record, in
//! order; no model reconstructs it. Remembers: the parts of the newest turns. Forgets: the oldest turn first, and what
//! a person had forgotten, also in other turns that quoted or used it.
//! Down: parts wait in its inbox.

mod redacting;

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use maxim_bus::ids::put_time_quoted;
use maxim_bus::rooms;
use maxim_bus::signals::acting::ActChosen;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::cycle::{CycleThought, ThoughtGated};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::intent::{Intent, IntentRefused};
use maxim_bus::signals::outbox::DeliveryEnded;
use maxim_bus::signals::outcome::{ExecutionStarted, Outbound, ToolResult};
use maxim_bus::signals::percept::{PainSignal, SalientPercept};
use maxim_bus::signals::prompt::PromptBuilt;
use maxim_bus::signals::recall::{EnrichedPercept, EpisodeStored, InquiryAnswered, PredictionErrorSensed, Reward};
use maxim_bus::signals::thought::{Thought, TurnEnded};
use maxim_bus::{Envelope, MessageId, Meta, RegionName, Signal, Stage, scratch};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use redacting::{LOOKED_THROUGH, Redaction, redact};

use maxim_gate::ClearedIntent;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// The ledger's settings.
#[derive(Clone, Debug)]
pub struct LedgerSettings {
    /// Turns that are kept; 1 to 1 000 000. Default 10 000.
    pub turns: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CauseLedger {
    /// Numbers of the oldest kept turn and of the next turn.
    first: u64,
    next: u64,
    /// Forgotten episodes that are still searched in other turns, oldest request first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    redacting: VecDeque<Redaction>,
}

/// One step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CausePart {
    pub kind: String,
    pub id: MessageId,
    pub cause: Option<MessageId>,
    pub at: Timestamp,
    pub by: String,
    pub body: Json,
}

/// A [`CausePart`] as it is written. The body is the journal's, so nothing is encoded twice.
fn part_line(heard: &Envelope, line: &mut Vec<u8>) {
    let Meta { name, id, cause, at, sender, .. } = &heard.meta;
    let encoded = heard.encoded();
    let body = Envelope::body_of(&encoded);
    // A name is text, which JSON always accepts.
    let put_name = |line: &mut Vec<u8>, name: &str| drop(serde_json::to_writer(line, name));
    line.extend_from_slice(br#"{"kind":"#);
    put_name(line, name);
    line.extend_from_slice(br#","id":"#);
    id.put_quoted(line);
    line.extend_from_slice(br#","cause":"#);
    match cause {
        Some(cause) => cause.put_quoted(line),
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(br#","at":"#);
    put_time_quoted(*at, line);
    line.extend_from_slice(br#","by":"#);
    put_name(line, sender);
    line.extend_from_slice(br#","body":"#);
    line.extend_from_slice(body);
    line.push(b'}');
}

/// The fields by which a part is found without reading the rest.
#[derive(Deserialize)]
struct PartIndex<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    id: MessageId,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// The one that is the key of a [`CausePart`]'s turn.
fn indexed(part: &[u8]) -> Option<MessageId> {
    #[derive(Deserialize)]
    struct Acted {
        action: MessageId,
    }
    let part: PartIndex<'_> = serde_json::from_slice(part).ok()?;
    match &*part.kind {
        Intent::NAME => Some(part.id),
        ToolResult::NAME => serde_json::from_str::<Acted>(part.body.get()).ok().map(|acted| acted.action),
        _ => None,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LedgerEvent {
    Opened,
    Forgot,
    /// A person had episodes forgotten that other turns may have quoted.
    Redacts {
        episodes: BTreeSet<String>,
    },
    /// All turns from this one on have been searched for the oldest request. It is done if this is the first turn.
    Redacted {
        from: u64,
    },
}

wiring!(CauseLedger {
    hears: [
        SalientPercept,
        EnrichedPercept,
        ThoughtGated,
        PromptBuilt,
        CycleThought,
        Thought,
        ActChosen,
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
        RecordsRemoved,
    ],
    back: [PredictionErrorSensed, Reward],
    emits: [],
});

impl Region for CauseLedger {
    const NAME: RegionName = rooms::CAUSE_LEDGER;
    const STAGE: Stage = Stage::Action;
    type Event = LedgerEvent;
    type Settings = LedgerSettings;

    fn apply(&mut self, event: LedgerEvent) {
        match event {
            LedgerEvent::Opened => self.next += 1,
            LedgerEvent::Forgot => self.first += 1,
            LedgerEvent::Redacts { episodes } => {
                self.redacting.push_back(Redaction { episodes, below: self.next });
            }
            LedgerEvent::Redacted { from } if from <= self.first => {
                self.redacting.pop_front();
            }
            LedgerEvent::Redacted { from } => {
                if let Some(redaction) = self.redacting.front_mut() {
                    redaction.below = from;
                }
            }
        }
    }

    fn next_deadline(&self, _settings: &LedgerSettings) -> Option<Timestamp> {
        (!self.redacting.is_empty()).then_some(Timestamp::UNIX_EPOCH)
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(Redaction { episodes, below }) = self.redacting.front() else { return };
        let from = below.saturating_sub(LOOKED_THROUGH).max(self.first);
        let (lowest, highest) = (turn_key(from), turn_key(*below));
        for (_, turn) in pulse.records().between(lowest.as_bytes(), highest.as_bytes()) {
            if let Ok(turn) = serde_json::from_slice::<MessageId>(&turn) {
                redact(turn, episodes, pulse);
            }
        }
        pulse.keep(LedgerEvent::Redacted { from });
    }
}

/// Key prefix of a turn's parts, in order.
pub fn parts_prefix(turn: impl std::fmt::Display) -> String {
    format!("part/{turn}/")
}

fn part_key(turn: MessageId, part: MessageId) -> Vec<u8> {
    let mut key = Vec::with_capacity(80);
    key.extend_from_slice(b"part/");
    turn.put(&mut key);
    key.push(b'/');
    part.put(&mut key);
    debug_assert!(key.starts_with(parts_prefix(turn).as_bytes()));
    key
}

/// Key under which the turn of an action, intent or message is found.
pub fn index_key(id: MessageId) -> String {
    format!("of/{id}")
}

/// Key prefix of the numbered turns, oldest first.
pub const TURNS_PREFIX: &str = "turn/";

fn turn_key(number: u64) -> String {
    format!("{TURNS_PREFIX}{number:016x}")
}

impl CauseLedger {
    fn note(&self, pulse: &mut Pulse<'_, Self>) {
        if let Some(meta) = pulse.cause() {
            self.note_in(meta.correlation, pulse);
        }
    }

    /// For signals that may come without a turn or long after it. In a closed turn nothing would delete them.
    fn note_in_open_turn(&self, pulse: &mut Pulse<'_, Self>) {
        let prefix = parts_prefix(pulse.turn());
        if !pulse.records().prefixed(prefix.as_bytes(), 1).is_empty() {
            self.note(pulse);
        }
    }

    fn note_in(&self, turn: MessageId, pulse: &mut Pulse<'_, Self>) {
        let Some(heard) = pulse.heard() else { return };
        pulse.put_bytes(part_key(turn, heard.meta.id), scratch::shared(|line| part_line(heard, line)));
    }

    /// Links an intent or action to its turn. Both signals are journalled, so no crash loses the link.
    fn index(&self, id: MessageId, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        pulse.put(index_key(id), &turn);
    }

    fn open(&self, turn: MessageId, pulse: &mut Pulse<'_, Self>) {
        pulse.put(turn_key(self.next), &turn);
        pulse.keep(LedgerEvent::Opened);
        if self.next - self.first >= pulse.settings().turns {
            self.forget_oldest(pulse);
        }
    }

    fn forget_oldest(&self, pulse: &mut Pulse<'_, Self>) {
        let key = turn_key(self.first);
        if let Some(turn) = pulse.record::<MessageId>(key.as_bytes()) {
            self.forget(&turn.to_string(), pulse);
        }
        pulse.remove(key);
        pulse.keep(LedgerEvent::Forgot);
    }

    fn forget(&self, turn: &str, pulse: &mut Pulse<'_, Self>) {
        for (part, bytes) in pulse.records().prefixed(parts_prefix(turn).as_bytes(), usize::MAX) {
            if let Some(id) = indexed(&bytes) {
                pulse.remove(index_key(id));
            }
            pulse.remove(part);
        }
    }
}

impl Hears<SalientPercept> for CauseLedger {
    fn hear(&self, _: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        self.open(pulse.turn(), pulse);
        self.note(pulse);
    }
}

impl Hears<GoalChanged> for CauseLedger {
    fn hear(&self, signal: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        self.note_in_open_turn(pulse);
        // The question whether to go on is a separate turn without a percept.
        if let Some(meta) = pulse.cause().filter(|_| signal.goal.is_in_question()) {
            self.open(meta.id, pulse);
            self.note_in(meta.id, pulse);
        }
    }
}

impl Hears<DeliveryEnded> for CauseLedger {
    fn hear(&self, _: &DeliveryEnded, pulse: &mut Pulse<'_, Self>) {
        self.note_in_open_turn(pulse);
    }
}

impl Hears<Outbound> for CauseLedger {
    /// Supervision may speak without a turn.
    fn hear(&self, _: &Outbound, pulse: &mut Pulse<'_, Self>) {
        self.note_in_open_turn(pulse);
    }
}

impl Hears<Intent> for CauseLedger {
    fn hear(&self, _: &Intent, pulse: &mut Pulse<'_, Self>) {
        if let Some(meta) = pulse.cause() {
            self.index(meta.id, pulse);
        }
        self.note(pulse);
    }
}

impl Hears<ToolResult> for CauseLedger {
    fn hear(&self, signal: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        self.index(signal.action, pulse);
        self.note(pulse);
    }
}

impl Hears<RecordsRemoved> for CauseLedger {
    /// A forgotten turn isn't told any more, nor its reasons.
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.forgotten && removed.layer == Layer::Hippocampus {
            removed.ids.iter().for_each(|turn| self.forget(turn, pulse));
            if !removed.again && !removed.ids.is_empty() {
                pulse.keep(LedgerEvent::Redacts { episodes: removed.ids.iter().cloned().collect() });
            }
        }
    }
}

macro_rules! noted {
    ($($signal:ty),*) => {$(
        impl Hears<$signal> for CauseLedger {
            fn hear(&self, _: &$signal, pulse: &mut Pulse<'_, Self>) {
                self.note(pulse);
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
    ActChosen,
    IntentRefused,
    ClearedIntent,
    ExecutionStarted,
    TurnEnded,
    EpisodeStored,
    PainSignal,
    InquiryAnswered,
    PredictionErrorSensed,
    Reward
);
