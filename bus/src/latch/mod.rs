//! The stop latch: one atomic that everything with an effect reads right before the effect.
//!
//! A protective stop in software, not a certified emergency stop. Raising never waits. It sets the atomic first. Then
//! the raising thread stops the children and the body. A thread of its own writes the file last, so a stalled disk
//! delays nothing.

mod children;
mod file;
mod folder;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod tests;
mod writing;

use std::marker::PhantomData;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

pub use children::{ChildGroup, ChildGroups};
pub use file::{LatchFile, LatchRecord, LoadedLatch};
pub use folder::HeldFolder;
pub use writing::DurableAnswer;

use writing::Writer;

use crate::bounds::REASON;
use crate::clock::Stopwatch;
use crate::lease::{Lease, LeaseLost};

/// What the latch allows, the strictest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatchState {
    /// Everything may happen.
    Clear,
    /// Motion waits for a person's `resume`, after a reset or after a room was given up.
    MotionHeld,
    /// No effect may begin.
    Stopped,
}

/// The kind of effect that asks. Motion has the stricter rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectKind {
    Motion,
    Other,
}

/// Why, when and by whom it was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopDetail {
    pub reason: String,
    pub by: String,
    /// None where the file that held the time is lost.
    pub at: Option<Timestamp>,
}

impl StopDetail {
    /// Stopped by a signal, which carries no words.
    pub const BY_SIGNAL: &str = "signal";
    /// A stop often comes several ways at once, and the signal may arrive first. Words of the same stop are accepted
    /// for this long.
    const IN_WORDS_WITHIN: SignedDuration = SignedDuration::from_secs(5);

    /// Who stopped, in words for a person. Some ways to stop name no one.
    pub fn who(by: &str) -> &str {
        match by {
            "http" => "somebody over HTTP",
            "console" => "somebody at the console",
            Self::BY_SIGNAL => "a signal",
            "stop.request" => "the file stop.request",
            by => by,
        }
    }

    /// Shortens the words so that the latch's file and every record of the stop can hold them. A stop takes effect
    /// however long they are.
    pub fn bounded(self) -> Self {
        let cut = |text: String| if text.len() > REASON.limit { REASON.cut(&text) } else { text };
        Self { reason: cut(self.reason), by: cut(self.by), at: self.at }
    }

    /// Merges two stops: keeps the first. If the first came as a signal and the later one is the same stop, the later
    /// one's words are used.
    pub fn or_words_of(self, later: &Self) -> Self {
        let between = later.at.zip(self.at).map(|(words, signal)| words.duration_since(signal));
        if self.by == Self::BY_SIGNAL && between.is_some_and(|between| between <= Self::IN_WORDS_WITHIN) {
            Self { at: self.at, ..later.clone() }
        } else {
            self
        }
    }
}

/// The effect is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    #[error("stopped: {reason} (by {by}); a person clears it with `maxim reset`")]
    Latched { reason: String, by: String },
    #[error("motion is held since the reset; a person releases it with `maxim resume`")]
    MotionHeld,
    #[error(transparent)]
    NotHeld(#[from] LeaseLost),
}

/// Proof that the latch was read and was clear. It can't be stored: it is valid only for the effect at hand.
///
/// It stays on the thread that read the latch:
///
/// ```compile_fail,E0277
/// fn sent<T: Send>(_: T) {}
/// let _ = |latch: &'static maxim_bus::latch::StopLatch| sent(latch.permit(maxim_bus::latch::EffectKind::Other));
/// ```
/// ```
/// fn sent<T: Send>(_: T) {}
/// let _ = |latch: &'static maxim_bus::latch::StopLatch| sent(latch.permit(maxim_bus::latch::EffectKind::Other).is_ok());
/// ```
#[derive(Debug)]
pub struct Permit<'latch> {
    children: &'latch ChildGroups,
    kills: u64,
    /// The folder of the latch's file.
    folder: Option<&'latch HeldFolder>,
    not_send: PhantomData<*const ()>,
}

