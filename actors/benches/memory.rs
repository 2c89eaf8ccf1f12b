//! Cost of the memory laws by size of the store: `cargo bench -p maxim-actors --bench memory`.
//! Sizes: see `growth`.

mod growth;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion};
use growth::sizes;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_actors::language::packed::PackedVector;
use maxim_actors::language::{Embedding, Encoder, EncoderId, TokenTable};
use maxim_actors::learning::nucleus_accumbens::alike::Phrases;
use maxim_actors::learning::nucleus_accumbens::event::{EventKind, OutcomeKind};
use maxim_actors::learning::nucleus_accumbens::links::list;
use maxim_actors::learning::nucleus_accumbens::model::{LinkTable, Observation};
use maxim_actors::memory::entorhinal_cortex::model::{Cue, Item};
use maxim_actors::memory::entorhinal_cortex::situation_index::SituationIndex;
use maxim_actors::memory::hippocampus::key_index::KeyIndex;
use maxim_actors::memory::hippocampus::law::{LinkLaw, sitting_after};
use maxim_actors::memory::hippocampus::model::{Action, EpisodicMemory, Outcome, Provenance};
use maxim_actors::memory::hippocampus::spreading::Spreading;
use maxim_actors::memory::hippocampus::text_index::{Query, TextIndex, merge};
use maxim_actors::memory::suprachiasmatic_nucleus::index::BinIndex;
use maxim_actors::memory::suprachiasmatic_nucleus::law::{TimeSignature, local_day};
use maxim_bus::signals::introspection::ListLinks;
use maxim_bus::signals::recall::{EpisodeFilter, TimeBins};
use maxim_bus::signals::similarity::Situation;

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

    /// Rank r of n with probability ∝ 1/(r + 1).
    fn zipf(&mut self, n: usize) -> usize {
        let share = self.below(1 << 30) as f64 / f64::from(1 << 30);
        (((n as f64 + 1.0).powf(share) - 1.0) as usize).min(n - 1)
    }
}

const ADJECTIVES: [&str; 20] = [
    "red", "blue", "green", "small", "large", "old", "new", "broken", "heavy", "light", "wooden", "metal", "glass",
    "paper", "round", "square", "striped", "clean", "dirty", "spare",
];
const NOUNS: [&str; 20] = [
    "cup", "mug", "plate", "bottle", "chair", "table", "lamp", "book", "phone", "key", "box", "door", "window",
    "drawer", "shelf", "knife", "spoon", "towel", "plant", "screw",
];
const ROOMS: [&str; 8] = ["kitchen", "office", "hallway", "garage", "lab", "bedroom", "balcony", "workshop"];
const VERBS: [&str; 10] =
    ["find", "fetch", "clean", "move", "inspect", "repair", "sort", "deliver", "describe", "count"];

fn object(rank: usize) -> String {
    let mixed = rank * 37 % 400;
    format!("{} {}", ADJECTIVES[mixed / 20], NOUNS[mixed % 20])
}

fn goal(rank: usize) -> String {
    format!("{} the {} in the {}", VERBS[rank % 10], object(rank * 11), ROOMS[rank % 8])
}

/// Ninety days of experience.
fn episode(i: usize, total: usize, chance: &mut Chance) -> EpisodicMemory {
    let start = Timestamp::from_second(1_709_424_000).unwrap_or(Timestamp::UNIX_EPOCH);
    let second = (i as u64 * 90 * 86_400 / total as u64).cast_signed();
    let mut episode = EpisodicMemory::new(format!("e{i}"), start + SignedDuration::from_secs(second));
    let things: Vec<String> = (0..1 + chance.below(4)).map(|_| object(chance.zipf(400))).collect();
    let people: Vec<String> = (0..chance.below(3)).map(|_| format!("person_{}", chance.zipf(40))).collect();
    let (goal, tool) = (goal(chance.zipf(120)), format!("tool_{}", chance.zipf(40)));
    let who = people.first().map_or("saw".to_string(), |person| format!("{person} near"));
    episode.perception.text = format!("{who} the {} in the {}, {tool} to {goal}", things[0], ROOMS[chance.below(8)]);
    episode.perception.objects = things;
    episode.perception.people = people;
    episode.context.goal = Some(goal);
    episode.context.mode = Some(["passive", "active", "observe", "singularity"][chance.below(4)].into());
    episode.action = Some(Action { tool, ..Action::default() });
    let success = [Some(true), Some(true), Some(false), None][chance.below(4)];
    episode.outcome = Some(Outcome { success, ..Outcome::default() });
    episode
}

struct Indexes {
    text: TextIndex,
    keys: KeyIndex,
    bins: BinIndex,
    last: Option<(u32, Timestamp)>,
    count: u32,
}

impl Default for Indexes {
    fn default() -> Self {
        let text = TextIndex::with_encoder(Arc::new(TokenTable::embedded()));
        Self { text, keys: KeyIndex::default(), bins: BinIndex::default(), last: None, count: 0 }
    }
}

