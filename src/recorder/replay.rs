//! Feeds each region its recorded inputs and compares the results.
//!
//! The regions use a store in memory. Each input is taken at its recorded time; random numbers come from seed and
//! input.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use maxim_actors::action::tools::{self, ToolRegistry};
use maxim_actors::effectors::tool_servers;
use maxim_actors::region::{Stepper, decision_hash};
use maxim_actors::store::{AcceptError, AgentStore, Commit, Recovered, StateStore};
use maxim_bus::clock::Stopwatch;
use maxim_bus::{Envelope, Epoch, Lsn, MessageId, RegionName};
use serde::Serialize;

use super::cast::{Cast, Ear};
use super::chunks::Damage;
use super::format::{InputLine, Record, RegionStart, build};
use super::{RecorderError, Recording};
use crate::agent::AgentSettings;

/// The result of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayReport {
    /// Inputs that were fed.
    pub inputs: u64,
    /// Of these, those with equal decisions and state.
    pub matched: u64,
    /// Inputs that the states at the beginning of the file already contain.
    pub contained: u64,
    /// Inputs outside the window: those before it were fed and not compared, those after it were left out.
    pub outside: u64,
    pub regions: BTreeMap<String, RegionTally>,
    pub first_divergence: Option<Divergence>,
    /// Regions that this file can't replay (further), and why.
    pub set_aside: Vec<SetAside>,
    /// Inputs and signals that the recorder lost at the end of the file.
    pub lost: u64,
    /// Why the file ends before its proper end.
    pub cut: Option<String>,
    /// Data that isn't as it was written. With a cut: all after this place. Otherwise: only what surrounds the inputs.
    pub damage: Option<Damage>,
    pub recorded_by: String,
    pub replayed_by: String,
    pub elapsed: Duration,
    /// Recorded time from the first input to the last.
    pub recorded_span: SignedDuration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegionTally {
    pub inputs: u64,
    pub matched: u64,
}

/// An input with another result than in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    pub region: String,
    /// Its number in the file and among the region's inputs, from 1.
    pub input: u64,
    pub region_input: u64,
    /// `None` for a tick.
    pub message: Option<MessageId>,
    pub signal: Option<String>,
    pub lsn: Lsn,
    pub expected: Found,
    pub got: Found,
    /// What the region reported when it failed on the input.
    pub failed: Option<String>,
}

/// Hashes as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub decision_hash: String,
    pub state_hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetAside {
    pub region: String,
    pub why: String,
    /// Inputs of the region that were not fed.
    pub inputs: u64,
}

impl ReplayReport {
    /// True if everything in the file was replayed with equal results.
    pub fn is_equal(&self) -> bool {
        self.first_divergence.is_none() && self.set_aside.is_empty()
    }
}

impl Recording {
    /// Replays a file with the core tools and those that servers offered.
    ///
    /// # Errors
    /// See [`Recording::read`] and [`Recording::replay`].
    pub fn replay_file(path: &Path) -> Result<ReplayReport, RecorderError> {
        Self::read(path)?.replay_core(&Window::default())
    }

    /// Replays a window, with the core tools and those that servers offered.
    ///
    /// # Errors
    /// See [`Recording::replay`].
    pub fn replay_core(&self, window: &Window) -> Result<ReplayReport, RecorderError> {
        self.replay_within(self.tools()?, window)
    }

    /// The tools that the agent had: the core tools, those that a person added, and those that servers offered.
    ///
    /// # Errors
    /// An added tool has a name that a core tool has by now.
    pub fn tools(&self) -> Result<ToolRegistry, RecorderError> {
        let mut registry = tools::core_registry().map_err(|error| RecorderError::Settings(error.to_string()))?;
        for spec in &self.header.brought {
            let done = registry.register(Arc::new(tools::user::Absent::new(spec.clone())));
            done.map_err(|error| RecorderError::Settings(error.to_string()))?;
        }
        tool_servers::recorded(&self.header.settings.mcp, &self.header.tool_lists).register(&mut registry);
        Ok(registry)
    }

