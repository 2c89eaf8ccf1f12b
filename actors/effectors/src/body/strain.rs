//! What strains the body in a movement: speed, oscillation, load.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use maxim_bus::signals::percept::PainKind;

use super::driver::Sensed;
use super::joint::{JOINTS, Joint, Limits, tenth};

/// A measured speed above this multiple of the limit is too fast; below are the errors of clocks and sensors.
const OVER_SPEED: f64 = 1.5;
/// Consecutive readings that must be too fast: a single one is a sensor error.
const FAST_LOOKS: u32 = 2;
/// This many turns within [`THRASHING_WITHIN`] mean that a joint moves back and forth without progress.
const THRASHING_TURNS: usize = 4;
const THRASHING_WITHIN: Duration = Duration::from_secs(3);
/// A joint must come back by this many tolerances to count as turned.
const TURN: f64 = 2.0;
/// Share of a joint's maximum load at which it works hard, and how long that is tolerated.
const HARD: f64 = 0.8;
const BORNE: Duration = Duration::from_secs(1);

/// A strain on the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Strain {
    pub kind: PainKind,
    pub joint: Joint,
    pub reason: String,
}

/// Watches one body over time.
pub struct StrainWatch {
    limits: Limits,
    last: Option<Sensed>,
    joints: [Watched; JOINTS],
    told: BTreeSet<(Joint, PainKind)>,
}

#[derive(Clone, Default)]
struct Watched {
    fast: u32,
    hard_since: Option<Duration>,
    /// Its last direction, and the farthest place in it.
    way: f64,
    furthest: f64,
    turns: VecDeque<Duration>,
}

impl StrainWatch {
    pub fn new(limits: Limits) -> Self {
        let joints = std::array::from_fn(|_| Watched::default());
        Self { limits, last: None, joints, told: BTreeSet::new() }
    }

    /// A movement begins: strains of the previous one may be reported again.
    pub fn begin(&mut self) {
        self.told.clear();
        self.joints.iter_mut().for_each(|watched| watched.hard_since = None);
    }

    /// Looks once; each kind of strain of a joint is reported once per movement.
    pub fn see(&mut self, now: &Sensed) -> Vec<Strain> {
        let Some(last) = self.last.replace(*now) else {
            Joint::ALL.into_iter().for_each(|joint| self.joints[joint as usize].furthest = now.pose[joint]);
            return Vec::new();
        };
        let passed = now.at.saturating_sub(last.at);
        if passed.is_zero() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for joint in Joint::ALL {
            let limit = self.limits.of(joint).speed;
            let watched = &mut self.joints[joint as usize];
            let speed = (now.pose[joint] - last.pose[joint]).abs() / passed.as_secs_f64();
            found.extend(watched.speed(joint, speed, limit));
            found.extend(watched.turn(joint, now.pose[joint], now.at));
            found.extend(now.load.and_then(|load| watched.load(joint, load[joint as usize], now.at)));
        }
        found.retain(|strain| self.told.insert((strain.joint, strain.kind)));
        found
    }
}

impl Watched {
    fn speed(&mut self, joint: Joint, speed: f64, limit: f64) -> Option<Strain> {
        self.fast = if speed > limit * OVER_SPEED { self.fast + 1 } else { 0 };
        let (seen, limit, unit) = (tenth(joint.shown(speed)), tenth(joint.shown(limit)), joint.unit());
        (self.fast >= FAST_LOOKS).then(|| Strain {
            kind: PainKind::OverSpeed,
            joint,
            reason: format!("{} went at {seen} {unit}/s, its limit is {limit}", joint.name()),
        })
    }

    fn turn(&mut self, joint: Joint, place: f64, at: Duration) -> Option<Strain> {
        let gone = place - self.furthest;
        if gone * self.way >= 0.0 && gone != 0.0 {
            (self.furthest, self.way) = (place, gone.signum());
        } else if gone.abs() > TURN * joint.tolerance() {
            (self.furthest, self.way) = (place, gone.signum());
            self.turns.push_back(at);
        }
        while self.turns.front().is_some_and(|turn| at.saturating_sub(*turn) > THRASHING_WITHIN) {
            self.turns.pop_front();
        }
        let turns = self.turns.len();
        (turns >= THRASHING_TURNS).then(|| Strain {
            kind: PainKind::Thrashing,
            joint,
            reason: format!("{} turned back {turns} times in {} s", joint.name(), THRASHING_WITHIN.as_secs()),
        })
    }

    fn load(&mut self, joint: Joint, load: f64, at: Duration) -> Option<Strain> {
        if load < HARD {
            self.hard_since = None;
            return None;
        }
        let since = *self.hard_since.get_or_insert(at);
        let lasts = at.saturating_sub(since);
        let percent = (load * 100.0).round();
        (lasts >= BORNE).then(|| Strain {
            kind: PainKind::SustainedStrain,
            joint,
            reason: format!("{} worked at {percent} % for {:.1} s", joint.name(), lasts.as_secs_f64()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::joint::Pose;
    use super::*;

    const LOOK: Duration = Duration::from_millis(20);

    fn told(places: impl Iterator<Item = f64>, load: f64) -> Vec<PainKind> {
        let mut watch = StrainWatch::new(Limits::reachy_mini());
        let mut at = Duration::ZERO;
        let mut kinds = Vec::new();
        for place in places {
            at += LOOK;
            let mut pose = Pose::default();
            pose[Joint::Yaw] = place;
            let mut loads = [0.0; JOINTS];
            loads[Joint::Yaw as usize] = load;
            kinds.extend(watch.see(&Sensed { pose, at, load: Some(loads) }).into_iter().map(|strain| strain.kind));
        }
        kinds
    }

    #[test]
    fn a_movement_within_its_limits_strains_nothing() {
        assert_eq!(told((0..100).map(|n| f64::from(n) * 0.01), 0.5), []);
    }

    #[test]
    fn too_fast_is_told_once_and_a_slip_of_a_sensor_is_not() {
        assert_eq!(told((0..20).map(|n| f64::from(n) * 0.1), 0.0), [PainKind::OverSpeed]);
        assert_eq!(told([0.0, 0.0, 0.06, 0.06, 0.06].into_iter(), 0.0), []);
    }

    #[test]
    fn back_and_forth_is_thrashing_and_a_tremble_is_not() {
        let swing = |amplitude: f64| (0..140_u32).map(move |n| amplitude * (f64::from(n) / 6.0).sin());
        assert!(told(swing(0.1), 0.0).contains(&PainKind::Thrashing));
        assert_eq!(told(swing(0.02), 0.0), []);
        // There and back is a movement and its return.
        assert_eq!(told((0..80_i32).map(|n| f64::from(40 - (n - 40).abs()) * 0.01), 0.0), []);
    }

    #[test]
    fn a_load_strains_when_it_lasts() {
        assert_eq!(told(std::iter::repeat_n(0.0, 45), 0.9), []);
        assert_eq!(told(std::iter::repeat_n(0.0, 120), 0.9), [PainKind::SustainedStrain]);
    }
}
