//! What the bridges tell habit: plans that worked for such goals, where things usually are, how people want to be spoken to.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::bridges::{MannerLearned, PlannedStep, ProposedPlan, UsualPlace, UsuallyLocated, hour_of};
use maxim_bus::signals::intent::Alternative;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use maxim_language::Stems;

/// An offered plan may be accepted this long.
const OFFERED_FOR: SignedDuration = SignedDuration::from_mins(5);
/// People whose manners and offers are remembered.
const PEOPLE: usize = 256;
/// Characters of a parameter that an offer shows.
const SHOWN: usize = 60;
/// Words of a thing that is asked for, at most.
const THING_WORDS: usize = 4;

/// What a turn waits for, at a bridge or at the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Waiting {
    /// How such a goal was reached before.
    Plans,
    /// Where such a thing usually is; with what is said if nobody knows. Without, the question is answered as any other.
    UsualPlace { fallback: Option<String> },
    /// What the gate makes of an answer: whether it named no approval, or by letters that can be a word as well.
    Gate { is_bare: bool, is_a_word: bool },
    /// What comes of what was allowed.
    Outcome { intent: MessageId, tool: String },
}

/// A plan that a person was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub template: u64,
    pub goal: String,
    pub steps: Vec<PlannedStep>,
    /// The practised program that these steps are.
    #[serde(default)]
    program: Option<String>,
    until: Timestamp,
}

impl Offer {
    pub fn of(plan: &ProposedPlan, now: Timestamp) -> Self {
        let ProposedPlan { template, goal, steps, program, .. } = plan.clone();
        Self { template, goal, steps, program, until: now.later(OFFERED_FOR) }
    }

    /// The offer in words: what would be done, and how to accept it.
    pub fn words(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        let named = self.program.as_ref().map(|name| format!("my program {name}, ")).unwrap_or_default();
        format!(
            "I don't understand that as a request. When you said “{}”, this worked: {named}{}. Shall I do that now? Say “yes”.",
            clipped(&self.goal, 120),
            steps.join(", then ")
        )
    }
}

/// Whether a plan that worked for `goal` may be meant by a wish: what leads the wish must occur in the goal. Who asks to
/// delete a file isn't offered to read it.
pub(super) fn may_serve(wish: &str, goal: &str) -> bool {
    let stems = Stems::default();
    let leads = stems.of_text(wish).into_iter().next();
    leads.is_none_or(|leads| stems.of_text(goal).contains(&leads))
}

/// The first step of a plan that wasn't offered.
pub(super) fn as_alternative(plan: &ProposedPlan) -> Option<Alternative> {
    let first = plan.steps.first()?;
    let why = format!("a plan that worked for “{}”; another fits better", clipped(&plan.goal, 120));
    Some(Alternative { tool: first.tool.clone(), params: first.params.clone(), why })
}

fn step(step: &PlannedStep) -> String {
    let shown = |value: &Json| clipped(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), SHOWN);
    let params: Vec<String> = match &step.params {
        Json::Object(fields) => fields.iter().map(|(name, value)| format!("{name} “{}”", shown(value))).collect(),
        _ => Vec::new(),
    };
    if params.is_empty() { step.tool.clone() } else { format!("{} with {}", step.tool, params.join(", ")) }
}

fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Offers and manners, by `channel/person`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counsel {
    offers: BTreeMap<String, Offer>,
    /// Confirmations in a word: at most hours, and the hours (UTC) at which it is otherwise.
    manners: BTreeMap<String, (bool, BTreeMap<u8, bool>)>,
}

pub(super) fn who(channel: &str, person: &str) -> String {
    format!("{channel}/{person}")
}

impl Counsel {
    pub fn offer(&mut self, who: String, offer: Offer) {
        self.offers.retain(|_, old| old.until > offer.until.earlier(OFFERED_FOR));
        if self.offers.len() < PEOPLE {
            self.offers.insert(who, offer);
        }
    }

    pub fn close(&mut self, who: &str) {
        self.offers.remove(who);
    }

    pub fn offered(&self, who: &str, now: Timestamp) -> Option<&Offer> {
        self.offers.get(who).filter(|offer| now < offer.until)
    }

    pub fn has_offer(&self, who: &str) -> bool {
        self.offers.contains_key(who)
    }

    pub fn learn(&mut self, manner: MannerLearned) {
        let who = who(&manner.channel, &manner.person);
        if !manner.brief && manner.hours.is_empty() {
            self.manners.remove(&who);
        } else if self.manners.contains_key(&who) || self.manners.len() < PEOPLE {
            self.manners.insert(who, (manner.brief, manner.hours));
        }
    }

    pub fn is_brief(&self, who: &str, now: Timestamp, zone: &TimeZone) -> bool {
        let hour = hour_of(now, zone);
        let of_hour = |(brief, hours): &(bool, BTreeMap<u8, bool>)| hours.get(&hour).copied().unwrap_or(*brief);
        self.manners.get(who).is_some_and(of_hour)
    }
}

