use std::collections::BTreeMap;
use std::time::Duration;

use maxim_bus::clock::Clock;
use maxim_bus::signals::concepts::LayerLinked;
use maxim_bus::signals::goal::{Goal, GoalChanged, GoalOrigin};
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::recall::{
    EpisodeFilter, EpisodesRecalled, ImportEpisodes, PredictionErrorSensed, RecallEpisodes, Via,
};
use maxim_bus::units::{Confidence, Novelty, Rpe, Salience, Valence, Value};
use maxim_bus::{MessageId, Trust};
use serde_json::json;

use super::{Bench, life};
use crate::hippocampus::edges::EdgeKind;
use crate::hippocampus::law::{LinkLaw, association, choose_associations};
use crate::hippocampus::linking::associations;
use crate::hippocampus::model::EpisodicMemory;
use crate::hippocampus::records::episode_key;

fn alike(bench: &mut Bench) {
    bench.import([
        json!({"id": "tea", "timestamp": "2026-01-05T06:00:00Z", "text": "Anna drinks black tea",
            "objects": ["ladder"], "people": ["Anna"], "goal": "tidy the attic"}),
        json!({"id": "weather", "timestamp": "2026-01-05T07:00:00Z", "text": "rain is expected along the coast"}),
        json!({"id": "shelf", "timestamp": "2026-01-05T08:00:00Z", "text": "it was put behind the door afterwards",
            "objects": ["ladder"], "goal": "tidy the attic"}),
    ]);
}

#[test]
fn what_shares_objects_and_goal_is_associated_and_recall_reaches_it() {
    let mut bench = Bench::new(None);
    alike(&mut bench);
    assert_eq!(bench.stats(), (3, 1));
    let filter =
        |expand| EpisodeFilter { query: Some("black tea".into()), expand, limit: 2, ..EpisodeFilter::default() };
    let plain: Vec<_> = bench.recall(filter(false)).into_iter().map(|found| found.via).collect();
    assert!(plain.iter().all(|via| *via == Via::Text), "{plain:?}");
    let found = bench.recall(EpisodeFilter { object: None, ..filter(true) });
    let reached: Vec<_> = found.iter().map(|found| (found.id.as_str(), found.via)).collect();
    assert_eq!(reached, [("tea", Via::Text), ("shelf", Via::Association)]);
    assert!(found[1].score > 0.25 && found[1].score < 0.5, "half of the edge's weight: {}", found[1].score);
}

#[test]
fn a_question_whose_asker_has_gone_on_is_answered_to_nobody() {
    let mut bench = Bench::new(None);
    alike(&mut bench);
    let now = bench.rig.clock.now();
    let mut answers = |until| {
        let filter = EpisodeFilter { limit: 3, ..EpisodeFilter::default() };
        bench.rig.send(RecallEpisodes { filter, except: None, thought: false, waits: false, until });
        bench.rig.heard::<EpisodesRecalled>().len()
    };
    assert_eq!([None, Some(now), Some(now - Duration::from_millis(1))].map(&mut answers), [1, 1, 0]);
}

#[test]
fn edges_are_the_same_after_a_crash() {
    let mut bench = Bench::new(None);
    bench.import(life(1_300, 0, 3));
    let rows = |bench: &Bench| -> Vec<_> { (0..1_300).map(|n| bench.rig.region().edges().own(n)).collect() };
    let before = rows(&bench);
    assert!(before.iter().flatten().count() > 300, "{} edges", before.iter().flatten().count());
    assert!(before.iter().all(|row| row.len() <= 5), "five at most at capture");
    bench.rig.crash();
    assert_eq!(rows(&bench), before);
    let loose = bench.rig.records().prefixed(b"edge/", usize::MAX).len();
    assert!(loose <= 1_024, "older ones are in blocks, {loose} are not");
}

#[test]
fn weights_are_those_of_the_law_and_nearly_the_best_are_found() {
    let mut bench = Bench::new(None);
    bench.import(life(900, 0, 5));
    let hippocampus = bench.rig.region();
    let indexes = hippocampus.indexes.as_ref().expect("awake");
    let episode = |n: u32| -> EpisodicMemory { bench.rig.records().get(&episode_key(n)).expect("kept") };
    let all: Vec<EpisodicMemory> = (0..900).map(episode).collect();
    let (mut found_sum, mut best_sum) = (0.0, 0.0);
    for n in (600..900).step_by(5) {
        let vector = indexes.text.vector_of(n).expect("it has words");
        let by_law = |other: u32| {
            let text = indexes.text.likeness(&vector, other);
            association(&all[n as usize], &all[other as usize], text).weight(&LinkLaw::default())
        };
        let found = associations(indexes, hippocampus.edges(), n, &all[n as usize], &LinkLaw::default());
        for (other, weight) in &found {
            assert!((by_law(*other) - weight).abs() < 1e-6, "{n} and {other}: {weight} and {}", by_law(*other));
        }
        found_sum += found.iter().map(|(_, weight)| weight).sum::<f64>();
        let best = choose_associations((0..n).map(|other| (other, by_law(other))), &LinkLaw::default());
        best_sum += best.iter().map(|(_, weight)| weight).sum::<f64>();
    }
    println!("weight of the edges that were found {found_sum:.1}, of the best {best_sum:.1}");
    assert!(best_sum > 5.0, "there is something to find: {best_sum}");
    assert!(found_sum >= 0.9 * best_sum, "{found_sum} of {best_sum}");
}

