//! What the senses and the body told last, for the prompt, and how much of the thinking is shown.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::cycle::{Display, DisplaySet};
use maxim_bus::signals::prompt::Tier;
use maxim_bus::signals::scene::{Pose, SceneNoticed, SceneThing, ThingKind};
use serde::{Deserialize, Serialize};

use super::PrefrontalCortex;
use super::agent_states::AgentStates;
use super::region::PrefrontalEvent;
use crate::prompt::{Part, Section, data};
use maxim_language::TokenCounter;
use maxim_region::{Hears, Pulse};

/// Things that the prompt tells of, at most.
const THINGS: usize = 8;
/// From this novelty on a thing is called new.
const NEW: f64 = 0.5;
/// Sensors of the body that it tells of, at most.
const SENSORS: usize = 16;
/// The same things are noted anew after this.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// What was seen longer ago isn't told.
const OLD: SignedDuration = SignedDuration::from_mins(10);

/// What is around, and how the body stands, as it was told last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    seen: Option<Seen>,
    body: Option<Stance>,
    pub(super) display: Display,
    #[serde(default)]
    pub(super) states: AgentStates,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Kind, name, confidence; the most salient first.
    things: Vec<(ThingKind, String, f64)>,
    gaze: Option<String>,
    at: Timestamp,
    /// Of the same things, in the same order.
    #[serde(default)]
    states: Vec<ThingState>,
    /// How the body stands, as a sense told it.
    #[serde(default)]
    pose: Pose,
}

/// How a thing was when it was noticed last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThingState {
    last_seen: Timestamp,
    sightings: u64,
    /// 0: well known; 1: never met.
    novelty: f64,
    /// Seconds in the middle of the view.
    dwell_s: f64,
}

impl ThingState {
    fn of(thing: &SceneThing) -> Self {
        let (novelty, dwell_s) = (thing.novelty.get(), thing.dwell_s.unwrap_or(0.0));
        Self { last_seen: thing.last_seen, sightings: thing.sightings, novelty, dwell_s }
    }

