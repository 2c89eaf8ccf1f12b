//! A hundred agents in one process, in virtual time. Each has its own rooms, memory, clock and latch.
//!
//! An agent that nobody speaks to leaves memory; its state is in the store. It is built again when somebody speaks to
//! it, or when one of its rooms is due. Run it with `cargo run --example population`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use maxim::agent::AgentSettings;
use maxim::agent::population::Population;
use maxim::config::Settings;
use maxim_actors::action::tools::core_registry;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::store::StateStore;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, Trust};

const AGENTS: usize = 100;
const THREADS: usize = 2;
/// An agent that nobody spoke to for this long leaves memory.
const IDLE: Duration = Duration::from_secs(60);

pub fn run() -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let saved = folder.path().join("saved");
    let settings = AgentSettings::with_tools(&Settings::default(), 1, folder.path(), &saved, core_registry()?)?;
    let settings = Arc::new(settings);
    let store = StateStore::in_memory();
    let mut all = Population::new(&store, "2026-01-05T09:00:00Z".parse()?, THREADS, IDLE)?;
    let ids = (0..AGENTS).map(|n| AgentId::new(format!("agent-{n:03}"))).collect::<Result<Vec<_>, _>>()?;
    for (seed, id) in (0..).zip(&ids) {
        all.add(id.clone(), seed, Arc::clone(&settings), StopLatch::in_memory())?;
    }
    for (n, id) in ids.iter().enumerate() {
        say(&mut all, id, &format!("remember that my lamp stands in room {n}"))?;
    }
    let mut told = format!("{} agents were told where their lamp stands\n", ids.len());
    pass(&mut all, IDLE * 2)?;
    told += &format!("{} of them are in memory two minutes later\n", all.awake());
    for n in [7, 42, 99] {
        told += &format!("{}: {}\n", ids[n], say(&mut all, &ids[n], "where is my lamp?")?);
    }
    Ok(told)
}

/// Says something to one of them. Time passes for all until the turn has ended.
fn say(all: &mut Population, id: &AgentId, words: &str) -> anyhow::Result<String> {
    let agent = all.agent(id)?;
    let desk = Arc::clone(&agent.outside.console);
    let (channel, sender) = ("console".to_owned(), "anna".to_owned());
    let said = Submission { channel, sender, body: words.into(), provider_id: None, trust: Trust::Owner };
    let mut accepted = desk.submit(said);
    agent.settle();
    let mut ended = desk.turn(accepted.try_recv()?.map_err(anyhow::Error::msg)?.percept);
    for _ in 0..600 {
        if let Ok(ended) = ended.try_recv() {
            return ended.map_err(anyhow::Error::msg)?.reply.context("the turn ended without a reply");
        }
        pass(all, Duration::from_millis(100))?;
    }
    bail!("{id} didn't answer {words:?} within a minute of virtual time")
}

fn pass(all: &mut Population, time: Duration) -> anyhow::Result<()> {
    all.pass(time).into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}

fn main() -> anyhow::Result<()> {
    print!("{}", run()?);
    Ok(())
}
