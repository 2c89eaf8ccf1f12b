//! Merged runs: which data is rewritten, which is taken over unchanged, and when the old data is freed.

use super::super::records::Sealed;
use super::super::upkeep::{free_unread, tend};
use super::*;

/// Incompressible bytes, different for each key.
fn noise(n: usize, length: usize) -> Vec<u8> {
    (0..length as u32 / 4 + 1)
        .flat_map(|at| crc32fast::hash(&[at, n as u32].map(u32::to_le_bytes).concat()).to_le_bytes())
        .take(length)
        .collect()
}

fn by_hand(home: &Home) -> StateStore {
    home.open_with(StoreOptions { seal_bytes: 1 << 30, ..StoreOptions::default() }).0
}

/// Writes keys, seals them into a run of their own and does the due merges.
fn write(agent: &AgentStore, keys: std::ops::Range<usize>, length: usize) {
    keys.for_each(|n| {
        put(agent, HIPPOCAMPUS, &format!("{n:06}"), &noise(n, length));
    });
    tend(&agent.shared, &agent.agent, &HIPPOCAMPUS.into()).expect("tended");
}

fn sealed(agent: &AgentStore) -> Arc<Sealed> {
    agent.agent.state.lock().regions[HIPPOCAMPUS].records.sealed.clone()
}

fn read(agent: &AgentStore, n: usize) -> Option<Vec<u8>> {
    agent.record(HIPPOCAMPUS, format!("{n:06}").as_bytes()).expect("reads")
}

#[test]
fn runs_one_after_the_other_become_one_without_being_written_anew() {
    for home in Home::all() {
        let store = by_hand(&home);
        let agent = ada(&store);
        let pack = agent.shared.pack().expect("on disk");
        (0..3).for_each(|run| write(&agent, run * 100..run * 100 + 100, 2_000));
        assert_eq!(sealed(&agent).runs.len(), 3);
        let before = pack.end();
        write(&agent, 300..400, 2_000);
        assert_eq!(sealed(&agent).runs.len(), 1, "four of a size are one");
        let written = pack.end() - before;
        assert!(written < 230_000, "the fourth, its index and that of all, but not the other three: {written}");
        free_unread(&agent.shared);
        assert_eq!(sealed(&agent).live, 400);
        assert!((0..400).all(|n| read(&agent, n) == Some(noise(n, 2_000))), "what was taken over isn't freed");
        // Records written between them are merged in, and deleted ones are gone.
        for n in [50, 150, 250] {
            let records = vec![(format!("{n:06}").into_bytes(), None)];
            agent.accept(Commit { records, ..commit(&agent, HIPPOCAMPUS) }, |_| ()).expect("accepted");
            write(&agent, n + 1..n + 2, 3_000);
        }
        assert_eq!((sealed(&agent).runs.len(), sealed(&agent).live), (1, 397));
        free_unread(&agent.shared);
        settle(&agent);
        drop(agent);
        store.close().expect("closes");
        let (store, report) = home.open_with(small());
        assert!(report.is_sound() && store.verify().is_sound(), "{report:?}");
        let agent = ada(&store);
        assert_eq!(agent.record_count(HIPPOCAMPUS), 397);
        let length = |n| read(&agent, n).map(|value| value.len());
        assert_eq!(
            [49, 50, 51, 151, 251, 399].map(length),
            [Some(2_000), None, Some(3_000), Some(3_000), Some(3_000), Some(2_000)]
        );
    }
}

#[test]
fn what_several_runs_share_stays_for_whoever_reads_one_of_them_and_goes_with_the_last() {
    let home = Home::folder(EngineKind::Sled);
    let store = by_hand(&home);
    let agent = ada(&store);
    let pack = agent.shared.pack().expect("on disk");
    (0..3).for_each(|run| write(&agent, run * 400..run * 400 + 400, 2_000));
    let reader = sealed(&agent);
    write(&agent, 1_200..1_600, 2_000);
    assert_eq!(sealed(&agent).runs.len(), 1);
    // All of it is replaced, so the run that shares its blocks with the reader's three is freed too.
    (0..2).for_each(|_| write(&agent, 0..1_600, 2_001));
    assert_eq!(sealed(&agent).runs.len(), 1);
    free_unread(&agent.shared);
    let before = pack.size_on_disk();
    for n in (0..1_200).step_by(7) {
        let value = reader.get(&pack, format!("{n:06}").as_bytes()).expect("still there");
        assert_eq!(value.and_then(|value| value.load(&pack).expect("reads")), Some(noise(n, 2_000)));
    }
    drop(reader);
    free_unread(&agent.shared);
    let freed = before - pack.size_on_disk();
    assert!(freed > 2_000_000, "{freed} of 2 400 000 bytes that nobody reads any more");
    assert_eq!(read(&agent, 1_599), Some(noise(1_599, 2_001)));
    settle(&agent);
    assert!(store.verify().is_sound());
}

#[test]
fn what_is_much_work_waits_until_nothing_else_is_to_do() {
    let home = Home::folder(EngineKind::Sled);
    let store = by_hand(&home);
    let agent = ada(&store);
    let seal = |region: RegionName| {
        agent.shared.upkeep.seal(agent.agent.clone(), region.into());
        until("it is sealed", || {
            let state = agent.agent.state.lock();
            let records = &state.regions[region].records;
            records.tail.map.is_empty() && records.sealing.is_none()
        });
    };
    for run in 0..4 {
        for n in run * 500..run * 500 + 500 {
            put(&agent, HIPPOCAMPUS, &format!("{n:06}"), &noise(n, 6_000));
        }
        seal(HIPPOCAMPUS);
    }
    // Chores are done one after the other: when this one is done, the merge was deferred.
    put(&agent, GATE, "key", b"value");
    seal(GATE);
    assert_eq!(sealed(&agent).runs.len(), 4);
    until("it is quiet, and they are one", || sealed(&agent).runs.len() == 1);
    assert_eq!((sealed(&agent).live, read(&agent, 1_999)), (2_000, Some(noise(1_999, 6_000))));
}
