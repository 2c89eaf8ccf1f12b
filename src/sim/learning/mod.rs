//! Learning without a model: a small world in which experience alone teaches what is worth doing.
//!
//! Each agent begins without knowledge and lives one episode a day, in virtual time, by its senses and its tools alone.
//! Nobody asks it for anything. Brains that lack a part live beside the whole one, with the same seeds and the same
//! things. The difference is the worth of the part here.

mod arms;
mod curve;
mod page;
mod world;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use maxim_actors::action::tools::core_registry;
use maxim_actors::learning::nucleus_accumbens::NucleusAccumbens;
use maxim_actors::memory::hippocampus::Hippocampus;
use maxim_actors::region::Region;
use maxim_actors::sleep::Consolidation;
use maxim_actors::store::StateStore;
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::scene::{Detection, Observed};
use maxim_bus::units::Confidence;
use maxim_bus::{AgentId, Trust};
use serde_json::Value;

use self::arms::{ARMS, Arm};
use self::world::{IN_SIGHT, Lived, Thing, World, at_best, at_random, in_sight};
use super::bench::Broken;
use crate::agent::population::Population;
use crate::agent::{Agent, AgentSettings};
use crate::config::{Settings, Span};

pub use self::page::{page, within};

/// The length of the lives.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Lives of each brain.
    pub lives: NonZeroUsize,
    pub first_seed: u64,
    pub episodes: NonZeroUsize,
    /// After this many episodes some things change sides.
    pub turns_after: usize,
    pub threads: NonZeroUsize,
}

impl Course {
    fn is_turned(&self, episode: usize) -> bool {
        episode >= self.turns_after
    }
}

/// Opportunities in an episode.
const OPPORTUNITIES: u64 = 8;
/// Time from one to the next: by then what was seen before is gone.
const NEXT: Duration = Duration::from_secs(70);
const DAY: Duration = Duration::from_secs(86_400);
/// 2026-01-05T09:00:00Z, a Monday.
const BEGINS: i64 = 1_767_603_600;

/// A life.
#[derive(Default)]
struct Life {
    episodes: Vec<Lived>,
    left: Left,
}

/// The content of a brain at its end, which shows which parts were at work.
#[derive(Clone, Copy, Default)]
struct Left {
    episodes: u64,
    lessons: u64,
    sleeps: u64,
}

/// All lives, by arm and seed; and the worth of chance and of the best choice, by seed and episode.
struct Lives {
    arms: Vec<Vec<Life>>,
    random: Vec<Vec<f64>>,
    best: Vec<Vec<f64>>,
}

/// Lives that run at once: each takes a megabyte.
const AT_ONCE: usize = 20;

/// Runs the lives and returns the figures. `told` gets the progress, 0 to 1.
///
/// # Errors
/// An agent doesn't wake, or no longer makes progress.
pub fn run(folder: &Path, course: Course, told: impl Fn(f64)) -> Result<Value, Broken> {
    std::fs::create_dir_all(folder)?;
    let seeds: Vec<u64> = (0..course.lives.get() as u64).map(|n| course.first_seed.wrapping_add(n)).collect();
    let (random, best) = seeds.iter().map(|seed| yardsticks(*seed, course)).unzip();
    let mut arms: Vec<Vec<Life>> = ARMS.iter().map(|_| Vec::new()).collect();
    for (batch, some) in seeds.chunks(AT_ONCE).enumerate() {
        let before = batch * AT_ONCE;
        let told = |share: f64| told((before as f64 + share * some.len() as f64) / seeds.len() as f64);
        for (lives, lived) in arms.iter_mut().zip(live(folder, course, some, told)?) {
            lives.extend(lived);
        }
    }
    Ok(curve::document(course, &Lives { arms, random, best }))
}

/// The worth of chance and of the best choice for this seed, by episode.
fn yardsticks(seed: u64, course: Course) -> (Vec<f64>, Vec<f64>) {
    let mean = |episode: usize, worth: fn(&[&Thing], bool) -> f64| {
        let worths = opportunities(episode).map(|n| worth(&in_sight(seed, n), course.is_turned(episode)));
        worths.sum::<f64>() / OPPORTUNITIES as f64
    };
    (0..course.episodes.get()).map(|episode| (mean(episode, at_random), mean(episode, at_best))).unzip()
}

