//! Advice of the bridges: offers of plans that worked, and how people want to be spoken to.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::bridges::{MannerLearned, PlannedStep, ProposedPlan, hour_of};
use maxim_bus::signals::intent::Alternative;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::turn::who;
use maxim_language::Stems;

/// An offered plan may be accepted this long.
const OFFERED_FOR: SignedDuration = SignedDuration::from_mins(5);
/// People whose manners and offers are remembered.
const PEOPLE: usize = 256;
/// Characters of a parameter that an offer shows.
const SHOWN: usize = 60;
/// A plan offered to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub template: u64,
    pub goal: String,
    pub steps: Vec<PlannedStep>,
    /// The practised program with these steps.
    #[serde(default)]
    program: Option<String>,
    until: Timestamp,
}

impl Offer {
    pub fn of(plan: &ProposedPlan, now: Timestamp) -> Self {
        let ProposedPlan { template, goal, steps, program, .. } = plan.clone();
        Self { template, goal, steps, program, until: now.later(OFFERED_FOR) }
    }

    /// The offer in words: the steps, and how to accept it.
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

/// Whether a plan for `goal` may serve a wish: the first content word of the wish must occur in the goal. So a wish to delete
/// a file gets no offer to read it.
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
    /// Whether confirmations are brief at most hours, and the hours (UTC) that differ.
    manners: BTreeMap<String, (bool, BTreeMap<u8, bool>)>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
