//! Recordings: a replay makes the same decisions and states, and differences are named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim::recorder::{Header, InputLine, Limits, Recorder, RecorderError, Recording, ReplayReport};
use maxim_actors::action::tools::ToolRegistry;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::region::Tap;
use maxim_actors::store::{StateStore, StoreOptions};
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::lifecycle::{PreemptionRequested, RegionChanged};
use maxim_bus::signals::recall::ImportEpisodes;
use maxim_bus::{AgentId, Clock, MessageId, Trust, VirtualClock};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{MONDAY, core_tools};
use crate::model::{Act, Model, acts, thinks};

/// An agent in virtual time with a recorder.
pub struct Session {
    pub agent: Agent,
    recorder: Arc<Recorder>,
    pub clock: VirtualClock,
    pub store: StateStore,
    latch: StopLatch,
    workdir: PathBuf,
    recordings: PathBuf,
    limits: Limits,
    boot: u64,
    settings: Settings,
}

/// An agent in virtual time has said everything before the first file would start.
pub fn limits() -> Limits {
    Limits { lead: Duration::ZERO, ..Limits::from(&Settings::default().recorder) }
}

impl Session {
    pub fn new(store: StateStore, workdir: &Path, recordings: &Path, limits: Limits) -> Self {
        Self::with(store, workdir, recordings, limits, Settings::default())
    }

    pub fn with(store: StateStore, workdir: &Path, recordings: &Path, limits: Limits, settings: Settings) -> Self {
        let clock = VirtualClock::at(MONDAY.parse().expect("a time"));
        let latch = StopLatch::in_memory();
        Self::boot(store, clock, latch, workdir, recordings, limits, 1, settings)
    }

    #[allow(clippy::too_many_arguments)] // these outlive a process
    pub fn boot(
        store: StateStore,
        clock: VirtualClock,
        latch: StopLatch,
        workdir: &Path,
        recordings: &Path,
        limits: Limits,
        boot: u64,
        settings: Settings,
    ) -> Self {
        Self::boot_with(store, clock, latch, workdir, recordings, limits, boot, settings, core_tools())
    }

    #[allow(clippy::too_many_arguments)] // the same with other tools
    pub fn boot_with(
        store: StateStore,
        clock: VirtualClock,
        latch: StopLatch,
        workdir: &Path,
        recordings: &Path,
        limits: Limits,
        boot: u64,
        settings: Settings,
        tools: ToolRegistry,
    ) -> Self {
        let id = AgentId::new("maxim").expect("a good name");
        let saved = workdir.join(".saved");
        let rooms = AgentSettings::with_tools(&settings, boot, workdir, &saved, tools).expect("settings");
        let header = Header::new(id.clone(), 42, boot, &settings, workdir, &saved);
        let recorder =
            Recorder::start(recordings.into(), limits, store.agent(&id), Arc::new(clock.clone()), header, &rooms)
                .expect("the recorder starts");
        let world = AgentWorld {
            store: store.agent(&id),
            id,
            clock: Arc::new(clock.clone()),
            latch: latch.clone(),
            seed: 42,
            tap: Some(Arc::clone(&recorder) as Arc<dyn Tap>),
        };
        let agent = Agent::stepped(world, &rooms).expect("the agent is built");
        let (workdir, recordings) = (workdir.into(), recordings.into());
        Self { agent, recorder, clock, store, latch, workdir, recordings, limits, boot, settings }
    }

    /// Ends this process as a crash does, and starts the next on the same store.
    pub fn crash(self) -> Self {
        self.recorder.close();
        let Self { store, clock, latch, workdir, recordings, limits, boot, settings, .. } = self;
        Self::boot(store, clock, latch, &workdir, &recordings, limits, boot + 1, settings)
    }

    pub fn say(&mut self, text: &str) {
        self.turn(text);
    }

    /// Says something, and returns its turn.
    pub fn turn(&mut self, text: &str) -> MessageId {
        self.turn_as(text, "anna", Trust::Owner)
    }

