//! Cost of knowledge by its size: concepts, and spreading activation over all layers: `cargo bench -p maxim-actors
//! --bench concepts`. Sizes: see `growth`.

mod growth;

use std::collections::BTreeMap;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion};
use maxim_actors::language::TokenTable;
use maxim_actors::memory::anterior_temporal_lobe::model::ConceptLaw;
use maxim_actors::memory::anterior_temporal_lobe::{AnteriorTemporalLobe, AtlSettings};
use maxim_actors::memory::cross_layer_graph::graph::{Edge, EdgeKind, Graph, Node};
use maxim_actors::memory::hippocampus::spreading::Spreading;
use maxim_actors::region::rig::{Rig, ear};
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{
    ConceptLesson, ConceptProvenance, ConceptsFound, ConceptsLearned, CrossKind, FindConcepts, KnowledgeRecalled,
    Layer, LearnConcepts, MemoryRef, RecallKnowledge,
};

const LOOKS: [&str; 20] = [
    "red", "blue", "green", "small", "large", "old", "new", "broken", "heavy", "light", "wooden", "metal", "glass",
    "paper", "round", "square", "striped", "clean", "dirty", "spare",
];
const THINGS: [&str; 20] = [
    "cup", "mug", "plate", "bottle", "chair", "table", "lamp", "book", "phone", "key", "box", "door", "window",
    "drawer", "shelf", "knife", "spoon", "towel", "plant", "screw",
];
/// Lessons of one message.
const LESSONS: usize = 64;

fn name(number: usize) -> String {
    format!("{} {} {}", LOOKS[number % 20], THINGS[number / 20 % 20], number / 400)
}

fn lesson(number: usize) -> ConceptLesson {
    ConceptLesson {
        name: name(number),
        category: THINGS[number / 20 % 20].into(),
        definition: Some(format!("the {} that stands in place {}", name(number), number % 97)),
        properties: BTreeMap::from([("place".to_owned(), (number % 97).to_string())]),
        provenance: ConceptProvenance::EpisodicConsolidation,
        trust: Trust::Own,
        sources: vec![MemoryRef::new(Layer::Hippocampus, format!("e{number}"))],
        passage: None,
        relations: Vec::new(),
    }
}

fn room(size: usize) -> Rig<AnteriorTemporalLobe> {
    let settings = AtlSettings {
        run: "bench".into(),
        encoder: Arc::new(TokenTable::embedded()),
        asks_meaning: false,
        law: ConceptLaw::default(),
    };
    let mut rig = Rig::new(settings, |bus, probe| {
        ear::<ConceptsLearned>(bus, probe);
        ear::<ConceptsFound>(bus, probe);
        ear::<KnowledgeRecalled>(bus, probe);
    });
    for start in (0..size).step_by(LESSONS) {
        rig.send(LearnConcepts { lessons: (start..size.min(start + LESSONS)).map(lesson).collect() });
        rig.heard::<ConceptsLearned>();
    }
    rig
}

fn concepts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("anterior_temporal_lobe");
    group.sample_size(10);
    for size in growth::sizes() {
        let mut rig = room(size);
        let mut numbers = (0..size).step_by(size / 97 + 1).cycle();
        let mut next = move || numbers.next().unwrap_or_default();
        let find = |rig: &mut Rig<AnteriorTemporalLobe>, query: FindConcepts| {
            rig.send(query);
            rig.heard::<ConceptsFound>().pop().map_or(0, |found| found.concepts.len())
        };
        let mut fresh = size;
        group.bench_function(BenchmarkId::new("find or create, new", size), |b| {
            b.iter(|| {
                fresh += 1;
                rig.send(LearnConcepts { lessons: vec![lesson(fresh)] });
                rig.heard::<ConceptsLearned>().len()
            });
        });
        group.bench_function(BenchmarkId::new("find or create, known", size), |b| {
            b.iter(|| {
                rig.send(LearnConcepts { lessons: vec![lesson(next())] });
                rig.heard::<ConceptsLearned>().len()
            });
        });
        group.bench_function(BenchmarkId::new("by name", size), |b| {
            b.iter(|| find(&mut rig, FindConcepts { name: Some(name(next())), ..FindConcepts::default() }));
        });
        group.bench_function(BenchmarkId::new("by property", size), |b| {
            b.iter(|| {
                let (property, value) = (Some("place".into()), Some((next() % 97).to_string()));
                find(&mut rig, FindConcepts { property, value, ..FindConcepts::default() })
            });
        });
        group.bench_function(BenchmarkId::new("by words and meaning", size), |b| {
            b.iter(|| find(&mut rig, FindConcepts { query: Some(name(next())), ..FindConcepts::default() }));
        });
        group.bench_function(BenchmarkId::new("knowledge for a prompt", size), |b| {
            b.iter(|| {
                rig.send(RecallKnowledge { text: format!("where is the {}?", name(next())), limit: 8 });
                rig.heard::<KnowledgeRecalled>().len()
            });
        });
    }
    group.finish();
}

/// Half episodes, half concepts; eight edges per node, a quarter of them between the layers.
fn spreading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cross_layer_graph");
    for size in growth::sizes() {
        let mut graph = Graph::default();
        let mut state = 7u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for number in 0..size {
            let mut edges: Vec<Edge> = (0..8)
                .map(|edge| {
                    let kind =
                        if edge < 2 { EdgeKind::Cross(CrossKind::DerivedFrom) } else { EdgeKind::Own("CAUSES".into()) };
                    Edge { kind, to: below(size) as u32, weight: 0.5 + below(50) as f32 / 100.0 }
                })
                .collect();
            edges.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            let layer = if number % 2 == 0 { Layer::Hippocampus } else { Layer::Atl };
            graph.set(number as u32, Some(Node { layer, id: number.to_string().into(), edges }));
        }
        group.bench_function(BenchmarkId::new("spreading, 3 hops, 8 edges a node", size), |b| {
            b.iter(|| graph.spread(&[(below(size) as u32, 1.0)], &Spreading::default()));
        });
    }
    group.finish();
}

fn main() {
    growth::run(|criterion| {
        spreading(criterion);
        concepts(criterion);
        Vec::new()
    });
}
