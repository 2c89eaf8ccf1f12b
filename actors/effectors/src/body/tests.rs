//! The motor with a simulated body: in virtual time, and on its own thread if the test is about the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use maxim_bus::clock::{SystemClock, VirtualClock};
use maxim_bus::latch::{Permit, StopDetail, StopLatch};
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, SharedClock};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use super::*;
use maxim_tools::robot::{Limbs, MOVE};
use maxim_tools::{ErrorKind, ToolOutcome};

/// Generous, because machines are shared. A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

struct Bench {
    body: Body,
    latch: StopLatch,
    lost: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new() -> Self {
        let body = Body::new(BodyPlan { driver: DriverPlan::Sim, ..BodyPlan::default() });
        let latch = StopLatch::in_memory();
        let clock: SharedClock = Arc::new(VirtualClock::at("2026-01-05T09:00:00Z".parse().expect("a time")));
        let lost = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lost);
        body.attach(&latch, &clock, move |why| told.lock().push(why.to_owned()));
        Self { body, latch, lost }
    }

    fn sim(&self) -> &SimBody {
        self.body.sim().expect("a simulated body")
    }

    fn call(&self, params: Json) -> ToolOutcome {
        self.body.carry_out(MOVE, &params, Some(action()))
    }

    fn yaw(&self) -> f64 {
        self.sim().pose()[Joint::Yaw].to_degrees()
    }
}

fn action() -> MessageId {
    MessageId::from_parts(7, 7)
}

fn detail() -> StopDetail {
    StopDetail { reason: "a test".into(), by: "test".into(), at: Some(jiff::Timestamp::UNIX_EPOCH) }
}

#[test]
fn it_looks_and_turns_from_where_it_is() {
    let bench = Bench::new();
    let looked = bench.call(json!({"look": "left", "degrees": 20}));
    assert!(looked.success, "{looked:?}");
    assert!((bench.yaw() - 20.0).abs() < 2.0, "{}", bench.yaw());
    assert!(looked.output["at_limit"].is_null() && looked.output["slowed"].is_null(), "{looked:?}");
    bench.call(json!({"look": "right", "degrees": 30}));
    assert!((bench.yaw() + 10.0).abs() < 2.0, "{}", bench.yaw());
    bench.call(json!({"turn": "left", "degrees": 40}));
    let pose = bench.sim().pose();
    assert!((pose[Joint::BodyYaw].to_degrees() - 40.0).abs() < 2.0 && (bench.yaw() - 30.0).abs() < 3.0, "{pose:?}");
    bench.call(json!({"x": 10, "pitch": -10, "antennas": [30, -30], "duration": 2}));
    let pose = bench.sim().pose();
    assert!((pose[Joint::X] - 0.01).abs() < 3e-3 && (pose[Joint::LeftAntenna].to_degrees() - 30.0).abs() < 2.0);
    assert_eq!(bench.body.report()["movements"], 4);
    let vague = bench.call(json!({"degrees": 20}));
    assert_eq!(vague.error_kind, Some(ErrorKind::InvalidParameters));
}

#[test]
fn beyond_a_limit_it_goes_to_the_limit_and_says_so() {
    let bench = Bench::new();
    let moved = bench.call(json!({"yaw": 120, "duration": 0.1}));
    assert!(moved.success, "{moved:?}");
    assert!((bench.yaw() - 65.0).abs() < 2.0);
    let told = moved.output["at_limit"][0].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("yaw: 120 degrees were asked, 65 degrees is its limit"), "{told}");
    assert!(moved.output["slowed"].is_string());
}

