//! A live agent: real actors on real threads, driven from the test's thread through desk and door.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, Once, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use maxim::agent::{Agent, AgentHandle, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim::recorder::{Header, Limits, Recorder};
use maxim_actors::action::tools::{self, Hands, Tool, ToolOutcome, ToolRegistry, ToolSpec};
use maxim_actors::effectors::channels::{Accepted, Desk, Submission};
use maxim_actors::region::{DeadLetter, Heart, RecordView, Tap, WardState};
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::latch::{Permit, StopLatch};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{AgentId, MessageId, RegionName, SharedClock, SystemClock, Trust, VirtualClock};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::static_model;

/// A working agent is never this slow, however busy the machine is.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How virtual time is pushed when nothing moves, in seconds: past every deadline of a room.
const PUSHES: [u64; 4] = [1, 61, 500, 700];

/// The text encoder's vocabulary.
const ENCODED: [(&str, [f32; 3]); 3] =
    [("key", [1.0, 0.0, 0.0]), ("drawer", [0.9, 0.1, 0.0]), ("gull", [0.0, 0.0, 1.0])];

/// The same folder in every life, because it identifies the encoder.
fn encoder_folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let written = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        static_model::write(folder.path(), static_model::CONFIG, &ENCODED);
        folder
    });
    written.path()
}

pub struct Live {
    pub agent: AgentHandle,
    pub latch: StopLatch,
    pub folder: Arc<TempDir>,
    /// Stands still unless pushed; none for an agent on the machine's clock.
    pub clock: Option<VirtualClock>,
    pub notices: Arc<Mutex<Vec<String>>>,
    /// Present if a recorder was requested.
    pub recorder: Option<Arc<Recorder>>,
    runtime: Runtime,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The settings of a live agent.
pub struct Plan {
    pub store: StateStore,
    pub live_clock: bool,
    /// With a language model and an external text encoder.
    pub model: bool,
    pub settings: Box<dyn Fn(&mut AgentSettings)>,
    pub tap: Option<Arc<dyn Tap>>,
    /// A folder for recordings, with their limits; instead of a tap.
    pub recordings: Option<(PathBuf, Limits)>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            store: StateStore::in_memory(),
            live_clock: false,
            model: false,
            settings: Box::new(|_| {}),
            tap: None,
            recordings: None,
        }
    }
}

/// A durable store in a folder that is removed with the guard.
pub fn durable_store() -> (TempDir, StateStore) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = StateStore::open(folder.path(), StoreOptions::default()).expect("a store");
    (folder, store)
}

/// Silences requested panics. Thousands of them would hide an unexpected one, and their backtraces would take most of
/// the time.
fn mute_what_was_asked_for() {
    static MUTED: Once = Once::new();
    MUTED.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let payload = panic.payload();
            let said = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
            if !said.is_some_and(|said| said.starts_with("chaos: ")) {
                loud(panic);
            }
        }));
    });
}

/// A tool that it may use without a request.
struct Lift(ToolSpec);

impl Tool for Lift {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &serde_json::Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::done(serde_json::Value::Null).with_reward(0.5)
    }
}

/// Its tools: a simulation has more to ask about, and something to do when nobody asks for anything.
pub fn tools() -> ToolRegistry {
    let mut registry = tools::core_registry().and_then(ToolRegistry::simulated).expect("the core tools register");
    let spec = ToolSpec::new("lift_cup", "Lifts the cup.");
    let spec = ToolSpec { scene: vec!["cup".into()], unasked: true, ..spec };
    registry.register(Arc::new(Lift(spec))).expect("a good spec");
    registry
}

/// A message of anna's on a channel.
pub fn said_on(channel: &str, text: &str, trust: Trust) -> Submission {
    Submission { channel: channel.into(), sender: "anna".into(), body: text.into(), provider_id: None, trust }
}

