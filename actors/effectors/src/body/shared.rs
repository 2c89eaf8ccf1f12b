//! State shared by the motor, the brain and observers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::clock::monotonic_micros;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::{MessageId, SharedClock};
use parking_lot::Mutex;

use super::driver::Fault;
use super::joint::Pose;
use super::lease::Lease;
use super::motor::since_us;
use super::order::{MoveFailure, Moved, Order};
use super::path::Path;
use super::strain::Strain;

/// Marks a moving body.
const MOVES: u64 = u64::MAX;
/// The body counts as moving for this long after a movement: people shout after they saw it, and recognisers need
/// time.
const SHOUTED_AFTER: Duration = Duration::from_secs(3);
/// Maximum number of unfetched reports of movements; the oldest are dropped.
const REPORTS: usize = 64;

/// Microseconds on the agent's clock.
fn micros_of(at: Timestamp) -> u64 {
    u64::try_from(at.as_microsecond()).unwrap_or(1)
}

/// An order, and the channel for its result.
pub(super) type Queued = (Order, SyncSender<Result<Moved, MoveFailure>>);

/// The state of the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub fault: Option<Fault>,
    pub pose: Option<Pose>,
    pub is_moving: bool,
    pub movements: u64,
    pub faults: u64,
    /// Time from raising a stop to telling the body to stand still, in microseconds; for the last stop during a
    /// movement.
    pub froze_after_us: Option<u64>,
}

/// The result of a movement, for the brain.
#[derive(Clone, Debug)]
pub struct MotionReport {
    pub action: Option<MessageId>,
    pub sensed: Option<MovementSensed>,
    pub strains: Vec<BodyStrained>,
}

type Tell = Box<dyn Fn(&str) + Send + Sync>;

pub(super) struct Shared {
    pub lease: Lease,
    pub orders: Mutex<VecDeque<Queued>>,
    pub ended: AtomicBool,
    stop_seen: AtomicBool,
    stops: AtomicU64,
    raised_at: AtomicU64,
    beat_at: AtomicU64,
    /// When the body came to rest, in microseconds of its time: 0 before it ever moved, [`MOVES`] while it moves.
    rested_at: AtomicU64,
    /// The agent's clock, if movements run ahead of it.
    clock: OnceLock<SharedClock>,
    thread: OnceLock<Thread>,
    standing: Mutex<Standing>,
    reports: Mutex<VecDeque<MotionReport>>,
    /// Actions whose end the brain knows, the newest last.
    over: Mutex<VecDeque<MessageId>>,
    on_loss: Mutex<Option<Tell>>,
}

impl Shared {
    pub fn new(lease: Lease) -> Self {
        Self {
            lease,
            orders: Mutex::default(),
            ended: AtomicBool::new(false),
            stop_seen: AtomicBool::new(false),
            stops: AtomicU64::new(0),
            raised_at: AtomicU64::new(0),
            beat_at: AtomicU64::new(0),
            rested_at: AtomicU64::new(0),
            clock: OnceLock::new(),
            thread: OnceLock::new(),
            standing: Mutex::default(),
            reports: Mutex::default(),
            over: Mutex::default(),
            on_loss: Mutex::new(None),
        }
    }

    pub fn set_on_loss(&self, tell: Tell) {
        *self.on_loss.lock() = Some(tell);
    }

    pub fn set_thread(&self, thread: Thread) {
        let _ = self.thread.set(thread);
    }

