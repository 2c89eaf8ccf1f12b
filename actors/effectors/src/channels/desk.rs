//! The waiters of a channel. They outlive the channel's actor.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use maxim_bus::bounds::SOCKET_BACKLOG;
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::{Inbound, InboundAccepted, Retry};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, RegionName, Trust};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::door::Door;
use maxim_region::{Effector, Operation};

/// Ended turns that are kept for late questions.
const RECENT: usize = 4096;
/// Below this number of entries, no search for dropped waiters.
const LOOK_FROM: usize = 64;

/// An incoming message. The desk checks the bounds of its fields, whichever door it came by.
#[derive(Clone, Debug)]
pub struct Submission {
    pub channel: String,
    pub sender: String,
    pub body: String,
    pub provider_id: Option<String>,
    pub trust: Trust,
}

/// The brain has it, on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub percept: MessageId,
    pub repeated: bool,
    /// Another request had this key before: nothing was made of this one.
    pub differs: bool,
}

/// A message for a listener of the channel.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    Reply { turn: MessageId, recipient: String, text: String },
    Ended(TurnEnded),
}

type Acknowledgement = oneshot::Sender<Result<Accepted, String>>;

#[derive(Default)]
struct State {
    acknowledgements: HashMap<MessageId, Acknowledgement>,
    turns: HashMap<MessageId, Vec<oneshot::Sender<Result<TurnEnded, String>>>>,
    /// The newest ended turns, and the order in which they ended.
    recent: HashMap<MessageId, TurnEnded>,
    recent_order: VecDeque<MessageId>,
    /// At this number of entries, the next search for dropped waiters.
    looked_at_from: usize,
    listeners: Vec<mpsc::Sender<Said>>,
}

impl State {
    /// Removes entries of dropped waiters, so that a turn that never ends doesn't keep its entry forever.
    fn forget_the_gone(&mut self) {
        let entries = self.acknowledgements.len() + self.turns.len();
        if entries < self.looked_at_from {
            return;
        }
        self.acknowledgements.retain(|_, tell| !tell.is_closed());
        self.turns.retain(|_, waiting| {
            waiting.retain(|tell| !tell.is_closed());
            !waiting.is_empty()
        });
        // Doubling keeps the cost of searching proportional to the number of messages.
        self.looked_at_from = (2 * (self.acknowledgements.len() + self.turns.len())).max(LOOK_FROM);
    }
}

/// One channel's desk.
pub struct Desk {
    door: Arc<Door>,
    actor: RegionName,
    state: Mutex<State>,
}

impl Desk {
    pub fn new(door: Arc<Door>, actor: RegionName) -> Arc<Self> {
        Arc::new(Self { door, actor, state: Mutex::new(State::default()) })
    }

    pub fn door(&self) -> &Arc<Door> {
        &self.door
    }

    /// Submits a message. The answer comes when it is on disk, or with the reason why it isn't.
    pub fn submit(&self, submission: Submission) -> oneshot::Receiver<Result<Accepted, String>> {
        self.hand_in(submission, None, false, None)
    }

    /// The same for a message that its provider has signed, including its id.
    pub fn submit_signed(&self, submission: Submission) -> oneshot::Receiver<Result<Accepted, String>> {
        self.hand_in(submission, None, true, None)
    }

    /// The same for spoken words, with the recogniser's confidence.
    pub fn hear(&self, submission: Submission, sure: Confidence) -> oneshot::Receiver<Result<Accepted, String>> {
        self.hand_in(submission, Some(sure), false, None)
    }

    /// The same for what a client may send again; `sure`: it was spoken.
    pub fn submit_once(
        &self,
        submission: Submission,
        sure: Option<Confidence>,
        retry: Option<Retry>,
    ) -> oneshot::Receiver<Result<Accepted, String>> {
        self.hand_in(submission, sure, false, retry)
    }

    fn hand_in(
        &self,
        submission: Submission,
        heard: Option<Confidence>,
        is_signed: bool,
        retry: Option<Retry>,
    ) -> oneshot::Receiver<Result<Accepted, String>> {
        let id = self.door.fresh_id();
        let (tell, told) = oneshot::channel();
        let Submission { channel, sender, body, provider_id, trust } = submission;
        let inbound = Inbound { id, channel, sender, body, provider_id, trust, heard, is_signed, moving: false, retry };
        if let Err(why) = inbound.check() {
            let _ = tell.send(Err(why.to_string()));
            return told;
        }
        let mut state = self.state.lock();
        state.forget_the_gone();
        state.acknowledgements.insert(id, tell);
        drop(state);
        self.door.receive(self.actor, inbound);
        told
    }

