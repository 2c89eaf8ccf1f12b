//! How far the body's joints turned lately, and whether another movement is allowed.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::EffortLimits;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use maxim_tools::robot;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Degrees that "look left" means if the call gives no number.
const USUAL: f64 = 20.0;

/// Degrees turned, summed by minute, over the last day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Effort {
    minutes: VecDeque<(Timestamp, f64)>,
}

impl Effort {
    pub(super) fn moved(&mut self, at: Timestamp, degrees: f64) {
        while self.minutes.front().is_some_and(|(since, _)| since.later(DAY) <= at) {
            self.minutes.pop_front();
        }
        match self.minutes.back_mut().filter(|(since, _)| at.duration_since(*since) < SignedDuration::from_mins(1)) {
            Some((_, sum)) => *sum += degrees,
            None => self.minutes.push_back((at, degrees)),
        }
    }

    fn within(&self, span: SignedDuration, now: Timestamp) -> f64 {
        self.minutes.iter().filter(|(since, _)| now < since.later(span)).map(|(_, degrees)| degrees).sum()
    }

    /// Why the movement is refused; `None` if it is allowed. Only the length that the call names counts; a movement
    /// that follows what is seen names none.
    pub(super) fn objection(&self, tool: &str, params: &Json, now: Timestamp, limits: EffortLimits) -> Option<String> {
        if !robot::ALL.contains(&tool) {
            return None;
        }
        let meant = meant(tool, params);
        let spans = [(HOUR, limits.per_hour, "an hour"), (DAY, limits.per_day, "a day")];
        let (spent, limit, per) = spans
            .into_iter()
            .filter(|(_, limit, _)| *limit > 0.0)
            .map(|(span, limit, per)| (self.within(span, now), limit, per))
            .find(|(spent, limit, _)| spent >= limit || spent + meant > *limit)?;
        Some(format!(
            "the joints turned {spent:.0} degrees already, and with {meant:.0} more would pass the limit of {limit:.0} {per} \
             (body.degrees_per_hour, body.degrees_per_day); wait"
        ))
    }
}

/// Degrees that a call asks to turn.
fn meant(tool: &str, params: &Json) -> f64 {
    if tool != robot::MOVE {
        return 0.0;
    }
    let is_relative = |name: &str| matches!(params[name].as_str(), Some("left" | "right" | "up" | "down"));
    if is_relative("look") {
        return params["degrees"].as_f64().unwrap_or(USUAL).abs();
    }
    // Head and body turn together.
    if is_relative("turn") { 2.0 * params["degrees"].as_f64().unwrap_or(USUAL).abs() } else { 0.0 }
}