    /// When the turn of a message was under way, by the inputs of this file; `None` if the file has nothing of it.
    pub fn turn_of(&self, message: MessageId) -> Option<Window> {
        let correlation = |id: MessageId| {
            let (meta, _) = Envelope::split(self.signals.get(&id)?).ok()?;
            Some(meta.correlation)
        };
        let turn = correlation(message).unwrap_or(message);
        let of_turn = self.inputs.iter().filter(|input| input.message.and_then(correlation) == Some(turn));
        let times: Vec<Timestamp> = of_turn.map(|input| input.taken_at).collect();
        Some(Window { from: Some(*times.iter().min()?), to: times.iter().max().copied() })
    }

    /// Replays it; `registry` holds the tools that the agent had.
    ///
    /// # Errors
    /// The recorded settings or states don't make an agent in this program.
    pub fn replay(&self, registry: ToolRegistry) -> Result<ReplayReport, RecorderError> {
        self.replay_within(registry, &Window::default())
    }

    /// Replays it and compares within a window. What comes before is fed all the same, because states depend on it.
    ///
    /// # Errors
    /// As [`Recording::replay`].
    pub fn replay_within(&self, registry: ToolRegistry, window: &Window) -> Result<ReplayReport, RecorderError> {
        let watch = Stopwatch::start();
        let mut theatre = Theatre::new(self, registry, &|_| false)?;
        // After the end of the window a region is done: later inputs would meet another state.
        let mut done = BTreeSet::new();
        for (number, line) in (1..).zip(&self.inputs) {
            if window.to.is_some_and(|to| line.taken_at > to) {
                done.insert(line.region.as_str());
            }
            if done.contains(line.region.as_str()) {
                theatre.report.outside += 1;
                continue;
            }
            theatre.compares = window.from.is_none_or(|from| line.taken_at >= from);
            theatre.play(self, number, line);
        }
        let Theatre { report, set_aside, .. } = theatre;
        let set_aside = set_aside.into_iter().map(|(region, (why, inputs))| SetAside { region, why, inputs });
        Ok(ReplayReport { set_aside: set_aside.collect(), elapsed: watch.elapsed(), ..report })
    }

    pub(super) fn agent_settings(&self, registry: ToolRegistry) -> Result<AgentSettings, RecorderError> {
        let header = &self.header;
        let mut settings = header.settings.clone();
        // No region knows a secret, and the files that hold them may be on another machine.
        (settings.effectors.llm.api_key, settings.effectors.llm.api_key_file) = (None, None);
        (settings.effectors.encoder.api_key, settings.effectors.encoder.api_key_file) = (None, None);
        // No model is asked here. It only matters that there was one.
        if settings.effectors.llm.tape.take().is_some() {
            (settings.effectors.llm.base_url, settings.effectors.llm.model) =
                (Some("http://127.0.0.1".into()), Some("taped".into()));
        }
        let rooms = AgentSettings::with_tools(&settings, header.boot, &header.workdir, &header.saved, registry);
        let mut rooms = rooms.map_err(|error| RecorderError::Settings(error.to_string()))?;
        rooms.gate.fear.home.clone_from(&header.home);
        rooms.gate.fear.walls.barriers = header.barriers;
        Ok(rooms.owning(header.own.clone()))
    }
}

/// Beginning and end, both included, by the times at which inputs were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// A region in the replay.
struct Role {
    stepper: Box<dyn Stepper>,
    /// Inputs up to here are part of its state.
    contained: Lsn,
    incarnation: Option<(Epoch, u32)>,
}

pub(super) struct Theatre {
    roles: BTreeMap<String, Role>,
    cast: Cast,
    ear: Arc<Ear>,
    set_aside: BTreeMap<String, (String, u64)>,
    report: ReplayReport,
    /// True while the present input is inside the window.
    compares: bool,
    /// A store ends with its last owner.
    _whole: StateStore,
    store: AgentStore,
}

