//! Removes what a person had forgotten from the why-records of other turns.

use std::collections::BTreeSet;

use maxim_bus::signals::acting::ActChosen;
use maxim_bus::signals::cycle::CycleThought;
use maxim_bus::signals::intent::{Intent, IntentRefused};
use maxim_bus::signals::outbox::DeliveryEnded;
use maxim_bus::signals::outcome::{ExecutionStarted, Outbound, ToolResult};
use maxim_bus::signals::recall::{EnrichedPercept, InquiryAnswered};
use maxim_bus::signals::thought::{Thought, TurnEnded};
use maxim_bus::{MessageId, Signal};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{CauseLedger, CausePart, PartIndex, parts_prefix};
use maxim_gate::ClearedIntent;
use maxim_region::Pulse;

/// Forgotten episodes, and how far they have been removed from other turns' quotes.
///
/// No index leads from an episode to the turns that quoted it. Every recall would pay for something that is rarely
/// needed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Redaction {
    pub episodes: BTreeSet<String>,
    /// Number of the turn above the next one to search; newest first.
    pub below: u64,
}

/// Turns searched at once. A turn has some 15 parts, so the room isn't blocked for long.
pub(super) const LOOKED_THROUGH: u64 = 32;

/// Parts that quote episodes or list what a turn used.
const QUOTING: [&str; 4] = [EnrichedPercept::NAME, CycleThought::NAME, InquiryAnswered::NAME, TurnEnded::NAME];

/// Whether a part quotes or used one of the episodes.
fn quotes(part: &[u8], episodes: &BTreeSet<String>) -> bool {
    let Ok(part) = serde_json::from_slice::<PartIndex<'_>>(part) else { return false };
    if !QUOTING.contains(&&*part.kind) {
        return false;
    }
    let body: Json = serde_json::from_str(part.body.get()).unwrap_or_default();
    match &*part.kind {
        TurnEnded::NAME => rests_on(&body).any(|id| episodes.contains(id)),
        InquiryAnswered::NAME => shows(&body["output"], episodes),
        _ => shows(&body["recalled"], episodes),
    }
}

/// Ids of the episodes that a turn says it used.
fn rests_on(body: &Json) -> impl Iterator<Item = &str> {
    body["rests_on"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// Whether an answer of any shape shows one of the episodes.
fn shows(answer: &Json, episodes: &BTreeSet<String>) -> bool {
    match answer {
        Json::Object(fields) => {
            fields.get("id").and_then(Json::as_str).is_some_and(|id| episodes.contains(id))
                || fields.values().any(|value| shows(value, episodes))
        }
        Json::Array(items) => items.iter().any(|item| shows(item, episodes)),
        _ => false,
    }
}

/// Replaces forgotten text.
pub const FORGOTTEN: &str = "(forgotten)";
/// What stays of a quoted episode: that it existed, and when.
const STAYS: [&str; 7] = ["id", "score", "via", "timestamp", "trust", "success", "said"];
/// Steps that hold the agent's own words and acts.
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
/// The fields in them.
const WORDS: [&str; 9] =
    ["text", "message", "reply", "params", "output", "error", "decided", "side_effects", "reversal"];

/// Removes every text from a value and keeps its shape.
fn blank(value: &mut Json) {
    match value {
        Json::String(text) => FORGOTTEN.clone_into(text),
        Json::Array(items) => items.iter_mut().for_each(blank),
        Json::Object(fields) => fields.values_mut().for_each(blank),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Removes the quoted texts of the episodes.
fn blank_quotes(value: &mut Json, episodes: &BTreeSet<String>) {
    match value {
        Json::Object(fields) if fields.get("id").and_then(Json::as_str).is_some_and(|id| episodes.contains(id)) => {
            let told = fields.iter_mut().filter(|(name, _)| !STAYS.contains(&name.as_str()));
            told.for_each(|(_, value)| blank(value));
        }
        Json::Object(fields) => fields.values_mut().for_each(|value| blank_quotes(value, episodes)),
        Json::Array(items) => items.iter_mut().for_each(|value| blank_quotes(value, episodes)),
        _ => {}
    }
}

/// Removes the agent's own words from all fields of a step.
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

/// A part without the episodes. `rests_on_them`: the turn's words and acts used one of them too.
fn without(mut part: CausePart, episodes: &BTreeSet<String>, rests_on_them: bool) -> CausePart {
    blank_quotes(&mut part.body, episodes);
    match part.kind.as_str() {
        // Other episodes that were found may still be told.
        InquiryAnswered::NAME if rests_on_them => part.body.get_mut("params").into_iter().for_each(blank),
        CycleThought::NAME if rests_on_them => part.body.get_mut("text").into_iter().for_each(blank),
        kind if rests_on_them && OWN.contains(&kind) => blank_words(&mut part.body),
        _ => {}
    }
    if let Some(Json::Array(rests_on)) = part.body.get_mut("rests_on") {
        rests_on.retain(|id| id.as_str().is_none_or(|id| !episodes.contains(id)));
    }
    part
}

/// Removes episodes from a turn's quotes; if the turn used them, also from its words and acts.
pub(super) fn redact(turn: MessageId, episodes: &BTreeSet<String>, pulse: &mut Pulse<'_, CauseLedger>) {
    let parts = pulse.records().prefixed(parts_prefix(turn).as_bytes(), usize::MAX);
    if !parts.iter().any(|(_, part)| quotes(part, episodes)) {
        return;
    }
    let read = |(key, part): &(Vec<u8>, Vec<u8>)| Some((key.clone(), serde_json::from_slice(part).ok()?));
    let parts: Vec<(Vec<u8>, CausePart)> = parts.iter().filter_map(read).collect();
    // A model's thought uses everything that the model was given.
    let rests = |part: &CausePart| match part.kind.as_str() {
        TurnEnded::NAME => rests_on(&part.body).any(|id| episodes.contains(id)),
        kind => kind == CycleThought::NAME,
    };
    let rests_on_them = parts.iter().any(|(_, part)| rests(part));
    for (key, part) in parts {
        let left = without(part.clone(), episodes, rests_on_them);
        if left != part {
            pulse.put(key, &left);
        }
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
    use maxim_bus::signals::outbox::Medium;
    use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
    use maxim_bus::signals::recall::{RecalledEpisode, Via};
    use maxim_bus::units::{Novelty, Salience};

    use super::super::LedgerSettings;
    use super::*;
    use maxim_region::rig::{Rig, monday_morning};

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
    fn all_turns_are_looked_through_a_few_at_a_time() {
        let mut rig: Rig<CauseLedger> = Rig::new(LedgerSettings { turns: 200 }, |_, _| {});
        let turns = 3 * LOOKED_THROUGH;
        for n in 1..=turns {
            asked(&mut rig, n, "It is numbat.", &["pin"]);
        }
        forget(&mut rig, "pin", true);
        assert!((1..=turns).all(|n| !told(&rig, n).contains("numbat")));
        assert_eq!(rig.next_deadline(), None, "and nothing is left to look for");
    }
}
