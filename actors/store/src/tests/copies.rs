//! Backup, restore, compaction, engine change, lock and format.

use super::*;
use crate::keys;

pub fn fill(agent: &AgentStore, from: u32, to: u32) {
    for n in from..to {
        let made = Commit {
            events: vec![n.to_le_bytes().into()],
            emissions: vec![n.to_le_bytes().into()],
            records: vec![
                (format!("{:04}", n % 300).into_bytes(), Some(vec![n.to_le_bytes()[0]; 400].into())),
                (
                    format!("long {}", n % 3).into_bytes(),
                    (n % 100 == 0).then(|| vec![n.to_le_bytes()[0]; 50_000].into()),
                ),
            ],
            root: (n % 60 == 0).then(|| n.to_le_bytes().to_vec()),
            consumed: Some((Lane::Control, Lsn(u64::from(n)))),
            state_hash: u64::from(n),
            ..commit(agent, HIPPOCAMPUS)
        };
        agent.accept(made, |_| ()).expect("accepted");
    }
    settle(agent);
}

#[test]
fn a_backup_restores_to_what_was_durable_when_it_was_made() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let store = home.open();
        let agent = ada(&store);
        fill(&agent, 0, 700);
        let before = picture(&agent, &[HIPPOCAMPUS]);
        let place = home.path().join("copy");
        let report = store.backup(&place).expect("backs up");
        assert!(report.keys > 0 && report.damaged_blocks == 0, "{report:?}");
        fill(&agent, 700, 900);
        assert_ne!(picture(&agent, &[HIPPOCAMPUS]), before);
        assert!(matches!(store.backup(&place), Err(StoreError::NotEmpty(_))), "a backup is never overwritten");
        assert!(matches!(StateStore::restore(&place, home.path()), Err(StoreError::Locked { .. })));
        let other = Home::folder(kind);
        StateStore::restore(&place, other.path()).expect("restores");
        assert!(matches!(StateStore::restore(&place, other.path()), Err(StoreError::NotEmpty(_))));
        let (restored, report) = other.open_with(small());
        assert!(report.is_sound() && !report.fresh, "{report:?}");
        assert_eq!(picture(&ada(&restored), &[HIPPOCAMPUS]), before);
        assert!(restored.verify().is_sound());
    }
}

#[test]
fn a_backup_under_load_is_one_moment() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0u64.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let records = vec![(b"both".to_vec(), Some(n.to_le_bytes()[..].into()))];
                let made = Commit { events: vec![n.to_le_bytes().into()], records, ..commit(&agent, GATE) };
                let made = Commit { root: (n % 50 == 0).then(|| n.to_le_bytes().to_vec()), ..made };
                let accepted = agent.accept(made, |_| ()).expect("accepted");
                if n % 20 == 0 {
                    agent.wait_durable_blocking(accepted.lsn, PATIENCE).expect("durable");
                }
            }
        });
        for round in 0..5 {
            let place = home.path().join(format!("copy{round}"));
            store.backup(&place).expect("backs up");
            let other = Home::folder(EngineKind::Sled);
            StateStore::restore(&place, other.path()).expect("restores");
            let restored = other.open();
            let recovered = ada(&restored).recover(GATE).expect("recovers");
            let last = recovered.events.last().or(recovered.root.as_ref()).cloned();
            assert_eq!(ada(&restored).record(GATE, b"both").expect("reads"), last, "events and records agree");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_changed_backup_is_refused() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    fill(&ada(&store), 0, 50);
    let place = home.path().join("copy");
    store.backup(&place).expect("backs up");
    let dump = std::fs::read(place.join("dump")).expect("reads");
    for at in (0..dump.len()).step_by(dump.len() / 40) {
        let mut changed = dump.clone();
        changed[at] ^= 4;
        for bad in [changed, dump[..at].to_vec()] {
            std::fs::write(place.join("dump"), bad).expect("writes");
            let other = tempfile::tempdir().expect("a temporary folder");
            let refused = StateStore::restore(&place, other.path());
            assert!(matches!(refused, Err(StoreError::BadBackup { .. })), "at {at}: {refused:?}");
        }
    }
}

#[test]
fn rotating_backups_keep_the_newest() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    for n in 0..5 {
        fill(&ada(&store), n * 10, n * 10 + 10);
        store.backup_rotating(2).expect("backs up");
    }
    let mut names: Vec<_> = std::fs::read_dir(home.path().join("backups")).expect("a folder").flatten().collect();
    names.sort_by_key(|entry| entry.file_name());
    let names: Vec<_> = names.iter().map(|entry| entry.file_name().into_string().expect("text")).collect();
    assert_eq!(names, ["000004", "000005"]);
}