impl Theatre {
    fn new(
        recording: &Recording,
        registry: ToolRegistry,
        stays_out: &dyn Fn(&str) -> bool,
    ) -> Result<Self, RecorderError> {
        let header = &recording.header;
        let wrong = |error: &dyn std::fmt::Display| RecorderError::Settings(error.to_string());
        let ear = Arc::new(Ear::default());
        let whole = StateStore::in_memory();
        let store = whole.agent(&header.agent);
        store.set_low_water(|| Lsn(u64::MAX));
        let mut cast = Cast::new(recording, registry, &store, &ear)?;
        let (mut roles, mut set_aside) = (BTreeMap::new(), BTreeMap::new());
        for start in recording.starts.iter().filter(|start| !stays_out(&start.region)) {
            let region = start.region.clone();
            let Some((name, mut stepper)) = cast.steppers.remove_entry(region.as_str()) else {
                set_aside.insert(region, ("this program has no such region".into(), 0));
                continue;
            };
            if let Some(why) = &start.missing {
                set_aside.insert(region, (why.clone(), 0));
                continue;
            }
            load(&store, name, start, recording).map_err(|error| wrong(&error))?;
            match stepper.start() {
                Ok(()) => {
                    roles.insert(region, Role { stepper, contained: start.lsn, incarnation: None });
                }
                Err(error) => {
                    set_aside.insert(region, (error.to_string(), 0));
                }
            }
        }
        let report = ReplayReport {
            inputs: 0,
            matched: 0,
            contained: 0,
            outside: 0,
            regions: roles.keys().map(|name| (name.clone(), RegionTally::default())).collect(),
            first_divergence: None,
            set_aside: Vec::new(),
            lost: recording.lost,
            cut: recording.cut.clone(),
            damage: recording.damage.clone(),
            recorded_by: header.build.clone(),
            replayed_by: build(),
            elapsed: Duration::ZERO,
            recorded_span: recording.span(),
        };
        Ok(Self { roles, cast, ear, set_aside, report, compares: true, _whole: whole, store })
    }

    /// The rooms as they were before the input at this place in the file. Rooms that are left out are as on their first
    /// day.
    pub(super) fn until(
        recording: &Recording,
        registry: ToolRegistry,
        inputs: usize,
        stays_out: impl Fn(&str) -> bool,
    ) -> Result<Self, RecorderError> {
        let mut theatre = Self::new(recording, registry, &stays_out)?;
        theatre.compares = false;
        for (number, line) in (1..).zip(&recording.inputs).take(inputs) {
            if !stays_out(&line.region) {
                theatre.play(recording, number, line);
            }
        }
        // Records that were read later stand in the file before the input that read them.
        for (at, records) in recording.rested_on.iter().filter(|(at, _)| **at >= inputs) {
            let role = recording.inputs.get(*at).and_then(|line| theatre.roles.get_mut(&line.region));
            if let Some(role) = role {
                role.stepper.lay_out(records).map_err(RecorderError::Settings)?;
            }
        }
        Ok(theatre)
    }

    /// The rooms' states in a separate store, without their messages: these must not be heard again.
    pub(super) fn states(&self) -> Result<(AgentStore, StateStore), RecorderError> {
        let whole = StateStore::in_memory();
        let store = whole.agent(self.store.id());
        store.set_low_water(|| Lsn(u64::MAX));
        let wrong = |error: &dyn std::fmt::Display| RecorderError::Settings(error.to_string());
        for role in self.roles.values() {
            let frozen = self.store.freeze(role.stepper.name());
            let records = frozen.records(.., usize::MAX).map_err(|error| wrong(&error))?;
            let Recovered { root, events, state_hash, .. } = frozen.state;
            put(&store, role.stepper.name(), records, root, events, state_hash).map_err(|error| wrong(&error))?;
        }
        Ok((store, whole))
    }

