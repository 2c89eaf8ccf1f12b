//! Who waits for what on a channel. Outlives the channel's actor.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::{Inbound, InboundAccepted};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Trust};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::effectors::door::Door;

/// Ended turns that are kept for those who ask a little late.
const RECENT: usize = 4096;

/// A message on its way in.
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
}

/// Something for a listener of the channel.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    Reply { turn: MessageId, recipient: String, text: String },
    Ended(TurnEnded),
}

#[derive(Default)]
struct State {
    acknowledgements: HashMap<MessageId, oneshot::Sender<Result<Accepted, String>>>,
    turns: HashMap<MessageId, Vec<oneshot::Sender<TurnEnded>>>,
    recent: VecDeque<TurnEnded>,
    listeners: Vec<mpsc::UnboundedSender<Said>>,
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

    /// Hands a message in. The answer comes when it is on disk, or with the reason why it can't be.
    pub fn submit(&self, submission: Submission) -> oneshot::Receiver<Result<Accepted, String>> {
        let id = self.door.fresh_id();
        let (tell, told) = oneshot::channel();
        self.state.lock().acknowledgements.insert(id, tell);
        let Submission { channel, sender, body, provider_id, trust } = submission;
        self.door.receive(self.actor, Inbound { id, channel, sender, body, provider_id, trust });
        told
    }

    /// The end of a turn, also if it has ended already.
    pub fn turn(&self, turn: MessageId) -> oneshot::Receiver<TurnEnded> {
        let (tell, told) = oneshot::channel();
        let mut state = self.state.lock();
        match state.recent.iter().rev().find(|ended| ended.turn == turn) {
            Some(ended) => {
                let _ = tell.send(ended.clone());
            }
            None => state.turns.entry(turn).or_default().push(tell),
        }
        told
    }

    /// Everything that is said on this channel from now on.
    pub fn listen(&self) -> mpsc::UnboundedReceiver<Said> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.state.lock().listeners.push(sender);
        receiver
    }

    pub(super) fn waits_for(&self, inbound: MessageId) -> bool {
        self.state.lock().acknowledgements.contains_key(&inbound)
    }

    pub(super) fn accepted(&self, accepted: &InboundAccepted, durable: Result<(), String>) {
        if let Some(tell) = self.state.lock().acknowledgements.remove(&accepted.inbound) {
            let answer = Accepted { percept: accepted.percept, repeated: accepted.repeated };
            let _ = tell.send(durable.map(|()| answer));
        }
    }

    pub(super) fn say(&self, outbound: &Outbound) {
        let Outbound { turn, recipient, text, .. } = outbound.clone();
        self.tell_listeners(Said::Reply { turn, recipient, text });
    }

    pub(super) fn ended(&self, ended: TurnEnded) {
        let mut state = self.state.lock();
        for tell in state.turns.remove(&ended.turn).unwrap_or_default() {
            let _ = tell.send(ended.clone());
        }
        state.recent.push_back(ended.clone());
        if state.recent.len() > RECENT {
            state.recent.pop_front();
        }
        drop(state);
        self.tell_listeners(Said::Ended(ended));
    }

    fn tell_listeners(&self, said: Said) {
        self.state.lock().listeners.retain(|listener| listener.send(said.clone()).is_ok());
    }
}
