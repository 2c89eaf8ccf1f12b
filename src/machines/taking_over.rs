//! Waiting for the agent, taking it over, keeping it, and giving it back.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::region::Tap;
use maxim_actors::store::{
    EngineError, EngineKind, Follower, OpenReport, Replica, StateStore, StoreError, StoreOptions, opening_entry,
};
use maxim_bus::clock::{Clock, Stopwatch, SystemClock};
use maxim_bus::latch::{LatchRecord, Mirror};
use maxim_bus::lease::Lease;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use super::connection::{Nats, in_full};
use super::identity::Identity;
use super::journal::{self, Extent, Journal, NotTaken};
use super::lease::{Attempt, Candidate, Holder, Keeper};
use super::{Taken, copies, remote, signals};
use crate::agent::AgentHandle;
use crate::cli::{CliError, Exit};
use crate::config;
use crate::daemon::{opening, systemd};
use crate::data_folder::DataFolder;
use crate::http::Served;
use crate::standard_error;

/// Whoever waits looks this often.
const LOOK: Duration = Duration::from_millis(250);
/// And follows the journal this often.
const FOLLOW: Duration = Duration::from_secs(2);
/// How often a former owner may append one more entry while it is being taken over from.
const TRIES: u32 = 20;
/// How often the journal's length is looked at.
const WEIGH: Duration = Duration::from_secs(30);

/// A machine that lives the agent.
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

fn failed(what: &str, why: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::TryAgain, format!("{what}: {why}"), "see that the NATS server is well, then start again")
}

/// Waits until this machine may live the agent, brings its store to where the agent was, and opens it.
///
/// # Errors
/// The server isn't to be had, this machine's store is of another history, or it can't be opened.
pub fn join(settings: &config::Nats, folder: &DataFolder, options: StoreOptions) -> Result<Taken, CliError> {
    let url = settings.url.as_deref().unwrap_or_default();
    if options.engine == EngineKind::Memory {
        let found = "nats.url is set, and store.engine = memory keeps nothing on a disk that could follow a journal";
        return Err(CliError::new(Exit::BadConfig, found, "set store.engine to sled or redb, or take nats.url out"));
    }
    let identity = Identity::take(folder)?;
    if let Some(pid) = StateStore::held_by(&folder.store()) {
        let found = format!("the store in {} is in use by process {pid}", folder.store().display());
        return Err(CliError::new(Exit::TryAgain, found, "stop that process, or name another folder with --data"));
    }
    let nats = Arc::new(Nats::connect(settings, url)?);
    let joining = Joining {
        nats: &nats,
        folder,
        options,
        made: RefCell::default(),
        following: RefCell::default(),
        feeding: RefCell::default(),
    };
    let keeper = Arc::new(joining.wait_for_lease(&identity, settings.lease.get())?);
    // Kept from now on: bringing the store up may take longer than the lease.
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
        "this machine lives the agent {} now; its fencing token is {}",
        nats.names.agent,
        machines.lease().token()
    ));
    let (latch, revision) = latch.unzip();
    let mirror = mirror(Arc::clone(&nats), machines.lease().clone(), revision);
    Ok(Taken { store, report, latch, mirror, machines })
}

/// What the bucket holds of the latch, and its revision there.
type FoundLatch = Option<(LatchRecord, u64)>;

/// What the latch says goes into the bucket, for whoever takes over: only over what this owner knows to stand there, so that one
/// that was paused doesn't put its own in the place of its successor's.
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
            // An earlier one may have arrived whose answer got lost. It is tried again, if this one is the owner still.
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

type TakenOver = (Arc<Journal>, StateStore, OpenReport, FoundLatch);

struct Joining<'a> {
    nats: &'a Arc<Nats>,
    folder: &'a DataFolder,
    options: StoreOptions,
    /// How the store was opened that a new history begins with, where there was none.
    made: RefCell<Option<OpenReport>>,
    /// This machine's store while it waits, open, so that a large one isn't opened again at each look.
    following: RefCell<Option<Follower>>,
    /// While it waits, systemd is told that it lives.
    feeding: RefCell<Option<systemd::Feeding>>,
}