    fn play(&mut self, recording: &Recording, number: u64, line: &InputLine) {
        if let Some((_, inputs)) = self.set_aside.get_mut(&line.region) {
            *inputs += 1;
            return;
        }
        let Some(contained) = self.roles.get(&line.region).map(|role| role.contained) else {
            return self.put_aside(&line.region, "the file doesn't begin with its state".into());
        };
        if line.lsn <= contained {
            self.report.contained += 1;
            return;
        }
        let message = match line.message.map(|id| self.cast.message(recording, id)).transpose() {
            Ok(message) => message,
            Err(why) => return self.put_aside(&line.region, why),
        };
        let Some(role) = self.roles.get_mut(&line.region) else { return };
        // A new incarnation was rebuilt from its store, so it is rebuilt here too.
        let incarnation = (line.epoch, line.incarnation);
        if role.incarnation.is_some_and(|before| before != incarnation)
            && let Err(error) = role.stepper.start()
        {
            return self.put_aside(&line.region, error.to_string());
        }
        role.incarnation = Some(incarnation);
        let rested_on = usize::try_from(number - 1).ok().and_then(|place| recording.rested_on.get(&place));
        if let Err(why) = rested_on.map_or(Ok(()), |records| role.stepper.lay_out(records)) {
            return self.put_aside(&line.region, why);
        }
        *self.ear.input.lock() = None;
        let failed = role.stepper.feed(message.map(|message| (Lsn(0), message)), line.taken_at, None).err();
        let heard = self.ear.input.lock().take();
        let decided = heard.as_ref().map_or_else(|| decision_hash(&[]), |input| input.decision_hash);
        let state = role.stepper.state_hash().unwrap_or(0);
        self.compare(number, line, decided, state, failed);
    }

    fn put_aside(&mut self, region: &str, why: String) {
        self.set_aside.insert(region.into(), (why, 1));
    }

    fn compare(&mut self, number: u64, line: &InputLine, decision: u64, state: u64, failed: Option<String>) {
        let report = &mut self.report;
        if !self.compares && failed.is_none() {
            report.outside += 1;
            return;
        }
        let tally = report.regions.entry(line.region.clone()).or_default();
        report.inputs += 1;
        tally.inputs += 1;
        if failed.is_none() && (decision, state) == (line.decision_hash, line.state_hash) {
            report.matched += 1;
            tally.matched += 1;
        } else if report.first_divergence.is_none() {
            report.first_divergence = Some(Divergence {
                region: line.region.clone(),
                input: number,
                region_input: tally.inputs,
                message: line.message,
                signal: line.signal.clone(),
                lsn: line.lsn,
                expected: found(line.decision_hash, line.state_hash),
                got: found(decision, state),
                failed,
            });
        }
    }
}

fn found(decision: u64, state: u64) -> Found {
    Found { decision_hash: format!("{decision:016x}"), state_hash: format!("{state:016x}") }
}

/// Puts a region's state into the store: records and root, then the events after it.
fn load(store: &AgentStore, region: RegionName, start: &RegionStart, recording: &Recording) -> Result<(), AcceptError> {
    let records = recording.records.get(region).cloned().unwrap_or_default();
    let root = start.root.as_ref().map(|root| root.clone().into_bytes());
    let events = start.events.iter().map(|event| event.clone().into_bytes()).collect();
    put(store, region, records, root, events, start.state_hash)
}

fn put(
    store: &AgentStore,
    region: RegionName,
    records: Vec<Record>,
    root: Option<Vec<u8>>,
    events: Vec<Vec<u8>>,
    state_hash: u64,
) -> Result<(), AcceptError> {
    let epoch = store.raise_epoch(region);
    let records = records.into_iter().map(|(key, value)| (key, Some(value.into()))).collect();
    let root = Commit { records, root, state_hash, ..Commit::of(region, epoch) };
    store.accept(root, |_| {})?;
    if !events.is_empty() {
        let events = Commit { events, state_hash, ..Commit::of(region, epoch) };
        store.accept(events, |_| {})?;
    }
    Ok(())
}