    pub fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Runs on the raising thread: must not wait.
    pub fn raised(&self) {
        self.raised_at.store(monotonic_micros().max(1), Ordering::SeqCst);
        self.stop_seen.store(true, Ordering::SeqCst);
        self.stops.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Stops raised since the motor started.
    pub fn stops(&self) -> u64 {
        self.stops.load(Ordering::SeqCst)
    }

    /// True once for each stop.
    pub fn take_stop(&self) -> bool {
        self.stop_seen.swap(false, Ordering::SeqCst)
    }

    /// A sign of life of the motor.
    pub fn beat(&self) {
        self.beat_at.store(monotonic_micros().max(1), Ordering::SeqCst);
    }

    /// Microseconds since the motor's last sign of life; none before it began.
    pub fn silent_us(&self) -> Option<u64> {
        match self.beat_at.load(Ordering::SeqCst) {
            0 => None,
            at => Some(since_us(at)),
        }
    }

    pub fn seen(&self, pose: Pose) {
        let mut standing = self.standing.lock();
        (standing.pose, standing.fault) = (Some(pose), None);
    }

    /// True when the body wasn't already in this fault.
    pub fn faulty(&self, fault: &Fault) -> bool {
        let mut standing = self.standing.lock();
        let is_new =
            standing.fault.as_ref().is_none_or(|known| std::mem::discriminant(known) != std::mem::discriminant(fault));
        standing.faults += u64::from(is_new);
        standing.fault = Some(fault.clone());
        is_new
    }

    /// Movements run ahead of this clock.
    pub fn set_clock(&self, clock: &SharedClock) {
        let _ = self.clock.set(Arc::clone(clock));
    }

    /// Whether the body moves, or did just now. Never blocks, because a stop calls it.
    pub fn moves(&self) -> bool {
        let now = match self.clock.get() {
            Some(clock) => micros_of(clock.now()),
            None => monotonic_micros(),
        };
        match self.rested_at.load(Ordering::SeqCst) {
            0 => false,
            MOVES => true,
            rested => now < rested.saturating_add(SHOUTED_AFTER.as_micros() as u64),
        }
    }

    /// A movement begins.
    pub fn begins(&self) {
        self.rested_at.store(MOVES, Ordering::SeqCst);
        self.moving(true);
    }

    /// A movement has ended; `at` is the time of the agent's clock if it ran ahead of it.
    pub fn rests(&self, at: Option<Timestamp>) {
        let at = at.map_or_else(monotonic_micros, micros_of);
        self.rested_at.store(at.clamp(1, MOVES - 1), Ordering::SeqCst);
        self.moving(false);
    }

    fn moving(&self, is_moving: bool) {
        let mut standing = self.standing.lock();
        standing.movements += u64::from(is_moving);
        if is_moving {
            standing.froze_after_us = None;
        }
        standing.is_moving = is_moving;
    }

    pub fn frozen(&self) {
        let raised = self.raised_at.swap(0, Ordering::SeqCst);
        if raised != 0 {
            self.standing.lock().froze_after_us = Some(since_us(raised));
        }
    }

    pub fn standing(&self) -> Standing {
        self.standing.lock().clone()
    }

    pub fn lost(&self, why: &str) {
        if let Some(tell) = &*self.on_loss.lock() {
            tell(why);
        }
    }

    /// Stores a movement's result until the brain fetches it.
    pub fn report(&self, order: &Order, path: &Path, after: Option<Pose>, travelled: f64, strains: Vec<Strain>) {
        let action = order.action;
        let sensed = after.zip(path.part()).map(|(after, part)| MovementSensed {
            action,
            body_part: part.into(),
            movement: order.movement.clone(),
            params: order.params.clone(),
            before: path.from.sensors(),
            after: after.sensors(),
            travelled: Some(travelled),
        });
        let strains: Vec<BodyStrained> = strains
            .into_iter()
            .map(|strain| BodyStrained {
                intensity: None,
                action,
                kind: strain.kind,
                place: format!("{}.{}", strain.joint.part(), strain.joint.name()),
                reason: strain.reason,
            })
            .collect();
        let mut reports = self.reports.lock();
        if reports.len() >= REPORTS {
            reports.pop_front();
        }
        reports.push_back(MotionReport { action, sensed, strains });
    }

    /// The results of an action's movements. Movements without an action come with any action's.
    pub fn take_reports(&self, action: MessageId) -> Vec<MotionReport> {
        let mut reports = self.reports.lock();
        let (taken, left) =
            reports.drain(..).partition(|report: &MotionReport| report.action.is_none_or(|own| own == action));
        *reports = left;
        drop(reports);
        Vec::from_iter::<VecDeque<_>>(taken)
    }

    /// The brain knows that this action has ended.
    pub fn end(&self, action: MessageId) {
        let mut over = self.over.lock();
        if over.len() >= REPORTS {
            over.pop_front();
        }
        over.push_back(action);
    }

    pub fn has_ended(&self, action: MessageId) -> bool {
        self.over.lock().contains(&action)
    }
}
