//! Acceptance, order, fencing, recovery, redelivery.

use super::*;

#[test]
fn a_commit_is_seen_at_once_and_is_there_after_reopening() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        let made = Commit {
            consumed: Some((Lane::Data, Lsn(7))),
            events: vec![b"one".to_vec(), b"two".to_vec()],
            emissions: vec![(*b"out").into()],
            records: vec![(b"key".to_vec(), Some(b"value"[..].into()))],
            state_hash: 42,
            ..commit(&agent, HIPPOCAMPUS)
        };
        agent.accept(made, |_| ()).expect("accepted");
        let before = picture(&agent, &[HIPPOCAMPUS]);
        let recovered = agent.recover(HIPPOCAMPUS).expect("recovers");
        assert_eq!((texts(&recovered), recovered.state_hash), (vec!["one".into(), "two".into()], 42));
        assert_eq!(recovered.cursors, Cursors { control: Lsn(0), data: Lsn(7) });
        assert_eq!(agent.record(HIPPOCAMPUS, b"key").expect("reads"), Some(b"value".to_vec()));
        assert_eq!(agent.undelivered().expect("reads"), [(Lsn(2), (*b"out").into())]);
        drop(agent);
        store.close().expect("closes");
        let store = home.open();
        assert_eq!(picture(&ada(&store), &[HIPPOCAMPUS]), before);
    }
}

#[test]
fn every_commit_and_every_emission_has_its_own_place() {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    assert_eq!(agent.head(), Lsn(0));
    let mut next = 1;
    for emissions in [0, 3, 1, 0, 2] {
        let made = Commit { emissions: vec![[1].into(); emissions], ..commit(&agent, GATE) };
        let mut published = None;
        let accepted = agent.accept(made, |accepted| published = Some(*accepted)).expect("accepted");
        assert_eq!((accepted.lsn, accepted.first_emission), (Lsn(next), Lsn(next + 1)));
        assert_eq!(published, Some(accepted));
        next += 1 + emissions as u64;
        assert_eq!(agent.head(), Lsn(next - 1));
    }
}

#[test]
fn inboxes_are_filled_in_the_order_of_the_places() {
    for home in [Home::Memory(MemoryEngine::default()), Home::folder(EngineKind::Sled)] {
        let store = home.open();
        let agent = ada(&store);
        let inbox = parking_lot::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let made = Commit { emissions: vec![[0].into()], ..commit(&agent, GATE) };
                        agent.accept(made, |accepted| inbox.lock().push(accepted.first_emission)).expect("accepted");
                    }
                });
            }
        });
        let inbox = inbox.into_inner();
        assert_eq!(inbox.len(), 2000);
        assert!(inbox.is_sorted());
        settle(&agent);
        let kept: Vec<_> = agent.undelivered().expect("reads").into_iter().map(|(lsn, _)| lsn).collect();
        assert_eq!(kept, inbox);
    }
}

#[test]
fn an_older_incarnation_is_refused_and_nothing_of_it_happens() {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    let old = agent.epoch(GATE);
    let new = agent.raise_epoch(GATE);
    assert_eq!(new, epoch_after(old));
    let made = Commit { events: vec![b"late".to_vec()], ..Commit::of(GATE, old) };
    let refused = agent.accept(made, |_| panic!("published")).expect_err("refused");
    assert_eq!(refused, AcceptError::Fenced { given: old, current: new });
    assert_eq!(agent.head(), Lsn(0));
    assert!(agent.recover(GATE).expect("recovers").events.is_empty());
    agent.accept(Commit::of(GATE, new), |_| ()).expect("the new one may");
    assert_eq!(agent.epoch(HIPPOCAMPUS), old, "other regions keep theirs");
}

#[test]
fn epochs_grow_over_restarts_even_when_nothing_was_committed() {
    for home in Home::all() {
        let mut last = Epoch(0);
        for _ in 0..3 {
            let store = home.open();
            let agent = ada(&store);
            assert!(agent.epoch(GATE) > last);
            agent.raise_epoch(GATE);
            last = agent.raise_epoch(GATE);
        }
    }
}

