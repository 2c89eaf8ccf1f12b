//! A simulated body: joints that follow their targets as fast as they can, noiseless sensors, and faults on demand.
//!
//! It stops by itself: a target holds for the length of the lease, as on a body with its own controller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::latch::Permit;
use parking_lot::Mutex;

use super::driver::{Driver, Fault, Sensed};
use super::joint::{JOINTS, Joint, Limits, Pose};

/// Simulated motors are faster than demanded, so that they keep up with a moving target.
const HEADROOM: f64 = 1.25;

type Hook = Box<dyn FnMut(u64) + Send>;

/// A body that also exists without a brain. Clones are the same body.
#[derive(Clone)]
pub struct SimBody(Arc<Mutex<State>>);

struct State {
    limits: Limits,
    lease: Duration,
    pose: Pose,
    target: Option<Pose>,
    /// When the target expires.
    until: Duration,
    now: Duration,
    fault: Option<Fault>,
    jammed: BTreeSet<Joint>,
    loads: BTreeMap<Joint, f64>,
    targets: u64,
    last_target: Option<Duration>,
    hook: Option<Hook>,
}

impl std::fmt::Debug for SimBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SimBody").field(&self.pose()).finish()
    }
}

impl SimBody {
    /// At rest, all joints at zero.
    pub fn new(limits: Limits, lease: Duration) -> Self {
        Self(Arc::new(Mutex::new(State {
            limits,
            lease,
            pose: Pose::default(),
            target: None,
            until: Duration::ZERO,
            now: Duration::ZERO,
            fault: None,
            jammed: BTreeSet::new(),
            loads: BTreeMap::new(),
            targets: 0,
            last_target: None,
            hook: None,
        })))
    }

    /// Its pose at the last access.
    pub fn pose(&self) -> Pose {
        self.0.lock().pose
    }

    /// Its pose at this time of the motor's clock, without further targets.
    pub fn pose_at(&self, now: Duration) -> Pose {
        self.0.lock().pose_at(now)
    }

    /// The number of accepted targets, and when the last one came, on the motor's clock.
    pub fn accepted(&self) -> (u64, Option<Duration>) {
        let state = self.0.lock();
        (state.targets, state.last_target)
    }

    /// Sets a fault; `None` repairs the body.
    pub fn break_down(&self, fault: Option<Fault>) {
        self.0.lock().fault = fault;
    }

    /// This joint accepts targets and doesn't move.
    pub fn jam(&self, joint: Joint, jammed: bool) {
        let mut state = self.0.lock();
        if jammed {
            state.jammed.insert(joint)
        } else {
            state.jammed.remove(&joint)
        };
    }

    /// Sets the load of this joint, 0 to 1.
    pub fn load(&self, joint: Joint, load: f64) {
        self.0.lock().loads.insert(joint, load);
    }

    /// Moves it by hand.
    pub fn push(&self, joint: Joint, to: f64) {
        self.0.lock().pose[joint] = to;
    }

    /// The hook is called with the number of each target, from 1, right after it was accepted.
    pub fn on_target(&self, hook: impl FnMut(u64) + Send + 'static) {
        self.0.lock().hook = Some(Box::new(hook));
    }
}

impl State {
    /// Advances time to `now`.
    fn advance(&mut self, now: Duration) {
        self.pose = self.pose_at(now);
        self.now = self.now.max(now);
    }

    /// Its pose at a time; the target holds as long as the lease.
    fn pose_at(&self, now: Duration) -> Pose {
        let passed = now.min(self.until).saturating_sub(self.now).as_secs_f64();
        let Some(target) = self.target else { return self.pose };
        Pose::from_fn(|joint| {
            let step = if self.jammed.contains(&joint) { 0.0 } else { passed * self.limits.of(joint).speed * HEADROOM };
            self.pose[joint] + (target[joint] - self.pose[joint]).clamp(-step, step)
        })
    }
}

impl Driver for SimBody {
    fn limits(&self) -> Limits {
        self.0.lock().limits
    }

    fn sense(&mut self, now: Duration) -> Result<Sensed, Fault> {
        let mut state = self.0.lock();
        state.advance(now);
        if let Some(fault) = &state.fault {
            return Err(fault.clone());
        }
        let mut load = [0.0; JOINTS];
        state.loads.iter().for_each(|(joint, value)| load[*joint as usize] = *value);
        Ok(Sensed { pose: state.pose, at: now, load: Some(load) })
    }

    fn target(&mut self, pose: &Pose, now: Duration, _permit: &Permit<'_>) -> Result<(), Fault> {
        let (number, mut hook) = {
            let mut state = self.0.lock();
            state.advance(now);
            if let Some(fault) = &state.fault {
                return Err(fault.clone());
            }
            let (possible, _) = state.limits.clamp(pose);
            state.target = Some(possible);
            state.until = now + state.lease;
            state.targets += 1;
            state.last_target = Some(now);
            (state.targets, state.hook.take())
        };
        // Outside the lock: it may read the body.
        if let Some(hook) = &mut hook {
            hook(number);
        }
        let mut state = self.0.lock();
        if state.hook.is_none() {
            state.hook = hook;
        }
        Ok(())
    }

    fn freeze(&mut self, now: Duration) {
        let mut state = self.0.lock();
        state.advance(now);
        state.target = None;
        state.until = now;
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn it_follows_as_fast_as_it_can_and_holds_still_when_nobody_goes_on() {
        let mut body = SimBody::new(Limits::reachy_mini(), ms(100));
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Motion).expect("clear");
        let mut far = Pose::default();
        far[Joint::Yaw] = 1.0;
        body.target(&far, ms(0), &permit).expect("taken");
        let speed = Limits::reachy_mini().of(Joint::Yaw).speed * HEADROOM;
        assert!((body.pose_at(ms(50))[Joint::Yaw] - 0.05 * speed).abs() < 1e-9);
        let held = body.pose_at(ms(100))[Joint::Yaw];
        assert!((held - 0.1 * speed).abs() < 1e-9);
        assert_eq!(body.pose_at(ms(5_000))[Joint::Yaw], held, "the lease is over");
        body.target(&far, ms(5_000), &permit).expect("taken");
        body.freeze(ms(5_020));
        assert!((body.pose_at(ms(6_000))[Joint::Yaw] - held - 0.02 * speed).abs() < 1e-9);
    }

    #[test]
    fn faults_are_told_and_a_jammed_joint_stays() {
        let mut body = SimBody::new(Limits::reachy_mini(), ms(100));
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Motion).expect("clear");
        let mut there = Pose::default();
        (there[Joint::Yaw], there[Joint::Roll]) = (0.1, 0.1);
        body.jam(Joint::Yaw, true);
        body.target(&there, ms(0), &permit).expect("taken");
        let sensed = body.sense(ms(90)).expect("no fault");
        assert!(sensed.pose[Joint::Yaw] == 0.0 && sensed.pose[Joint::Roll] > 0.09, "{sensed:?}");
        body.break_down(Some(Fault::MotorsOff("disabled".into())));
        assert_eq!(body.target(&there, ms(100), &permit), Err(Fault::MotorsOff("disabled".into())));
        assert!(body.sense(ms(100)).is_err());
    }
}
