//! Many brains in one process, in virtual time. Each has its own rooms, part of the store, clock, random numbers and
//! latch. A brain that nobody has spoken to for a while leaves memory (*passivation*). It comes back in the same state
//! when somebody speaks to it or one of its rooms is due. Its decisions don't depend on this: a member that left memory
//! decides like a member that stayed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::effectors::door::DoorMemory;
use maxim_actors::store::StateStore;
use maxim_bus::clock::{LAST, Reckoned};
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, Clock, VirtualClock};
use tokio::runtime::{Builder, Runtime};

use super::{Agent, AgentError, AgentSettings, AgentWorld};

/// Brains that share one virtual time.
pub struct Population {
    shards: Vec<Shard>,
    /// The shard of each member, and its place there.
    places: BTreeMap<AgentId, (usize, usize)>,
    now: Timestamp,
}

/// A member can't be reached or no longer makes progress. The other members aren't affected.
#[derive(Debug, thiserror::Error)]
pub enum PopulationError {
    #[error("no agent {0} is among them; add it first")]
    Unknown(AgentId),
    #[error("agent {0} is among them already")]
    Known(AgentId),
    #[error("agent {id} can't be woken: {error}")]
    Asleep { id: AgentId, error: AgentError },
    #[error("agent {id} stands still: {room} is due at {due}, and does nothing then")]
    Stuck { id: AgentId, room: String, due: Timestamp },
}

impl Population {
    /// An empty population. `begins` is the time. The members are shared out over `threads`, which changes no result. A
    /// member that nobody spoke to for `idle` of virtual time leaves memory.
    ///
    /// # Errors
    /// The system gives no file handle to wait with.
    pub fn new(store: &StateStore, begins: Timestamp, threads: usize, idle: Duration) -> std::io::Result<Self> {
        let idle = SignedDuration::try_from(idle).unwrap_or(SignedDuration::MAX);
        let shard = |_| {
            let runtime = Arc::new(Builder::new_current_thread().enable_all().build()?);
            Ok(Shard {
                store: store.clone(),
                runtime,
                idle,
                members: Vec::new(),
                awake: BTreeSet::new(),
                due: BTreeSet::new(),
                leaving: BTreeSet::new(),
            })
        };
        let shards = (0..threads.max(1)).map(shard).collect::<std::io::Result<_>>()?;
        Ok(Self { shards, places: BTreeMap::new(), now: begins })
    }

    /// Adds a member, asleep. Members with the same settings also share their body and workdir. A stop lasts as long as
    /// the latch: a latch in memory ends with the process.
    ///
    /// # Errors
    /// The member is there already.
    pub fn add(
        &mut self,
        id: AgentId,
        seed: u64,
        settings: Arc<AgentSettings>,
        latch: StopLatch,
    ) -> Result<(), PopulationError> {
        if self.places.contains_key(&id) {
            return Err(PopulationError::Known(id));
        }
        let at = self.places.len() % self.shards.len();
        let shard = &mut self.shards[at];
        self.places.insert(id.clone(), (at, shard.members.len()));
        // At their first waking its rooms say when they are due.
        shard.due.insert((self.now, shard.members.len()));
        shard.members.push(Member {
            id,
            seed,
            settings,
            clock: VirtualClock::at(self.now),
            latch,
            agent: None,
            spoken_to: None,
            sleeps_until: Some(self.now),
            door: None,
        });
        Ok(())
    }

    /// A member, awake: it can be spoken to or asked.
    ///
    /// # Errors
    /// There is no such member, or its state can't be read.
    pub fn agent(&mut self, id: &AgentId) -> Result<&mut Agent, PopulationError> {
        let &(shard, at) = self.places.get(id).ok_or_else(|| PopulationError::Unknown(id.clone()))?;
        let shard = &mut self.shards[shard];
        shard.members[at].spoken_to = Some(self.now);
        shard.wake(at, self.now)
    }