impl<'latch> Permit<'latch> {
    /// Process groups that are registered now.
    pub fn groups(&self) -> usize {
        self.children.len()
    }

    /// Registers the process group that `leader` leads, so that a stop kills all of it. [`ChildGroup::was_stopped`]
    /// reports a stop that came since the permit was given. Call it right after, before the child may do anything.
    pub fn register(&self, leader: u32) -> Option<ChildGroup<'latch>> {
        self.children.register(leader, self.kills)
    }

    /// The agent's own folder, which holds the latch's file; none for a latch in memory.
    pub fn folder(&self) -> Option<&'latch HeldFolder> {
        self.folder
    }
}

/// What raising did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Raised {
    /// From the call until the atomic was set and the children and the body were told.
    pub latency_us: u64,
    /// Processes that this stop has killed, by all ways it came. A lower bound.
    pub children_killed: usize,
    /// False when the agent was already stopped.
    pub first: bool,
}

/// A reset or resume that failed.
#[derive(Debug, thiserror::Error)]
pub enum LatchError {
    #[error("the latch file {path} can't be written: {source}; the stop stays latched")]
    NotDurable { path: String, source: std::io::Error },
    #[error("it was stopped again while being reset; the stop stays latched")]
    StoppedAgain,
    #[error("it is stopped, and a resume does not clear that")]
    NotReset,
}

const CLEAR: u64 = 0;
const HELD: u64 = 1;
const LATCHED: u64 = 2;
const STATE: u64 = 3;

/// Copies the file's record to where another machine would look for it. False when it didn't arrive.
pub type Mirror = Box<dyn Fn(&LatchRecord) -> bool + Send + Sync>;

type FreezeHook = Box<dyn Fn(&StopDetail) + Send + Sync>;
type RaisedHook = Box<dyn Fn(&StopDetail, &Raised) + Send + Sync>;

/// Shared by everything that acts. Clones are the same latch.
#[derive(Clone)]
pub struct StopLatch(Arc<Inner>);

struct Inner {
    /// Two bits of state; the rest is a generation that each raise increases.
    word: AtomicU64,
    detail: Mutex<Option<StopDetail>>,
    children: ChildGroups,
    on_stop: Mutex<Vec<FreezeHook>>,
    on_raised: Mutex<Vec<RaisedHook>>,
    file: Option<Arc<LatchFile>>,
    writer: Option<Writer>,
    is_mirrored: bool,
    /// The lease, where several machines could run the same agent.
    lease: OnceLock<Lease>,
}

impl StopLatch {
    /// A latch without a file, for simulations and tests.
    pub fn in_memory() -> Self {
        Self(Arc::new(Inner {
            word: AtomicU64::new(CLEAR),
            detail: Mutex::new(None),
            children: ChildGroups::default(),
            on_stop: Mutex::new(Vec::new()),
            on_raised: Mutex::default(),
            file: None,
            writer: None,
            is_mirrored: false,
            lease: OnceLock::new(),
        }))
    }

    /// Opens the latch of a data folder. An unreadable file, or none beside a used store, means stopped.
    pub fn open(path: &Path, store_is_used: bool) -> std::io::Result<Self> {
        Self::open_mirrored(path, store_is_used, None)
    }

    /// As [`StopLatch::open`]. From now on each record is also mirrored. A stop counts as durable only when the
    /// mirror has it too; a record that doesn't arrive is retried. The stop takes effect before that, as always.
    pub fn open_mirrored(path: &Path, store_is_used: bool, mirror: Option<Mirror>) -> std::io::Result<Self> {
        let file = Arc::new(LatchFile::new(path));
        let loaded = file.load(store_is_used);
        if let LoadedLatch::Fresh = loaded {
            file.write(&LatchRecord::clear(), 0)?;
        }
        let is_whole = matches!(loaded, LoadedLatch::Fresh | LoadedLatch::Read(_));
        let record = loaded.into_record();
        if !is_whole {
            // The value in memory already says stopped. If the disk refuses, the next start finds the same damage and
            // stops too.
            let _ = file.write(&record, 0);
        }
        let is_mirrored = mirror.is_some();
        let writer = Writer::start(Arc::clone(&file), mirror)?;
        if is_mirrored {
            writer.put(record.clone(), 0);
        }
        let word = match record.state {
            LatchState::Clear => CLEAR,
            LatchState::MotionHeld => HELD,
            LatchState::Stopped => LATCHED,
        };
        Ok(Self(Arc::new(Inner {
            word: AtomicU64::new(word),
            detail: Mutex::new(record.detail),
            children: ChildGroups::default(),
            on_stop: Mutex::new(Vec::new()),
            on_raised: Mutex::default(),
            file: Some(file),
            writer: Some(writer),
            is_mirrored,
            lease: OnceLock::new(),
        })))
    }