    fn told(&self, is_gazed: bool, now: Timestamp) -> String {
        let ago = now.duration_since(self.last_seen).as_secs_f64().max(0.0);
        let known = if self.novelty >= NEW { "new to you" } else { "known to you" };
        let mut told = format!("{known}, seen {} times, last {ago:.0} s ago", self.sightings);
        if self.dwell_s > 0.0 {
            told.push_str(&format!(", looked at for {:.0} s", self.dwell_s));
        }
        told.push_str(if is_gazed { ", in the middle of your view" } else { "" });
        told
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stance {
    sensors: BTreeMap<String, f64>,
    at: Timestamp,
}

impl Seen {
    fn of(noticed: &SceneNoticed, at: Timestamp) -> Self {
        let things = noticed.things.iter().take(THINGS);
        let things = things.map(|thing| (thing.kind, thing.name.clone(), thing.confidence.get())).collect();
        let states = noticed.things.iter().take(THINGS).map(ThingState::of).collect();
        let pose = noticed.pose.clone().unwrap_or_default();
        Self { things, gaze: noticed.gaze.clone(), at, states, pose }
    }

    fn is_news_after(&self, before: &Self) -> bool {
        let names = |seen: &Self| seen.things.iter().map(|(kind, name, _)| (*kind, name.clone())).collect::<Vec<_>>();
        let (mut now, mut then) = (names(self), names(before));
        now.sort();
        then.sort();
        now != then
            || self.gaze != before.gaze
            || self.pose != before.pose
            || self.at.duration_since(before.at) >= AGAIN
    }
}

impl Surroundings {
    /// Labels and sensors come from outside, so they are framed as data.
    /// `is_embodied`: what is around is told with its state as well.
    pub(super) fn sections(&self, now: Timestamp, is_embodied: bool, counter: &TokenCounter) -> Vec<Section> {
        let ago = |at: Timestamp| format!("{:.0} s ago", now.duration_since(at).as_secs_f64().max(0.0));
        let mut sections = Vec::new();
        let told = |readings: &BTreeMap<String, f64>| {
            let readings: Vec<String> = readings.iter().map(|(name, reading)| format!("{name} {reading:.1}")).collect();
            data("body", &readings.join(", "))
        };
        let moved = self
            .body
            .as_ref()
            .map(|stance| format!("Your body after its last movement, {}:\n{}", ago(stance.at), told(&stance.sensors)));
        let seen = self.seen.as_ref().filter(|seen| now.duration_since(seen.at) < OLD);
        let posed = seen
            .filter(|seen| !seen.pose.is_empty())
            .map(|seen| format!("How your body stands, as a sense told {}:\n{}", ago(seen.at), told(&seen.pose)));
        let stands: Vec<String> = moved.into_iter().chain(posed).collect();
        if !stands.is_empty() {
            sections.push(Section::new(counter, "body_state", Tier::Critical, Part::User, stands.join("\n")));
        }
        if let Some(seen) = seen.filter(|seen| !seen.things.is_empty()) {
            let kind = |kind: ThingKind| match kind {
                ThingKind::Person => "person",
                ThingKind::Object => "object",
                ThingKind::Sound => "sound",
            };
            let mut lines: Vec<String> = seen
                .things
                .iter()
                .map(|(what, name, confidence)| format!("{name} ({}, confidence {confidence:.2})", kind(*what)))
                .collect();
            lines.extend(seen.gaze.as_ref().map(|gaze| format!("in the middle of your view: {gaze}")));
            let text = format!("What your senses reported, {}:\n{}", ago(seen.at), data("senses", &lines.join("\n")));
            sections.push(Section::new(counter, "observation", Tier::NiceToHave, Part::User, text));
            if is_embodied {
                let states: Vec<String> = seen
                    .states
                    .iter()
                    .zip(&seen.things)
                    .map(|(state, (kind_of, name, _))| {
                        let is_gazed = seen.gaze.as_ref() == Some(name);
                        format!("{name} ({}): {}", kind(*kind_of), state.told(is_gazed, now))
                    })
                    .collect();
                let text = format!("What is around you, and how it is:\n{}", data("scene", &states.join("\n")));
                let section = Section::new(counter, "entity_context", Tier::Important, Part::User, text);
                sections.extend((!states.is_empty()).then(|| section.ranked(2)));
            }
        }
        sections
    }

    pub(super) fn with(self, change: impl FnOnce(&mut Self)) -> PrefrontalEvent {
        let mut changed = self;
        change(&mut changed);
        PrefrontalEvent::Around(Box::new(changed))
    }
}

impl Hears<SceneNoticed> for PrefrontalCortex {
    fn hear(&self, noticed: &SceneNoticed, pulse: &mut Pulse<'_, Self>) {
        let seen = Seen::of(noticed, pulse.now());
        let is_news = self.around.seen.as_ref().is_none_or(|before| seen.is_news_after(before));
        if pulse.settings().model && is_news {
            pulse.keep(self.around.clone().with(|around| around.seen = Some(seen)));
        }
    }
}

impl Hears<MovementSensed> for PrefrontalCortex {
    fn hear(&self, sensed: &MovementSensed, pulse: &mut Pulse<'_, Self>) {
        if !pulse.settings().model {
            return;
        }
        let sensors = sensed.after.iter().take(SENSORS).map(|(name, reading)| (name.clone(), *reading)).collect();
        let stance = Stance { sensors, at: pulse.now() };
        pulse.keep(self.around.clone().with(|around| around.body = Some(stance)));
    }
}

impl Hears<DisplaySet> for PrefrontalCortex {
    fn hear(&self, set: &DisplaySet, pulse: &mut Pulse<'_, Self>) {
        if self.around.display != set.mode {
            pulse.keep(self.around.clone().with(|around| around.display = set.mode));
        }
    }
}
