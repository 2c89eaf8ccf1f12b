//! Keyed records compared with a plain map, through sealing, merging and restarts.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(agent: &AgentStore, model: &Model) {
    assert_eq!(agent.record_count(HIPPOCAMPUS), model.len() as u64);
    let all: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert!(agent.records(HIPPOCAMPUS, .., usize::MAX).expect("reads") == all, "the whole range differs");
}

fn key(n: u32) -> Vec<u8> {
    format!("{:06}", n).into_bytes()
}

/// Writes enough to seal and to merge several times.
#[test]
fn records_survive_sealing_merging_and_reopening() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        let mut model = Model::new();
        let mut state = 7u32;
        for round in 0..3000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = key((state >> 8) % 900);
            let value = (round % 5 != 0).then(|| vec![round.to_le_bytes()[0]; 100 + (state >> 20) as usize % 700]);
            match &value {
                Some(value) => model.insert(key.clone(), value.clone()),
                None => model.remove(&key),
            };
            let made =
                Commit { records: vec![(key.clone(), value.clone().map(Into::into))], ..commit(&agent, HIPPOCAMPUS) };
            agent.accept(made, |_| ()).expect("accepted");
            assert_eq!(agent.record(HIPPOCAMPUS, &key).expect("reads"), value, "one reads what one wrote");
            if round % 500 == 499 {
                settle(&agent);
                check(&agent, &model);
            }
        }
        check(&agent, &model);
        assert!(store.verify().blocks > 10, "it was sealed: {:?}", store.verify());
        drop(agent);
        store.close().expect("closes");
        let store = home.open();
        check(&ada(&store), &model);
        assert!(store.verify().is_sound(), "{:?}", store.verify());
    }
}

#[test]
fn ranges_honour_their_bounds_and_the_limit() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    let mut model = Model::new();
    for n in 0..800 {
        let value = vec![7; 200];
        put(&agent, HIPPOCAMPUS, &String::from_utf8(key(n * 2)).expect("text"), &value);
        model.insert(key(n * 2), value);
    }
    until("sealing", || store.verify().blocks > 0);
    // Some of the newest are only in memory, some deleted.
    for n in (100..200).step_by(3) {
        let records = vec![(key(n * 2), None), (key(n * 2 + 1), Some(b"odd"[..].into()))];
        agent.accept(Commit { records, ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
        model.remove(&key(n * 2));
        model.insert(key(n * 2 + 1), b"odd".to_vec());
    }
    let bounds = [Bound::Unbounded, Bound::Included(key(200)), Bound::Excluded(key(200)), Bound::Included(key(333))];
    let ends = [Bound::Unbounded, Bound::Included(key(400)), Bound::Excluded(key(400)), Bound::Excluded(key(100))];
    for from in &bounds {
        for to in &ends {
            for limit in [0, 1, 7, 10_000] {
                let range = (from.clone(), to.clone());
                let found = agent.records(HIPPOCAMPUS, range.clone(), limit).expect("reads");
                let inside = model.iter().filter(|(key, _)| std::ops::RangeBounds::contains(&range, *key));
                let expected: Vec<_> = inside.take(limit).map(|(k, v)| (k.clone(), v.clone())).collect();
                assert!(found == expected, "{range:?} limit {limit}: {} for {}", found.len(), expected.len());
            }
        }
    }
}

#[test]
fn large_records_come_back_whole_and_not_through_the_engine() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        let sizes = [8 << 10, (8 << 10) + 1, 64 << 10, (64 << 10) + 1, 700_000, 5 << 20];
        let value = |size: usize| (0..size).map(|n| (n / 251).to_le_bytes()[0]).collect::<Vec<u8>>();
        for size in sizes {
            put(&agent, HIPPOCAMPUS, &size.to_string(), &value(size));
        }
        settle(&agent);
        put(&agent, HIPPOCAMPUS, "700000", b"replaced");
        let check = |agent: &AgentStore| {
            for size in sizes {
                let expected = if size == 700_000 { b"replaced".to_vec() } else { value(size) };
                let found = agent.record(HIPPOCAMPUS, size.to_string().as_bytes()).expect("reads");
                assert!(found == Some(expected), "{size}");
            }
            assert_eq!(agent.record_count(HIPPOCAMPUS), sizes.len() as u64);
        };
        check(&agent);
        drop(agent);
        store.close().expect("closes");
        let store = home.open();
        check(&ada(&store));
        for n in 0..400 {
            put(&ada(&store), HIPPOCAMPUS, &format!("small {n}"), &[1; 200]);
        }
        until("sealing", || store.verify().blocks > 0);
        assert_eq!(ada(&store).record(HIPPOCAMPUS, b"5242880").expect("reads"), Some(value(5 << 20)));
        if let Home::Folder(folder, EngineKind::Sled) = &home {
            let engine = crate::sled_engine::folder_size(&folder.path().join("g1"));
            assert!(engine < 4 << 20, "the engine holds {engine} bytes of 6 MB of records");
        }
    }
}

