//! How far an agent's journal is on disk, and which callers wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::error::NotDurable;

/// What keeps the whole store from writing, if anything.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<NotDurable>>);

impl Trouble {
    pub fn set(&self, trouble: Option<NotDurable>) {
        let mut slot = self.0.lock();
        // Closed is for good.
        if *slot != Some(NotDurable::Closed) {
            *slot = trouble;
        }
    }

    pub fn get(&self) -> Option<NotDurable> {
        self.0.lock().clone()
    }

    pub fn degraded(&self) -> Option<Arc<str>> {
        match &*self.0.lock() {
            Some(NotDurable::Degraded(reason)) => Some(reason.clone()),
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Watermark {
    durable: AtomicU64,
    lock: Mutex<()>,
    moved: Condvar,
    notify: Notify,
}

impl Watermark {
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub fn publish(&self, lsn: u64) {
        self.durable.fetch_max(lsn, Ordering::AcqRel);
        self.wake();
    }

    /// Wakes all waiting callers to check again.
    pub fn wake(&self) {
        // Locked so that a thread between its check and its wait can't miss this.
        drop(self.lock.lock());
        self.moved.notify_all();
        self.notify.notify_waiters();
    }

    fn look(&self, lsn: u64, trouble: &Trouble) -> Option<Result<(), NotDurable>> {
        if self.durable() >= lsn {
            return Some(Ok(()));
        }
        trouble.get().map(Err)
    }

    pub async fn wait(&self, lsn: u64, trouble: &Trouble) -> Result<(), NotDurable> {
        loop {
            let notified = self.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(answer) = self.look(lsn, trouble) {
                return answer;
            }
            notified.await;
        }
    }

    pub fn wait_blocking(&self, lsn: u64, limit: Duration, trouble: &Trouble) -> Result<(), NotDurable> {
        let watch = Stopwatch::start();
        let mut guard = self.lock.lock();
        loop {
            if let Some(answer) = self.look(lsn, trouble) {
                return answer;
            }
            let left = limit.saturating_sub(watch.elapsed());
            if self.moved.wait_for(&mut guard, left).timed_out() {
                return self.look(lsn, trouble).unwrap_or(Err(NotDurable::TimedOut));
            }
        }
    }
}
