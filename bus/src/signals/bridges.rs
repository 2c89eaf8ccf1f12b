//! What the bridges learn from memory and tell the deciding rooms: plans, attention, places, fear, when to ask, how
//! to speak, what a moment is worth. Also the energy that is left.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::thought::ActionSummary;
use crate::ids::MessageId;
use crate::signal::Trust;
use crate::units::{Novelty, Salience, Value};
use crate::{queries, signal};

/// A moment is over and stored: what was perceived, what was done, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeLived {
    pub episode: String,
    pub turn: MessageId,
    pub at: Timestamp,
    /// What was perceived; the first 600 characters.
    pub text: String,
    /// `comms:<channel>` for what a person said.
    pub source: String,
    pub objects: Vec<String>,
    pub people: Vec<String>,
    pub goal: Option<String>,
    /// The goal differs from that of the moment before.
    pub goal_changed: bool,
    /// In order, answers included.
    pub actions: Vec<ActionSummary>,
    pub salience: Salience,
    pub novelty: Novelty,
    pub person_involved: bool,
    /// How far its source is trusted. Outsiders teach the bridges nothing.
    pub trust: Trust,
    /// It was reported before, when one of its actions waited for a person. Only the end of that action is news.
    #[serde(default)]
    pub retold: bool,
}

/// How much attention objects earned before. Only objects whose value changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionLearned {
    /// Object or word by its stems, and its value: 0 never worth attention, 0.5 nothing known, 1 always worth it.
    pub objects: Vec<(String, f64)>,
}

/// The features that make a moment worth keeping; each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// |reward prediction error|.
    pub surprise: f64,
    /// 1 when a person took part.
    pub person: f64,
    pub novelty: f64,
    /// 1 when the goal changed.
    pub goal_boundary: f64,
    /// How far the energy level changed.
    pub energy_change: f64,
    /// |2V − 1| of the experienced value.
    pub valence_extremity: f64,
}

impl Moment {
    pub fn features(&self) -> [f64; 6] {
        let Self { surprise, person, novelty, goal_boundary, energy_change, valence_extremity } = *self;
        [surprise, person, novelty, goal_boundary, energy_change, valence_extremity]
    }
}

/// Log-odds that a moment is worth keeping: a weight for each feature, and a bias for every moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignificanceWeights {
    /// In the order of [`Moment::features`]; −4 to 4.
    pub features: [f64; 6],
    /// −4 to 4.
    pub bias: f64,
}

impl Default for SignificanceWeights {
    /// Each feature counts in favour of a moment, a change of energy half as much. Most moments are worth little.
    fn default() -> Self {
        Self { features: [1.0, 1.0, 1.0, 1.0, 0.5, 1.0], bias: -2.0 }
    }
}

impl SignificanceWeights {
    /// 1 / (1 + e^−(bias + Σ w x)), 0 to 1.
    pub fn of(&self, moment: &Moment) -> f64 {
        let sum: f64 = self.features.iter().zip(moment.features()).map(|(weight, feature)| weight * feature).sum();
        1.0 / (1.0 + (-(self.bias + sum)).exp())
    }
}

/// What was learned about moments worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignificanceLearned {
    pub weights: SignificanceWeights,
    /// Stored moments that it was learned from.
    pub moments: u64,
}

/// Something differed much from what was expected. For a while, percepts count for more or less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Startled {
    pub surprise: f64,
    pub valence_extremity: f64,
    pub energy_change: f64,
    pub at: Timestamp,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    pub tool: String,
    pub params: Json,
}

/// A plan that succeeded for this goal or an associated one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposedPlan {
    /// Its id among the templates.
    pub template: u64,
    /// The goal that it served.
    pub goal: String,
    pub steps: Vec<PlannedStep>,
    pub successes: u32,
    pub failures: u32,
    /// Similarity of the goals, 0 to 1.
    pub similarity: f64,
    /// The practised program that performs these steps as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Expected success × similarity.
    pub score: f64,
    /// The newest episode that supports it.
    pub episode: String,
}

/// Asks the planning bridge how a goal like this was reached before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposePlans {
    pub turn: MessageId,
    pub goal: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlansProposed {
    pub turn: MessageId,
    /// The best first; at most three.
    pub plans: Vec<ProposedPlan>,
}

/// A proposed plan was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanTried {
    pub template: u64,
    pub turn: MessageId,
    pub success: bool,
}

