//! A question that another room has to be asked for: who asked is answered when that room has spoken, or in time without.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::{MessageId, Name, Signal};
use serde::{Deserialize, Serialize};

use super::{Emits, Pulse, Region};

/// A question that was heard and isn't answered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting<Q> {
    asker: Name,
    turn: MessageId,
    id: MessageId,
    /// When it is answered without what it waits for.
    pub due: Timestamp,
    #[serde(alias = "asked")]
    pub question: Q,
}

impl<Q> Waiting<Q> {
    /// What is being heard; nothing on a tick.
    pub fn heard<R: Region>(pulse: &Pulse<'_, R>, due: Timestamp, question: Q) -> Option<Self> {
        let cause = pulse.cause()?;
        Some(Self { asker: cause.sender.clone(), turn: cause.correlation, id: cause.id, due, question })
    }

    pub fn answer<R, S>(&self, pulse: &mut Pulse<'_, R>, answer: S)
    where
        R: Region + Emits<S>,
        S: Signal,
    {
        pulse.answer_to(self.asker.clone(), self.turn, self.id, answer);
    }
}

/// Questions that wait, by the id of what another room was asked for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Questions<Q>(BTreeMap<MessageId, Box<Waiting<Q>>>);

impl<Q> Default for Questions<Q> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<Q> Questions<Q> {
    pub fn insert(&mut self, asked: MessageId, waiting: Box<Waiting<Q>>) {
        self.0.insert(asked, waiting);
    }

    pub fn remove(&mut self, asked: MessageId) {
        self.0.remove(&asked);
    }

    pub fn get(&self, asked: MessageId) -> Option<&Waiting<Q>> {
        self.0.get(&asked).map(Box::as_ref)
    }

    /// When the first of them is answered without what it waits for.
    pub fn due(&self) -> Option<Timestamp> {
        self.0.values().map(|waiting| waiting.due).min()
    }

    /// Those whose time is over.
    pub fn overdue(&self, now: Timestamp) -> Vec<MessageId> {
        self.0.iter().filter(|(_, waiting)| waiting.due <= now).map(|(asked, _)| *asked).collect()
    }
}
