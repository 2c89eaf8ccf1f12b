//! The recorder's thread: holds back data that isn't durable yet, writes, rotates and prunes.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use maxim_actors::region::InputRecord;
use maxim_actors::store::AgentStore;
use maxim_bus::clock::Stopwatch;
use maxim_bus::{Envelope, Lsn, RegionName, SharedClock};
use mcap::McapResult;
use parking_lot::Mutex;

use super::file::RecordingFile;
use super::folder::Folder;
use super::format::Header;
use super::start::{Portrait, Still};
use super::{Limits, RecorderError};
use crate::agent::Waking;

/// How much time a crash of the process may cost.
const FLUSH: Duration = Duration::from_secs(1);
/// How often it checks whether the disk has caught up.
const LOOK: Duration = Duration::from_millis(20);
/// How long the beginning of a file, and closing, wait for the disk.
const DURABLE: Duration = Duration::from_secs(5);
/// Pause after a failure to write.
const RETRY: Duration = Duration::from_secs(10);
const FLUSH_BYTES: u64 = 256 << 10;

#[derive(Default)]
pub struct Counters {
    pub written: AtomicU64,
    pub lost: AtomicU64,
    pub files: AtomicU64,
    /// Items that were put into the queue.
    pub taken: AtomicU64,
    /// True while the writer is idle and the next item must wake it.
    pub asleep: AtomicBool,
}

/// Items from the regions that the writer hasn't taken yet. It only grows to its bound while the writer is behind.
pub struct Letterbox {
    most: usize,
    items: Mutex<VecDeque<Item>>,
    /// The rooms for which the first file waits are awake.
    are_awake: AtomicBool,
    is_closing: AtomicBool,
}

impl Letterbox {
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            items: Mutex::default(),
            are_awake: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
        }
    }

    /// False when it is full.
    pub fn put(&self, item: Item) -> bool {
        let mut items = self.items.lock();
        let fits = items.len() < self.most;
        if fits {
            items.push_back(item);
        }
        fits
    }

    /// The first file need not wait any longer.
    pub fn say_awake(&self) {
        self.are_awake.store(true, Ordering::SeqCst);
    }

    /// No more items come.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
    }
}

/// An accepted item.
pub struct Item {
    pub lsn: Lsn,
    /// How many items were lost before it. A difference from the previous item is a gap between the two.
    pub lost_before: u64,
    pub what: What,
}

pub enum What {
    Input(InputRecord),
    Signal(Arc<Envelope>),
}

pub struct Scribe {
    folder: Folder,
    limits: Limits,
    store: AgentStore,
    clock: SharedClock,
    header: Header,
    wakings: Vec<(RegionName, Waking)>,
    letters: Arc<Letterbox>,
    counters: Arc<Counters>,
    held: VecDeque<Item>,
    /// True if there was mail at the last look.
    busy: bool,
    /// Losses that are already noted in a file as a gap.
    told: u64,
    /// What the first file begins with: the states before any region ran.
    first: Option<((PathBuf, File), Still)>,
    current: Option<RecordingFile>,
    /// The previous file, until the number that the states of the current file depend on. What lies between is in both
    /// files.
    former: Option<(RecordingFile, Lsn)>,
    flushed: Stopwatch,
    failed: Option<Stopwatch>,
}

impl Scribe {
    pub fn new(
        folder: Folder,
        limits: Limits,
        store: AgentStore,
        clock: SharedClock,
        header: Header,
        wakings: Vec<(RegionName, Waking)>,
        (letters, counters): (Arc<Letterbox>, Arc<Counters>),
    ) -> Result<Self, RecorderError> {
        let header = Header { regions: wakings.len(), ..header };
        let mut scribe = Self {
            folder,
            limits,
            store,
            clock,
            header,
            wakings,
            letters,
            counters,
            held: VecDeque::new(),
            busy: false,
            told: 0,
            first: None,
            current: None,
            former: None,
            flushed: Stopwatch::start(),
            failed: None,
        };
        scribe.first = Some((scribe.file()?, Still::of(&scribe.store, &scribe.wakings)));
        Ok(scribe)
    }

