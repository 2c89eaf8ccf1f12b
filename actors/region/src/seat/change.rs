//! The result of an input without the room's own types. Hashing and committing it is written once for all rooms, so it
//! stays in the processor's cache.

use std::sync::Arc;

use jiff::Timestamp;
use maxim_bus::hash::StableHash;
use maxim_bus::signal::Policy;
use maxim_bus::{Delivery, Envelope, Epoch, Inbox, Lane, Lsn, RegionName};

use super::super::post::Frame;
use super::super::pulse::Output;
use super::{InputRecord, Recorded, Step, key_hash};
use maxim_store::{AcceptError, Accepted, Commit};

/// A room's decision on one input, with serialised events.
pub(super) struct Change {
    pub region: RegionName,
    pub epoch: Epoch,
    pub incarnation: u32,
    pub consumed: Option<(Lane, Lsn)>,
    /// Nothing was decided: the room only notes its progress.
    pub is_empty: bool,
    pub events: Vec<Vec<u8>>,
    pub output: Output,
}

impl Change {
    /// The room's state hash after it, computed from the hash before.
    pub fn hashed(&self, before: u64) -> u64 {
        let mut hash = StableHash::resume(before);
        for part in &self.events {
            hash = hash.add_long(part);
        }
        for (key, value) in &self.output.records {
            hash = hash.add_long(key).add_long(value.as_deref().unwrap_or_default());
        }
        hash.get()
    }

    /// One commit: journalled, published in order, and recorded if a tap is set. `root` goes with it if one is due, and
    /// `hash` is the room's hash after it. With a `recorded` result, any other result is refused.
    pub fn accept(
        self,
        (frame, inbox): (&Frame, &Inbox),
        input: Option<&Delivery>,
        now: Timestamp,
        root: Option<Vec<u8>>,
        hash: u64,
        recorded: Option<Recorded>,
    ) -> Result<Accepted, Step> {
        let Self { region, epoch, incarnation, consumed, is_empty, events, output } = self;
        let Output { records, emissions, found, .. } = output;
        let wrote = match frame.tap {
            Some(_) => records.iter().map(|(key, _)| key_hash(key)).collect(),
            None => Vec::new(),
        };
        let envelopes: Vec<Arc<Envelope>> =
            emissions.into_iter().map(|(meta, body)| Arc::new(Envelope::new(meta, body))).collect();
        let journalled = envelopes.iter().filter(|envelope| envelope.body().policy() == Policy::Lossless);
        let emissions = journalled.map(|envelope| envelope.encoded()).collect();
        let commit = Commit { region, epoch, consumed, events, emissions, records, root, state_hash: hash };
        // Encoding and hashing come before the agent's order is locked, so that no other room waits for them.
        let wanted = frame.tap.is_some() || recorded.is_some();
        let decision_hash = if wanted { decision_hash(&envelopes) } else { 0 };
        let came = Recorded { decision_hash, state_hash: hash };
        if recorded.is_some_and(|recorded| recorded != came) {
            return Err(Step::Refused("its result differs from the recorded one".into()));
        }
        let accepted = frame.store.accept(commit, |accepted| {
            // In the same critical section as the commit. Otherwise, if this incarnation is fenced right after the
            // commit, its successor would get the message and decide it a second time.
            if input.is_some() {
                inbox.done(epoch);
            }
            frame.publish(accepted, &envelopes);
            if let Some(tap) = frame.tap.as_ref().filter(|_| !is_empty) {
                tap.input(InputRecord {
                    region,
                    epoch,
                    incarnation,
                    message: input.map(|delivery| Arc::clone(&delivery.envelope)),
                    taken_at: now,
                    lsn: accepted.lsn,
                    state_hash: hash,
                    decision_hash,
                    found,
                    wrote,
                });
            }
        });
        accepted.map_err(refusal)
    }
}

impl Frame {
    /// Publishes in order; signals that aren't journalled get the number of the preceding one.
    pub(crate) fn publish(&self, accepted: &Accepted, envelopes: &[Arc<Envelope>]) -> Lsn {
        let mut newest = accepted.lsn;
        let mut next = accepted.first_emission;
        for envelope in envelopes {
            if envelope.body().policy() == Policy::Lossless {
                newest = next;
                next = Lsn(next.0 + 1);
            }
            self.bus.publish(newest, envelope);
            if let Some(tap) = &self.tap {
                tap.emitted(newest, envelope);
            }
        }
        newest
    }
}

/// How far the room's cursor moves with a message; `None` for messages that aren't journalled.
pub fn consumed(lane: Lane, delivery: &Delivery) -> Option<(Lane, Lsn)> {
    let journalled = delivery.lsn > Lsn(0) && delivery.envelope.body().policy() == Policy::Lossless;
    journalled.then_some((lane, delivery.lsn))
}

/// The step's result if its commit wasn't accepted.
pub fn refusal(error: AcceptError) -> Step {
    match error {
        AcceptError::Fenced { .. } => Step::Fenced,
        // A closed store accepts nothing more, and waiting messages are in its journal.
        AcceptError::Full { .. } | AcceptError::Closed => Step::Full,
        other => Step::Refused(other.to_string()),
    }
}

/// Hash of an input's result, in order; without any, that of an empty slice.
pub fn decision_hash(envelopes: &[Arc<Envelope>]) -> u64 {
    envelopes.iter().fold(StableHash::default(), |hash, envelope| hash.add_long(&envelope.encoded())).get()
}
