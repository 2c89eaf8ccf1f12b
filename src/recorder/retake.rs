//! Restores into a store what the recordings hold since its backup.
//!
//! Each region is given its recorded inputs after its present state. Its state hash, which covers all of its decisions,
//! finds this place. The result of an input is only committed if it equals the recorded one. So the store ends in a
//! state that the recorded run had at some moment. If a region can't follow further, the place is named. Nothing is
//! done outside again: effectors stay out, and their words are inputs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::region::Recorded;
use maxim_actors::store::{AgentStore, Commit};
use maxim_bus::hash::StableHash;
use maxim_bus::{Epoch, Lane, Lsn, RegionName};
use serde::Serialize;

use super::cast::{Cast, Ear};
use super::format::InputLine;
use super::{RecorderError, Recording, Window, recordings};

/// Mail that was said this long before the end isn't on its way any more: a region that got it had nothing to do.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(10);
/// After this many inputs the disk is waited for, and how long.
const STRETCH: u64 = 1024;
const DURABLE: Duration = Duration::from_secs(60);

/// The result of the restoration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Retaken {
    /// Inputs that are in the store again.
    pub inputs: u64,
    /// When the newest of them was taken.
    pub until: Option<Timestamp>,
    /// The highest process number of these runs.
    pub boot: u64,
    /// Inputs that should have been restored and couldn't be.
    pub left_out: u64,
    /// The reasons: the place where it ended, unreadable files, or files that begin from a state that the store isn't
    /// in.
    pub why: Vec<String>,
}

impl Retaken {
    /// For a person.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match self.until {
            Some(until) => format!("restored from the recordings: {} inputs, until {until:.0}", self.inputs),
            None => "the recordings hold nothing that could be restored".into(),
        }];
        if self.left_out > 0 {
            lines.push(format!("LOST: {} inputs of the recordings could not be restored", self.left_out));
        }
        lines.extend(self.why.iter().map(|why| format!("  {why}")));
        lines
    }
}

/// Restores what the recordings of a folder hold beyond the store's states, up to `until`. `since` is the time of the
/// backup, if known: files that end before it aren't missed. No room may be running. What was restored is durable.
///
/// # Errors
/// The store can't be read or written.
pub fn retake(
    store: &AgentStore,
    folder: &Path,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Retaken, RecorderError> {
    let mut taking = Taking {
        store,
        since,
        until,
        ear: Arc::default(),
        rooms: BTreeSet::new(),
        heads: VecDeque::new(),
        passed: Lsn(0),
        is_over: false,
        is_enough: false,
        done: Retaken::default(),
    };
    for path in recordings(folder, &Window::default()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let taken = Recording::read(&path).map(|recording| match recording.header.agent == *store.id() {
            true => taking.take(&recording, &name),
            false => Ok(()),
        });
        match taken {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                taking.is_over = true;
                taking.done.why.push(format!("{name}: {error}"));
            }
            Err(error) => taking.done.why.push(error.to_string()),
        }
    }
    taking.end()
}

struct Taking<'a> {
    store: &'a AgentStore,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    ear: Arc<Ear>,
    /// All rooms of these runs, also effectors.
    rooms: BTreeSet<RegionName>,
    /// The times of the newest inputs, and the store's head before each.
    heads: VecDeque<(Timestamp, Lsn)>,
    /// Messages up to here aren't on their way any more.
    passed: Lsn,
    /// Nothing further is restored,
    is_over: bool,
    /// because nothing further is wanted.
    is_enough: bool,
    done: Retaken,
}

