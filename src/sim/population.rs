//! Many whole agents in one process, in virtual time, through their public doors. Measures the cost of an agent that is
//! awake and of an agent that has left memory. They have no recorders.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{AgentId, Trust};
use serde_json::{Value, json};
use tokio::sync::oneshot::Receiver;

use super::bench::{Broken, folder_bytes, quantiles, rss_mb};
use crate::agent::AgentSettings;
use crate::agent::population::Population;
use crate::config::Settings;
use crate::working_set::let_go_of_start;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    pub agents: NonZeroUsize,
    /// Agents that are awake at once, at most: this many are spoken to before they leave memory again.
    pub awake: NonZeroUsize,
    /// Words to each awake agent, one per virtual second.
    pub words: usize,
    pub threads: NonZeroUsize,
    /// True: their store is on disk; otherwise in memory.
    pub on_disk: bool,
    pub seed: u64,
}

/// Virtual time after which an agent that nobody spoke to leaves memory.
const IDLE: Duration = Duration::from_secs(60);
/// Virtual time in which a turn ends.
const PATIENCE: u32 = 600;
const SECOND: Duration = Duration::from_secs(1);
/// How many of the agents that are away are asked what they were told.
const ASKED: usize = 200;

/// Speaks to all agents, lets them leave memory, and asks some of them.
///
/// # Errors
/// An agent doesn't wake or answer.
pub fn run(folder: &Path, crowd: Crowd) -> Result<Value, Broken> {
    let workdir = folder.join("work");
    std::fs::create_dir_all(&workdir)?;
    let rooms = AgentSettings::new(&Settings::default(), 1, &workdir, &folder.join("saved"), ListFolder::default())?;
    let rooms = Arc::new(rooms);
    let store = match crowd.on_disk {
        true => StateStore::open(&folder.join("store"), StoreOptions::default())?.0,
        false => StateStore::in_memory(),
    };
    let threads = crowd.threads.get();
    let mut all = Population::new(&store, Timestamp::from_second(1_767_603_600)?, threads, IDLE)?;
    let names: Vec<AgentId> =
        (0..crowd.agents.get()).map(|n| AgentId::new(format!("agent-{n:06}"))).collect::<Result<_, _>>()?;
    for (n, id) in (0..).zip(&names) {
        all.add(id.clone(), crowd.seed.wrapping_add(n), Arc::clone(&rooms), StopLatch::in_memory())?;
    }
    let_go_of_start();
    let before = rss_mb();
    let watch = Stopwatch::start();
    let (mut awake_mb, mut deciding, mut decisions) = (0.0_f64, 0.0, 0);
    for (n, batch) in (0..).zip(names.chunks(crowd.awake.get())) {
        for id in batch {
            all.agent(id)?;
        }
        // Only the first ones stay for a while. The others are told what they will be asked.
        let words = if n == 0 { crowd.words.max(1) } else { 1 };
        let thinking = Stopwatch::start();
        for word in 0..words {
            let said = batch.iter().map(|id| (id, told(id, word))).collect();
            decisions += if n == 0 { batch.len() } else { 0 };
            hold(&mut all, said)?;
        }
        if n == 0 {
            deciding = thinking.elapsed().as_secs_f64();
            awake_mb = rss_mb() - before;
        }
        pass(&mut all, IDLE * 2)?;
    }
    let founded = watch.elapsed().as_secs_f64();
    if crowd.on_disk {
        until_gone(&mut all, &store)?;
    }
    let_go_of_start();
    let away_mb = rss_mb() - before;
    let still_awake = all.awake();
    let night = Stopwatch::start();
    pass(&mut all, Duration::from_secs(86_400))?;
    let night_s = night.elapsed().as_secs_f64();
    let (mut took, mut wakes, mut wrong) = (Vec::new(), Vec::new(), 0);
    for id in names.iter().step_by(names.len().div_ceil(ASKED)) {
        let watch = Stopwatch::start();
        all.agent(id)?;
        wakes.push(micros(&watch));
        let ended = hold(&mut all, vec![(id, "where is the lamp?".into())])?;
        took.push(micros(&watch));
        let known = ended.iter().all(|ended| ended.reply.as_deref().is_some_and(|reply| reply.contains(&room(id))));
        wrong += usize::from(!known);
    }
    let (first, asked) = (crowd.awake.get().min(names.len()), wakes.len());
    Ok(json!({
        "agents": names.len(),
        "seed": crowd.seed,
        "threads": threads,
        "store": if crowd.on_disk { "on disk" } else { "in memory" },
        "disk_mb": folder_bytes(folder) as f64 / 1e6,
        "decisions": { "agents": first, "each": crowd.words, "per_s": decisions as f64 / deciding, "per_agent_and_s": decisions as f64 / deciding / first as f64 },
        "awake_mb_each": awake_mb / first as f64,
        "away_mb_each": away_mb / names.len() as f64,
        "founded_s": founded,
        "still_awake": still_awake,
        "idle_day_s": night_s,
        "wake_us": quantiles(wakes),
        "wake_to_reply_us": quantiles(took),
        "asked": { "agents": asked, "wrong": wrong },
        "rss_mb": rss_mb(),
    }))
}

fn room(id: &AgentId) -> String {
    format!("room {}", id.to_string().trim_start_matches("agent-"))
}

fn told(id: &AgentId, word: usize) -> String {
    if word == 0 {
        format!("remember that the lamp stands in {}", room(id))
    } else {
        format!("remember that number {word} is painted in colour {}", word % 89)
    }
}

/// Says something to each agent, and lets virtual time pass until all their turns have ended.
fn hold(all: &mut Population, said: Vec<(&AgentId, String)>) -> Result<Vec<TurnEnded>, Broken> {
    let mut handed_in = Vec::with_capacity(said.len());
    for (id, body) in said {
        let desk = Arc::clone(&all.agent(id)?.outside.http);
        let (channel, sender) = ("http".to_owned(), "bench".to_owned());
        let accepted = desk.submit(Submission { channel, sender, body, provider_id: None, trust: Trust::Owner });
        handed_in.push((desk, accepted));
    }
    // All threads think at once.
    pass(all, Duration::ZERO)?;
    let mut waiting: Vec<Receiver<_>> = Vec::with_capacity(handed_in.len());
    for (desk, mut accepted) in handed_in {
        waiting.push(desk.turn(accepted.try_recv()??.percept));
    }
    let mut ended = Vec::with_capacity(waiting.len());
    for _ in 0..PATIENCE {
        let mut open = Vec::new();
        for mut turn in waiting {
            match turn.try_recv() {
                Ok(told) => ended.push(told?),
                Err(_) => open.push(turn),
            }
        }
        if open.is_empty() {
            // Each word comes in its own second.
            pass(all, SECOND)?;
            return Ok(ended);
        }
        waiting = open;
        pass(all, SECOND)?;
    }
    Err("a turn doesn't end".into())
}

/// Waits until nothing of any agent is left in the memory of a store on disk.
fn until_gone(all: &mut Population, store: &StateStore) -> Result<(), Broken> {
    let watch = Stopwatch::start();
    while store.in_memory_now() > 0 {
        if watch.elapsed() > Duration::from_secs(60) {
            return Err("the agents don't leave the store's memory".into());
        }
        std::thread::sleep(Duration::from_millis(5));
        pass(all, Duration::ZERO)?;
    }
    Ok(())
}

fn pass(all: &mut Population, time: Duration) -> Result<(), Broken> {
    all.pass(time).into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}

fn micros(watch: &Stopwatch) -> u64 {
    u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX)
}
