//! Flipped bits, truncated and deleted files: the store starts, and reports what it found.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;

/// The content of the store before the damage.
struct Before {
    home: Home,
    events: Vec<String>,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    head: Lsn,
}

fn make(kind: EngineKind, with_backup: bool) -> Before {
    let home = Home::folder(kind);
    let store = home.open();
    let agent = ada(&store);
    let mut records = BTreeMap::new();
    for n in 0..300u32 {
        let (key, value) = (format!("{:04}", n % 200).into_bytes(), vec![n.to_le_bytes()[0]; 300]);
        records.insert(key.clone(), value.clone());
        let made = Commit {
            events: vec![format!("event {n}").into_bytes()],
            records: vec![(key, Some(value.into()))],
            root: (n == 100 || n == 200).then(|| format!("root {n}").into_bytes()),
            ..commit(&agent, HIPPOCAMPUS)
        };
        agent.accept(made, |_| ()).expect("accepted");
    }
    settle(&agent);
    until("sealing", || store.verify().blocks > 2);
    if with_backup {
        store.backup_rotating(3).expect("backs up");
    }
    let events = texts(&agent.recover(HIPPOCAMPUS).expect("recovers"));
    let head = agent.head();
    drop(agent);
    store.close().expect("closes");
    Before { home, events, records, head }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).expect("inside"));
        fs::create_dir_all(target.parent().expect("a parent")).expect("makes");
        fs::copy(file, target).expect("copies");
    }
    fs::create_dir_all(to.join("g1/blobs")).expect("makes");
}

/// Opens a damaged copy. All data that is read must be as before, or the loss must have been reported. A read may fail
/// with an error that names the damage.
fn open_damaged(before: &Before, folder: &Path, kind: EngineKind, what: &str) -> OpenReport {
    let options = StoreOptions { engine: kind, ..small() };
    let (store, report) = StateStore::open(folder, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let agent = ada(&store);
    let told = !report.lost.is_empty();
    let recovered = agent.recover(HIPPOCAMPUS).unwrap_or_else(|error| panic!("{what}: {error}"));
    let intact = texts(&recovered) == before.events
        && recovered.root.as_deref() == Some(b"root 200")
        && agent.head() == before.head;
    assert!(intact || told || is_longer_fold(&recovered), "{what}: silently different: {report:?} {recovered:?}");
    for (key, value) in &before.records {
        match agent.record(HIPPOCAMPUS, key) {
            Ok(Some(found)) => assert!(&found == value || told, "{what}: silently wrong"),
            Ok(None) => assert!(told, "{what}: silently missing {}, {report:?}", key.escape_ascii()),
            Err(error) => assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error}"),
        }
    }
    event(&agent, GATE, "it works");
    settle(&agent);
    drop(agent);
    store.close().expect("closes");
    let again = StateStore::open(folder, StoreOptions { engine: kind, ..small() });
    let (store, second) = again.unwrap_or_else(|error| panic!("{what}, second start: {error}"));
    let kept = texts(&ada(&store).recover(GATE).expect("recovers")) == ["it works"];
    // redb checks a page when it is used, so the second start may see damage that the first didn't.
    assert!(kept || (kind == EngineKind::Redb && !second.lost.is_empty()), "{what}: {second:?}");
    report
}

/// The older root with all later events gives the same state as the newer one.
fn is_longer_fold(recovered: &Recovered) -> bool {
    let expected: Vec<_> = (101..300).map(|n| format!("event {n}")).collect();
    recovered.root.as_deref() == Some(b"root 100") && texts(recovered) == expected
}