#[test]
fn no_target_comes_after_a_stop_and_reset_does_not_move() {
    let bench = Bench::new();
    let latch = bench.latch.clone();
    bench.sim().on_target(move |number| {
        if number == 10 {
            latch.raise(detail());
        }
    });
    let moved = bench.call(json!({"yaw": 60}));
    assert_eq!(moved.error_kind, Some(ErrorKind::Stopped), "{moved:?}");
    assert_eq!(bench.sim().accepted().0, 10);
    let frozen = bench.sim().pose_at(Duration::from_secs(3_600));
    assert!(frozen[Joint::Yaw] < 0.5, "{frozen:?}");
    bench.latch.reset().expect("reset");
    assert_eq!(bench.call(json!({"yaw": 0})).error_kind, Some(ErrorKind::Stopped), "motion is held");
    assert_eq!(bench.sim().pose(), frozen);
    bench.latch.resume().expect("resume");
    assert_eq!(bench.sim().pose_at(Duration::from_secs(7_200)), frozen, "resuming moves nothing by itself");
    assert!(bench.call(json!({"yaw": 0})).success);
}

#[test]
fn a_movement_that_did_not_happen_is_a_failure_and_strains() {
    let bench = Bench::new();
    bench.sim().jam(Joint::Yaw, true);
    let moved = bench.call(json!({"yaw": 30}));
    assert_eq!(moved.error_kind, Some(ErrorKind::Failed));
    assert!(
        moved.error.as_ref().is_some_and(|why| why.contains("yaw is at 0 degrees instead of 30 degrees")),
        "{moved:?}"
    );
    let reports = bench.body.0.shared.take_reports(action());
    let strain = &reports[0].strains[0];
    assert_eq!(
        (strain.kind, strain.place.as_str()),
        (maxim_bus::signals::percept::PainKind::MovementError, "head.yaw")
    );
    assert_eq!(strain.action, Some(action()));
    let sensed = reports[0].sensed.as_ref().expect("it is what came of the movement");
    assert_eq!((sensed.before["yaw"], sensed.after["yaw"]), (0.0, 0.0));
}

#[test]
fn a_load_that_lasts_strains() {
    let bench = Bench::new();
    bench.sim().load(Joint::Pitch, 0.95);
    assert!(bench.call(json!({"pitch": 20, "duration": 3})).success);
    let reports = bench.body.0.shared.take_reports(action());
    let kinds: Vec<_> = reports[0].strains.iter().map(|strain| strain.kind).collect();
    assert_eq!(kinds, [maxim_bus::signals::percept::PainKind::SustainedStrain]);
}

#[test]
fn faults_refuse_and_a_loss_is_told_once() {
    let bench = Bench::new();
    bench.sim().break_down(Some(Fault::MotorsOff("disabled".into())));
    let moved = bench.call(json!({"yaw": 10}));
    assert_eq!(moved.error_kind, Some(ErrorKind::Unavailable));
    assert!(bench.lost.lock().is_empty(), "motors that are off are no loss");
    for _ in 0..2 {
        bench.sim().break_down(Some(Fault::Lost("unplugged".into())));
        assert!(!bench.call(json!({"yaw": 10})).success);
    }
    assert_eq!(*bench.lost.lock(), ["the body is lost: unplugged"]);
    bench.sim().break_down(None);
    assert!(bench.call(json!({"yaw": 10})).success);
}

#[test]
fn it_moves_back_and_back_again() {
    let bench = Bench::new();
    let before = bench.body.place().expect("known");
    bench.call(json!({"yaw": 30}));
    let back = bench.body.back_to(&before, None);
    assert!(back.success && bench.yaw().abs() < 2.0, "{back:?}");
    let again: maxim_tools::Reversal = serde_json::from_value(back.output["reversal"].clone()).expect("a reversal");
    let maxim_tools::Reversal::MoveBack { place } = again else { panic!("a motion") };
    bench.body.back_to(&place, None);
    assert!((bench.yaw() - 30.0).abs() < 3.0);
}

/// A driver whose feeder can hang or panic, before the simulated body.
struct Frail {
    sim: SimBody,
    hangs: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
}

