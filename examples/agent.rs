//! An embedded agent in virtual time: it remembers, crashes, sleeps a week, and is stopped. All of this takes a moment.
//!
//! A stepped agent does something only when it is told to, and its clock moves only when you move it. So a test of a
//! week takes no week, and gives the same result each time. Run it with `cargo run --example agent`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim_actors::action::tools::core_registry;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::store::StateStore;
use maxim_bus::clock::Reckoned;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, Clock, Trust, VirtualClock};

/// A brain, and what outlives it: the store, the latch, and here the clock.
struct Embedded {
    agent: Agent,
    clock: VirtualClock,
    store: StateStore,
    latch: StopLatch,
}

/// Builds the rooms on what the store holds. `boot` counts the starts.
fn build(
    store: &StateStore,
    latch: &StopLatch,
    clock: &VirtualClock,
    boot: u64,
    workdir: &Path,
) -> anyhow::Result<Agent> {
    let settings =
        AgentSettings::with_tools(&Settings::default(), boot, workdir, &workdir.join("saved"), core_registry()?)?;
    let id = AgentId::new("embedded")?;
    let (clock, latch) = (Arc::new(clock.clone()), latch.clone());
    Ok(Agent::stepped(AgentWorld { store: store.agent(&id), id, clock, latch, seed: 7, tap: None }, &settings)?)
}

impl Embedded {
    fn new(workdir: &Path) -> anyhow::Result<Self> {
        let (store, latch) = (StateStore::in_memory(), StopLatch::in_memory());
        let clock = VirtualClock::at("2026-01-05T09:00:00Z".parse()?);
        Ok(Self { agent: build(&store, &latch, &clock, 1, workdir)?, clock, store, latch })
    }

    /// Drops the rooms, as `kill -9` does, and builds them again.
    fn crash(&mut self, workdir: &Path) -> anyhow::Result<()> {
        self.agent = build(&self.store, &self.latch, &self.clock, 2, workdir)?;
        Ok(())
    }

    /// Says something, and lets virtual time pass until the turn has ended.
    fn say(&mut self, words: &str) -> anyhow::Result<String> {
        let desk = Arc::clone(&self.agent.outside.console);
        let (channel, sender) = ("console".to_owned(), "anna".to_owned());
        let said = Submission { channel, sender, body: words.into(), provider_id: None, trust: Trust::Owner };
        let mut accepted = desk.submit(said);
        self.agent.settle();
        let mut ended = desk.turn(accepted.try_recv()?.map_err(anyhow::Error::msg)?.percept);
        loop {
            self.agent.settle();
            if let Ok(ended) = ended.try_recv() {
                let reply = ended.map_err(anyhow::Error::msg)?.reply.unwrap_or_default();
                return Ok(format!("{}\n> {words}\n  {reply}\n", self.clock.now()));
            }
            self.clock
                .advance_to(self.agent.next_deadline().context("the turn doesn't end: no room waits for a time")?);
        }
    }

    /// Lets time pass; each room acts when it is due, so nights are slept through too.
    fn pass(&mut self, time: Duration) {
        let until = self.clock.now().later(time);
        self.agent.settle();
        while let Some(due) = self.agent.next_deadline().filter(|due| *due <= until) {
            self.clock.advance_to(due);
            self.agent.settle();
        }
        self.clock.advance_to(until);
    }
}

pub fn run() -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let mut brain = Embedded::new(folder.path())?;
    let mut told = brain.say("remember that the spare key hangs behind the door")?;
    brain.crash(folder.path())?;
    told += "-- killed, and started again\n";
    brain.pass(Duration::from_secs(7 * 86_400));
    told += "-- a week later\n";
    told += &brain.say("where is the spare key?")?;
    told += &brain.say("run rm -rf /")?;
    drop(brain.agent.outside.door.stop("the example ends".into(), "anna".into()));
    told += "-- stopped\n";
    told += &brain.say("write hello into note.txt")?;
    Ok(told)
}

fn main() -> anyhow::Result<()> {
    print!("{}", run()?);
    Ok(())
}
