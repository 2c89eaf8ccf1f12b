//! A whole agent on a bench: virtual time, its own folder, stepped until nothing is left to do.

#![allow(dead_code)] // each test target uses its part of the bench

pub mod loopback;
pub mod static_model;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim_actors::action::tools::{self, OwnFiles, ToolRegistry};
use maxim_actors::effectors::body::Body;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::effectors::channels::outside::OutsideChannels;
use maxim_actors::store::StateStore;
use maxim_bus::clock::{LAST, Reckoned};
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{AgentId, Clock, MessageId, Trust, VirtualClock};
use tempfile::TempDir;

/// 2026-01-05T09:00:00Z, a Monday.
pub const MONDAY: &str = "2026-01-05T09:00:00Z";

pub struct Bench {
    pub agent: Agent,
    pub clock: VirtualClock,
    pub folder: Arc<TempDir>,
    pub store: StateStore,
    pub latch: StopLatch,
    boot: u64,
    seed: u64,
    name: String,
    registry: ToolRegistry,
    pub settings: Settings,
    /// It outlives the agent in it.
    pub body: Body,
}

pub fn core_tools() -> ToolRegistry {
    tools::core_registry().expect("the core tools register")
}

/// A message from a microphone's recogniser.
pub fn speech(words: &str) -> Submission {
    Submission {
        channel: "http".into(),
        sender: "speech:microphone".into(),
        body: words.into(),
        provider_id: None,
        trust: Trust::Sensor,
    }
}

impl Bench {
    pub fn new() -> Self {
        Self::with("maxim", StateStore::in_memory(), core_tools, Settings::default())
    }

    pub fn with(name: &str, store: StateStore, registry: fn() -> ToolRegistry, settings: Settings) -> Self {
        Self::with_tools(name, store, registry(), settings)
    }

    pub fn with_tools(name: &str, store: StateStore, registry: ToolRegistry, settings: Settings) -> Self {
        Self::seeded(42, name, store, registry, settings)
    }

    /// A bench whose clock begins at this time.
    pub fn at(time: &str) -> Self {
        Self::beginning(time, 42, "maxim", StateStore::in_memory(), core_tools(), Settings::default())
    }

    pub fn seeded(seed: u64, name: &str, store: StateStore, registry: ToolRegistry, settings: Settings) -> Self {
        Self::beginning(MONDAY, seed, name, store, registry, settings)
    }

    fn beginning(
        time: &str,
        seed: u64,
        name: &str,
        store: StateStore,
        registry: ToolRegistry,
        settings: Settings,
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let clock = VirtualClock::at(time.parse().expect("a time"));
        let latch = StopLatch::in_memory();
        let agent = build(name, &store, &clock, &latch, folder.path(), (1, seed), registry.clone(), &settings, None);
        let (agent, body) = agent;
        Self { agent, clock, folder, store, latch, boot: 1, seed, name: name.into(), registry, settings, body }
    }

    /// Discards the agent as a crash of the process does, and restarts it on the same store.
    pub fn crash(&mut self) {
        self.boot += 1;
        let registry = self.registry.clone();
        self.agent = build(
            &self.name,
            &self.store,
            &self.clock,
            &self.latch,
            self.folder.path(),
            (self.boot, self.seed),
            registry,
            &self.settings,
            Some(self.body.clone()),
        )
        .0;
    }

    /// Restarts it on the same store with another configuration.
    pub fn restart_with_settings(&mut self, settings: Settings) {
        self.settings = settings;
        self.crash();
    }

    /// Restarts it on the same store with other tools.
    pub fn restart_with(&mut self, registry: ToolRegistry) {
        self.registry = registry;
        self.crash();
    }

    /// Takes this many steps, crashes, and lets a quarter of an hour pass; false when there was less to do.
    pub fn crash_after(&mut self, steps: usize) -> bool {
        let is_whole = (0..steps).all(|_| self.agent.step());
        if is_whole {
            self.crash();
            self.pass(Duration::from_secs(900));
        }
        is_whole
    }

