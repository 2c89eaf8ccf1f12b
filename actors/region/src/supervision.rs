//! Restart budgets, OTP strategies, arbiters, and what happens when a budget is used up.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use maxim_bus::clock::monotonic_micros;
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::lifecycle::RegionChanged;
use maxim_bus::{RegionName, Stage};
use parking_lot::Mutex;

use super::heart::Busy;
use super::{Heart, Order, WardState};

/// Settings of supervision, as in Erlang/OTP's supervisor flags.
#[derive(Clone, Debug)]
pub struct SupervisionSettings {
    /// Restarts of one room within `window` before it escalates. Default 5.
    pub restarts: usize,
    /// Default 10 s.
    pub window: Duration,
    /// Delay of the second restart within the window; doubles with each further one. Default 20 ms.
    pub back_off: Duration,
    /// A room whose budget is spent is tried again after this time. Default 30 s.
    pub hold: Duration,
    /// Escalations of the rooms of one group (a stage) within `group_window` before the group escalates. Restarts don't
    /// count. Default 3.
    pub escalations: usize,
    /// Default 5 min.
    pub group_window: Duration,
    /// A room that spent its group's budget is tried again after this time. Default 5 min.
    pub group_hold: Duration,
    /// Hung incarnations at a time at which the process gives up, so that its init system restarts it. Default 8.
    pub zombies: usize,
}

impl Default for SupervisionSettings {
    fn default() -> Self {
        Self {
            restarts: 5,
            window: Duration::from_secs(10),
            back_off: Duration::from_millis(20),
            hold: Duration::from_secs(30),
            escalations: 3,
            group_window: Duration::from_secs(300),
            group_hold: Duration::from_secs(300),
            zombies: 8,
        }
    }
}

/// Which siblings are rebuilt when a room escalates (Erlang/OTP supervisor strategies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    OneForOne,
    /// The rooms that hear its decisions: those after it in the anatomy.
    RestForOne,
    OneForAll,
}

/// The strategy of a stage. Rooms of memory and learning are independent. A partly rebuilt gate would judge by half a
/// state, so the gate is rebuilt completely.
pub fn strategy(stage: Stage) -> Strategy {
    match stage {
        Stage::Gate => Strategy::OneForAll,
        Stage::Action | Stage::Deliberation => Strategy::RestForOne,
        _ => Strategy::OneForOne,
    }
}

/// The consequence for a failed room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    After(Duration),
    /// Its budget is spent: it is tried again after `retry`, or when a person resumes.
    Hold {
        retry: Duration,
        /// The group's budget is spent too.
        with_group: bool,
    },
}

/// Events within a sliding window, against a budget.
#[derive(Default)]
struct Spending(VecDeque<u64>);

impl Spending {
    /// Counts one more. Returns its number within the window, or `None` if the budget is spent. Counting
    /// then starts again at zero.
    fn count(&mut self, now: u64, window: Duration, budget: usize) -> Option<usize> {
        let window = u64::try_from(window.as_micros()).unwrap_or(u64::MAX);
        self.0.retain(|at| now.saturating_sub(*at) < window);
        self.0.push_back(now);
        let count = self.0.len();
        if count > budget {
            self.0.clear();
            return None;
        }
        Some(count)
    }
}

/// The thread of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Its own thread: it may be slow, or safety depends on it.
    Own,
    /// One of the shared threads.
    Pool,
}

/// A supervised room.
pub trait Ward: Send + Sync {
    fn heart(&self) -> &Arc<Heart>;
    fn stage(&self) -> Stage;
    /// Starts a new incarnation there; the former one is fenced.
    fn start_on(&self, arbiter: &ArbiterHandle);
}

/// Calls an observer and catches panics: a failing log or terminal must not end a room or the watchdog.
pub(super) fn fenced(tell: impl FnOnce()) {
    // A failure to report can't be reported.
    let _ = catch_unwind(AssertUnwindSafe(tell));
}

/// A notice for a person: something in the brain is wrong.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;
/// A notice for the other rooms.
pub type RegionNotice = Box<dyn Fn(RegionChanged) + Send + Sync>;

