//! The motor: streams small targets to a body, and checks the latch and the lease before each.
//!
//! It never sends a long way at once. So whatever happens to the brain, the body moves at most one small step further.

use std::time::Duration;

use maxim_bus::SharedClock;
use maxim_bus::clock::{Reckoned, Stopwatch, monotonic_micros};
use maxim_bus::latch::{EffectKind, StopLatch};
use maxim_bus::signals::percept::PainKind;

use super::driver::{Driver, Fault, Sensed};
use super::joint::{Joint, Limits, Pose, tenth};
use super::order::{MoveFailure, Moved, Order};
use super::path::Path;
use super::shared::Shared;
use super::strain::{Strain, StrainWatch};
use super::way::Way;

/// Time between two targets: 50 a second, like the maker's own programs.
pub const TICK: Duration = Duration::from_millis(20);
/// How long a body may take to come to rest at its goal.
const SETTLES: Duration = Duration::from_millis(600);

/// Time for the motor.
pub(super) enum Pace {
    /// Real time.
    Live(Stopwatch),
    /// In a simulation a movement takes none of the agent's time: it is computed ahead of the clock.
    Virtual { clock: SharedClock, since: jiff::Timestamp, ahead: Duration },
}

impl Pace {
    pub fn now(&self) -> Duration {
        match self {
            Self::Live(watch) => watch.elapsed(),
            Self::Virtual { clock, since, ahead } => {
                let passed = clock.now().duration_since(*since);
                (*ahead).max(Duration::try_from(passed).unwrap_or_default())
            }
        }
    }

    /// The end of the time that was computed ahead of the agent's clock; `None` in real time.
    fn end(&self) -> Option<jiff::Timestamp> {
        match self {
            Self::Live(_) => None,
            Self::Virtual { since, .. } => Some(since.later(self.now())),
        }
    }

    /// Waits for `time`; in real time a stop ends the wait.
    fn wait(&mut self, time: Duration, latch: &StopLatch) {
        match self {
            Self::Virtual { ahead, .. } => *ahead = time,
            Self::Live(watch) => {
                while latch.permit(EffectKind::Motion).is_ok() {
                    let left = time.saturating_sub(watch.elapsed());
                    if left.is_zero() {
                        return;
                    }
                    std::thread::park_timeout(left);
                }
            }
        }
    }
}

pub(super) struct Motor {
    pub driver: Box<dyn Driver>,
    pub shared: std::sync::Arc<Shared>,
    pub latch: StopLatch,
    pub pace: Pace,
    limits: Limits,
    watch: StrainWatch,
    strains: Vec<Strain>,
    way: Way,
    was_up: bool,
}

impl Motor {
    /// `speed` is the share of the body's own speeds that is used, 0 to 1.
    pub fn new(
        driver: Box<dyn Driver>,
        shared: std::sync::Arc<Shared>,
        latch: StopLatch,
        pace: Pace,
        speed: f64,
    ) -> Self {
        let limits = driver.limits().slowed(speed);
        let watch = StrainWatch::new(limits);
        Self { driver, shared, latch, pace, limits, watch, strains: Vec::new(), way: Way::default(), was_up: false }
    }

    /// Reads the body. A new loss is reported as a stop.
    pub fn look(&mut self) -> Result<Sensed, Fault> {
        let now = self.pace.now();
        let sensed = self.driver.sense(now);
        self.shared.beat();
        match &sensed {
            Ok(sensed) => {
                self.was_up = true;
                self.shared.seen(sensed.pose);
                self.way.went(&sensed.pose);
                self.strains.extend(self.watch.see(sensed));
            }
            Err(fault) => self.fault(fault),
        }
        sensed
    }

    fn fault(&mut self, fault: &Fault) {
        let is_new = self.shared.faulty(fault);
        if is_new && fault.is_stop() {
            self.shared.lost(&fault.to_string());
        }
    }

    /// True once the body has reported.
    pub fn was_up(&self) -> bool {
        self.was_up
    }

    /// A failure of this code is a stop.
    pub fn broke(&mut self, why: String) {
        self.fault(&Fault::Broken(why));
    }

    pub fn freeze(&mut self) {
        self.driver.freeze(self.pace.now());
        self.shared.frozen();
    }

