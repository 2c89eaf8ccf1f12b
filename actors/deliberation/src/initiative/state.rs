//! The state of unasked acts: the options being weighed, the choice, and the counts and refusals so far.
//!
//! Law: while nothing among the same things is worth an act, the pauses grow. A refused act is left alone for a
//! while. `turns/opportunity.rs` asks and acts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::acting::{ActChosen, ActOption};
use maxim_bus::signals::introspection::VerdictForeseen;
use maxim_bus::signals::lifecycle::PreemptionRequested;
use maxim_bus::signals::scene::Pose;
use serde::{Deserialize, Serialize};

use super::choice::{ActLaw, Considered, Expected, TriedActs, choose, key_of};
use maxim_tools::ToolSpec;

/// The pace is halved at most so often.
const PATIENCE: u32 = 6;
/// Refused acts that are remembered.
const REFUSED: usize = 64;
/// The need for energy.
const ENERGY: &str = "energy";

/// The options being weighed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pondering {
    pub(crate) due: Timestamp,
    pub(crate) things: Vec<String>,
    pub(crate) options: Vec<Considered>,
    /// Open questions, each with the option that it is about.
    pub(crate) questions: BTreeMap<MessageId, usize>,
}

/// The chosen act. It is done when its turn comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chosen {
    pub(crate) turn: MessageId,
    pub(crate) at: Timestamp,
    pub(crate) act: ActChosen,
}

/// After a stop, nothing is done unasked until a person has both reset and resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Halt {
    #[default]
    None,
    Latched,
    Reset,
}

/// The state of unasked acts.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Acting {
    pub(crate) tried: TriedActs,
    pub(crate) refused: BTreeMap<String, Timestamp>,
    pub(crate) pondering: Option<Pondering>,
    pub(crate) chosen: Option<Chosen>,
    /// The time of the last choice, and the things at that time.
    pub(crate) last: Option<Timestamp>,
    pub(crate) among: Vec<String>,
    /// How often in a row nothing was chosen among them.
    pub(crate) idle: u32,
    /// The energy left, 0 to 1.
    pub(crate) energy: Option<f64>,
    pub(crate) asleep: bool,
    pub(crate) halt: Halt,
}

/// An answer about an option.
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
    /// A choice was made among these acts. `memory` is the law's, so that a replay counts alike.
    Settled {
        keys: Vec<String>,
        things: Vec<String>,
        chosen: Option<Box<Chosen>>,
        at: Timestamp,
        memory: f64,
    },
    /// The chosen act is begun or given up.
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

    /// The time at which the choice must be settled.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.pondering.as_ref().map(|pondering| pondering.due)
    }

    /// Whether it is too soon for another choice. Each choice of nothing makes the pause longer.
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

    /// The possible acts with the things around, the most salient thing first.
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

/// A choice among the options that were weighed.
pub(crate) struct Choice {
    pub options: Vec<ActOption>,
    /// Names of the options that could be chosen.
    pub keys: Vec<String>,
    /// The place of the chosen option. `None`: nothing is done.
    pub chosen: Option<usize>,
    /// The chance of doing nothing.
    pub nothing: f64,
}

impl Halt {
    /// After this request.
    pub(crate) fn after(self, request: &PreemptionRequested) -> Self {
        match (request, self) {
            (PreemptionRequested::Stop(_), _) => Self::Latched,
            (PreemptionRequested::Reset { .. }, Self::Latched) => Self::Reset,
            (PreemptionRequested::Resume { .. }, Self::Reset) => Self::None,
            (_, halt) => halt,
        }
    }
}

impl Acting {
    /// Weighs the options, and takes the one that a draw from [0, 1) falls on.
    pub(crate) fn choose(&self, pondering: &Pondering, law: &ActLaw, draw: f64) -> Choice {
        let mut options: Vec<ActOption> =
            pondering.options.iter().map(|option| option.weighed(&self.tried, law)).collect();
        let (chosen, nothing) = choose(&mut options, law, draw);
        let open = options.iter().filter(|option| option.barred.is_none());
        let keys = open.map(|option| key_of(&option.tool, &option.params)).collect();
        Choice { options, keys, chosen, nothing }
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
    use maxim_bus::latch::StopDetail;

    use super::*;

    #[test]
    fn only_a_reset_and_then_a_resume_end_a_halt() {
        let by = || "anna".to_owned();
        let stop = PreemptionRequested::Stop(StopDetail { reason: "enough".into(), by: by(), at: None });
        let reset = PreemptionRequested::Reset { by: by() };
        let resume = PreemptionRequested::Resume { by: by() };
        let halted = Halt::None.after(&stop);
        assert_eq!(halted, Halt::Latched);
        assert_eq!(halted.after(&resume), Halt::Latched, "not without a reset");
        assert_eq!(halted.after(&reset), Halt::Reset);
        assert_eq!(halted.after(&reset).after(&resume), Halt::None);
        assert_eq!(halted.after(&reset).after(&stop), Halt::Latched);
        assert_eq!(Halt::None.after(&reset), Halt::None);
    }

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
