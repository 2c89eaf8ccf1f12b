//! Agents that are unloaded from memory and loaded again.

use super::*;

const ROOMS: [RegionName; 2] = [HIPPOCAMPUS, GATE];

/// Data of every kind: a root with later events, events alone, short, long, replaced and deleted records, sealed ones
/// and some in the tail, and unread letters.
fn live(store: &StateStore) -> AgentStore {
    let agent = ada(store);
    agent.raise_epoch(GATE);
    for n in 0..400 {
        put(&agent, HIPPOCAMPUS, &format!("key {n:03}"), &vec![n as u8; 300]);
    }
    until("the tail is sealed", || agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.upto > 0);
    put(&agent, HIPPOCAMPUS, "long", &vec![7; 100_000]);
    put(&agent, HIPPOCAMPUS, "key 001", b"newer");
    let gone = vec![(b"key 002".to_vec(), None)];
    agent.accept(Commit { records: gone, ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
    event(&agent, GATE, "before the root");
    let root = Some(b"a root".to_vec());
    agent.accept(Commit { root, state_hash: 5, ..commit(&agent, GATE) }, |_| ()).expect("accepted");
    let after = Commit {
        consumed: Some((Lane::Data, Lsn(3))),
        events: vec![b"after the root".to_vec()],
        emissions: vec![(*b"a letter").into()],
        state_hash: 6,
        ..commit(&agent, GATE)
    };
    agent.accept(after, |_| ()).expect("accepted");
    settle(&agent);
    agent
}

/// Drops what it can; the threads of the store release an agent soon after it is on disk.
fn leave(store: &StateStore, name: &str) {
    until("nobody holds the agent", || store.let_go(&id(name)));
}

#[test]
fn who_was_away_is_what_it_was_and_goes_on() {
    for home in Home::all() {
        let store = home.open();
        let agent = live(&store);
        let (before, epoch) = (picture(&agent, &ROOMS), agent.epoch(GATE));
        assert!(!store.let_go(&id("ada")), "it is in use");
        drop(agent);
        leave(&store, "ada");
        assert_eq!((store.in_memory_now(), store.agents()), (0, vec![id("ada")]));
        let agent = ada(&store);
        assert_eq!((store.in_memory_now(), picture(&agent, &ROOMS), agent.epoch(GATE)), (1, before, epoch));
        let head = agent.head();
        assert_eq!(event(&agent, GATE, "and on"), Lsn(head.0 + 1));
        put(&agent, HIPPOCAMPUS, "key 003", b"newest");
        settle(&agent);
        let then = picture(&agent, &ROOMS);
        drop(agent);
        // Once more: then killed, then closed.
        leave(&store, "ada");
        assert_eq!(picture(&ada(&store), &ROOMS), then);
        leave(&store, "ada");
        drop(store);
        let store = home.open();
        assert_eq!(picture(&ada(&store), &ROOMS), then);
        leave(&store, "ada");
        store.close().expect("closes");
        assert_eq!(picture(&ada(&home.open()), &ROOMS), then);
    }
}

#[test]
fn what_others_do_and_what_is_done_to_the_disk_costs_who_is_away_nothing() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let store = home.open();
        let before = picture(&live(&store), &ROOMS);
        leave(&store, "ada");
        let other = store.agent(&id("bob"));
        for n in 0..2_000 {
            put(&other, HIPPOCAMPUS, &format!("key {:03}", n % 300), &vec![n as u8; 300]);
            event(&other, GATE, "bob lives");
        }
        settle(&other);
        assert!(store.verify().is_sound(), "{:?}", store.verify());
        store.compact().expect("compacts");
        let copy = tempfile::tempdir().expect("a folder");
        store.backup(&copy.path().join("backup")).expect("copies");
        assert!(store.health().live_bytes > 0);
        assert_eq!(store.in_memory_now(), 1, "nobody brought it back");
        assert_eq!(picture(&ada(&store), &ROOMS), before, "{kind:?}");
        StateStore::restore(&copy.path().join("backup"), &copy.path().join("restored")).expect("restores");
        let options = StoreOptions { engine: kind, ..small() };
        let (restored, report) = StateStore::open(&copy.path().join("restored"), options).expect("opens");
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(picture(&ada(&restored), &ROOMS), before, "{kind:?}");
    }
}

#[test]
fn what_is_not_on_the_disk_keeps_its_agent() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = live(&store);
    store.faults().fail();
    event(&agent, GATE, "the disk is away");
    let before = picture(&agent, &[GATE]);
    drop(agent);
    assert!(!store.let_go(&id("ada")), "nowhere else is it");
    store.faults().restore();
    leave(&store, "ada");
    assert_eq!(picture(&ada(&store), &[GATE]), before);
}

#[test]
fn who_can_not_be_read_again_shows_and_takes_nothing_until_it_can() {
    let disk = MemoryEngine::default();
    let home = Home::Memory(disk.clone());
    let store = home.open();
    let before = picture(&live(&store), &ROOMS);
    leave(&store, "ada");
    let (mut damage, mut mend) = (engine::Batch::default(), engine::Batch::default());
    let (frames, end) = (keys::agent(keys::FRAME, "ada"), engine::after_prefix(&keys::agent(keys::FRAME, "ada")));
    let mut change = |key: &[u8], value: &[u8]| {
        damage.put(key.to_vec(), b"no frame".to_vec());
        mend.put(key.to_vec(), value.to_vec());
        true
    };
    disk.scan(&frames, end.as_deref(), &mut change).expect("reads");
    disk.apply(&damage).expect("written");
    let agent = ada(&store);
    let told = agent.recover(GATE).expect_err("not a new agent").to_string();
    assert!(told.contains("the end of the journal"), "{told}");
    assert_eq!(agent.accept(commit(&agent, GATE), |_| ()), Err(AcceptError::Closed));
    assert!(store.health().damage_seen, "the next start looks at all of it");
    drop(agent);
    disk.apply(&mend).expect("written");
    assert_eq!(picture(&ada(&store), &ROOMS), before);
}