    /// Carries out a movement to its end.
    pub fn perform(&mut self, order: &Order) -> Result<Moved, MoveFailure> {
        self.latch.permit(EffectKind::Motion).map_err(|stopped| MoveFailure::Stopped(stopped.to_string()))?;
        let before = self.look().map_err(MoveFailure::Fault)?;
        let goal = order.goal.from(&before.pose);
        if !goal.is_finite() {
            return Err(MoveFailure::Fault(Fault::Broken("a goal that isn't a number".into())));
        }
        let path = Path::plan(before.pose, &goal, order.lasts, &self.limits);
        self.watch.begin();
        self.strains.clear();
        self.way = Way::from(before.pose);
        self.shared.lease.renew();
        self.shared.begins();
        let begun = self.pace.now();
        let ended = self.follow(&path).and_then(|()| self.settle(&path));
        self.shared.rests(self.pace.end());
        let took = self.pace.now().saturating_sub(begun);
        if !matches!(ended, Ok(_) | Err(MoveFailure::Missed { .. })) {
            self.freeze();
        }
        let after = match &ended {
            Ok(sensed) => Some(sensed.pose),
            Err(MoveFailure::Missed { reached, .. }) => Some(*reached),
            Err(_) => None,
        };
        if let Err(failure @ MoveFailure::Missed { joint, .. }) = &ended {
            let reason = failure.to_string();
            self.strains.push(Strain { kind: PainKind::MovementError, joint: *joint, reason });
        }
        // A stopped movement says nothing about the movement itself.
        self.shared.report(order, &path, after, self.way.take(), std::mem::take(&mut self.strains));
        if let Err(MoveFailure::Fault(fault)) = &ended {
            self.fault(&fault.clone());
        }
        let reached = ended?.pose;
        Ok(Moved { before: before.pose, reached, took, path })
    }

    /// The path's own time advances one tick with each target, so a late thread makes a slower movement and never a
    /// jump.
    fn follow(&mut self, path: &Path) -> Result<(), MoveFailure> {
        let mut along = Duration::ZERO;
        let mut due = self.pace.now();
        while along < path.lasts {
            along += TICK;
            self.step(&path.at(along), due)?;
            due = self.pace.now().max(due + TICK);
            self.pace.wait(due, &self.latch);
        }
        Ok(())
    }

    fn step(&mut self, pose: &Pose, due: Duration) -> Result<(), MoveFailure> {
        // Read before the latch: nothing slow may come between the permit and the target.
        self.look().map_err(MoveFailure::Fault)?;
        let now = self.pace.now();
        let (length, away) = (self.shared.lease.length(), now.saturating_sub(due));
        // Half of a very short lease is for sending in any case.
        let lag = self.driver.lag().min(length / 2);
        if away > length || !self.shared.lease.holds_for(lag) {
            return Err(MoveFailure::LeaseLost(length));
        }
        let permit =
            self.latch.permit(EffectKind::Motion).map_err(|stopped| MoveFailure::Stopped(stopped.to_string()))?;
        self.driver.target(pose, now, &permit).map_err(MoveFailure::Fault)?;
        if matches!(self.pace, Pace::Virtual { .. }) {
            // Brain and motor share one thread here.
            self.shared.lease.renew();
        }
        Ok(())
    }

    /// Holds the goal until the body is there: an accepted movement need not have happened.
    fn settle(&mut self, path: &Path) -> Result<Sensed, MoveFailure> {
        let until = self.pace.now() + SETTLES;
        loop {
            let due = self.pace.now();
            self.step(&path.to, due)?;
            self.pace.wait(due + TICK, &self.latch);
            let sensed = self.look().map_err(MoveFailure::Fault)?;
            match sensed.pose.missed(&path.to) {
                None => return Ok(sensed),
                Some(joint) if self.pace.now() >= until => {
                    let (asked, reached) = (path.to[joint], sensed.pose);
                    return Err(MoveFailure::Missed { joint, asked, reached });
                }
                Some(_) => {}
            }
        }
    }
}

/// How far off a joint is, in words for people.
pub(super) fn missed(joint: Joint, asked: f64, reached: f64) -> String {
    let (unit, shown) = (joint.unit(), |value| tenth(joint.shown(value)));
    format!("{} is at {} {unit} instead of {} {unit}", joint.name(), shown(reached), shown(asked))
}

/// Microseconds since a time of the monotonic clock.
pub(super) fn since_us(moment: u64) -> u64 {
    monotonic_micros().saturating_sub(moment)
}
