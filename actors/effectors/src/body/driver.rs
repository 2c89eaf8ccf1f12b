//! What the motor needs of a body.

use std::time::Duration;

use maxim_bus::latch::Permit;
use serde::Serialize;

use super::joint::{JOINTS, Limits, Pose};

/// What a body reports of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensed {
    pub pose: Pose,
    /// The time of the report, on the motor's clock.
    pub at: Duration,
    /// The load of each joint, as a share of its maximum, 0 to 1; `None` if the body doesn't report it.
    pub load: Option<[f64; JOINTS]>,
}

/// A fault of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Fault {
    /// The body was never reached.
    #[error("the body is not reached yet: {0}")]
    Connecting(String),
    /// The body was there, and is gone: this is a stop.
    #[error("the body is lost: {0}")]
    Lost(String),
    /// The body has no torque.
    #[error("the body's motors are off ({0}); switch them on to let it move")]
    MotorsOff(String),
    /// The body refused a target, for example because another program moves it.
    #[error("the body refused a target: {0}")]
    Ignored(String),
    /// The motor code itself failed: this is a stop.
    #[error("the motor failed: {0}")]
    Broken(String),
}

impl Fault {
    /// True if nobody knows what the body does now.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Broken(_))
    }
}

/// A body, as the motor sees it. Only one thread calls it; no call may block for longer than a few milliseconds.
///
/// `now` is the motor's clock: monotonic, from the motor's start.
pub trait Driver: Send {
    /// How far and how fast the body may move.
    fn limits(&self) -> Limits;

    /// How long its own loop may go on moving it after a target. In this last part of a lease no target is sent, so
    /// that the body stands still when the lease ends.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    /// Reads where the body is.
    fn sense(&mut self, now: Duration) -> Result<Sensed, Fault>;

    /// The next pose, a small step away. The body holds a target at most for the length of the lease, then it stands
    /// still.
    fn target(&mut self, pose: &Pose, now: Duration, permit: &Permit<'_>) -> Result<(), Fault>;

    /// The body must stand still now, where it is.
    fn freeze(&mut self, now: Duration);

    /// Releases the body: no more targets come, and it stands still.
    fn release(&mut self, now: Duration) {
        self.freeze(now);
    }
}
