//! Which machine runs the agent: an entry in a bucket. It is won by creating it, and renewed by writing it again at its
//! present revision.
//!
//! Clocks of machines are never compared. A waiting machine takes the lease when the entry hasn't changed for the
//! duration of the lease, by its own count since it saw the entry. The owner counts from before its request, and a
//! tenth less. The revision of the won entry is the fencing token: it is larger than that of each earlier owner.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Operation, UpdateErrorKind};
use jiff::Timestamp;
use maxim_bus::clock::since_boot;
use maxim_bus::lease::Lease;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::connection::{Nats, in_full};
use super::identity::Identity;

/// The content of the bucket's entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    pub machine: Uuid,
    pub host: String,
    /// See [`Identity`].
    pub place: String,
    pub pid: u32,
    pub since: Timestamp,
    /// Counts the renewals, so that a renewal whose answer got lost is recognised.
    pub beat: u64,
    pub lease_ms: u64,
    /// True if it was given back in order.
    pub released: bool,
}

/// How long an owner believes to hold it: clocks run at almost the same speed.
fn held_for(lease: Duration) -> Duration {
    lease / 10 * 9
}

/// A machine that wants the lease.
pub struct Candidate {
    nats: Arc<Nats>,
    holder: Holder,
    lease: Duration,
    /// The last seen revision, and since when it has been there.
    seen: Option<(u64, Duration)>,
}

/// How an attempt ended.
pub enum Attempt {
    Won(Keeper),
    /// Another machine has it. The time until it may be taken, if there is no sign of that machine.
    Held {
        by: Holder,
        left: Duration,
    },
}

impl Candidate {
    pub fn new(nats: Arc<Nats>, identity: &Identity, lease: Duration, since: Timestamp) -> Self {
        let holder = Holder {
            machine: identity.id,
            host: identity.host.clone(),
            place: identity.place.clone(),
            pid: std::process::id(),
            since,
            beat: 0,
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            released: false,
        };
        Self { nats, holder, lease, seen: None }
    }

    /// Looks once, and takes the lease if it is free.
    ///
    /// # Errors
    /// The server doesn't answer; the error is in words.
    pub fn attempt(&mut self) -> Result<Attempt, String> {
        let key = self.nats.names.lease();
        let asked = since_boot();
        let entry = self.nats.wait_briefly(self.nats.bucket.entry(key.as_str()))?;
        let entry = entry.map_err(|error| in_full(&error))?.filter(|entry| entry.operation == Operation::Put);
        let body = serde_json::to_vec(&self.holder).map_err(|error| error.to_string())?;
        let Some(entry) = entry else {
            return match self.nats.wait_briefly(self.nats.bucket.create(key.as_str(), body.into()))? {
                Ok(revision) => Ok(self.won(revision, asked)),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => self.attempt(),
                Err(error) => Err(in_full(&error)),
            };
        };
        let by: Option<Holder> = serde_json::from_slice(&entry.value).ok();
        let now = since_boot();
        let since = match self.seen {
            Some((revision, since)) if revision == entry.revision => since,
            _ => now,
        };
        self.seen = Some((entry.revision, since));
        // An unreadable entry was written by another program: it counts as held for as long as ours would be.
        let lasts = by.as_ref().map_or(self.lease, |by| self.lease.max(Duration::from_millis(by.lease_ms)));
        let left = (since + lasts).saturating_sub(now);
        // An entry of this same machine is of a dead process: this process holds the machine's file.
        let is_own = |by: &Holder| by.machine == self.holder.machine && by.place == self.holder.place;
        let is_free = by.as_ref().is_some_and(|by| by.released || is_own(by)) || left.is_zero();
        if !is_free {
            let by = by.unwrap_or_else(|| Holder { host: "an unknown machine".into(), ..self.holder.clone() });
            return Ok(Attempt::Held { by, left });
        }
        match self.nats.wait_briefly(self.nats.bucket.update(key.as_str(), body.into(), entry.revision))? {
            Ok(revision) => Ok(self.won(revision, asked)),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => self.attempt(),
            Err(error) => Err(in_full(&error)),
        }
    }

