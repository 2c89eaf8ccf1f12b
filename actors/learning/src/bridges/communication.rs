//! The communication bridge: which messages were welcome, to whom and when?
//!
//! Biology: the temporoparietal junction and the reward of being understood.
//! Law: what a person says within ten minutes of a message counts as thanks (λ = 1), a complaint (λ = 0) or a reply.
//! After an unprompted message a reply counts 0.7 and silence 0.3; after an answer neither counts. Welcome w ← w +
//! α(λ − w) from ½, α = 0.3, per person and per hour of the day at the body's place. At an hour it is (n·w_hour +
//! 3·w)/(n + 3). Below 0.35 the brain confirms in one word. An explicit wish about how to be spoken to takes effect
//! at once. What was learned about people who may command is offered as general knowledge (`manner`).
//! Remembers: the values of the 256 people heard most recently. Forgets: the person not heard from for longest, and
//! the ids of removed turns.
//! Down: habit keeps speaking as it was last told.

use std::collections::{BTreeMap, VecDeque};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::rooms;
use maxim_bus::signals::bridges::{MannerLearned, hour_of};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::SalientPercept;
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::units::Value;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::gist::plain_words;
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

/// Turns remembered as evidence.
const EVIDENCE: usize = 16;
/// Learning rate α.
const ALPHA: f64 = 0.3;
/// A message later than this doesn't count as a reaction.
const REACTION: SignedDuration = SignedDuration::from_mins(10);
/// Below this, confirmations are one word.
const BRIEF: f64 = 0.35;
/// Weight of a person's overall value against an hour's, in observations.
const PRIOR: f64 = 3.0;
const PEOPLE: usize = 256;
/// Longer utterances are about something else.
const MOST_WORDS: usize = 12;

const THANKS: &[&str] =
    &["thanks", "thank you", "thx", "well done", "good job", "that helped", "very helpful", "perfect"];
const COMPLAINTS: &[&str] = &[
    "too much text",
    "too much talk",
    "you talk too much",
    "you say too much",
    "not helpful",
    "useless",
    "annoying",
    "shut up",
    "be quiet",
    "stop messaging",
    "stop writing me",
    "don t write me",
    "spam",
    "too long",
    "too many words",
];
const BREVITY: &[&str] = &[
    "be brief",
    "be short",
    "be concise",
    "keep it short",
    "shorter answers",
    "fewer words",
    "don t confirm",
    "no need to confirm",
];
const DETAIL: &[&str] =
    &["more detail", "be verbose", "longer answers", "full answers", "tell me more", "don t be so brief"];

/// What a person's words say about the message before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    Thanks,
    Complaint,
    WantsBrevity,
    WantsDetail,
    Reply,
}

/// Reads a reaction from a short utterance; anything else is a reply.
pub fn reaction(text: &str) -> Reaction {
    let words = plain_words(text);
    if words.len() > MOST_WORDS {
        return Reaction::Reply;
    }
    let said = format!(" {} ", words.join(" "));
    let from_each_word: Vec<&str> = said.match_indices(' ').map(|(at, _)| &said[at + 1..]).collect();
    let begins = |said: &str, phrase: &str| said.strip_prefix(phrase).is_some_and(|rest| rest.starts_with(' '));
    let holds = |phrases: &[&str]| phrases.iter().any(|phrase| from_each_word.iter().any(|said| begins(said, phrase)));
    match () {
        () if holds(DETAIL) => Reaction::WantsDetail,
        () if holds(BREVITY) => Reaction::WantsBrevity,
        () if holds(COMPLAINTS) => Reaction::Complaint,
        () if holds(THANKS) => Reaction::Thanks,
        () => Reaction::Reply,
    }
}

/// λ of a reaction; none if it teaches nothing. `unprompted`: the message wasn't an answer.
pub fn reward(reaction: Option<Reaction>, unprompted: bool) -> Option<f64> {
    match (reaction, unprompted) {
        (Some(Reaction::Thanks), _) => Some(1.0),
        (Some(Reaction::Complaint | Reaction::WantsBrevity), _) => Some(0.0),
        (Some(Reaction::Reply | Reaction::WantsDetail), true) => Some(0.7),
        (None, true) => Some(0.3),
        (_, false) => None,
    }
}

/// A running value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    pub(super) value: f64,
    pub(super) observations: u32,
}

impl Default for Welcome {
    fn default() -> Self {
        Self { value: 0.5, observations: 0 }
    }
}