    /// The same from the console.
    pub fn typed(&mut self, text: &str) -> MessageId {
        let (channel, sender, trust) = ("console".into(), "owner".into(), Trust::Owner);
        let body = text.into();
        let words = Submission { channel, sender, body, provider_id: None, trust };
        let mut accepted = self.agent.outside.console.submit(words);
        self.pass(Duration::from_secs(90));
        accepted.try_recv().expect("acknowledged").expect("accepted").percept
    }

    fn say_as(&mut self, text: &str, sender: &str, trust: Trust) {
        self.turn_as(text, sender, trust);
    }

    fn turn_as(&mut self, text: &str, sender: &str, trust: Trust) -> MessageId {
        let mut accepted = self.agent.outside.http.submit(Submission {
            channel: "http".into(),
            sender: sender.into(),
            body: text.into(),
            provider_id: None,
            trust,
        });
        self.pass(Duration::from_secs(90));
        accepted.try_recv().expect("acknowledged").expect("accepted").percept
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.clock.now() + jiff::SignedDuration::try_from(time).expect("a time");
        loop {
            self.agent.settle();
            match self.agent.next_deadline() {
                Some(due) if due <= until => self.clock.advance_to(due),
                _ => break,
            }
        }
        self.clock.advance_to(until);
        self.agent.settle();
    }

    /// Imports one line for each number.
    fn import(&mut self, numbers: std::ops::Range<u64>) {
        let line = |n: u64| json!({"id": format!("box-{n}"), "text": format!("box {n} stands beside door {}", n % 97), "timestamp": "2025-12-01T09:00:00Z"});
        let lines: Vec<(u64, String)> = numbers.map(|n| (n + 1, line(n).to_string())).collect();
        let door = Arc::clone(&self.agent.outside.door);
        for lines in lines.chunks(400) {
            let lines = lines.to_vec();
            let wish = ImportEpisodes { lines, all: true, refused: Vec::new(), waits: false };
            door.put("door", door.fresh_id(), Trust::Owner, wish);
            self.agent.settle();
        }
        self.pass(Duration::from_secs(60));
    }

    fn preempt(&mut self, request: PreemptionRequested) {
        let door = &self.agent.outside.door;
        door.put("door", door.fresh_id(), Trust::Owner, request);
        self.agent.settle();
    }

