//! PreemptionCircuit: may this percept lead to anything, and what does it interrupt.
//!
//! Biology: prefrontal inhibitory control over a behaviour that has begun.
//! Law: HARD_STOP cancels all that is open; HOLD lets the loop cycle but propose nothing; REDIRECT puts the goal on a
//! stack and another in its place. The latch has stopped every effect before this room hears of it; here is what it
//! means for goals and turns, and it is durable.
//! Remembers: the stop, the hold, the goal and the stack below it. Forgets: a hold whose time has passed.
//! Down: no percept passes, so nothing is proposed; the latch needs no room.

use jiff::Timestamp;
use maxim_bus::latch::StopDetail;
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::percept::{AdmittedPercept, Disposition, HardOverride, Percept};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Goals below the present one. Deeper than any person keeps in mind; a deeper one drops the oldest.
const STACK: usize = 16;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PreemptionCircuit {
    stopped: Option<StopDetail>,
    hold: Option<Hold>,
    goal: Option<String>,
    suspended: Vec<String>,
    open: Vec<MessageId>,
}

/// A tonic inhibition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// None: until a person resumes.
    pub until: Option<Timestamp>,
    pub by: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PreemptionEvent {
    Opened(MessageId),
    Closed(MessageId),
    Changed(PreemptionRequested),
    HoldPassed,
}

wiring!(PreemptionCircuit {
    hears: [Percept, PreemptionRequested],
    back: [TurnEnded],
    emits: [AdmittedPercept, PreemptionChanged],
});

impl Region for PreemptionCircuit {
    const NAME: RegionName = "preemption_circuit";
    const STAGE: Stage = Stage::Perception;
    type Event = PreemptionEvent;
    type Settings = ();

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: PreemptionEvent) {
        match event {
            PreemptionEvent::Opened(turn) => self.open.push(turn),
            PreemptionEvent::Closed(turn) => self.open.retain(|open| *open != turn),
            PreemptionEvent::HoldPassed => self.hold = None,
            PreemptionEvent::Changed(request) => self.change(request),
        }
    }

    fn next_deadline(&self, _settings: &()) -> Option<Timestamp> {
        self.hold.as_ref().and_then(|hold| hold.until)
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PreemptionEvent::HoldPassed);
    }
}

impl PreemptionCircuit {
    fn change(&mut self, request: PreemptionRequested) {
        match request {
            PreemptionRequested::Stop(detail) => {
                self.stopped.get_or_insert(detail);
                self.goal = None;
                self.open.clear();
            }
            PreemptionRequested::Reset { .. } => self.stopped = None,
            PreemptionRequested::Resume { .. } => {
                self.hold = None;
                if self.stopped.is_none() && self.goal.is_none() {
                    self.goal = self.suspended.pop();
                }
            }
            PreemptionRequested::Hold { until, by } => self.hold = Some(Hold { until, by }),
            PreemptionRequested::Redirect { goal, .. } => {
                if let Some(former) = self.goal.replace(goal) {
                    self.suspended.push(former);
                    if self.suspended.len() > STACK {
                        self.suspended.remove(0);
                    }
                }
            }
        }
    }

    fn announce(&self, request: PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        let mut after = self.clone();
        after.change(request.clone());
        let cancelled_turns = match request {
            PreemptionRequested::Stop(_) => self.open.clone(),
            _ => Vec::new(),
        };
        pulse.keep(PreemptionEvent::Changed(request.clone()));
        pulse.emit(PreemptionChanged { request, goal: after.goal, suspended: after.suspended, cancelled_turns });
    }

    fn disposition(&self, now: Timestamp) -> Disposition {
        if let Some(detail) = &self.stopped {
            return Disposition::Stopped { reason: detail.reason.clone() };
        }
        match &self.hold {
            Some(hold) if hold.until.is_none_or(|until| until > now) => Disposition::Held { until: hold.until },
            _ => Disposition::Proceed,
        }
    }
}

impl Hears<Percept> for PreemptionCircuit {
    fn hear(&self, percept: &Percept, pulse: &mut Pulse<'_, Self>) {
        let disposition = if percept.hard_override == Some(HardOverride::HardStop) {
            let reason = format!("{:?} said on {}", percept.content.trim(), percept.metadata.channel);
            let detail = StopDetail { reason: reason.clone(), by: percept.metadata.sender.clone(), at: pulse.now() };
            self.announce(PreemptionRequested::Stop(detail), pulse);
            Disposition::Stopped { reason }
        } else {
            self.disposition(pulse.now())
        };
        let turn = pulse.turn();
        pulse.keep(PreemptionEvent::Opened(turn));
        pulse.emit(AdmittedPercept { percept: percept.clone(), disposition });
    }
}

impl Hears<PreemptionRequested> for PreemptionCircuit {
    fn hear(&self, request: &PreemptionRequested, pulse: &mut Pulse<'_, Self>) {
        self.announce(request.clone(), pulse);
    }
}

impl Hears<TurnEnded> for PreemptionCircuit {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        if self.open.contains(&ended.turn) {
            pulse.keep(PreemptionEvent::Closed(ended.turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::SignedDuration;
    use maxim_bus::{Clock, Trust};

    use super::*;
    use crate::region::rig::{Rig, ear};

    fn rig() -> Rig<PreemptionCircuit> {
        Rig::new((), |bus, probe| {
            ear::<AdmittedPercept>(bus, probe);
        })
    }

    fn say(rig: &mut Rig<PreemptionCircuit>, text: &str, stop: bool) -> Disposition {
        rig.send(Percept::from_outside("http", "anna", text.into(), stop, Trust::Owner));
        rig.heard::<AdmittedPercept>().pop().expect("each percept is admitted with a disposition").disposition
    }

    #[test]
    fn a_stop_outlasts_a_crash_and_only_a_reset_ends_it() {
        let mut rig = rig();
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
        assert!(matches!(say(&mut rig, "stop", true), Disposition::Stopped { .. }));
        rig.crash();
        assert!(matches!(say(&mut rig, "hello", false), Disposition::Stopped { .. }));
        rig.send(PreemptionRequested::Resume { by: "anna".into() });
        assert!(matches!(say(&mut rig, "hello", false), Disposition::Stopped { .. }), "resume alone is no reset");
        rig.send(PreemptionRequested::Reset { by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
    }

    #[test]
    fn a_hold_ends_by_its_time_or_by_a_person() {
        let mut rig = rig();
        let until = rig.clock.now() + SignedDuration::from_secs(60);
        rig.send(PreemptionRequested::Hold { until: Some(until), by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Held { until: Some(until) });
        rig.pass(Duration::from_secs(61));
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
        rig.send(PreemptionRequested::Hold { until: None, by: "anna".into() });
        rig.pass(Duration::from_secs(100_000));
        assert_eq!(say(&mut rig, "hello", false), Disposition::Held { until: None });
        rig.send(PreemptionRequested::Resume { by: "anna".into() });
        assert_eq!(say(&mut rig, "hello", false), Disposition::Proceed);
    }

    #[test]
    fn a_redirected_goal_is_suspended_and_comes_back() {
        let mut rig = rig();
        rig.send(PreemptionRequested::Redirect { goal: "tidy up".into(), by: "anna".into() });
        rig.send(PreemptionRequested::Redirect { goal: "fetch water".into(), by: "anna".into() });
        rig.crash();
        assert_eq!(rig.region().goal.as_deref(), Some("fetch water"));
        assert_eq!(rig.region().suspended, ["tidy up"]);
    }
}