impl Indexes {
    fn capture(&mut self, mut episode: EpisodicMemory) {
        episode.sitting = sitting_after(self.last, episode.created, &LinkLaw::default());
        self.last = Some((episode.sitting, episode.created));
        let more = episode.further_words();
        let fields = episode.fields(&more, local_day(episode.created, &TimeZone::UTC));
        self.text.add(self.count, &fields).expect("ascending");
        self.keys.add(self.count, &episode).expect("ascending");
        self.bins.add(self.count, &TimeSignature::of(episode.created, &TimeZone::UTC));
        self.count += 1;
        self.text.seal();
        self.keys.seal();
    }

    fn of(size: usize) -> Self {
        let mut chance = Chance(20_240_117);
        let mut indexes = Self::default();
        for i in 0..size {
            indexes.capture(episode(i, size, &mut chance));
            if let Some(parts) = indexes.text.merge_due() {
                let bytes: Vec<Arc<[u8]>> =
                    indexes.text.segments().skip(parts.start).take(parts.len()).cloned().collect();
                indexes.text.replace(parts, merge(&bytes, &[]).expect("sound").into()).expect("sound");
            }
        }
        indexes
    }
}

fn recall(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hippocampus");
    group.sample_size(50);
    for size in sizes() {
        let mut store = Indexes::of(size);
        let mut chance = Chance(7);
        let questions: Vec<String> =
            (0..100).map(|_| format!("{} {}", goal(chance.zipf(120)), object(chance.zipf(400)))).collect();
        let mut turn = questions.iter().cycle();
        group.bench_function(BenchmarkId::new("ranked recall", size), |b| {
            b.iter(|| store.text.search(&Query::new(turn.next().map_or("", |q| q)), 10));
        });
        let mut filters = (0..100)
            .map(|i| match i % 4 {
                0 => EpisodeFilter { goal: Some(goal(chance.zipf(120))), ..EpisodeFilter::default() },
                1 => EpisodeFilter { object: Some(object(chance.zipf(400))), ..EpisodeFilter::default() },
                2 => EpisodeFilter { person: Some(format!("person_{}", chance.zipf(40))), ..EpisodeFilter::default() },
                _ => EpisodeFilter {
                    tool_name: Some(format!("tool_{}", chance.zipf(40))),
                    object: Some(object(chance.zipf(400))),
                    ..EpisodeFilter::default()
                },
            })
            .collect::<Vec<_>>()
            .into_iter()
            .cycle();
        group.bench_function(BenchmarkId::new("recall by key", size), |b| {
            b.iter(|| store.keys.find(&filters.next().unwrap_or_default(), 10));
        });
        let mornings = TimeBins { hours: (6..12).collect(), days: (0..5).collect(), ..TimeBins::default() };
        group.bench_function(BenchmarkId::new("weekday mornings, ten of them", size), |b| {
            b.iter(|| store.bins.find(black_box(&mornings), 10));
        });
        group.bench_function(BenchmarkId::new("weekday mornings, counted", size), |b| {
            b.iter(|| store.bins.count(black_box(&mornings)));
        });
        let mut new = (0..4096).map(|_| episode(size, size, &mut chance)).collect::<Vec<_>>().into_iter().cycle();
        group.bench_function(BenchmarkId::new("capture into all indexes", size), |b| {
            b.iter_batched(|| new.next().expect("cycles"), |e| store.capture(e), criterion::BatchSize::SmallInput);
        });
        let parts: Vec<Arc<[u8]>> = store.text.segments().cloned().collect();
        let keys: Vec<Arc<[u8]>> = store.keys.segments().cloned().collect();
        group.sample_size(10);
        group.bench_function(BenchmarkId::new("load text index", size), |b| {
            b.iter(|| TextIndex::from_segments(parts.clone()).expect("sound"));
        });
        group.bench_function(BenchmarkId::new("load key index", size), |b| {
            b.iter(|| KeyIndex::from_segments(keys.clone()).expect("sound"));
        });
        group.sample_size(50);
        let bytes = |parts: &[Arc<[u8]>]| parts.iter().map(|p| p.len()).sum::<usize>();
        println!("{size}: text {} B, keys {} B, bins {} B", bytes(&parts), bytes(&keys), store.bins.size());
    }
    group.finish();
}

