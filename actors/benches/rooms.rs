//! Cost of whole memory rooms by the number of memories: waking, time, similarity, removal from all layers, and
//! promotion to general knowledge: `cargo bench -p maxim-actors --bench rooms`. Sizes: see `growth`.

mod growth;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_actors::language::TokenTable;
use maxim_actors::learning::nucleus_accumbens::law::PredictionLaw;
use maxim_actors::learning::nucleus_accumbens::{NacSettings, NucleusAccumbens};
use maxim_actors::memory::anterior_temporal_lobe::model::ConceptLaw;
use maxim_actors::memory::anterior_temporal_lobe::{AnteriorTemporalLobe, AtlSettings};
use maxim_actors::memory::cross_layer_graph::{CrossLayerGraph, GraphSettings};
use maxim_actors::memory::entorhinal_cortex::law::LikenessWeights;
use maxim_actors::memory::entorhinal_cortex::{EntorhinalCortex, EntorhinalSettings};
use maxim_actors::memory::suprachiasmatic_nucleus::oscillators::HebbLaw;
use maxim_actors::memory::suprachiasmatic_nucleus::rhythm::RhythmLaw;
use maxim_actors::memory::suprachiasmatic_nucleus::{ScnSettings, SuprachiasmaticNucleus};
use maxim_actors::region::Region;
use maxim_actors::region::rig::{Rig, ear, monday_morning};
use maxim_actors::sleep::semantic_promoter::{PromoterSettings, SemanticPromoter};
use maxim_bus::signals::concepts::{
    ConceptLesson, ConceptProvenance, ConceptsLearned, CrossEdge, CrossKind, EpisodesFetched, FetchEpisodes,
    FetchedEpisode, Layer, LayerEdge, LayerLinked, LearnConcepts, MemoryRef, RecordsLinked, RecordsRemoved,
};
use maxim_bus::signals::introspection::{DiscoverRhythms, RhythmsDiscovered};
use maxim_bus::signals::promotion::{CandidatesOffered, Promote, PromotionCandidate, PromotionEnded};
use maxim_bus::signals::recall::{
    DescribeTime, EndedAct, EpisodesCaptured, OutcomesPredicted, PredictOutcomes, RecalledEpisode, TimeDescribed, Via,
};
use maxim_bus::signals::similarity::{EPISODES, FindSimilar, SimilarFound, Situation, SituationsStored};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, Trust};
use serde_json::{Value as Json, json};

/// Records of one message.
const BATCH: usize = 64;
/// Repetitions of operations that criterion can't repeat.
const ROUNDS: u32 = 64;

const LOOKS: [&str; 8] = ["red", "blue", "broken", "heavy", "wooden", "striped", "rusty", "tiny"];
const THINGS: [&str; 12] =
    ["cup", "lamp", "ladder", "kettle", "blanket", "radio", "hammer", "basket", "mirror", "violin", "camera", "rope"];
const ROOMS: [&str; 6] = ["kitchen", "office", "garage", "cellar", "balcony", "workshop"];

fn thing(number: usize) -> String {
    format!("{} {} {}", LOOKS[number % 8], THINGS[number / 8 % 12], number / 96)
}

/// Moment `number` of ninety days.
fn at(number: usize, total: usize) -> Timestamp {
    monday_morning() + SignedDuration::from_secs((number * 90 * 86_400 / total).cast_signed() as i64)
}

/// The time from a room's records to its first answer.
fn waking<R: Region>(rig: &mut Rig<R>) -> Duration {
    let began = Instant::now();
    rig.crash();
    rig.run();
    began.elapsed()
}

/// Mean time of doing something with each of some numbers.
fn mean(mut act: impl FnMut(u32)) -> Duration {
    let began = Instant::now();
    (0..ROUNDS).for_each(&mut act);
    began.elapsed() / ROUNDS
}

