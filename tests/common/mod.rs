//! A whole agent on a bench: virtual time, its own folder, stepped until nothing is left to do.

#![allow(dead_code)] // each test target uses its part of the bench

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim_actors::action::tools::{self, ToolRegistry};
use maxim_actors::effectors::channels::Submission;
use maxim_actors::store::StateStore;
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
    name: String,
    registry: fn() -> ToolRegistry,
    settings: Settings,
}

pub fn core_tools() -> ToolRegistry {
    tools::core_registry().expect("the core tools register")
}

impl Bench {
    pub fn new() -> Self {
        Self::with("maxim", StateStore::in_memory(), core_tools, Settings::default())
    }

    pub fn with(name: &str, store: StateStore, registry: fn() -> ToolRegistry, settings: Settings) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let clock = VirtualClock::at(MONDAY.parse().expect("a time"));
        let latch = StopLatch::in_memory();
        let agent = build(name, &store, &clock, &latch, folder.path(), 1, registry(), &settings);
        Self { agent, clock, folder, store, latch, boot: 1, name: name.into(), registry, settings }
    }

    /// Throws the agent away as a crash of the process does, and starts it again on the same store.
    pub fn crash(&mut self) {
        self.boot += 1;
        let registry = (self.registry)();
        self.agent = build(
            &self.name,
            &self.store,
            &self.clock,
            &self.latch,
            self.folder.path(),
            self.boot,
            registry,
            &self.settings,
        );
    }

    /// Puts a message in without letting anything happen yet.
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
                return ended;
            }
            let Some(due) = self.agent.next_deadline() else { break };
            self.clock.advance_to(due);
        }
        panic!("turn {turn} did not end");
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.clock.now() + jiff::SignedDuration::try_from(time).expect("a time");
        loop {
            self.agent.settle();
            match self.agent.next_deadline() {
                Some(due) if due <= until => self.clock.advance_to(due),
                _ => break,
            }
        }
        self.clock.advance_to(until);
        self.agent.settle();
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
    boot: u64,
    registry: ToolRegistry,
    settings: &Settings,
) -> Agent {
    let id = AgentId::new(name).expect("a good name");
    let saved = workdir.join(".saved");
    let rooms = AgentSettings::with_tools(settings, boot, workdir, &saved, registry).expect("settings");
    let world = AgentWorld {
        store: store.agent(&id),
        id,
        clock: Arc::new(clock.clone()),
        latch: latch.clone(),
        seed: 42,
        tap: None,
    };
    Agent::stepped(world, &rooms).expect("the agent is built")
}