#[test]
fn a_backup_that_fails_leaves_nothing_and_pushes_no_good_one_out() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    fill(&agent, 0, 10);
    let backed_up = || StateStore::backups_in(home.path()).iter().map(|backup| backup.number).collect::<Vec<_>>();
    for _ in 0..2 {
        store.backup_rotating(2).expect("backs up");
    }
    store.faults().fail();
    event(&agent, GATE, "so that the disk is noticed");
    until("the store notices", || matches!(store.health().status, StoreStatus::Degraded { .. }));
    let refused = store.backup_rotating(2).expect_err("a disk that takes nothing takes no backup");
    assert!(refused.to_string().contains("space"), "{refused}");
    assert_eq!(backed_up(), [2, 1]);
    store.faults().restore();
    until("the store catches up", || agent.durable() == agent.head());
    // A process that died during a backup.
    std::fs::create_dir_all(home.path().join("backups/000007")).expect("makes");
    store.backup_rotating(2).expect("backs up");
    assert_eq!(backed_up(), [8, 2]);
}

#[test]
fn compaction_shrinks_and_changes_nothing_that_is_read() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let store = home.open();
        let agent = ada(&store);
        agent.set_low_water(|| Lsn(u64::MAX));
        for round in 0..6 {
            fill(&agent, round * 600, round * 600 + 600);
        }
        let held: Vec<_> = agent.records(HIPPOCAMPUS, .., usize::MAX).expect("reads");
        let report = store.compact().expect("compacts");
        assert!(report.bytes_after < report.bytes_before, "{report:?}");
        assert!(agent.records(HIPPOCAMPUS, .., usize::MAX).expect("reads") == held);
        assert!(store.verify().is_sound(), "{:?}", store.verify());
        fill(&agent, 3600, 3700);
        let before = picture(&agent, &[HIPPOCAMPUS]);
        drop(agent);
        store.close().expect("closes");
        let store = home.open();
        assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
        assert!(!home.path().join("g1").exists() && home.path().join("g2/complete").exists());
    }
}

#[test]
fn a_store_that_holds_much_more_than_is_alive_compacts_itself() {
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { compact_bytes: 2 << 20, ..small() });
    let agent = ada(&store);
    agent.set_low_water(|| Lsn(u64::MAX));
    let mut turns = 0u32;
    until("a second generation", || {
        turns += 1;
        let events = vec![vec![turns.to_le_bytes()[0]; 6000]];
        let root = Some(turns.to_le_bytes().to_vec());
        agent.accept(Commit { events, root, ..commit(&agent, GATE) }, |_| ()).expect("accepted");
        settle(&agent);
        home.path().join("g2/complete").exists() && !home.path().join("g1").exists()
    });
    drop(agent);
    store.close().expect("closes");
    let recovered = ada(&home.open()).recover(GATE).expect("recovers");
    assert_eq!(recovered.root, Some(turns.to_le_bytes().to_vec()));
}

#[test]
fn a_store_that_ends_gives_back_what_is_dead_in_it() {
    let home = Home::folder(EngineKind::Sled);
    let options = StoreOptions { compact_bytes: 1 << 20, ..small() };
    let (store, _) = home.open_with(options);
    let agent = ada(&store);
    agent.set_low_water(|| Lsn(u64::MAX));
    for turn in 0..300u32 {
        let root = Some(turn.to_le_bytes().to_vec());
        // Data that doesn't compress.
        let event = (0..20_000u32).map(|at| ((at ^ turn).wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
        agent.accept(Commit { events: vec![event], root, ..commit(&agent, GATE) }, |_| ()).expect("accepted");
        settle(&agent);
    }
    let (before, held) = (picture(&agent, &[GATE]), store.health().bytes_on_disk);
    assert!(home.path().join("g1").exists(), "too few commits for a look at it meanwhile");
    drop(agent);
    store.close().expect("closes");
    assert!(home.path().join("g2/complete").exists() && !home.path().join("g1").exists());
    let (store, report) = home.open_with(options);
    assert!(report.is_sound() && report.clean, "{report:?}");
    assert_eq!(picture(&ada(&store), &[GATE]), before);
    assert!(store.health().bytes_on_disk < held / 2, "{} of {held} bytes", store.health().bytes_on_disk);
    store.close().expect("closes");
    assert!(home.path().join("g2").exists(), "nothing is dead: nothing is copied");
}

#[test]
fn a_compaction_that_was_cut_short_leaves_the_store_as_it_was() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    fill(&ada(&store), 0, 100);
    let before = picture(&ada(&store), &[HIPPOCAMPUS]);
    store.close().expect("closes");
    // Begun, not completed.
    drop(EngineKind::Sled.open(&home.path().join("g2"), PAGE_CACHE).expect("opens"));
    let store = home.open();
    assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
    assert!(!home.path().join("g2").exists());
}

#[test]
fn another_engine_takes_the_store_over_at_the_next_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open = |engine| StateStore::open(folder.path(), StoreOptions { engine, ..small() }).expect("opens").0;
    let store = open(EngineKind::Sled);
    fill(&ada(&store), 0, 400);
    let before = picture(&ada(&store), &[HIPPOCAMPUS]);
    store.close().expect("closes");
    for engine in [EngineKind::Redb, EngineKind::Sled] {
        let store = open(engine);
        assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
        assert_eq!(store.health().engine, if engine == EngineKind::Redb { "redb" } else { "sled" });
        store.close().expect("closes");
    }
}

