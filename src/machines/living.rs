//! A machine that runs the agent: what it maintains for the others, and how it ends.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::region::Tap;
use maxim_actors::store::{EngineKind, Replica, StateStore, StoreOptions};
use maxim_bus::latch::Mirror;
use maxim_bus::lease::Lease;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use super::connection::Nats;
use super::identity::Identity;
use super::journal::{self, Extent, Journal};
use super::lease::Keeper;
use super::taking_over::{Joining, failed};
use super::{Taken, copies, remote, signals};
use crate::agent::AgentHandle;
use crate::cli::{CliError, Exit};
use crate::config;
use crate::data_folder::DataFolder;
use crate::http::Served;
use crate::standard_error;

/// How often the lease is checked, at least.
const LOOK: Duration = Duration::from_millis(250);
/// How often the journal's length is checked.
const WEIGH: Duration = Duration::from_secs(30);

/// A machine that runs the agent.
pub struct Machines {
    nats: Arc<Nats>,
    keeper: Arc<Keeper>,
    journal: Arc<Journal>,
    store: StateStore,
    /// Where copies are made before they are sent.
    beside: PathBuf,
    copy_every: u64,
    heartbeat: Duration,
    signals: Vec<String>,
    state: Mutex<State>,
    changed: Condvar,
    _identity: Identity,
}

#[derive(Default)]
struct State {
    lost: Option<Arc<str>>,
    is_ending: bool,
    copied: Option<copies::Copied>,
    copy_failed: Option<String>,
}

/// Waits until this machine may run the agent, brings its store up to date, and opens it.
///
/// # Errors
/// The server isn't available, this machine's store has another history, or it can't be opened.
pub fn join(settings: &config::Nats, folder: &DataFolder, options: StoreOptions) -> Result<Taken, CliError> {
    let url = settings.url.as_deref().unwrap_or_default();
    if options.engine == EngineKind::Memory {
        let found = "nats.url is set, and store.engine = memory keeps nothing on a disk that could follow a journal";
        return Err(CliError::new(Exit::BadConfig, found, "set store.engine to sled or redb, or remove nats.url"));
    }
    let identity = Identity::take(folder)?;
    if let Some(pid) = StateStore::held_by(&folder.store()) {
        let found = format!("the store in {} is in use by process {pid}", folder.store().display());
        return Err(CliError::new(Exit::TryAgain, found, "stop that process, or name another folder with --data"));
    }
    let nats = Arc::new(Nats::connect(settings, url)?);
    let joining = Joining::new(&nats, folder, options);
    let keeper = Arc::new(joining.wait_for_lease(&identity, settings.lease.get())?);
    // Renewed from now on: bringing the store up to date may take longer than the lease.
    let keeping = Arc::clone(&keeper);
    let kept = std::thread::Builder::new().name("lease".into()).spawn(move || keeping.keep());
    kept.map_err(|error| failed("a thread for the lease", error))?;
    let taken = joining.take_over(&keeper.lease);
    let (journal, store, report, latch) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            keeper.release();
            return Err(error);
        }
    };
    let machines = Machines {
        nats: Arc::clone(&nats),
        keeper,
        journal,
        store: store.clone(),
        beside: folder.path().join("copying"),
        copy_every: settings.copy_every.get(),
        heartbeat: settings.heartbeat.get(),
        signals: settings.signals.clone(),
        state: Mutex::default(),
        changed: Condvar::new(),
        _identity: identity,
    };
    if let Err(why) = machines.begin() {
        machines.keeper.release();
        return Err(failed("a first copy of the store can't be put beside its journal", why));
    }
    standard_error::tell(format_args!(
        "this machine runs the agent {} now; its fencing token is {}",
        nats.names.agent,
        machines.lease().token()
    ));
    let (latch, revision) = latch.unzip();
    let mirror = mirror(Arc::clone(&nats), machines.lease().clone(), revision);
    Ok(Taken { store, report, latch, mirror, machines })
}

/// Puts the latch's state into the bucket, for a successor. It only replaces the state that this owner knows, so a
/// paused owner can't overwrite that of its successor.
fn mirror(nats: Arc<Nats>, lease: Lease, revision: Option<u64>) -> Mirror {
    let known = Mutex::new(revision);
    Box::new(move |record| {
        let Ok(body) = serde_json::to_vec(record) else { return false };
        if lease.check().is_err() {
            return false;
        }
        let (mut known, key) = (known.lock(), nats.names.latch());
        let written = match *known {
            Some(revision) => nats.wait_briefly(nats.bucket.update(&key, body.into(), revision)).map(Result::ok),
            None => nats.wait_briefly(nats.bucket.create(&key, body.into())).map(Result::ok),
        };
        match written {
            Ok(Some(revision)) => {
                *known = Some(revision);
                true
            }
            // An earlier one may have arrived, with its answer lost. It is tried again if this machine is still the
            // owner.
            Ok(None) => {
                if let Ok(Ok(Some(entry))) = nats.wait_briefly(nats.bucket.entry(&key)) {
                    *known = Some(entry.revision);
                }
                false
            }
            Err(_) => false,
        }
    })
}

