//! The daemon's JSON: its state, its answers, and targets for it.

use maxim_bus::MessageId;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::super::joint::{Joint, Pose};

/// The used part of `FullState`. Metres and radians.
#[derive(Debug, Deserialize)]
struct FullState {
    control_mode: Option<String>,
    head_pose: Option<HeadPose>,
    body_yaw: Option<f64>,
    antennas_position: Option<[f64; 2]>,
    timestamp: Option<jiff::Timestamp>,
}

#[derive(Debug, Deserialize)]
struct HeadPose {
    x: f64,
    y: f64,
    z: f64,
    roll: f64,
    pitch: f64,
    yaw: f64,
}

/// One message of the state's stream.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    pub pose: Pose,
    pub motors: String,
    /// On the daemon's clock.
    pub at: jiff::Timestamp,
}

/// Reads a state; an error is the reason.
pub(super) fn state(text: &str) -> Result<State, String> {
    let full: FullState = serde_json::from_str(text).map_err(|error| format!("its state can't be read: {error}"))?;
    let missing = |what: &str| format!("its state has no {what}");
    let head = full.head_pose.ok_or_else(|| missing("head_pose"))?;
    let body_yaw = full.body_yaw.ok_or_else(|| missing("body_yaw"))?;
    let antennas = full.antennas_position.ok_or_else(|| missing("antennas_position"))?;
    let pose = Pose::from_fn(|joint| match joint {
        Joint::X => head.x,
        Joint::Y => head.y,
        Joint::Z => head.z,
        Joint::Roll => head.roll,
        Joint::Pitch => head.pitch,
        Joint::Yaw => head.yaw,
        Joint::BodyYaw => body_yaw,
        Joint::LeftAntenna => antennas[0],
        Joint::RightAntenna => antennas[1],
    });
    if !pose.is_finite() {
        return Err("its state contains a value that isn't a number".into());
    }
    let motors = full.control_mode.ok_or_else(|| missing("control_mode"))?;
    Ok(State { pose, motors, at: full.timestamp.ok_or_else(|| missing("timestamp"))? })
}

/// `FullBodyTarget`. All joints are given: the daemon takes a missing one for zero.
pub(super) fn target(pose: &Pose) -> Json {
    json!({
        "target_head_pose": {
            "x": pose[Joint::X], "y": pose[Joint::Y], "z": pose[Joint::Z],
            "roll": pose[Joint::Roll], "pitch": pose[Joint::Pitch], "yaw": pose[Joint::Yaw],
        },
        "target_body_yaw": pose[Joint::BodyYaw],
        "target_antennas": [pose[Joint::LeftAntenna], pose[Joint::RightAntenna]],
    })
}

/// The error in an answer to a target; `None` if it was accepted. An answer of 200 may say "ignored".
pub(super) fn refusal(status: u16, body: &str) -> Option<String> {
    let told: Json = serde_json::from_str(body).unwrap_or(Json::Null);
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    match (status, text("status").as_str()) {
        (200, "ok") => None,
        (200, other) => Some(format!("it was {other}: {}", text("reason"))),
        _ => Some(format!("HTTP {status}: {}", text("detail"))),
    }
}

/// The ids of running movements.
pub(super) fn running(body: &str) -> Vec<String> {
    let told: Vec<Json> = serde_json::from_str(body).unwrap_or_default();
    // An entry without an id can't be sent back.
    let ids = told.iter().filter_map(|one| one["uuid"].as_str());
    ids.filter(|id| id.parse::<MessageId>().is_ok()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_as_the_daemon_tells_it_is_read() {
        let told = r#"{"control_mode":"enabled","head_pose":{"x":0.01,"y":0.0,"z":0.0,"roll":0.1,"pitch":-0.2,"yaw":0.3},
            "head_joints":null,"body_yaw":-0.4,"antennas_position":[0.5,-0.5],"timestamp":"2026-11-22T17:09:50.054486Z",
            "passive_joints":null,"doa":null,"imu":null}"#;
        let state = state(told).expect("readable");
        assert_eq!(
            (state.pose[Joint::Yaw], state.pose[Joint::RightAntenna], state.motors.as_str()),
            (0.3, -0.5, "enabled")
        );
        assert_eq!(target(&state.pose)["target_head_pose"]["pitch"], -0.2);
        assert!(super::state("{}").is_err_and(|why| why.contains("head_pose")));
    }

    #[test]
    fn an_answer_of_200_may_be_a_refusal() {
        assert_eq!(refusal(200, r#"{"status":"ok"}"#), None);
        let ignored = refusal(200, r#"{"status":"ignored","reason":"move_running"}"#);
        assert_eq!(ignored.as_deref(), Some("it was ignored: move_running"));
        let down = refusal(503, r#"{"detail":"Backend not running"}"#);
        assert_eq!(down.as_deref(), Some("HTTP 503: Backend not running"));
        let one = r#"[{"uuid":"0d7cd1a7-8423-4249-98cf-32315fec0945"},{"uuid":"../x"}]"#;
        assert_eq!(running(one), ["0d7cd1a7-8423-4249-98cf-32315fec0945"]);
    }
}