impl Joining<'_> {
    /// Follows the journal meanwhile, so that taking over is quick.
    fn wait_for_lease(&self, identity: &Identity, lease: Duration) -> Result<Keeper, CliError> {
        let mut candidate = Candidate::new(Arc::clone(self.nats), identity, lease, SystemClock.now());
        let mut told: Option<Holder> = None;
        let mut trouble: Option<String> = None;
        let mut followed = Stopwatch::start();
        loop {
            match candidate.attempt() {
                Ok(Attempt::Won(keeper)) => return Ok(keeper),
                Ok(Attempt::Held { by, left }) => {
                    let is_new = told.as_ref().is_none_or(|told| told.machine != by.machine || told.pid != by.pid);
                    if is_new {
                        self.feeding.borrow_mut().get_or_insert_with(systemd::waiting);
                        standard_error::tell(format_args!(
                            "standing by: {} (process {}) lives the agent {}; this machine follows, and takes over {} s after \
                             its last sign of life",
                            by.host,
                            by.pid,
                            self.nats.names.agent,
                            left.as_secs_f32().ceil()
                        ));
                    }
                    told = Some(by);
                    if is_new || followed.elapsed() > FOLLOW {
                        let held_up = self.follow()?;
                        if held_up.is_some() && held_up != trouble {
                            let why = held_up.as_deref().unwrap_or_default();
                            standard_error::tell(format_args!("standing by: the journal can't be followed now: {why}"));
                        }
                        trouble = held_up;
                        followed = Stopwatch::start();
                    }
                }
                Err(why) => {
                    if trouble.as_ref() != Some(&why) {
                        standard_error::tell(format_args!("standing by: NATS doesn't answer: {why}"));
                    }
                    trouble = Some(why);
                }
            }
            std::thread::sleep(LOOK.min(lease / 8));
        }
    }

    /// One step behind whoever lives it: why that isn't possible now, if it isn't. What can't ever work ends the waiting.
    fn follow(&self) -> Result<Option<String>, CliError> {
        let followed = match journal::extent(self.nats) {
            Ok(Some(extent)) => self.bring_up(extent, Role::Waiting),
            Ok(None) => return Ok(None),
            Err(why) => return Ok(Some(why)),
        };
        match followed {
            Ok(follower) => {
                *self.following.borrow_mut() = follower;
                Ok(None)
            }
            Err(Failure::Passing(why)) => Ok(Some(why)),
            Err(Failure::Final(error)) => Err(error),
        }
    }

    /// The lease is this machine's.
    fn take_over(&self, lease: &Lease) -> Result<TakenOver, CliError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_take_over(lease) {
                Ok(taken) => return Ok(taken),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(why)) if tries == TRIES => {
                    return Err(failed("the agent can't be taken over", why));
                }
                Err(Failure::Passing(why)) => {
                    lease.check().map_err(|error| failed("the agent can't be taken over", error))?;
                    tracing::warn!(why, "taking over is tried again");
                    std::thread::sleep(LOOK);
                }
            }
        }
    }

    fn try_take_over(&self, lease: &Lease) -> Result<TakenOver, Failure> {
        let extent = match journal::extent(self.nats).map_err(Failure::Passing)? {
            Some(extent) => extent,
            None => journal::make(self.nats).map_err(Failure::Passing)?,
        };
        let mut follower =
            self.bring_up(extent, Role::Owner)?.ok_or_else(|| Failure::Passing("there is no store to open".into()))?;
        let journal = Arc::new(Journal::new(Arc::clone(self.nats), lease.clone(), extent));
        let entry = opening_entry();
        match journal.try_append(std::slice::from_ref(&entry)) {
            Ok(()) => {}
            Err(NotTaken::Overtaken) => return Err(Failure::Passing("the former owner wrote once more".into())),
            Err(NotTaken::Unanswered(why)) => return Err(Failure::Passing(why)),
        }
        // From here on nobody else appends.
        let settled = follower.take(journal.position().sequence, &entry).and_then(|()| follower.settle());
        settled.map_err(Failure::of)?;
        drop(follower);
        let replica = Arc::clone(&journal) as Arc<dyn Replica>;
        let opened = StateStore::open_replicated(&self.folder.store(), self.options, replica);
        let (store, mut report) = match opened {
            Ok(opened) => opened,
            Err(error @ (StoreError::Engine(EngineError::Damaged(_)) | StoreError::OtherHistory { .. })) => {
                standard_error::tell(format_args!("this machine's store is damaged and filled anew: {error}"));
                self.fetch(extent, Former::Kept)?;
                return Err(Failure::Passing(error.to_string()));
            }
            Err(error) => return Err(Failure::of(error)),
        };
        if let Some(made) = self.made.take() {
            report = OpenReport { boot: report.boot, heads: report.heads, ..made };
        }
        let latch = self.latch().map_err(Failure::Passing)?;
        Ok((journal, store, report, latch))
    }

    fn latch(&self) -> Result<FoundLatch, String> {
        let entry = self.nats.wait_briefly(self.nats.bucket.entry(self.nats.names.latch()))?;
        let Some(entry) = entry.map_err(|error| in_full(&error))? else { return Ok(None) };
        // One that can't be read means stopped, as on a disk.
        let unreadable = |error: serde_json::Error| {
            LatchRecord::stopped(format!("what NATS holds of the latch of the former machine makes no sense ({error})"))
        };
        Ok(Some((serde_json::from_slice(&entry.value).unwrap_or_else(unreadable), entry.revision)))
    }

    /// Brings this machine's store to the end of the journal; nothing where there is none yet and it isn't to be made.
    fn bring_up(&self, extent: Extent, role: Role) -> Result<Option<Follower>, Failure> {
        let path = self.folder.store();
        self.folder.make().map_err(|error| Failure::Final(failed("the data folder", error)))?;
        let open = || match self.following.take() {
            Some(follower) => Ok(Some(follower)),
            None => Follower::open(&path, self.options.page_cache),
        };
        let begins = extent.last == 0 && copies::found(self.nats, extent.history).map_err(Failure::Passing)?.is_empty();
        let follower = match open() {
            Err(StoreError::Engine(EngineError::Damaged(why))) if !begins => {
                standard_error::tell(format_args!("this machine's store is damaged ({why}) and filled anew"));
                None
            }
            opened => opened.map_err(Failure::of)?,
        };
        let mut follower = match (follower, begins, role) {
            (_, true, Role::Waiting) => return Ok(None),
            (None, true, Role::Owner) => {
                let (store, report) = StateStore::open(&path, self.options).map_err(Failure::of)?;
                store.close().map_err(Failure::of)?;
                *self.made.borrow_mut() = Some(report);
                open()
                    .map_err(Failure::of)?
                    .ok_or_else(|| Failure::Passing("the store was made and isn't there".into()))?
            }
            (None, false, _) => self.fetch(extent, Former::Kept)?,
            (Some(follower), _, _) => {
                let why = match follower.position() {
                    None if begins => None,
                    None => Some("it was lived alone".to_owned()),
                    Some(at) if at.history != extent.history && begins => {
                        Some("it is of another journal, and the server has none: it has lost that".to_owned())
                    }
                    Some(at) if at.history != extent.history => Some("it is of another journal".to_owned()),
                    Some(at) if at.sequence > extent.last => Some(format!(
                        "it has entry {} and the journal ends at {}: the server has lost something",
                        at.sequence, extent.last
                    )),
                    Some(_) => None,
                };
                if let Some(why) = why {
                    let found = format!(
                        "the store in {} isn't a copy of the agent {} of {}: {why}",
                        path.display(),
                        self.nats.names.agent,
                        self.nats.url
                    );
                    let fix = if begins {
                        "run `maxim machines leave` on the machine that has the newest, start it first, and the agent begins with what it has"
                    } else {
                        "move that folder away, and it is filled from there; or live it alone without nats.url after \
                         `maxim machines leave`, or as another nats.agent"
                    };
                    return Err(Failure::Final(CliError::new(Exit::NotHeld, found, fix)));
                }
                match follower.position() {
                    Some(at) if at.sequence + 1 < extent.first => {
                        drop(follower);
                        self.fetch(extent, Former::Removed)?
                    }
                    _ => follower,
                }
            }
        };
        if begins || follower.position().is_none_or(|at| at.history != extent.history) {
            follower.begin(extent.history).map_err(Failure::of)?;
        }
        let from = follower.position().map_or(0, |at| at.sequence);
        let mut broken = None;
        let read = journal::read(self.nats, from + 1, extent.last, |sequence, entry| {
            follower.take(sequence, entry).map_err(|error| {
                let text = error.to_string();
                broken = Some(error);
                text
            })
        });
        if let Some(error) = broken {
            return Err(Failure::of(error));
        }
        follower.settle().map_err(Failure::of)?;
        read.map_err(Failure::Passing)?;
        Ok(Some(follower))
    }

    /// Puts the newest copy in the place of what this machine has, which is moved aside.
    fn fetch(&self, extent: Extent, former: Former) -> Result<Follower, Failure> {
        let all = copies::found(self.nats, extent.history).map_err(Failure::Passing)?;
        let newest = all.last().ok_or_else(|| {
            Failure::Final(CliError::new(
                Exit::TryAgain,
                "the machine that began this journal put no copy of its store there, and without one it can't be followed",
                "start that machine once more",
            ))
        })?;
        standard_error::tell(format_args!(
            "fetching the agent {} from {} ({} bytes)",
            self.nats.names.agent, self.nats.url, newest.bytes
        ));
        let place = self.folder.path().join("fetching");
        let clear = || fs::remove_dir_all(&place);
        let _ = clear();
        let fetched = copies::fetch(self.nats, extent.history, *newest, &place).map_err(Failure::Passing);
        let put = fetched
            .and_then(|()| StateStore::replace(&place, &self.folder.store(), &self.options).map_err(Failure::of));
        let _ = clear();
        if let Some(aside) = put?.set_aside {
            if former == Former::Removed && fs::remove_dir_all(&aside).is_ok() {
                return self.open_fetched();
            }
            standard_error::tell(format_args!("what was here before lies in {}", aside.display()));
        }
        self.open_fetched()
    }

    fn open_fetched(&self) -> Result<Follower, Failure> {
        let opened = Follower::open(&self.folder.store(), self.options.page_cache);
        let mut follower = opened
            .map_err(Failure::of)?
            .ok_or_else(|| Failure::Passing("the copy was put in place and isn't there".into()))?;
        follower.forget_end().map_err(Failure::of)?;
        Ok(follower)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Waiting,
    Owner,
}

