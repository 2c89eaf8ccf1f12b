//! The spatial bridge: where is a thing of this kind usually?
//!
//! Biology: place and object-vector cells of the hippocampus, and their readout in the retrosplenial cortex.
//! Law: per thing and place it counts hits (it was there) and misses (it was not). A place's weight is
//! h · (h + 1)/(h + m + 2): hits times the expected share of hits. Its share of belief is weight / (Σ weights + 1), where the 1
//! stands for elsewhere. For an unknown thing the answer is about its kind, the last word of its name.
//! Remembers: 512 things with 16 places each, and where each was last said to be. Forgets: the thing met longest ago,
//! the weakest place, and statements in an episode that a person has forgotten.
//! Down: habit answers "where" from episodes alone.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::{EpisodeLived, LocateUsually, UsualPlace, UsuallyLocated};
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::gist::{key, plain_words};
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, keep_most, part};

const THINGS: usize = 512;
const PLACES: usize = 16;
/// Known episodes per place that said the thing is there.
const SAID: usize = 8;
/// Places in an answer.
const SHOWN: usize = 3;
/// Longest name of a thing, in words.
const THING_WORDS: usize = 4;
/// Longest name of a place, in words, with its preposition.
const PLACE_WORDS: usize = 7;

const PREPOSITIONS: &[&str] =
    &["in", "on", "at", "under", "behind", "beside", "near", "inside", "above", "below", "over", "between"];
/// Words between a thing and its place. Longer ones come first, so that "is not" isn't read as "is".
const LINKS: &[(&str, bool)] = &[
    ("is no longer", false),
    ("are no longer", false),
    ("is not", false),
    ("are not", false),
    ("isn t", false),
    ("aren t", false),
    ("was not", false),
    ("wasn t", false),
    ("is usually", true),
    ("are usually", true),
    ("is always", true),
    ("are kept", true),
    ("is kept", true),
    ("is", true),
    ("are", true),
    ("was", true),
    ("were", true),
    ("lies", true),
    ("lie", true),
    ("hangs", true),
    ("hang", true),
    ("stands", true),
    ("sits", true),
];
/// A place must begin with one of these; so "on Monday" and "in trouble" aren't places.
const DETERMINERS: &[&str] = &["the", "a", "an", "my", "our", "your", "his", "her", "their", "this", "that"];
/// Words that may come before the thing.
const LEADS: &[&str] = &["remember that", "note that", "remember", "i think", "i believe", "today"];

/// A thing, a place with its preposition, and whether the thing is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    pub thing: String,
    pub place: String,
    pub there: bool,
}

/// What a text says about where things are. Questions say nothing.
pub fn whereabouts(text: &str) -> Vec<Whereabouts> {
    let sentences = text.split_inclusive(['.', '!', '?', '\n', ';']);
    sentences.filter(|sentence| !sentence.trim_end().ends_with('?')).filter_map(read).collect()
}

fn read(sentence: &str) -> Option<Whereabouts> {
    let mut words = plain_words(sentence);
    for lead in LEADS {
        let lead: Vec<&str> = lead.split(' ').collect();
        if words.iter().map(String::as_str).take(lead.len()).eq(lead.iter().copied()) {
            words.drain(..lead.len());
        }
    }
    let (at, length, there) = (1..words.len()).find_map(|at| {
        let link = LINKS.iter().find_map(|(link, there)| {
            let link: Vec<&str> = link.split(' ').collect();
            let here = words[at..].iter().map(String::as_str).take(link.len()).eq(link.iter().copied());
            here.then_some((link.len(), *there))
        })?;
        Some((at, link.0, link.1))
    })?;
    let thing = without_determiner(&words[..at]);
    let place = &words[at + length..];
    let named = place.first().is_some_and(|word| PREPOSITIONS.contains(&word.as_str()))
        && place.get(1).is_some_and(|word| DETERMINERS.contains(&word.as_str()))
        && place.len() > 2;
    let short = (1..=THING_WORDS).contains(&thing.len()) && place.len() <= PLACE_WORDS;
    let vague = ["it", "that", "this", "he", "she", "they", "there", "what", "who", "i", "we", "you"];
    let concrete = thing.first().is_some_and(|word| !vague.contains(&word.as_str()));
    (named && short && concrete).then(|| Whereabouts { thing: thing.join(" "), place: place.join(" "), there })
}

