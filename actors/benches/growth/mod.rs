//! Sizes of stores at which costs are measured, and how each cost grows with size.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use criterion::Criterion;

/// The program's own allocator: another one may pause for tens of milliseconds after much memory was freed.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measured unless [`sizes`] gets other values.
const USUAL: [usize; 3] = [1_000, 10_000, 100_000];
const LARGE: usize = 1_000_000;

/// 1 000, 10 000 and 100 000 records; `MAXIM_BENCH_LARGE=1` adds a million, `MAXIM_BENCH_SIZES=5000,50000` names others.
pub fn sizes() -> Vec<usize> {
    let given = std::env::var("MAXIM_BENCH_SIZES").unwrap_or_default();
    let given: Vec<usize> = given.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    if !given.is_empty() {
        return given;
    }
    let is_large = std::env::var_os("MAXIM_BENCH_LARGE").is_some_and(|value| value != "0");
    USUAL.into_iter().chain(is_large.then_some(LARGE)).collect()
}

/// A cost at a size, measured by hand: whole runs that can't be repeated.
pub type Measured = (String, usize, Duration);

/// Measures, then prints how the costs grew.
pub fn run(measure: impl FnOnce(&mut Criterion) -> Vec<Measured>) {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("criterion");
    let started = SystemTime::now();
    let mut criterion = Criterion::default().output_directory(&output).configure_from_args();
    let by_hand = measure(&mut criterion);
    criterion.final_summary();
    let mut costs: BTreeMap<String, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut note = |name: String, size: usize, nanoseconds: f64| {
        costs.entry(name).or_default().insert(size, nanoseconds);
    };
    medians(&output, started, &mut note);
    by_hand.into_iter().for_each(|(name, size, took)| note(name, size, took.as_nanos() as f64));
    print(&costs);
    if !sizes().contains(&LARGE) {
        println!("SKIPPED: {LARGE} records; MAXIM_BENCH_LARGE=1 measures them too");
    }
}

/// Reads the medians that criterion has just written for functions with a size.
fn medians(folder: &Path, started: SystemTime, note: &mut impl FnMut(String, usize, f64)) {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
    };
    let read = |file: PathBuf| -> Option<serde_json::Value> {
        let is_new = fs::metadata(&file).and_then(|meta| meta.modified()).is_ok_and(|at| at >= started);
        serde_json::from_slice(&fs::read(file).ok().filter(|_| is_new)?).ok()
    };
    for measured in entries(folder).iter().flat_map(|group| entries(group)).flat_map(|function| entries(&function)) {
        let new = measured.join("new");
        let (Some(of), Some(found)) = (read(new.join("benchmark.json")), read(new.join("estimates.json"))) else {
            continue;
        };
        let size = of["value_str"].as_str().and_then(|size| size.parse().ok());
        if let (Some(size), Some(median)) = (size, found["median"]["point_estimate"].as_f64()) {
            let word = |field: &str| of[field].as_str().unwrap_or_default().to_owned();
            note(format!("{}/{}", word("group_id"), word("function_id")), size, median);
        }
    }
}

/// One line per function: its cost at each size, and the mean factor for ten times as many records.
fn print(costs: &BTreeMap<String, BTreeMap<usize, f64>>) {
    if costs.is_empty() {
        return;
    }
    println!("\ngrowth: cost by records remembered, and the factor for ten times as many");
    for (name, by_size) in costs {
        let shown: Vec<String> = by_size.iter().map(|(size, cost)| format!("{size}: {}", time(*cost))).collect();
        let ends = by_size.first_key_value().zip(by_size.last_key_value()).filter(|(first, last)| first.0 < last.0);
        let growth = ends.map(|((small, less), (large, more))| {
            let decades = (*large as f64 / *small as f64).log10();
            format!("×{:.2} a decade", (more / less.max(1.0)).powf(1.0 / decades))
        });
        println!("{name:<55} {}  {}", shown.join("  "), growth.unwrap_or_default());
    }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}