    fn won(&self, revision: u64, asked: Duration) -> Attempt {
        Attempt::Won(Keeper {
            nats: Arc::clone(&self.nats),
            lasts: self.lease,
            lease: Lease::won(revision, asked, held_for(self.lease)),
            state: Mutex::new(Kept { holder: self.holder.clone(), revision, ended: false }),
            changed: parking_lot::Condvar::new(),
        })
    }
}

/// Keeps a lease that was won.
pub struct Keeper {
    nats: Arc<Nats>,
    lasts: Duration,
    pub lease: Lease,
    state: Mutex<Kept>,
    changed: parking_lot::Condvar,
}

struct Kept {
    holder: Holder,
    revision: u64,
    ended: bool,
}

impl Keeper {
    pub fn holder(&self) -> Holder {
        self.state.lock().holder.clone()
    }

    /// Renews the lease in time, until it is lost or given back.
    pub fn keep(&self) {
        let pause = self.lasts / 5;
        loop {
            {
                let mut state = self.state.lock();
                if !state.ended {
                    self.changed.wait_for(&mut state, pause);
                }
                if state.ended {
                    return;
                }
            }
            if self.lease.check().is_err() {
                return;
            }
            match self.renew() {
                Ok(()) => {}
                // It is tried again until the lease ends.
                Err(Refused::Unanswered(why)) => {
                    tracing::warn!(why, left_ms = self.lease.left().as_millis(), "the lease could not be renewed");
                }
                Err(Refused::Taken(by)) => self.lease.lose(&format!("{} (process {}) took it over", by.host, by.pid)),
            }
        }
    }

    fn renew(&self) -> Result<(), Refused> {
        let key = self.nats.names.lease();
        let asked = since_boot();
        let (holder, revision) = {
            let mut state = self.state.lock();
            state.holder.beat += 1;
            (state.holder.clone(), state.revision)
        };
        let body = serde_json::to_vec(&holder).map_err(|error| Refused::Unanswered(error.to_string()))?;
        let written = self.nats.wait_briefly(self.nats.bucket.update(key.as_str(), body.into(), revision));
        match written.map_err(Refused::Unanswered)? {
            Ok(revision) => {
                self.state.lock().revision = revision;
                self.lease.renewed(asked, held_for(self.lasts));
                Ok(())
            }
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => self.look(&holder),
            Err(error) => Err(Refused::Unanswered(in_full(&error))),
        }
    }

    /// The entry has another revision: an earlier renewal arrived and its answer got lost, or another machine took the
    /// lease.
    fn look(&self, own: &Holder) -> Result<(), Refused> {
        let entry = self.nats.wait_briefly(self.nats.bucket.entry(self.nats.names.lease()));
        let entry = entry.map_err(Refused::Unanswered)?.map_err(|error| Refused::Unanswered(in_full(&error)))?;
        let nobody = || Holder { host: "somebody".into(), ..own.clone() };
        let Some(entry) = entry else { return Err(Refused::Taken(nobody())) };
        let found: Option<Holder> = serde_json::from_slice(&entry.value).ok();
        match found {
            Some(found) if found.machine == own.machine && found.pid == own.pid && found.since == own.since => {
                self.state.lock().revision = entry.revision;
                Ok(())
            }
            found => Err(Refused::Taken(found.unwrap_or_else(nobody))),
        }
    }

    /// Gives the lease back, so that the next machine needn't wait. A lost lease is not given back.
    pub fn release(&self) {
        let (mut holder, revision) = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.ended, true) {
                return;
            }
            (state.holder.clone(), state.revision)
        };
        self.changed.notify_all();
        if self.lease.check().is_err() {
            return;
        }
        self.lease.lose("it was given back");
        holder.released = true;
        let Ok(body) = serde_json::to_vec(&holder) else { return };
        let key = self.nats.names.lease();
        // Otherwise the next machine waits until the lease has run out.
        let _ = self.nats.wait_briefly(self.nats.bucket.update(key.as_str(), body.into(), revision));
    }
}

enum Refused {
    Unanswered(String),
    Taken(Holder),
}