fn without_determiner(words: &[String]) -> &[String] {
    match words.first() {
        Some(first) if DETERMINERS.contains(&first.as_str()) => &words[1..],
        _ => words,
    }
}

/// How often it was there, and how often not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    place: String,
    hits: u32,
    misses: u32,
    /// The newest episodes that said so, and whether they said that it is there.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    said: VecDeque<(String, bool)>,
}

impl Tally {
    fn count(&mut self, there: bool, episode: &str) {
        let of = if there { &mut self.hits } else { &mut self.misses };
        *of = of.saturating_add(1);
        self.said.push_back((episode.to_owned(), there));
        self.said.drain(..self.said.len().saturating_sub(SAID));
    }

    /// Removes statements of episodes that a person had forgotten; false when none is left.
    fn let_go(&mut self, removed: &RecordsRemoved) -> bool {
        let Self { hits, misses, said, .. } = self;
        said.retain(|(episode, there)| {
            let is_gone = removed.ids.contains(episode);
            if is_gone && removed.forgotten {
                let of = if *there { &mut *hits } else { &mut *misses };
                *of = of.saturating_sub(1);
            }
            !is_gone
        });
        self.hits + self.misses > 0
    }

    /// h · (h + 1)/(h + m + 2).
    pub fn weight(&self) -> f64 {
        let (hits, misses) = (f64::from(self.hits), f64::from(self.misses));
        hits * (hits + 1.0) / (hits + misses + 2.0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Places {
    /// By the stems of their names.
    tallies: BTreeMap<String, Tally>,
    met: Timestamp,
}

impl Places {
    fn note(&mut self, place: &str, there: bool, episode: &str, at: Timestamp) {
        self.met = at;
        let place_key = format!("{} {}", place.split(' ').next().unwrap_or_default(), key(place));
        let tally = self.tallies.entry(place_key).or_default();
        tally.place = place.into();
        tally.count(there, episode);
        if self.tallies.len() > PLACES {
            let weakest = self.tallies.iter().min_by(|a, b| a.1.weight().total_cmp(&b.1.weight()));
            if let Some(weakest) = weakest.map(|(place, _)| place.clone()) {
                self.tallies.remove(&weakest);
            }
        }
    }

    fn usual(&self) -> Vec<UsualPlace> {
        let total: f64 = self.tallies.values().map(Tally::weight).sum();
        let of = |tally: &Tally| UsualPlace {
            place: tally.place.clone(),
            share: tally.weight() / (total + 1.0),
            hits: tally.hits,
            misses: tally.misses,
        };
        let mut usual: Vec<UsualPlace> = self.tallies.values().filter(|tally| tally.hits > 0).map(of).collect();
        usual.sort_by(|a, b| b.share.total_cmp(&a.share));
        usual.truncate(SHOWN);
        usual
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SpatialBridge {
    /// By the stems of the thing's name; a kind has the prefix `…`.
    things: BTreeMap<String, Places>,
}

/// Untagged, so that statements keep their old format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SpatialEvent {
    Noted(Noted),
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

/// A statement of where something is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Noted {
    thing: String,
    place: String,
    there: bool,
    at: Timestamp,
    episode: String,
}

wiring!(SpatialBridge {
    hears: [EpisodeLived, RecordsRemoved, LocateUsually, ReportStats, ExportRecords, ImportRecords],
    back: [],
    emits: [UsuallyLocated, StatsReported, RecordsExported, RecordsImported],
});

fn kind_key(thing: &str) -> String {
    format!("…{}", key(thing.rsplit(' ').next().unwrap_or(thing)))
}

impl Region for SpatialBridge {
    const NAME: RegionName = rooms::SPATIAL_BRIDGE;
    const STAGE: Stage = Stage::Learning;
    type Event = SpatialEvent;
    type Settings = ();

    fn apply(&mut self, event: SpatialEvent) {
        let event = match event {
            SpatialEvent::Noted(event) => event,
            SpatialEvent::LetGo(removed) => return self.let_go(&removed),
            SpatialEvent::Imported(puts) => return puts.apply_to(self),
        };
        for name in [key(&event.thing), kind_key(&event.thing)] {
            self.things.entry(name).or_default().note(&event.place, event.there, &event.episode, event.at);
        }
        keep_most(&mut self.things, THINGS, |a, b| a.met.cmp(&b.met));
    }
}

impl RemembersInState for SpatialBridge {
    const PARTS: &'static [StatePart] = &[part("things", Law::Each { most: THINGS, evidence: &[] })];

    fn imported(puts: StatePuts) -> SpatialEvent {
        SpatialEvent::Imported(puts)
    }
}

impl SpatialBridge {
    fn let_go(&mut self, removed: &RecordsRemoved) {
        self.things.retain(|_, places| {
            places.tallies.retain(|_, tally| tally.let_go(removed));
            !places.tallies.is_empty()
        });
    }

    fn locate(&self, thing: &str) -> (bool, Vec<UsualPlace>) {
        let words = plain_words(thing);
        let thing = without_determiner(&words).join(" ");
        let of = |name: String| self.things.get(&name).map(Places::usual).filter(|usual| !usual.is_empty());
        match of(key(&thing)) {
            Some(usual) => (false, usual),
            None => (true, of(kind_key(&thing)).unwrap_or_default()),
        }
    }
}

impl Hears<EpisodeLived> for SpatialBridge {
    fn heeds(lived: &EpisodeLived) -> bool {
        lived.trust >= Trust::Sensor && !lived.retold
    }

    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        let at = pulse.now();
        for Whereabouts { thing, place, there } in whereabouts(&lived.text) {
            let episode = lived.episode.clone();
            pulse.keep(SpatialEvent::Noted(Noted { thing, place, there, at, episode }));
        }
    }
}

impl Hears<RecordsRemoved> for SpatialBridge {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        let mut said = self.things.values().flat_map(|places| places.tallies.values()).flat_map(|tally| &tally.said);
        let mut is_held = || said.any(|(episode, _)| removed.ids.contains(episode));
        if removed.layer == Layer::Hippocampus && (removed.forgotten || is_held()) {
            pulse.keep_gone(SpatialEvent::LetGo(removed.clone()), removed.forgotten);
        }
    }
}

impl Hears<LocateUsually> for SpatialBridge {
    fn hear(&self, question: &LocateUsually, pulse: &mut Pulse<'_, Self>) {
        let (by_kind, places) = self.locate(&question.thing);
        pulse.reply(UsuallyLocated { turn: question.turn, thing: question.thing.clone(), by_kind, places });
    }
}

impl Hears<ReportStats> for SpatialBridge {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let things = self.things.keys().filter(|name| !name.starts_with('…')).count();
        let counts = serde_json::json!({ "things": things });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;

    use super::super::fixtures::lived;
    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn said(text: &str) -> Option<(String, String, bool)> {
        whereabouts(text).into_iter().next().map(|w| (w.thing, w.place, w.there))
    }

    fn is(thing: &str, place: &str, there: bool) -> Option<(String, String, bool)> {
        Some((thing.into(), place.into(), there))
    }

    #[test]
    fn places_are_read_from_statements_and_nothing_else() {
        assert_eq!(
            said("remember that the spare key is in the blue drawer"),
            is("spare key", "in the blue drawer", true)
        );
        assert_eq!(said("My cup isn't on the table."), is("cup", "on the table", false));
        assert_eq!(said("the ladder is no longer behind the shed"), is("ladder", "behind the shed", false));
        for nothing in [
            "where is the cup?",
            "is the cup on the table?",
            "the meeting is on Monday",
            "Anna is in trouble",
            "it is on the table",
            "create a file a.txt with the text hello",
            "the cup is red",
        ] {
            assert_eq!(said(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_places_share_grows_with_hits_and_falls_with_misses() {
        let tally = |hits, misses| Tally { hits, misses, ..Tally::default() };
        assert_eq!((tally(3, 0).weight(), tally(1, 0).weight(), tally(0, 3).weight()), (2.4, 2.0 / 3.0, 0.0));
        assert!((tally(3, 2).weight() - 12.0 / 7.0).abs() < 1e-12);
        let mut places = Places::default();
        let at = Timestamp::UNIX_EPOCH;
        (0..3).for_each(|_| places.note("on the table", true, "e", at));
        places.note("in the shelf", true, "e", at);
        let usual = places.usual();
        // 2.4 / (2.4 + 2/3 + 1)
        assert!((usual[0].share - 2.4 / (2.4 + 2.0 / 3.0 + 1.0)).abs() < 1e-12);
        assert_eq!((usual[0].place.as_str(), usual[1].hits), ("on the table", 1));
        (0..15).for_each(|_| places.note("on the table", false, "e", at));
        assert_eq!(places.usual()[0].place, "in the shelf", "3·4/20 = 0.6 against 2/3");
    }

    #[test]
    fn a_thing_is_located_by_itself_or_by_its_kind() {
        let mut rig: Rig<SpatialBridge> = Rig::new((), ear::<UsuallyLocated>);
        rig.send(lived("remember that the spare key is in the blue drawer", &[]));
        let mut outside = lived("the garden key is under the mat", &[]);
        outside.trust = Trust::Outside;
        rig.send(outside);
        rig.crash();
        let turn = MessageId::from_parts(1, 1);
        let mut ask = |thing: &str| {
            rig.send(LocateUsually { turn, thing: thing.into() });
            rig.heard::<UsuallyLocated>().remove(0)
        };
        let own = ask("the spare key");
        assert!(!own.by_kind && own.places[0].place == "in the blue drawer", "{own:?}");
        let kind = ask("the garden key");
        assert!(kind.by_kind && kind.places.len() == 1 && kind.places[0].place == "in the blue drawer", "{kind:?}");
        assert!(ask("the cat").places.is_empty());
    }

    #[test]
    fn what_was_said_in_a_forgotten_episode_is_not_where_it_is() {
        let mut rig: Rig<SpatialBridge> = Rig::new((), ear::<UsuallyLocated>);
        let drawer = lived("the spare key is in the blue drawer", &[]);
        let hook = lived("the spare key is on the brass hook", &[]);
        let ladder = lived("the ladder is behind the shed", &[]);
        for said in [&drawer, &hook, &hook, &ladder] {
            rig.send(said.clone());
        }
        let removed = |of: &EpisodeLived, forgotten| RecordsRemoved {
            layer: Layer::Hippocampus,
            ids: vec![of.episode.clone()],
            forgotten,
            again: false,
        };
        let shown = |rig: &mut Rig<SpatialBridge>, thing: &str| -> Vec<(String, u32)> {
            rig.send(LocateUsually { turn: MessageId::from_parts(1, 1), thing: thing.into() });
            let places = rig.heard::<UsuallyLocated>().remove(0).places;
            places.into_iter().map(|place| (place.place, place.hits)).collect()
        };
        rig.send(removed(&hook, false));
        rig.send(removed(&drawer, true));
        rig.send(removed(&ladder, true));
        let left = serde_json::to_string(rig.region()).expect("a state");
        assert!(!["blue", "shed", "ladder", "episode of"].iter().any(|gone| left.contains(gone)), "{left}");
        rig.crash();
        let hooked = [("on the brass hook".to_owned(), 2)];
        assert_eq!(shown(&mut rig, "the spare key"), hooked, "what sleep let go stays learned");
        assert_eq!(shown(&mut rig, "the garden key"), hooked, "of its kind too");
        assert!(shown(&mut rig, "the ladder").is_empty());
    }
}
