//! A question that another room has to be asked for: who asked is answered when that room has spoken, or in time without.

use jiff::Timestamp;
use maxim_bus::{MessageId, Signal};
use serde::{Deserialize, Serialize};

use super::{Emits, Pulse, Region};

/// A question that was heard and isn't answered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting<Q> {
    asker: String,
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
        pulse.answer_to(&self.asker, self.turn, self.id, answer);
    }
}
