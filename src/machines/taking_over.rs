//! Waiting for the agent and taking it over: this machine's store is brought up to date.

use std::cell::RefCell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::store::{
    EngineError, Follower, OpenReport, Replica, StateStore, StoreError, StoreOptions, opening_entry,
};
use maxim_bus::clock::{Clock, Stopwatch, SystemClock};
use maxim_bus::latch::LatchRecord;
use maxim_bus::lease::Lease;

use super::connection::{Nats, in_full};
use super::copies;
use super::identity::Identity;
use super::journal::{self, Extent, Journal, NotTaken};
use super::lease::{Attempt, Candidate, Holder, Keeper};
use crate::cli::{CliError, Exit};
use crate::daemon::{opening, systemd};
use crate::data_folder::DataFolder;
use crate::standard_error;

/// A waiting machine looks this often.
const LOOK: Duration = Duration::from_millis(250);
/// It follows the journal this often.
const FOLLOW: Duration = Duration::from_secs(2);
/// How often a former owner may append another entry during the takeover.
const TRIES: u32 = 20;
pub fn failed(what: &str, why: impl std::fmt::Display) -> CliError {
    CliError::new(Exit::TryAgain, format!("{what}: {why}"), "see that the NATS server is well, then start again")
}

/// The latch in the bucket, and its revision there.
pub type FoundLatch = Option<(LatchRecord, u64)>;

pub type TakenOver = (Arc<Journal>, StateStore, OpenReport, FoundLatch);

/// A machine that wants to run the agent.
pub struct Joining<'a> {
    nats: &'a Arc<Nats>,
    folder: &'a DataFolder,
    options: StoreOptions,
    /// How the store of a new history was opened, if there was none.
    made: RefCell<Option<OpenReport>>,
    /// This machine's store, kept open while it waits: a large one takes long to open.
    following: RefCell<Option<Follower>>,
    /// While it waits, systemd's watchdog is fed.
    feeding: RefCell<Option<systemd::Feeding>>,
}

impl<'a> Joining<'a> {
    pub fn new(nats: &'a Arc<Nats>, folder: &'a DataFolder, options: StoreOptions) -> Self {
        let (made, following, feeding) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { nats, folder, options, made, following, feeding }
    }

    /// Follows the journal meanwhile, so that the takeover is quick.
    pub fn wait_for_lease(&self, identity: &Identity, lease: Duration) -> Result<Keeper, CliError> {
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
                            "standing by: {} (process {}) runs the agent {}; this machine follows, and takes over {} s \
                            after its last sign of life",
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

    /// Follows the owner one step. Returns why that isn't possible now, if so. A permanent failure ends the waiting.
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

    /// Takes over; this machine has the lease.
    pub fn take_over(&self, lease: &Lease) -> Result<TakenOver, CliError> {
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
                    tracing::warn!(why, "the takeover is tried again");
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
        // From here on no other machine appends.
        let settled = follower.take(journal.position().sequence, &entry).and_then(|()| follower.settle());
        settled.map_err(Failure::of)?;
        drop(follower);
        let replica = Arc::clone(&journal) as Arc<dyn Replica>;
        let opened = StateStore::open_replicated(&self.folder.store(), self.options, replica);
        let (store, mut report) = match opened {
            Ok(opened) => opened,
            Err(error @ (StoreError::Engine(EngineError::Damaged(_)) | StoreError::OtherHistory { .. })) => {
                standard_error::tell(format_args!("this machine's store is damaged and filled again: {error}"));
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
        // An unreadable latch means stopped, as on a disk.
        let unreadable = |error: serde_json::Error| {
            LatchRecord::stopped(format!("what NATS holds of the latch of the former machine makes no sense ({error})"))
        };
        Ok(Some((serde_json::from_slice(&entry.value).unwrap_or_else(unreadable), entry.revision)))
    }

    /// Brings this machine's store to the end of the journal. `None` if there is no store yet and none is to be made.
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
                standard_error::tell(format_args!("this machine's store is damaged ({why}) and filled again"));
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
                    .ok_or_else(|| Failure::Passing("the store was created and isn't there".into()))?
            }
            (None, false, _) => self.fetch(extent, Former::Kept)?,
            (Some(follower), _, _) => {
                let why = match follower.position() {
                    None if begins => None,
                    None => Some("it was used alone".to_owned()),
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
                        "run `maxim machines leave` on the machine that has the newest, start it first, and the agent \
                        begins with its state"
                    } else {
                        "move that folder away, and a new one is filled from there; or use it alone without nats.url \
                        after `maxim machines leave`, or as another nats.agent"
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

    /// Replaces this machine's store, which is moved aside, with the newest copy.
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
            standard_error::tell(format_args!("the previous store is kept in {}", aside.display()));
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

/// What happens to the store that a copy replaces.
#[derive(Clone, Copy, PartialEq)]
enum Former {
    /// It is damaged, or its content is unknown.
    Kept,
    /// The copy contains all of it.
    Removed,
}

enum Failure {
    /// A later try may succeed.
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