    /// The folder of its file; none for a latch in memory.
    pub fn folder(&self) -> Option<&HeldFolder> {
        self.0.file.as_ref().and_then(|file| file.folder())
    }

    /// Waits until the newest record is in the file, and in the mirror if there is one; at most `limit`. False if it
    /// isn't.
    pub fn settle(&self, limit: Duration) -> bool {
        self.0.writer.as_ref().is_none_or(|writer| writer.all().insist(limit))
    }

    /// The hook runs on each raise, on the raising thread: it must be quick and must not wait.
    pub fn on_stop(&self, hook: impl Fn(&StopDetail) + Send + Sync + 'static) {
        self.0.on_stop.lock().push(Box::new(hook));
    }

    /// The hook runs after everything is stopped, with the result of the raise. It runs on the raising thread, by
    /// whichever way the stop came: it must be quick.
    pub fn on_raised(&self, hook: impl Fn(&StopDetail, &Raised) + Send + Sync + 'static) {
        self.0.on_raised.lock().push(Box::new(hook));
    }

    pub fn state(&self) -> LatchState {
        match self.0.word.load(Ordering::SeqCst) & STATE {
            CLEAR => LatchState::Clear,
            HELD => LatchState::MotionHeld,
            _ => LatchState::Stopped,
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.state() == LatchState::Stopped
    }

    /// Why it is stopped; none when it isn't stopped.
    pub fn detail(&self) -> Option<StopDetail> {
        if self.is_stopped() { self.0.detail.lock().clone() } else { None }
    }

    /// From now on nothing is permitted unless this lease is held. The first lease bound stays.
    pub fn bind(&self, lease: &Lease) {
        let _ = self.0.lease.set(lease.clone());
    }

    /// The agent now belongs to another machine. Everything running here ends as by a stop. No stop is latched,
    /// because the agent may act on the other machine.
    pub fn fence(&self, why: &str) {
        if let Some(lease) = self.0.lease.get() {
            lease.lose(why);
        }
        self.0.children.kill_all();
        let detail = StopDetail { reason: why.to_owned(), by: "lease".into(), at: None };
        for hook in self.0.on_stop.lock().iter() {
            hook(&detail);
        }
    }

    /// Call this right before each effect.
    pub fn permit(&self, kind: EffectKind) -> Result<Permit<'_>, Stopped> {
        let kills = self.0.children.kills();
        if let Some(lease) = self.0.lease.get() {
            lease.check()?;
        }
        match (self.state(), kind) {
            (LatchState::Stopped, _) => {
                let detail = self.0.detail.lock().clone();
                let (reason, by) = detail.map_or(("unknown".into(), "unknown".into()), |d| (d.reason, d.by));
                Err(Stopped::Latched { reason, by })
            }
            (LatchState::MotionHeld, EffectKind::Motion) => Err(Stopped::MotionHeld),
            _ => Ok(Permit { children: &self.0.children, kills, folder: self.folder(), not_send: PhantomData }),
        }
    }