#[test]
fn an_observation_that_repeats_merges_into_its_edges() {
    let mut bench = Bench::new(None);
    alike(&mut bench);
    let times = |bench: &Bench| bench.rig.region().edges().own(2).iter().map(|edge| edge.times).collect::<Vec<_>>();
    assert_eq!(times(&bench), [1]);
    let line = json!({"id": "again", "timestamp": "2026-01-05T08:00:10Z", "text": "it was put behind the door afterwards",
        "objects": ["ladder"], "goal": "tidy the attic"});
    let imported = maxim_bus::signals::recall::ImportEpisodes {
        lines: vec![(1, line.to_string())],
        all: false,
        refused: Vec::new(),
        waits: false,
    };
    bench.rig.send(imported);
    bench.settle();
    assert!(bench.rig.heard::<LayerLinked>().is_empty(), "associations are the hippocampus's own");
    assert_eq!((bench.stats().0, times(&bench)), (3, vec![2]), "the same episode, and its edge is counted");
}

fn percept(text: &str) -> SalientPercept {
    SalientPercept {
        percept: Percept::from_outside("http", "anna", text.into(), false, Trust::Owner),
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.1),
    }
}

fn error(rpe: f64) -> PredictionErrorSensed {
    PredictionErrorSensed {
        action: MessageId::from_parts(0, 1),
        event: "touch".into(),
        outcome: "failed".into(),
        expected: Value::clamped(0.5),
        rpe: Rpe::clamped(rpe),
        value: Value::clamped(0.4),
        confidence: Confidence::clamped(0.6),
        valence: Valence::Negative,
    }
}

#[test]
fn a_surprise_makes_causes_of_what_came_before_with_the_same_goal() {
    let mut bench = Bench::new(None);
    let redirect = |title: &str| {
        let (id, at) = (MessageId::from_parts(1, 1), maxim_region::rig::monday_morning());
        let goal = Goal::new(id, title, GoalOrigin::Person, ("http", "anna"), Trust::Owner, at);
        GoalChanged { goal, active: Some(title.into()), suspended: Vec::new() }
    };
    bench.rig.send(redirect("bake bread"));
    let turns: Vec<MessageId> = ["knead", "wait", "heat the oven", "watch", "take it out"]
        .iter()
        .map(|text| bench.rig.send(percept(text)))
        .collect();
    bench.rig.send(redirect("feed the cat"));
    bench.rig.send(percept("where is the bowl"));
    bench.rig.send_in(turns[4], Trust::Own, error(-0.3));
    let causes = |bench: &Bench, n: u32| -> BTreeMap<u32, f64> {
        let own = bench.rig.region().edges().own(n).into_iter();
        own.filter(|edge| edge.kind == EdgeKind::Causes).map(|edge| (edge.to, edge.weight())).collect()
    };
    assert!(causes(&bench, 4).is_empty(), "0.3 is no surprise yet");
    bench.rig.send_in(turns[4], Trust::Own, error(-0.5));
    let made = causes(&bench, 4);
    assert_eq!(made.keys().copied().collect::<Vec<_>>(), [1, 2, 3], "the three before it, and not more");
    assert!(made.values().all(|weight| (weight - 0.5).abs() < 1e-4));
    let told = bench.rig.heard::<LayerLinked>().into_iter().flat_map(|told| told.edges);
    let told: Vec<_> = told.filter(|edge| edge.kind == "CAUSES").collect();
    assert!(told.iter().all(|edge| edge.to == turns[4].to_string() && edge.back == 0.0), "{told:?}");
    let mut from: Vec<&str> = told.iter().map(|edge| edge.from.as_str()).collect();
    from.sort_unstable();
    assert_eq!(from, [1, 2, 3].map(|n: usize| turns[n].to_string()), "other layers know what led to it");
    bench.rig.crash();
    assert_eq!(causes(&bench, 4), made);
    bench.settle();
    assert_eq!(causes(&bench, 4), made, "linking by likeness leaves them");
}

#[test]
fn what_an_import_brought_is_joined_more_slowly_while_somebody_waits_for_an_answer() {
    let joined_in_a_while = |is_asked: bool| {
        let mut bench = Bench::new(None);
        let lines = (1..).zip(life(2_000, 0, 3).into_iter().map(|line| line.to_string())).collect();
        bench.rig.send(ImportEpisodes { lines, all: true, refused: Vec::new(), waits: false });
        if is_asked {
            bench.rig.send(percept("where is the bowl"));
        }
        let waiting = |bench: &Bench| {
            let hippocampus = bench.rig.region();
            hippocampus.linking.waiting(hippocampus.next)
        };
        let before = waiting(&bench);
        (0..20).for_each(|_| bench.rig.pass(Duration::from_millis(2)));
        let joined = before - waiting(&bench);
        bench.settle();
        assert_eq!(waiting(&bench), 0, "all is joined at last");
        joined
    };
    let (alone, asked) = (joined_in_a_while(false), joined_in_a_while(true));
    assert!(asked > 0 && 3 * asked < alone, "{asked} of {alone}");
}
