//! Robot tools on this body: a call in joints, and the report of its end.

use std::time::Duration;

use maxim_bus::MessageId;
use serde_json::{Value as Json, json};

use super::joint::{Clamped, Joint, Pose, tenth};
use super::order::{Aim, Goal, MoveFailure, Moved, Order};
use super::{Body, Fault};
use maxim_tools::robot::{Limbs, MOVE};
use maxim_tools::{ErrorKind, Reversal, SideEffectKind, ToolFailure, ToolOutcome};

/// Joints that a call may name directly.
const NAMED: [Joint; 7] = [Joint::X, Joint::Y, Joint::Z, Joint::Roll, Joint::Pitch, Joint::Yaw, Joint::BodyYaw];

impl Limbs for Body {
    fn carry_out(&self, tool: &str, params: &Json, action: Option<MessageId>) -> ToolOutcome {
        let before = self.pose();
        let outcome = self.attempt(tool, params, action);
        if outcome.success {
            return outcome;
        }
        // A movement that failed halfway has moved the body, which can be undone; a movement that never began hasn't.
        let (before, now) = (before.map(|pose| pose.shown()), self.pose().map(|pose| pose.shown()));
        if before == now {
            return outcome;
        }
        outcome.with_effect(SideEffectKind::BodyMoved, now.unwrap_or_default().to_string())
    }

    fn place(&self) -> Option<Json> {
        serde_json::to_value(self.pose()?).ok()
    }

    fn back_to(&self, place: &Json, action: Option<MessageId>) -> ToolOutcome {
        let Ok(pose) = serde_json::from_value::<Pose>(place.clone()) else {
            let why = "the former pose can't be read any more; move the body yourself";
            return ToolOutcome::failed(ToolFailure::new(ErrorKind::Failed, why));
        };
        let back = self.place().map(|place| Reversal::MoveBack { place });
        let order = Order { goal: Goal::pose(&pose), lasts: None, action, movement: "back".into(), params: json!({}) };
        outcome(self.perform(order), back)
    }
}

impl Body {
    fn attempt(&self, tool: &str, params: &Json, action: Option<MessageId>) -> ToolOutcome {
        if let Some(looked) = self.gaze(tool, params, action) {
            return looked;
        }
        if tool != MOVE {
            return ToolOutcome::failed(ToolFailure::new(ErrorKind::Unavailable, format!("the body has no {tool}")));
        }
        let (goal, movement) = match goal(params) {
            Ok(wanted) => wanted,
            Err(failure) => return ToolOutcome::failed(failure),
        };
        let lasts = params["duration"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let order = Order { goal, lasts, action, movement: movement.into(), params: params.clone() };
        outcome(self.perform(order), None)
    }
}

/// The goal of a `move` call, and the kind of movement.
fn goal(params: &Json) -> Result<(Goal, &'static str), ToolFailure> {
    let mut goal = Goal::default();
    let mut is_named = false;
    let aims = NAMED.iter().filter_map(|joint| Some((*joint, params[joint.name()].as_f64()?)));
    let antennas =
        [Joint::LeftAntenna, Joint::RightAntenna].into_iter().zip(params["antennas"].as_array().into_iter().flatten());
    for (joint, value) in aims.chain(antennas.filter_map(|(joint, value)| Some((joint, value.as_f64()?)))) {
        goal.aim(joint, Aim::At(joint.meant(value)));
        is_named = true;
    }
    let by = params["degrees"].as_f64().unwrap_or(20.0).to_radians();
    let look = params["look"].as_str();
    let turn = params["turn"].as_str();
    match look {
        Some("left") => goal.aim(Joint::Yaw, Aim::By(by)),
        Some("right") => goal.aim(Joint::Yaw, Aim::By(-by)),
        Some("up") => goal.aim(Joint::Pitch, Aim::By(-by)),
        Some("down") => goal.aim(Joint::Pitch, Aim::By(by)),
        Some(_) => [Joint::Roll, Joint::Pitch, Joint::Yaw].into_iter().for_each(|joint| goal.aim(joint, Aim::At(0.0))),
        None => {}
    }
    for joint in [Joint::Yaw, Joint::BodyYaw] {
        match turn {
            Some("left") => goal.aim(joint, Aim::By(by)),
            Some("right") => goal.aim(joint, Aim::By(-by)),
            Some(_) => goal.aim(joint, Aim::At(0.0)),
            None => {}
        }
    }
    match (look, turn, is_named) {
        (Some(_), None, false) => Ok((goal, "look")),
        (None, Some(_), false) => Ok((goal, "turn")),
        (None, None, true) => Ok((goal, "move")),
        _ => Err(ToolFailure::new(
            ErrorKind::InvalidParameters,
            "say where to: joints by name (x, y, z, roll, pitch, yaw, body_yaw, antennas), or look, or turn, and only one of these ways",
        )),
    }
}

pub(super) fn outcome(ended: Result<Moved, MoveFailure>, back: Option<Reversal>) -> ToolOutcome {
    let moved = match ended {
        Ok(moved) => moved,
        Err(failure) => {
            let reached = match &failure {
                MoveFailure::Missed { reached, .. } => json!({"pose": reached.shown()}),
                _ => Json::Null,
            };
            return ToolOutcome::failed(ToolFailure::new(kind(&failure), failure.to_string())).with_output(reached);
        }
    };
    let shown = moved.reached.shown();
    let mut output = json!({"pose": shown, "seconds": tenth(moved.took.as_secs_f64())});
    let limits: Vec<String> = moved.path.clamped.iter().map(Clamped::told).collect();
    if !limits.is_empty() {
        output["at_limit"] = json!(limits);
    }
    if moved.path.was_stretched {
        output["slowed"] = json!("the joints can't move fast enough for the requested duration");
    }
    if let Some(back) = back.and_then(|back| serde_json::to_value(back).ok()) {
        output["reversal"] = back;
    }
    ToolOutcome::done(output).with_effect(SideEffectKind::BodyMoved, shown.to_string())
}

fn kind(failure: &MoveFailure) -> ErrorKind {
    match failure {
        MoveFailure::Stopped(_) => ErrorKind::Stopped,
        MoveFailure::Off(_) => ErrorKind::Unavailable,
        MoveFailure::Fault(Fault::Connecting(_) | Fault::MotorsOff(_)) => ErrorKind::Unavailable,
        MoveFailure::Hung(_) => ErrorKind::Timeout,
        MoveFailure::LeaseLost(_) | MoveFailure::Fault(_) | MoveFailure::Missed { .. } => ErrorKind::Failed,
    }
}
