//! How the other parts of the agent are, for the prompt: its goals, its body, and who didn't answer; whether it sleeps stands in
//! its identity.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::signals::sleep::{SleepEnded, SleepEntered, SleepPhase};
use maxim_bus::signals::strain::BodyStrained;
use serde::{Deserialize, Serialize};

use super::PrefrontalCortex;
use crate::prompt::{data, quoted};
use maxim_region::{Hears, Pulse};

/// Joints whose strain is told of, at most.
const STRAINS: usize = 4;
/// A strain that is longer ago isn't told.
const OLD: SignedDuration = SignedDuration::from_mins(10);
/// Goals that were laid aside, at most.
const ASIDE: usize = 4;

/// What the other rooms told last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStates {
    active: Option<String>,
    /// The newest last.
    suspended: Vec<String>,
    pub(super) asleep: Option<SleepPhase>,
    /// By joint: what was wrong, and when.
    strained: BTreeMap<String, (String, Timestamp)>,
    /// A stop was reset, and nobody has resumed motion yet.
    #[serde(default)]
    is_still: bool,
}

impl AgentStates {
    /// Empty where all is as usual. `missing`: rooms that didn't answer in this turn. Goals are others' words, so they are framed.
    pub(super) fn text(&self, missing: &[String], now: Timestamp) -> String {
        let mut lines = Vec::new();
        lines.extend(self.active.as_ref().map(|title| format!("pursued: {}", quoted(title))));
        let aside = self.suspended.iter().rev().take(ASIDE);
        lines.extend(aside.map(|title| format!("laid aside: {}", quoted(title))));
        let mut told = Vec::new();
        if !lines.is_empty() {
            told.push(format!("Your goals:\n{}", data("goals", &lines.join("\n"))));
        }
        told.extend(self.is_still.then(|| "Motion is held until a person resumes it.".to_owned()));
        let fresh = self.strained.iter().filter(|(_, (_, at))| now.duration_since(*at) < OLD);
        told.extend(fresh.map(|(place, (reason, at))| {
            format!("Your body, {} s ago: {place}: {reason}.", now.duration_since(*at).as_secs().max(0))
        }));
        if !missing.is_empty() {
            told.push(format!("These parts of you didn't answer; what they know is missing: {}.", missing.join(", ")));
        }
        told.join("\n")
    }
}

impl PrefrontalCortex {
    fn note_states(&self, change: impl FnOnce(&mut AgentStates), pulse: &mut Pulse<'_, Self>) {
        let mut states = self.around.states.clone();
        change(&mut states);
        if pulse.settings().model && states != self.around.states {
            pulse.keep(self.around.clone().with(|around| around.states = states));
        }
    }

    /// Whether motion waits for a person.
    pub(super) fn note_motion(&self, request: &PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        match request {
            PreemptionRequested::Reset { .. } => self.note_states(|states| states.is_still = true, pulse),
            PreemptionRequested::Resume { .. } => self.note_states(|states| states.is_still = false, pulse),
            _ => {}
        }
    }
}

impl Hears<GoalChanged> for PrefrontalCortex {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        let GoalChanged { active, suspended, .. } = changed.clone();
        self.note_states(|states| (states.active, states.suspended) = (active, suspended), pulse);
    }
}

impl Hears<SleepEntered> for PrefrontalCortex {
    fn hear(&self, entered: &SleepEntered, pulse: &mut Pulse<'_, Self>) {
        self.note_states(|states| states.asleep = Some(entered.phase), pulse);
    }
}

impl Hears<SleepEnded> for PrefrontalCortex {
    fn hear(&self, _ended: &SleepEnded, pulse: &mut Pulse<'_, Self>) {
        self.note_states(|states| states.asleep = None, pulse);
    }
}

impl Hears<BodyStrained> for PrefrontalCortex {
    fn hear(&self, strained: &BodyStrained, pulse: &mut Pulse<'_, Self>) {
        let (now, told) = (pulse.now(), strained.clone());
        let note = |states: &mut AgentStates| {
            states.strained.insert(told.place, (told.reason, now));
            while states.strained.len() > STRAINS {
                let oldest = states.strained.iter().min_by_key(|(_, (_, at))| *at).map(|(place, _)| place.clone());
                states.strained.retain(|place, _| Some(place) != oldest.as_ref());
            }
        };
        self.note_states(note, pulse);
    }
}