impl Taking<'_> {
    fn take(&mut self, recording: &Recording, name: &str) -> Result<(), RecorderError> {
        self.done.boot = self.done.boot.max(recording.header.boot);
        let registry = recording.tools()?;
        let mut cast = Cast::new(recording, registry, self.store, &self.ear)?;
        self.rooms.extend(cast.steppers.keys());
        let (places, strangers) = self.places(recording, &cast)?;
        let is_ahead =
            |(place, line): &(usize, &InputLine)| places.get(&*line.region).is_some_and(|from| place >= from);
        let ahead: Vec<(usize, &InputLine)> = recording.inputs.iter().enumerate().filter(is_ahead).collect();
        let known = self.done.until.max(self.since);
        let missed = || recording.inputs.iter().filter(|line| known.is_some_and(|known| line.taken_at > known)).count();
        if ahead.is_empty() && (strangers.is_empty() || missed() == 0) {
            return Ok(());
        }
        if self.is_over || !strangers.is_empty() {
            if !std::mem::replace(&mut self.is_over, true) {
                let strangers = strangers.into_iter().collect::<Vec<_>>().join(", ");
                self.done.why.push(format!("{name} continues from another state of {strangers} than the store has"));
            }
            self.done.left_out += if self.is_enough { 0 } else { missed() as u64 };
            return Ok(());
        }
        let mut incarnations = BTreeMap::new();
        for (number, (_, line)) in ahead.iter().enumerate() {
            self.is_enough = self.until.is_some_and(|until| line.taken_at > until);
            if self.is_enough {
                self.is_over = true;
                break;
            }
            if let Err(why) = self.feed(recording, &mut cast, &mut incarnations, line) {
                self.is_over = true;
                self.done.left_out += (ahead.len() - number) as u64;
                let what = line.signal.as_deref().unwrap_or("a tick");
                self.done.why.push(format!("{name} can't be followed beyond {what} of {}: {why}", line.region));
                return Ok(());
            }
        }
        if !self.is_over && recording.cut.is_none() {
            // The end was in order: all messages were heard.
            self.passed = self.store.head();
            self.heads.clear();
        }
        Ok(())
    }

    /// The place in the file from which each region's inputs are new to it; and the regions whose state the file
    /// doesn't hold.
    fn places<'a>(
        &self,
        recording: &'a Recording,
        cast: &Cast,
    ) -> Result<(BTreeMap<&'a str, usize>, BTreeSet<&'a str>), RecorderError> {
        let (mut places, mut strangers) = (BTreeMap::new(), BTreeSet::new());
        for start in &recording.starts {
            let name = start.region.as_str();
            let lines = || recording.inputs.iter().enumerate().filter(|(_, line)| line.region == name);
            let Some(region) = cast.steppers.keys().copied().find(|known| *known == name) else {
                strangers.extend(lines().next().map(|_| name));
                continue;
            };
            let recovered = self.store.recover(region);
            let here = told(recovered.map_err(|error| self.failed(&error))?.state_hash);
            // An input that changed no state only said something, and that is recorded.
            match lines().rfind(|(_, line)| told(line.state_hash) == here) {
                Some((last, _)) => {
                    places.insert(name, last + 1);
                }
                None if told(start.state_hash) == here => {
                    places.insert(name, 0);
                }
                None => strangers.extend(lines().next().map(|_| name)),
            }
        }
        Ok((places, strangers))
    }

    fn feed(
        &mut self,
        recording: &Recording,
        cast: &mut Cast,
        incarnations: &mut BTreeMap<String, (Epoch, u32)>,
        line: &InputLine,
    ) -> Result<(), String> {
        let message = line.message.map(|id| cast.message(recording, id)).transpose()?;
        let stepper = cast.steppers.get_mut(line.region.as_str()).ok_or("this program has no such region")?;
        // A new incarnation was rebuilt from its store, so it is rebuilt here too.
        let incarnation = (line.epoch, line.incarnation);
        if incarnations.insert(line.region.clone(), incarnation) != Some(incarnation) {
            stepper.start().map_err(|error| error.to_string())?;
        }
        let head = self.store.head();
        let lsn = |id| self.ear.said.lock().get(&id).copied().unwrap_or(Lsn(0));
        let message = message.map(|envelope| (lsn(envelope.meta.id), envelope));
        let recorded = Recorded { decision_hash: line.decision_hash, state_hash: line.state_hash };
        stepper.feed(message, line.taken_at, Some(recorded))?;
        self.done.inputs += 1;
        self.done.until = self.done.until.max(Some(line.taken_at));
        self.heads.push_back((line.taken_at, head));
        while let Some((_, head)) = self.heads.pop_front_if(|(at, _)| line.taken_at.duration_since(*at) > ON_ITS_WAY) {
            self.passed = head;
        }
        if self.done.inputs.is_multiple_of(STRETCH) {
            let durable = self.store.wait_durable_blocking(self.store.head(), DURABLE);
            durable.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Marks old mail as passed by every room. Otherwise a start would redeliver all of it.
    fn end(self) -> Result<Retaken, RecorderError> {
        if self.done.inputs > 0 {
            for room in &self.rooms {
                let state_hash = self.store.recover(room).map_err(|error| self.failed(&error))?.state_hash;
                let epoch = self.store.raise_epoch(room);
                for lane in [Lane::Control, Lane::Data] {
                    let passed = Commit { consumed: Some((lane, self.passed)), state_hash, ..Commit::of(room, epoch) };
                    self.store.accept(passed, |_| {}).map_err(|error| self.failed(&error))?;
                }
            }
        }
        let durable = self.store.wait_durable_blocking(self.store.head(), DURABLE);
        durable.map_err(|error| self.failed(&error))?;
        Ok(self.done)
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> RecorderError {
        RecorderError::Store { inputs: self.done.inputs, why: error.to_string() }
    }
}

/// A region that has decided nothing yet has the hash of nothing.
fn told(state_hash: u64) -> u64 {
    if state_hash == 0 { StableHash::default().get() } else { state_hash }
}
