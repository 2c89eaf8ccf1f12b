//! The room's shell without its actor: takes a message, lets the region decide, and commits the decision.
//!
//! Kept events are applied before the commit is accepted: if applying panics, nothing has happened yet.

mod change;
mod dead_letter;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::hash::StableHash;
use maxim_bus::{AgentId, Delivery, Envelope, Epoch, Inbox, Lane, Lsn, RegionName, scratch};
use serde::{Deserialize, Serialize};

pub use change::decision_hash;
use change::{Change, consumed, refusal};
pub use dead_letter::DeadLetter;

use super::Region;
use super::actor::panic_text;
use super::heart::LOADING;
use super::post::Post;
use super::pulse::{Decided, Input, Pulse};
use super::records::{Listed, Record, RecordView};
use super::shedding::{Shed, shed};
use maxim_store::{AgentStore, Commit, Frozen, PAYLOAD_BYTES, StoreError};

/// After this many messages without effect, the room's cursor is moved for them.
const UNTOLD: u32 = 64;

/// After a failure to write a state, it isn't tried again for this time.
const TRY_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// No mail.
    Idle,
    Done,
    /// A newer incarnation has taken over: this one must end.
    Fenced,
    /// The store is full at present, or closed; the message is back at the head.
    Full,
    /// The decision can't be stored: the message is treated like one that panics.
    Refused(String),
}

/// A root in its snapshot form.
#[derive(Serialize, Deserialize)]
struct Root<R> {
    state: R,
}

/// An input of a room and its result, for the recorder. Inputs without effect are not recorded: a room's handlers get a
/// shared reference, so such an input leaves no trace in it.
#[derive(Clone, Debug)]
pub struct InputRecord {
    pub region: RegionName,
    /// The epoch of the incarnation that handled it; an incarnation that failed and is rebuilt on its thread keeps it.
    pub epoch: Epoch,
    /// How often the room had been built in this process, including this incarnation.
    pub incarnation: u32,
    /// `None` for a tick.
    pub message: Option<Arc<Envelope>>,
    pub taken_at: Timestamp,
    /// Its commit; the newest earlier one if it led to none.
    pub lsn: Lsn,
    /// The room's state hash after it.
    pub state_hash: u64,
    /// Hash of what it emitted, including ids and times.
    pub decision_hash: u64,
    /// The room's own records that it used.
    pub found: Vec<Record>,
    /// Hashes of the keys that it wrote.
    pub wrote: Vec<u64>,
}

/// The recorded result of an input, for a caller that makes it true again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub decision_hash: u64,
    pub state_hash: u64,
}

/// The hash of a record's key in [`InputRecord::wrote`].
pub fn key_hash(key: &[u8]) -> u64 {
    StableHash::default().add(key).get()
}

/// Listens to every accepted input.
pub trait Tap: Send + Sync {
    fn input(&self, input: InputRecord);
    fn emitted(&self, lsn: Lsn, envelope: &Arc<Envelope>);
}

/// A region with its post.
pub struct Seat<R: Region> {
    post: Arc<Post<R>>,
    epoch: Epoch,
    incarnation: u32,
    region: R,
    hash: u64,
    snapshot_due: bool,
    /// Mail up to here was waiting when the region was rebuilt; `None` once all of it is handled.
    backlog: Option<Lsn>,
    /// Messages without effect since the last commit.
    untold: u32,
    /// The region's next deadline, which only changes with its state.
    due: Option<Timestamp>,
    /// Its state can't be written, and isn't tried again before this time.
    not_before: Timestamp,
}

