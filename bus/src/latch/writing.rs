//! A thread of its own writes the latch's file. It only ever has the newest record to write, so stops never pile up
//! while a disk stalls.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{LatchFile, LatchRecord, LatchState, Mirror};
use crate::clock::Stopwatch;

/// Delay before a failed write of a stop is retried, e.g. when the disk is full.
const RETRY: Duration = Duration::from_millis(500);
/// How long the confirmation of a stop waits for the disk. The stop is already in force.
const WRITTEN_WITHIN: Duration = Duration::from_millis(50);
/// How long the confirmation waits for a mirror, which is further away.
const MIRRORED_WITHIN: Duration = Duration::from_secs(1);

/// A record to be written.
struct Job {
    record: LatchRecord,
    generation: u64,
    /// The number of this job, counted from 1.
    number: u64,
}

#[derive(Default)]
struct Desk {
    next: Option<Job>,
    /// The number of the newest job.
    given: u64,
    /// The newest job that was tried.
    tried: u64,
    /// The newest job that the file holds, or that a newer record replaced.
    durable: u64,
    is_closing: bool,
    is_closed: bool,
}

struct Shared {
    is_mirrored: bool,
    desk: Mutex<Desk>,
    changed: Condvar,
}

/// Gives the thread its work. Dropping it ends the thread once that work is done.
pub struct Writer(Arc<Shared>);

impl Writer {
    pub fn start(file: Arc<LatchFile>, mirror: Option<Mirror>) -> std::io::Result<Self> {
        let shared =
            Arc::new(Shared { is_mirrored: mirror.is_some(), desk: Mutex::default(), changed: Condvar::new() });
        let writing = Arc::clone(&shared);
        std::thread::Builder::new().name("latch-writer".into()).spawn(move || writing.keep_writing(&file, mirror))?;
        Ok(Self(shared))
    }

    /// Never waits for the disk. A record of an older generation isn't written any more.
    pub fn put(&self, record: LatchRecord, generation: u64) -> DurableAnswer {
        let mut desk = self.0.desk.lock();
        if desk.next.as_ref().is_none_or(|waiting| waiting.generation <= generation) {
            desk.given += 1;
            desk.next = Some(Job { record, generation, number: desk.given });
            self.0.changed.notify_all();
        }
        DurableAnswer(Some((Arc::clone(&self.0), desk.given)))
    }

    /// Whether every record put so far is durable.
    pub fn all(&self) -> DurableAnswer {
        let given = self.0.desk.lock().given;
        DurableAnswer(Some((Arc::clone(&self.0), given)))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.desk.lock().is_closing = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    /// A stop that could not be written is retried until it is, or until a newer record replaces it.
    fn keep_writing(&self, file: &LatchFile, mirror: Option<Mirror>) {
        let mut unwritten = None;
        while let Some(job) = self.next(&mut unwritten) {
            let written = file.write(&job.record, job.generation);
            if written.is_err() && job.record.state == LatchState::Stopped {
                // Removing takes no disk space and no handle, and a missing file means stopped.
                file.take_away(job.generation);
            }
            let holds = written.as_ref().unwrap_or(&job.record);
            let is_durable = mirror.as_ref().is_none_or(|mirror| mirror(holds)) && written.is_ok();
            let mut desk = self.desk.lock();
            desk.tried = job.number;
            if is_durable {
                desk.durable = job.number;
            } else {
                unwritten = Some(job);
            }
            self.changed.notify_all();
        }
        self.desk.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// None when the thread must end.
    fn next(&self, unwritten: &mut Option<Job>) -> Option<Job> {
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

/// Whether the latch file holds the record yet, and the mirror if there is one.
pub struct DurableAnswer(Option<(Arc<Shared>, u64)>);

impl DurableAnswer {
    pub(super) fn nothing_to_write() -> Self {
        Self(None)
    }

    /// Waits as long as the caller that stopped may be kept waiting.
    pub fn confirm(&self) -> bool {
        let is_mirrored = self.0.as_ref().is_some_and(|(shared, _)| shared.is_mirrored);
        self.wait(if is_mirrored { MIRRORED_WITHIN } else { WRITTEN_WITHIN })
    }

    /// Waits at most `limit` for the first attempt to write. False if the disk stalls longer.
    pub fn wait(&self, limit: Duration) -> bool {
        self.wait_while(limit, |desk, number| desk.tried < number)
    }

    /// Waits at most `limit`, through failed attempts.
    pub(super) fn insist(&self, limit: Duration) -> bool {
        self.wait_while(limit, |desk, number| desk.durable < number)
    }

    fn wait_while(&self, limit: Duration, is_open: impl Fn(&Desk, u64) -> bool) -> bool {
        let Some((shared, number)) = &self.0 else { return true };
        let watch = Stopwatch::start();
        let mut desk = shared.desk.lock();
        while is_open(&desk, *number) && !desk.is_closed {
            let left = limit.saturating_sub(watch.elapsed());
            if left.is_zero() {
                break;
            }
            shared.changed.wait_for(&mut desk, left);
        }
        desk.durable >= *number
    }
}
