//! Waiting for other rooms: a question that first needs another room's answer, and questions to several rooms at once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::{Addressed, MessageId, Name, Query, RegionName, Signal};
use serde::{Deserialize, Serialize};

use super::{Emits, Pulse, Region};

/// A question that was heard and isn't answered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting<Q> {
    asker: Name,
    turn: MessageId,
    id: MessageId,
    /// When it is answered even without what it waits for.
    pub due: Timestamp,
    pub question: Q,
}

impl<Q> Waiting<Q> {
    /// The heard message as a waiting question; `None` on a tick.
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

/// Waiting questions, by the id of the question that was sent to another room for them.
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

    /// When the first of them must be answered.
    pub fn due(&self) -> Option<Timestamp> {
        self.0.values().map(|waiting| waiting.due).min()
    }

    /// Questions whose time is over.
    pub fn overdue(&self, now: Timestamp) -> Vec<MessageId> {
        self.0.iter().filter(|(_, waiting)| waiting.due <= now).map(|(asked, _)| *asked).collect()
    }
}

/// Questions to several rooms with one deadline. `Q` says what a question is for; usually it is the asked room.
///
/// A gather stored by an older build reads as empty and due at once, so its room goes on with what it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gather<Q> {
    /// When the room goes on without the missing answers.
    pub due: Timestamp,
    /// Unanswered questions, in the order of asking.
    asked: Vec<(MessageId, Q)>,
}

impl<Q> Default for Gather<Q> {
    fn default() -> Self {
        Self::until(Timestamp::UNIX_EPOCH)
    }
}

impl<Q> Gather<Q> {
    pub fn until(due: Timestamp) -> Self {
        Self { due, asked: Vec::new() }
    }

    /// Asks the room that answers this kind of question, and waits for its answer under the room's name.
    pub fn ask<R, S>(&mut self, question: S, pulse: &mut Pulse<'_, R>)
    where
        R: Region + Emits<S>,
        S: Addressed,
        Q: From<RegionName>,
    {
        self.ask_for(S::OF.into(), question, pulse);
    }

    /// The same, with a given purpose.
    pub fn ask_for<R, S>(&mut self, what: Q, question: S, pulse: &mut Pulse<'_, R>) -> MessageId
    where
        R: Region + Emits<S>,
        S: Addressed,
    {
        self.ask_room(what, S::OF, question, pulse)
    }

    /// Asks one of several rooms that answer this kind of question, and waits under a given purpose.
    pub fn ask_room<R, S>(&mut self, what: Q, room: RegionName, question: S, pulse: &mut Pulse<'_, R>) -> MessageId
    where
        R: Region + Emits<S>,
        S: Query,
    {
        let question = pulse.ask_room(room, question);
        self.asked.push((question, what));
        question
    }

    /// The open question whose answer the room hears now.
    pub fn answered<R: Region>(&self, pulse: &Pulse<'_, R>) -> Option<MessageId> {
        let question = pulse.cause()?.cause?;
        self.asked.iter().any(|(asked, _)| *asked == question).then_some(question)
    }

    /// Closes the open question whose answer the room hears now; returns its purpose.
    pub fn take<R: Region>(&mut self, pulse: &Pulse<'_, R>) -> Option<Q> {
        let question = pulse.cause()?.cause?;
        let place = self.asked.iter().position(|(asked, _)| *asked == question)?;
        Some(self.asked.remove(place).1)
    }

    /// Marks a question as answered.
    pub fn close(&mut self, question: MessageId) {
        self.asked.retain(|(asked, _)| *asked != question);
    }

    /// Notes that the question for this purpose is answered.
    pub fn close_for(&mut self, what: &str)
    where
        Q: AsRef<str>,
    {
        self.asked.retain(|(_, asked)| asked.as_ref() != what);
    }

    /// Whether every question is answered.
    pub fn is_whole(&self) -> bool {
        self.asked.is_empty()
    }

    /// True if an answer is missing from a room that isn't held.
    pub fn waits(&self, held: &BTreeSet<String>) -> bool
    where
        Q: AsRef<str>,
    {
        self.missing().any(|room| !held.contains(room.as_ref()))
    }

    /// The purposes without an answer, in the order of asking.
    pub fn missing(&self) -> impl Iterator<Item = &Q> {
        self.asked.iter().map(|(_, what)| what)
    }

    /// Gives up waiting for the missing answers.
    pub fn give_up(&mut self) -> impl Iterator<Item = Q> + use<Q> {
        std::mem::take(&mut self.asked).into_iter().map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rooms: &[&str]) -> Gather<String> {
        let ids = (1..).map(|n| MessageId::from_parts(n, 1));
        let asked = ids.zip(rooms).map(|(id, room)| (id, (*room).to_owned())).collect();
        Gather { due: Timestamp::UNIX_EPOCH, asked }
    }

    #[test]
    fn it_waits_until_each_room_has_answered_that_is_not_held() {
        let mut gather = asked(&["hippocampus", "scene", "energy"]);
        let held = BTreeSet::from(["energy".to_owned()]);
        gather.close_for("hippocampus");
        assert!(gather.waits(&held));
        gather.close(MessageId::from_parts(2, 1));
        assert!(!gather.waits(&held) && !gather.is_whole(), "a held room is missing, and is not waited for");
        assert_eq!(gather.missing().collect::<Vec<_>>(), ["energy"]);
        assert!(gather.waits(&BTreeSet::new()));
        assert_eq!(gather.give_up().collect::<Vec<_>>(), ["energy"]);
        assert!(gather.is_whole());
    }

    #[test]
    fn one_that_an_older_build_stored_waits_for_nobody() {
        let read: Gather<String> = serde_json::from_str("{}").expect("defaults");
        assert!(read.is_whole() && read.due == Timestamp::UNIX_EPOCH);
        let gather = asked(&["scene"]);
        let again: Gather<String> =
            serde_json::from_value(serde_json::to_value(&gather).expect("plain")).expect("read");
        assert_eq!(again, gather);
    }
}
