//! Cost of the number senses and of learning skills: `cargo bench -p maxim-actors --bench numbers`.

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use maxim_actors::language::numbers::analysis::analyse;
use maxim_actors::language::numbers::arithmetic::evaluate;
use maxim_actors::language::numbers::matrix::{MatrixOperation, compute, fit};
use maxim_actors::learning::cerebellum::forward::ForwardModel;
use maxim_actors::learning::cerebellum::program::{Example, SkillLaw, crystallise};
use maxim_actors::learning::intraparietal_sulcus::law::{QuickLaw, judge};
use maxim_actors::learning::statistician::correlation::correlations;
use maxim_actors::learning::statistician::model::{Measured, Metrics};
use maxim_actors::memory::angular_gyrus::model::{CAPACITY, MathStore};
use maxim_actors::memory::suprachiasmatic_nucleus::oscillators::{HebbLaw, Oscillators};
use maxim_bus::Trust;
use maxim_bus::signals::numbers::{MathCategory, MathFilter, MathProvenance, MathRecord};
use maxim_bus::signals::skill::goal_words;
use maxim_bus::units::Confidence;
use serde_json::json;

/// Splitmix64 (Steele et al. 2014), as numbers in [0, 1).
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

fn senses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("series");
    for size in [8, 64, 256] {
        let values = noise(1, size);
        group.bench_with_input(BenchmarkId::new("intraparietal_sulcus, judge", size), &values, |b, values| {
            b.iter(|| judge(black_box(values), Some(0.5), &QuickLaw::default()));
        });
        group.bench_with_input(BenchmarkId::new("angular_gyrus, analyse", size), &values, |b, values| {
            b.iter(|| analyse("series", black_box(values)));
        });
    }
    group.finish();
}

fn record(number: usize) -> MathRecord {
    MathRecord {
        id: format!("m{number}"),
        name: format!("tool:tool_{number}:success"),
        category: MathCategory::Pattern,
        domain: "metrics".into(),
        verbal: format!("tool_{number} succeeds in {} % of 40 uses", number % 100),
        code: "37/40".into(),
        inputs: vec![1.0; 64],
        outputs: BTreeMap::from([("rate".to_owned(), 0.925)]),
        relates: Vec::new(),
        confidence: Confidence::clamped(0.8),
        episodes: Vec::new(),
        others: false,
        created: Timestamp::UNIX_EPOCH,
        accessed: Timestamp::UNIX_EPOCH,
        access_count: 0,
        long_term: true,
        provenance: MathProvenance::OwnExperience,
        trust: Trust::Own,
        run: String::new(),
    }
}

fn exact(criterion: &mut Criterion) {
    criterion.bench_function("angular_gyrus/evaluate, exact", |b| {
        b.iter(|| evaluate(black_box("(0.1 + 0.2) * 15% of 80 - 2^64 / 3")));
    });
    let (x, y) = (noise(2, 1_000), noise(3, 1_000));
    criterion.bench_function("angular_gyrus/parabola through 1 000 points", |b| b.iter(|| fit(&x, &y, 2)));
    let rows: Vec<Vec<f64>> = (0..32).map(|row| noise(row, 32)).collect();
    criterion.bench_function("angular_gyrus/inverse of 32 x 32", |b| {
        b.iter(|| compute(MatrixOperation::Inverse, black_box(&rows), None));
    });
    let filter = MathFilter { topic: Some("how reliable is tool_500".into()), ..MathFilter::default() };
    let mut store = MathStore::default();
    (0..CAPACITY).for_each(|number| drop(store.store(record(number))));
    criterion.bench_function(&format!("angular_gyrus/recall among {CAPACITY}"), |b| {
        b.iter(|| store.recall(black_box(&filter)));
    });
    criterion.bench_function(&format!("angular_gyrus/a pattern again, among {CAPACITY}"), |b| {
        b.iter(|| store.store(record(black_box(500))));
    });
}

fn learning(criterion: &mut Criterion) {
    let mut metrics = Metrics::default();
    for number in 0..64u64 {
        for (bucket, value) in noise(number, 64).into_iter().enumerate() {
            let (metric, at) = (format!("tool:t{number}:latency"), Timestamp::UNIX_EPOCH);
            let bucket = i64::try_from(bucket).unwrap_or(0);
            metrics.measure(&Measured { metric, value, at, bucket, episode: None, trust: Trust::Own });
        }
    }
    criterion.bench_function("statistician/a measurement", |b| {
        let mut bucket = 64;
        b.iter(|| {
            bucket += 1;
            let (metric, at) = ("tool:t7:latency".to_owned(), Timestamp::UNIX_EPOCH);
            metrics.measure(&Measured { metric, value: 0.5, at, bucket, episode: None, trust: Trust::Own });
        });
    });
    criterion.bench_function("statistician/correlations of 64 metrics", |b| b.iter(|| correlations(&metrics)));
    let example = |file: &str| Example {
        words: goal_words(&format!("create a file {file} with the text hello and then read the file {file}")),
        calls: vec![
            ("write_file".into(), json!({"path": file, "content": "hello"})),
            ("read_file".into(), json!({"path": file})),
        ],
        commanded: true,
        modelled: false,
        episode: file.into(),
    };
    let examples: Vec<Example> = (0..8).map(|number| example(&format!("f{number}.txt"))).collect();
    let newest = example("new.txt");
    criterion.bench_function("cerebellum/crystallise", |b| {
        b.iter(|| crystallise(black_box(&examples), &newest, &SkillLaw::default()))
    });
    let changes: BTreeMap<String, f64> = (0..16).map(|sensor| (format!("s{sensor}"), 1.0)).collect();
    let mut model = ForwardModel::default();
    criterion.bench_function("cerebellum/predict and learn 16 sensors", |b| {
        b.iter(|| {
            let error = model.error(black_box(&changes), &SkillLaw::default());
            model.learn(&changes);
            error
        });
    });
}

fn clocks(criterion: &mut Criterion) {
    for (name, hours) in [("a minute", 1.0 / 60.0), ("a day", 24.0), ("a year", 8_766.0)] {
        let mut clocks = Oscillators::default();
        criterion.bench_function(&format!("suprachiasmatic_nucleus/clocks run {name} and learn"), |b| {
            b.iter(|| clocks.observe(black_box(hours), &[0.1, 0.7, 1.3, 2.9], &HebbLaw::default()));
        });
    }
    let clocks = Oscillators::default();
    criterion.bench_function("suprachiasmatic_nucleus/anomaly and next expected time", |b| {
        b.iter(|| (clocks.anomaly(black_box(&[0.1, 0.7, 1.3, 2.9])), clocks.hours_until(0, 1.0)));
    });
}

criterion_group!(benches, senses, exact, learning, clocks);
criterion_main!(benches);
