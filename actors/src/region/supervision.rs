//! Restart budgets, OTP strategies, arbiters, and what happens when a budget is spent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use maxim_bus::clock::monotonic_micros;
use maxim_bus::latch::StopLatch;
use maxim_bus::{RegionName, Stage};
use parking_lot::Mutex;

use super::{Heart, Order, WardState};

/// Numbers of supervision, as in Erlang/OTP's supervisor flags.
#[derive(Clone, Debug)]
pub struct SupervisionSettings {
    /// Restarts of one room within `window` before it escalates. Default 5.
    pub restarts: usize,
    /// Default 10 s.
    pub window: Duration,
    /// Delay of the second restart within the window; doubles with each further one. Default 20 ms.
    pub back_off: Duration,
    /// A room whose budget is spent is tried again after this. Default 30 s.
    pub hold: Duration,
    /// Incarnations that hang at once before the process gives up and lets its init system start it anew. Default 8.
    pub zombies: usize,
}

impl Default for SupervisionSettings {
    fn default() -> Self {
        Self {
            restarts: 5,
            window: Duration::from_secs(10),
            back_off: Duration::from_millis(20),
            hold: Duration::from_secs(30),
            zombies: 8,
        }
    }
}

/// Which siblings are rebuilt when a room escalates (Erlang/OTP supervisor strategies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    OneForOne,
    /// Those that hear what it decides: the rooms after it in the anatomy.
    RestForOne,
    OneForAll,
}

/// The strategy of a stage. Rooms of memory and learning stand for themselves; a gate rebuilt in part would judge by
/// half a state, so it is rebuilt whole.
pub fn strategy(stage: Stage) -> Strategy {
    match stage {
        Stage::Gate => Strategy::OneForAll,
        Stage::Action | Stage::Deliberation => Strategy::RestForOne,
        _ => Strategy::OneForOne,
    }
}

/// What becomes of a room that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    After(Duration),
    /// Its budget is spent: tried again after `retry`, or when a person resumes.
    Hold {
        retry: Duration,
    },
}

/// Where a room's thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A thread of its own: it may be slow, or safety hangs on it.
    Own,
    /// One of the shared threads.
    Pool,
}

/// Something supervised.
pub trait Ward: Send + Sync {
    fn heart(&self) -> &Arc<Heart>;
    fn stage(&self) -> Stage;
    /// Starts a new incarnation there; the former one is fenced off.
    fn start_on(&self, arbiter: &ArbiterHandle);
}

/// A notice for a person: something in the brain is not as it should be.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// The supervisor of an agent's rooms. Plain data behind locks, so that the watchdog can use it from its own thread.
pub struct Supervision {
    settings: SupervisionSettings,
    latch: StopLatch,
    failures: Mutex<BTreeMap<RegionName, VecDeque<u64>>>,
    escalations: AtomicU64,
    wards: Mutex<Vec<Seated>>,
    arbiters: Mutex<Vec<Arbiter>>,
    zombies: Arc<AtomicUsize>,
    /// The agent ends: no thread is replaced any more.
    ending: AtomicBool,
    notice: Mutex<Option<Notice>>,
    jitter: AtomicU64,
}

struct Seated {
    ward: Arc<dyn Ward>,
    /// Index into `arbiters`.
    place: usize,
}

impl Supervision {
    pub fn new(settings: SupervisionSettings, latch: StopLatch) -> Arc<Self> {
        Arc::new(Self {
            settings,
            latch,
            failures: Mutex::new(BTreeMap::new()),
            escalations: AtomicU64::new(0),
            wards: Mutex::new(Vec::new()),
            arbiters: Mutex::new(Vec::new()),
            zombies: Arc::new(AtomicUsize::new(0)),
            ending: AtomicBool::new(false),
            notice: Mutex::new(None),
            jitter: AtomicU64::new(0x9e37_79b9),
        })
    }

    /// Where notices for a person go.
    pub fn on_notice(&self, notice: impl Fn(&str) + Send + Sync + 'static) {
        *self.notice.lock() = Some(Box::new(notice));
    }

    /// Starts the rooms: those of [`Placement::Own`] on arbiters of their own, the rest on `pool` shared ones.
    /// Must be called where an actix `System` is current.
    pub fn start(&self, wards: Vec<(Arc<dyn Ward>, Placement)>, pool: usize) {
        let pool = pool.max(1);
        let mut arbiters = self.arbiters.lock();
        let first = arbiters.len();
        arbiters.extend((0..pool).map(|_| Arbiter::new()));
        let mut seated = self.wards.lock();
        for (index, (ward, placement)) in wards.into_iter().enumerate() {
            let place = match placement {
                Placement::Pool => first + index % pool,
                Placement::Own => {
                    arbiters.push(Arbiter::new());
                    arbiters.len() - 1
                }
            };
            ward.start_on(&arbiters[place].handle());
            seated.push(Seated { ward, place });
        }
    }

    pub fn hearts(&self) -> Vec<Arc<Heart>> {
        self.wards.lock().iter().map(|seated| Arc::clone(seated.ward.heart())).collect()
    }

    pub fn heart(&self, name: &str) -> Option<Arc<Heart>> {
        self.wards.lock().iter().map(|seated| seated.ward.heart()).find(|heart| heart.name() == name).cloned()
    }

    /// All rooms have loaded their state.
    pub fn is_up(&self) -> bool {
        self.hearts().iter().all(|heart| heart.state() == WardState::Running)
    }

    pub fn escalations(&self) -> u64 {
        self.escalations.load(Ordering::SeqCst)
    }