    /// Stops everything. The file is written afterwards; `wait_durable` says whether the write arrived.
    pub fn raise(&self, detail: StopDetail) -> (Raised, DurableAnswer) {
        let watch = Stopwatch::start();
        let detail = detail.bounded();
        let before = self
            .0
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| Some(((word | STATE) + 1) & !STATE | LATCHED))
            .unwrap_or_else(|word| word);
        let first = before & STATE != LATCHED;
        let generation = (before >> 2) + 1;
        {
            let mut known = self.0.detail.lock();
            *known = match known.take() {
                _ if first => Some(detail.clone()),
                earlier => earlier.map(|earlier| earlier.or_words_of(&detail)),
            };
        }
        let children_killed = self.0.children.kill_all();
        for hook in self.0.on_stop.lock().iter() {
            hook(&detail);
        }
        let latency_us = u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX);
        let answer = self.0.writer.as_ref().map_or_else(DurableAnswer::nothing_to_write, |writer| {
            let record = LatchRecord { state: LatchState::Stopped, detail: self.0.detail.lock().clone() };
            writer.put(record, generation)
        });
        let raised = Raised { latency_us, children_killed, first };
        for hook in self.0.on_raised.lock().iter() {
            hook(&detail, &raised);
        }
        (raised, answer)
    }

    /// Adds a reason to a stop that was raised without words, if that stop is still in force unchanged. Returns the
    /// stop now in force.
    pub fn explain(&self, raised: &StopDetail, reason: String) -> Option<StopDetail> {
        let (raised, explained) = (raised.clone().bounded(), StopDetail { reason, ..raised.clone() }.bounded());
        let generation = self.0.word.load(Ordering::SeqCst) >> 2;
        {
            let mut known = self.0.detail.lock();
            if !self.is_stopped() {
                return None;
            }
            if known.as_ref() != Some(&raised) {
                return known.clone();
            }
            *known = Some(explained.clone());
        }
        if let Some(writer) = &self.0.writer {
            writer.put(LatchRecord { state: LatchState::Stopped, detail: Some(explained.clone()) }, generation);
        }
        Some(explained)
    }

    /// Refuses motion until a person resumes; a stop stays a stop. For a brain that is no longer whole.
    pub fn hold_motion(&self) {
        let held = self.0.word.compare_exchange(
            self.0.word.load(Ordering::SeqCst) & !STATE | CLEAR,
            self.0.word.load(Ordering::SeqCst) & !STATE | HELD,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        if let (Ok(word), Some(writer)) = (held, &self.0.writer) {
            let record = LatchRecord { state: LatchState::MotionHeld, detail: None };
            writer.put(record, word >> 2);
        }
    }

    /// A person clears the stop. The reset is durable before it takes effect; motion stays held until `resume`.
    pub fn reset(&self) -> Result<LatchState, LatchError> {
        let seen = self.0.word.load(Ordering::SeqCst);
        if seen & STATE != LATCHED {
            return Ok(self.state());
        }
        self.leave(seen, HELD, LatchRecord { state: LatchState::MotionHeld, detail: None })
    }

    /// A person allows motion again after a reset.
    pub fn resume(&self) -> Result<LatchState, LatchError> {
        let seen = self.0.word.load(Ordering::SeqCst);
        match seen & STATE {
            LATCHED => Err(LatchError::NotReset),
            CLEAR => Ok(LatchState::Clear),
            _ => self.leave(seen, CLEAR, LatchRecord::clear()),
        }
    }

    fn leave(&self, seen: u64, to: u64, record: LatchRecord) -> Result<LatchState, LatchError> {
        let generation = seen >> 2;
        if let Some(file) = &self.0.file {
            file.write(&record, generation)
                .map_err(|source| LatchError::NotDurable { path: file.path().display().to_string(), source })?;
        }
        let target = (generation << 2) | to;
        match self.0.word.compare_exchange(seen, target, Ordering::SeqCst, Ordering::SeqCst) {
            // A raise that came in between has queued its own write with a newer generation, which the file keeps.
            Err(_) => Err(LatchError::StoppedAgain),
            Ok(_) => {
                self.0.children.forget_killed();
                if let Some(writer) = self.0.writer.as_ref().filter(|_| self.0.is_mirrored) {
                    writer.put(record.clone(), generation);
                }
                Ok(record.state)
            }
        }
    }
}