#[test]
fn what_is_too_large_is_refused_with_its_size() {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    let cases = [
        (Commit { root: Some(vec![0; (16 << 20) + 1]), ..commit(&agent, GATE) }, "a root"),
        (Commit { records: vec![(vec![0; 129], None)], ..commit(&agent, GATE) }, "a record's key"),
        (Commit { records: vec![(vec![0], Some(vec![0; (16 << 20) + 1].into()))], ..commit(&agent, GATE) }, "a record"),
        (Commit { events: vec![vec![0; (16 << 20) + 1]], ..commit(&agent, GATE) }, "an event"),
    ];
    for (made, expected) in cases {
        match agent.accept(made, |_| ()).expect_err("refused") {
            AcceptError::TooLarge { what, size, limit } => assert!(what == expected && size == limit + 1),
            other => panic!("{other}"),
        }
    }
    assert_eq!(agent.head(), Lsn(0));
}

#[test]
fn a_root_replaces_the_events_before_it_and_the_newest_one_holds() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        for n in 0..5 {
            event(&agent, GATE, &format!("a{n}"));
            let root = Some(format!("root {n}").into_bytes());
            agent.accept(Commit { root, events: vec![b"in it".to_vec()], ..commit(&agent, GATE) }, |_| ()).expect("ok");
            event(&agent, GATE, &format!("b{n}"));
            settle(&agent);
        }
        store.close().expect("closes");
        let recovered = ada(&home.open()).recover(GATE).expect("recovers");
        assert_eq!(recovered.root.as_deref(), Some(&b"root 4"[..]));
        assert_eq!(texts(&recovered), ["b4"]);
    }
}

#[test]
fn a_root_of_the_largest_size_and_a_large_event_come_back() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        let root: Vec<u8> = (0..1 << 20).map(|n: u32| n.to_le_bytes()[1]).collect();
        let big: Vec<u8> = (0..300_000).map(|n: u32| n.to_le_bytes()[0]).collect();
        agent.accept(Commit { root: Some(root.clone()), ..commit(&agent, GATE) }, |_| ()).expect("accepted");
        agent.accept(Commit { events: vec![big.clone()], ..commit(&agent, GATE) }, |_| ()).expect("accepted");
        store.close().expect("closes");
        let recovered = ada(&home.open()).recover(GATE).expect("recovers");
        assert_eq!((recovered.root, recovered.events), (Some(root), vec![big]));
    }
}

#[test]
fn a_snapshot_is_due_after_many_events_or_bytes() {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    let mut count = 0;
    let add = |bytes: usize| {
        let made = Commit { events: vec![vec![0; bytes]], ..commit(&agent, GATE) };
        agent.accept(made, |_| ()).expect("accepted").snapshot_due
    };
    while !add(1) {
        count += 1;
    }
    assert_eq!(count, 1024);
    let root = Commit { root: Some(vec![1]), ..commit(&agent, GATE) };
    assert!(!agent.accept(root, |_| ()).expect("accepted").snapshot_due);
    assert!(!add(260_000) && add(6_000));
}

#[test]
fn two_agents_and_two_regions_dont_see_each_other() {
    for home in Home::all() {
        let store = home.open();
        let (one, two) = (ada(&store), store.agent(&id("ada2")));
        event(&one, GATE, "of one");
        event(&two, GATE, "of two");
        put(&one, GATE, "k", b"1");
        put(&one, HIPPOCAMPUS, "k", b"other region");
        put(&two, GATE, "k", b"2");
        assert_eq!((one.head(), two.head()), (Lsn(3), Lsn(2)));
        drop((one, two));
        store.close().expect("closes");
        let store = home.open();
        let (one, two) = (ada(&store), store.agent(&id("ada2")));
        assert_eq!(texts(&one.recover(GATE).expect("recovers")), ["of one"]);
        assert_eq!(texts(&two.recover(GATE).expect("recovers")), ["of two"]);
        assert_eq!(one.record(GATE, b"k").expect("reads"), Some(b"1".to_vec()));
        assert_eq!(one.record(HIPPOCAMPUS, b"k").expect("reads"), Some(b"other region".to_vec()));
        assert_eq!(two.record(GATE, b"k").expect("reads"), Some(b"2".to_vec()));
        assert_eq!(store.agents(), [id("ada"), id("ada2")]);
    }
}

