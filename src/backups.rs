//! Automatic backups: one is made when the newest is old enough, beside all other work.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::store::{BackupReport, StateStore, StoreError};
use maxim_bus::SharedClock;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

/// After a failed backup, the next try comes this much later.
const RETRY: Duration = Duration::from_secs(600);
/// The clock is read again this often, because it may be set or the machine may sleep.
const LOOK: Duration = Duration::from_secs(60);

/// Makes the backups of a store's own folder.
pub struct Backups {
    store: StateStore,
    /// Zero: no automatic backups.
    every: Duration,
    /// How many backups are kept; at least 1.
    keep: usize,
    failed: Mutex<Option<(Timestamp, String)>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Backups {
    pub fn new(store: StateStore, every: Duration, keep: usize) -> Arc<Self> {
        let (failed, ended) = (Mutex::default(), Mutex::new(false));
        Arc::new(Self { store, every, keep, failed, ended, end: Condvar::new() })
    }

    /// Makes one now.
    ///
    /// # Errors
    /// The disk fails, or the store has no disk.
    pub fn make(&self) -> Result<BackupReport, StoreError> {
        self.store.backup_rotating(self.keep)
    }

    /// Starts making backups when they are due, on its own thread. `None` if no backups are to be made.
    ///
    /// # Errors
    /// The thread can't be started.
    pub fn start(self: &Arc<Self>, clock: SharedClock) -> std::io::Result<Option<JoinHandle<()>>> {
        if self.every.is_zero() || self.store.folder().is_none() {
            return Ok(None);
        }
        let backups = Arc::clone(self);
        let thread = std::thread::Builder::new().name("backups".into());
        thread.spawn(move || backups.keep_going(&clock)).map(Some)
    }

    fn keep_going(&self, clock: &SharedClock) {
        let started = clock.now();
        loop {
            let wait = self.due(started).duration_since(clock.now());
            let wait = Duration::try_from(wait.max(SignedDuration::ZERO)).unwrap_or_default();
            if !wait.is_zero() {
                if self.ends_within(wait.min(LOOK)) {
                    return;
                }
                continue;
            }
            if *self.ended.lock() {
                return;
            }
            let made = self.make();
            *self.failed.lock() = made.as_ref().err().map(|error| (clock.now(), error.to_string()));
            match made {
                Ok(report) => {
                    tracing::info!(place = %report.place.display(), bytes = report.bytes, "a backup was made")
                }
                Err(error) => tracing::error!(%error, "no backup could be made; the next try is in 10 min"),
            }
        }
    }

    /// When the next backup is due: `every` after the newest, or after the start if there is none.
    fn due(&self, started: Timestamp) -> Timestamp {
        let after = |at: Timestamp, time: Duration| at.checked_add(time).unwrap_or(Timestamp::MAX);
        let due = after(self.newest().unwrap_or(started), self.every);
        match &*self.failed.lock() {
            Some((at, _)) => due.max(after(*at, RETRY.min(self.every))),
            None => due,
        }
    }

    fn newest(&self) -> Option<Timestamp> {
        let found = StateStore::backups_in(self.store.folder()?);
        found.iter().filter_map(|backup| backup.made).max()
    }

    fn ends_within(&self, time: Duration) -> bool {
        let mut ended = self.ended.lock();
        self.end.wait_while_for(&mut ended, |ended| !*ended, time);
        *ended
    }

    /// Begins no further backup.
    pub fn end(&self) {
        *self.ended.lock() = true;
        self.end.notify_all();
    }

    /// For the status.
    pub fn document(&self) -> Value {
        let found = self.store.folder().map(StateStore::backups_in).unwrap_or_default();
        json!({
            "every_s": self.every.as_secs(),
            "keep": self.keep,
            "count": found.len(),
            "newest": found.iter().filter_map(|backup| backup.made).max(),
            "failed": self.failed.lock().as_ref().map(|(_, why)| why.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_actors::store::StoreOptions;
    use maxim_bus::SystemClock;

    #[test]
    fn backups_are_made_by_themselves_and_the_oldest_go() {
        let dir = tempfile::tempdir().expect("a folder");
        let (store, _) = StateStore::open(dir.path(), StoreOptions::default()).expect("opens");
        let backups = Backups::new(store.clone(), Duration::from_millis(1), 2);
        let thread = backups.start(Arc::new(SystemClock)).expect("starts").expect("has a thread");
        let numbers =
            || -> Vec<u64> { StateStore::backups_in(dir.path()).iter().map(|backup| backup.number).collect() };
        while numbers().first().is_none_or(|newest| *newest < 5) {
            std::thread::yield_now();
        }
        backups.end();
        thread.join().expect("ends");
        assert_eq!(numbers().len(), 2, "{:?}", numbers());
        let told = backups.document();
        assert_eq!((&told["count"], &told["keep"], &told["failed"]), (&json!(2), &json!(2), &Value::Null));
        assert!(told["newest"].is_string(), "{told}");
    }

    #[test]
    fn none_are_made_where_that_is_switched_off_or_nothing_is_on_disk() {
        let dir = tempfile::tempdir().expect("a folder");
        let (store, _) = StateStore::open(dir.path(), StoreOptions::default()).expect("opens");
        let off = Backups::new(store, Duration::ZERO, 2);
        assert!(off.start(Arc::new(SystemClock)).expect("no error").is_none());
        let gone = Backups::new(StateStore::in_memory(), Duration::from_secs(1), 2);
        assert!(gone.start(Arc::new(SystemClock)).expect("no error").is_none());
        assert!(gone.make().is_err());
    }

    #[test]
    fn the_next_is_due_by_the_age_of_the_newest_and_later_after_a_failure() {
        let dir = tempfile::tempdir().expect("a folder");
        let (store, _) = StateStore::open(dir.path(), StoreOptions::default()).expect("opens");
        let day = Duration::from_secs(86_400);
        let backups = Backups::new(store, day, 2);
        let started = Timestamp::UNIX_EPOCH;
        assert_eq!(backups.due(started), started + day, "none is there: a day after the start");
        backups.make().expect("makes one");
        let made = backups.newest().expect("it is there");
        assert_eq!(backups.due(started), made + day);
        let failed = made + day;
        *backups.failed.lock() = Some((failed, "the disk is full".into()));
        assert_eq!(backups.due(started), failed + RETRY);
    }
}