impl Machines {
    /// A copy must exist before the agent runs: without one no other machine could begin.
    fn begin(&self) -> Result<(), String> {
        let copied = copies::found(&self.nats, self.journal.position().history)?.last().copied();
        self.state.lock().copied = copied;
        if copied.is_some() { Ok(()) } else { self.copy() }
    }

    /// The lease that covers everything this machine does.
    pub fn lease(&self) -> &Lease {
        &self.keeper.lease
    }

    /// Sends other machines the signals that they should hear, beside the existing tap.
    pub fn tap(&self, next: Option<Arc<dyn Tap>>) -> Option<Arc<dyn Tap>> {
        if self.signals.is_empty() {
            return next;
        }
        let to_others = signals::Forwarding::new(Arc::clone(&self.nats), &self.signals, &self.store, next);
        Some(to_others as Arc<dyn Tap>)
    }

    /// Begins to serve other machines: stops, heartbeats, and the loss of the lease, which `lost` is told.
    ///
    /// # Errors
    /// A signal name is unknown, or a thread can't be started.
    pub fn live(self: &Arc<Self>, agent: &AgentHandle, lost: impl Fn() + Send + 'static) -> Result<(), CliError> {
        signals::check(&self.signals, agent)?;
        let no_thread = |error| failed("a thread for the other machines", error);
        remote::listen(&self.nats, &agent.outside.door, self.heartbeat);
        let (watching, latch) = (Arc::clone(self), agent.frame.latch.clone());
        let watch = std::thread::Builder::new().name("lease-watch".into()).spawn(move || {
            while let Err(why) = watching.watch() {
                if let Some(why) = why {
                    latch.fence(&why);
                    watching.state.lock().lost = Some(why);
                    lost();
                    return;
                }
            }
        });
        watch.map_err(no_thread)?;
        let copying = Arc::clone(self);
        let copies = std::thread::Builder::new().name("copies".into()).spawn(move || copying.keep_copying());
        copies.map_err(no_thread)?;
        Ok(())
    }

    /// Accepts the reports of other machines' senses.
    pub fn observe(&self, served: &Arc<Served>) {
        remote::observe(&self.nats, served);
    }

    /// The state a moment later: `Ok` when it ends, why the lease is lost, or `Err(None)` while it is held.
    fn watch(&self) -> Result<(), Option<Arc<str>>> {
        let mut state = self.state.lock();
        if !state.is_ending {
            self.changed.wait_for(&mut state, (self.lease().left() / 4).clamp(Duration::from_millis(5), LOOK));
        }
        if state.is_ending {
            return Ok(());
        }
        Err(self.lease().check().err().map(|lost| lost.0))
    }

    fn keep_copying(&self) {
        loop {
            {
                let mut state = self.state.lock();
                if !state.is_ending {
                    self.changed.wait_for(&mut state, WEIGH);
                }
                if state.is_ending || state.lost.is_some() {
                    return;
                }
            }
            let is_long = |extent: &Extent| {
                let copied = self.state.lock().copied;
                extent.bytes > self.copy_every.max(copied.map_or(0, |copied| copied.bytes))
                    && copied.is_none_or(|copied| copied.sequence < extent.last)
            };
            let copied = match journal::extent(&self.nats) {
                Ok(Some(extent)) if is_long(&extent) => self.copy(),
                Ok(_) => continue,
                Err(why) => Err(why),
            };
            if let Err(why) = &copied {
                tracing::error!(why, "no copy of the store could be put beside its journal; the next try follows");
            }
            self.state.lock().copy_failed = copied.err();
        }
    }

    /// Puts a copy beside the journal, and drops entries that are no longer needed.
    fn copy(&self) -> Result<(), String> {
        let _ = fs::remove_dir_all(&self.beside);
        let made = self.store.backup(&self.beside).map_err(|error| error.to_string());
        let put = made.and_then(|_| copies::put(&self.nats, &self.beside));
        let _ = fs::remove_dir_all(&self.beside);
        let (own, oldest) = put?;
        self.state.lock().copied = Some(own);
        journal::drop_before(&self.nats, oldest.sequence + 1)
    }

    /// Why this machine lost the agent, if it did.
    pub fn lost(&self) -> Option<Arc<str>> {
        self.state.lock().lost.clone()
    }

    /// For the status.
    pub fn document(&self) -> Value {
        let (holder, state) = (self.keeper.holder(), self.state.lock());
        json!({
            "agent": self.nats.names.agent,
            "server": self.nats.url,
            "connected": self.nats.client.connection_state() == async_nats::connection::State::Connected,
            "machine": holder.machine,
            "host": holder.host,
            "since": holder.since,
            "token": self.lease().token(),
            "lease_left_ms": u64::try_from(self.lease().left().as_millis()).unwrap_or(u64::MAX),
            "copied": state.copied.map(|copied| json!({"entry": copied.sequence, "bytes": copied.bytes})),
            "copy_failed": state.copy_failed,
        })
    }

    /// Ends in order: once the store is closed, the next machine may take the agent at once.
    pub fn end(&self) {
        self.state.lock().is_ending = true;
        self.changed.notify_all();
        // A thread of another runtime can't wait for the server.
        let keeper = Arc::clone(&self.keeper);
        let _ = std::thread::spawn(move || keeper.release()).join();
    }
}