    /// A new file with the present states. `None` while the disk is behind.
    fn begin(&mut self) -> Result<Option<(RecordingFile, Lsn)>, RecorderError> {
        let still = Still::of(&self.store, &self.wakings);
        if self.store.wait_durable_blocking(still.newest, DURABLE).is_err() {
            return Ok(None);
        }
        let file = self.file()?;
        Ok(Some((self.begin_with(file, &still)?, still.newest)))
    }

    fn begin_with(&mut self, file: (PathBuf, File), still: &Still) -> Result<RecordingFile, RecorderError> {
        let mut left = self.limits.start_bytes;
        let portraits = still.regions.iter().zip(&self.wakings);
        let portraits = portraits.map(|(region, waking)| Portrait::of(&self.store, region, waking, &mut left));
        let number = self.counters.files.load(Ordering::SeqCst) + 1;
        let file = RecordingFile::begin(file, number, &self.header, portraits, self.clock.now())?;
        self.counters.files.store(number, Ordering::SeqCst);
        Ok(file)
    }

    /// An empty file, with room for it.
    fn file(&self) -> Result<(PathBuf, File), RecorderError> {
        let now = self.clock.now();
        let open: Vec<&Path> = self.open_files().map(RecordingFile::path).collect();
        let room = self.limits.max_bytes.saturating_sub(self.limits.file_bytes);
        self.folder.prune(room, self.limits.max_age, now, &open);
        self.folder.create(now)
    }

    fn open_files(&self) -> impl Iterator<Item = &RecordingFile> {
        self.former.iter().map(|(file, _)| file).chain(&self.current)
    }

    pub fn run(mut self) {
        // The agent works meanwhile; its messages wait in the queue.
        let mut closing = self.let_wake();
        if let Some((file, still)) = self.first.take() {
            match self.begin_with(file, &still) {
                Ok(file) => self.current = Some(file),
                Err(error) => {
                    tracing::error!("{error}; the recorder tries again in {} s", RETRY.as_secs());
                    self.failed = Some(Stopwatch::start());
                }
            }
        }
        while !closing {
            closing = self.receive();
            self.write_durable();
            self.keep_house();
        }
        if let Some(last) = self.held.iter().map(|item| item.lsn).max() {
            // What isn't durable then is not written: the next start won't know it either.
            let _ = self.store.wait_durable_blocking(last, DURABLE);
            self.write_durable();
        }
        self.counters.lost.fetch_add(self.held.len() as u64, Ordering::SeqCst);
        self.note_gap(self.counters.lost.load(Ordering::SeqCst));
        self.finish_all();
    }

    /// Waking rooms go first: the beginning of the first file is frozen already. Returns true if the writer should
    /// close.
    fn let_wake(&mut self) -> bool {
        let (since, lead, letters) = (Stopwatch::start(), self.limits.lead, Arc::clone(&self.letters));
        let waits = || !letters.are_awake.load(Ordering::SeqCst) && since.elapsed() < lead;
        while waits() && self.held.len() < self.limits.queue / 4 {
            std::thread::park_timeout(LOOK);
            if self.take_mail() {
                return true;
            }
        }
        false
    }

    /// Returns true if the writer should close.
    fn receive(&mut self) -> bool {
        if !self.held.is_empty() || self.busy {
            // Items that come meanwhile are taken together.
            std::thread::park_timeout(LOOK);
            return self.take_mail();
        }
        self.counters.asleep.store(true, Ordering::SeqCst);
        // Once more, for items that came before the request.
        if self.take_mail() {
            return true;
        }
        if self.held.is_empty() {
            std::thread::park_timeout(FLUSH);
        }
        self.counters.asleep.store(false, Ordering::SeqCst);
        self.take_mail()
    }

    /// Returns true if the writer should close.
    fn take_mail(&mut self) -> bool {
        let is_closing = self.letters.is_closing.load(Ordering::SeqCst);
        let mut items = self.letters.items.lock();
        // The rest stays in the queue, which is bounded.
        let count = items.len().min(self.limits.queue.saturating_sub(self.held.len()));
        self.held.extend(items.drain(..count));
        self.busy = count > 0;
        is_closing && items.is_empty()
    }