impl<R: Region> Seat<R> {
    /// Rebuilds the region from its store.
    pub fn load(post: Arc<Post<R>>, epoch: Epoch) -> Result<Self, StoreError> {
        post.heart.trip(LOADING);
        let frame = &post.frame;
        let recovered = frame.store.recover(R::NAME)?;
        let state_hash = recovered.state_hash;
        let mut state = rebuilt::<R>(&frame.agent, recovered.root.as_deref(), &recovered.events)?;
        state.wake(&RecordView::new(&frame.store, R::NAME), &post.settings);
        // The hash also covers records, which aren't in the events: it continues from the last commit.
        let hash = match state_hash {
            0 => StableHash::default().get(),
            hash => hash,
        };
        post.heart.set_state_hash(hash);
        let backlog = Some(post.frame.store.head());
        let due = state.next_deadline(&post.settings);
        Ok(Self {
            incarnation: post.heart.begin_incarnation(),
            post,
            epoch,
            region: state,
            hash,
            snapshot_due: false,
            backlog,
            untold: 0,
            due,
            not_before: Timestamp::MIN,
        })
    }

    /// For replays: adds records that the room found when it was recorded and that nothing has written here.
    pub fn lay_out(&self, records: &[Record]) -> Step {
        let store = &self.post.frame.store;
        let is_missing = |key: &[u8]| matches!(store.record(R::NAME, key), Ok(None));
        let missing = records.iter().filter(|(key, _)| is_missing(key));
        let records: Vec<_> = missing.map(|(key, value)| (key.clone(), Some(value.as_slice().into()))).collect();
        if records.is_empty() {
            return Step::Done;
        }
        let commit = Commit { records, state_hash: self.hash, ..Commit::of(R::NAME, self.epoch) };
        store.accept(commit, |_| {}).map_or_else(refusal, |_| Step::Done)
    }

    pub fn region(&self) -> &R {
        &self.region
    }