fn damage_everywhere(kind: EngineKind, with_backup: bool) {
    let before = make(kind, with_backup);
    let root = before.home.path();
    let all: Vec<_> = files(root).into_iter().filter(|file| !file.starts_with(root.join("backups"))).collect();
    assert!(all.len() >= 4, "{all:?}");
    for file in &all {
        let name = file.strip_prefix(root).expect("inside").to_owned();
        let bytes = fs::read(file).expect("reads");
        let try_one = |what: String, content: Option<Vec<u8>>| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            copy(root, folder.path());
            match content {
                Some(content) => fs::write(folder.path().join(&name), content).expect("writes"),
                None => fs::remove_file(folder.path().join(&name)).expect("removes"),
            }
            open_damaged(&before, folder.path(), kind, &format!("{} {what}", name.display()))
        };
        try_one("deleted".into(), None);
        for part in [0, 1, 2, 3] {
            let length = bytes.len() * part / 4;
            try_one(format!("cut to {length}"), Some(bytes[..length].to_vec()));
        }
        // Places with data: holes and padding show nothing.
        let used: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        for at in used.iter().step_by((used.len() / 12).max(1)) {
            let mut flipped = bytes.clone();
            flipped[*at] ^= 1 << (at % 8);
            try_one(format!("bit flipped at {at}"), Some(flipped));
        }
    }
}

#[test]
fn any_damage_to_a_sled_store_is_survived_and_reported() {
    damage_everywhere(EngineKind::Sled, false);
}

#[test]
fn any_damage_to_a_redb_store_is_survived_and_reported() {
    damage_everywhere(EngineKind::Redb, false);
}

#[test]
fn with_a_backup_any_damage_leaves_at_least_what_was_backed_up() {
    let before = make(EngineKind::Sled, true);
    let root = before.home.path();
    for name in ["g1/db", "g1/conf", "pack"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(root, folder.path());
        let file = folder.path().join(name);
        let bytes = fs::read(&file).expect("reads");
        fs::write(&file, &bytes[..bytes.len() / 3]).expect("writes");
        let report = open_damaged(&before, folder.path(), EngineKind::Sled, name);
        assert!(!report.is_sound(), "{name}: {report:?}");
        let store = StateStore::open(folder.path(), small()).expect("opens").0;
        let agent = ada(&store);
        assert_eq!(texts(&agent.recover(HIPPOCAMPUS).expect("recovers")), before.events, "{name}");
        let found: BTreeMap<_, _> = agent.records(HIPPOCAMPUS, .., usize::MAX).expect("reads").into_iter().collect();
        assert!(found == before.records, "{name}: {} of {} records", found.len(), before.records.len());
    }
}

#[test]
fn damaged_settings_of_the_database_cost_nothing() {
    let before = make(EngineKind::Sled, false);
    let root = before.home.path();
    let bytes = fs::read(root.join("g1/conf")).expect("reads");
    for at in 0..bytes.len() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(root, folder.path());
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(folder.path().join("g1/conf"), flipped).expect("writes");
        let report = open_damaged(&before, folder.path(), EngineKind::Sled, &format!("conf, byte {at}"));
        assert!(report.lost.is_empty() && report.restored_from.is_none(), "byte {at}: {report:?}");
    }
}

#[test]
fn a_lost_database_without_a_backup_is_quarantined_and_said() {
    let before = make(EngineKind::Sled, false);
    fs::remove_dir_all(before.home.path().join("g1")).expect("removes");
    let (store, report) = before.home.open_with(small());
    assert!(!report.fresh && report.lost.len() == 1, "{report:?}");
    assert!(report.lost[0].to_string().contains("everything"), "{}", report.lost[0]);
    assert_eq!(ada(&store).head(), Lsn(0));
    assert!(report.quarantined.iter().any(|place| place.join("pack").exists()), "{report:?}");
    let epoch = ada(&store).epoch(GATE);
    assert!(epoch.0 >= 2_000_000, "epochs grow even over a lost database: {epoch:?}");
}

#[test]
fn a_folder_that_is_known_to_have_held_a_store_and_holds_none_is_a_loss() {
    let home = Home::folder(EngineKind::Sled);
    let (store, report) = home.open_with(StoreOptions { was_used: true, ..small() });
    assert!(!report.fresh && report.was_gone && report.lost.len() == 1, "{report:?}");
    store.close().expect("closes");
    let (_store, report) = home.open_with(StoreOptions { was_used: true, ..small() });
    assert!(!report.was_gone && report.is_sound(), "{report:?}");
}

