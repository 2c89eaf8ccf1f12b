//! The interface that a body offers the motor.

use std::time::Duration;

use maxim_bus::latch::Permit;
use serde::Serialize;

use super::joint::{JOINTS, Limits, Pose};

/// A body's report of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensed {
    pub pose: Pose,
    /// The time of the report, on the motor's clock.
    pub at: Duration,
    /// The load of each joint, 0 to 1 of its maximum; none if the body doesn't report it.
    pub load: Option<[f64; JOINTS]>,
}

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Fault {
    /// It was never reached.
    #[error("the body is not reached yet: {0}")]
    Connecting(String),
    /// It was reached before, and is lost: a stop.
    #[error("the body is lost: {0}")]
    Lost(String),
    /// Its motors hold no torque.
    #[error("the body's motors are off ({0}); switch them on before it can move")]
    MotorsOff(String),
    /// Something else moves it.
    #[error("the body didn't take a target: {0}")]
    Ignored(String),
    /// Its driver or motor failed: a stop.
    #[error("the motor broke: {0}")]
    Broken(String),
}

impl Fault {
    /// True when it is unknown what the body does now.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Broken(_))
    }
}

/// A body, as the motor sees it. Only one thread calls it; no call may block for longer than a few milliseconds.
///
/// `now` is the motor's clock: monotonic, from the motor's start.
pub trait Driver: Send {
    /// The limits of position and speed.
    fn limits(&self) -> Limits;

    /// How long the body may keep moving after a target, in its own control loop. No target is sent during this last
    /// part of a lease, so the body stands still when the lease ends.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    /// Reads the present pose.
    fn sense(&mut self, now: Duration) -> Result<Sensed, Fault>;

    /// Sends the next target, a small step. The body holds a target at most for the length of the lease, then it
    /// stands still.
    fn target(&mut self, pose: &Pose, now: Duration, permit: &Permit<'_>) -> Result<(), Fault>;

    /// Stands still now, at the present pose.
    fn freeze(&mut self, now: Duration);

    /// Releases the body: no more targets come. It stands still.
    fn release(&mut self, now: Duration) {
        self.freeze(now);
    }
}