    /// The end of a turn, even if it has ended already; or why the end won't be known here.
    pub fn turn(&self, turn: MessageId) -> oneshot::Receiver<Result<TurnEnded, String>> {
        let (tell, told) = oneshot::channel();
        let mut state = self.state.lock();
        state.forget_the_gone();
        match state.recent.get(&turn) {
            Some(ended) => {
                let _ = tell.send(Ok(ended.clone()));
            }
            None => state.turns.entry(turn).or_default().push(tell),
        }
        told
    }

    /// Everything that is said on this channel from now on. For a listener that doesn't fetch, the receiver ends.
    pub fn listen(&self) -> mpsc::Receiver<Said> {
        let (sender, receiver) = mpsc::channel(SOCKET_BACKLOG.limit);
        self.state.lock().listeners.push(sender);
        receiver
    }

    /// The gateway has a message: its sender is told once it is on disk, or why it isn't.
    pub(super) async fn acknowledge<E: Effector>(&self, accepted: &InboundAccepted, operation: &Operation<E>) {
        self.door.accepted(accepted.inbound, accepted.percept);
        if !self.waits_for(accepted.inbound) {
            return;
        }
        let durable = operation.hands.durable(operation.lsn).await.map_err(|error| error.to_string());
        if let Some(tell) = self.state.lock().acknowledgements.remove(&accepted.inbound) {
            let InboundAccepted { percept, repeated, differs, .. } = *accepted;
            let answer = Accepted { percept, repeated, differs };
            let _ = tell.send(durable.map(|()| answer));
        }
    }

    fn waits_for(&self, inbound: MessageId) -> bool {
        self.state.lock().acknowledgements.contains_key(&inbound)
    }

    /// The acknowledgement won't come: its waiter is told at once.
    pub(super) fn acknowledgement_lost(&self, inbound: MessageId, why: &str) {
        if let Some(tell) = self.state.lock().acknowledgements.remove(&inbound) {
            let _ = tell.send(Err(format!("{why}; send it again with the same provider_id")));
        }
    }

    /// The end of the turn won't be known here: its waiter is told at once.
    pub(super) fn end_lost(&self, turn: MessageId, why: &str) {
        let waiting = self.state.lock().turns.remove(&turn);
        for tell in waiting.unwrap_or_default() {
            let _ = tell.send(Err(format!("the end of turn {turn} was lost: {why}; see `maxim why {turn}`")));
        }
    }

    /// The numbers of waiters for an acknowledgement, and for the end of a turn.
    pub fn waiting(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.acknowledgements.len(), state.turns.values().map(Vec::len).sum())
    }

    /// True if somebody waits here for an acknowledgement, the end of a turn, or messages.
    pub fn is_awaited(&self) -> bool {
        let state = self.state.lock();
        state.acknowledgements.values().any(|tell| !tell.is_closed())
            || state.turns.values().flatten().any(|tell| !tell.is_closed())
            || state.listeners.iter().any(|listener| !listener.is_closed())
    }

    pub(super) fn say(&self, outbound: &Outbound) {
        let Outbound { turn, recipient, text, .. } = outbound.clone();
        self.tell_listeners(Said::Reply { turn, recipient, text });
    }

    pub(super) fn ended(&self, ended: TurnEnded) {
        let mut state = self.state.lock();
        for tell in state.turns.remove(&ended.turn).unwrap_or_default() {
            let _ = tell.send(Ok(ended.clone()));
        }
        if state.recent.insert(ended.turn, ended.clone()).is_none() {
            state.recent_order.push_back(ended.turn);
        }
        if state.recent_order.len() > RECENT
            && let Some(oldest) = state.recent_order.pop_front()
        {
            state.recent.remove(&oldest);
        }
        drop(state);
        self.tell_listeners(Said::Ended(ended));
    }

    fn tell_listeners(&self, said: Said) {
        self.state.lock().listeners.retain(|listener| listener.try_send(said.clone()).is_ok());
    }
}