impl Welcome {
    fn learn(&mut self, lambda: f64) {
        self.value += ALPHA * (lambda - self.value);
        self.observations = self.observations.saturating_add(1);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) welcome: Welcome,
    hours: BTreeMap<u8, Welcome>,
    /// An explicit wish: brief or in full.
    wish: Option<bool>,
    /// The newest message to this person, until a reaction comes.
    message: Option<Message>,
    /// The newest turn that this person began.
    turn: Option<MessageId>,
    heard: Timestamp,
    /// The trust of the latest message under this name.
    pub(super) trust: Option<Trust>,
    /// The newest turns with reactions that taught something.
    pub(super) evidence: VecDeque<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Message {
    at: Timestamp,
    /// Of the day at the body's place.
    hour: u8,
    unprompted: bool,
}

impl Person {
    fn at_hour(&self, hour: u8) -> f64 {
        let of_hour = self.hours.get(&hour).copied().unwrap_or_default();
        let n = f64::from(of_hour.observations);
        (n * of_hour.value + PRIOR * self.welcome.value) / (n + PRIOR)
    }

    pub(super) fn brief(&self) -> bool {
        self.wish.unwrap_or(self.welcome.value < BRIEF)
    }

    /// Hours at which the manner differs from the usual one.
    fn exceptions(&self) -> BTreeMap<u8, bool> {
        let brief = |hour: u8| self.wish.unwrap_or(self.at_hour(hour) < BRIEF);
        let hours = self.hours.keys().map(|hour| (*hour, brief(*hour)));
        hours.filter(|(_, at_hour)| *at_hour != self.brief()).collect()
    }