/// What becomes of the store that a copy takes the place of.
#[derive(Clone, Copy, PartialEq)]
enum Former {
    /// It is damaged, or nobody knows what is in it.
    Kept,
    /// All that is in it is in the copy too.
    Removed,
}

enum Failure {
    /// It may work in a moment.
    Passing(String),
    Final(CliError),
}

impl Failure {
    fn of(error: StoreError) -> Self {
        let is_passing = matches!(
            error,
            StoreError::Locked { .. }
                | StoreError::NoSpace { .. }
                | StoreError::Refused { .. }
                | StoreError::Replica(_)
                | StoreError::Engine(EngineError::Full | EngineError::Io(_) | EngineError::Locked(_))
        );
        if is_passing { Self::Passing(error.to_string()) } else { Self::Final(opening::failed(&error)) }
    }
}

impl Machines {
    /// Before anything is lived there is a copy: no other machine could begin without.
    fn begin(&self) -> Result<(), String> {
        let copied = copies::found(&self.nats, self.journal.position().history)?.last().copied();
        self.state.lock().copied = copied;
        if copied.is_some() { Ok(()) } else { self.copy() }
    }

    /// The lease that covers all that this machine does.
    pub fn lease(&self) -> &Lease {
        &self.keeper.lease
    }

    /// Tells other machines the signals that they are to hear, beside whoever listens already.
    pub fn tap(&self, next: Option<Arc<dyn Tap>>) -> Option<Arc<dyn Tap>> {
        if self.signals.is_empty() {
            return next;
        }
        let to_others = signals::Forwarding::new(Arc::clone(&self.nats), &self.signals, &self.store, next);
        Some(to_others as Arc<dyn Tap>)
    }

