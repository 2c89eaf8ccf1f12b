//! Tools that look at something visible: once, or for a while.

use std::time::Duration;

use maxim_bus::MessageId;
use maxim_bus::clock::Stopwatch;
use serde_json::{Value as Json, json};

use super::joint::{Joint, tenth};
use super::limbs::outcome;
use super::order::{Aim, Goal, Order};
use super::sight::Seen;
use super::{Body, Hand};
use maxim_tools::robot::{FOCUS_INTERESTS, NOVELTY_TRACK, TRACK_TARGET};
use maxim_tools::{ErrorKind, SideEffectKind, ToolFailure, ToolOutcome};

/// A thing this close to the middle counts as looked at.
const CENTRED: f64 = 1.5;
/// A thing that is not seen for this long is lost.
const LOST: Duration = Duration::from_secs(2);
/// How often a stop is checked for while no picture comes.
const LOOK: Duration = Duration::from_millis(50);

const NO_EYES: &str = "no sense reports where things are; send what is seen with its box to POST /v1/observations";

/// How far the head must turn and nod, in degrees: left and down.
fn away(seen: &Seen, view: [f64; 2]) -> [f64; 2] {
    // A pinhole camera: the picture is flat.
    let angle = |share: f64, width: f64| (2.0 * share * (width.to_radians() / 2.0).tan()).atan().to_degrees();
    [-angle(seen.right, view[0]), angle(seen.down, view[1])]
}

fn is_centred(away: [f64; 2]) -> bool {
    away[0].hypot(away[1]) <= CENTRED
}

impl Body {
    /// The result of a tool that looks at something; `None` for other tools.
    pub(super) fn gaze(&self, tool: &str, params: &Json, action: Option<MessageId>) -> Option<ToolOutcome> {
        let sight = &self.0.sight;
        let target = match tool {
            TRACK_TARGET => sight.find(params["target"].as_str().unwrap_or_default()),
            FOCUS_INTERESTS => sight.best(|thing| thing.salience.get()),
            NOVELTY_TRACK => sight.best(|thing| thing.novelty.get()),
            _ => return None,
        };
        let Some(seen) = sight.seen() else {
            return Some(ToolOutcome::unavailable(NO_EYES));
        };
        let Some(target) = target else {
            let names: Vec<&str> = seen.iter().map(|seen| seen.name.as_str()).collect();
            let why = match params["target"].as_str() {
                _ if names.is_empty() => "nothing is seen now".to_owned(),
                Some(wanted) => format!("{wanted} is not seen now; what is seen: {}", names.join(", ")),
                None => format!("nothing stands out of what is seen: {}", names.join(", ")),
            };
            return Some(ToolOutcome::failed(ToolFailure::new(ErrorKind::NotFound, why)));
        };
        let lasts = params["seconds"].as_f64().unwrap_or(0.0);
        Some(self.look_at(target, Duration::try_from_secs_f64(lasts).unwrap_or_default(), tool, action))
    }

    /// Turns the head until the target is in the middle, and keeps it there. In virtual time nothing moves meanwhile,
    /// so it looks once.
    fn look_at(&self, mut target: Seen, lasts: Duration, tool: &str, action: Option<MessageId>) -> ToolOutcome {
        let is_live = matches!(&*self.0.hand.lock(), Hand::Live);
        let (watch, stops, name) = (Stopwatch::start(), self.0.shared.stops(), target.name.clone());
        let (mut moves, mut last, mut seen_at) = (0_u32, None, Duration::ZERO);
        let mut off = away(&target, self.0.plan.view);
        loop {
            off = if target.name == name { away(&target, self.0.plan.view) } else { off };
            if !is_centred(off) {
                let mut goal = Goal::default();
                goal.aim(Joint::Yaw, Aim::By(off[0].to_radians()));
                goal.aim(Joint::Pitch, Aim::By(off[1].to_radians()));
                let params = json!({"yaw": tenth(off[0]), "pitch": tenth(off[1])});
                let order = Order { goal, lasts: None, action, movement: tool.into(), params };
                let moved = outcome(self.perform(order), None);
                if !moved.success {
                    return moved;
                }
                moves += 1;
                last = Some(moved);
            }
            if !is_live {
                break;
            }
            // Pictures from before the head stood still show it in its earlier place.
            let Some(next) = self.next_picture(&name, lasts, &watch, &mut seen_at, stops) else { break };
            target = next;
        }
        if self.0.shared.stops() != stops {
            return ToolOutcome::failed(ToolFailure::new(ErrorKind::Stopped, "the stop ended the look"));
        }
        let lost = is_live && !lasts.is_zero() && watch.elapsed() < lasts;
        let mut output = json!({
            "target": name,
            "movements": moves,
            "seconds": tenth(watch.elapsed().as_secs_f64()),
        });
        if lost {
            output["lost"] = json!("it was not seen any more");
        }
        let pose = last.as_ref().map(|last: &ToolOutcome| last.output.clone()).unwrap_or_default();
        for field in ["pose", "at_limit"] {
            if let Some(told) = pose.get(field) {
                output[field] = told.clone();
            }
        }
        let done = ToolOutcome::done(output);
        match moves {
            0 => done,
            _ => done.with_effect(SideEffectKind::BodyMoved, format!("looked at {name}")),
        }
    }

    /// The target in a picture that is newer than the head's last movement. `None` if the time is over, the target is
    /// lost, or a stop came.
    fn next_picture(
        &self,
        name: &str,
        lasts: Duration,
        watch: &Stopwatch,
        seen_at: &mut Duration,
        stops: u64,
    ) -> Option<Seen> {
        let sight = &self.0.sight;
        let since = sight.count();
        loop {
            let now = watch.elapsed();
            if now >= lasts || self.0.shared.stops() != stops || now.saturating_sub(*seen_at) > LOST {
                return None;
            }
            sight.wait_after(sight.count(), LOOK.min(lasts - now));
            if let Some(seen) = sight.find(name).filter(|seen| seen.picture > since) {
                *seen_at = watch.elapsed();
                return Some(seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_and_below_is_looked_at_by_turning_right_and_nodding() {
        let seen = |right: f64, down: f64| Seen { name: "cup".into(), right, down, picture: 1 };
        let view = [60.0, 40.0];
        assert_eq!(away(&seen(0.0, 0.0), view), [-0.0, 0.0]);
        let [left, nod] = away(&seen(0.5, 0.5), view);
        assert!((left + 30.0).abs() < 1e-9 && (nod - 20.0).abs() < 1e-9, "the border is half of the view away");
        let [left, nod] = away(&seen(-0.25, -0.25), view);
        assert!(left > 15.0 && left < 17.0 && nod < -10.0 && nod > -11.0, "{left} {nod}");
    }
}