#[test]
fn cursors_never_go_back_and_lanes_are_apart() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        for (lane, lsn) in [(Lane::Data, 5), (Lane::Control, 9), (Lane::Data, 3), (Lane::Data, 6)] {
            agent.accept(Commit { consumed: Some((lane, Lsn(lsn))), ..commit(&agent, GATE) }, |_| ()).expect("ok");
        }
        let expected = Cursors { control: Lsn(9), data: Lsn(6) };
        assert_eq!(agent.cursors(GATE), expected);
        store.close().expect("closes");
        assert_eq!(ada(&home.open()).cursors(GATE), expected);
    }
}

/// Emissions and roots for many turns: the journal must shrink, but undelivered ones must stay.
#[test]
fn the_journal_is_cut_but_never_what_is_undelivered_or_needed() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        let low = Arc::new(parking_lot::Mutex::new(Lsn(0)));
        let told = low.clone();
        agent.set_low_water(move || *told.lock());
        let mut emitted = Vec::new();
        for turn in 0..1500u32 {
            let emission: Arc<[u8]> = [turn.to_le_bytes()[0]; 400].into();
            let made = Commit {
                events: vec![turn.to_le_bytes().to_vec()],
                emissions: vec![emission.clone()],
                root: (turn % 50 == 49).then(|| turn.to_le_bytes().to_vec()),
                consumed: Some((Lane::Data, Lsn(u64::from(turn)))),
                ..commit(&agent, GATE)
            };
            emitted.push((agent.accept(made, |_| ()).expect("accepted").first_emission, emission));
            if turn % 100 == 99 {
                settle(&agent);
                *low.lock() = emitted[emitted.len() - 40].0;
            }
        }
        settle(&agent);
        let low = *low.lock();
        let check = |agent: &AgentStore| {
            let kept = agent.undelivered().expect("reads");
            let must: Vec<_> = emitted.iter().filter(|(lsn, _)| *lsn > low).cloned().collect();
            assert!(kept.len() < 700, "{} kept of {}", kept.len(), emitted.len());
            assert_eq!(kept[kept.len() - must.len()..], must);
            let recovered = agent.recover(GATE).expect("recovers");
            assert_eq!(recovered.root, Some(1499u32.to_le_bytes().to_vec()));
            assert_eq!(recovered.cursors.data, Lsn(1499));
        };
        check(&agent);
        store.close().expect("closes");
        let store = home.open();
        check(&ada(&store));
        assert!(store.verify().is_sound(), "{:?}", store.verify());
    }
}

#[test]
fn what_every_room_had_dealt_with_is_known_at_the_next_open() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        assert_eq!(agent.delivered(), Lsn(0));
        event(&agent, HIPPOCAMPUS, "one");
        agent.set_low_water(|| Lsn(u64::MAX));
        event(&agent, HIPPOCAMPUS, "two");
        settle(&agent);
        let head = agent.head();
        assert_eq!(agent.delivered(), head, "never more than there is");
        store.close().expect("closes");
        let agent = ada(&home.open());
        assert_eq!(agent.delivered(), head);
    }
}