/// "Where is my cup usually?": what is asked for, and whether by habit. None where it isn't a question of a place.
pub(super) fn whereabouts_asked(text: &str) -> Option<(String, bool)> {
    const USUALLY: [&str; 6] = ["usually", "normally", "typically", "generally", "mostly", "always"];
    const BEFORE: [&str; 31] = [
        "is", "are", "was", "were", "do", "does", "did", "can", "could", "would", "should", "will", "might", "s", "i",
        "we", "you", "people", "they", "keep", "find", "put", "leave", "store", "look", "the", "a", "an", "my", "our",
        "for",
    ];
    const AFTER: [&str; 12] =
        ["kept", "found", "stored", "be", "go", "goes", "lie", "lies", "now", "right", "again", "located"];
    let lower = text.to_lowercase();
    let mut words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.first() != Some(&"where") {
        return None;
    }
    let usually = words.iter().any(|word| USUALLY.contains(word));
    words.retain(|word| !USUALLY.contains(word));
    let start = words.iter().skip(1).position(|word| !BEFORE.contains(word))? + 1;
    let end = words.iter().rposition(|word| !AFTER.contains(word))? + 1;
    let thing = words.get(start..end)?;
    (1..=THING_WORDS).contains(&thing.len()).then(|| (thing.join(" "), usually))
}

/// Where it usually is, in words; none where nothing is known.
pub(super) fn usually(located: &UsuallyLocated) -> Option<String> {
    let (best, others) = located.places.split_first()?;
    let seen = best.hits + best.misses;
    let times = match (best.hits, seen) {
        (1, 1) => "once so far".to_owned(),
        (hits, seen) => format!("{hits} of {seen} times"),
    };
    let subject = if located.by_kind { "Such things are usually" } else { "It is usually" };
    let place = |place: &UsualPlace| place.place.clone();
    let otherwise: Vec<String> = others.iter().map(place).collect();
    let otherwise =
        if otherwise.is_empty() { String::new() } else { format!(", otherwise {}", otherwise.join(" or ")) };
    Some(format!("{subject} {} ({times}){otherwise}.", best.place))
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;

    use super::*;

    #[test]
    fn questions_of_a_place_are_told_from_others() {
        let asked = |text: &str| whereabouts_asked(text);
        let is = |thing: &str, usually| Some((thing.to_owned(), usually));
        assert_eq!(asked("Where is the red cup usually?"), is("red cup", true));
        assert_eq!(asked("where do we normally keep the spare keys"), is("spare keys", true));
        assert_eq!(asked("where can I usually find my glasses?"), is("glasses", true));
        assert_eq!(asked("where is the spare key?"), is("spare key", false));
        for other in
            ["what is in the drawer usually?", "where?", "where is it that one should go if the shop is closed today"]
        {
            assert_eq!(asked(other), None, "{other}");
        }
    }

    #[test]
    fn a_usual_place_is_told_with_its_counts() {
        let place = |place: &str, hits, misses| UsualPlace { place: place.into(), share: 0.5, hits, misses };
        let mut located = UsuallyLocated {
            turn: MessageId::from_parts(1, 1),
            thing: "cup".into(),
            by_kind: false,
            places: vec![place("on the table", 3, 1), place("in the shelf", 1, 0)],
        };
        assert_eq!(
            usually(&located).as_deref(),
            Some("It is usually on the table (3 of 4 times), otherwise in the shelf.")
        );
        located.by_kind = true;
        located.places.remove(0);
        assert_eq!(usually(&located).as_deref(), Some("Such things are usually in the shelf (once so far)."));
        located.places.clear();
        assert_eq!(usually(&located), None);
    }

    #[test]
    fn manners_hold_by_the_hour_and_offers_for_five_minutes() {
        let now: Timestamp = "2026-01-05T09:30:00Z".parse().expect("a time");
        let mut counsel = Counsel::default();
        let manner = |brief, hours: &[(u8, bool)]| MannerLearned {
            channel: "http".into(),
            person: "anna".into(),
            brief,
            hours: hours.iter().copied().collect(),
            welcome: maxim_bus::units::Value::clamped(0.2),
        };
        counsel.learn(manner(true, &[(10, false)]));
        assert!(
            counsel.is_brief("http/anna", now, &TimeZone::UTC) && !counsel.is_brief("http/bo", now, &TimeZone::UTC)
        );
        assert!(!counsel.is_brief("http/anna", now + SignedDuration::from_hours(1), &TimeZone::UTC));
        counsel.learn(manner(false, &[]));
        assert!(!counsel.is_brief("http/anna", now, &TimeZone::UTC));
        let plan = ProposedPlan {
            template: 3,
            goal: "tidy the desk".into(),
            steps: vec![PlannedStep { tool: "write_file".into(), params: serde_json::json!({"path": "a.txt"}) }],
            successes: 1,
            failures: 0,
            similarity: 1.0,
            program: None,
            score: 0.6,
            episode: "e".into(),
        };
        let offer = Offer::of(&plan, now);
        assert!(offer.words().contains("write_file with path “a.txt”"), "{}", offer.words());
        counsel.offer("http/anna".into(), offer);
        assert!(counsel.offered("http/anna", now + SignedDuration::from_mins(4)).is_some());
        assert!(counsel.offered("http/anna", now + SignedDuration::from_mins(5)).is_none());
    }
}
