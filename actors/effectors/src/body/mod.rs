//! The body: one motor thread, one driver, and the brain's knowledge of it.
//!
//! Biology: the spinal cord: it carries out commands step by step, and stops by itself when no more come.
//!
//! A tool of the robot group orders a movement. The motor (`motor`) streams it along a path (`path`), and
//! [`BodyKeeper`] attends it and renews the lease. If the brain hangs, the lease runs out and the body stands still.
//! Loss of the body is a stop.

mod driver;
mod gaze;
mod joint;
mod keeper;
mod keys;
mod lease;
mod limbs;
mod motor;
mod order;
mod path;
mod reachy;
mod shared;
mod sight;
mod sim;
mod strain;
#[cfg(test)]
mod tests;
mod way;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use maxim_bus::SharedClock;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::StopLatch;
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

pub use driver::{Driver, Fault, Sensed};
pub use joint::{Clamped, Joint, Limits, Pose};
pub use keeper::BodyKeeper;
pub use keys::{BodyKeys, DriverKind};
pub use order::{Aim, Goal, MoveFailure, Moved, Order};
pub use path::Path;
pub use shared::MotionReport;
pub use sim::SimBody;
pub use strain::{Strain, StrainWatch};

use lease::Lease;
use motor::{Motor, Pace, TICK};
use reachy::ReachyMini;
use shared::Shared;
use sight::Sight;

/// How often an idle motor reads its body.
const IDLE: Duration = Duration::from_millis(100);
/// A motor without a sign of life for this long counts as hung.
const HUNG: Duration = Duration::from_secs(2);

/// What moves the limbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverPlan {
    None,
    Sim,
    /// The maker's daemon, at this address.
    ReachyMini {
        url: String,
    },
}

impl DriverPlan {
    /// Its word in the configuration.
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sim => "sim",
            Self::ReachyMini { .. } => "reachy-mini",
        }
    }
}

/// The settings of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPlan {
    pub driver: DriverPlan,
    /// How long the body goes on without a renewal by the brain.
    pub lease: Duration,
    /// Share of the body's own speeds that is used, above 0 to 1.
    pub speed: f64,
    /// Width and height of the camera's picture, in degrees.
    pub view: [f64; 2],
}

/// Where orders are carried out.
enum Hand {
    /// Nowhere: no agent runs here.
    Off,
    /// In the caller, in virtual time.
    Inline(Box<Motor>),
    /// A thread of its own.
    Live,
}

/// A body as the brain has it. Clones are the same body; it does nothing until it is started.
#[derive(Clone)]
pub struct Body(Arc<Inner>);

struct Inner {
    plan: BodyPlan,
    sim: Option<SimBody>,
    shared: Arc<Shared>,
    sight: Sight,
    hand: Mutex<Hand>,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Body").field(&self.0.plan).finish()
    }
}

/// Ends the motor when it is dropped; then the body stands still.
pub struct MotorThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for MotorThread {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Body {
    pub fn new(plan: BodyPlan) -> Self {
        let sim = matches!(plan.driver, DriverPlan::Sim).then(|| SimBody::new(Limits::reachy_mini(), plan.lease));
        let shared = Arc::new(Shared::new(Lease::new(plan.lease)));
        Self(Arc::new(Inner { plan, sim, shared, sight: Sight::default(), hand: Mutex::new(Hand::Off) }))
    }

    pub fn plan(&self) -> &BodyPlan {
        &self.0.plan
    }

    /// The simulated body, for tests and simulations.
    pub fn sim(&self) -> Option<&SimBody> {
        self.0.sim.as_ref()
    }

    fn driver(&self, latch: &StopLatch) -> Option<Box<dyn Driver>> {
        match (&self.0.plan.driver, &self.0.sim) {
            (DriverPlan::ReachyMini { url }, _) => Some(Box::new(ReachyMini::new(url.clone(), latch.clone()))),
            (_, Some(sim)) => Some(Box::new(sim.clone())),
            _ => None,
        }
    }

    fn motor(&self, driver: Box<dyn Driver>, latch: &StopLatch, pace: Pace) -> Motor {
        Motor::new(driver, Arc::clone(&self.0.shared), latch.clone(), pace, self.0.plan.speed)
    }

    /// Lets the caller carry out movements itself, ahead of the agent's clock. For stepped agents.
    pub fn attach(&self, latch: &StopLatch, clock: &SharedClock, on_loss: impl Fn(&str) + Send + Sync + 'static) {
        let Some(driver) = self.driver(latch) else { return };
        self.0.shared.set_on_loss(Box::new(on_loss));
        self.0.shared.set_clock(clock);
        let pace = Pace::Virtual { clock: Arc::clone(clock), since: clock.now(), ahead: Duration::ZERO };
        *self.0.hand.lock() = Hand::Inline(Box::new(self.motor(driver, latch, pace)));
    }

    /// Starts the motor; `None` without a body. `on_loss` must raise the stop, with the reason.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        &self,
        latch: &StopLatch,
        on_loss: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Option<MotorThread>> {
        match self.driver(latch) {
            Some(driver) => self.start_with(driver, latch, on_loss).map(Some),
            None => Ok(None),
        }
    }