/// An import puts much data into each commit: few LSNs, many bytes.
#[test]
fn large_commits_do_not_keep_the_journal_for_a_region_that_said_a_little_once() {
    let home = Home::Memory(crate::MemoryEngine::default());
    let store = home.open();
    let agent = ada(&store);
    let low = Arc::new(parking_lot::Mutex::new(Lsn(0)));
    let told = low.clone();
    agent.set_low_water(move || *told.lock());
    event(&agent, "silent", "once");
    let record = (b"key".to_vec(), Some(b"value"[..].into()));
    agent.accept(Commit { records: vec![record], ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
    for turn in 0..120u32 {
        let root = (turn % 2 == 0).then(|| turn.to_le_bytes().to_vec());
        let made = Commit { emissions: vec![vec![7; 400 << 10].into()], root, ..commit(&agent, GATE) };
        *low.lock() = agent.accept(made, |_| ()).expect("accepted").first_emission;
        settle(&agent);
    }
    let kept = |agent: &AgentStore| agent.undelivered().expect("reads").len();
    assert!(kept(&agent) < 60, "{} of 120 are still in the journal", kept(&agent));
    store.close().expect("closes");
    let store = home.open();
    let agent = ada(&store);
    assert_eq!(texts(&agent.recover("silent").expect("recovers")), ["once"]);
    assert_eq!(agent.record(HIPPOCAMPUS, b"key").expect("reads"), Some(b"value".to_vec()));
    assert!(store.verify().is_sound(), "{:?}", store.verify());
}

/// A room that is down has one letter; all others go on for long.
#[test]
fn one_unread_letter_does_not_keep_the_journal_and_is_still_delivered() {
    let home = Home::Memory(crate::MemoryEngine::default());
    let store = home.open();
    let agent = ada(&store);
    let letter = Commit { emissions: vec![(*b"before").into(), (*b"for you").into()], ..commit(&agent, HIPPOCAMPUS) };
    let letter = Lsn(agent.accept(letter, |_| ()).expect("accepted").first_emission.0 + 1);
    let is_read = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let unread = |is_read: &Arc<std::sync::atomic::AtomicBool>| {
        let is_read = is_read.clone();
        move || !is_read.load(std::sync::atomic::Ordering::SeqCst)
    };
    let (low, waits) = (unread(&is_read), unread(&is_read));
    agent.set_low_water(move || if low() { Lsn(letter.0 - 1) } else { Lsn(u64::MAX) });
    agent.set_unread(move |below| Some(if waits() && letter < below { vec![letter] } else { Vec::new() }));
    let flood = |agent: &AgentStore| {
        for turn in 0..120u32 {
            let root = (turn % 2 == 0).then(|| turn.to_le_bytes().to_vec());
            let made = Commit { emissions: vec![vec![7; 400 << 10].into()], root, ..commit(agent, GATE) };
            agent.accept(made, |_| ()).expect("accepted");
            settle(agent);
        }
    };
    flood(&agent);
    let check = |agent: &AgentStore| {
        let kept = agent.undelivered().expect("reads");
        assert!(kept.len() < 60, "{} of 121 are still in the journal", kept.len());
        assert_eq!(kept[0], (letter, (*b"for you").into()), "the letter alone was taken out, and comes first");
        assert!(kept.is_sorted_by_key(|(lsn, _)| *lsn));
    };
    check(&agent);
    store.close().expect("closes");
    let store = home.open();
    let agent = ada(&store);
    check(&agent);
    assert!(store.verify().is_sound(), "{:?}", store.verify());
    is_read.store(true, std::sync::atomic::Ordering::SeqCst);
    agent.set_low_water(|| Lsn(u64::MAX));
    flood(&agent);
    assert!(agent.undelivered().expect("reads").iter().all(|(lsn, _)| *lsn > letter), "read letters go");
}

/// A room stays down while all others go on, and gets much mail.
#[test]
fn many_unread_letters_do_not_keep_the_journal_and_are_delivered_in_their_order() {
    const LETTERS: u32 = 700;
    let home = Home::Memory(crate::MemoryEngine::default());
    let store = home.open();
    let agent = ada(&store);
    let letters = Arc::new(parking_lot::Mutex::new(Vec::<Lsn>::new()));
    let (first, told) = (letters.clone(), letters.clone());
    agent.set_low_water(move || first.lock().first().map_or(Lsn(u64::MAX), |letter| Lsn(letter.0 - 1)));
    agent.set_unread(move |below| Some(told.lock().iter().filter(|letter| **letter < below).copied().collect()));
    for turn in 0..LETTERS {
        let root = (turn % 2 == 0).then(|| turn.to_le_bytes().to_vec());
        let letter = turn.to_le_bytes().to_vec();
        let made = Commit { emissions: vec![vec![7; 80 << 10].into(), letter.into()], root, ..commit(&agent, GATE) };
        letters.lock().push(Lsn(agent.accept(made, |_| ()).expect("accepted").first_emission.0 + 1));
        settle(&agent);
    }
    let check = |agent: &AgentStore, read: usize| {
        let kept = agent.undelivered().expect("reads");
        let journal = kept.iter().filter(|(_, bytes)| bytes.len() > 4).count();
        assert!(journal < 400, "{journal} of {LETTERS} turns are still in the journal");
        let found: Vec<(Lsn, u32)> = kept
            .iter()
            .filter_map(|(lsn, bytes)| Some((*lsn, u32::from_le_bytes((**bytes).try_into().ok()?))))
            .collect();
        assert!(found.is_sorted());
        let unread = (0..LETTERS).zip(letters.lock().iter().copied().collect::<Vec<_>>()).skip(read);
        assert!(unread.map(|(turn, lsn)| (lsn, turn)).all(|letter| found.contains(&letter)), "none is lost");
        found.len()
    };
    check(&agent, 0);
    store.close().expect("closes");
    let store = home.open();
    let agent = ada(&store);
    assert_eq!(check(&agent, 0), LETTERS as usize, "each comes once");
    assert!(store.verify().is_sound(), "{:?}", store.verify());
    // The room is up again, and has read all but the last.
    let last = letters.lock().last().copied().expect("a letter");
    agent.set_low_water(move || Lsn(last.0 - 1));
    for _ in 0..60 {
        let made = Commit { emissions: vec![vec![7; 400 << 10].into()], ..commit(&agent, GATE) };
        agent.accept(made, |_| ()).expect("accepted");
        settle(&agent);
    }
    let left = check(&agent, LETTERS as usize - 1);
    assert!(left < LETTERS as usize / 2, "{left} letters are still kept");
}

#[test]
fn a_region_without_a_second_root_keeps_all_its_events() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        agent.set_low_water(|| Lsn(u64::MAX));
        event(&agent, HIPPOCAMPUS, "first");
        for turn in 0..600u32 {
            let root = (turn % 20 == 0).then(|| vec![1]);
            let made = Commit { events: vec![vec![7; 500]], root, ..commit(&agent, GATE) };
            agent.accept(made, |_| ()).expect("accepted");
            if turn % 50 == 0 {
                settle(&agent);
            }
        }
        store.close().expect("closes");
        assert_eq!(texts(&ada(&home.open()).recover(HIPPOCAMPUS).expect("recovers")), ["first"]);
    }
}

