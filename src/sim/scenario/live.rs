//! An agent lives through a scenario.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::action::tools::core_registry;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::region::{InputRecord, Tap};
use maxim_actors::store::StateStore;
use maxim_bus::clock::{LAST, Reckoned};
use maxim_bus::latch::StopLatch;
use maxim_bus::rooms::RESPOND;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::PainKind;
use maxim_bus::signals::scene::Observed;
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::units::Confidence;
use maxim_bus::{AgentId, Clock, Envelope, Lsn, MessageId, Signal, Trust, VirtualClock};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::file::{BodyKind, Happening, Pain, Scenario, Source};
use crate::agent::{Agent, AgentSettings, AgentWorld};
use crate::config::Settings;
use crate::sim::bench::Broken;
use maxim_actors::effectors::body::DriverKind;

/// 2026-01-05T09:00:00Z, a Monday.
const BEGINS: i64 = 1_767_603_600;
/// After the last turn, nothing may happen for this long in virtual time.
const SETTLED: Duration = Duration::from_secs(2);
/// A question about the brain is answered within this many deadlines.
const DEADLINES: usize = 100;

/// Everything that is said on the bus.
#[derive(Default)]
struct Witness(Mutex<Vec<Arc<Envelope>>>);

impl Tap for Witness {
    fn input(&self, _: InputRecord) {}

    fn emitted(&self, _: Lsn, envelope: &Arc<Envelope>) {
        self.0.lock().push(Arc::clone(envelope));
    }
}

/// A turn begun by words.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub turn: MessageId,
    pub at: Timestamp,
}

/// An agent after its scenario, and what is known of it.
pub struct Lived {
    agent: Agent,
    /// It closes with its last handle.
    _store: StateStore,
    clock: VirtualClock,
    runtime: Runtime,
    witness: Arc<Witness>,
    latch: StopLatch,
    /// Microseconds of real time from a stop to its latch.
    stopped: Arc<Mutex<Option<u64>>>,
    pub begun: Vec<Begun>,
    /// Which limit of the budget was exceeded, in words.
    pub over_budget: Option<String>,
    /// Virtual time of the scenario.
    pub took: Duration,
}

/// Runs the scenario in this folder, which is empty.
///
/// # Errors
/// The agent doesn't start, or no longer makes progress.
pub fn live(scenario: &Scenario, folder: &Path) -> Result<Lived, Broken> {
    let workdir = folder.join("work");
    std::fs::create_dir_all(&workdir)?;
    let mut settings = Settings::default();
    settings.agent.timezone = "UTC".into();
    if scenario.body == BodyKind::Sim {
        settings.effectors.body.driver = DriverKind::Sim;
    }
    let rooms = AgentSettings::with_tools(&settings, 1, &workdir, &folder.join("saved"), core_registry()?)?;
    let begins = Timestamp::from_second(BEGINS)?;
    let (clock, latch, witness) = (VirtualClock::at(begins), StopLatch::in_memory(), Arc::new(Witness::default()));
    let stopped: Arc<Mutex<Option<u64>>> = Arc::default();
    let at_latch = Arc::clone(&stopped);
    latch.on_raised(move |_, raised| {
        at_latch.lock().get_or_insert(raised.latency_us);
    });
    let id = AgentId::new("maxim")?;
    let store = StateStore::in_memory();
    let world = AgentWorld {
        store: store.agent(&id),
        id,
        clock: Arc::new(clock.clone()),
        latch: latch.clone(),
        seed: scenario.seed,
        tap: Some(Arc::clone(&witness) as Arc<dyn Tap>),
    };
    let agent = Agent::stepped(world, &rooms)?;
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let (begun, took) = (Vec::new(), Duration::ZERO);
    let mut lived =
        Lived { agent, _store: store, clock, runtime, witness, latch, stopped, begun, over_budget: None, took };
    let budget = scenario.budget;
    let ends = begins.later(SignedDuration::try_from(budget.time.get())?);
    let mut happenings: Vec<&Happening> = scenario.percepts.iter().collect();
    happenings.sort_by_key(|happening| happening.at);
    for happening in happenings {
        if lived.acts() > budget.actions {
            break;
        }
        lived.pass_until(begins.later(SignedDuration::try_from(happening.at.get())?))?;
        lived.meet(happening)?;
    }
    while lived.open() > 0 && lived.acts() <= budget.actions && lived.clock.now() < ends {
        let now = lived.clock.now();
        lived.pass_until(now.later(SignedDuration::try_from(SETTLED)?).min(ends))?;
    }
    lived.took = Duration::try_from(lived.clock.now().duration_since(begins))?;
    let (open, acts) = (lived.open(), lived.acts());
    lived.over_budget = match (open, acts) {
        (_, acts) if acts > budget.actions => Some(format!("{acts} actions were taken, of at most {}", budget.actions)),
        (1.., _) => Some(format!("{open} turns are open after {} s of virtual time", budget.time.get().as_secs())),
        _ => None,
    };
    lived.pass_until(lived.clock.now().later(SignedDuration::try_from(SETTLED)?))?;
    Ok(lived)
}

