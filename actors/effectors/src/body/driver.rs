//! What a body must be able to do for the motor.

use std::time::Duration;

use maxim_bus::latch::Permit;
use serde::Serialize;

use super::joint::{JOINTS, Limits, Pose};

/// What a body tells of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensed {
    pub pose: Pose,
    /// When it was so, on the motor's clock.
    pub at: Duration,
    /// How hard each joint works, 0 to 1 of what it can; none where the body doesn't tell.
    pub load: Option<[f64; JOINTS]>,
}

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Fault {
    /// It was never reached.
    #[error("the body is not reached yet: {0}")]
    Connecting(String),
    /// It was there, and is gone: a stop.
    #[error("the body is lost: {0}")]
    Lost(String),
    /// It holds no torque.
    #[error("the body's motors are off ({0}); switch them on before it is to move")]
    MotorsOff(String),
    /// Somebody else moves it.
    #[error("the body didn't take a target: {0}")]
    Ignored(String),
    /// What moves it broke: a stop.
    #[error("the motor broke: {0}")]
    Broken(String),
}

impl Fault {
    /// Nobody knows what the body does now.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Broken(_))
    }
}

/// A body, as the motor sees it. Called by one thread; nothing here may block for longer than a few milliseconds.
///
/// `now` is the motor's clock: monotonic, from the start of the motor.
pub trait Driver: Send {
    /// How far and how fast it may be sent.
    fn limits(&self) -> Limits;

    /// How long it may go on moving after a target was sent, in its own loop: no target is sent in the last so much of a lease,
    /// so that the body stands still when the lease is over.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    /// Where it is.
    fn sense(&mut self, now: Duration) -> Result<Sensed, Fault>;

    /// Be there next. A small step: a target is held for the length of the lease at most, then the body stands still.
    fn target(&mut self, pose: &Pose, now: Duration, permit: &Permit<'_>) -> Result<(), Fault>;

    /// Stand still now, where it is.
    fn freeze(&mut self, now: Duration);

    /// Let it go: nothing more comes. It stands still.
    fn release(&mut self, now: Duration) {
        self.freeze(now);
    }
}