    /// A room failed, by a panic, an order or a hang: what becomes of it. A spent budget escalates to a safe state.
    pub fn failed(&self, heart: &Heart, stage: Stage, why: &str) -> Restart {
        let verdict = self.judge(heart, why);
        match verdict {
            Restart::After(delay) => {
                heart.pause_for(delay);
                heart.set_state(WardState::Restarting);
            }
            Restart::Hold { retry } => {
                heart.pause_for(retry);
                // Nobody may see a room that is held while the body still moves.
                self.latch.hold_motion();
                heart.set_state(WardState::Held);
                self.escalate(heart, stage, why);
            }
        }
        // Counted last: whoever sees the count sees what came of the failure.
        heart.count_restart();
        verdict
    }

    fn judge(&self, heart: &Heart, why: &str) -> Restart {
        tracing::warn!(region = heart.name(), why, "a room failed and is rebuilt from its store");
        let now = monotonic_micros();
        let window = u64::try_from(self.settings.window.as_micros()).unwrap_or(u64::MAX);
        let mut failures = self.failures.lock();
        let recent = failures.entry(heart.name()).or_default();
        recent.retain(|at| now.saturating_sub(*at) < window);
        recent.push_back(now);
        let count = recent.len();
        if count > self.settings.restarts {
            recent.clear();
            return Restart::Hold { retry: self.settings.hold };
        }
        if count == 1 {
            return Restart::After(Duration::ZERO);
        }
        let doubled = self.settings.back_off.saturating_mul(1 << (count - 2).min(16));
        Restart::After(doubled + self.jitter(doubled))
    }

    /// Up to a quarter of `delay`, so that rooms that failed together don't come back together.
    fn jitter(&self, delay: Duration) -> Duration {
        let word = self.jitter.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        delay.mul_f64((word >> 40) as f64 / (1u64 << 24) as f64 / 4.0)
    }

    fn escalate(&self, heart: &Heart, stage: Stage, why: &str) {
        self.escalations.fetch_add(1, Ordering::SeqCst);
        let said = format!(
            "{} failed more than {} times in {} s ({why}); motion is held. It is tried again in {} s, or at once with `maxim resume`",
            heart.name(),
            self.settings.restarts,
            self.settings.window.as_secs(),
            self.settings.hold.as_secs(),
        );
        tracing::error!(region = heart.name(), "{said}");
        if let Some(notice) = &*self.notice.lock() {
            notice(&said);
        }
        let rebuild: Vec<Arc<Heart>> = {
            let wards = self.wards.lock();
            let siblings: Vec<&Seated> = wards.iter().filter(|seated| seated.ward.stage() == stage).collect();
            let at = siblings.iter().position(|seated| seated.ward.heart().name() == heart.name());
            let rest = match (strategy(stage), at) {
                (Strategy::OneForAll, _) => &siblings[..],
                (Strategy::RestForOne, Some(at)) => &siblings[at + 1..],
                _ => &[],
            };
            let others = rest.iter().map(|seated| seated.ward.heart());
            others.filter(|other| other.name() != heart.name()).cloned().collect()
        };
        for sibling in rebuild {
            sibling.order(Order::Rebuild);
        }
    }

    /// A person resumed: held rooms come back at once.
    pub fn release_held(&self) {
        for heart in self.hearts() {
            if heart.state() == WardState::Held {
                heart.order(Order::Release);
            }
        }
    }

    /// Rooms that have blocked their thread beyond their deadline, by the place they block.
    pub(super) fn blocked(&self) -> Vec<(usize, Arc<dyn Ward>)> {
        let wards = self.wards.lock();
        let overdue = wards.iter().filter(|seated| seated.ward.heart().overdue().is_some());
        overdue.map(|seated| (seated.place, Arc::clone(&seated.ward))).collect()
    }

    /// Gives the blocked thread up and starts all its rooms on a new one. Must be called where a `System` is current.
    pub(super) fn rehome(&self, place: usize, culprit: &dyn Ward) {
        if self.ending.load(Ordering::SeqCst) {
            return;
        }
        self.failed(culprit.heart(), culprit.stage(), "it blocked its thread beyond its deadline");
        let zombies = self.zombies.fetch_add(1, Ordering::SeqCst) + 1;
        tracing::error!(
            region = culprit.heart().name(),
            zombies,
            "a room blocks its thread beyond its deadline; its thread is given up"
        );
        if zombies >= self.settings.zombies {
            tracing::error!("{zombies} threads hang at once; the process ends, its state is on disk");
            std::process::exit(70);
        }
        let fresh = Arbiter::new();
        let wards: Vec<Arc<dyn Ward>> = {
            let seated = self.wards.lock();
            seated.iter().filter(|seated| seated.place == place).map(|seated| Arc::clone(&seated.ward)).collect()
        };
        for ward in wards {
            ward.start_on(&fresh.handle());
        }
        let given_up = std::mem::replace(&mut self.arbiters.lock()[place], fresh);
        // Runs when the thread wakes, whatever it hung in: its actors have a foreign epoch by now and go with it.
        let count = Arc::clone(&self.zombies);
        given_up.spawn_fn(move || {
            count.fetch_sub(1, Ordering::SeqCst);
            Arbiter::current().stop();
        });
    }

    pub fn zombies(&self) -> usize {
        self.zombies.load(Ordering::SeqCst)
    }

    /// Ends all rooms' threads.
    pub fn stop(&self) {
        self.ending.store(true, Ordering::SeqCst);
        for arbiter in self.arbiters.lock().iter() {
            arbiter.stop();
        }
    }
}
