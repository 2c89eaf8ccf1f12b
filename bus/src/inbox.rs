//! Mail that outlives the actor that reads it.
//!
//! Control comes before data. Lossless messages stay in order; conflated and bounded kinds keep their place in the
//! order. A taken message is leased: it leaves the inbox only when its reader is done with it, so a panic loses
//! nothing.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;

use crate::ids::{Epoch, Lsn, RegionName};
use crate::signal::{Envelope, Lane, Policy};

/// A message and its position in the agent's order. [`Lsn`] 0 is mail that is in no journal.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub lsn: Lsn,
    pub envelope: Arc<Envelope>,
    /// 0 at first; 1 after a reader has failed on it.
    pub attempts: u32,
}

/// Counters of an inbox.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InboxCounters {
    pub depth: usize,
    pub high_water: usize,
    pub delivered: u64,
    pub conflated: u64,
    /// When the oldest waiting message was sent.
    pub oldest: Option<Timestamp>,
}

/// One room's mail. Push never blocks.
pub struct Inbox {
    owner: RegionName,
    /// Signals that this room takes on the control lane, whatever lane they are declared on.
    first: BTreeSet<&'static str>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    holder: Epoch,
    control: VecDeque<Delivery>,
    data: VecDeque<Slot>,
    latest: HashMap<(&'static str, String), Delivery>,
    leased: Option<(Lane, Delivery)>,
    waker: Option<Waker>,
    counters: InboxCounters,
}

/// A place in the data lane.
enum Slot {
    Message(Delivery),
    Latest(&'static str, String),
}

impl Inbox {
    pub fn new(owner: RegionName) -> Self {
        Self::hearing_first(owner, [])
    }

    /// An inbox whose room takes these signals before any data mail. For signals that free a resource that data mail
    /// fills: behind a backlog they would never arrive.
    pub fn hearing_first(owner: RegionName, first: impl IntoIterator<Item = &'static str>) -> Self {
        Self { owner, first: first.into_iter().collect(), state: Mutex::new(State::default()) }
    }

    /// The lane on which this room takes a signal that is declared on `declared`.
    pub fn lane_of(&self, signal: &str, declared: Lane) -> Lane {
        if self.first.contains(signal) { Lane::Control } else { declared }
    }

    pub fn owner(&self) -> RegionName {
        self.owner
    }

