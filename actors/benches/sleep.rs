//! Cost of edges and of sleep by size of the store, on the whole room: `cargo bench -p maxim-actors --bench sleep`.
//! Sizes: see `growth`.

mod growth;

use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use maxim_actors::language::TokenTable;
use maxim_actors::memory::hippocampus::exporting::page;
use maxim_actors::memory::hippocampus::law::{CaptureLaw, LinkLaw};
use maxim_actors::memory::hippocampus::retention::RetentionLaw;
use maxim_actors::memory::hippocampus::{Hippocampus, HippocampusSettings};
use maxim_actors::region::rig::{Rig, ear, monday_morning};
use maxim_bus::MessageId;
use maxim_bus::signals::concepts::ForgetRecord;
use maxim_bus::signals::recall::{EpisodeFilter, EpisodesRecalled, ImportEpisodes, RecallEpisodes};
use maxim_bus::signals::sleep::{CompressEpisodes, EpisodesCompressed, EpisodesScored, ScoreEpisodes};
use serde_json::json;

/// Splitmix64 (Steele et al. 2014).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

const LOOKS: [&str; 12] =
    ["red", "blue", "green", "broken", "heavy", "wooden", "striped", "rusty", "tiny", "painted", "folded", "spare"];
const THINGS: [&str; 16] = [
    "cup", "lamp", "torch", "ladder", "kettle", "blanket", "radio", "hammer", "bicycle", "basket", "mirror", "rope",
    "violin", "camera", "umbrella", "suitcase",
];
const ROOMS: [&str; 8] = ["kitchen", "office", "hallway", "garage", "cellar", "bedroom", "balcony", "workshop"];
const DEEDS: [&str; 6] = ["find", "clean", "move", "inspect", "repair", "count"];

/// Episode `i` of ninety days, which ended ten days ago.
fn line(i: usize, total: usize, chance: &mut Chance) -> String {
    let thing = format!("{} {}", chance.one_of(&LOOKS), chance.one_of(&THINGS));
    let (room, deed) = (chance.one_of(&ROOMS), chance.one_of(&DEEDS));
    let ago = SignedDuration::from_secs((100 * 86_400 - i * 90 * 86_400 / total.max(1)).cast_signed() as i64);
    let success = [Some(true), Some(true), Some(false), None][chance.below(4)];
    json!({
        "id": format!("e{i}"),
        "timestamp": (monday_morning() - ago).to_string(),
        "goal": format!("{deed} the {thing} in the {room}"),
        "objects": [thing, chance.one_of(&THINGS)],
        "people": if chance.below(3) == 0 { vec![format!("person_{}", chance.below(40))] } else { vec![] },
        "text": format!("the {thing} number {} stands in the {room} beside the {}", chance.below(9000), chance.one_of(&THINGS)),
        "tool": format!("tool_{}", chance.below(40)),
        "success": success,
        "salience": 0.1 * chance.below(8) as f64,
    })
    .to_string()
}

struct Room {
    rig: Rig<Hippocampus>,
    chance: Chance,
    count: usize,
    sleeps: u128,
}

/// Lines of one import, as the HTTP door cuts them.
const BATCH: usize = 64;

impl Room {
    fn of(size: usize) -> Self {
        let settings = HippocampusSettings {
            zone: TimeZone::UTC,
            mode: maxim_bus::mode::Mode::Active,
            run: "1".into(),
            encoder: Arc::new(TokenTable::embedded()),
            asks_meaning: false,
            budget_bytes: None,
            links: LinkLaw::default(),
            retention: RetentionLaw::default(),
            weights: maxim_actors::memory::hippocampus::text_index::Weights::default(),
            capture: CaptureLaw::default(),
            hearsay: Default::default(),
        };
        let rig = Rig::new(settings, |bus, probe| {
            ear::<EpisodesRecalled>(bus, probe);
            ear::<EpisodesScored>(bus, probe);
            ear::<EpisodesCompressed>(bus, probe);
        });
        let mut room = Self { rig, chance: Chance(20_240_117), count: 0, sleeps: 0 };
        while room.count < size {
            room.import(size);
        }
        room
    }

    /// Imports a batch, including edges.
    fn import(&mut self, total: usize) {
        let lines = (0..BATCH).map(|i| (i as u64, line(self.count + i, total, &mut self.chance))).collect();
        self.count += BATCH;
        self.rig.send(ImportEpisodes { lines, all: true, refused: Vec::new(), waits: false });
        while self.rig.next_deadline().is_some() {
            self.rig.pass(Duration::from_millis(2));
        }
    }