/// The supervisor of an agent's rooms. Plain data behind locks, so the watchdog can use it from its own thread.
pub struct Supervision {
    settings: SupervisionSettings,
    latch: StopLatch,
    failures: Mutex<BTreeMap<RegionName, Spending>>,
    groups: Mutex<BTreeMap<Stage, Spending>>,
    escalations: AtomicU64,
    group_escalations: AtomicU64,
    why_held: Mutex<Option<String>>,
    wards: Mutex<Vec<Seated>>,
    arbiters: Mutex<Vec<Arbiter>>,
    zombies: Arc<AtomicUsize>,
    /// The agent is ending: no thread is replaced any more.
    ending: AtomicBool,
    notices: Mutex<Vec<Notice>>,
    region_notice: Mutex<Option<RegionNotice>>,
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
            groups: Mutex::new(BTreeMap::new()),
            escalations: AtomicU64::new(0),
            group_escalations: AtomicU64::new(0),
            why_held: Mutex::default(),
            wards: Mutex::new(Vec::new()),
            arbiters: Mutex::new(Vec::new()),
            zombies: Arc::new(AtomicUsize::new(0)),
            ending: AtomicBool::new(false),
            notices: Mutex::new(Vec::new()),
            region_notice: Mutex::new(None),
            jitter: AtomicU64::new(0x9e37_79b9),
        })
    }

    /// Adds a receiver of notices for a person.
    pub fn on_notice(&self, notice: impl Fn(&str) + Send + Sync + 'static) {
        self.notices.lock().push(Box::new(notice));
    }

    /// Sets the receiver of notices for the other rooms, before the rooms start.
    pub fn on_change(&self, notice: impl Fn(RegionChanged) + Send + Sync + 'static) {
        *self.region_notice.lock() = Some(Box::new(notice));
    }

    fn tell_rooms(&self, region: RegionName, is_held: bool, why: &str) {
        fenced(|| {
            if let Some(notice) = &*self.region_notice.lock() {
                notice(RegionChanged { region: region.into(), is_held, why: why.into() });
            }
        });
    }

    /// Reports to a person and the log what a room did by itself.
    pub(super) fn tell(&self, text: &str) {
        fenced(|| tracing::warn!("{text}"));
        self.tell_person(text);
    }

    fn tell_person(&self, text: &str) {
        for notice in &*self.notices.lock() {
            fenced(|| notice(text));
        }
    }

    /// A room has loaded its state and reads mail.
    pub(super) fn came_up(&self, heart: &Heart) {
        let is_news = matches!(heart.state(), WardState::Off | WardState::Held);
        heart.set_state(WardState::Running);
        if is_news {
            self.tell_rooms(heart.name(), false, "");
        }
    }

    /// Starts the rooms: those of [`Placement::Own`] on their own arbiters, the others on `pool` shared ones. Must be
    /// called where an actix `System` is current.
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

    /// True when all rooms have loaded their state.
    pub fn is_up(&self) -> bool {
        self.hearts().iter().all(|heart| heart.state() == WardState::Running)
    }

    /// True when each room has loaded its state, or is held: a room that can't be rebuilt doesn't delay the others.
    pub fn has_begun(&self) -> bool {
        self.hearts().iter().all(|heart| matches!(heart.state(), WardState::Running | WardState::Held))
    }

    pub fn escalations(&self) -> u64 {
        self.escalations.load(Ordering::SeqCst)
    }

    /// Why motion is held, if a held room is the cause; until a person resumes.
    pub fn why_held(&self) -> Option<String> {
        self.why_held.lock().clone()
    }

    /// How often the rooms of one group exceeded its budget of escalations.
    pub fn group_escalations(&self) -> u64 {
        self.group_escalations.load(Ordering::SeqCst)
    }

    /// A room failed, by a panic, an order or a hang: decides the consequence. A spent budget leads to a safe state.
    pub fn failed(&self, heart: &Heart, stage: Stage, why: &str) -> Restart {
        let verdict = self.judge(heart, stage, why);
        match verdict {
            Restart::After(delay) => {
                heart.pause_for(delay);
                heart.set_state(WardState::Restarting);
            }
            Restart::Hold { retry, with_group } => {
                heart.pause_for(retry);
                // Nobody may see a held room while the body still moves.
                self.latch.hold_motion();
                heart.set_state(WardState::Held);
                self.escalate(heart, stage, why, with_group);
                self.tell_rooms(heart.name(), true, why);
            }
        }
        // Counted last: a reader of the count also sees the consequence of the failure.
        heart.count_restart();
        verdict
    }

    fn judge(&self, heart: &Heart, stage: Stage, why: &str) -> Restart {
        fenced(|| tracing::warn!(region = heart.name(), why, "a room failed and is rebuilt from its store"));
        let now = monotonic_micros();
        let SupervisionSettings { restarts, window, back_off, hold, escalations, group_window, group_hold, .. } =
            self.settings;
        let count = self.failures.lock().entry(heart.name()).or_default().count(now, window, restarts);
        match count {
            None => match self.groups.lock().entry(stage).or_default().count(now, group_window, escalations) {
                None => Restart::Hold { retry: group_hold, with_group: true },
                Some(_) => Restart::Hold { retry: hold, with_group: false },
            },
            Some(0 | 1) => Restart::After(Duration::ZERO),
            Some(count) => {
                let doubled = back_off.saturating_mul(1 << (count - 2).min(16));
                Restart::After(doubled + self.jitter(doubled))
            }
        }
    }

    /// Up to a quarter of `delay`, so that rooms that failed together don't restart together.
    fn jitter(&self, delay: Duration) -> Duration {
        let word = self.jitter.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        delay.mul_f64((word >> 40) as f64 / (1u64 << 24) as f64 / 4.0)
    }

    fn escalate(&self, heart: &Heart, stage: Stage, why: &str, with_group: bool) {
        self.escalations.fetch_add(1, Ordering::SeqCst);
        let SupervisionSettings { restarts, window, hold, escalations, group_window, group_hold, .. } = &self.settings;
        let (of_group, retry) = if with_group {
            self.group_escalations.fetch_add(1, Ordering::SeqCst);
            let minutes = group_window.as_secs().div_ceil(60);
            let group = format!("{stage:?}").to_lowercase();
            let text = format!(
                "; rooms of {group} were held more than {escalations} times in {minutes} min, and all of them are \
                rebuilt"
            );
            (text, group_hold)
        } else {
            (String::new(), hold)
        };
        let said = format!(
            "{} failed more than {restarts} times in {} s ({why}){of_group}; motion is held. It is tried again in {} s, or at once with `maxim resume`",
            heart.name(),
            window.as_secs(),
            retry.as_secs(),
        );
        fenced(|| tracing::error!(region = heart.name(), "{said}"));
        *self.why_held.lock() = Some(said.clone());
        self.tell_person(&said);
        let strategy = if with_group { Strategy::OneForAll } else { strategy(stage) };
        for sibling in self.siblings(heart, stage, strategy) {
            sibling.order(Order::Rebuild);
        }
    }

    /// The rooms that are rebuilt with an escalating room.
    fn siblings(&self, heart: &Heart, stage: Stage, strategy: Strategy) -> Vec<Arc<Heart>> {
        let wards = self.wards.lock();
        let group: Vec<&Seated> = wards.iter().filter(|seated| seated.ward.stage() == stage).collect();
        let at = group.iter().position(|seated| seated.ward.heart().name() == heart.name());
        let rest = match (strategy, at) {
            (Strategy::OneForAll, _) => &group[..],
            (Strategy::RestForOne, Some(at)) => &group[at + 1..],
            _ => &[],
        };
        let others = rest.iter().map(|seated| seated.ward.heart());
        others.filter(|other| other.name() != heart.name()).cloned().collect()
    }

    /// A person resumed: held rooms come back at once, and counting for the budgets of groups starts again at zero.
    pub fn release_held(&self) {
        self.groups.lock().clear();
        *self.why_held.lock() = None;
        for heart in self.hearts() {
            if heart.state() == WardState::Held {
                heart.order(Order::Release);
            }
        }
    }

    /// Busy rooms, and the places of their threads.
    pub(super) fn busy(&self) -> Vec<(usize, Arc<dyn Ward>, Busy)> {
        let wards = self.wards.lock();
        let busy = |seated: &Seated| Some((seated.place, Arc::clone(&seated.ward), seated.ward.heart().busy()?));
        wards.iter().filter_map(busy).collect()
    }

    /// Gives up the blocked thread and starts all its rooms on a new one. Must be called where a `System` is current.
    pub(super) fn rehome(&self, place: usize, culprit: &dyn Ward) {
        if self.ending.load(Ordering::SeqCst) {
            return;
        }
        self.failed(culprit.heart(), culprit.stage(), "it blocked its thread beyond its deadline");
        let zombies = self.zombies.fetch_add(1, Ordering::SeqCst) + 1;
        let region = culprit.heart().name();
        fenced(|| {
            tracing::error!(region, zombies, "a room blocks its thread beyond its deadline; its thread is given up");
        });
        if zombies >= self.settings.zombies {
            self.tell_person(&format!(
                "{zombies} threads hang at the same time; the process ends, its state is on disk"
            ));
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
        // Runs when the thread wakes from its hang: its actors have an old epoch by now and end with it.
        let count = Arc::clone(&self.zombies);
        given_up.spawn_fn(move || {
            count.fetch_sub(1, Ordering::SeqCst);
            Arbiter::current().stop();
        });
    }

    pub fn zombies(&self) -> usize {
        self.zombies.load(Ordering::SeqCst)
    }

    /// Ends the threads of all rooms.
    pub fn stop(&self) {
        self.ending.store(true, Ordering::SeqCst);
        for arbiter in self.arbiters.lock().iter() {
            arbiter.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WardKind;

    fn heart(name: RegionName) -> Heart {
        Heart::new(name, WardKind::Region, Duration::from_millis(200))
    }

    fn supervision() -> Arc<Supervision> {
        let hour = Duration::from_secs(3_600);
        let settings =
            SupervisionSettings { restarts: 1, window: hour, group_window: hour, ..SupervisionSettings::default() };
        Supervision::new(settings, StopLatch::in_memory())
    }

    /// Fails more often than one budget allows.
    fn spend(supervision: &Supervision, heart: &Heart, stage: Stage) -> Restart {
        assert_eq!(supervision.failed(heart, stage, "a test"), Restart::After(Duration::ZERO));
        supervision.failed(heart, stage, "a test")
    }

    /// A log that panics on each event, like one that can't be written.
    struct Broken;

    impl tracing::Subscriber for Broken {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            panic!("nobody reads this log");
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn a_room_is_judged_the_same_when_nobody_can_be_told() {
        tracing::subscriber::with_default(Broken, || {
            let supervision = supervision();
            supervision.on_notice(|_| panic!("the terminal has closed"));
            supervision.on_change(|_| panic!("so have the rooms"));
            let room = heart("hippocampus");
            assert!(matches!(spend(&supervision, &room, Stage::Memory), Restart::Hold { .. }));
            assert_eq!((room.state(), room.restarts()), (WardState::Held, 2));
            supervision.came_up(&room);
            assert_eq!(room.state(), WardState::Running);
        });
    }

    #[test]
    fn a_group_counts_escalations_of_all_its_rooms_and_no_restarts() {
        let supervision = supervision();
        let SupervisionSettings { hold, group_hold, .. } = supervision.settings;
        let rooms = ["hippocampus", "angular_gyrus", "memory_hub", "cerebellum"].map(heart);
        for room in &rooms[..3] {
            let alone = Restart::Hold { retry: hold, with_group: false };
            assert_eq!(spend(&supervision, room, Stage::Memory), alone, "{}", room.name());
        }
        let other = spend(&supervision, &rooms[3], Stage::Learning);
        assert_eq!(other, Restart::Hold { retry: hold, with_group: false }, "another group has a budget of its own");
        assert_eq!((supervision.escalations(), supervision.group_escalations()), (4, 0));
        let whole = Restart::Hold { retry: group_hold, with_group: true };
        assert_eq!(spend(&supervision, &rooms[0], Stage::Memory), whole);
        assert_eq!((supervision.escalations(), supervision.group_escalations()), (5, 1));
        let after = spend(&supervision, &rooms[1], Stage::Memory);
        assert_eq!(after, Restart::Hold { retry: hold, with_group: false }, "counting starts again at zero");
    }

    #[test]
    fn the_first_restart_is_at_once_and_each_further_one_waits_twice_as_long() {
        let settings = SupervisionSettings { window: Duration::from_secs(3_600), ..SupervisionSettings::default() };
        let back_off = settings.back_off;
        let supervision = Supervision::new(settings, StopLatch::in_memory());
        let room = heart("hippocampus");
        let next = || supervision.failed(&room, Stage::Memory, "a test");
        assert_eq!(next(), Restart::After(Duration::ZERO));
        for times in [1, 2, 4, 8] {
            let Restart::After(delay) = next() else { panic!("the budget is five") };
            let least = back_off * times;
            assert!((least..least + least / 4 + Duration::from_nanos(1)).contains(&delay), "{delay:?} of {least:?}");
        }
        assert!(matches!(next(), Restart::Hold { .. }));
    }

    #[test]
    fn a_person_who_resumes_gives_groups_their_budget_back() {
        let supervision = supervision();
        let room = heart("hippocampus");
        for _ in 0..3 {
            spend(&supervision, &room, Stage::Memory);
        }
        supervision.release_held();
        spend(&supervision, &room, Stage::Memory);
        assert_eq!((supervision.escalations(), supervision.group_escalations()), (4, 0));
    }

    #[test]
    fn what_lies_before_the_window_is_not_counted() {
        let (mut spending, window) = (Spending::default(), Duration::from_micros(10));
        assert_eq!(spending.count(0, window, 2), Some(1));
        assert_eq!(spending.count(9, window, 2), Some(2));
        assert_eq!(spending.count(12, window, 2), Some(2), "the first is out");
        assert_eq!(spending.count(13, window, 2), None);
        assert_eq!(spending.count(14, window, 2), Some(1), "after a spent budget, counting starts again at zero");
    }
}
