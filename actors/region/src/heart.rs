//! What is known of a room outside its thread: whether it is busy, its state, and its orders.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use jiff::Timestamp;
use maxim_bus::clock::monotonic_micros;
use maxim_bus::{Epoch, RegionName};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Region or effector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WardKind {
    Region,
    Effector,
}

/// The state of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WardState {
    Running,
    Restarting,
    /// Its restart budget is spent. It is tried again later, or when a person resumes.
    Held,
    Off,
}

impl WardState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Restarting => "restarting",
            Self::Held => "held",
            Self::Off => "off",
        }
    }
}

/// An order of chaos, supervision or a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Panic now, as if in a handler.
    Panic,
    /// Block the thread, as if in a handler.
    Hang(Duration),
    /// Stop the actor itself.
    Kill,
    /// Rebuild from the store, because a sibling failed (OTP's one-for-all and rest-for-one).
    Rebuild,
    /// End the state `held`.
    Release,
}

/// Panics, or blocks the thread for this time, when a signal of this name is handled, this many times more.
#[derive(Clone, Debug)]
struct Poison {
    signal: String,
    left: u32,
    blocks: Option<Duration>,
}

/// How long waking may take before the thread is given up.
const LOADING_DEADLINE: Duration = Duration::from_secs(60);

/// The present work of a room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// Identifies this handling, and no other of the room.
    pub stamp: u64,
    pub thread: u32,
    pub lasted: Duration,
    pub allowed: Duration,
}

/// The calling thread's number in the kernel; 0 on systems other than Linux.
pub(super) fn thread_number() -> u32 {
    thread_local! {
        static NUMBER: u32 = {
            let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
            link.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
        };
    }
    NUMBER.with(|number| *number)
}

/// Shared by a room's shell, the watchdog and `status`.
pub struct Heart {
    name: RegionName,
    kind: WardKind,
    deadline: Duration,
    /// Monotonic microseconds at which the running handler began; 0 when none runs.
    busy_since: AtomicU64,
    /// Time limit of the present work, in microseconds.
    allowed: AtomicU64,
    /// The kernel's number of its thread; 0 if unknown.
    thread: AtomicU32,
    epoch: AtomicU64,
    state: AtomicU8,
    /// Monotonic microseconds before which the room is not started again; 0 for at once.
    paused_until: AtomicU64,
    state_hash: AtomicU64,
    restarts: AtomicU64,
    /// How often it was rebuilt from its store.
    incarnations: AtomicU32,
    /// The last tick that led to something, and how many such ticks came before it at the same time. Without this, two
    /// ticks of a clock that stands still would draw the same ids, and so would a tick after a rebuild.
    ticked: Mutex<(Timestamp, u64)>,
    handled: AtomicU64,
    under_way: AtomicUsize,
    dead_letters: AtomicU64,
    /// Number of handler calls, by the bit length of their duration in microseconds.
    durations: [AtomicU64; 40],
    orders: Mutex<(VecDeque<Order>, Option<Waker>)>,
    poisons: Mutex<Vec<Poison>>,
    waits_for: Mutex<Option<RegionName>>,
}

impl Heart {
    pub fn new(name: RegionName, kind: WardKind, deadline: Duration) -> Self {
        Self {
            name,
            kind,
            deadline,
            busy_since: AtomicU64::new(0),
            allowed: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            epoch: AtomicU64::new(0),
            state: AtomicU8::new(WardState::Off as u8),
            paused_until: AtomicU64::new(0),
            state_hash: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            incarnations: AtomicU32::new(0),
            ticked: Mutex::new((Timestamp::MIN, 0)),
            handled: AtomicU64::new(0),
            under_way: AtomicUsize::new(0),
            dead_letters: AtomicU64::new(0),
            durations: std::array::from_fn(|_| AtomicU64::new(0)),
            orders: Mutex::new((VecDeque::new(), None)),
            poisons: Mutex::new(Vec::new()),
            waits_for: Mutex::new(None),
        }
    }