impl Driver for Frail {
    fn limits(&self) -> Limits {
        self.sim.limits()
    }
    fn sense(&mut self, now: Duration) -> Result<Sensed, Fault> {
        self.sim.sense(now)
    }
    fn target(&mut self, pose: &Pose, now: Duration, permit: &Permit<'_>) -> Result<(), Fault> {
        self.sim.target(pose, now, permit)?;
        while self.hangs.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert!(!self.panics.load(Ordering::SeqCst), "a defect");
        Ok(())
    }
    fn freeze(&mut self, now: Duration) {
        self.sim.freeze(now);
    }
}

/// Longer than a busy machine keeps a thread from running.
const LEASE: Duration = Duration::from_millis(500);

/// A motor on its thread, and a helper that renews its lease until it is dropped.
struct Live {
    body: Body,
    sim: SimBody,
    latch: StopLatch,
    hangs: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
    renews: Arc<AtomicBool>,
    lost: Arc<Mutex<Vec<String>>>,
    _motor: MotorThread,
}

impl Live {
    fn new() -> Self {
        let body = Body::new(BodyPlan { driver: DriverPlan::Sim, lease: LEASE, ..BodyPlan::default() });
        let (sim, latch) = (body.sim().expect("one").clone(), StopLatch::in_memory());
        let [hangs, panics] = [false; 2].map(|is| Arc::new(AtomicBool::new(is)));
        let renews = Arc::new(AtomicBool::new(true));
        let driver = Frail { sim: sim.clone(), hangs: Arc::clone(&hangs), panics: Arc::clone(&panics) };
        let lost = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lost);
        let motor = body.start_with(Box::new(driver), &latch, move |why| told.lock().push(why.to_owned()));
        let (renewed, going) = (body.clone(), Arc::clone(&renews));
        std::thread::spawn(move || {
            while going.load(Ordering::SeqCst) {
                renewed.renew_lease();
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Self { body, sim, latch, hangs, panics, renews, lost, _motor: motor.expect("a thread") }
    }

    /// Begins a movement, and returns the waiting thread once the body has moved a little.
    fn begin(&self) -> std::thread::JoinHandle<ToolOutcome> {
        let body = self.body.clone();
        let moving = std::thread::spawn(move || body.carry_out(MOVE, &json!({"yaw": 60, "duration": 20}), None));
        until("it moves", || self.sim.accepted().0 > 5);
        moving
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.renews.store(false, Ordering::SeqCst);
        self.hangs.store(false, Ordering::SeqCst);
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::yield_now();
    }
}

/// A camera on the head: where in its picture a fixed thing is now.
fn seen_from(live: &Live, place: [f64; 2]) -> Observed {
    let pose = live.sim.pose();
    let share = |away: f64, width: f64| away.to_radians().tan() / (width / 2.0).to_radians().tan() / 2.0;
    let right = share(pose[Joint::Yaw].to_degrees() - place[0], live.body.plan().view[0]);
    let down = share(place[1] - pose[Joint::Pitch].to_degrees(), live.body.plan().view[1]);
    let frame = [0.45 + right, 0.45 + down, 0.55 + right, 0.55 + down];
    let cup = Detection { name: "cup".into(), confidence: Confidence::clamped(0.9), frame: Some(frame) };
    Observed { source: "camera".into(), objects: vec![cup], people: Vec::new(), sound: None, pose: None }
}

#[test]
fn a_target_is_kept_in_the_middle_while_it_moves_and_its_loss_or_a_stop_ends_that() {
    let live = Live::new();
    let clock: SharedClock = Arc::new(SystemClock);
    let (body, params) = (live.body.clone(), json!({"target": "cup", "seconds": 20}));
    live.body.0.sight.see(&seen_from(&live, [20.0, 5.0]), &clock);
    let tracking = std::thread::spawn(move || body.carry_out("track_target", &params, None));
    let is_at = |yaw: f64, pitch: f64| {
        let pose = live.sim.pose();
        (pose[Joint::Yaw].to_degrees() - yaw).abs() < 2.0 && (pose[Joint::Pitch].to_degrees() - pitch).abs() < 2.0
    };
    for place in [[20.0, 5.0], [-10.0, -5.0]] {
        until("it looks there", || {
            live.body.0.sight.see(&seen_from(&live, place), &clock);
            is_at(place[0], place[1])
        });
    }
    // No picture shows it any more.
    let ended = tracking.join().expect("it ends");
    assert!(ended.success && ended.output["lost"].is_string(), "{ended:?}");
    assert!(ended.output["movements"].as_u64().is_some_and(|moves| moves >= 2), "{ended:?}");

    let body = live.body.clone();
    live.body.0.sight.see(&seen_from(&live, [30.0, 0.0]), &clock);
    let tracking =
        std::thread::spawn(move || body.carry_out("track_target", &json!({"target": "cup", "seconds": 20}), None));
    until("it looks there", || {
        live.body.0.sight.see(&seen_from(&live, [30.0, 0.0]), &clock);
        is_at(30.0, 0.0)
    });
    live.latch.raise(detail());
    let ended = tracking.join().expect("it ends");
    assert_eq!(ended.error_kind, Some(ErrorKind::Stopped), "{ended:?}");
}

#[test]
fn a_stop_freezes_a_moving_body_at_once() {
    let live = Live::new();
    let moving = live.begin();
    live.latch.raise(detail());
    let ended = moving.join().expect("it ends");
    assert_eq!(ended.error_kind, Some(ErrorKind::Stopped), "{ended:?}");
    let (targets, _) = live.sim.accepted();
    until("it is told", || live.body.report()["froze_after_us"].is_u64());
    let froze = live.body.report()["froze_after_us"].as_u64().expect("told");
    // The bound is 20 ms; a machine busy with other tests may suspend the thread for longer.
    assert!(froze < 500_000, "{froze} us");
    let after = live.body.carry_out(MOVE, &json!({"yaw": 0}), None);
    assert_eq!((after.error_kind, live.sim.accepted().0), (Some(ErrorKind::Stopped), targets));
}

#[test]
fn a_brain_that_no_longer_renews_the_lease_is_not_moved_for() {
    let live = Live::new();
    let moving = live.begin();
    live.renews.store(false, Ordering::SeqCst);
    let ended = moving.join().expect("it ends");
    assert!(ended.error.as_ref().is_some_and(|why| why.contains("did not renew the body's lease")), "{ended:?}");
    let frozen = live.sim.pose_at(Duration::from_secs(3_600));
    assert!(frozen[Joint::Yaw] < 1.0, "{frozen:?}");
}

#[test]
fn a_body_whose_feeder_hangs_holds_still_by_itself_and_that_is_a_stop() {
    let live = Live::new();
    let moving = live.begin();
    live.hangs.store(true, Ordering::SeqCst);
    until("it hangs", || live.body.is_hung());
    // However much time passes for the body, the target only held for the lease.
    let (_, last) = live.sim.accepted();
    let held = live.sim.pose_at(last.expect("a target") + LEASE);
    assert_eq!(live.sim.pose_at(Duration::from_secs(3_600)), held);
    let ended = moving.join().expect("it ends");
    assert_eq!(ended.error_kind, Some(ErrorKind::Timeout), "{ended:?}");
    assert!(live.lost.lock()[0].contains("has not answered"), "{:?}", live.lost.lock());
    assert_eq!(live.body.report()["state"], "fault");
}

#[test]
fn a_driver_that_panics_is_frozen_and_that_is_a_stop() {
    let live = Live::new();
    let moving = live.begin();
    live.panics.store(true, Ordering::SeqCst);
    let ended = moving.join().expect("it ends");
    assert!(!ended.success, "{ended:?}");
    let frozen = live.sim.pose_at(Duration::from_secs(3_600));
    assert!(frozen[Joint::Yaw] < 1.0, "{frozen:?}");
    assert!(live.lost.lock().iter().any(|why| why.contains("panicked and was frozen")), "{:?}", live.lost.lock());
    live.panics.store(false, Ordering::SeqCst);
    assert!(live.body.carry_out(MOVE, &json!({"yaw": 0}), None).success, "the thread goes on");
}
