//! What habit knows of its own acting, when nobody wants anything: what it weighs, what it chose, what it tried and was refused.
//!
//! Law: where nothing was worth it among the same things, it looks again later and later; what was refused is left alone for a
//! while. What is done with it is in `opportunities.rs`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::acting::{ActChosen, ActOption};
use maxim_bus::signals::introspection::VerdictForeseen;
use maxim_bus::signals::scene::Pose;
use serde::{Deserialize, Serialize};

use super::choice::{Considered, Expected, TriedActs, key_of};
use maxim_tools::ToolSpec;

/// How often the pace is halved, at most, where nothing was worth it.
const PATIENCE: u32 = 6;
/// Acts whose refusal is kept in mind.
const REFUSED: usize = 64;
/// The need that energy is left for.
const ENERGY: &str = "energy";

/// What is weighed at present.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pondering {
    pub(crate) due: Timestamp,
    pub(crate) things: Vec<String>,
    pub(crate) options: Vec<Considered>,
    /// Questions that are out, with the option that they are about.
    pub(crate) questions: BTreeMap<MessageId, usize>,
}

/// What was chosen; done when its turn comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chosen {
    pub(crate) turn: MessageId,
    pub(crate) at: Timestamp,
    pub(crate) act: ActChosen,
}

/// After a stop, nothing is done unasked before a person has both reset and resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Halt {
    #[default]
    None,
    Latched,
    Reset,
}

/// What habit knows of its own acting.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Acting {
    pub(crate) tried: TriedActs,
    pub(crate) refused: BTreeMap<String, Timestamp>,
    pub(crate) pondering: Option<Pondering>,
    pub(crate) chosen: Option<Chosen>,
    /// When a choice was made last, and among which things.
    pub(crate) last: Option<Timestamp>,
    pub(crate) among: Vec<String>,
    /// How often in a row nothing was chosen among them.
    pub(crate) idle: u32,
    /// What of energy is left, 0 to 1.
    pub(crate) energy: Option<f64>,
    pub(crate) asleep: bool,
    pub(crate) halt: Halt,
}

/// What was told of an option.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Expected(Expected),
    Foreseen(Box<VerdictForeseen>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ActingEvent {
    Pondered(Box<Pondering>),
    Answered {
        question: MessageId,
        answer: Answer,
    },
    /// A choice was made among these acts. `memory` is the law's, so that a replay counts as it was counted.
    Settled {
        keys: Vec<String>,
        things: Vec<String>,
        chosen: Option<Box<Chosen>>,
        at: Timestamp,
        memory: f64,
    },
    /// What was chosen is begun, or given up.
    Taken,
    Refused {
        key: String,
        until: Timestamp,
    },
    Energy(f64),
    Asleep(bool),
    Halted(Halt),
}

impl Acting {
    pub(crate) fn apply(&mut self, event: ActingEvent) {
        match event {
            ActingEvent::Pondered(pondering) => self.pondering = Some(*pondering),
            ActingEvent::Answered { question, answer } => {
                self.pondering.iter_mut().for_each(|pondering| pondering.take(question, answer.clone()));
            }
            ActingEvent::Settled { keys, things, chosen, at, memory } => {
                self.pondering = None;
                let key = chosen.as_ref().map(|chosen| chosen.key());
                self.tried.chose(&keys, key.as_deref(), memory);
                let again = if self.among == things { self.idle } else { 0 };
                self.idle = if chosen.is_none() { (again + 1).min(PATIENCE) } else { 0 };
                (self.among, self.last, self.chosen) = (things, Some(at), chosen.map(|chosen| *chosen));
            }
            ActingEvent::Taken => self.chosen = None,
            ActingEvent::Refused { key, until } => {
                self.refused.insert(key, until);
                while self.refused.len() > REFUSED {
                    let soonest = self.refused.iter().min_by_key(|(_, until)| **until).map(|(key, _)| key.clone());
                    soonest.map(|key| self.refused.remove(&key));
                }
            }
            ActingEvent::Energy(level) => self.energy = Some(level),
            ActingEvent::Asleep(asleep) => self.asleep = asleep,
            ActingEvent::Halted(halt) => self.halt = halt,
        }
    }

    /// When what is weighed must be settled.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.pondering.as_ref().map(|pondering| pondering.due)
    }

    /// Too soon for another choice: what was found not worth it is looked at again later and later.
    pub(crate) fn rests(&self, things: &[String], every: SignedDuration, now: Timestamp) -> bool {
        let pauses = if self.among == things { 2_i32.pow(self.idle) } else { 1 };
        self.last.is_some_and(|last| now < last.later(every * pauses))
    }

    fn need(&self, spec: &ToolSpec, pose: Option<&Pose>) -> f64 {
        let need = match spec.serves.as_deref() {
            None => None,
            Some(ENERGY) => self.energy.map(|left| 1.0 - left),
            Some(reading) => pose.and_then(|pose| pose.get(reading)).copied(),
        };
        need.filter(|need| need.is_finite()).map_or(0.0, |need| need.clamp(0.0, 1.0))
    }

    /// What can be done with what is here, the most salient thing first.
    pub(crate) fn options(
        &self,
        tools: &[ToolSpec],
        here: &[String],
        pose: Option<&Pose>,
        now: Timestamp,
    ) -> Vec<Considered> {
        let mut options: Vec<Considered> = Vec::new();
        for thing in here {
            for spec in tools.iter().filter(|spec| spec.scene.contains(thing)) {
                let Some(params) = spec.call_with(thing) else { continue };
                let refused = self.refused.get(&key_of(&spec.name, &params)).filter(|until| **until > now);
                let barred = refused.map(|until| format!("it was refused, and is left alone until {until:.0}"));
                let (tool, need) = (spec.name.clone(), self.need(spec, pose));
                let option = Considered { tool, params, need, expected: None, foreseen: None, barred };
                if options.iter().all(|known| known.key() != option.key()) {
                    options.push(option);
                }
            }
        }
        options
    }
}

impl Pondering {
    pub(crate) fn take(&mut self, question: MessageId, answer: Answer) {
        let Some(option) = self.questions.remove(&question).and_then(|place| self.options.get_mut(place)) else {
            return;
        };
        match answer {
            Answer::Expected(expected) => option.expected = Some(expected),
            Answer::Foreseen(foreseen) => option.foreseen = Some(foreseen),
        }
    }
}

impl Chosen {
    pub(crate) fn option(&self) -> Option<&ActOption> {
        self.act.options.get(self.act.chosen)
    }

    pub(crate) fn key(&self) -> String {
        self.option().map(|option| key_of(&option.tool, &option.params)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_was_worth_it_it_looks_again_later_and_later() {
        let mut acting = Acting::default();
        let every = SignedDuration::from_secs(5);
        let things = vec!["dog".to_owned()];
        let mut at = Timestamp::UNIX_EPOCH;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let (things, keys) = (things.clone(), vec!["pat".into()]);
            acting.apply(ActingEvent::Settled { keys, things, chosen: None, at, memory: 0.98 });
            let begun = at;
            while acting.rests(&["dog".to_owned()], every, at) {
                at += SignedDuration::from_secs(1);
            }
            pauses.push(at.duration_since(begun).as_secs());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 320, 320, 320]);
        let (news, later) = (["cat".to_owned()], at + SignedDuration::from_secs(5));
        assert!(!acting.rests(&news, every, later), "what is new is no matter of patience");
    }
}