    /// The room whose backlog is too long for this room to read what it hears first.
    pub fn waits_for(&self) -> Option<RegionName> {
        *self.waits_for.lock()
    }

    /// True if it waited for no room before.
    pub(super) fn set_waits_for(&self, room: Option<RegionName>) -> bool {
        std::mem::replace(&mut *self.waits_for.lock(), room).is_none() && room.is_some()
    }

    pub fn name(&self) -> RegionName {
        self.name
    }

    pub fn kind(&self) -> WardKind {
        self.kind
    }

    pub fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::SeqCst))
    }

    pub(super) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::SeqCst);
    }

    pub fn state(&self) -> WardState {
        match self.state.load(Ordering::SeqCst) {
            0 => WardState::Running,
            1 => WardState::Restarting,
            2 => WardState::Held,
            _ => WardState::Off,
        }
    }

    pub(super) fn set_state(&self, state: WardState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// Hash of all that the room has kept, as of its newest commit; 0 for a room without state.
    pub fn state_hash(&self) -> u64 {
        self.state_hash.load(Ordering::SeqCst)
    }

    pub(super) fn set_state_hash(&self, hash: u64) {
        self.state_hash.store(hash, Ordering::SeqCst);
    }

    /// The room is not started again before `pause` has passed. The pause outlives incarnations: a held room stays held
    /// even if its thread is given up because of a neighbour.
    pub(super) fn pause_for(&self, pause: Duration) {
        let pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        let until = if pause == 0 { 0 } else { monotonic_micros().saturating_add(pause) };
        self.paused_until.store(until, Ordering::SeqCst);
    }

    pub(super) fn end_pause(&self) {
        self.paused_until.store(0, Ordering::SeqCst);
    }

    /// `None` when the room may start.
    pub(super) fn pause_left(&self) -> Option<Duration> {
        let left = self.paused_until.load(Ordering::SeqCst).saturating_sub(monotonic_micros());
        (left > 0).then(|| Duration::from_micros(left))
    }

    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::SeqCst)
    }

    pub(super) fn count_restart(&self) {
        self.restarts.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of the incarnation that begins now, counted from 1.
    pub(super) fn begin_incarnation(&self) -> u32 {
        self.incarnations.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// How many ticks at this time led to something.
    pub(super) fn ticks_at(&self, now: Timestamp) -> u64 {
        let (last, before) = *self.ticked.lock();
        if last == now { before + 1 } else { 0 }
    }

    pub(super) fn count_tick(&self, now: Timestamp) {
        let ticks = self.ticks_at(now);
        *self.ticked.lock() = (now, ticks);
    }

    pub fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// Operations of an effector that have begun and not ended.
    pub fn under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    pub(super) fn set_under_way(&self, operations: usize) {
        self.under_way.store(operations, Ordering::SeqCst);
    }

    pub fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    pub(super) fn count_dead_letter(&self) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
    }

    /// A handler begins. Its stamp ends it, so that a former incarnation that wakes late doesn't end the handler of a
    /// later one.
    pub(super) fn begin(&self) -> u64 {
        self.begin_within(self.deadline)
    }

    /// Loading reads what the room remembers, which may take long.
    pub(super) fn begin_loading(&self) -> u64 {
        self.begin_within(LOADING_DEADLINE)
    }

    /// The running handler writes or sheds the whole state, which may take long.
    pub(super) fn writes_state(&self) {
        self.allowed.store(u64::try_from(LOADING_DEADLINE.as_micros()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    fn begin_within(&self, limit: Duration) -> u64 {
        let stamp = monotonic_micros().max(1);
        self.allowed.store(u64::try_from(limit.as_micros()).unwrap_or(u64::MAX), Ordering::SeqCst);
        self.thread.store(thread_number(), Ordering::SeqCst);
        self.busy_since.store(stamp, Ordering::SeqCst);
        stamp
    }

    /// None while no handler runs.
    pub(super) fn busy(&self) -> Option<Busy> {
        let stamp = self.busy_since.load(Ordering::SeqCst);
        (stamp != 0).then(|| Busy {
            stamp,
            thread: self.thread.load(Ordering::SeqCst),
            lasted: Duration::from_micros(monotonic_micros().saturating_sub(stamp)),
            allowed: Duration::from_micros(self.allowed.load(Ordering::SeqCst)),
        })
    }

    /// The handler that began at `stamp` has ended.
    pub(super) fn end(&self, stamp: u64) {
        if self.rest(stamp) {
            let took = monotonic_micros().saturating_sub(stamp);
            let bucket = (u64::BITS - took.leading_zeros()) as usize;
            self.durations[bucket.min(self.durations.len() - 1)].fetch_add(1, Ordering::Relaxed);
            self.handled.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The work with this stamp found nothing to do. False when a newer incarnation is at work.
    pub(super) fn rest(&self, stamp: u64) -> bool {
        self.busy_since.compare_exchange(stamp, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// True while a handler runs.
    pub fn is_busy(&self) -> bool {
        self.busy_since.load(Ordering::SeqCst) != 0
    }

    /// How far the running handler is beyond its deadline.
    pub fn overdue(&self) -> Option<Duration> {
        self.busy().and_then(|busy| busy.lasted.checked_sub(busy.allowed))
    }

    /// Clears the busy mark of the former incarnation.
    pub(super) fn calm(&self) {
        self.busy_since.store(0, Ordering::SeqCst);
    }

    /// Upper bound in microseconds for 99 % of the handlers (a power of two).
    pub fn p99_us(&self) -> u64 {
        let counts: Vec<u64> = self.durations.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        let mut seen = 0;
        for (bits, count) in counts.iter().enumerate() {
            seen += count;
            if total > 0 && seen * 100 >= total * 99 {
                return 1u64 << bits;
            }
        }
        0
    }

    pub fn order(&self, order: Order) {
        let mut orders = self.orders.lock();
        orders.0.push_back(order);
        let waker = orders.1.take();
        drop(orders);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn next_order(&self) -> Option<Order> {
        self.orders.lock().0.pop_front()
    }

    /// False when an order is already waiting.
    pub(super) fn park(&self, waker: &Waker) -> bool {
        let mut orders = self.orders.lock();
        if !orders.0.is_empty() {
            return false;
        }
        orders.1 = Some(waker.clone());
        true
    }

    /// For chaos tests: the next `times` calls of the handler of `signal` panic. `(state load)` means loading the
    /// state.
    pub fn poison(&self, signal: &str, times: u32) {
        self.poisons.lock().push(Poison { signal: signal.into(), left: times, blocks: None });
    }

    /// For chaos tests: the next handling of `signal` blocks its thread for this long, and then goes on.
    pub fn stall(&self, signal: &str, how_long: Duration) {
        self.poisons.lock().push(Poison { signal: signal.into(), left: 1, blocks: Some(how_long) });
    }

    /// Poisoned calls that have not happened yet.
    pub fn poison_left(&self) -> u32 {
        self.poisons.lock().iter().map(|poison| poison.left).sum()
    }

    #[allow(clippy::panic)] // only for chaos tests
    pub(super) fn trip(&self, signal: &str) {
        let mut poisons = self.poisons.lock();
        let Some(poison) = poisons.iter_mut().find(|poison| poison.signal == signal && poison.left > 0) else {
            return;
        };
        poison.left -= 1;
        let blocks = poison.blocks;
        drop(poisons);
        if let Some(how_long) = blocks {
            return std::thread::sleep(how_long);
        }
        panic!("chaos: {} was told to panic on {signal}", self.name);
    }
}

/// The name that makes loading panic with [`Heart::poison`].
pub const LOADING: &str = "(state load)";