/// Asks the spatial bridge where a thing like this usually is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocateUsually {
    pub turn: MessageId,
    pub thing: String,
}

/// One of the usual places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsualPlace {
    /// With its preposition, e.g. `in the blue drawer`.
    pub place: String,
    /// Share of belief, 0 to 1. The rest up to 1 means "elsewhere".
    pub share: f64,
    pub hits: u32,
    pub misses: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsuallyLocated {
    pub turn: MessageId,
    pub thing: String,
    /// Only its kind is known (the last word of its name), not the thing itself.
    pub by_kind: bool,
    /// The likeliest first.
    pub places: Vec<UsualPlace>,
}

/// Asks the fear bridge how often contexts like this ended badly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssessContext {
    pub intent: MessageId,
    pub tool: String,
    pub params: Json,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextAssessed {
    pub intent: MessageId,
    /// Share of failures among the most similar contexts, 0 to 1; 0 with fewer than three.
    pub share: f64,
    pub contexts: u32,
    pub failures: u32,
}

/// How a question for approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalEnd {
    Allowed,
    Denied,
    Expired,
}

/// A person was asked; this is the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalEnded {
    pub intent: MessageId,
    pub tool: String,
    pub goal: Option<String>,
    pub rule: String,
    pub asked_at: Timestamp,
    pub end: ApprovalEnd,
}

/// What experience says about asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counsel {
    /// People nearly always allow this.
    Trusted,
    /// People nearly always deny this.
    Unwanted,
    /// Nobody answers at this hour.
    Unanswered,
}

/// What was learned about asking, for a kind of goal, an hour of the day (UTC), or both. None: it no longer holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EscalationCounselled {
    pub kind: Option<String>,
    pub hour: Option<u8>,
    pub counsel: Option<Counsel>,
    /// After this time it is tested again.
    pub until: Timestamp,
}

/// The kind of a goal for questions of asking: the tool and the verb that asked for it.
pub fn goal_kind(tool: &str, goal: Option<&str>) -> String {
    const LEADS: [&str; 14] = [
        "please", "can", "could", "would", "will", "you", "the", "and", "now", "then", "hey", "maxim", "just", "kindly",
    ];
    let words = goal.unwrap_or_default().split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let verb = words.filter(|word| word.chars().count() >= 3 && !LEADS.contains(&word.as_str())).map(|mut word| {
        word.truncate(word.char_indices().nth(24).map_or(word.len(), |(at, _)| at));
        word
    });
    format!("{tool}:{}", verb.into_iter().next().unwrap_or_default())
}

/// Hour of the day at the body's place, 0 to 23, because people live by local time.
pub fn hour_of(at: Timestamp, zone: &TimeZone) -> u8 {
    u8::try_from(at.to_zoned(zone.clone()).hour()).unwrap_or(0)
}

/// What a room was told about asking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counsels(BTreeMap<String, (Counsel, Timestamp)>);

impl Counsels {
    fn key(kind: Option<&str>, hour: Option<u8>) -> String {
        let hour = hour.map(|hour| hour.to_string()).unwrap_or_default();
        format!("{}@{hour}", kind.unwrap_or_default())
    }

    pub fn learn(&mut self, told: &EscalationCounselled) {
        let key = Self::key(told.kind.as_deref(), told.hour);
        match told.counsel {
            Some(counsel) => self.0.insert(key, (counsel, told.until)),
            None => self.0.remove(&key),
        };
    }

    /// The most specific counsel in force: for this kind at this hour, then for this kind, then for this hour.
    pub fn on(&self, kind: &str, now: Timestamp, zone: &TimeZone) -> Option<Counsel> {
        let hour = Some(hour_of(now, zone));
        let scopes = [(Some(kind), hour), (Some(kind), None), (None, hour)];
        let held = scopes.into_iter().filter_map(|(kind, hour)| self.0.get(&Self::key(kind, hour)));
        held.into_iter().find(|(_, until)| now < *until).map(|(counsel, _)| *counsel)
    }
}

/// How a person wants to be spoken to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannerLearned {
    pub channel: String,
    pub person: String,
    /// Confirm in one word, at any hour that isn't listed.
    pub brief: bool,
    /// Hours of the day (UTC) with a value of their own for `brief`.
    pub hours: BTreeMap<u8, bool>,
    /// How welcome unprompted words are, 0 to 1.
    pub welcome: Value,
}

