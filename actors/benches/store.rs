//! Cost of the store: accepting, durability alone and in a group, opening, reading.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use maxim_actors::store::{AgentStore, Commit, EngineKind, StateStore, StoreOptions};
use maxim_bus::ids::{AgentId, Lsn};

const REGION: &str = "hippocampus";
const LIMIT: Duration = Duration::from_secs(60);

fn agent(store: &StateStore) -> AgentStore {
    let agent = store.agent(&AgentId::new("bench").expect("a good name"));
    agent.set_low_water(|| Lsn(u64::MAX));
    agent
}

/// An event of 300 bytes, a signal of 100, and occasionally a root.
fn turn(agent: &AgentStore, n: u64) -> Commit {
    Commit {
        events: vec![vec![1; 300]],
        emissions: vec![[2; 100].into()],
        root: n.is_multiple_of(200).then(|| vec![3; 4096]),
        ..Commit::of(REGION, agent.epoch(REGION))
    }
}

fn accepting(c: &mut Criterion) {
    let store = StateStore::in_memory();
    let agent = agent(&store);
    let mut n = 0;
    c.bench_function("accept, in memory", |b| {
        b.iter(|| {
            n += 1;
            agent.accept(turn(&agent, n), |accepted| {
                black_box(accepted.lsn);
            })
        })
    });
}

fn durable(c: &mut Criterion) {
    for engine in [EngineKind::Sled, EngineKind::Redb] {
        let mut group = c.benchmark_group(format!("durable, {engine:?}"));
        group.sample_size(10).measurement_time(Duration::from_secs(3)).throughput(Throughput::Elements(1));
        for in_flight in [1, 16, 256] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let options = StoreOptions { engine, ..StoreOptions::default() };
            let store = StateStore::open(folder.path(), options).expect("opens").0;
            let agent = agent(&store);
            let (mut waiting, mut n) = (VecDeque::new(), 0);
            group.bench_function(format!("{in_flight} in flight"), |b| {
                b.iter(|| {
                    n += 1;
                    waiting.push_back(agent.accept(turn(&agent, n), |_| ()).expect("accepted").lsn);
                    if waiting.len() >= in_flight
                        && let Some(lsn) = waiting.pop_front()
                    {
                        agent.wait_durable_blocking(lsn, LIMIT).expect("durable");
                    }
                })
            });
        }
    }
}

fn opening(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open = || StateStore::open(folder.path(), StoreOptions::default()).expect("opens").0;
    let mut group = c.benchmark_group("open and close");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    open().close().expect("closes");
    group.bench_function("nothing in it", |b| b.iter(|| open().close()));
    let store = open();
    let filled = agent(&store);
    let key = |n: u32| n.wrapping_mul(2_654_435_761).to_be_bytes().to_vec();
    for n in 0..100_000u32 {
        let records = vec![(key(n), Some(vec![7; 1024].into()))];
        filled.accept(Commit { records, ..Commit::of(REGION, filled.epoch(REGION)) }, |_| ()).expect("accepted");
        if n % 1000 == 0 {
            filled.wait_durable_blocking(filled.head(), LIMIT).expect("durable");
        }
    }
    drop(filled);
    store.close().expect("closes");
    group.bench_function("100k records of 1 KB", |b| b.iter(|| open().close()));
    let store = open();
    let filled = agent(&store);
    let mut n = 0u32;
    group.bench_function("one record of 100k", |b| {
        b.iter(|| {
            n = n.wrapping_add(7919) % 100_000;
            black_box(filled.record(REGION, &key(n)).expect("reads").expect("there"));
        })
    });
    let health = store.health();
    println!("100k records: {} MB on disk, {} MB alive", health.bytes_on_disk >> 20, health.live_bytes >> 20);
}

criterion_group!(benches, accepting, durable, opening);
criterion_main!(benches);
