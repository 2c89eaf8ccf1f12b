//! The power fails at every write of a script: nothing that was waited for is lost, and the survivors are a prefix of
//! one order.

use super::*;

const REGIONS: [RegionName; 2] = [HIPPOCAMPUS, GATE];

/// Each step commits to both regions in turn, with events, emissions, roots, and short and long records.
fn step(agent: &AgentStore, n: u64) -> Commit {
    let region = REGIONS[usize::from(n.is_multiple_of(3))];
    let size = if n % 7 == 3 { 20_000 } else { 600 };
    Commit {
        consumed: Some((Lane::Data, Lsn(n))),
        events: vec![n.to_le_bytes().into()],
        emissions: if n.is_multiple_of(2) { vec![n.to_le_bytes().into()] } else { Vec::new() },
        records: vec![(
            format!("{:03}", n % 40).into_bytes(),
            Some([&n.to_le_bytes()[..], &vec![9; size]].concat().into()),
        )],
        root: (n % 5 == 4).then(|| n.to_le_bytes().to_vec()),
        state_hash: n,
        ..commit(agent, region)
    }
}

/// The content after the first `steps` steps, from a store that never lost anything.
fn truth(steps: u64) -> String {
    let store = StateStore::in_memory();
    let agent = ada(&store);
    for n in 1..=steps {
        agent.accept(step(&agent, n), |_| ()).expect("accepted");
    }
    seen(&agent)
}

/// Without the roots' LSNs: a root lost with its commit is the only loss.
fn seen(agent: &AgentStore) -> String {
    let mut all = format!("{:?}", agent.head());
    for region in REGIONS {
        let recovered = agent.recover(region).expect("recovers");
        let records = agent.records(region, .., usize::MAX).expect("reads");
        let short: Vec<_> = records.iter().map(|(key, value)| (key, value.len(), &value[..8])).collect();
        let (hash, cursors) = (recovered.state_hash, recovered.cursors);
        all += &format!("{region} {:?} {:?} {hash} {cursors:?} {short:?}", recovered.root, recovered.events);
        all += &format!("{}", agent.record_count(region));
    }
    all + &format!("{:?}", agent.undelivered().expect("reads"))
}

/// Runs the script until the power fails; returns the last step that was acknowledged as durable.
fn run(disk: &MemoryEngine, steps: u64, wait_each: bool) -> u64 {
    let options = StoreOptions { seal_bytes: 8 << 10, close_limit: Duration::from_millis(5), ..small() };
    let Ok((store, _)) = StateStore::with_engine(Arc::new(disk.clone()), disk.pack_medium(), options) else {
        return 0;
    };
    let agent = ada(&store);
    let mut acknowledged = 0;
    for n in 1..=steps {
        agent.accept(step(&agent, n), |_| ()).expect("accepted");
        if wait_each || n % 4 == 0 {
            match agent.wait_durable_blocking(agent.head(), PATIENCE) {
                Ok(()) => acknowledged = n,
                Err(_) => break,
            }
        }
    }
    // Dropped without an orderly end, as far as the disk still works.
    acknowledged
}

fn check(disk: &MemoryEngine, acknowledged: u64, truths: &[String], what: &str) {
    let opened = StateStore::with_engine(Arc::new(disk.clone()), disk.pack_medium(), small());
    let (store, report) = opened.expect("opens");
    assert!(report.lost.is_empty() && report.repaired.is_empty(), "{what}: {report:?}");
    let found = seen(&ada(&store));
    let steps = truths.iter().position(|truth| *truth == found);
    let steps = steps.unwrap_or_else(|| panic!("{what}: what survived is no prefix: {found}"));
    assert!(steps as u64 >= acknowledged, "{what}: {steps} steps left of {acknowledged} acknowledged");
    assert!(store.verify().is_sound(), "{what}: {:?}", store.verify());
}

#[test]
fn at_every_point_of_a_script_what_survives_is_a_prefix_with_all_that_was_acknowledged() {
    const STEPS: u64 = 48;
    let truths: Vec<_> = (0..=STEPS).map(truth).collect();
    let whole = MemoryEngine::default();
    assert_eq!(run(&whole, STEPS, true), STEPS);
    let writes = whole.writes();
    assert!(writes > 2 * STEPS, "{writes}");
    for cut in 0..=writes {
        // No unsynced data survives, or a part of it.
        for seed in [None, Some(cut), Some(cut + 1_000_003)] {
            let disk = MemoryEngine::default();
            disk.cut_power_at(cut);
            let acknowledged = run(&disk, STEPS, true);
            disk.power_cut(seed);
            check(&disk, acknowledged, &truths, &format!("power cut at write {cut}, {seed:?}"));
        }
    }
}

#[test]
fn the_same_holds_when_commits_are_grouped() {
    const STEPS: u64 = 120;
    let truths: Vec<_> = (0..=STEPS).map(truth).collect();
    for cut in (2..120).step_by(3) {
        let disk = MemoryEngine::default();
        disk.cut_power_at(cut);
        let acknowledged = run(&disk, STEPS, false);
        disk.power_cut(Some(cut));
        check(&disk, acknowledged, &truths, &format!("power cut at write {cut}"));
    }
}

#[test]
fn power_cuts_in_a_row_never_take_what_was_acknowledged() {
    let disk = MemoryEngine::default();
    let mut must = 0;
    for life in 0..25 {
        disk.cut_power_at(disk.writes() + 5 + life * 3);
        let options = StoreOptions { close_limit: Duration::from_millis(5), ..small() };
        if let Ok((store, report)) = StateStore::with_engine(Arc::new(disk.clone()), disk.pack_medium(), options) {
            assert!(report.lost.is_empty(), "{report:?}");
            let agent = ada(&store);
            let found = agent.recover(GATE).expect("recovers").events.len() as u64;
            assert!(found >= must, "life {life}: {found} of {must}");
            for n in found.. {
                let lsn = event(&agent, GATE, &n.to_string());
                if agent.wait_durable_blocking(lsn, PATIENCE).is_err() {
                    break;
                }
                must = n + 1;
            }
            let kept = texts(&agent.recover(GATE).expect("recovers"));
            assert!(kept.iter().enumerate().all(|(n, text)| *text == n.to_string()), "{kept:?}");
        }
        disk.power_cut(Some(life));
    }
    assert!(must > 20, "{must}");
}