    pub fn end(self) -> Vec<PathBuf> {
        self.recorder.close();
        files(&self.recordings)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Commands, facts, questions, courtesies, refusals, failures and a stop.
const TALK: [&str; 32] = [
    "hello",
    "please create a file hello.txt with the text good morning",
    "read hello.txt",
    "remember that the spare key is in the blue drawer",
    "the weather is fine today",
    "where is the spare key?",
    "my name is Anna",
    "what is my name?",
    "read no_such_file.txt",
    "list the files",
    "create a file notes/a.txt with the text one",
    "create a file notes/b.txt with the text two",
    "find files matching *.txt",
    "run echo good day",
    "run false",
    "run rm -rf /",
    "delete everything",
    "Bob said that the meeting is at three",
    "when is the meeting?",
    "who told you about the meeting?",
    "what did you do?",
    "why did you do that?",
    "thank you",
    "asdf qwer zxcv",
    "what time is it?",
    "what is 2 + 3?",
    "remember that the cup is on the table",
    "the cup is in the kitchen now",
    "where is the cup?",
    "what happened today?",
    "edit hello.txt and replace morning with evening",
    "goodbye",
];

pub fn talk(session: &mut Session) {
    for (number, text) in TALK.iter().enumerate() {
        match number % 7 {
            3 => session.say_as(text, "mallory", Trust::Outside),
            5 => session.say_as(text, "bert", Trust::Listed),
            _ => session.say(text),
        }
    }
    session.say("stop");
    session.say("read hello.txt");
    session.preempt(PreemptionRequested::Resume { by: "anna".into() });
    session.latch.reset().expect("the latch is reset");
    session.say("read hello.txt");
    session.pass(Duration::from_secs(3600));
}

pub fn replayed(file: &Path) -> ReplayReport {
    let report = Recording::read(file).expect("readable").replay(core_tools()).expect("it replays");
    assert!(report.is_equal(), "{}: {:#?}\n{:#?}", file.display(), report.first_divergence, report.set_aside);
    assert_eq!(report.inputs, report.matched);
    report
}

#[test]
fn a_session_replays_to_the_same_decisions_and_states() {
    let dir = TempDir::new().expect("a folder");
    let (store, _) = StateStore::open(&dir.path().join("store"), StoreOptions::default()).expect("a store");
    let mut session = Session::new(store, dir.path(), &dir.path().join("recordings"), limits());
    talk(&mut session);
    let counts = session.recorder.counts();
    assert_eq!(counts.lost, 0);
    let files = session.end();
    assert_eq!(files.len(), 1);
    let report = replayed(&files[0]);
    assert_eq!((report.cut.as_deref(), report.lost), (None, 0));
    let busy = report.regions.values().filter(|tally| tally.inputs > 0).count();
    assert!(busy >= 10, "{:?}", report.regions);
    assert!(report.inputs > TALK.len() as u64 * 10, "{}", report.inputs);
    assert!(report.elapsed < Duration::try_from(report.recorded_span).expect("forwards"));
    let bytes = fs::metadata(&files[0]).expect("there").len();
    let utterances = TALK.len() as u64 + 3;
    println!("{} inputs, {bytes} bytes, {} a percept, {:?}", report.inputs, bytes / utterances, report.elapsed);
}

#[test]
fn what_supervision_tells_of_a_room_is_recorded_and_replays() {
    let dir = TempDir::new().expect("a folder");
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits());
    let tell = |session: &mut Session, is_held| {
        let changed = RegionChanged { region: "hippocampus".into(), is_held, why: "a test".into() };
        session.agent.outside.door.tell_change(changed);
        session.agent.settle();
    };
    assert!(session.agent.cut("hippocampus"));
    tell(&mut session, true);
    session.say("create a file n.txt with the text hello");
    tell(&mut session, false);
    let files = session.end();
    replayed(&files[0]);
    let inputs = Recording::read(&files[0]).expect("readable").inputs;
    let told: Vec<&str> = inputs
        .iter()
        .filter(|line| line.signal.as_deref() == Some("RegionChanged"))
        .map(|line| &*line.region)
        .collect();
    assert_eq!(told, ["enrichment", "enrichment"]);
}

#[test]
fn a_used_store_on_disk_is_carried_in_the_file_that_begins_on_it() {
    let dir = TempDir::new().expect("a folder");
    let (store, _) = StateStore::open(&dir.path().join("store"), StoreOptions::default()).expect("a store");
    let mut session = Session::new(store, dir.path(), &dir.path().join("recordings"), limits());
    talk(&mut session);
    let mut session = session.crash();
    session.say("where is the spare key?");
    session.say("read hello.txt");
    let mut session = session.crash();
    session.say("what is my name?");
    let files = session.end();
    assert_eq!(files.len(), 3);
    for file in &files {
        assert!(replayed(file).inputs > 0);
    }
}

/// What is known of older segments is read, and a replay begins without them.
#[test]
fn a_life_that_seals_beside_the_segments_of_a_life_before_replays() {
    let dir = TempDir::new().expect("a folder");
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits());
    let segments = |session: &Session| {
        let found = session.agent.frame.store.records("hippocampus", .., usize::MAX).expect("read");
        found.iter().filter(|(key, _)| key.starts_with(b"segment/text/")).count()
    };
    session.import(0..4000);
    assert_eq!(segments(&session), 1);
    let mut session = session.crash();
    session.import(4000..6400);
    session.say("where does box 17 stand?");
    assert_eq!(segments(&session), 2);
    for file in session.end() {
        assert!(replayed(&file).inputs > 0);
    }
}