#[test]
fn under_load_with_roots_and_records_sled_makes_no_blob() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    agent.set_low_water(|| Lsn(u64::MAX));
    for turn in 0..2000u32 {
        let made = Commit {
            events: vec![vec![1; 300]],
            emissions: vec![vec![2; (turn as usize * 37) % 6000].into()],
            records: vec![(key(turn % 700), Some(vec![3; (turn as usize * 53) % 12_000].into()))],
            root: (turn % 40 == 0).then(|| vec![4; 100_000]),
            ..commit(&agent, HIPPOCAMPUS)
        };
        agent.accept(made, |_| ()).expect("accepted");
        if turn % 20 == 0 {
            settle(&agent);
            let blobs = std::fs::read_dir(home.path().join("g1/blobs")).expect("a folder").count();
            assert_eq!(blobs, 0, "at turn {turn}");
        }
    }
}

#[test]
fn a_few_records_never_hold_the_journal_back_for_ever() {
    let home = Home::Memory(MemoryEngine::default());
    let store = home.open();
    let agent = ada(&store);
    agent.set_low_water(|| Lsn(u64::MAX));
    put(&agent, GATE, "lonely", b"record");
    for turn in 0..60_000u32 {
        let root = (turn % 500 == 0).then(|| vec![0; 10]);
        agent.accept(Commit { root, events: vec![vec![0; 20]], ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("ok");
        if turn % 1000 == 0 {
            settle(&agent);
        }
    }
    settle(&agent);
    assert!(agent.agent.on_disk.lock().dropped > 20_000, "{:?}", agent.agent.on_disk.lock().dropped);
    store.close().expect("closes");
    assert_eq!(ada(&home.open()).record(GATE, b"lonely").expect("reads"), Some(b"record".to_vec()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_order_of_writes_and_restarts_is_like_a_map(
        steps in proptest::collection::vec((0u32..60, proptest::option::of(0usize..3000), 0u8..12), 1..250)
    ) {
        let home = Home::Memory(MemoryEngine::default());
        let mut store = home.open_with(StoreOptions { seal_bytes: 4 << 10, ..small() }).0;
        let mut model = Model::new();
        for (n, size, what) in steps {
            let agent = ada(&store);
            let value = size.map(|size| vec![what; size * if what == 1 { 20 } else { 1 }]);
            match &value {
                Some(value) => model.insert(key(n), value.clone()),
                None => model.remove(&key(n)),
            };
            let records = vec![(key(n), value.map(Into::into))];
            agent.accept(Commit { records, ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
            if what == 0 {
                drop(agent);
                store.close().expect("closes");
                store = home.open_with(StoreOptions { seal_bytes: 4 << 10, ..small() }).0;
            }
        }
        check(&ada(&store), &model);
    }
}

/// Incompressible bytes.
fn noise() -> Vec<u8> {
    (0..16_000u32).flat_map(|n| crc32fast::hash(&n.to_le_bytes()).to_le_bytes()).collect()
}

#[test]
fn when_a_quarter_of_much_was_replaced_all_is_rewritten_and_what_is_alive_is_counted() {
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { seal_bytes: 1 << 30, ..StoreOptions::default() });
    let agent = ada(&store);
    let noise = noise();
    let write = |from: usize, to: usize, bytes: usize| {
        (from..to).for_each(|n| {
            // No two keys in a block have a common beginning.
            put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &noise[n % 10 * 5_800..][..bytes]);
        });
        crate::upkeep::tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into()).expect("seals");
        let sealed = agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.clone();
        (sealed.runs.len(), sealed.live, sealed.bytes() >> 20)
    };
    assert_eq!(write(0, 2_000, 6_000), (1, 2_000, 11));
    assert_eq!(write(0, 600, 60), (2, 2_000, 11), "less than a quarter");
    assert_eq!(write(600, 700, 60), (1, 2_000, 7), "what was replaced takes no place any more");
    let read =
        |n: u64| agent.record(HIPPOCAMPUS, format!("{n:04}").as_bytes()).expect("reads").map(|value| value.len());
    assert_eq!([read(0), read(699), read(700), read(1_999)], [60, 60, 6_000, 6_000].map(Some));
    settle(&agent);
    store.close().expect("closes");
    let (store, report) = home.open_with(small());
    assert!(report.is_sound() && store.verify().is_sound(), "{report:?}");
    assert_eq!(ada(&store).record_count(HIPPOCAMPUS), 2_000);
}

#[test]
fn what_a_room_says_that_it_replaced_is_rewritten_though_it_is_less_than_a_quarter() {
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { seal_bytes: 1 << 30, ..StoreOptions::default() });
    let agent = ada(&store);
    let noise = noise();
    let write = |to: usize, bytes: usize| {
        (0..to).for_each(|n| {
            put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &noise[n % 10 * 5_800..][..bytes]);
        });
        crate::upkeep::tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into()).expect("seals");
    };
    let sealed = || agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.clone();
    write(2_000, 6_000);
    write(100, 60);
    assert_eq!(sealed().runs.len(), 2);
    agent.has_replaced_much(HIPPOCAMPUS);
    until("it is rewritten", || sealed().runs.len() == 1);
    until("it is done", || !agent.agent.state.lock().regions[HIPPOCAMPUS].has_replaced_much);
    write(100, 50);
    assert_eq!(sealed().runs.len(), 2, "later work isn't meant");
    assert_eq!(sealed().live, 2_000);
}

