//! Cost of publishing one message to 25 rooms and reading it there. Divide by 25 for one delivery.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use maxim_bus::{AgentBus, AgentId, BusBuilder, Envelope, Epoch, Inbox, Lsn, MessageId, Meta, Signal, Stage, Trust};
use serde::{Deserialize, Serialize};

const ROOMS: [&str; 25] = [
    "r00", "r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10", "r11", "r12", "r13", "r14", "r15",
    "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24",
];
const READER: Epoch = Epoch(1);
const BATCH: u64 = 1_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Payload(String);

maxim_bus::signal! { Payload: Perception, Lossless }

fn corridor() -> (AgentBus, Vec<Arc<Inbox>>) {
    let mut bus = BusBuilder::default();
    let inboxes = ROOMS.iter().map(|room| {
        let inbox = bus.inbox(room);
        inbox.seize(READER);
        bus.hears::<Payload>(&inbox, Stage::Perception, false);
        inbox
    });
    let inboxes = inboxes.collect();
    (bus.build_unchecked(), inboxes)
}

fn envelope() -> Arc<Envelope> {
    let id = MessageId::from_parts(1, 1);
    let meta = Meta {
        id,
        agent: AgentId::new("bench").expect("a good name"),
        name: Payload::NAME.into(),
        cause: None,
        correlation: id,
        at: Timestamp::UNIX_EPOCH,
        sender: "bench".into(),
        trust: Trust::Own,
        to: None,
    };
    Arc::new(Envelope::new(meta, Arc::new(Payload("x".repeat(256)))))
}

fn delivery(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("delivery to 25 rooms");
    group.throughput(Throughput::Elements(BATCH * ROOMS.len() as u64));
    let message = envelope();
    group.bench_function("publish", |bench| {
        bench.iter_batched_ref(
            corridor,
            |(bus, _)| (1..=BATCH).for_each(|n| bus.publish(Lsn(n), black_box(&message))),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("publish and take", |bench| {
        let (bus, inboxes) = corridor();
        bench.iter(|| {
            (1..=BATCH).for_each(|n| bus.publish(Lsn(n), black_box(&message)));
            for inbox in &inboxes {
                while black_box(inbox.take(READER)).is_some() {
                    inbox.done(READER);
                }
            }
        });
    });
    group.finish();
}

criterion_group!(benches, delivery);
criterion_main!(benches);