    pub fn state_hash(&self) -> u64 {
        self.hash
    }

    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.due
    }

    /// Handles the next message. May panic in the region: the caller catches it.
    pub fn step(&mut self) -> Step {
        self.step_with(Inbox::take)
    }

    /// As [`Seat::step`], but leaves the control lane alone.
    pub fn step_data(&mut self) -> Step {
        self.step_with(Inbox::take_data)
    }

    fn step_with(&mut self, take: impl FnOnce(&Inbox, Epoch) -> Option<(Lane, Delivery)>) -> Step {
        let post = Arc::clone(&self.post);
        if post.heart.epoch() != self.epoch {
            return Step::Fenced;
        }
        let Some((lane, delivery)) = take(&post.inbox, self.epoch) else {
            return Step::Idle;
        };
        let now = post.frame.clock.now();
        let decided = self.decide(&post, Some(&delivery.envelope), now);
        let step = self.commit(&post, Some((lane, &delivery)), now, decided, None);
        if step == Step::Full {
            post.inbox.give_back(self.epoch, false);
        }
        step
    }

    /// Lets the region act on a deadline that has passed. The region may panic.
    ///
    /// After a start, earlier mail comes first: it may contain what a deadline waits for.
    pub fn tick(&mut self) -> Step {
        let post = Arc::clone(&self.post);
        if post.heart.epoch() != self.epoch {
            return Step::Fenced;
        }
        // The clock is only asked if needed, because this runs before each message.
        let Some(due) = self.due else { return Step::Idle };
        let now = post.frame.clock.now();
        if due > now || self.is_behind() {
            return Step::Idle;
        }
        let decided = self.decide(&post, None, now);
        self.commit(&post, None, now, decided, None)
    }

    fn is_behind(&mut self) -> bool {
        let waits = |backlog: &mut Lsn| self.post.inbox.low_water().is_some_and(|oldest| oldest <= *backlog);
        self.backlog = self.backlog.take_if(waits);
        self.backlog.is_some()
    }

    /// Handles a recorded input, or a recorded tick if there is no message, at the time `now`. The LSN is 0 for a
    /// message that isn't in this journal. If the recorded result is given, any other result is refused. Mail and clock
    /// don't change. May panic in the region.
    pub fn feed(&mut self, message: Option<(Lsn, Arc<Envelope>)>, now: Timestamp, recorded: Option<Recorded>) -> Step {
        let post = Arc::clone(&self.post);
        let decided = self.decide(&post, message.as_ref().map(|(_, envelope)| &**envelope), now);
        let lane_of = |envelope: &Envelope| post.inbox.lane_of(envelope.body().name(), envelope.body().lane());
        let lane = message.as_ref().map(|(_, envelope)| lane_of(envelope));
        let delivery = message.map(|(lsn, envelope)| Delivery { lsn, envelope, attempts: 0 });
        self.commit(&post, lane.zip(delivery.as_ref()), now, decided, recorded)
    }

    fn decide(&self, post: &Post<R>, message: Option<&Envelope>, now: Timestamp) -> Decided<R::Event> {
        let mut pulse = self.pulse(post, message, now);
        match message {
            None => {
                post.heart.trip("(tick)");
                self.region.tick(&mut pulse);
            }
            Some(envelope) => {
                let name = envelope.body().name();
                post.heart.trip(name);
                if let Some(handler) = post.card.handler(name) {
                    handler(&self.region, envelope, &mut pulse);
                }
            }
        }
        pulse.into_decided()
    }

    /// Buries the leased message as a dead letter, because it failed twice.
    pub fn bury(post: &Post<R>, epoch: Epoch, lane: Lane, delivery: &Delivery, why: &str) -> Step {
        let step = dead_letter::bury(&post.frame, &post.inbox, R::NAME, epoch, (lane, delivery), why);
        if step == Step::Done {
            post.heart.count_dead_letter();
        }
        step
    }

    fn pulse<'a>(&'a self, post: &'a Post<R>, heard: Option<&'a Envelope>, now: Timestamp) -> Pulse<'a, R> {
        let frame = &post.frame;
        let records = RecordView::new(&frame.store, R::NAME);
        let records = if frame.tap.is_some() { records.witnessed() } else { records };
        let input = match heard {
            Some(envelope) => Input::Heard(envelope),
            None => Input::Tick(post.heart.ticks_at(now)),
        };
        Pulse::new(&frame.agent, frame.seed, input, now, &*post.settings, records)
    }

    fn commit(
        &mut self,
        post: &Post<R>,
        input: Option<(Lane, &Delivery)>,
        now: Timestamp,
        decided: Decided<R::Event>,
        recorded: Option<Recorded>,
    ) -> Step {
        let consumed = input.and_then(|(lane, delivery)| consumed(lane, delivery));
        let is_empty = decided.is_empty();
        // An input without effect leaves no trace. After a crash it is decided again by the same state, unless the room
        // has committed something later, which passes it. On the control lane that would be different. And now and then
        // the room notes its progress, so that little is decided again when a neighbour keeps the journal.
        let says_so = consumed.is_some_and(|(lane, _)| lane == Lane::Control || self.untold >= UNTOLD);
        if is_empty && !says_so && recorded.is_none() {
            self.untold += 1;
            post.inbox.done(self.epoch);
            return Step::Done;
        }
        self.untold = 0;
        let events: Vec<Vec<u8>> = match decided.events.iter().map(written).collect() {
            Ok(events) => events,
            Err(error) => return Step::Refused(format!("its decision can't be serialized: {error}")),
        };
        debug_assert!(
            events.iter().all(|event| serde_json::from_slice::<R::Event>(event).is_ok()),
            "{} writes down what can't be read again, such as a number that isn't finite: {}",
            R::NAME,
            events.iter().map(|event| String::from_utf8_lossy(event)).collect::<Vec<_>>().join(", "),
        );
        let Decided { events: kept, output } = decided;
        let (anew, replaced_much) = (output.anew, output.replaced_much);
        let change = Change {
            region: R::NAME,
            epoch: self.epoch,
            incarnation: self.incarnation,
            consumed,
            is_empty,
            events,
            output,
        };
        let hash = change.hashed(self.hash);
        if !kept.is_empty() {
            kept.into_iter().for_each(|event| self.region.apply(event));
            self.due = self.region.next_deadline(&post.settings);
        }
        let root = if (self.snapshot_due && self.not_before <= now) || anew { self.snapshot(now) } else { None };
        let frame = &post.frame;
        let delivery = input.map(|(_, delivery)| delivery);
        match change.accept((frame, &post.inbox), delivery, now, root, hash, recorded) {
            Ok(accepted) => {
                if input.is_none() {
                    post.heart.count_tick(now);
                }
                self.hash = hash;
                post.heart.set_state_hash(hash);
                self.snapshot_due = accepted.snapshot_due;
                if replaced_much {
                    frame.store.has_replaced_much(R::NAME);
                }
                Step::Done
            }
            // The state contains what was not accepted, so this value is unusable either way.
            Err(step) => step,
        }
    }

    /// `None` when it can't be written: then the earlier root and the later events stay. A root that is too large for
    /// the store is made smaller first: a refusal would end the room for good.
    fn snapshot(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.post.heart.writes_state();
        let write = |region: &R| {
            let written = serde_json::to_vec(&Root { state: region });
            written.inspect_err(|error| tracing::error!(region = R::NAME, %error, "its state can't be serialized")).ok()
        };
        let root = write(&self.region)?;
        if root.len() <= PAYLOAD_BYTES {
            return Some(root);
        }
        let told = shed(&mut self.region, root.len());
        let root = told.and_then(|_| write(&self.region)).filter(|root| root.len() <= PAYLOAD_BYTES);
        self.due = self.region.next_deadline(&self.post.settings);
        match (told, &root) {
            (Some(Shed { before, after, entries }), Some(_)) => self.post.supervision.tell(&format!(
                "{} held {before} bytes, more than a room may; it dropped {entries} entries and holds {after} now",
                R::NAME
            )),
            _ => {
                self.not_before = now + TRY_AGAIN;
                self.post.supervision.tell(&format!(
                    "{} holds more than a room may and can't drop any of it; it continues with its journal, which grows",
                    R::NAME
                ));
            }
        }
        root
    }
}