    /// Lets time pass for all members that are awake, or due in it. Returns the errors.
    pub fn pass(&mut self, time: Duration) -> Vec<PopulationError> {
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        self.now = self.now.later(time).min(LAST);
        let now = self.now;
        if let [shard] = self.shards.as_mut_slice() {
            return shard.live_until(now);
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.shards.iter_mut().map(|shard| scope.spawn(move || shard.live_until(now))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// All members, by name.
    pub fn ids(&self) -> impl Iterator<Item = &AgentId> {
        self.places.keys()
    }

    /// How many members are in memory.
    pub fn awake(&self) -> usize {
        self.shards.iter().map(|shard| shard.awake.len()).sum()
    }
}

/// The members that live on one thread.
struct Shard {
    store: StateStore,
    runtime: Arc<Runtime>,
    idle: SignedDuration,
    members: Vec<Member>,
    awake: BTreeSet<usize>,
    /// When a room of each sleeping member is due.
    due: BTreeSet<(Timestamp, usize)>,
    /// Members that have left memory and are not completely on disk yet.
    leaving: BTreeSet<usize>,
}

struct Member {
    id: AgentId,
    seed: u64,
    settings: Arc<AgentSettings>,
    clock: VirtualClock,
    latch: StopLatch,
    agent: Option<Agent>,
    spoken_to: Option<Timestamp>,
    /// As in the shard's list.
    sleeps_until: Option<Timestamp>,
    /// From the last time that it was awake.
    door: Option<DoorMemory>,
}

impl Shard {
    fn wake(&mut self, at: usize, now: Timestamp) -> Result<&mut Agent, PopulationError> {
        let member = &mut self.members[at];
        let agent = match member.agent.take() {
            Some(agent) => agent,
            None => {
                member.clock.advance_to(now);
                let world = AgentWorld {
                    id: member.id.clone(),
                    store: self.store.agent(&member.id),
                    clock: Arc::new(member.clock.clone()),
                    latch: member.latch.clone(),
                    seed: member.seed,
                    tap: None,
                };
                let agent = Agent::stepped_on(&self.runtime, world, &member.settings)
                    .map_err(|error| PopulationError::Asleep { id: member.id.clone(), error })?;
                if let Some(door) = member.door.take() {
                    agent.outside.door.go_on(door);
                }
                agent
            }
        };
        if let Some(due) = member.sleeps_until.take() {
            self.due.remove(&(due, at));
        }
        self.awake.insert(at);
        self.leaving.remove(&at);
        Ok(member.agent.insert(agent))
    }

    fn live_until(&mut self, until: Timestamp) -> Vec<PopulationError> {
        let mut wrong = Vec::new();
        // Members are independent, so their order doesn't matter. A member that is only due is awake for that moment
        // only.
        for at in self.awake.clone() {
            wrong.extend(self.live_one(at, until).err());
        }
        while let Some(&(due, at)) = self.due.first().filter(|(due, _)| *due <= until) {
            let lived = self.wake(at, due).map(drop).and_then(|()| self.live_one(at, until));
            // A member that can't be woken is tried again with the next word to it.
            self.due.remove(&(due, at));
            wrong.extend(lived.err());
        }
        self.leaving.retain(|at| !self.store.let_go(&self.members[*at].id));
        wrong
    }

    fn live_one(&mut self, at: usize, until: Timestamp) -> Result<(), PopulationError> {
        let member = &mut self.members[at];
        member.live_until(until)?;
        let is_idle = member.spoken_to.is_none_or(|spoken_to| until.duration_since(spoken_to) >= self.idle);
        if is_idle && member.is_at_rest() {
            self.passivate(at);
        }
        Ok(())
    }

    /// Its state is in the store; messages that it waits for are redelivered when it wakes.
    fn passivate(&mut self, at: usize) {
        let member = &mut self.members[at];
        let Some(agent) = member.agent.take() else { return };
        member.sleeps_until = agent.next_deadline();
        member.door = Some(agent.outside.door.memory());
        self.due.extend(member.sleeps_until.map(|due| (due, at)));
        self.awake.remove(&at);
        self.leaving.insert(at);
    }
}

impl Member {
    fn live_until(&mut self, until: Timestamp) -> Result<(), PopulationError> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        loop {
            let steps = agent.settle();
            let now = self.clock.now();
            match agent.deadlines().min() {
                Some((due, room)) if due <= until => {
                    if steps == 0 && due <= now {
                        return Err(PopulationError::Stuck { id: self.id.clone(), room: room.into(), due });
                    }
                    self.clock.advance_to(due);
                }
                _ if now < until => self.clock.advance_to(until),
                _ => return Ok(()),
            }
        }
    }

    fn is_at_rest(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| !agent.outside.is_awaited())
    }
}
