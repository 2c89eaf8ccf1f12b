//! A store restored from a backup takes in again what the recordings contain since then, or says what it can't.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim::config::Settings;
use maxim::recorder::{Retaken, retake};
use maxim_actors::store::{AgentStore, StateStore, StoreOptions};
use maxim_bus::hash::StableHash;
use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentId, Clock, RegionName};
use tempfile::TempDir;

use crate::replay::{Session, limits};

/// The data of a region: the hash over its decisions, its root with later events, and its records.
type Kept = (u64, Vec<(Vec<u8>, Vec<u8>)>);

/// A life with a backup in the middle, ended by a crash, and further lives after it.
struct Lived {
    dir: TempDir,
    regions: Vec<RegionName>,
    /// The state at the end of each life.
    ends: Vec<BTreeMap<RegionName, Kept>>,
    /// When the last message of each life was answered.
    times: Vec<jiff::Timestamp>,
    backed_up: jiff::Timestamp,
}

impl Lived {
    fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn new() -> Self {
        let dir = TempDir::new().expect("a folder");
        let (work, recordings, backup) =
            (dir.path().join("work"), dir.path().join("recordings"), dir.path().join("backup"));
        fs::create_dir(&work).expect("a folder");
        let (store, _) = StateStore::open(&dir.path().join("store"), StoreOptions::default()).expect("a store");
        let mut session = Session::new(store, &work, &recordings, limits());
        let regions = session.agent.parts.iter().map(|part| part.name).collect::<Vec<_>>();
        session.say("remember that the spare key is in the blue drawer");
        session.say("please create a file hello.txt with the text good morning");
        session.store.backup(&backup).expect("a backup");
        let backed_up = session.clock.now();
        let (mut ends, mut times) = (Vec::new(), Vec::new());
        let lives: [&[&str]; 3] = [
            &["my name is Anna", "create a file notes/a.txt with the text one", "run false"],
            &["remember that the cup is on the table", "edit hello.txt and replace morning with evening"],
            &["remember that the lamp is broken", "why did you do that?", "run rm -rf /"],
        ];
        for (number, talk) in lives.iter().enumerate() {
            if number > 0 {
                session = session.crash();
            }
            talk.iter().for_each(|text| session.say(text));
            times.push(session.clock.now());
            session.pass(Duration::from_secs(60));
            ends.push(kept(&session.store.agent(&maxim()), &regions));
        }
        session.end();
        Self { dir, regions, ends, times, backed_up }
    }

    fn restored(&self, name: &str) -> (StateStore, AgentStore) {
        let folder = self.folder(name);
        StateStore::restore(&self.folder("backup"), &folder).expect("restored");
        self.opened(&folder)
    }

    fn opened(&self, folder: &Path) -> (StateStore, AgentStore) {
        let (store, _) = StateStore::open(folder, StoreOptions::default()).expect("opens");
        let agent = store.agent(&maxim());
        (store, agent)
    }

    fn retake(&self, store: &AgentStore, until: Option<jiff::Timestamp>) -> Retaken {
        retake(store, &self.folder("recordings"), Some(self.backed_up), until).expect("taken in")
    }
}

fn maxim() -> AgentId {
    AgentId::new("maxim").expect("a good name")
}

fn kept(store: &AgentStore, regions: &[RegionName]) -> BTreeMap<RegionName, Kept> {
    let of = |region: &RegionName| {
        let hash = store.recover(region).expect("readable").state_hash;
        // A room that ignored everything is as on the first day.
        let hash = if hash == 0 { StableHash::default().get() } else { hash };
        (hash, store.records(region, .., usize::MAX).expect("readable"))
    };
    regions.iter().map(|region| (*region, of(region))).collect()
}

/// Names the regions that differ.
fn same(now: &BTreeMap<RegionName, Kept>, then: &BTreeMap<RegionName, Kept>) {
    let differ: Vec<_> =
        now.iter().filter(|(region, kept)| then[*region] != **kept).map(|(region, _)| region).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn a_restored_store_becomes_what_it_was_and_does_nothing_again() {
    let lived = Lived::new();
    fs::remove_file(lived.folder("work/notes/a.txt")).expect("it was written");
    let (store, agent) = lived.restored("again");
    let taken = lived.retake(&agent, None);
    assert_eq!((taken.left_out, &taken.why), (0, &Vec::new()), "{taken:?}");
    assert!(taken.inputs > 100, "{taken:?}");
    same(&kept(&agent, &lived.regions), &lived.ends[2]);
    let twice = retake(&agent, &lived.folder("recordings"), None, None).expect("looked at");
    assert_eq!((twice.inputs, &twice.why), (0, &Vec::new()), "all of it is known: {twice:?}");
    store.count_boots(taken.boot).and_then(|()| store.close()).expect("closes");

    let (store, report) = StateStore::open(&lived.folder("again"), StoreOptions::default()).expect("opens");
    assert!(report.is_sound() && report.boot > 3, "the three lives had numbers of their own: {report:?}");
    let (work, recordings) = (lived.folder("work"), lived.folder("more recordings"));
    let clock = maxim_bus::VirtualClock::at(lived.times[2]);
    let latch = StopLatch::in_memory();
    let mut next = Session::boot(store, clock, latch, &work, &recordings, limits(), report.boot, Settings::default());
    assert_eq!(next.agent.resumed.redelivered, 0, "nothing of these lives is still on its way");
    next.say("where is the cup?");
    let told = next.store.agent(&maxim()).records("cause_ledger", .., usize::MAX).expect("readable");
    let told = told.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect::<String>();
    assert!(told.contains("on the table"), "what was said after the backup is known: {told}");
    assert!(!work.join("notes/a.txt").exists(), "what was done is not done again");
}

#[test]
fn what_is_asked_for_up_to_a_moment_ends_there() {
    let lived = Lived::new();
    let (_store, agent) = lived.restored("again");
    let taken = lived.retake(&agent, Some(lived.times[0] + Duration::from_secs(59)));
    assert_eq!((taken.left_out, &taken.why), (0, &Vec::new()), "{taken:?}");
    same(&kept(&agent, &lived.regions), &lived.ends[0]);
    let rest = lived.retake(&agent, None);
    assert!(rest.inputs > 0 && rest.why.is_empty(), "{rest:?}");
    same(&kept(&agent, &lived.regions), &lived.ends[2]);
}

#[test]
fn where_a_recording_is_missing_it_ends_before_and_says_so() {
    let lived = Lived::new();
    let mut files: Vec<PathBuf> =
        fs::read_dir(lived.folder("recordings")).expect("there").map(|entry| entry.expect("there").path()).collect();
    files.sort();
    assert_eq!(files.len(), 3);
    fs::remove_file(&files[1]).expect("removed");
    let (_store, agent) = lived.restored("again");
    let taken = lived.retake(&agent, None);
    same(&kept(&agent, &lived.regions), &lived.ends[0]);
    let name = files[2].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(taken.left_out > 0 && taken.why.len() == 1 && taken.why[0].contains(&name), "{taken:?}");
    let lines = taken.lines().join("\n");
    assert!(lines.contains("LOST") && lines.contains("another state of"), "{lines}");
}

#[test]
fn without_any_backup_recordings_from_the_first_day_on_bring_all_back() {
    let lived = Lived::new();
    let (_store, agent) = lived.opened(&lived.folder("empty"));
    let taken = lived.retake(&agent, None);
    assert_eq!((taken.left_out, &taken.why), (0, &Vec::new()), "{taken:?}");
    same(&kept(&agent, &lived.regions), &lived.ends[2]);
}