    /// Submits a message without processing it yet.
    pub fn submit(
        &self,
        text: &str,
    ) -> tokio::sync::oneshot::Receiver<Result<maxim_actors::effectors::channels::Accepted, String>> {
        self.submit_as(text, "anna", Trust::Owner)
    }

    pub fn submit_as(
        &self,
        text: &str,
        sender: &str,
        trust: Trust,
    ) -> tokio::sync::oneshot::Receiver<Result<maxim_actors::effectors::channels::Accepted, String>> {
        self.agent.outside.http.submit(Submission {
            channel: "http".into(),
            sender: sender.into(),
            body: text.into(),
            provider_id: None,
            trust,
        })
    }

    /// Delivers a message on a channel that reaches outside, and runs until nothing is left to do.
    pub fn arrives(&mut self, channel: &str, sender: &str, trust: Trust, text: &str, provider_id: &str) {
        let told = self.put_in(channel, sender, trust, text, provider_id);
        self.agent.settle();
        drop(told);
    }

    /// The same without processing it yet.
    pub fn put_in(
        &self,
        channel: &str,
        sender: &str,
        trust: Trust,
        text: &str,
        provider_id: &str,
    ) -> tokio::sync::oneshot::Receiver<Result<maxim_actors::effectors::channels::Accepted, String>> {
        self.agent.outside.desk(channel).expect("a channel").submit(Submission {
            channel: channel.into(),
            sender: sender.into(),
            body: text.into(),
            provider_id: Some(provider_id.into()),
            trust,
        })
    }

    /// Everything in the outbox, the oldest first.
    pub fn outbox(&self) -> Vec<maxim_bus::signals::outbox::OutboxEntry> {
        let found = self.agent.frame.store.records("outbox", .., usize::MAX).expect("read");
        let mut entries: Vec<maxim_bus::signals::outbox::OutboxEntry> =
            found.iter().filter_map(|(_, bytes)| serde_json::from_slice(bytes).ok()).collect();
        entries.sort_by_key(|entry| (entry.created, entry.id));
        entries
    }

    /// Says something and waits, in virtual time, for the end of its turn.
    pub fn say(&mut self, text: &str) -> TurnEnded {
        self.say_as(text, "anna", Trust::Owner)
    }

    pub fn say_as(&mut self, text: &str, sender: &str, trust: Trust) -> TurnEnded {
        let mut acknowledged = self.submit_as(text, sender, trust);
        self.agent.settle();
        let accepted = acknowledged.try_recv().expect("acknowledged").expect("accepted");
        self.end_of(accepted.percept)
    }

    /// Lets virtual time pass until the turn has ended.
    pub fn end_of(&mut self, turn: MessageId) -> TurnEnded {
        let mut ended = self.agent.outside.http.turn(turn);
        for _ in 0..1_000 {
            self.agent.settle();
            if let Ok(ended) = ended.try_recv() {
                return ended.expect("the end is told");
            }
            let Some(due) = self.agent.next_deadline() else { break };
            self.clock.advance_to(due);
        }
        panic!("turn {turn} did not end");
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.clock.now().later(time).min(LAST);
        let mut rounds = 0;
        loop {
            self.agent.settle();
            rounds += 1;
            assert!(rounds < 1_000_000, "time stands still before {:?}", self.agent.deadlines().min());
            match self.agent.next_deadline() {
                Some(due) if due <= until => self.clock.advance_to(due),
                _ => break,
            }
        }
        self.clock.advance_to(until);
        self.agent.settle();
    }

    /// Asks a read-only question about the brain.
    pub fn inquire(&mut self, tool: &str, params: serde_json::Value) -> serde_json::Value {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let door = Arc::clone(&self.agent.outside.door);
        let asked = door.inquire(tool, params);
        self.answer_of(&runtime, asked)
    }