impl Lived {
    fn pass_until(&mut self, until: Timestamp) -> Result<(), Broken> {
        // No clock goes further.
        let until = until.min(LAST);
        loop {
            let steps = self.agent.settle();
            let now = self.clock.now();
            match self.agent.deadlines().min() {
                Some((due, room)) if due <= until => {
                    if steps == 0 && due <= now {
                        return Err(format!("{room} is due at {due}, and does nothing then").into());
                    }
                    self.clock.advance_to(due);
                }
                _ if now < until => self.clock.advance_to(until),
                _ => return Ok(()),
            }
        }
    }

    fn meet(&mut self, happening: &Happening) -> Result<(), Broken> {
        let Happening { source, content, confidence, detections, people, sound, pain, .. } = happening;
        let door = Arc::clone(&self.agent.outside.door);
        if let Some(Pain { place, intensity, reason }) = pain.clone() {
            let (kind, intensity) = (PainKind::External, Some(intensity));
            let strained = BodyStrained { action: None, kind, intensity, place, reason };
            door.put("door", door.fresh_id(), Trust::Sensor, strained);
        }
        if !detections.is_empty() || !people.is_empty() || sound.is_some() {
            let (objects, people, sound) = (detections.clone(), people.clone(), sound.clone());
            let observed = Observed { source: "camera".into(), objects, people, sound, pose: None };
            door.put("door", door.fresh_id(), Trust::Sensor, observed);
        }
        let Some(body) = content.clone() else {
            self.agent.settle();
            return Ok(());
        };
        let (sender, trust) = match source {
            Source::Cli => ("owner", Trust::Owner),
            Source::Speech => ("speech:microphone", Trust::Sensor),
            Source::Stranger => ("stranger", Trust::Outside),
        };
        let (channel, sender) = ("http".to_owned(), sender.to_owned());
        let words = Submission { channel, sender, body, provider_id: None, trust };
        let desk = &self.agent.outside.http;
        let mut accepted = match source {
            Source::Speech => desk.hear(words, confidence.unwrap_or(Confidence::clamped(1.0))),
            Source::Cli | Source::Stranger => desk.submit(words),
        };
        let at = self.clock.now();
        self.agent.settle();
        let turn = accepted.try_recv()??.percept;
        self.begun.push(Begun { turn, at });
        Ok(())
    }

    /// All signals of a kind, in their order, each with its time.
    pub fn heard<S: Signal + Clone>(&self) -> Vec<(Timestamp, S)> {
        let all = self.witness.0.lock();
        all.iter().filter_map(|envelope| Some((envelope.meta.at, envelope.get::<S>()?.clone()))).collect()
    }

    /// When this turn ended.
    pub fn ended(&self, turn: MessageId) -> Option<Timestamp> {
        self.heard::<TurnEnded>().into_iter().find(|(_, ended)| ended.turn == turn).map(|(at, _)| at)
    }

    /// Turns that haven't ended. A stop ends all.
    pub fn open(&self) -> usize {
        if self.latch.is_stopped() {
            return 0;
        }
        self.begun.iter().filter(|begun| self.ended(begun.turn).is_none()).count()
    }

    /// Actions, except mere speech.
    pub fn acts(&self) -> usize {
        self.heard::<ToolResult>().iter().filter(|(_, result)| result.tool != RESPOND).count()
    }

    /// From a stop to its latch, in real time; `None` if it isn't stopped.
    pub fn stopped_in(&self) -> Option<Duration> {
        let micros = *self.stopped.lock();
        micros.filter(|_| self.latch.is_stopped()).map(Duration::from_micros)
    }

    /// A read-only question about the brain, as its introspection tools answer it.
    pub fn ask(&mut self, tool: &str, params: Value) -> Result<Value, Broken> {
        let door = Arc::clone(&self.agent.outside.door);
        let mut asked = pin!(door.inquire(tool, params));
        for _ in 0..DEADLINES {
            let look = async { tokio::time::timeout(Duration::ZERO, &mut asked).await };
            if let Ok(answer) = self.runtime.block_on(look) {
                return Ok(answer?);
            }
            if self.agent.settle() == 0
                && let Some(due) = self.agent.next_deadline()
            {
                self.clock.advance_to(due);
            }
        }
        Err(format!("{tool} was not answered").into())
    }
}