impl Live {
    pub fn start(plan: Plan) -> Self {
        mute_what_was_asked_for();
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let mut settings = Settings::default();
        if plan.model {
            settings.effectors.llm.base_url = Some(super::model::url().into());
            settings.effectors.llm.model = Some("gull".into());
            settings.effectors.encoder.folder = Some(encoder_folder().to_owned());
        }
        // Acts without a request are chosen without randomness, so that each life makes the same.
        settings.deliberation.habit.act_temperature = 0.0;
        let saved = folder.path().join(".saved");
        let mut rooms = AgentSettings::with_tools(&settings, 1, folder.path(), &saved, tools()).expect("settings");
        // A machine busy with other tests must not look like a hanging room.
        rooms.deadline = Duration::from_secs(20);
        rooms.supervision.zombies = 1_000;
        rooms.supervision.back_off = Duration::from_millis(2);
        (plan.settings)(&mut rooms);
        let clock = VirtualClock::at("2026-01-05T09:00:00Z".parse().expect("a time"));
        let shared: SharedClock = if plan.live_clock { Arc::new(SystemClock) } else { Arc::new(clock.clone()) };
        let latch = StopLatch::in_memory();
        let id = AgentId::new("chaos").expect("a good name");
        let recorder = plan.recordings.map(|(recordings, limits)| {
            let header = Header::new(id.clone(), 42, 1, &settings, folder.path(), &saved);
            let store = plan.store.agent(&id);
            Recorder::start(recordings, limits, store, Arc::clone(&shared), header, &rooms)
                .expect("the recorder starts")
        });
        let world = AgentWorld {
            store: plan.store.agent(&id),
            id,
            clock: shared,
            latch: latch.clone(),
            seed: 42,
            tap: plan.tap.or_else(|| recorder.clone().map(|recorder| recorder as Arc<dyn Tap>)),
        };
        let (tell, told) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let store = plan.store;
        let thread = std::thread::spawn(move || {
            actix::System::new().block_on(async move {
                let agent = Agent::live(world, &rooms, 2).expect("the agent starts");
                tell.send(agent.handle()).expect("the test waits");
                let _ = ended.await;
                agent.stop();
                drop(store);
            });
        });
        let agent = told.recv().expect("the agent is built");
        let notices = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&notices);
        agent.supervision.on_notice(move |said| heard.lock().expect("no panic inside").push(said.into()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let clock = (!plan.live_clock).then_some(clock);
        let (end, thread) = (Some(end), Some(thread));
        let live = Self { agent, latch, folder, clock, notices, recorder, runtime, end, thread };
        live.eventually("all rooms are up", || live.agent.supervision.is_up());
        live
    }

    pub fn heart(&self, name: &str) -> Arc<Heart> {
        self.agent.supervision.heart(name).expect("a room of this name")
    }

    pub fn hearts(&self) -> Vec<Arc<Heart>> {
        self.agent.supervision.hearts()
    }

    /// Polls until the condition holds; fails with details after [`LIMIT`].
    pub fn eventually(&self, what: &str, is_so: impl FnMut() -> bool) {
        self.within(LIMIT, what, is_so);
    }

    /// The same for conditions that take long, e.g. behind a hundred thousand percepts.
    pub fn within(&self, limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < limit, "never happened: {what}; the rooms: {}", self.describe());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Which rooms are not in order, for a failed assertion.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        for heart in self.hearts() {
            let depth = self.agent.frame.bus.inbox(heart.name()).map_or(0, |inbox| inbox.counters().depth);
            if depth > 0 || heart.restarts() > 0 || heart.state() != WardState::Running || heart.dead_letters() > 0 {
                lines.push(format!(
                    "{}: {:?}, {} waiting, {} restarts, {} dead letters",
                    heart.name(),
                    heart.state(),
                    depth,
                    heart.restarts(),
                    heart.dead_letters()
                ));
            }
        }
        lines.join("; ")
    }

    /// Counters that change when anything moves.
    fn motion(&self) -> (u64, u64) {
        let handled = self.hearts().iter().map(|heart| heart.handled() + heart.restarts()).sum();
        (self.agent.frame.store.head().0, handled)
    }

    /// True when no room will do anything before time passes or a message comes. Each room sleeps until there is
    /// mail, with no handler or operation running, and no counter changed during the check.
    pub fn is_quiet(&self) -> bool {
        let before = self.motion();
        let sleeps = |heart: &Arc<Heart>| !heart.is_busy() && heart.under_way() == 0;
        self.agent.supervision.is_up()
            && self.hearts().iter().all(sleeps)
            && self.agent.frame.bus.inboxes().all(|inbox| inbox.is_awaited())
            && self.motion() == before
    }

    /// Pushes virtual time; the rooms notice it at once.
    pub fn push(&self, seconds: u64) {
        if let Some(clock) = &self.clock {
            clock.advance(Duration::from_secs(seconds));
            for inbox in self.agent.frame.bus.inboxes() {
                inbox.nudge();
            }
        }
    }