fn times(criterion: &mut Criterion, by_hand: &mut Vec<growth::Measured>) {
    let mut group = criterion.benchmark_group("suprachiasmatic_nucleus");
    group.sample_size(20);
    for size in growth::sizes() {
        let settings = ScnSettings {
            zone: TimeZone::UTC,
            oscillators: true,
            hebb: HebbLaw::default(),
            rhythm: RhythmLaw::default(),
        };
        let mut rig = Rig::<SuprachiasmaticNucleus>::new(settings, |bus, probe| {
            ear::<TimeDescribed>(bus, probe);
            ear::<RhythmsDiscovered>(bus, probe);
        });
        for start in (0..size).step_by(BATCH) {
            let moments = start..size.min(start + BATCH);
            let episodes = moments.clone().map(|number| (format!("e{number}"), at(number, size)));
            let done = moments.map(|number| (format!("tool_{}", number % 40), at(number, size)));
            rig.send(EpisodesCaptured { episodes: episodes.collect(), done: done.collect(), ended: Vec::new() });
        }
        let records = rig.records().prefixed(b"", usize::MAX);
        let bytes = |prefix: &[u8]| {
            let of = records.iter().filter(|(key, _)| key.starts_with(prefix));
            of.map(|(key, record)| key.len() + record.len()).sum::<usize>()
        };
        println!(
            "{size} moments: {} bytes of index, {} of records that name them, before compression",
            bytes(b"segment/"),
            bytes(b"moment/") + bytes(b"id/"),
        );
        let mut describe = |name: &str, query: DescribeTime| {
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| {
                    rig.send(query.clone());
                    rig.heard::<TimeDescribed>().len()
                });
            });
        };
        describe("this time, for a percept", DescribeTime::default());
        describe("this time, with what is typical", DescribeTime { limit: 10, ..DescribeTime::default() });
        describe("similar times", DescribeTime { limit: 10, like_now: true, ..DescribeTime::default() });
        group.bench_function(BenchmarkId::new("rhythms", size), |b| {
            b.iter(|| {
                rig.send(DiscoverRhythms { limit: 5 });
                rig.heard::<RhythmsDiscovered>().len()
            });
        });
        by_hand.push(("suprachiasmatic_nucleus/waking".into(), size, waking(&mut rig)));
    }
    group.finish();
}

fn situation(number: usize, total: usize) -> Situation {
    Situation {
        layer: EPISODES.into(),
        id: format!("e{number}"),
        at: at(number, total),
        text: format!("the {} stands in the {}", thing(number), ROOMS[number % 6]),
        tool: Some(format!("tool_{}", number % 40)),
        objects: vec![thing(number % 960)],
        ..Situation::default()
    }
}

fn likeness(criterion: &mut Criterion, by_hand: &mut Vec<growth::Measured>) {
    let mut group = criterion.benchmark_group("entorhinal_cortex");
    group.sample_size(20);
    for size in growth::sizes() {
        let settings = EntorhinalSettings {
            encoder: Arc::new(TokenTable::embedded()),
            outer: None,
            zone: TimeZone::UTC,
            weights: LikenessWeights::default(),
        };
        let mut rig = Rig::<EntorhinalCortex>::new(settings, ear::<SimilarFound>);
        let store = |rig: &mut Rig<EntorhinalCortex>, numbers: std::ops::Range<usize>| {
            let stored = numbers.map(|number| situation(number, size)).collect();
            rig.send(SituationsStored { stored, ..SituationsStored::default() });
        };
        (0..size).step_by(BATCH).for_each(|start| store(&mut rig, start..size.min(start + BATCH)));
        let mut numbers = (0..size).step_by(size / 97 + 1).cycle();
        let mut ask = |name: &str, time_after: Option<Timestamp>| {
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| {
                    let context = Some(format!("where is the {}?", thing(numbers.next().unwrap_or_default())));
                    rig.send(FindSimilar { context, time_after, limit: 10, ..FindSimilar::default() });
                    rig.heard::<SimilarFound>().len()
                });
            });
        };
        ask("similar", None);
        ask("similar within the last week", Some(at(size, size) - SignedDuration::from_hours(168)));
        let mut fresh = size;
        group.bench_function(BenchmarkId::new("a situation taken in", size), |b| {
            b.iter(|| {
                fresh += 1;
                store(&mut rig, fresh..fresh + 1);
            });
        });
        by_hand.push(("entorhinal_cortex/waking".into(), size, waking(&mut rig)));
    }
    group.finish();
}

/// An act in a life of `kinds` kinds, each done in many circumstances.
fn ended(number: usize, kinds: usize) -> EndedAct {
    let params = json!({ "door": format!("door {}", number / kinds % 40) });
    EndedAct {
        episode: format!("e{number}"),
        at: at(number, LESSONS),
        tool: format!("open_{}", number % kinds),
        params: params.as_object().cloned().unwrap_or_default(),
        goal: Some(format!("find the {}", thing(number % 120))),
        mode: None,
        success: !number.is_multiple_of(5),
    }
}

