//! The corridor of one agent: who hears what, fixed when the agent is built.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::ids::{Lsn, RegionName};
use crate::inbox::{Delivery, Inbox};
use crate::signal::{Body, Envelope, Lane, NotRead, Signal, Stage};

type Decode = fn(&[u8]) -> Result<Arc<dyn Body>, NotRead>;
type Heeds = Box<dyn Fn(&dyn Body) -> bool + Send + Sync>;

/// Who hears a signal, and which messages of that signal.
struct Hearer {
    inbox: Arc<Inbox>,
    heeds: Option<Heeds>,
}

impl Hearer {
    fn heeds(&self, body: &dyn Body) -> bool {
        self.heeds.as_ref().is_none_or(|heeds| heeds(body))
    }
}

/// A card that the corridor refuses.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WiringError {
    #[error(
        "{signal} (stage {from:?}) would go back to {hearer} (stage {to:?}); list it under `back` on its card if it belongs to the next turn"
    )]
    GoesBack { signal: &'static str, from: Stage, hearer: RegionName, to: Stage },
    #[error("{emitter} (stage {stage:?}) may not emit {signal}, which belongs to stage {of:?}")]
    WrongStage { emitter: RegionName, stage: Stage, signal: &'static str, of: Stage },
    #[error("{signal} is emitted by {emitter}, but no room hears it")]
    Unheard { signal: &'static str, emitter: RegionName },
    #[error("{hearer} hears {signal}, but no room emits it")]
    Unspoken { signal: &'static str, hearer: RegionName },
    #[error("two rooms are named {0}")]
    Twice(RegionName),
}

/// Collects the cards, checks them, and makes the bus.
#[derive(Default)]
pub struct BusBuilder {
    inboxes: BTreeMap<RegionName, Arc<Inbox>>,
    hearers: FxHashMap<&'static str, Vec<Hearer>>,
    decoders: FxHashMap<&'static str, (Lane, Decode)>,
    heard: Vec<(&'static str, RegionName)>,
    emitted: Vec<(&'static str, RegionName)>,
    errors: Vec<WiringError>,
    overhears: Option<RegionName>,
    deciding: Vec<Arc<Inbox>>,
}

impl BusBuilder {
    /// The inbox of a room that decides, which takes `first` before any data mail.
    pub fn deciding_inbox(&mut self, owner: RegionName, first: impl IntoIterator<Item = &'static str>) -> Arc<Inbox> {
        let inbox = self.enter(Inbox::hearing_first(owner, first));
        self.deciding.push(Arc::clone(&inbox));
        inbox
    }

    /// The inbox of a room that acts (an effector).
    pub fn inbox(&mut self, owner: RegionName) -> Arc<Inbox> {
        self.enter(Inbox::new(owner))
    }

    fn enter(&mut self, inbox: Inbox) -> Arc<Inbox> {
        let (owner, inbox) = (inbox.owner(), Arc::new(inbox));
        if self.inboxes.insert(owner, Arc::clone(&inbox)).is_some() {
            self.errors.push(WiringError::Twice(owner));
        }
        inbox
    }

    /// The room of `inbox`, at `stage`, hears `S`. `back` means that `S` belongs to the next turn.
    pub fn hears<S: Signal>(&mut self, inbox: &Arc<Inbox>, stage: Stage, back: bool) {
        self.enter_hearer::<S>(inbox, stage, back, None);
    }

    /// As [`Self::hears`], but the room hears only the messages for which `heeds` is true. The others aren't
    /// delivered to it.
    pub fn heeds<S: Signal>(&mut self, inbox: &Arc<Inbox>, stage: Stage, back: bool, heeds: fn(&S) -> bool) {
        let heeds: Heeds = Box::new(move |body| body.as_any().downcast_ref().is_some_and(heeds));
        self.enter_hearer::<S>(inbox, stage, back, Some(heeds));
    }

    fn enter_hearer<S: Signal>(&mut self, inbox: &Arc<Inbox>, stage: Stage, back: bool, heeds: Option<Heeds>) {
        let forward = S::STAGE == Stage::Anywhere || stage == Stage::Anywhere || S::STAGE <= stage;
        if !forward && !back {
            let error = WiringError::GoesBack { signal: S::NAME, from: S::STAGE, hearer: inbox.owner(), to: stage };
            self.errors.push(error);
        }
        self.hearers.entry(S::NAME).or_default().push(Hearer { inbox: Arc::clone(inbox), heeds });
        self.decoders.insert(S::NAME, (S::LANE, |bytes| Ok(Arc::new(S::decode(bytes)?))));
        self.heard.push((S::NAME, inbox.owner()));
    }

    /// This inbox also hears what is addressed to others. For a test rig, never for a room.
    pub fn overhears(&mut self, inbox: &Arc<Inbox>) {
        self.overhears = Some(inbox.owner());
    }

    /// The room at `stage` emits `S`.
    pub fn emits<S: Signal>(&mut self, emitter: RegionName, stage: Stage) {
        if S::STAGE != stage && S::STAGE != Stage::Anywhere && stage != Stage::Anywhere {
            self.errors.push(WiringError::WrongStage { emitter, stage, signal: S::NAME, of: S::STAGE });
        }
        self.emitted.push((S::NAME, emitter));
    }

    /// Makes the bus, or returns everything that is wrong with the cards.
    pub fn build(mut self) -> Result<AgentBus, Vec<WiringError>> {
        for (signal, emitter) in &self.emitted {
            if !self.heard.iter().any(|(heard, _)| heard == signal) {
                self.errors.push(WiringError::Unheard { signal, emitter });
            }
        }
        for (signal, hearer) in &self.heard {
            if !self.emitted.iter().any(|(emitted, _)| emitted == signal) {
                self.errors.push(WiringError::Unspoken { signal, hearer });
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        Ok(self.build_unchecked())
    }

    /// Makes the bus without checking that every signal has a hearer. For a room on a bench.
    pub fn build_unchecked(self) -> AgentBus {
        let Self { inboxes, hearers, decoders, overhears, deciding, .. } = self;
        AgentBus { inboxes, hearers, decoders, overhears, deciding, newest: AtomicU64::new(0) }
    }
}

/// One agent's corridor.
pub struct AgentBus {
    inboxes: BTreeMap<RegionName, Arc<Inbox>>,
    hearers: FxHashMap<&'static str, Vec<Hearer>>,
    decoders: FxHashMap<&'static str, (Lane, Decode)>,
    overhears: Option<RegionName>,
    deciding: Vec<Arc<Inbox>>,
    /// The newest sequence number that was published.
    newest: AtomicU64,
}

impl AgentBus {
    /// Puts a message into the inbox of each hearer that heeds it. Never blocks. Journalled messages are published
    /// inside the agent's critical section, so every inbox is in the order of sequence numbers.
    pub fn publish(&self, lsn: Lsn, envelope: &Arc<Envelope>) {
        for hearer in self.hearers_of(envelope.body().name(), envelope.meta.to.as_deref()) {
            if hearer.heeds(envelope.body()) {
                hearer.inbox.push(Delivery { lsn, envelope: Arc::clone(envelope), attempts: 0 });
            }
        }
        self.newest.fetch_max(lsn.0, Ordering::SeqCst);
    }

    /// Redelivers after a crash. Only hearers that had not passed the message on its lane get it. Messages that all
    /// have passed aren't even read.
    pub fn redeliver(
        &self,
        lsn: Lsn,
        encoded: &[u8],
        unpassed: impl Fn(RegionName, Lane) -> bool,
    ) -> Result<usize, NotRead> {
        let (meta, body) = Envelope::split(encoded)?;
        let Some((lane, decode)) = self.decoders.get(&*meta.name) else {
            return Ok(0); // no room hears it any more
        };
        let hearers = self.hearers_of(&meta.name, meta.to.as_deref());
        let late: Vec<&Hearer> =
            hearers.filter(|Hearer { inbox, .. }| unpassed(inbox.owner(), inbox.lane_of(&meta.name, *lane))).collect();
        if late.is_empty() {
            return Ok(0);
        }
        let body = decode(body)?;
        let late = late.into_iter().filter(|hearer| hearer.heeds(&*body));
        let late: Vec<Arc<Inbox>> = late.map(|hearer| Arc::clone(&hearer.inbox)).collect();
        let envelope = Arc::new(Envelope::new(meta, body));
        for inbox in &late {
            inbox.push(Delivery { lsn, envelope: Arc::clone(&envelope), attempts: 0 });
        }
        Ok(late.len())
    }

    /// Decodes an envelope of any signal that some room hears.
    pub fn decode(&self, encoded: &[u8]) -> Result<Envelope, NotRead> {
        let (meta, body) = Envelope::split(encoded)?;
        let decode = self.decoders.get(&*meta.name);
        let (_, decode) =
            decode.ok_or_else(|| NotRead { name: meta.name.clone().into_owned(), why: "no room hears it".into() })?;
        Ok(Envelope::new(meta, decode(body)?))
    }

    fn hearers_of<'a>(&'a self, name: &str, to: Option<&'a str>) -> impl Iterator<Item = &'a Hearer> + use<'a> {
        let hearers = self.hearers.get(name).map_or(&[][..], Vec::as_slice);
        let is_for = |inbox: &Inbox, to: &str| to == inbox.owner() || self.overhears == Some(inbox.owner());
        hearers.iter().filter(move |hearer| to.is_none_or(|to| is_for(&hearer.inbox, to)))
    }

    pub fn inboxes(&self) -> impl Iterator<Item = &Arc<Inbox>> {
        self.inboxes.values()
    }

    pub fn inbox(&self, owner: &str) -> Option<&Arc<Inbox>> {
        self.inboxes.get(owner)
    }

    /// The deciding room with the longest backlog, other than `but`, and that backlog. Effectors are left out: they
    /// may rightly take their time, and report their own backlog.
    pub fn furthest_behind(&self, but: RegionName) -> Option<(RegionName, usize)> {
        let others = self.deciding.iter().filter(|inbox| inbox.owner() != but);
        others.map(|inbox| (inbox.owner(), inbox.depth())).max_by_key(|(_, depth)| *depth)
    }

    /// Every journalled message up to here has been dealt with: all before the oldest that an inbox still holds, or
    /// else all up to the newest published. Takes no lock of the store, because the store calls this.
    pub fn low_water(&self) -> Lsn {
        // Read the newest first: anything published after this has a larger number.
        let newest = Lsn(self.newest.load(Ordering::SeqCst));
        self.inboxes
            .values()
            .filter_map(|inbox| inbox.low_water())
            .min()
            .map_or(newest, |oldest| Lsn(oldest.0 - 1).min(newest))
    }

    /// Journalled messages below an LSN that an inbox still holds, ascending.
    pub fn unread_below(&self, below: Lsn) -> Vec<Lsn> {
        let mut unread: Vec<Lsn> = self.inboxes.values().flat_map(|inbox| inbox.unread_below(below)).collect();
        unread.sort_unstable();
        unread.dedup();
        unread
    }
}
