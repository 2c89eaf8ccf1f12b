//! Orders to the motor, and their results.

use std::time::Duration;

use maxim_bus::MessageId;
use serde_json::Value as Json;

use super::driver::Fault;
use super::joint::{Joint, Pose};
use super::motor::missed;
use super::path::Path;

/// The goal of one joint, in metres or radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    At(f64),
    /// Relative to the present place.
    By(f64),
}

/// The goals of the named joints; the others stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal(Vec<(Joint, Aim)>);

impl Goal {
    pub fn aim(&mut self, joint: Joint, aim: Aim) {
        self.0.push((joint, aim));
    }

    /// All joints at this pose.
    pub fn pose(pose: &Pose) -> Self {
        Self(Joint::ALL.iter().map(|joint| (*joint, Aim::At(pose[*joint]))).collect())
    }

    /// The goal as a pose, from the present one.
    pub fn from(&self, present: &Pose) -> Pose {
        let mut goal = *present;
        for (joint, aim) in &self.0 {
            goal[*joint] = match aim {
                Aim::At(place) => *place,
                Aim::By(way) => present[*joint] + way,
            };
        }
        goal
    }
}

/// One movement.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub goal: Goal,
    /// How long it should take; `None`: as fast as is comfortable.
    pub lasts: Option<Duration>,
    /// The execution to which it belongs.
    pub action: Option<MessageId>,
    /// E.g. `look`; forward models distinguish movements by it.
    pub movement: String,
    pub params: Json,
}

/// A completed movement.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    pub before: Pose,
    pub reached: Pose,
    pub took: Duration,
    pub path: Path,
}

/// Why a movement didn't happen, or didn't reach its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MoveFailure {
    #[error("{0}")]
    Stopped(String),
    #[error("the movement was ended: the brain did not renew the body's lease for {0:?}")]
    LeaseLost(Duration),
    #[error("{0}")]
    Fault(Fault),
    #[error("the body accepted the movement, but {}", missed(*.joint, *.asked, .reached[*.joint]))]
    Missed { joint: Joint, asked: f64, reached: Pose },
    #[error("{0}")]
    Off(String),
    #[error("the motor has not answered for {0:?}; everything was stopped")]
    Hung(Duration),
}