/// An event in its journal form, without spare memory: it stays in memory until the next root.
fn written(event: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut result = Ok(());
    let bytes = scratch::through(|out| result = serde_json::to_writer(out, event), <[u8]>::to_vec);
    result.map(|()| bytes)
}

/// A region's state in the store, for a reader while it doesn't run. It isn't woken.
pub fn state_of<R: Region>(agent: &AgentId, store: &AgentStore) -> Result<R, StoreError> {
    let recovered = store.recover(R::NAME)?;
    rebuilt(agent, recovered.root.as_deref(), &recovered.events)
}

/// Applies the snapshot, then the events after it.
fn rebuilt<R: Region>(agent: &AgentId, root: Option<&[u8]>, events: &[Vec<u8>]) -> Result<R, StoreError> {
    let bad = |what: &str, error: serde_json::Error| StoreError::Damaged {
        agent: agent.to_string(),
        region: R::NAME.into(),
        what: what.into(),
        why: error.to_string(),
    };
    let mut state = match root {
        Some(bytes) => {
            let root: Root<R> = serde_json::from_slice(bytes).map_err(|error| bad("the snapshot", error))?;
            root.state
        }
        None => R::default(),
    };
    for bytes in events {
        state.apply(serde_json::from_slice(bytes).map_err(|error| bad("an event", error))?);
    }
    Ok(state)
}

/// The records that a region reads when it is rebuilt in its present state.
///
/// # Errors
/// Its state or a record can't be read.
pub fn woken_by<R: Region>(frozen: &Frozen, agent: &AgentId, settings: &R::Settings) -> Result<Vec<Listed>, String> {
    read_by::<R>(frozen, agent, |region, view| region.read_to_wake(view, settings))
}

pub(super) fn read_by<R: Region>(
    frozen: &Frozen,
    agent: &AgentId,
    read: impl FnOnce(&mut R, &RecordView<'_>),
) -> Result<Vec<Listed>, String> {
    let state = &frozen.state;
    let mut region = rebuilt::<R>(agent, state.root.as_deref(), &state.events).map_err(|error| error.to_string())?;
    let view = RecordView::frozen(frozen).listing();
    catch_unwind(AssertUnwindSafe(|| read(&mut region, &view))).map_err(|panic| panic_text(&*panic))?;
    Ok(view.into_listed())
}

#[cfg(test)]
mod tests;