/// Lessons of the nucleus accumbens.
const LESSONS: usize = 20_000;

/// Learning and predicting with records: few kinds, whose circumstances stay in memory, and more kinds than stay.
fn causes(criterion: &mut Criterion, by_hand: &mut Vec<growth::Measured>) {
    let mut group = criterion.benchmark_group("nucleus_accumbens");
    group.sample_size(20);
    for kinds in [100, 1_000] {
        let settings = NacSettings {
            alpha: 0.14,
            mode: maxim_bus::mode::Mode::Active,
            zone: TimeZone::UTC,
            encoder: Arc::new(TokenTable::embedded()),
            law: PredictionLaw::default(),
        };
        let mut rig = Rig::<NucleusAccumbens>::new(settings, ear::<OutcomesPredicted>);
        let learn = |rig: &mut Rig<NucleusAccumbens>, ended: Vec<EndedAct>| {
            rig.send(EpisodesCaptured { episodes: Vec::new(), done: Vec::new(), ended });
        };
        for from in (0..LESSONS).step_by(BATCH) {
            learn(&mut rig, (from..LESSONS.min(from + BATCH)).map(|number| ended(number, kinds)).collect());
        }
        let mut fresh = LESSONS;
        group.bench_function(BenchmarkId::new("a message of 64 lessons, by kinds", kinds), |b| {
            b.iter(|| {
                learn(&mut rig, (fresh..fresh + BATCH).map(|number| ended(number, kinds)).collect());
                fresh += BATCH;
            });
        });
        let mut number = 0;
        group.bench_function(BenchmarkId::new("predict as a room, by kinds", kinds), |b| {
            b.iter(|| {
                number += 7;
                let act = ended(number, kinds);
                let params = Json::Object(act.params);
                let (tool_name, context) = (act.tool, Json::Null);
                rig.send(PredictOutcomes { tool_name, params, context, include_all_outcomes: false });
                rig.heard::<OutcomesPredicted>().len()
            });
        });
        by_hand.push(("nucleus_accumbens/waking".into(), kinds, waking(&mut rig)));
    }
    group.finish();
}

/// Chains of episodes, and a concept from every tenth.
fn removal(by_hand: &mut Vec<growth::Measured>) {
    for size in growth::sizes() {
        let mut rig = Rig::<CrossLayerGraph>::new(GraphSettings::default(), |_, _| {});
        let id = |number: usize| format!("e{number}");
        for start in (0..size).step_by(BATCH) {
            let numbers = start..size.min(start + BATCH);
            let causes = numbers.clone().map(|to| LayerEdge {
                kind: "CAUSES".into(),
                from: id(to.saturating_sub(1)),
                to: id(to),
                weight: 0.7,
                back: 0.7,
            });
            rig.send(LayerLinked { layer: Layer::Hippocampus, edges: causes.collect() });
            let derived = numbers.map(|number| CrossEdge {
                kind: CrossKind::DerivedFrom,
                from: MemoryRef::new(Layer::Atl, format!("c{}", number / 10)),
                to: MemoryRef::new(Layer::Hippocampus, id(number)),
                weight: 0.6,
            });
            rig.send(RecordsLinked { edges: derived.collect() });
        }
        let removed = |rig: &mut Rig<CrossLayerGraph>, layer: Layer, id: String| {
            rig.send(RecordsRemoved { layer, ids: vec![id], forgotten: true, again: false });
        };
        let step = size / ROUNDS as usize;
        let took = mean(|round| removed(&mut rig, Layer::Hippocampus, id(round as usize * step)));
        by_hand.push(("cross_layer_graph/an episode goes".into(), size, took));
        let took = mean(|round| removed(&mut rig, Layer::Atl, format!("c{}", round as usize * step / 10)));
        by_hand.push(("cross_layer_graph/a concept of ten episodes goes".into(), size, took));
        by_hand.push(("cross_layer_graph/waking".into(), size, waking(&mut rig)));
    }
}

fn candidate(number: usize) -> PromotionCandidate {
    let name = thing(number);
    PromotionCandidate {
        category: "good pattern".into(),
        definition: format!("the {name} is found in the {}.", ROOMS[number % 6]),
        confidence: Confidence::clamped(0.8),
        observations: 3,
        episodes: (0..3).map(|episode| format!("e{}", number * 3 + episode)).collect(),
        properties: BTreeMap::from([("place".to_owned(), ROOMS[number % 6].to_owned())]),
        relations: Vec::new(),
        sources: Vec::new(),
        series: Vec::new(),
        name,
    }
}

