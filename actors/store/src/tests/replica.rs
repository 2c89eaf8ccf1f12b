//! The journal on other machines: it contains what was acknowledged, and another store continues from it.

use parking_lot::Mutex;
use uuid::Uuid;

use super::copies::fill;
use super::*;

const HISTORY: Uuid = Uuid::from_u128(7);
const REGIONS: [RegionName; 2] = [HIPPOCAMPUS, GATE];

/// A journal for which many writers may have a handle; only the newest one's entries are accepted.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    entries: Vec<Vec<u8>>,
    owner: u64,
    refuses: u32,
    /// Number of entries that still arrive before the writer dies.
    until_dead: Option<usize>,
}

struct Handle(Journal, u64);

impl Journal {
    fn handle(&self) -> Arc<dyn Replica> {
        let mut kept = self.0.lock();
        kept.owner += 1;
        Arc::new(Handle(self.clone(), kept.owner))
    }

    fn len(&self) -> usize {
        self.0.lock().entries.len()
    }
}

impl Replica for Handle {
    fn position(&self) -> Position {
        Position { history: HISTORY, sequence: self.0.len() as u64 }
    }

    fn append(&self, parts: &[Vec<u8>]) -> Result<(), ReplicaError> {
        let mut kept = self.0.0.lock();
        if kept.owner != self.1 {
            return Err(ReplicaError::Fenced("another one writes".into()));
        }
        if kept.refuses > 0 {
            kept.refuses -= 1;
            return Err(ReplicaError::Unreachable("not now".into()));
        }
        let arriving = kept.until_dead.unwrap_or(usize::MAX).min(parts.len());
        kept.entries.extend_from_slice(&parts[..arriving]);
        if arriving < parts.len() {
            kept.owner = 0;
            return Err(ReplicaError::Fenced("dead".into()));
        }
        Ok(())
    }
}

fn options(home: &Home) -> StoreOptions {
    let Home::Folder(_, engine) = home else { panic!("a folder") };
    StoreOptions { engine: *engine, close_limit: Duration::from_secs(1), ..small() }
}

fn open(home: &Home, journal: &Journal) -> StateStore {
    let (store, report) =
        StateStore::open_replicated(home.path(), options(home), journal.handle()).expect("opens for the journal");
    assert!(report.is_sound(), "{report:?}");
    store
}

/// A store that was never replicated begins a new history, in which it is opened; all its data is in the copy.
fn begin(home: &Home, journal: &Journal, copy: &Path) -> StateStore {
    drop(home.open());
    Follower::open(home.path(), PAGE_CACHE).expect("opens").expect("is there").begin(HISTORY).expect("begins");
    let store = open(home, journal);
    store.backup(copy).expect("backs up");
    let at = Position::of_backup(copy).expect("usable").expect("of a history");
    assert_eq!(at.history, HISTORY);
    store
}

/// Makes it independent, so that it can be inspected.
fn alone(home: &Home) -> (StateStore, OpenReport) {
    Follower::open(home.path(), PAGE_CACHE).expect("opens").expect("is there").leave().expect("leaves");
    home.open_with(small())
}

/// Brings the store of a home to the journal's position, and returns the number of entries.
fn follow(home: &Home, journal: &Journal) -> u64 {
    let mut follower = Follower::open(home.path(), PAGE_CACHE).expect("opens").expect("is there");
    let from = follower.position().expect("replicated").sequence;
    let entries = journal.0.lock().entries.clone();
    for (sequence, entry) in (1u64..).zip(&entries).skip(usize::try_from(from).expect("small")) {
        follower.take(sequence, entry).expect("taken");
    }
    follower.settle().expect("settles");
    entries.len() as u64 - from
}

#[test]
fn another_machine_goes_on_from_the_copy_and_the_journal_whatever_engine_it_has() {
    for (here, there) in [(EngineKind::Sled, EngineKind::Redb), (EngineKind::Redb, EngineKind::Sled)] {
        let (here, there, journal) = (Home::folder(here), Home::folder(there), Journal::default());
        {
            let store = here.open();
            fill(&ada(&store), 0, 200);
            store.close().expect("closes");
        }
        let copies = tempfile::tempdir().expect("a folder");
        let store = begin(&here, &journal, &copies.path().join("first"));
        let agent = ada(&store);
        fill(&agent, 200, 900);
        event(&agent, GATE, "before the copy");
        settle(&agent);
        // Sealed and merged meanwhile: the pack's data is transferred too.
        store.backup(&copies.path().join("second")).expect("backs up");
        fill(&agent, 900, 1500);
        store.compact().expect("compacts");
        fill(&agent, 1500, 1600);
        assert!(store.verify().blocks > 3, "it was sealed: {:?}", store.verify());
        let before = picture(&agent, &REGIONS);
        for copy in ["first", "second"] {
            StateStore::replace(&copies.path().join(copy), there.path(), &options(&there)).expect("restores");
            assert!(follow(&there, &journal) > 0, "{copy}");
            let (store, report) = alone(&there);
            assert!(report.is_sound(), "{report:?}");
            assert_eq!(picture(&ada(&store), &REGIONS), before, "{copy}");
            assert!(store.verify().is_sound(), "{:?}", store.verify());
        }
        // A third of the way on, in the other direction: it has what the first one wrote, and the first one follows.
        StateStore::replace(&copies.path().join("second"), there.path(), &options(&there)).expect("restores");
        follow(&there, &journal);
        let epoch = agent.epoch(GATE);
        let taken_over = open(&there, &journal);
        assert!(ada(&taken_over).epoch(GATE) > epoch, "the machine that takes over has the larger epoch");
        fill(&ada(&taken_over), 1600, 1700);
        let late = agent.accept(commit(&agent, GATE), |_| ());
        let wrote = late.map(|late| agent.wait_durable_blocking(late.lsn, PATIENCE));
        assert!(!matches!(wrote, Ok(Ok(()))), "the former one writes nothing that counts: {wrote:?}");
        let now = picture(&ada(&taken_over), &REGIONS);
        taken_over.close().expect("closes");
        drop(agent);
        assert!(store.close().is_err(), "what it had accepted last is nowhere");
        assert!(follow(&here, &journal) > 0);
        let (back, report) = alone(&here);
        assert!(report.clean && report.is_sound(), "{report:?}");
        assert_eq!(picture(&ada(&back), &REGIONS), now);
    }
}