#[test]
fn the_same_session_twice_decides_the_same() {
    let dir = TempDir::new().expect("a folder");
    // Folder names occur in answers, so both sessions use the same folder.
    let workdir = dir.path().join("work");
    let decisions = || {
        fs::create_dir(&workdir).expect("a folder");
        let mut session = Session::new(StateStore::in_memory(), &workdir, &workdir.join("recordings"), limits());
        TALK.iter().take(6).for_each(|text| session.say(text));
        let files = session.end();
        let inputs = Recording::read(&files[0]).expect("readable").inputs;
        fs::remove_dir_all(&workdir).expect("removed");
        inputs
    };
    let (first, second) = (decisions(), decisions());
    let order = |inputs: &[InputLine]| -> Vec<_> {
        inputs.iter().map(|input| (input.region.clone(), input.signal.clone(), input.taken_at)).collect()
    };
    assert_eq!(order(&first), order(&second));
    // A tool's result contains its duration on this machine; decisions before the first result are exactly equal.
    let before = |inputs: Vec<InputLine>| -> Vec<InputLine> {
        inputs.into_iter().take_while(|input| input.signal.as_deref() != Some("ToolResult")).collect()
    };
    let (first, second) = (before(first), before(second));
    assert!(first.len() > 10, "{} inputs", first.len());
    assert_eq!(first, second);
}

#[test]
fn a_changed_byte_of_an_input_or_another_seed_diverges_and_is_named() {
    let dir = TempDir::new().expect("a folder");
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits());
    session.say("remember that the spare key is in the blue drawer");
    session.say("where is the spare key?");
    let files = session.end();
    let recording = Recording::read(&files[0]).expect("readable");

    let mut altered = recording.clone();
    let input = altered.inputs.iter().find(|input| input.signal.as_deref() == Some("Inbound")).expect("what was said");
    let (region, id) = (input.region.clone(), input.message.expect("a message"));
    let encoded = altered.signals.get_mut(&id).expect("its signal");
    let at = encoded.windows(4).position(|window| window == b"blue").expect("the words");
    encoded[at] = b'g';
    let report = altered.replay(core_tools()).expect("it replays");
    let divergence = report.first_divergence.expect("it diverges");
    assert_eq!((divergence.region, divergence.message), (region, Some(id)));
    assert_ne!(divergence.expected, divergence.got);
    assert!(report.matched < report.inputs);

    let mut reseeded = recording.clone();
    reseeded.header.seed += 1;
    let report = reseeded.replay(core_tools()).expect("it replays");
    let divergence = report.first_divergence.expect("it diverges");
    assert_ne!(divergence.expected.decision_hash, divergence.got.decision_hash);
}

