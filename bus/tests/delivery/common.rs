//! Signals of each policy and lane, and a reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use jiff::Timestamp;
use maxim_bus::signal::{NotRead, Policy, decode_json};
use maxim_bus::{AgentId, Delivery, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Signal, Stage, Trust};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Word(pub u32);
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command(pub u32);
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame(pub u8, pub u32);
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deed(pub u32);

maxim_bus::signal! {
    Word: Perception, Lossless;
    Command: Anywhere, Lossless, Control;
    Deed: Action, Lossless;
}

impl Signal for Frame {
    const NAME: &'static str = "Frame";
    const STAGE: Stage = Stage::Perception;
    const POLICY: Policy = Policy::Latest;

    fn decode(bytes: &[u8]) -> Result<Self, NotRead> {
        decode_json(bytes)
    }

    fn key(&self) -> String {
        self.0.to_string()
    }
}

pub fn envelope<S: Signal>(signal: S, to: Option<&'static str>) -> Arc<Envelope> {
    let id = MessageId::from_parts(1, 1);
    let meta = Meta {
        id,
        agent: AgentId::new("bench").expect("a good name"),
        name: S::NAME.into(),
        cause: None,
        correlation: id,
        at: Timestamp::UNIX_EPOCH,
        sender: "test".into(),
        trust: Trust::Own,
        to: to.map(Into::into),
    };
    Arc::new(Envelope::new(meta, Arc::new(signal)))
}

pub fn delivery<S: Signal>(lsn: u64, signal: S) -> Delivery {
    Delivery { lsn: Lsn(lsn), envelope: envelope(signal, None), attempts: 0 }
}

/// An inbox read by epoch 1.
pub fn inbox() -> Inbox {
    let inbox = Inbox::new("room");
    inbox.seize(Epoch(1));
    inbox
}

/// The body's debug text: its kind and its number.
pub fn said(delivery: &Delivery) -> String {
    format!("{:?}", delivery.envelope.body())
}

/// Reads all messages and finishes each.
pub fn read_all(inbox: &Inbox, epoch: Epoch) -> Vec<String> {
    let mut all = Vec::new();
    while let Some((_, taken)) = inbox.take(epoch) {
        all.push(said(&taken));
        inbox.done(epoch);
    }
    all
}

/// Counts how often it is woken.
#[derive(Default)]
pub struct Bell(pub AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