/// An earlier promotion.
fn known(candidate: &PromotionCandidate) -> ConceptLesson {
    ConceptLesson {
        name: candidate.name.clone(),
        category: candidate.category.clone(),
        definition: Some(candidate.definition.clone()),
        properties: candidate.properties.clone(),
        provenance: ConceptProvenance::EpisodicConsolidation,
        trust: Trust::Own,
        sources: candidate.episodes.iter().map(|id| MemoryRef::new(Layer::Hippocampus, id.clone())).collect(),
        passage: None,
        relations: Vec::new(),
    }
}

fn evidence(id: &str, sitting: u32) -> FetchedEpisode {
    FetchedEpisode {
        asked: id.into(),
        episode: RecalledEpisode {
            id: id.into(),
            score: 1.0,
            via: Via::Index,
            timestamp: monday_morning(),
            goal: None,
            tool: Some("look".into()),
            success: Some(true),
            text: format!("moment {id}"),
            people: vec!["anna".into()],
            result: None,
            trust: Trust::Own,
            said: true,
            speaker: None,
        },
        experienced: true,
        sitting,
        objects: vec!["cup".into()],
    }
}

struct Sleeper {
    promoter: Rig<SemanticPromoter>,
    lobe: Rig<AnteriorTemporalLobe>,
}

impl Sleeper {
    fn new() -> Self {
        let sources = PromoterSettings { sources: vec!["nucleus_accumbens"], ..PromoterSettings::default() };
        let promoter = Rig::new(sources, |bus, probe| {
            ear::<FetchEpisodes>(bus, probe);
            ear::<LearnConcepts>(bus, probe);
            ear::<PromotionEnded>(bus, probe);
        });
        let settings = AtlSettings {
            run: "bench".into(),
            encoder: Arc::new(TokenTable::embedded()),
            asks_meaning: false,
            law: ConceptLaw::default(),
        };
        Self { promoter, lobe: Rig::new(settings, ear::<ConceptsLearned>) }
    }

    /// Offers, checks, compares with known concepts, creates or reinforces; returns the number of created concepts.
    fn promote(&mut self, candidates: Vec<PromotionCandidate>) -> u64 {
        let turn: MessageId = self.promoter.send(Promote { by: "bench".into() });
        let offer = CandidatesOffered { source: "nucleus_accumbens".into(), candidates, contradicted: Vec::new() };
        self.promoter.send_in(turn, Trust::Own, offer);
        loop {
            for said in self.promoter.heard_all() {
                if let Some(asked) = said.get::<FetchEpisodes>() {
                    let episodes = (0..).zip(&asked.ids).map(|(sitting, id)| evidence(id, sitting)).collect();
                    self.promoter.send_in(turn, Trust::Own, EpisodesFetched { episodes, missing: Vec::new() });
                } else if let Some(lessons) = said.get::<LearnConcepts>() {
                    self.lobe.send(lessons.clone());
                    let learned = self.lobe.heard::<ConceptsLearned>().pop().unwrap_or_default();
                    self.promoter.send_in(turn, Trust::Own, learned);
                } else if let Some(ended) = said.get::<PromotionEnded>() {
                    return ended.created;
                }
            }
        }
    }
}

fn promotion(by_hand: &mut Vec<growth::Measured>) {
    for size in growth::sizes() {
        let mut sleeper = Sleeper::new();
        for start in (0..size).step_by(BATCH) {
            let lessons = (start..size.min(start + BATCH)).map(|number| known(&candidate(number))).collect();
            sleeper.lobe.send(LearnConcepts { lessons });
            sleeper.lobe.heard::<ConceptsLearned>();
        }
        let mut made = 0;
        let took = mean(|round| made += sleeper.promote(vec![candidate(size + round as usize)]));
        assert_eq!(made, u64::from(ROUNDS), "each candidate is a concept");
        by_hand.push(("semantic_promoter/a new concept, promoted".into(), size, took));
        by_hand.push(("anterior_temporal_lobe/waking".into(), size, waking(&mut sleeper.lobe)));
    }
}

fn main() {
    growth::run(|criterion| {
        let mut by_hand = Vec::new();
        times(criterion, &mut by_hand);
        likeness(criterion, &mut by_hand);
        causes(criterion, &mut by_hand);
        removal(&mut by_hand);
        promotion(&mut by_hand);
        by_hand
    });
}