#[test]
fn while_the_journal_is_away_nothing_is_durable_and_then_everything_once() {
    let (home, journal) = (Home::folder(EngineKind::Sled), Journal::default());
    let store = begin(&home, &journal, &home.path().join("copy"));
    let agent = ada(&store);
    journal.0.lock().refuses = 6;
    let lsn = event(&agent, GATE, "while it is away");
    until("it is told", || format!("{:?}", store.health()).contains("doesn't answer") || journal.0.lock().refuses == 0);
    until("durable", || agent.wait_durable_blocking(lsn, PATIENCE).is_ok());
    assert_eq!(journal.0.lock().refuses, 0);
    let before = picture(&agent, &REGIONS);
    drop(agent);
    store.close().expect("closes");
    assert_eq!(follow(&home, &journal), 0, "nothing was appended that the disk doesn't have");
    assert_eq!(picture(&ada(&alone(&home).0), &REGIONS), before);
}

#[test]
fn what_broke_off_is_left_out_and_what_the_disk_lacks_is_taken_from_the_journal() {
    let (home, journal) = (Home::folder(EngineKind::Sled), Journal::default());
    let copy = home.path().join("copy");
    let store = begin(&home, &journal, &copy);
    let agent = ada(&store);
    event(&agent, GATE, "whole");
    settle(&agent);
    let before = texts(&agent.recover(GATE).expect("recovers"));
    // Larger than an entry: the writer dies after the first of them.
    journal.0.lock().until_dead = Some(1);
    let noise: Vec<u8> = (0..1_500_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    put(&agent, HIPPOCAMPUS, "large", &noise);
    assert!(agent.wait_durable_blocking(agent.head(), PATIENCE).is_err());
    drop(agent);
    let _ = store.close();
    journal.0.lock().until_dead = None;
    let behind = journal.len() as u64;
    assert!(
        matches!(
            StateStore::open_replicated(home.path(), options(&home), journal.handle()),
            Err(StoreError::OtherHistory { .. })
        ),
        "half of a batch lies there: it isn't opened without looking"
    );
    follow(&home, &journal);
    let position = Follower::open(home.path(), PAGE_CACHE).expect("opens").and_then(|follower| follower.position());
    assert_eq!(position.map(|at| at.sequence), Some(behind - 1), "a half isn't counted");
    // The next writer closes that off, and continues after the last complete batch.
    journal.handle().append(&[opening_entry()]).expect("it may write");
    assert_eq!(follow(&home, &journal), 2);
    let store = open(&home, &journal);
    assert_eq!(texts(&ada(&store).recover(GATE).expect("recovers")), before);
    assert_eq!(ada(&store).record(HIPPOCAMPUS, b"large").expect("reads"), None, "it was never acknowledged");
    event(&ada(&store), GATE, "after");
    settle(&ada(&store));
    store.close().expect("closes");
    let other = Home::folder(EngineKind::Redb);
    StateStore::replace(&copy, other.path(), &options(&other)).expect("restores");
    follow(&other, &journal);
    let all = texts(&ada(&alone(&other).0).recover(GATE).expect("recovers"));
    assert_eq!(all, [before, vec!["after".into()]].concat());
}

#[test]
fn a_store_of_another_history_is_refused_with_the_fix() {
    let (home, journal) = (Home::folder(EngineKind::Sled), Journal::default());
    drop(begin(&home, &journal, &home.path().join("copy")));
    let alone = StateStore::open(home.path(), options(&home)).map(|_| ()).expect_err("it follows a journal");
    assert!(alone.to_string().contains("nats.url"), "{alone}");
    let home = Home::folder(EngineKind::Sled);
    drop(home.open());
    let error = StateStore::open_replicated(home.path(), options(&home), journal.handle()).map(|_| ()).expect_err("no");
    let text = error.to_string();
    assert!(text.contains("no journal") && text.contains("give another data folder"), "{text}");
    let memory = StoreOptions { engine: EngineKind::Memory, ..small() };
    let refused = StateStore::open_replicated(home.path(), memory, journal.handle()).map(|_| ());
    assert!(matches!(refused, Err(StoreError::InMemory(_))), "{refused:?}");
}