#[test]
fn a_file_cut_off_anywhere_replays_what_can_be_read() {
    let dir = TempDir::new().expect("a folder");
    // Small files are flushed often.
    let limits = Limits { file_bytes: 64 << 10, ..limits() };
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits);
    TALK.iter().take(8).for_each(|text| session.say(text));
    let files = session.end();
    let bytes = fs::read(&files[0]).expect("readable");
    let all = replayed(&files[0]).inputs;
    let cut = dir.path().join("cut.mcap");
    let mut most = 0;
    let mut refused = 0;
    for part in 0..=40 {
        let length = bytes.len() * part / 41;
        fs::write(&cut, &bytes[..length]).expect("written");
        match Recording::read(&cut) {
            Ok(recording) => {
                assert!(recording.cut.is_some(), "at {length}");
                let report = replayed(&cut);
                assert!(report.inputs >= most && report.inputs <= all, "at {length}");
                most = report.inputs;
            }
            Err(RecorderError::Unreadable { why, read, .. }) => {
                assert_eq!(most, 0, "at {length}: {why}");
                assert!(read.contains(&format!("its {length} bytes")), "{read}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(most > 0 && refused > 0 && refused < 20, "{most} of {all} inputs, {refused} refused");
}

#[test]
fn rotation_keeps_the_bound_and_every_file_replays_by_itself() {
    let dir = TempDir::new().expect("a folder");
    let folder = dir.path().join("recordings");
    let (store, _) = StateStore::open(&dir.path().join("store"), StoreOptions::default()).expect("a store");
    let limits = Limits { max_bytes: 2 << 20, file_bytes: 32 << 10, ..limits() };
    let mut session = Session::new(store, dir.path(), &folder, limits);
    for text in TALK.iter().filter(|text| !text.starts_with("run ")) {
        session.say(text);
    }
    let recorder = Arc::clone(&session.recorder);
    let files = session.end();
    let counts = recorder.counts();
    assert_eq!(counts.lost, 0);
    let total: u64 = files.iter().map(|file| fs::metadata(file).expect("there").len()).sum();
    assert!(total <= limits.max_bytes, "{total} bytes");
    println!("{} files begun, {} kept, {total} bytes", counts.files, files.len());
    assert!(counts.files > 2, "{} files", counts.files);
    assert!(files.len() > 1 || counts.files > 10, "{} files of {}", files.len(), counts.files);
    let (mut whole, mut fed) = (0, 0);
    for file in &files {
        let report = Recording::replay_file(file).expect("it replays");
        assert_eq!(report.first_divergence, None, "{}", file.display());
        // The writer lags behind an agent in virtual time: a file may begin with states that already contain all of
        // its inputs.
        fed += report.inputs;
        // A clearance in transit at the moment of the rotation can't be carried over, and this is reported.
        assert!(report.set_aside.iter().all(|aside| aside.why.contains("clearance")), "{:?}", report.set_aside);
        whole += usize::from(report.is_equal());
    }
    assert!(whole > 0 && fed > 0, "{whole} whole files, {fed} inputs");
}

#[test]
fn a_recorder_that_is_behind_says_so_and_goes_on_with_fresh_states() {
    let dir = TempDir::new().expect("a folder");
    let limits = Limits { queue: 4, ..limits() };
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits);
    TALK.iter().take(8).for_each(|text| session.say(text));
    let recorder = Arc::clone(&session.recorder);
    let files = session.end();
    let lost = recorder.counts().lost;
    assert!(lost > 0, "a queue of four is too short for a turn");
    let told: u64 = files.iter().map(|file| Recording::read(file).expect("readable").lost).sum();
    assert_eq!(told, lost);
    for file in &files {
        let report = Recording::replay_file(file).expect("it replays");
        assert_eq!((&report.first_divergence, report.inputs), (&None, report.matched), "{}", file.display());
        // A file may begin during a turn, between a clearance and its hearer.
        let is_cut_off = report.set_aside.iter().all(|aside| aside.why.contains("clearance"));
        assert!(is_cut_off, "{}: {:#?}", file.display(), report.set_aside);
    }
}

#[test]
fn a_region_with_too_many_records_is_set_aside_and_the_rest_replays() {
    let dir = TempDir::new().expect("a folder");
    let limits = Limits { start_bytes: 2_000, ..limits() };
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits);
    TALK.iter().take(10).for_each(|text| session.say(text));
    let mut session = session.crash();
    session.say("where is the spare key?");
    let files = session.end();
    assert!(replayed(&files[0]).inputs > 0);
    let report = Recording::replay_file(&files[1]).expect("it replays");
    assert_eq!(report.first_divergence, None);
    assert!(!report.is_equal());
    assert!(report.set_aside.iter().any(|aside| aside.why.contains("woken by")), "{:?}", report.set_aside);
    assert!(report.matched > 0 && report.matched == report.inputs);
}

#[test]
fn what_an_answer_rested_on_is_in_the_file_and_nothing_else_of_what_is_remembered() {
    let dir = TempDir::new().expect("a folder");
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits());
    session.say("remember that the spare key is in the blue drawer");
    (0..40).for_each(|n| session.say(&format!("remember that jar number {n} holds buttons of kind {}", n * 7)));
    let mut session = session.crash();
    session.say("where is the spare key?");
    let files = session.end();
    let mut recording = Recording::read(&files[1]).expect("readable");
    assert!(recording.replay(core_tools()).expect("it replays").is_equal());
    let texts = |records: &mut dyn Iterator<Item = &(Vec<u8>, Vec<u8>)>| {
        records.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect::<String>()
    };
    // The ledger remembers every turn, but reads none of them to wake.
    let ledger = recording.starts.iter().find(|start| start.region == "cause_ledger").expect("its state");
    assert_eq!(ledger.records, 0);
    let rested_on = texts(&mut recording.rested_on.values().flatten());
    assert!(!rested_on.contains("jar number 3 "), "{rested_on}");
    // Without the records it used, the answer would differ, and the replay would report that.
    for records in recording.records.values_mut().chain(recording.rested_on.values_mut()) {
        for (_, value) in records.iter_mut() {
            let text = String::from_utf8_lossy(value).replace("blue drawer", "red drawer!");
            *value = text.replace("drawer!", "drawer").into_bytes();
        }
    }
    let report = recording.replay(core_tools()).expect("it replays");
    assert!(report.first_divergence.is_some(), "{report:?}");
}