#[test]
fn what_is_removed_beneath_an_open_store_is_told_nothing_more_is_promised_and_put_back_it_goes_on() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let store = home.open();
        let agent = ada(&store);
        event(&agent, GATE, "before");
        settle(&agent);
        let aside = home.path().with_extension("aside");
        fs::rename(home.path(), &aside).expect("moved");
        assert!(matches!(store.health().status, StoreStatus::Degraded { .. }), "before anything is written");
        let lsn = event(&agent, GATE, "meanwhile");
        let refused = agent.wait_durable_blocking(lsn, PATIENCE).expect_err("not durable");
        assert!(matches!(&refused, NotDurable::Degraded(why) if why.contains("was removed or replaced")), "{refused}");
        assert!(!home.path().join("g1").exists() && !home.path().join("g2").exists(), "nothing new is begun there");
        let _ = fs::remove_dir_all(home.path());
        fs::rename(&aside, home.path()).expect("moved back");
        until("the store catches up", || agent.durable() == agent.head());
        drop(agent);
        store.close().expect("closes");
        assert_eq!(texts(&ada(&home.open()).recover(GATE).expect("recovers")), ["before", "meanwhile"]);
        // An orderly end doesn't mean that all is on disk if it isn't found again.
        let store = home.open();
        fs::remove_dir_all(home.path()).expect("removed");
        assert!(store.close().expect_err("told").to_string().contains("was removed or replaced"));
    }
}

/// Bytes before each block's body in the pack.
const HEAD_BYTES: usize = 12;

#[test]
fn a_bad_block_is_named_when_it_is_read_and_taken_out_at_the_next_start() {
    let home = Home::folder(EngineKind::Sled);
    let open = || home.open_with(StoreOptions::default());
    let key = |n: u32| format!("{n:04}").into_bytes();
    let block = {
        let store = open().0;
        let agent = ada(&store);
        for n in 0..300u32 {
            put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &[n.to_le_bytes()[0]; 300]);
        }
        crate::upkeep::tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into()).expect("seals");
        let sealed = agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.clone();
        assert_eq!((sealed.runs.len(), sealed.live), (1, 300));
        let index = sealed.runs[0].index(&agent.shared.pack().expect("a pack")).expect("readable");
        index.blocks[2].1
    };
    let pack = home.path().join("pack");
    let mut bytes = fs::read(&pack).expect("reads");
    bytes[usize::try_from(block.offset).expect("small") + HEAD_BYTES + block.length as usize / 2] ^= 1;
    fs::write(&pack, bytes).expect("writes");
    let (store, report) = open();
    assert!(report.is_sound(), "blocks are looked at when they are read: {report:?}");
    let agent = ada(&store);
    let bad: Vec<_> = (0..300).filter_map(|n| agent.record(HIPPOCAMPUS, &key(n)).err()).collect();
    assert!((40..60).contains(&bad.len()), "one block of them: {}", bad.len());
    assert!(bad[0].to_string().contains("ada") && bad[0].to_string().contains(HIPPOCAMPUS), "{}", bad[0]);
    assert!(agent.records(HIPPOCAMPUS, .., usize::MAX).is_err(), "a range doesn't leave them out silently");
    assert!(store.health().damage_seen);
    let verified = store.verify();
    assert!(verified.bad.iter().any(|what| what.contains("ada") && what.contains(HIPPOCAMPUS)), "{verified:?}");
    event(&agent, GATE, "so that the note is written");
    settle(&agent);
    drop(agent);
    drop(store);
    let (store, report) = open();
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert!(report.lost[0].what.contains(HIPPOCAMPUS) && report.lost[0].what.contains("records from 0"), "{report:?}");
    let left = ada(&store).records(HIPPOCAMPUS, .., usize::MAX).expect("reads again");
    assert_eq!(left.len(), 300 - bad.len());
    assert_eq!(ada(&store).record_count(HIPPOCAMPUS), left.len() as u64);
    assert!(store.verify().is_sound(), "{:?}", store.verify());
    drop(store);
    assert!(open().1.is_sound());
}