    pub fn push(&self, delivery: Delivery) {
        let body = delivery.envelope.body();
        let lane = self.lane_of(body.name(), body.lane());
        let mut state = self.state.lock();
        state.counters.delivered += 1;
        state.insert(lane, delivery);
        let depth = state.depth();
        state.counters.high_water = state.counters.high_water.max(depth);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Hands the inbox to a new incarnation. The old one's leased message returns to the head with one more attempt.
    pub fn seize(&self, epoch: Epoch) {
        if self.take_over(epoch).is_some() {
            self.give_back(epoch, false);
        }
    }

    /// As [`Inbox::seize`], but the old incarnation's leased message is leased to the new one, which decides about
    /// it.
    pub fn take_over(&self, epoch: Epoch) -> Option<(Lane, Delivery)> {
        let mut state = self.state.lock();
        state.holder = epoch;
        state.waker = None;
        state.fail_leased()
    }

    /// The reader failed on the leased message: its attempts grow by one. It stays leased, so the reader can give up
    /// on exactly this message, whatever has arrived since. None when nothing is leased.
    pub fn failed(&self, epoch: Epoch) -> Option<(Lane, Delivery)> {
        let mut state = self.state.lock();
        if state.holder == epoch { state.fail_leased() } else { None }
    }

    /// Leases the next message. None when there is no mail or `epoch` no longer holds the inbox.
    pub fn take(&self, epoch: Epoch) -> Option<(Lane, Delivery)> {
        self.lease(epoch, State::next)
    }

    /// As [`Inbox::take`], but only from the data lane.
    pub fn take_data(&self, epoch: Epoch) -> Option<(Lane, Delivery)> {
        self.lease(epoch, State::next_data)
    }

    fn lease(
        &self,
        epoch: Epoch,
        next: impl FnOnce(&mut State) -> Option<(Lane, Delivery)>,
    ) -> Option<(Lane, Delivery)> {
        let mut state = self.state.lock();
        if state.holder != epoch || state.leased.is_some() {
            return None;
        }
        let taken = next(&mut state)?;
        state.leased = Some(taken.clone());
        Some(taken)
    }

    /// The leased message is dealt with.
    pub fn done(&self, epoch: Epoch) {
        let mut state = self.state.lock();
        if state.holder == epoch {
            state.leased = None;
        }
    }

    /// The leased message goes back to the head. `failed` counts as an attempt.
    pub fn give_back(&self, epoch: Epoch, failed: bool) {
        let mut state = self.state.lock();
        if state.holder == epoch {
            state.put_back(failed);
        }
    }

    /// Wakes `waker` at the next push. False when mail is already waiting, so no message is missed.
    pub fn park(&self, epoch: Epoch, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.holder != epoch {
            return true;
        }
        if state.depth() > 0 {
            return false;
        }
        state.waker = Some(waker.clone());
        true
    }

    /// Wakes the reader without mail, for a request that waits elsewhere.
    pub fn nudge(&self) {
        let waker = self.state.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The oldest journalled message that is not dealt with. The journal is kept from there on.
    pub fn low_water(&self) -> Option<Lsn> {
        let state = self.state.lock();
        let waiting = state.data.iter().filter_map(|slot| match slot {
            Slot::Message(delivery) if delivery.lsn > Lsn(0) => Some(delivery.lsn),
            _ => None,
        });
        let control = state.control.iter().map(|d| d.lsn).filter(|lsn| *lsn > Lsn(0)).min();
        let leased = state.leased.as_ref().map(|(_, d)| d.lsn).filter(|lsn| *lsn > Lsn(0));
        // The data lane is in order of sequence numbers, so its first number is its smallest.
        waiting.take(1).chain(control).chain(leased).min()
    }

    /// Journalled messages below an LSN that are not dealt with.
    pub fn unread_below(&self, below: Lsn) -> Vec<Lsn> {
        let state = self.state.lock();
        let data = state.data.iter().filter_map(|slot| match slot {
            Slot::Message(delivery) => Some(delivery),
            Slot::Latest(..) => None,
        });
        let all = data.chain(&state.control).chain(state.leased.as_ref().map(|(_, delivery)| delivery));
        // Mail outside the journal carries the number of the message before it.
        let journalled = all.filter(|delivery| delivery.envelope.body().policy() == Policy::Lossless);
        journalled.map(|delivery| delivery.lsn).filter(|lsn| *lsn > Lsn(0) && *lsn < below).collect()
    }

    /// The reader has dealt with all mail, has looked since the last nudge, and sleeps until more comes.
    pub fn is_awaited(&self) -> bool {
        let state = self.state.lock();
        state.depth() == 0 && state.leased.is_none() && state.waker.is_some()
    }

    /// How many messages wait.
    pub fn depth(&self) -> usize {
        self.state.lock().depth()
    }

    pub fn counters(&self) -> InboxCounters {
        let state = self.state.lock();
        let mut counters = state.counters.clone();
        counters.depth = state.depth();
        counters.oldest = state.oldest();
        counters
    }
}

impl State {
    fn insert(&mut self, lane: Lane, delivery: Delivery) {
        if lane == Lane::Control {
            self.control.push_back(delivery);
            return;
        }
        let body = delivery.envelope.body();
        match body.policy() {
            Policy::Lossless | Policy::Transient => self.data.push_back(Slot::Message(delivery)),
            Policy::Latest => {
                let (name, key) = (body.name(), body.key());
                if self.latest.insert((name, key.clone()), delivery).is_some() {
                    self.counters.conflated += 1;
                } else {
                    self.data.push_back(Slot::Latest(name, key));
                }
            }
        }
    }

    fn next(&mut self) -> Option<(Lane, Delivery)> {
        if let Some(delivery) = self.control.pop_front() {
            return Some((Lane::Control, delivery));
        }
        self.next_data()
    }

    fn next_data(&mut self) -> Option<(Lane, Delivery)> {
        let delivery = match self.data.pop_front()? {
            Slot::Message(delivery) => Some(delivery),
            Slot::Latest(name, key) => self.latest.remove(&(name, key)),
        };
        delivery.map(|delivery| (Lane::Data, delivery))
    }

    fn fail_leased(&mut self) -> Option<(Lane, Delivery)> {
        let (lane, delivery) = self.leased.as_mut()?;
        delivery.attempts += 1;
        Some((*lane, delivery.clone()))
    }

    fn put_back(&mut self, failed: bool) {
        if let Some((lane, mut delivery)) = self.leased.take() {
            delivery.attempts += u32::from(failed);
            match lane {
                Lane::Control => self.control.push_front(delivery),
                Lane::Data => self.data.push_front(Slot::Message(delivery)),
            }
        }
    }

    fn depth(&self) -> usize {
        self.control.len() + self.data.len()
    }

    fn oldest(&self) -> Option<Timestamp> {
        let data = self.data.front().and_then(|slot| match slot {
            Slot::Message(delivery) => Some(delivery),
            Slot::Latest(name, key) => self.latest.get(&(*name, key.clone())),
        });
        let control = self.control.front();
        control.into_iter().chain(data).map(|delivery| delivery.envelope.meta.at).min()
    }
}