    /// `reaction`: none for silence.
    fn react(&mut self, reaction: Option<Reaction>, now: Timestamp) {
        match reaction {
            Some(Reaction::WantsBrevity) => self.wish = Some(true),
            Some(Reaction::WantsDetail) => self.wish = Some(false),
            _ => {}
        }
        let Some(message) = self.message.take() else { return };
        let late = now.duration_since(message.at) > REACTION;
        let reaction = reaction.filter(|_| !late);
        if let Some(lambda) = reward(reaction, message.unprompted) {
            self.welcome.learn(lambda);
            self.hours.entry(message.hour).or_default().learn(lambda);
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommunicationBridge {
    /// By `channel/sender`.
    pub(super) people: BTreeMap<String, Person>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CommunicationEvent {
    Said { who: String, turn: MessageId, at: Timestamp, hour: u8 },
    Heard { who: String, turn: MessageId, text: String, at: Timestamp, trust: Option<Trust> },
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

wiring!(CommunicationBridge {
    hears: [Outbound, SalientPercept, RecordsRemoved, OfferCandidates, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [MannerLearned, CandidatesOffered, StatsReported, RecordsExported, RecordsImported],
});

impl Region for CommunicationBridge {
    const NAME: RegionName = rooms::COMMUNICATION_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = CommunicationEvent;
    /// The time zone for hours.
    type Settings = TimeZone;

    fn apply(&mut self, event: CommunicationEvent) {
        match event {
            CommunicationEvent::Said { who, turn, at, hour } => {
                let person = self.person(who, at);
                let unprompted = person.turn != Some(turn);
                if unprompted {
                    // There was no reaction to the previous message.
                    person.react(None, at);
                }
                person.message = Some(Message { at, hour, unprompted });
            }
            CommunicationEvent::Heard { who, turn, text, at, trust } => {
                let person = self.person(who, at);
                let taught = person.welcome.observations;
                person.react(Some(reaction(&text)), at);
                if person.welcome.observations > taught {
                    person.evidence.push_back(turn.to_string());
                    person.evidence.drain(..person.evidence.len().saturating_sub(EVIDENCE));
                }
                person.trust = trust;
                person.turn = Some(turn);
            }
            CommunicationEvent::LetGo(removed) => {
                for person in self.people.values_mut() {
                    person.evidence.retain(|turn| !removed.ids.contains(turn));
                    person.turn = person.turn.filter(|turn| !removed.ids.contains(&turn.to_string()));
                }
            }
            CommunicationEvent::Imported(puts) => puts.apply_to(self),
        }
    }
}

impl RemembersInState for CommunicationBridge {
    const PARTS: &'static [StatePart] = &[part("people", Law::Each { most: PEOPLE, evidence: &[] })];

    fn imported(puts: StatePuts) -> CommunicationEvent {
        CommunicationEvent::Imported(puts)
    }

    fn tell(&self, after: &Self, pulse: &mut Pulse<'_, Self>) {
        let manner = |person: Option<&Person>| {
            person.map_or((false, BTreeMap::new()), |person| (person.brief(), person.exceptions()))
        };
        for (who, person) in &after.people {
            let (before, (brief, hours)) = (manner(self.people.get(who)), manner(Some(person)));
            if let (true, Some((channel, sender))) = ((brief, &hours) != (before.0, &before.1), who.split_once('/')) {
                let welcome = Value::clamped(person.welcome.value);
                pulse.emit(MannerLearned { channel: channel.into(), person: sender.into(), brief, hours, welcome });
            }
        }
    }
}

fn who(channel: &str, sender: &str) -> String {
    format!("{channel}/{sender}")
}

impl CommunicationBridge {
    fn person(&mut self, who: String, at: Timestamp) -> &mut Person {
        if !self.people.contains_key(&who)
            && self.people.len() >= PEOPLE
            && let Some(oldest) = self.people.iter().min_by_key(|(_, person)| person.heard).map(|(who, _)| who.clone())
        {
            self.people.remove(&oldest);
        }
        let person = self.people.entry(who).or_default();
        person.heard = at;
        person
    }

    /// Stores the event, and reports how this person wants to be spoken to if that is new.
    fn learn(&self, channel: &str, sender: &str, event: CommunicationEvent, pulse: &mut Pulse<'_, Self>) {
        let who = who(channel, sender);
        let mut later =
            Self { people: self.people.get_key_value(&who).map(|(k, v)| (k.clone(), v.clone())).into_iter().collect() };
        later.apply(event.clone());
        let manner = |people: &BTreeMap<String, Person>| {
            let person = people.get(&who)?;
            Some((person.brief(), person.exceptions()))
        };
        let before = manner(&self.people).unwrap_or((false, BTreeMap::new()));
        if let (Some(after), Some(person)) = (manner(&later.people), later.people.get(&who))
            && after != before
        {
            let (brief, hours) = after;
            let welcome = Value::clamped(person.welcome.value);
            pulse.emit(MannerLearned { channel: channel.into(), person: sender.into(), brief, hours, welcome });
        }
        pulse.keep(event);
    }
}

impl Hears<Outbound> for CommunicationBridge {
    fn hear(&self, outbound: &Outbound, pulse: &mut Pulse<'_, Self>) {
        let event = CommunicationEvent::Said {
            who: who(&outbound.channel, &outbound.recipient),
            turn: outbound.turn,
            at: pulse.now(),
            hour: hour_of(pulse.now(), pulse.settings()),
        };
        self.learn(&outbound.channel, &outbound.recipient, event, pulse);
    }
}

impl Hears<SalientPercept> for CommunicationBridge {
    fn heeds(salient: &SalientPercept) -> bool {
        salient.percept.is_said()
    }

    fn hear(&self, salient: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let percept = &salient.percept;
        let origin = &percept.metadata;
        let turn = pulse.turn();
        let text = percept.content.chars().take(200).collect();
        let trust = Some(pulse.trust());
        let who = who(&origin.channel, &origin.sender);
        let event = CommunicationEvent::Heard { who, turn, text, at: pulse.now(), trust };
        self.learn(&origin.channel, &origin.sender, event, pulse);
    }
}

impl Hears<RecordsRemoved> for CommunicationBridge {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let names = |person: &Person| {
            let turn = person.turn.map(|turn| turn.to_string());
            person.evidence.iter().chain(&turn).any(|turn| removed.ids.contains(turn))
        };
        if removed.layer == Layer::Hippocampus && (removed.forgotten || self.people.values().any(names)) {
            pulse.keep_gone(CommunicationEvent::LetGo(removed.clone()), removed.forgotten);
        }
    }
}

impl Hears<ReportStats> for CommunicationBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let brief = self.people.values().filter(|person| person.brief()).count();
        let counts = serde_json::json!({ "people": self.people.len(), "spoken_to_briefly": brief });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::outbox::Medium;
    use maxim_bus::signals::percept::{Disposition, Percept};
    use maxim_bus::units::{Novelty, Salience};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn id(n: u64) -> MessageId {
        MessageId::from_parts(n, 0)
    }

    fn heard(bridge: &mut CommunicationBridge, turn: u64, text: &str, minute: i64) {
        let event = CommunicationEvent::Heard {
            who: "http/anna".into(),
            turn: id(turn),
            text: text.into(),
            at: at(minute),
            trust: Some(Trust::Owner),
        };
        bridge.apply(event);
    }

    fn told(turn: u64) -> Outbound {
        Outbound {
            turn: id(turn),
            channel: "http".into(),
            recipient: "anna".into(),
            text: "the bread is done".into(),
            action: None,
            tool: None,
            medium: Medium::Text,
        }
    }

    fn said(bridge: &mut CommunicationBridge, turn: u64, minute: i64) {
        let hour = hour_of(at(minute), &TimeZone::UTC);
        bridge.apply(CommunicationEvent::Said { who: "http/anna".into(), turn: id(turn), at: at(minute), hour });
    }

    #[test]
    fn reactions_are_read_from_short_utterances() {
        let cases = [
            ("Thanks!", Reaction::Thanks),
            ("that was too much text", Reaction::Complaint),
            ("You talk too much.", Reaction::Complaint),
            ("please be brief", Reaction::WantsBrevity),
            ("Don't confirm every little thing", Reaction::WantsBrevity),
            ("give me more detail", Reaction::WantsDetail),
            ("create a file a.txt", Reaction::Reply),
            ("write a letter to my landlord that says his last notice was useless and far too long", Reaction::Reply),
        ];
        cases.into_iter().for_each(|(text, read)| assert_eq!(reaction(text), read, "{text}"));
    }

    #[test]
    fn complaints_lower_welcome_by_the_rule_and_two_make_it_brief() {
        let mut bridge = CommunicationBridge::default();
        heard(&mut bridge, 1, "hello", 0);
        for n in 1..=2 {
            said(&mut bridge, n, 0);
            heard(&mut bridge, n + 1, "too much text", 1);
            let person = &bridge.people["http/anna"];
            let expected = if n == 1 { 0.35 } else { 0.245 };
            assert!((person.welcome.value - expected).abs() < 1e-12);
            assert_eq!(person.brief(), n == 2);
        }
        // Hour 0: n = 2, w = 0.245 as well.
        assert!((bridge.people["http/anna"].at_hour(0) - 0.245).abs() < 1e-12);
        said(&mut bridge, 3, 2);
        heard(&mut bridge, 4, "thank you", 3);
        assert!((bridge.people["http/anna"].welcome.value - 0.4715).abs() < 1e-12);
        assert!(!bridge.people["http/anna"].brief());
    }

    #[test]
    fn silence_speaks_against_unprompted_messages_alone() {
        let mut bridge = CommunicationBridge::default();
        heard(&mut bridge, 1, "hello", 0);
        said(&mut bridge, 1, 0);
        heard(&mut bridge, 2, "what is new", 30);
        assert_eq!(bridge.people["http/anna"].welcome.observations, 0, "an answer wants no answer");
        said(&mut bridge, 77, 40);
        said(&mut bridge, 78, 50);
        assert!((bridge.people["http/anna"].welcome.value - 0.44).abs() < 1e-12, "0.5 + 0.3·(0.3 − 0.5)");
        heard(&mut bridge, 3, "interesting, go on", 51);
        assert!((bridge.people["http/anna"].welcome.value - 0.518).abs() < 1e-12, "0.44 + 0.3·(0.7 − 0.44)");
    }

    #[test]
    fn an_hour_of_its_own_and_a_plain_wish_are_heard() {
        let mut bridge = CommunicationBridge::default();
        for n in 0..4 {
            said(&mut bridge, 100 + n, 180);
            heard(&mut bridge, n, "annoying", 181);
            said(&mut bridge, 200 + n, 600);
            heard(&mut bridge, n, "thanks", 601);
        }
        let person = &bridge.people["http/anna"];
        assert!(!person.brief() && person.exceptions() == BTreeMap::from([(3, true)]), "{person:?}");
        heard(&mut bridge, 9, "be brief", 700);
        assert!(bridge.people["http/anna"].brief() && bridge.people["http/anna"].exceptions().is_empty());
        heard(&mut bridge, 10, "more detail please", 701);
        assert!(!bridge.people["http/anna"].brief());
    }

    #[test]
    fn what_is_gone_is_no_evidence_and_what_it_taught_stays() {
        use maxim_region::rig::Rig;
        let mut rig: Rig<CommunicationBridge> = Rig::new(TimeZone::UTC, |_, _| {});
        for n in 1..=2 {
            rig.send(told(100 + n));
            let percept = Percept::from_outside("http", "anna", "thanks".into(), true, Trust::Owner);
            let (salience, novelty) = (Salience::clamped(0.9), Novelty::clamped(0.5));
            let heard = SalientPercept { percept, disposition: Disposition::Proceed, salience, novelty };
            rig.send_in(id(n), Trust::Owner, heard);
        }
        let before = rig.region().people["http/anna"].clone();
        assert_eq!((before.evidence.len(), before.turn), (2, Some(id(2))));
        rig.send(RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec![id(2).to_string()],
            forgotten: true,
            again: false,
        });
        rig.crash();
        let after = rig.region().people["http/anna"].clone();
        assert_eq!(after.evidence, [id(1).to_string()]);
        assert_eq!((after.turn, after.welcome), (None, before.welcome));
    }

    #[test]
    fn hours_are_those_of_the_place() {
        use maxim_region::rig::{Rig, ear, monday_morning};
        let tokyo = TimeZone::get("Asia/Tokyo").expect("a zone");
        let mut rig: Rig<CommunicationBridge> = Rig::new(tokyo.clone(), ear::<MannerLearned>);
        for n in 1..=2 {
            // The second message shows that there was no reaction to the first.
            rig.send(told(n));
        }
        let there = u8::try_from(monday_morning().to_zoned(tokyo).hour()).expect("an hour");
        assert_eq!(rig.region().people["http/anna"].hours.keys().collect::<Vec<_>>(), [&there]);
        assert_ne!(hour_of(monday_morning(), &TimeZone::UTC), there);
    }
}