    /// Imports what it already has, from its own export.
    fn import_again(&mut self) -> Duration {
        let exported = page(&self.rig.records(), &|_| None, None, BATCH).expect("readable").lines;
        let lines = exported.into_iter().enumerate().map(|(number, line)| (number as u64, line)).collect();
        let began = Instant::now();
        self.rig.send(ImportEpisodes { lines, all: true, refused: Vec::new(), waits: false });
        began.elapsed()
    }

    /// Mean time to forget an episode with its edges, words and names.
    fn forget(&mut self) -> Duration {
        const FORGOTTEN: usize = 64;
        let began = Instant::now();
        for number in 0..FORGOTTEN {
            self.rig.send(ForgetRecord { id: format!("e{}", number * self.count / FORGOTTEN) });
        }
        began.elapsed() / FORGOTTEN as u32
    }

    /// The time from the records to the first answer, and until nothing is left to do.
    fn wake(&mut self) -> Duration {
        let began = Instant::now();
        self.rig.crash();
        self.rig.run();
        began.elapsed()
    }

    /// A whole sleep: time for scoring, and for rewriting, with the longest steps (duration, phase and number).
    fn sleep(&mut self) -> (Duration, Duration, Vec<(Duration, usize, usize)>) {
        self.sleeps += 1;
        let sleep = MessageId::from_parts(77, self.sleeps);
        let mut steps = Vec::new();
        let mut spent = [Duration::ZERO; 2];
        for (part, spent) in spent.iter_mut().enumerate() {
            for step in 0.. {
                let began = Instant::now();
                let done = if part == 0 {
                    self.rig.send(ScoreEpisodes { sleep });
                    self.rig.heard::<EpisodesScored>().pop().is_none_or(|scored| scored.done)
                } else {
                    self.rig.send(CompressEpisodes { sleep });
                    self.rig.heard::<EpisodesCompressed>().pop().is_none_or(|compressed| compressed.done)
                };
                let took = began.elapsed();
                *spent += took;
                steps.push((took, part, step));
                if done {
                    break;
                }
            }
        }
        steps.sort_unstable_by(|a, b| b.cmp(a));
        steps.truncate(8);
        (spent[0], spent[1], steps)
    }
}

fn room(criterion: &mut Criterion) -> Vec<growth::Measured> {
    let mut by_hand = Vec::new();
    let mut group = criterion.benchmark_group("hippocampus");
    group.sample_size(20);
    for size in growth::sizes() {
        let mut room = Room::of(size);
        let edges = room.rig.region().edges().len();
        group.bench_function(BenchmarkId::new("import of 64 with edges", size), |b| b.iter(|| room.import(size)));
        let mut chance = Chance(5);
        group.bench_function(BenchmarkId::new("recall with expansion", size), |b| {
            b.iter(|| {
                let object = format!("{} {}", chance.one_of(&LOOKS), chance.one_of(&THINGS));
                let filter = EpisodeFilter { object: Some(object), expand: true, limit: 5, ..EpisodeFilter::default() };
                room.rig.send(RecallEpisodes { filter, except: None, thought: false, waits: false, until: None });
                room.rig.heard::<EpisodesRecalled>().len()
            });
        });
        group.bench_function(BenchmarkId::new("export of 64", size), |b| {
            let mut after = None;
            b.iter(|| {
                let page = page(&room.rig.records(), &|_| None, after.as_deref(), BATCH).expect("readable");
                after = page.next;
                page.lines.len()
            });
        });
        by_hand.extend([
            ("hippocampus/an import of 64 that are known".into(), size, room.import_again()),
            ("hippocampus/an episode forgotten".into(), size, room.forget()),
            ("hippocampus/waking".into(), size, room.wake()),
        ]);
        let (scoring, rewriting, longest) = room.sleep();
        println!(
            "{} episodes, {edges} edges: scored in {scoring:?}, rewritten in {rewriting:?}, longest steps (part, number) {longest:?}",
            room.count
        );
        let spent = [("scoring", scoring), ("rewriting", rewriting), ("longest step", longest[0].0)];
        by_hand.extend(spent.map(|(part, took)| (format!("hippocampus/a whole sleep, {part}"), size, took)));
    }
    group.finish();
    by_hand
}

fn main() {
    growth::run(room);
}