    /// Waits for something that a broken room may have lost. When nothing moves any more, time is pushed past every
    /// deadline; after that it counts as lost.
    pub fn wait_or_lose<T>(&self, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
        let begun = Instant::now();
        let mut pushes = PUSHES.iter();
        loop {
            if let Some(found) = poll() {
                return Some(found);
            }
            assert!(begun.elapsed() < LIMIT, "it neither came nor got lost; the rooms: {}", self.describe());
            if !self.is_quiet() {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            if let Some(found) = poll() {
                return Some(found);
            }
            self.push(*pushes.next()?);
        }
    }

    /// Waits until a sleep that has begun is over.
    pub fn rest(&self) {
        for _ in 0..2 {
            self.wait_or_lose(|| self.is_quiet().then_some(()));
            self.push(2);
        }
        self.wait_or_lose(|| self.is_quiet().then_some(()));
    }

    pub fn wait<T>(&self, what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
        let mut found = None;
        self.eventually(what, || {
            found = poll();
            found.is_some()
        });
        found.expect("just found")
    }

    pub fn submit(&self, text: &str, trust: Trust) -> oneshot::Receiver<Result<Accepted, String>> {
        self.agent.outside.http.submit(said_on("http", text, trust))
    }

    /// Says something and waits for the end of its turn, which must come.
    pub fn say(&self, text: &str) -> TurnEnded {
        let mut accepted = self.submit(text, Trust::Owner);
        let accepted = self.wait("the acknowledgement", || accepted.try_recv().ok()).expect("accepted");
        self.end_of(accepted.percept)
    }

    pub fn end_of(&self, turn: MessageId) -> TurnEnded {
        let mut ended = self.agent.outside.http.turn(turn);
        self.wait("the end of the turn", || ended.try_recv().ok()).expect("the end is told")
    }

    /// Says something whose acknowledgement or end may be lost.
    pub fn try_say(&self, text: &str, trust: Trust) -> Option<TurnEnded> {
        self.try_say_on(&self.agent.outside.http, said_on("http", text, trust))
    }

    /// The same on another channel.
    pub fn try_say_on(&self, desk: &Desk, said: Submission) -> Option<TurnEnded> {
        let mut accepted = desk.submit(said);
        let accepted = self.wait_or_lose(|| accepted.try_recv().ok())?.ok()?;
        let mut ended = desk.turn(accepted.percept);
        self.wait_or_lose(|| ended.try_recv().ok())?.ok()
    }

    /// A question or request at the door whose answer may be lost.
    pub fn try_at_door<T>(&self, asked: impl Future<Output = T>) -> Option<T> {
        let mut asked = pin!(asked);
        self.wait_or_lose(|| {
            self.runtime.block_on(async { tokio::time::timeout(Duration::from_millis(3), asked.as_mut()).await.ok() })
        })
    }

    pub fn at_door<T>(&self, asked: impl Future<Output = T>) -> T {
        self.runtime.block_on(asked)
    }

    /// For each word the texts of the episodes that contain it. All are requested at once.
    pub fn recall(&self, words: &[String]) -> Vec<Vec<String>> {
        let door = &self.agent.outside.door;
        let asked = words.iter().map(|word| door.inquire("memory_recall", json!({"query": word, "limit": 20})));
        let answers = self.at_door(join_all(asked));
        let texts = |answer: serde_json::Value| {
            let results = answer["results"].as_array().cloned().unwrap_or_default();
            results.iter().filter_map(|found| found["text"].as_str().map(str::to_owned)).collect()
        };
        answers.into_iter().map(|answer| texts(answer.expect("memory answers"))).collect()
    }

    /// The counts that every room reports.
    pub fn stats(&self) -> BTreeMap<String, serde_json::Value> {
        let asked = self.agent.outside.door.inquire("system_stats", json!({}));
        let answer = self.at_door(asked).expect("the rooms report");
        let rooms = answer["regions"].as_object().cloned().unwrap_or_default();
        let mut rooms: BTreeMap<String, serde_json::Value> = rooms.into_iter().collect();
        // The moment to which a change of energy belongs depends on the order of two messages of one turn.
        if let Some(significance) = rooms.get_mut("significance").and_then(|counts| counts.as_object_mut()) {
            significance.remove("weights");
        }
        // A rebuilt index no longer contains removed entries.
        if let Some(nucleus) = rooms.get_mut("suprachiasmatic_nucleus").and_then(|counts| counts.as_object_mut()) {
            nucleus.remove("index_bytes");
        }
        // Two reasons to sleep may come in either order, and one may find it already asleep.
        if let Some(consolidation) = rooms.get_mut("consolidation").and_then(|counts| counts.as_object_mut()) {
            consolidation.remove("sleeps");
            consolidation.remove("last");
        }
        rooms
    }

    pub fn dead_letters(&self, region: RegionName) -> Vec<DeadLetter> {
        let kept = RecordView::new(&self.agent.frame.store, region).prefixed(DeadLetter::PREFIX.as_bytes(), 1_000);
        kept.iter().map(|(_, bytes)| serde_json::from_slice(bytes).expect("a dead letter")).collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