#[test]
fn the_second_opener_is_told_who_holds_the_store() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let refused = StateStore::open(home.path(), small()).err().expect("refused").to_string();
    for part in [home.path().display().to_string(), format!("process {}", std::process::id()), "stop".into()] {
        assert!(refused.contains(&part), "{refused}");
    }
    drop(store);
    home.open();
}

#[test]
fn another_format_is_refused_and_left_alone() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    fill(&ada(&store), 0, 10);
    store.close().expect("closes");
    let set = |version: u64| {
        let engine = EngineKind::Sled.open(&home.path().join("g1"), PAGE_CACHE).expect("opens");
        let mut batch = Batch::default();
        keys::put_number(&mut batch, keys::FORMAT, version);
        engine.apply(&batch).expect("applies");
        engine.sync().expect("syncs");
    };
    for (format, fix) in [(99, "run the newer program"), (4, "run the build that made it")] {
        set(format);
        let refused = StateStore::open(home.path(), small()).err().expect("refused").to_string();
        let found = format!("has format {format}, this program reads format 5 alone: {fix}");
        assert!(refused.contains(&found), "{refused}");
    }
    set(5);
    assert_eq!(ada(&home.open()).recover(HIPPOCAMPUS).expect("recovers").state_hash, 9);
}

#[test]
fn a_store_of_another_engine_is_refused_unless_it_is_to_be_converted() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    fill(&ada(&store), 0, 100);
    let before = picture(&ada(&store), &[HIPPOCAMPUS]);
    store.close().expect("closes");
    for engine in [EngineKind::Redb, EngineKind::Memory] {
        let refused = StateStore::open(home.path(), StoreOptions { engine, converts: false, ..small() }).err();
        let text = refused.expect("refused").to_string();
        let wanted = format!("made by sled, and {} is asked for: set store.engine to sled", engine.word());
        assert!(text.contains(&wanted), "{text}");
    }
    let converted = StoreOptions { engine: EngineKind::Redb, ..small() };
    let (store, report) = StateStore::open(home.path(), converted).expect("opens");
    assert!(report.is_sound() && store.health().engine == "redb", "{report:?}");
    assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
}

#[test]
fn a_store_in_memory_holds_its_folder_and_leaves_nothing_that_counts_as_lost() {
    let home = Home::folder(EngineKind::Memory);
    let store = home.open_with(small()).0;
    fill(&ada(&store), 0, 100);
    assert_eq!(store.health().engine, "memory");
    assert!(matches!(StateStore::open(home.path(), small()), Err(StoreError::Locked { .. })));
    assert!(matches!(store.backup_rotating(2), Err(StoreError::InMemory(_))));
    store.close().expect("closes");
    drop(store_gone(home.path()));
}

/// Opened with the default engine, the folder holds a new store.
fn store_gone(folder: &Path) -> StateStore {
    let (store, report) = StateStore::open(folder, small()).expect("opens");
    assert!(report.fresh && report.is_sound(), "{report:?}");
    store
}

#[test]
fn a_backup_takes_the_place_of_a_newer_store_which_stays_aside() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let store = home.open();
        let agent = ada(&store);
        fill(&agent, 0, 700);
        let before = picture(&agent, &[HIPPOCAMPUS]);
        let place = store.backup_rotating(3).expect("backs up").place;
        fill(&agent, 700, 900);
        // A newer backup must not be preferred to the requested one.
        store.backup_rotating(3).expect("backs up");
        let options = StoreOptions { engine: kind, ..small() };
        assert!(matches!(StateStore::replace(&place, home.path(), &options), Err(StoreError::Locked { .. })));
        drop(agent);
        store.close().expect("closes");
        let found = StateStore::backups_in(home.path());
        assert_eq!(found.iter().map(|backup| backup.number).collect::<Vec<_>>(), [2, 1]);
        assert!(found.iter().all(|backup| backup.made.is_some() && backup.bytes > 0), "{found:?}");
        let wrong = home.path().join("nowhere");
        assert!(matches!(StateStore::replace(&wrong, home.path(), &options), Err(StoreError::BadBackup { .. })));
        let report = StateStore::replace(&place, home.path(), &options).expect("restores");
        assert!(report.set_aside.as_ref().is_some_and(|aside| aside.is_dir()), "{report:?}");
        let (store, report) = home.open_with(options);
        assert!(report.is_sound() && report.clean && !report.fresh, "{report:?}");
        assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
        assert!(store.verify().is_sound());
    }
}
