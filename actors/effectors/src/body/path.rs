//! The path of a movement from the present pose to its goal: minimum jerk (Flash & Hogan 1985), within the speeds of
//! the joints.

use std::time::Duration;

use super::joint::{Clamped, Joint, Limits, Pose};

/// Ratio of peak to mean speed of a minimum-jerk movement: 15/8, at half time.
const PEAK: f64 = 15.0 / 8.0;
/// No movement is shorter than this, however near the goal is: a jump is no movement.
const SHORTEST: Duration = Duration::from_millis(100);
/// No movement is longer than this: its caller waits for the end.
const LONGEST: Duration = Duration::from_secs(60);

/// A movement within the body's limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub from: Pose,
    pub to: Pose,
    /// As long as was asked, or as long as the speeds need.
    pub lasts: Duration,
    /// The joints whose goal was limited.
    pub clamped: Vec<Clamped>,
    /// The requested duration was too short for the joints' speeds.
    pub was_stretched: bool,
}

impl Path {
    /// The path from the present pose to `goal`, or as near to it as the limits allow.
    pub fn plan(present: Pose, goal: &Pose, asked: Option<Duration>, limits: &Limits) -> Self {
        let (to, clamped) = limits.clamp(goal);
        let needs = |joint: Joint| PEAK * (to[joint] - present[joint]).abs() / limits.of(joint).speed;
        let needed = Joint::ALL.into_iter().map(needs).fold(0.0, f64::max);
        let needed = Duration::try_from_secs_f64(needed).unwrap_or(LONGEST).max(SHORTEST);
        let wanted = asked.unwrap_or(needed).min(LONGEST);
        Self {
            from: present,
            to,
            lasts: wanted.max(needed),
            clamped,
            was_stretched: wanted < needed && asked.is_some(),
        }
    }

    /// Where the body should be after this time.
    pub fn at(&self, elapsed: Duration) -> Pose {
        let share = (elapsed.as_secs_f64() / self.lasts.as_secs_f64()).clamp(0.0, 1.0);
        let smooth = share.powi(3) * (10.0 - 15.0 * share + 6.0 * share * share);
        if smooth >= 1.0 {
            return self.to;
        }
        Pose::from_fn(|joint| self.from[joint] + smooth * (self.to[joint] - self.from[joint]))
    }

    /// The part of the body that moves most; `None` if nothing moves.
    pub fn part(&self) -> Option<&'static str> {
        let way = |joint: Joint| (self.to[joint] - self.from[joint]).abs() / joint.tolerance();
        let most = Joint::ALL.into_iter().max_by(|a, b| way(*a).total_cmp(&way(*b)))?;
        (way(most) > 1e-3).then_some(most.part())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_millis(20);

    fn within(limits: &Limits, shares: [f64; 9]) -> Pose {
        let pose = Pose::from_fn(|joint| {
            let range = limits.of(joint);
            range.low + shares[joint as usize] * (range.high - range.low)
        });
        limits.clamp(&pose).0
    }

    proptest! {
        #[test]
        fn each_step_is_within_speed_and_range_and_the_end_is_the_goal(
            from in prop::array::uniform9(0.0..=1.0_f64),
            to in prop::array::uniform9(-0.5..1.5_f64),
            asked in prop::option::of(0_u64..5_000),
        ) {
            let limits = Limits::reachy_mini();
            let present = within(&limits, from);
            let goal = Pose::from_fn(|joint| {
                let range = limits.of(joint);
                range.low + to[joint as usize] * (range.high - range.low)
            });
            let path = Path::plan(present, &goal, asked.map(Duration::from_millis), &limits);
            prop_assert_eq!(path.at(Duration::ZERO), present);
            prop_assert_eq!(path.at(path.lasts), path.to);
            if let Some(asked) = asked {
                prop_assert!(path.lasts >= Duration::from_millis(asked));
            }
            let mut before = present;
            let mut elapsed = Duration::ZERO;
            while elapsed < path.lasts {
                elapsed += TICK;
                let now = path.at(elapsed);
                for joint in Joint::ALL {
                    let range = limits.of(joint);
                    let speed = (now[joint] - before[joint]).abs() / TICK.as_secs_f64();
                    prop_assert!(speed <= range.speed * 1.000_001, "{:?} at {speed} of {}", joint, range.speed);
                    prop_assert!(now[joint] >= range.low - 1e-9 && now[joint] <= range.high + 1e-9);
                    let ahead = path.to[joint] - path.from[joint];
                    prop_assert!((now[joint] - before[joint]) * ahead >= -1e-12, "it never goes back");
                }
                before = now;
            }
        }
    }

    #[test]
    fn what_is_asked_too_fast_takes_its_time_and_says_so() {
        let limits = Limits::reachy_mini();
        let mut goal = Pose::default();
        goal[Joint::Yaw] = 45_f64.to_radians();
        let path = Path::plan(Pose::default(), &goal, Some(Duration::from_millis(100)), &limits);
        assert!(path.was_stretched && (path.lasts.as_secs_f64() - PEAK * 0.5).abs() < 1e-6, "{:?}", path.lasts);
        let slow = Path::plan(Pose::default(), &goal, Some(Duration::from_secs(3)), &limits);
        assert!(!slow.was_stretched && slow.lasts == Duration::from_secs(3));
        assert_eq!(slow.part(), Some("head"));
        assert_eq!(Path::plan(goal, &goal, None, &limits).part(), None);
    }
}