#[test]
fn waiting_ends_when_it_is_durable_for_tasks_and_for_threads() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        for n in 0..50 {
            let lsn = event(&agent, GATE, &n.to_string());
            agent.wait_durable(lsn).await.expect("durable");
            assert!(agent.durable() >= lsn);
        }
    });
    let lsn = event(&agent, GATE, "last");
    agent.wait_durable_blocking(lsn, PATIENCE).expect("durable");
    let never = Lsn(lsn.0 + 1);
    assert_eq!(agent.wait_durable_blocking(never, PATIENCE), Err(NotDurable::Unknown(never)));
    assert_eq!(runtime.block_on(agent.wait_durable(never)), Err(NotDurable::Unknown(never)));
}

#[test]
fn a_subscriber_that_panics_takes_nothing_from_the_commit() {
    let home = Home::Memory(MemoryEngine::default());
    let store = home.open();
    let agent = ada(&store);
    let made = Commit { events: vec![b"kept".to_vec()], ..commit(&agent, GATE) };
    let accept = std::panic::AssertUnwindSafe(|| agent.accept(made, |_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(accept).is_err());
    settle(&agent);
    drop(agent);
    store.close().expect("closes");
    assert_eq!(texts(&ada(&home.open()).recover(GATE).expect("recovers")), ["kept"]);
}

#[test]
fn after_closing_nothing_is_accepted_and_the_end_was_orderly() {
    for home in Home::all() {
        let (store, report) = home.open_with(small());
        assert!(report.fresh && !report.clean && report.boot == 1, "{report:?}");
        let agent = ada(&store);
        event(&agent, GATE, "kept");
        store.close().expect("closes");
        assert_eq!(agent.accept(commit(&agent, GATE), |_| ()), Err(AcceptError::Closed));
        assert_eq!(agent.durable(), agent.head());
        let (store, report) = home.open_with(small());
        assert!(!report.fresh && report.clean && report.boot == 2, "{report:?}");
        assert_eq!(report.heads, [("ada".to_owned(), Lsn(1))]);
        drop(store);
    }
}

#[test]
fn what_is_accepted_while_it_closes_is_on_disk_or_was_refused() {
    for home in Home::all() {
        for _ in 0..5 {
            let (store, _) = home.open_with(small());
            let agent = ada(&store);
            let before = event(&agent, GATE, "before");
            let (agent, accepting) = (&agent, &std::sync::Barrier::new(2));
            let last = std::thread::scope(|scope| {
                let accepted = scope.spawn(move || {
                    let mut last = before;
                    accepting.wait();
                    while let Ok(accepted) =
                        agent.accept(Commit { events: vec![b"more".to_vec()], ..commit(agent, GATE) }, |_| ())
                    {
                        last = accepted.lsn;
                    }
                    last
                });
                accepting.wait();
                store.close().expect("closes");
                accepted.join().expect("accepts until it is refused")
            });
            let (_store, report) = home.open_with(small());
            assert_eq!(report.heads, [("ada".to_owned(), last)]);
        }
    }
}

#[test]
fn the_memory_store_is_durable_at_once_and_keeps_what_is_undelivered() {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    let made = Commit { emissions: vec![[1].into(), [2].into()], ..commit(&agent, GATE) };
    let accepted = agent.accept(made, |_| ()).expect("accepted");
    assert_eq!(agent.durable(), Lsn(accepted.first_emission.0 + 1));
    agent.wait_durable_blocking(agent.head(), Duration::ZERO).expect("durable");
    let again = store.agent(&id("ada"));
    assert_eq!(again.undelivered().expect("reads"), [(Lsn(2), [1].into()), (Lsn(3), [2].into())]);
    put(&agent, GATE, "a", b"1");
    put(&agent, GATE, "b", b"2");
    agent.accept(Commit { records: vec![(b"a".to_vec(), None)], ..commit(&agent, GATE) }, |_| ()).expect("ok");
    assert_eq!(again.records(GATE, .., 10).expect("reads"), [(b"b".to_vec(), b"2".to_vec())]);
    assert_eq!(again.record_count(GATE), 1);
    store.close().expect("closes");
    assert_eq!(agent.accept(commit(&agent, GATE), |_| ()), Err(AcceptError::Closed));
}

#[test]
fn a_large_root_comes_back_and_is_written_again_only_after_as_much_has_happened() {
    for home in Home::all() {
        let large: Vec<u8> = (0..300_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let (store, agent) = (home.open(), |store: &StateStore| ada(store));
        let ada = agent(&store);
        ada.accept(Commit { root: Some(large.clone()), ..commit(&ada, GATE) }, |_| ()).expect("accepted");
        let lived = |bytes: usize| {
            let events = vec![vec![7; bytes]];
            ada.accept(Commit { events, ..commit(&ada, GATE) }, |_| ()).expect("accepted").snapshot_due
        };
        assert!(!(0..300).any(|_| lived(100)), "30 KB of 300 events");
        assert!(!lived(1_000_000));
        assert!(lived(400_000), "more than the root has");
        settle(&ada);
        drop(ada);
        store.close().expect("closes");
        let recovered = agent(&home.open()).recover(GATE).expect("recovers");
        assert_eq!((recovered.root, recovered.events.len()), (Some(large), 302));
    }
}