/// The energy that is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyChanged {
    /// The level of the scarcest limited resource: 0 none, 1 full.
    pub level: f64,
    /// The scarcest resource.
    pub scarcest: String,
}

impl EnergyChanged {
    /// Below this share, optional thoughts and reviews are skipped.
    pub const LOW: f64 = 0.15;

    pub fn is_low(&self) -> bool {
        self.level < Self::LOW
    }
}

/// Asks the sense of energy to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SenseBattery {}

/// The state of a battery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatterySensed {
    /// None where there is no battery.
    pub charge: Option<f64>,
    pub charging: bool,
    /// The battery's name, or why nothing is known.
    pub source: String,
}

/// Asks what was spent in the most recent window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportEnergy {
    /// 1 s to a day.
    pub window_seconds: u64,
}

/// What was spent and what is left, as JSON in the shape of the tool `energy_status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyReported {
    pub report: Json,
}

signal! {
    EpisodeLived: Memory, Lossless;
    AttentionLearned: Learning, Lossless;
    SignificanceLearned: Learning, Lossless;
    Startled: Learning, Lossless;
    ProposePlans: Anywhere, Transient;
    PlansProposed: Anywhere, Transient;
    PlanTried: Deliberation, Lossless;
    LocateUsually: Anywhere, Transient;
    UsuallyLocated: Anywhere, Transient;
    AssessContext: Anywhere, Transient;
    ContextAssessed: Anywhere, Transient;
    ApprovalEnded: Gate, Lossless;
    EscalationCounselled: Learning, Lossless;
    MannerLearned: Learning, Lossless;
    EnergyChanged: Perception, Lossless;
    SenseBattery: Perception, Transient;
    BatterySensed: Anywhere, Transient;
    ReportEnergy: Anywhere, Transient;
    EnergyReported: Anywhere, Transient;
}

queries! {
    ProposePlans => PlansProposed, of PLANNING_BRIDGE;
    LocateUsually => UsuallyLocated, of SPATIAL_BRIDGE;
    AssessContext => ContextAssessed, of FEAR_BRIDGE;
    ReportEnergy => EnergyReported, of ENERGY;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_of_the_kind_of_its_tool_and_verb() {
        assert_eq!(goal_kind("bash", Some("Please run the command ls")), "bash:run");
        assert_eq!(goal_kind("bash", None), "bash:");
    }

    #[test]
    fn the_most_specific_counsel_is_heard() {
        let mut counsels = Counsels::default();
        let at = |hour: i64| Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(hour);
        let told = |kind: Option<&str>, hour, counsel| EscalationCounselled {
            kind: kind.map(str::to_owned),
            hour,
            counsel,
            until: at(48),
        };
        counsels.learn(&told(None, Some(3), Some(Counsel::Unanswered)));
        assert_eq!(counsels.on("bash:run", at(3), &TimeZone::UTC), Some(Counsel::Unanswered));
        assert_eq!(counsels.on("bash:run", at(4), &TimeZone::UTC), None);
        assert_eq!(counsels.on("bash:run", at(51), &TimeZone::UTC), None, "it is put to the test again");
        counsels.learn(&told(Some("bash:run"), None, Some(Counsel::Trusted)));
        assert_eq!(counsels.on("bash:run", at(3), &TimeZone::UTC), Some(Counsel::Trusted));
        counsels.learn(&told(Some("bash:run"), Some(3), Some(Counsel::Unwanted)));
        assert_eq!(counsels.on("bash:run", at(27), &TimeZone::UTC), Some(Counsel::Unwanted));
        assert_eq!(counsels.on("bash:run", at(5), &TimeZone::UTC), Some(Counsel::Trusted));
        counsels.learn(&told(Some("bash:run"), Some(3), None));
        assert_eq!(counsels.on("bash:run", at(3), &TimeZone::UTC), Some(Counsel::Trusted));
    }

    #[test]
    fn significance_is_the_logistic_of_its_weighted_features() {
        let weights = SignificanceWeights::default();
        assert!((weights.of(&Moment::default()) - 1.0 / (1.0 + 2f64.exp())).abs() < 1e-12);
        let moment = Moment { person: 1.0, novelty: 1.0, ..Moment::default() };
        assert!((weights.of(&moment) - 0.5).abs() < 1e-12);
    }
}