/// Damages one value inside the engine, without the engine noticing.
fn damage_key(disk: &MemoryEngine, kind: u8, which: usize) {
    let mut found = Vec::new();
    disk.scan(&[kind], Some(&[kind + 1]), &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        true
    })
    .expect("scans");
    let (key, mut value) = found.swap_remove(which.min(found.len() - 1));
    let middle = value.len() / 2;
    value[middle] ^= 16;
    disk.apply(&Batch(vec![(key, Some(value))])).expect("applies");
}

fn filled(turns: u32) -> MemoryEngine {
    let disk = MemoryEngine::default();
    let store = Home::Memory(disk.clone()).open();
    let agent = ada(&store);
    for n in 0..turns {
        let root = (n % 40 == 30).then(|| n.to_le_bytes().to_vec());
        let region = if n % 2 == 0 { HIPPOCAMPUS } else { GATE };
        let events = vec![n.to_le_bytes().to_vec()];
        agent.accept(Commit { events, root, ..commit(&agent, region) }, |_| ()).expect("accepted");
        settle(&agent);
    }
    store.close().expect("closes");
    disk
}

/// Two regions say a little and fall silent, a third continues for long.
fn with_silent_regions() -> MemoryEngine {
    let disk = MemoryEngine::default();
    let store = Home::Memory(disk.clone()).open();
    let agent = ada(&store);
    let low = Arc::new(parking_lot::Mutex::new(Lsn(0)));
    let told = low.clone();
    agent.set_low_water(move || *told.lock());
    let root = Some(b"snapshot".to_vec());
    agent.accept(Commit { root, ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
    event(&agent, HIPPOCAMPUS, "one");
    event(&agent, HIPPOCAMPUS, "two");
    event(&agent, "silent", "three");
    for turn in 0..600u32 {
        let emissions = vec![[7; 10].into(); 100];
        let root = (turn % 20 == 0).then(|| b"root".to_vec());
        let made = Commit { events: vec![b"busy".to_vec()], emissions, root, ..commit(&agent, GATE) };
        *low.lock() = agent.accept(made, |_| ()).expect("accepted").lsn;
        settle(&agent);
    }
    let kept = agent.undelivered().expect("reads").len();
    assert!(kept < 30_000, "{kept} of 60000 emissions are still in the journal");
    store.close().expect("closes");
    disk
}

#[test]
fn the_journal_is_not_kept_for_a_silent_region_and_its_events_are_in_both_slots() {
    for slot in [None, Some(2), Some(3), Some(4), Some(5)] {
        let disk = with_silent_regions();
        if let Some(slot) = slot {
            damage_key(&disk, keys::ROOT, slot);
        }
        let (store, report) = Home::Memory(disk).open_with(small());
        assert!(report.lost.is_empty() && report.repaired.len() == usize::from(slot.is_some()), "{report:?}");
        let recovered = ada(&store).recover(HIPPOCAMPUS).expect("recovers");
        assert_eq!(recovered.root, Some(b"snapshot".to_vec()));
        assert_eq!(recovered.events, [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(ada(&store).recover("silent").expect("recovers").events, [b"three".to_vec()]);
    }
}

#[test]
fn a_bad_root_falls_back_to_the_other_slot_without_loss() {
    for slot in 0..2 {
        let disk = filled(200);
        damage_key(&disk, keys::ROOT, slot);
        let (store, report) = Home::Memory(disk).open_with(small());
        assert!(report.lost.is_empty() && report.repaired.len() == 1, "{report:?}");
        let recovered = ada(&store).recover(HIPPOCAMPUS).expect("recovers");
        let number = |bytes: &Vec<u8>| u32::from_le_bytes(bytes.as_slice().try_into().expect("four bytes"));
        let root = recovered.root.as_ref().map(number).expect("a root");
        let expected: Vec<u32> = (root + 2..200).step_by(2).collect();
        assert_eq!(recovered.events.iter().map(number).collect::<Vec<_>>(), expected, "all events after its root");
    }
}

#[test]
fn a_bad_frame_cuts_the_journal_there_and_no_place_is_given_twice() {
    let disk = filled(100);
    damage_key(&disk, keys::FRAME, 70);
    let home = Home::Memory(disk);
    let (store, report) = home.open_with(small());
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert_eq!(report.lost[0].lsns, Some((Lsn(71), Lsn(100))));
    let agent = ada(&store);
    assert_eq!(agent.head(), Lsn(100));
    let events = agent.recover(GATE).expect("recovers").events;
    assert!(events.iter().all(|event| event[0] < 70), "nothing from behind the cut");
    assert_eq!(event(&agent, GATE, "goes on"), Lsn(101));
    drop(agent);
    store.close().expect("closes");
    let store = home.open();
    assert_eq!(ada(&store).head(), Lsn(101));
}

/// Commits of two rooms, each on disk before the next, with occasional roots, so that the journal is cut.
fn go_on(agent: &AgentStore, turns: std::ops::Range<u32>) {
    for n in turns {
        let root = (n % 40 >= 38).then(|| n.to_le_bytes().to_vec());
        let region = if n % 2 == 0 { HIPPOCAMPUS } else { GATE };
        let events = vec![n.to_le_bytes().to_vec()];
        agent.accept(Commit { events, root, ..commit(agent, region) }, |_| ()).expect("accepted");
        settle(agent);
    }
}

fn journal(disk: &MemoryEngine) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        true
    };
    disk.scan(&[keys::FRAME], Some(&[keys::FRAME + 1]), visit).expect("scans");
    found
}

fn picture(agent: &AgentStore) -> (Lsn, [Recovered; 2]) {
    (agent.head(), [HIPPOCAMPUS, GATE].map(|region| agent.recover(region).expect("recovers")))
}

#[test]
fn places_of_the_journal_are_used_again_and_it_is_read_in_its_order_wherever_it_lies() {
    let disk = MemoryEngine::default();
    let home = Home::Memory(disk.clone());
    let mut turns = 0;
    // Reordered as no program does it; the second time also to the place of an older program, by LSN.
    for to in [None, Some(1_000), Some(1_000_000)] {
        if let Some(to) = to {
            let mut moved = Batch::default();
            for (key, frame) in keys::spanning(&disk, &[keys::FRAME]).expect("reads") {
                keys::delete_spanning(&mut moved, &key, frame.chunks);
                let there = keys::frame("ada", to - keys::place_of(&key) % 1_000);
                match frame.content {
                    Some(content) => drop(keys::put_spanning(&mut moved, &there, &content, 0)),
                    None => keys::empty_spanning(&mut moved, &there, frame.chunks),
                }
            }
            disk.apply(&moved).expect("applies");
        }
        let store = home.open();
        let agent = ada(&store);
        assert_eq!(agent.head(), Lsn(u64::from(turns)));
        let before = picture(&agent);
        go_on(&agent, turns..turns + 400);
        turns += 400;
        let after = picture(&agent);
        assert_ne!(before, after);
        drop(agent);
        store.close().expect("closes");
        let places = journal(&disk).len();
        assert!((32..200).contains(&places), "{places} for {turns} frames");
        let store = home.open();
        assert_eq!(picture(&ada(&store)), after);
        store.close().expect("closes");
    }
}

#[test]
fn a_bad_place_that_holds_nothing_of_the_journal_costs_nothing() {
    let disk = MemoryEngine::default();
    let home = Home::Memory(disk.clone());
    let store = home.open();
    go_on(&ada(&store), 0..200);
    let before = picture(&ada(&store));
    store.close().expect("closes");
    let free = journal(&disk).into_iter().find(|(_, value)| value.is_empty()).expect("a place that was left").0;
    disk.apply(&Batch(vec![(free, Some(b"nonsense".to_vec()))])).expect("applies");
    let (store, report) = home.open_with(small());
    assert!(report.lost.is_empty() && report.repaired.len() == 1, "{report:?}");
    assert_eq!(picture(&ada(&store)), before);
    store.close().expect("closes");
    home.open();
}