    /// Begins to act on what other machines want: stops, heartbeats, and the loss of the lease, of which `lost` is told.
    ///
    /// # Errors
    /// A signal to be told has no such name, or a thread can't be started.
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

    /// Takes in what the senses of other machines report.
    pub fn observe(&self, served: &Arc<Served>) {
        remote::observe(&self.nats, served);
    }

    /// A moment later: nothing when it ends, why it is lost, or `Err(None)` while it is held.
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
                tracing::error!(why, "no copy of the store could be put beside its journal; it is tried again");
            }
            self.state.lock().copy_failed = copied.err();
        }
    }

    /// Puts a copy beside the journal, and drops what nobody needs then.
    fn copy(&self) -> Result<(), String> {
        let _ = fs::remove_dir_all(&self.beside);
        let made = self.store.backup(&self.beside).map_err(|error| error.to_string());
        let put = made.and_then(|_| copies::put(&self.nats, &self.beside));
        let _ = fs::remove_dir_all(&self.beside);
        let (own, oldest) = put?;
        self.state.lock().copied = Some(own);
        journal::drop_before(&self.nats, oldest.sequence + 1)
    }

    /// Why the agent isn't this machine's any more.
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
        // Waiting for the server isn't possible on a thread of another runtime.
        let keeper = Arc::clone(&self.keeper);
        let _ = std::thread::spawn(move || keeper.release()).join();
    }
}
