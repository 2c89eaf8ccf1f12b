//! The model's replies from a recording, so that a session can be replayed without a model.

use std::collections::HashMap;
use std::path::Path;

use maxim_actors::effectors::llm_worker::Tape;
use maxim_bus::signals::thought::{ModelCall, ModelReply};
use maxim_bus::{Envelope, MessageId, Meta, Signal};
use serde::de::DeserializeOwned;

use super::{RecorderError, Recording};

impl Recording {
    /// The tape of a file.
    ///
    /// # Errors
    /// See [`Recording::read`].
    pub fn tape_of(path: &Path) -> Result<Tape, RecorderError> {
        Ok(Self::read(path)?.tape(&path.display().to_string()))
    }

    /// Calls with their replies, in order. `name` is used in error messages.
    pub fn tape(&self, name: &str) -> Tape {
        let calls = self.signals_of::<ModelCall>();
        let replies = self.signals_of::<ModelReply>().into_iter().map(|(_, reply)| (reply.call, reply));
        let mut replies: HashMap<MessageId, ModelReply> = replies.collect();
        let taped = calls.into_iter().filter_map(|(_, call)| replies.remove(&call.call).map(|reply| (call, reply)));
        Tape::new(name, taped)
    }

    /// The signals of one kind, oldest first.
    pub(super) fn signals_of<S: Signal + DeserializeOwned>(&self) -> Vec<(Meta, S)> {
        let read = |encoded: &Vec<u8>| {
            let (meta, body) = Envelope::split(encoded).ok().filter(|(meta, _)| meta.name == S::NAME)?;
            Some((meta, serde_json::from_slice(body).ok()?))
        };
        let mut found: Vec<(Meta, S)> = self.signals.values().filter_map(read).collect();
        found.sort_by_key(|(meta, _)| (meta.at, meta.id));
        found
    }
}