    fn start_with(
        &self,
        driver: Box<dyn Driver>,
        latch: &StopLatch,
        on_loss: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<MotorThread> {
        let shared = Arc::clone(&self.0.shared);
        shared.set_on_loss(Box::new(on_loss));
        let motor = self.motor(driver, latch, Pace::Live(Stopwatch::start()));
        let thread = std::thread::Builder::new().name("motor".into()).spawn(move || run(motor))?;
        shared.set_thread(thread.thread().clone());
        let told = Arc::downgrade(&shared);
        latch.on_stop(move |_| {
            if let Some(shared) = told.upgrade() {
                shared.raised();
            }
        });
        *self.0.hand.lock() = Hand::Live;
        Ok(MotorThread { shared, thread: Some(thread) })
    }

    /// Carries out a movement after those that were ordered before it, and waits for its end.
    pub fn perform(&self, order: Order) -> Result<Moved, MoveFailure> {
        match &mut *self.0.hand.lock() {
            Hand::Off => return Err(MoveFailure::Off(self.off())),
            Hand::Inline(motor) => return motor.perform(&order),
            Hand::Live => {}
        }
        let (tell, told) = sync_channel(1);
        self.0.shared.orders.lock().push_back((order, tell));
        self.0.shared.wake();
        loop {
            match told.recv_timeout(IDLE) {
                Ok(ended) => return ended,
                Err(RecvTimeoutError::Disconnected) => return Err(MoveFailure::Off("the motor has ended".into())),
                Err(RecvTimeoutError::Timeout) if self.is_hung() => {
                    let failure = MoveFailure::Hung(HUNG);
                    self.0.shared.lost(&failure.to_string());
                    return Err(failure);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn off(&self) -> String {
        match self.0.plan.driver {
            DriverPlan::None => NO_BODY.into(),
            _ => "this process doesn't move the body; only a running agent does".into(),
        }
    }

    fn is_hung(&self) -> bool {
        self.0.shared.silent_us().is_some_and(|silent| u128::from(silent) > HUNG.as_micros())
    }

    /// The last reported pose.
    pub fn pose(&self) -> Option<Pose> {
        if let Hand::Inline(motor) = &mut *self.0.hand.lock() {
            let _ = motor.look();
        }
        self.0.shared.standing().pose
    }

    /// Whether it moves, or did a moment ago. Movements that don't come from its driver aren't known.
    pub fn moves(&self) -> bool {
        self.0.shared.moves()
    }

    /// The brain still wants what it ordered.
    pub fn renew_lease(&self) {
        self.0.shared.lease.renew();
    }

    /// Its fault; `None` when it can move, or if there is no body.
    pub fn fault(&self) -> Option<String> {
        match &*self.0.hand.lock() {
            Hand::Live if self.is_hung() => return Some("the motor's thread hangs".into()),
            Hand::Live => {}
            _ => return None,
        }
        self.0.shared.standing().fault.map(|fault| fault.to_string())
    }

    /// For `GET /v1/status`.
    pub fn report(&self) -> Json {
        let driver = self.0.plan.driver.word();
        if self.0.plan.driver == DriverPlan::None {
            return json!({"driver": driver, "state": "off", "reason": NO_BODY});
        }
        let (standing, fault) = (self.0.shared.standing(), self.fault());
        let is_up = matches!(&*self.0.hand.lock(), Hand::Live | Hand::Inline(_)) && standing.pose.is_some();
        let state = match (&fault, is_up, standing.is_moving) {
            (Some(_), _, _) => "fault",
            (None, false, _) => "off",
            (None, true, true) => "moving",
            (None, true, false) => "ready",
        };
        json!({
            "driver": driver,
            "state": state,
            "fault": fault,
            "pose": standing.pose.map(|pose| pose.shown()),
            "movements": standing.movements,
            "faults": standing.faults,
            "froze_after_us": standing.froze_after_us,
            "lease_ms": u64::try_from(self.0.plan.lease.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Why robot tools can't do anything without a body.
pub const NO_BODY: &str = "there is no body here; set body.driver to sim or reachy-mini";

/// The motor's thread: carries out orders one after another, and reads the body in between.
fn run(mut motor: Motor) {
    let shared = Arc::clone(&motor.shared);
    while !shared.ended.load(Ordering::SeqCst) {
        shared.beat();
        if shared.take_stop() {
            fenced(&mut motor, Motor::freeze);
        }
        let next = shared.orders.lock().pop_front();
        match next {
            Some((order, tell)) => {
                let ended = fenced(&mut motor, |motor| motor.perform(&order));
                let broken = || MoveFailure::Fault(Fault::Broken("it panicked; see the log".into()));
                let _ = tell.send(ended.unwrap_or_else(|| Err(broken())));
            }
            None => {
                fenced(&mut motor, |motor| drop(motor.look()));
                // A body that isn't up yet is checked more often.
                std::thread::park_timeout(if motor.was_up() { IDLE } else { TICK });
            }
        }
    }
    let now = motor.pace.now();
    motor.driver.release(now);
}

/// A panic of a driver ends the movement, not the thread; the body is frozen.
fn fenced<T>(motor: &mut Motor, work: impl FnOnce(&mut Motor) -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(|| work(motor)));
    if done.is_err() {
        let frozen = catch_unwind(AssertUnwindSafe(|| motor.freeze()));
        let why = if frozen.is_ok() { "it panicked and was frozen" } else { "it panicked and can't be frozen" };
        motor.broke(why.into());
    }
    done.ok()
}