#[test]
fn a_message_that_is_missing_sets_its_region_aside() {
    let dir = TempDir::new().expect("a folder");
    let mut session = Session::new(StateStore::in_memory(), dir.path(), &dir.path().join("recordings"), limits());
    session.say("hello");
    let files = session.end();
    let mut recording = Recording::read(&files[0]).expect("readable");
    let lost: MessageId = recording.inputs.iter().find_map(|input| input.message).expect("a message");
    recording.signals.remove(&lost);
    let report = recording.replay(core_tools()).expect("it replays");
    assert_eq!(report.first_divergence, None);
    assert!(report.set_aside.iter().all(|aside| aside.why.contains(&lost.to_string())), "{:?}", report.set_aside);
    assert!(!report.set_aside.is_empty());
}

/// A conversation with a model that thinks on, acts and fails; returns its recording, and all that was said and done.
fn with_model(dir: &Path, recordings: &str, settings: Settings) -> (PathBuf, String) {
    let workdir = dir.join("work");
    fs::remove_dir_all(&workdir).ok();
    fs::create_dir_all(&workdir).expect("a folder");
    let mut session = Session::with(StateStore::in_memory(), &workdir, &dir.join(recordings), limits(), settings);
    for text in ["what should I do about the gulls?", "and about the terns?", "remember that gulls like chips", "hm?"] {
        session.say(text);
    }
    let agent = session.store.agent(&AgentId::new("maxim").expect("a good name"));
    let records = agent.records("cause_ledger", .., usize::MAX).expect("read").into_iter();
    let why = records.map(|(_, value)| String::from_utf8_lossy(&value).into_owned()).collect::<Vec<_>>().join("\n");
    let done = fs::read_to_string(workdir.join("gulls.txt")).unwrap_or_default();
    (session.end().remove(0), why + &done)
}

#[test]
fn a_talk_with_a_model_is_played_again_from_its_tape_to_the_byte() {
    let dir = TempDir::new().expect("a folder");
    let model = Model::acting(|number, _| match number {
        0 => Act::Say(thinks("What do I know of gulls?")),
        1 => Act::Say(acts("write_file", &serde_json::json!({"path": "gulls.txt", "content": "feed them"}))),
        2 => Act::Answer(401, None, "no".into()),
        _ => Act::Say(acts("respond", &serde_json::json!({"message": "Let them be."}))),
    });
    let mut live = Settings::default();
    (live.effectors.llm.base_url, live.effectors.llm.model) = (Some(model.serve()), Some("gull".into()));
    let (file, said) = with_model(dir.path(), "live", live);
    let asked = model.requests().len();
    assert!(asked >= 4 && said.contains("Let them be.") && said.ends_with("feed them"), "{asked}: {said}");
    replayed(&file);
    let mut played = Settings::default();
    played.effectors.llm.tape = Some(file);
    let (again, same) = with_model(dir.path(), "again", played);
    assert_eq!(model.requests().len(), asked, "nobody was asked");
    assert_eq!(said, same);
    replayed(&again);
}
