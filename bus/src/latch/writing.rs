//! The latch's file is written by a thread of its own, which only ever has the newest record to write: however often it is
//! stopped while a disk stalls, nothing piles up.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{LatchFile, LatchRecord, LatchState, Mirror};
use crate::clock::Stopwatch;

/// After a stop that could not be written, e.g. because the disk is full, it is tried again this much later.
const RETRY: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Desk {
    /// What is to be written next, and its generation.
    next: Option<(LatchRecord, u64)>,
    /// The newest generation that was tried.
    tried: u64,
    /// The newest one that the file holds, or that something newer took the place of.
    durable: u64,
    is_closing: bool,
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
}

/// Gives the thread its work; with it the thread ends, when that is done.
pub struct Writer(Arc<Shared>);

impl Writer {
    pub fn start(file: Arc<LatchFile>, mirror: Option<Mirror>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let writing = Arc::clone(&shared);
        std::thread::Builder::new().name("latch-writer".into()).spawn(move || writing.keep_writing(&file, mirror))?;
        Ok(Self(shared))
    }

    /// Never waits for the disk. What an older generation had to say isn't written any more.
    pub fn put(&self, record: LatchRecord, generation: u64) -> DurableAnswer {
        let mut desk = self.0.desk.lock();
        if desk.next.as_ref().is_none_or(|(_, waiting)| *waiting <= generation) {
            desk.next = Some((record, generation));
            self.0.changed.notify_all();
        }
        DurableAnswer(Some((Arc::clone(&self.0), generation)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.desk.lock().is_closing = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    /// A stop that the file didn't take is tried again until it does, or until a newer record takes its place.
    fn keep_writing(&self, file: &LatchFile, mirror: Option<Mirror>) {
        let mut unwritten = None;
        while let Some((record, generation)) = self.next(&mut unwritten) {
            let is_written = file.write(&record, generation).is_ok();
            if !is_written && record.state == LatchState::Stopped {
                // That takes neither room nor a handle, and a missing file means stopped.
                file.take_away(generation);
            }
            let is_durable = mirror.as_ref().is_none_or(|mirror| mirror(&record)) && is_written;
            let mut desk = self.desk.lock();
            desk.tried = desk.tried.max(generation);
            if is_durable {
                desk.durable = desk.durable.max(generation);
            } else {
                unwritten = Some((record, generation));
            }
            self.changed.notify_all();
        }
        self.desk.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// None when it is over.
    fn next(&self, unwritten: &mut Option<(LatchRecord, u64)>) -> Option<(LatchRecord, u64)> {
        let mut desk = self.desk.lock();
        loop {
            if let Some(next) = desk.next.take() {
                *unwritten = None;
                return Some(next);
            }
            if desk.is_closing {
                return None;
            }
            if unwritten.is_none() {
                self.changed.wait(&mut desk);
            } else if self.changed.wait_for(&mut desk, RETRY).timed_out() && desk.next.is_none() {
                return unwritten.take();
            }
        }
    }
}

/// Whether the latch file holds the stop yet.
pub struct DurableAnswer(Option<(Arc<Shared>, u64)>);

impl DurableAnswer {
    pub(super) fn nothing_to_write() -> Self {
        Self(None)
    }

    /// Waits at most `limit`; a disk that stalls longer is answered with `false`.
    pub fn wait(&self, limit: Duration) -> bool {
        let Some((shared, generation)) = &self.0 else { return true };
        let watch = Stopwatch::start();
        let mut desk = shared.desk.lock();
        while desk.tried < *generation && !desk.is_closed {
            let left = limit.saturating_sub(watch.elapsed());
            if left.is_zero() {
                break;
            }
            shared.changed.wait_for(&mut desk, left);
        }
        desk.durable >= *generation
    }
}