fn opportunities(episode: usize) -> impl Iterator<Item = u64> {
    (0..OPPORTUNITIES).map(move |n| episode as u64 * OPPORTUNITIES + n)
}

/// The lives of all brains by these seeds.
fn live(folder: &Path, course: Course, seeds: &[u64], told: impl Fn(f64)) -> Result<Vec<Vec<Life>>, Broken> {
    let begins = Timestamp::from_second(BEGINS)?;
    // A member that left memory would come back whole, so none may leave.
    let mut all = Population::new(&StateStore::in_memory(), begins, course.threads.get(), Duration::MAX)?;
    let mut members = Vec::new();
    for (arm, seed) in ARMS.iter().flat_map(|arm| seeds.iter().map(move |seed| (arm, *seed))) {
        members.push(Member::join(&mut all, folder, arm, seed)?);
    }
    for episode in 0..course.episodes.get() {
        members.iter().for_each(|member| member.world.turn(course.is_turned(episode)));
        for opportunity in opportunities(episode) {
            for member in &members {
                show(all.agent(&member.id)?, &in_sight(member.seed, opportunity));
            }
            pass(&mut all, NEXT)?;
        }
        for member in &mut members {
            member.life.episodes.push(member.world.take());
        }
        pass(&mut all, DAY - NEXT * OPPORTUNITIES as u32)?;
        told((episode + 1) as f64 / course.episodes.get() as f64);
    }
    for member in &mut members {
        member.life.left = left(all.agent(&member.id)?)?;
    }
    let mut lives = members.into_iter().map(|member| member.life);
    Ok(ARMS.iter().map(|_| lives.by_ref().take(seeds.len()).collect()).collect())
}

struct Member {
    id: AgentId,
    seed: u64,
    world: Arc<World>,
    life: Life,
}

impl Member {
    fn join(all: &mut Population, folder: &Path, arm: &Arm, seed: u64) -> Result<Self, Broken> {
        let (world, mut tools) = (Arc::new(World::default()), core_registry()?);
        world.furnish(&mut tools)?;
        let mut settings = Settings::default();
        settings.agent.timezone = "UTC".into();
        settings.deliberation.habit.act_every = Span::new(Duration::from_secs(1));
        (arm.set)(&mut settings);
        let settings = AgentSettings::with_tools(&settings, 1, folder, &folder.join("saved"), tools)?;
        let id = AgentId::new(format!("{}-{seed}", arm.name.replace(' ', "-")))?;
        all.add(id.clone(), seed, Arc::new(settings), StopLatch::in_memory())?;
        let agent = all.agent(&id)?;
        let cut: Vec<_> = agent.parts.iter().filter(|part| (arm.cuts)(part)).map(|part| part.name).collect();
        for room in cut {
            agent.cut(room);
        }
        Ok(Self { id, seed, world, life: Life::default() })
    }
}

fn left(agent: &Agent) -> Result<Left, Broken> {
    let count = |room: &str, of: &str| -> Result<u64, Broken> {
        let state = agent.parts.iter().find(|part| part.name == room).and_then(|part| part.state);
        let state = state.ok_or_else(|| format!("no room {room}"))?(&agent.frame.store)?;
        state[of].as_u64().ok_or_else(|| format!("the state of {room} has no {of}").into())
    };
    Ok(Left {
        episodes: count(Hippocampus::NAME, "next")?,
        lessons: count(NucleusAccumbens::NAME, "observations")?,
        sleeps: count(Consolidation::NAME, "sleeps")?,
    })
}

fn show(agent: &Agent, things: &[&Thing; IN_SIGHT]) {
    let seen =
        |thing: &&Thing| Detection { name: thing.name.to_owned(), confidence: Confidence::clamped(0.9), frame: None };
    let objects = things.iter().map(seen).collect();
    let observed = Observed { source: "camera".into(), objects, people: Vec::new(), sound: None, pose: None };
    let door = &agent.outside.door;
    door.put("door", door.fresh_id(), Trust::Sensor, observed);
}

fn pass(all: &mut Population, time: Duration) -> Result<(), Broken> {
    all.pass(time).into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}
