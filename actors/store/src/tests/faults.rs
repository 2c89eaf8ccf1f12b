//! Full and hanging disks.

use super::*;

#[test]
fn a_full_disk_degrades_loses_nothing_and_catches_up_by_itself() {
    for home in Home::all() {
        let store = home.open();
        let agent = ada(&store);
        event(&agent, GATE, "before");
        settle(&agent);
        store.faults().fail();
        let lsn = event(&agent, GATE, "while full");
        put(&agent, GATE, "long", &[5; 100_000]);
        let refused = agent.wait_durable_blocking(lsn, PATIENCE).expect_err("not durable");
        assert!(matches!(&refused, NotDurable::Degraded(why) if why.contains("space")), "{refused}");
        assert!(matches!(store.health().status, StoreStatus::Degraded { .. }));
        assert!(store.health().failures > 0);
        assert_eq!(texts(&agent.recover(GATE).expect("recovers")), ["before", "while full"], "reading goes on");
        assert_eq!(agent.record(GATE, b"long").expect("reads").map(|value| value.len()), Some(100_000));
        store.faults().restore();
        until("the store catches up", || agent.durable() == agent.head());
        until("the health is good again", || store.health().status == StoreStatus::Ok);
        event(&agent, GATE, "after");
        settle(&agent);
        let before = picture(&agent, &[GATE]);
        drop(agent);
        store.close().expect("closes");
        assert_eq!(picture(&ada(&home.open()), &[GATE]), before);
    }
}

#[test]
fn the_tail_is_bounded_while_the_disk_is_full() {
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { tail_limit: 100_000, ..small() });
    let agent = ada(&store);
    store.faults().fail();
    let refused = loop {
        let made = Commit { events: vec![vec![1; 1000]], ..commit(&agent, GATE) };
        if let Err(refused) = agent.accept(made, |_| ()) {
            break refused;
        }
    };
    assert!(matches!(refused, AcceptError::Full { limit: 100_000, .. }), "{refused}");
    let accepted = agent.recover(GATE).expect("recovers").events.len();
    assert!((80..100).contains(&accepted), "{accepted}");
    assert!(agent.is_full(), "who was refused needn't ask at once");
    store.faults().restore();
    until("room again", || agent.durable() == agent.head());
    assert!(!agent.is_full());
    agent.accept(Commit { events: vec![vec![1; 1000]], ..commit(&agent, GATE) }, |_| ()).expect("accepted");
    settle(&agent);
    store.close().expect("closes");
    assert_eq!(ada(&home.open()).recover(GATE).expect("recovers").events.len(), accepted + 1);
}

#[test]
fn while_the_disk_hangs_accepting_and_recovering_go_on() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    store.faults().stall();
    for n in 0..100 {
        event(&agent, GATE, &n.to_string());
    }
    let late = agent.wait_durable_blocking(agent.head(), Duration::from_millis(5));
    assert_eq!(late, Err(NotDurable::TimedOut));
    assert_eq!(agent.recover(GATE).expect("recovers").events.len(), 100);
    agent.raise_epoch(GATE);
    until("health notices", || matches!(store.health().status, StoreStatus::Degraded { .. }));
    store.faults().restore();
    settle(&agent);
    assert_eq!(store.health().status, StoreStatus::Ok);
}

#[test]
fn a_store_that_cant_write_says_so_when_it_is_closed() {
    let home = Home::folder(EngineKind::Sled);
    let (store, _) = home.open_with(StoreOptions { close_limit: Duration::from_millis(200), ..small() });
    let agent = ada(&store);
    event(&agent, GATE, "written");
    settle(&agent);
    store.faults().stall();
    event(&agent, GATE, "lost");
    store.close().expect_err("the disk hangs");
    let (store, report) = home.open_with(small());
    assert!(!report.clean && report.lost.is_empty(), "{report:?}");
    assert_eq!(texts(&ada(&store).recover(GATE).expect("recovers")), ["written"]);
}

#[test]
fn records_being_sealed_survive_a_full_disk() {
    let home = Home::folder(EngineKind::Sled);
    let store = home.open();
    let agent = ada(&store);
    for n in 0..2000 {
        if n % 200 == 100 {
            store.faults().fail();
        }
        if n % 200 == 150 {
            store.faults().restore();
        }
        put(&agent, HIPPOCAMPUS, &format!("{n:05}"), &[3; 150]);
        if n % 200 == 199 {
            until("it catches up", || agent.durable() == agent.head());
        }
    }
    assert_eq!(agent.record_count(HIPPOCAMPUS), 2000);
    drop(agent);
    store.close().expect("closes");
    let store = home.open();
    assert_eq!(ada(&store).record_count(HIPPOCAMPUS), 2000);
    assert_eq!(ada(&store).records(HIPPOCAMPUS, .., usize::MAX).expect("reads").len(), 2000);
    assert!(store.verify().is_sound(), "{:?}", store.verify());
}