/// Clusters of 500 vectors.
fn similarity(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("entorhinal_cortex");
    for size in sizes() {
        let mut chance = Chance(5);
        let id = EncoderId::new("bench");
        let mut normal = || (0..6).map(|_| chance.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 3.0;
        let centers: Vec<Vec<f32>> = (0..size.div_ceil(500)).map(|_| (0..256).map(|_| normal()).collect()).collect();
        let mut around = |i: usize| {
            let numbers = centers[i % centers.len()].iter().map(|x| x + 0.55 * normal()).collect();
            PackedVector::of(&Embedding::new(id.clone(), numbers))
        };
        let mut index = SituationIndex::new(id.clone(), 256, 0.35, TimeZone::UTC);
        for i in 0..size {
            let situation = Situation { layer: "hippocampus".into(), ..Situation::default() };
            index.put(i as u32, &Item::with_vector(situation, id.clone(), around(i)));
        }
        let cues: Vec<Cue> = (0..100).map(|i| Cue { text: Some(around(i * 7)), ..Cue::default() }).collect();
        let mut turn = cues.iter().cycle();
        group.bench_function(BenchmarkId::new("ten most alike", size), |b| {
            b.iter(|| turn.next().map(|cue| index.find(cue, 10, |_| true)));
        });
        let window = size as u32 / 2..size as u32 / 2 + size as u32 / 13;
        group.bench_function(BenchmarkId::new("ten most alike of a week", size), |b| {
            b.iter(|| turn.next().map(|cue| index.find(cue, 10, |place| window.contains(&place))));
        });
    }
    group.finish();
    let table = TokenTable::embedded();
    criterion.bench_function("language/a sentence's vector", |b| {
        b.iter(|| table.embed(black_box("the arm lost its grip on the wet cup near the sink this morning")));
    });
}

/// As many edges as at capture.
fn spreading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hippocampus");
    for size in sizes() {
        let mut chance = Chance(3);
        let edges: Vec<Vec<(u32, f64)>> =
            (0..size).map(|_| (0..8).map(|_| (chance.below(size) as u32, 0.75)).collect()).collect();
        group.bench_function(BenchmarkId::new("spreading, 3 hops, 8 edges a node", size), |b| {
            b.iter(|| {
                let seed = chance.below(size) as u32;
                Spreading::default().from_seeds([(seed, 1.0)], |node, visit| {
                    edges[node as usize].iter().for_each(|(to, weight)| visit(*to, *weight));
                })
            });
        });
    }
    group.finish();
}

/// By the number of observed outcomes: one kind of event for every hundred, at most 2 000 kinds.
fn learning(criterion: &mut Criterion) {
    let goals: Vec<String> = (0..120).map(goal).collect();
    let outcomes = [Some(true), Some(false), None].map(OutcomeKind::of_success);
    let mut group = criterion.benchmark_group("nucleus_accumbens");
    for size in sizes() {
        let kinds = (size / 100).clamp(10, 2_000);
        let kinds: Vec<EventKind> =
            (0..kinds).map(|i| EventKind { tool: format!("tool_{i}"), shape: vec![] }).collect();
        let mut table = LinkTable::default();
        let mut chance = Chance(11);
        let mut step = |table: &mut LinkTable| {
            table.observe(&Observation {
                event: &kinds[chance.zipf(kinds.len())],
                context: &[("mode", "active"), ("goal", &goals[chance.zipf(120)])],
                outcome: &outcomes[chance.below(3)],
                cues: &[],
                around: &[(NOUNS[chance.below(20)].into(), 0.5), (ADJECTIVES[chance.below(20)].into(), 0.3)],
                delay: Some(chance.below(100) as f64),
                episode: Some("e"),
                provenance: Provenance::OwnExperience,
                at: Timestamp::UNIX_EPOCH,
                reward: None,
            })
        };
        for _ in 0..size {
            step(&mut table);
        }
        group.bench_function(BenchmarkId::new("update", size), |b| b.iter(|| step(&mut table)));
        let wanted = [
            ("by event", ListLinks { event: Some("tool_7".into()), ..ListLinks::default() }),
            ("by outcome", ListLinks { outcome: Some("fail".into()), ..ListLinks::default() }),
            ("by memory", ListLinks { memory_id: Some("e".into()), ..ListLinks::default() }),
        ];
        for (name, wanted) in &wanted {
            group.bench_function(BenchmarkId::new(format!("links {name}"), size), |b| {
                b.iter(|| list(&table, black_box(wanted), Timestamp::UNIX_EPOCH));
            });
        }
        let phrases = Phrases::with_encoder(Arc::new(TokenTable::embedded()));
        let unseen = EventKind { tool: "never_used".into(), shape: vec![] };
        group.bench_function(BenchmarkId::new("an unseen event borrows", size), |b| {
            b.iter(|| phrases.alike(black_box(&unseen), &table));
        });
        let mut chance = Chance(12);
        group.bench_function(BenchmarkId::new("predict", size), |b| {
            b.iter(|| {
                let context = [("mode", "active"), ("goal", goals[chance.zipf(120)].as_str())];
                let around = [(NOUNS[chance.below(20)].to_owned(), 0.5)];
                table.predict_among(&kinds[chance.zipf(kinds.len())], &context, &around, Timestamp::UNIX_EPOCH)
            });
        });
    }
    group.finish();
}

fn main() {
    growth::run(|criterion| {
        learning(criterion);
        spreading(criterion);
        similarity(criterion);
        recall(criterion);
        Vec::new()
    });
}