    fn write_durable(&mut self) {
        let durable = self.store.durable();
        while let Some(item) = self.held.pop_front_if(|item| item.lsn <= durable) {
            if item.lost_before > self.told {
                self.note_gap(item.lost_before);
                self.finish_all();
                self.begin_current();
            }
            self.write(&item);
            if self.current.as_ref().is_some_and(|file| file.waiting() >= self.early()) {
                self.keep_house();
            }
        }
    }

    /// Bytes that are flushed early.
    fn early(&self) -> u64 {
        FLUSH_BYTES.min(self.limits.file_bytes / 2)
    }

    fn note_gap(&mut self, lost: u64) {
        if lost > self.told {
            let (gap, now) = (lost - self.told, self.clock.now());
            self.told = lost;
            tracing::warn!(lost = gap, "the recorder was behind; the recording has a gap");
            self.each(|file| file.gap(gap, now));
        }
    }

    fn write(&mut self, item: &Item) {
        if let Some((former, _)) = self.former.take_if(|(_, until)| item.lsn > *until) {
            finish(former);
        }
        if self.current.is_none() {
            self.counters.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        self.counters.written.fetch_add(1, Ordering::SeqCst);
        self.each(|file| match &item.what {
            What::Input(input) => file.input(input),
            What::Signal(envelope) => file.signal(item.lsn, envelope),
        });
    }

    /// Does something with all open files; drops them when the disk refuses.
    fn each(&mut self, mut act: impl FnMut(&mut RecordingFile) -> McapResult<()>) {
        let files = self.former.iter_mut().map(|(file, _)| file).chain(&mut self.current);
        let failed = files.filter_map(|file| act(file).err()).last();
        if let Some(error) = failed {
            tracing::error!(%error, "the recorder can't write; it tries a new file in {} s", RETRY.as_secs());
            (self.former, self.current) = (None, None);
            self.failed = Some(Stopwatch::start());
        }
    }

    fn begin_current(&mut self) {
        match self.begin() {
            Ok(Some((file, _))) => (self.current, self.failed) = (Some(file), None),
            Ok(None) => self.failed = Some(Stopwatch::start()),
            Err(error) => {
                tracing::error!("{error}; the recorder tries again in {} s", RETRY.as_secs());
                self.failed = Some(Stopwatch::start());
            }
        }
    }

    /// Flushes, rotates and prunes when it is time.
    fn keep_house(&mut self) {
        if self.current.is_none() && self.failed.is_none_or(|since| since.elapsed() >= RETRY) {
            self.begin_current();
            // Losses of the meantime are part of the states that it begins with.
            self.told = self.counters.lost.load(Ordering::SeqCst);
        }
        let waits = self.open_files().map(RecordingFile::waiting).max().unwrap_or(0);
        if waits == 0 || (waits < self.early() && self.flushed.elapsed() < FLUSH) {
            return;
        }
        self.flushed = Stopwatch::start();
        self.each(RecordingFile::flush);
        let is_full = self.current.as_ref().is_some_and(|file| file.grown() >= self.limits.file_bytes);
        if is_full && self.former.is_none() {
            self.rotate();
        }
        let open: Vec<&Path> = self.open_files().map(RecordingFile::path).collect();
        self.folder.prune(self.limits.max_bytes, self.limits.max_age, self.clock.now(), &open);
    }

    fn rotate(&mut self) {
        match self.begin() {
            Ok(Some((next, newest))) => {
                self.former = self.current.replace(next).map(|file| (file, newest));
            }
            // The file goes on until the disk has caught up.
            Ok(None) => {}
            Err(error) => tracing::error!("{error}; the recording goes on in the old file"),
        }
    }

    fn finish_all(&mut self) {
        if let Some((former, _)) = self.former.take() {
            finish(former);
        }
        if let Some(current) = self.current.take() {
            finish(current);
        }
    }
}

fn finish(file: RecordingFile) {
    let path = file.path().to_owned();
    if let Err(error) = file.finish() {
        tracing::error!(path = %path.display(), %error, "a recording lacks its end");
    }
}
