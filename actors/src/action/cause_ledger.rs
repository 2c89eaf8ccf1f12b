//! The cause ledger: why each thing was done, written while it happens.
//!
//! Biology: none; this is the engineer's part. Law: every step of a turn is a part of the turn's why-record, in order,
//! never reconstructed by a model. Remembers: the parts of the newest turns. Forgets: the oldest turn first, and what a person
//! has forgotten, also where another turn quoted it or rested on it.
//! Down: parts wait in its inbox.

use std::borrow::Cow;
use std::collections::BTreeSet;

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
use maxim_bus::{Envelope, MessageId, Meta, RegionName, Signal, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

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

/// What a [`CausePart`] begins with.
#[derive(Serialize)]
struct PartHead<'a> {
    kind: &'a str,
    id: MessageId,
    cause: Option<MessageId>,
    at: jiff::Timestamp,
    by: &'a str,
}

/// A [`CausePart`] as it is written: the body as the journal has it, so that nothing is encoded twice.
fn part_line(heard: &Envelope) -> Vec<u8> {
    let Meta { name, id, cause, at, sender, .. } = &heard.meta;
    let head = PartHead { kind: name, id: *id, cause: *cause, at: *at, by: sender };
    let mut line = serde_json::to_vec(&head).unwrap_or_default(); // plain data: JSON refuses nothing in it
    line.pop();
    line.extend_from_slice(br#","body":"#);
    line.extend_from_slice(Envelope::body_of(&heard.encoded()));
    line.push(b'}');
    line
}

/// What a part is found under, without reading the rest of it.
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

/// Parts that quote episodes, or say what a turn rests on.
const QUOTING: [&str; 4] = [EnrichedPercept::NAME, CycleThought::NAME, InquiryAnswered::NAME, TurnEnded::NAME];

/// Episodes that a part quotes or rests on.
fn quoted(part: &[u8]) -> BTreeSet<String> {
    let Ok(part) = serde_json::from_slice::<PartIndex<'_>>(part) else { return BTreeSet::new() };
    if !QUOTING.contains(&&*part.kind) {
        return BTreeSet::new();
    }
    let body: Json = serde_json::from_str(part.body.get()).unwrap_or_default();
    match &*part.kind {
        TurnEnded::NAME => rests_on(&body).map(str::to_owned).collect(),
        InquiryAnswered::NAME => episodes_in(&body["output"]).collect(),
        _ => episodes_in(&body["recalled"]).collect(),
    }
}

/// Ids of the episodes that a turn says it rests on.
fn rests_on(body: &Json) -> impl Iterator<Item = &str> {
    body["rests_on"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// Ids of all records that are shown in an answer, whatever its shape.
fn episodes_in(shown: &Json) -> Box<dyn Iterator<Item = String> + '_> {
    match shown {
        Json::Object(fields) => {
            let own = fields.get("id").and_then(Json::as_str).map(str::to_owned);
            Box::new(own.into_iter().chain(fields.values().flat_map(episodes_in)))
        }
        Json::Array(items) => Box::new(items.iter().flat_map(episodes_in)),
        _ => Box::new(std::iter::empty()),
    }
}

/// What stands where something was forgotten.
pub const FORGOTTEN: &str = "(forgotten)";
/// What stays of a quoted episode: that there was one, and when.
const STAYS: [&str; 7] = ["id", "score", "via", "timestamp", "trust", "success", "said"];
/// Steps in which the agent's own words and acts stand.
const OWN: [&str; 12] = [
    Thought::NAME,
    CycleThought::NAME,
    ActChosen::NAME,
    Intent::NAME,
    IntentRefused::NAME,
    ClearedIntent::NAME,
    ExecutionStarted::NAME,
    ToolResult::NAME,
    Outbound::NAME,
    DeliveryEnded::NAME,
    TurnEnded::NAME,
    InquiryAnswered::NAME,
];
/// Where in them.
const WORDS: [&str; 9] =
    ["text", "message", "reply", "params", "output", "error", "decided", "side_effects", "reversal"];

/// Takes every text out of a value, whose shape stays.
fn blank(value: &mut Json) {
    match value {
        Json::String(text) => FORGOTTEN.clone_into(text),
        Json::Array(items) => items.iter_mut().for_each(blank),
        Json::Object(fields) => fields.values_mut().for_each(blank),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Takes out what an episode is quoted with.
fn blank_quotes(value: &mut Json, episode: &str) {
    match value {
        Json::Object(fields) if fields.get("id").and_then(Json::as_str) == Some(episode) => {
            let told = fields.iter_mut().filter(|(name, _)| !STAYS.contains(&name.as_str()));
            told.for_each(|(_, value)| blank(value));
        }
        Json::Object(fields) => fields.values_mut().for_each(|value| blank_quotes(value, episode)),
        Json::Array(items) => items.iter_mut().for_each(|value| blank_quotes(value, episode)),
        _ => {}
    }
}

/// Takes out the agent's own words, wherever they stand in a step.
fn blank_words(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            for (name, value) in fields {
                if WORDS.contains(&name.as_str()) { blank(value) } else { blank_words(value) }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(blank_words),
        _ => {}
    }
}

/// A part without the episode; `rests_on_it`: what the turn said and did rests on it too.
fn without(mut part: CausePart, episode: &str, rests_on_it: bool) -> CausePart {
    blank_quotes(&mut part.body, episode);
    match part.kind.as_str() {
        // Other episodes that were found may be told on.
        InquiryAnswered::NAME if rests_on_it => part.body.get_mut("params").into_iter().for_each(blank),
        CycleThought::NAME if rests_on_it => part.body.get_mut("text").into_iter().for_each(blank),
        kind if rests_on_it && OWN.contains(&kind) => blank_words(&mut part.body),
        _ => {}
    }
    if let Some(Json::Array(rests_on)) = part.body.get_mut("rests_on") {
        rests_on.retain(|id| id.as_str() != Some(episode));
    }
    part
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
pub fn parts_prefix(turn: impl std::fmt::Display) -> String {
    format!("part/{turn}/")
}

/// Under which an action's, intent's or message's turn is found.
pub fn index_key(id: MessageId) -> String {
    format!("of/{id}")
}

/// Under which the turns are found that quote an episode.
fn quotes_prefix(episode: &str) -> String {
    format!("quotes/{episode}/")
}

/// Under which the turns are numbered, oldest first.
pub const TURNS_PREFIX: &str = "turn/";

impl CauseLedger {
    fn note(&self, pulse: &mut Pulse<'_, Self>) {
        if let Some(meta) = pulse.cause() {
            self.note_in(meta.correlation, pulse);
        }
    }

    /// For what may come without a turn, or long after it: nobody would forget it any more.
    fn note_in_open_turn(&self, pulse: &mut Pulse<'_, Self>) {
        let prefix = parts_prefix(pulse.turn());
        if !pulse.records().prefixed(prefix.as_bytes(), 1).is_empty() {
            self.note(pulse);
        }
    }

    fn note_in(&self, turn: MessageId, pulse: &mut Pulse<'_, Self>) {
        let Some(heard) = pulse.heard() else { return };
        let (key, line) = (format!("{}{}", parts_prefix(turn), heard.meta.id), part_line(heard));
        let name: &str = &heard.meta.name;
        let quotes = if QUOTING.contains(&name) { quoted(&line) } else { BTreeSet::new() };
        for episode in quotes {
            pulse.put(format!("{}{turn}", quotes_prefix(&episode)), &turn);
        }
        pulse.put_bytes(key, line);
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
            for episode in quoted(&bytes) {
                pulse.remove(format!("{}{turn}", quotes_prefix(&episode)));
            }
            pulse.remove(part);
        }
    }

    /// Takes an episode out of the records of the turns that it was quoted in.
    fn redact(&self, episode: &str, pulse: &mut Pulse<'_, Self>) {
        let prefix = quotes_prefix(episode);
        for (key, turn) in pulse.records().prefixed(prefix.as_bytes(), usize::MAX) {
            let Ok(turn) = serde_json::from_slice::<MessageId>(&turn) else { continue };
            // An id may go on behind a stroke, as that of another episode.
            if key != format!("{prefix}{turn}").into_bytes() || turn.to_string() == episode {
                continue;
            }
            pulse.remove(key);
            let parts = pulse.records().prefixed(parts_prefix(turn).as_bytes(), usize::MAX);
            // What was forgotten with it may have been taken out before.
            let latest = |(key, _): &(Vec<u8>, Vec<u8>)| Some((key.clone(), pulse.record::<CausePart>(key)?));
            let parts: Vec<(Vec<u8>, CausePart)> = parts.iter().filter_map(latest).collect();
            // What a model thought rests on all that it was given.
            let rests = |part: &CausePart| match part.kind.as_str() {
                TurnEnded::NAME => rests_on(&part.body).any(|id| id == episode),
                kind => kind == CycleThought::NAME,
            };
            let rests_on_it = parts.iter().any(|(_, part)| rests(part));
            for (key, part) in parts {
                let left = without(part.clone(), episode, rests_on_it);
                if left != part {
                    pulse.put(key, &left);
                }
            }
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
        // The question whether to go on is a turn of its own, which no percept begins.
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
    /// Supervision says something without a turn.
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
    /// Of a turn that a person has forgotten nothing is said any more, not even why.
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.forgotten && removed.layer == Layer::Hippocampus {
            for id in &removed.ids {
                self.forget(id, pulse);
                self.redact(id, pulse);
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

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::signals::outbox::Medium;
    use maxim_bus::signals::percept::{Disposition, Percept};
    use maxim_bus::signals::recall::{RecalledEpisode, Via};
    use maxim_bus::units::{Novelty, Salience};

    use super::*;
    use crate::region::rig::{Rig, monday_morning};

    fn turn(n: u64) -> MessageId {
        MessageId::from_parts(n, 7)
    }

    fn remembered(id: &str, text: &str) -> RecalledEpisode {
        RecalledEpisode {
            id: id.into(),
            score: 1.0,
            via: Via::Text,
            timestamp: monday_morning(),
            goal: None,
            tool: None,
            success: None,
            text: text.into(),
            people: vec!["quoll".into()],
            result: None,
            trust: Trust::Owner,
            said: true,
            speaker: None,
        }
    }

    /// A turn in which two episodes were recalled, and which rests on some of them.
    fn asked(rig: &mut Rig<CauseLedger>, n: u64, answer: &str, rests_on: &[&str]) {
        let salient = SalientPercept {
            percept: Percept::from_outside("http", "anna", "what is the pin?".into(), false, Trust::Owner),
            disposition: Disposition::Proceed,
            salience: Salience::clamped(0.9),
            novelty: Novelty::clamped(0.25),
        };
        rig.send_in(turn(n), Trust::Owner, salient.clone());
        let recalled = vec![remembered("pin", "the pin is numbat"), remembered("door", "the door is blue")];
        rig.send_in(turn(n), Trust::Owner, EnrichedPercept { recalled, ..EnrichedPercept::bare(salient) });
        let (channel, recipient, text) = ("http".to_owned(), "anna".to_owned(), answer.to_owned());
        let said = Outbound {
            turn: turn(n),
            channel: channel.clone(),
            recipient,
            text,
            action: None,
            tool: None,
            medium: Medium::default(),
        };
        rig.send_in(turn(n), Trust::Owner, said);
        let ended = TurnEnded {
            turn: turn(n),
            channel,
            reply: Some(answer.into()),
            spoken: true,
            actions: Vec::new(),
            lost: false,
            decided: None,
            rests_on: rests_on.iter().map(ToString::to_string).collect(),
        };
        rig.send_in(turn(n), Trust::Owner, ended);
    }

    fn told(rig: &Rig<CauseLedger>, n: u64) -> String {
        let parts = rig.records().prefixed(parts_prefix(turn(n)).as_bytes(), usize::MAX);
        parts.iter().map(|(_, part)| String::from_utf8_lossy(part).into_owned()).collect::<Vec<_>>().join("\n")
    }

    fn quotes(rig: &Rig<CauseLedger>) -> usize {
        rig.records().prefixed(b"quotes/", usize::MAX).len()
    }

    fn forget(rig: &mut Rig<CauseLedger>, id: &str, forgotten: bool) {
        rig.send(RecordsRemoved { layer: Layer::Hippocampus, ids: vec![id.into()], forgotten, again: false });
    }

    #[test]
    fn what_a_person_has_forgotten_is_quoted_by_no_other_turn() {
        let mut rig: Rig<CauseLedger> = Rig::new(LedgerSettings { turns: 10 }, |_, _| {});
        asked(&mut rig, 1, "It is numbat.", &["pin"]);
        asked(&mut rig, 2, "It is blue.", &["door"]);
        forget(&mut rig, "pin", false);
        assert!(told(&rig, 1).contains("It is numbat."), "a sleep lets episodes go, not why something was said");
        forget(&mut rig, "pin", true);
        rig.crash();
        for n in [1, 2] {
            let left = told(&rig, n);
            assert!(!left.contains("numbat"), "{left}");
            assert!(left.contains("what is the pin?") && left.contains("the door is blue"), "{left}");
            assert!(left.contains(FORGOTTEN), "{left}");
        }
        assert!(told(&rig, 2).contains("It is blue."), "it doesn't rest on it");
        for (_, part) in rig.records().prefixed(parts_prefix(turn(1)).as_bytes(), usize::MAX) {
            let part: CausePart = serde_json::from_slice(&part).expect("still a part");
            if part.kind == EnrichedPercept::NAME {
                let heard: EnrichedPercept = serde_json::from_value(part.body).expect("still of its shape");
                assert_eq!(heard.recalled[0].text, FORGOTTEN);
            }
        }
    }

    #[test]
    fn what_a_turn_quoted_is_not_kept_longer_than_the_turn() {
        let mut rig: Rig<CauseLedger> = Rig::new(LedgerSettings { turns: 2 }, |_, _| {});
        for n in 1..=4 {
            asked(&mut rig, n, "It is numbat.", &["pin"]);
        }
        assert_eq!(quotes(&rig), 2 * 2, "two episodes of each turn that is kept");
        forget(&mut rig, &turn(4).to_string(), true);
        assert_eq!((quotes(&rig), told(&rig, 4).as_str()), (2, ""));
    }
}