#[test]
fn a_rewriting_that_the_end_cut_off_is_done_by_the_next_command_and_by_the_next_life() {
    let noise = noise();
    for visits in [true, false] {
        let home = Home::folder(EngineKind::Sled);
        let (store, _) = home.open_with(StoreOptions { seal_bytes: 1 << 30, ..StoreOptions::default() });
        let agent = ada(&store);
        let tend = || crate::upkeep::tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into());
        let write = |to: usize, bytes: usize| {
            (0..to).for_each(|n| {
                put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &noise[n % 10 * 5_800..][..bytes]);
            });
        };
        write(2_000, 6_000);
        tend().expect("seals");
        agent.shared.upkeep.stop();
        write(1_000, 60);
        tend().expect_err("the store is ending");
        let runs = |agent: &AgentStore| agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.runs.len();
        assert_eq!(runs(&agent), 2);
        settle(&agent);
        drop(agent);
        store.close().expect("closes");
        let (mut store, _) = home.open_with(StoreOptions { visits, ..StoreOptions::default() });
        if visits {
            store.close().expect("closes");
            store = home.open();
            assert_eq!(runs(&ada(&store)), 1);
        }
        while runs(&ada(&store)) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(ada(&store).record_count(HIPPOCAMPUS), 2_000);
    }
}

#[test]
fn a_command_ends_with_its_journal_emptied_and_a_letter_that_nobody_has_read_is_kept() {
    for kind in [EngineKind::Sled, EngineKind::Redb] {
        let home = Home::folder(kind);
        let (store, _) = home.open_with(StoreOptions { visits: true, seal_bytes: 1 << 30, ..StoreOptions::default() });
        let agent = ada(&store);
        let letter = Commit { emissions: vec![b"for a room that is down".as_slice().into()], ..commit(&agent, GATE) };
        let letter = agent.accept(letter, |_| ()).expect("accepted").first_emission;
        agent.set_low_water(move || Lsn(letter.0 - 1));
        agent.set_unread(move |below| Some(if letter < below { vec![letter] } else { Vec::new() }));
        let noise = noise();
        for n in 0..1_000 {
            put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &noise[n % 10 * 5_800..][..5_000]);
        }
        event(&agent, GATE, "the last that it did");
        settle(&agent);
        let before = picture(&agent, &[HIPPOCAMPUS, GATE]);
        assert!(agent.agent.on_disk.lock().frame_bytes > 5_000_000);
        drop(agent);
        store.close().expect("closes");
        let (store, report) = home.open_with(small());
        assert!(report.is_sound() && store.verify().is_sound(), "{report:?}");
        let agent = ada(&store);
        assert_eq!(agent.agent.on_disk.lock().frame_bytes, 0, "all of it stands elsewhere");
        assert_eq!(picture(&agent, &[HIPPOCAMPUS, GATE]), before);
        assert_eq!(agent.undelivered().expect("reads").iter().map(|(lsn, _)| *lsn).collect::<Vec<_>>(), [letter]);
    }
}

#[test]
fn an_end_that_comes_before_a_sleep_is_sealed_rewrites_it_all_the_same() {
    let noise = noise();
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { visits: true, seal_bytes: 1 << 19, ..StoreOptions::default() });
    let agent = ada(&store);
    let write = |to: usize, bytes: usize| {
        (0..to).for_each(|n| {
            put(&agent, HIPPOCAMPUS, &format!("{n:04}"), &noise[n % 10 * 5_800..][..bytes]);
        });
    };
    write(2_000, 6_000);
    crate::upkeep::tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into()).expect("seals");
    let mebibytes = |agent: &AgentStore| agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.bytes() >> 20;
    assert!(mebibytes(&agent) > 8);
    settle(&agent);
    std::thread::scope(|scope| {
        // The other thread has not done it yet when the end comes.
        let busy = agent.shared.packing.lock();
        write(1_500, 600);
        settle(&agent);
        let ending = scope.spawn(|| store.close());
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(busy);
        ending.join().expect("no panic").expect("closes");
    });
    drop(agent);
    assert!(mebibytes(&ada(&home.open())) < 5, "what was replaced takes no place any more");
}