    /// Why such a question is refused.
    pub fn refusal(&mut self, tool: &str, params: serde_json::Value) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let door = Arc::clone(&self.agent.outside.door);
        let asked = door.inquire(tool, params);
        self.outcome_of(&runtime, asked).expect_err("refused").to_string()
    }

    fn answer_of<T: std::fmt::Debug, E: std::fmt::Debug>(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        asked: impl Future<Output = Result<T, E>>,
    ) -> T {
        self.outcome_of(runtime, asked).expect("answered")
    }

    /// Polls once, so that the question is on the bus. Then lets the rooms answer, in virtual time up to their
    /// deadlines.
    fn outcome_of<T: std::fmt::Debug, E: std::fmt::Debug>(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut asked = Box::pin(asked);
        let mut look = || runtime.block_on(async { tokio::time::timeout(Duration::ZERO, &mut asked).await.ok() });
        assert!(look().is_none(), "nobody has answered yet");
        for _ in 0..100 {
            self.agent.settle();
            if let Some(answer) = look() {
                return answer;
            }
            let Some(due) = self.agent.next_deadline() else { break };
            self.clock.advance_to(due);
        }
        panic!("nobody answered");
    }

    /// Hands in lines of an import.
    pub fn import(&mut self, lines: Vec<(u64, String)>, all: bool) -> maxim_bus::signals::recall::EpisodesImported {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let door = Arc::clone(&self.agent.outside.door);
        self.answer_of(&runtime, door.import(lines, all))
    }

    /// Lines of an export, from a file of which these episodes were refused.
    pub fn import_beside(
        &mut self,
        lines: Vec<(u64, String)>,
        refused: Vec<String>,
        waits: bool,
    ) -> maxim_bus::signals::recall::EpisodesImported {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let door = Arc::clone(&self.agent.outside.door);
        self.answer_of(&runtime, door.import_beside(lines, false, refused, waits))
    }

    /// A request of the owner to one room.
    pub fn ask<Q: maxim_bus::Query>(&mut self, room: maxim_bus::RegionName, question: Q) -> Q::Answer {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let door = Arc::clone(&self.agent.outside.door);
        self.answer_of(&runtime, door.ask(room, question))
    }

    /// A person's command to the PreemptionCircuit.
    pub fn request(&mut self, request: maxim_bus::signals::lifecycle::PreemptionRequested) {
        let door = &self.agent.outside.door;
        door.put("door", door.fresh_id(), Trust::Owner, request);
        self.agent.settle();
    }

    /// All why-records, as text.
    pub fn why_all(&self) -> String {
        let all = self.agent.frame.store.records("cause_ledger", .., usize::MAX).expect("read");
        all.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned() + "\n").collect()
    }

    pub fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

#[allow(clippy::too_many_arguments)] // a bench has many parts
fn build(
    name: &str,
    store: &StateStore,
    clock: &VirtualClock,
    latch: &StopLatch,
    workdir: &Path,
    (boot, seed): (u64, u64),
    registry: ToolRegistry,
    settings: &Settings,
    body: Option<Body>,
) -> (Agent, Body) {
    let id = AgentId::new(name).expect("a good name");
    let saved = workdir.join(".saved");
    let mut rooms = AgentSettings::with_tools(settings, boot, workdir, &saved, registry).expect("settings");
    let body = body.unwrap_or_else(|| rooms.effectors.body.clone());
    rooms.effectors.channels = Arc::new(OutsideChannels::new(settings.channels.lines().expect("channels")));
    let own = OwnFiles::new([workdir.join("maxim.toml")], [workdir.join(".data")]);
    let rooms = rooms.owning(own).embodied(body.clone());
    let world = AgentWorld {
        store: store.agent(&id),
        id,
        clock: Arc::new(clock.clone()),
        latch: latch.clone(),
        seed,
        tap: None,
    };
    (Agent::stepped(world, &rooms).expect("the agent is built"), body)
}
