//! The room on the bench, and its index against exact search.

use super::law::LikenessWeights;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::similarity::{EPISODES, FindSimilar, SimilarFound, Situation, SituationsStored};

use super::model::{Cue, Item};
use super::situation_index::SituationIndex;
use super::{EntorhinalCortex, EntorhinalSettings};
use maxim_language::packed::PackedVector;
use maxim_language::{Encoder, EncoderId, TokenTable};
use maxim_region::rig::{Rig, ear, monday_morning};

fn settings() -> EntorhinalSettings {
    EntorhinalSettings {
        encoder: Arc::new(TokenTable::embedded()),
        outer: None,
        zone: TimeZone::UTC,
        weights: LikenessWeights::default(),
    }
}

fn rig() -> Rig<EntorhinalCortex> {
    Rig::new(settings(), |bus, probe| {
        ear::<SimilarFound>(bus, probe);
        ear::<StatsReported>(bus, probe);
    })
}

fn said(id: &str, text: &str) -> Situation {
    Situation { layer: EPISODES.into(), id: id.into(), at: monday_morning(), text: text.into(), ..Situation::default() }
}

fn done(id: &str, text: &str, tool: &str, success: bool, objects: &[&str]) -> Situation {
    let objects = objects.iter().map(ToString::to_string).collect();
    Situation { tool: Some(tool.into()), success: Some(success), objects, ..said(id, text) }
}

fn store(rig: &mut Rig<EntorhinalCortex>, stored: Vec<Situation>) {
    rig.send(SituationsStored { stored, ..SituationsStored::default() });
}

fn ask(rig: &mut Rig<EntorhinalCortex>, query: FindSimilar) -> SimilarFound {
    rig.send(query);
    rig.heard::<SimilarFound>().pop().expect("an answer")
}

fn memories() -> Vec<Situation> {
    vec![
        done("a", "turn on the lamp in the kitchen", "switch", true, &["lamp"]),
        done("b", "please switch the kitchen light on", "switch", true, &["lamp"]),
        done("c", "compile the project and run its tests", "bash", false, &[]),
        said("d", "my sister moved to Lisbon last summer"),
    ]
}

#[test]
fn what_is_alike_comes_first_a_duplicate_is_one_and_the_unrelated_stays_below_a_tenth() {
    let mut rig = rig();
    let mut all = memories();
    all.push(Situation { id: "e".into(), ..all[0].clone() });
    store(&mut rig, all);
    let found = ask(&mut rig, FindSimilar { memory_id: Some("a".into()), limit: 10, ..FindSimilar::default() });
    let scores: Vec<(&str, f64)> = found.results.iter().map(|like| (like.id.as_str(), like.score)).collect();
    assert_eq!((scores[0].0, scores[1].0), ("e", "b"), "{scores:?}");
    assert!((scores[0].1 - 1.0).abs() < 1e-9, "{scores:?}");
    assert!(scores[1].1 > 0.5 && scores[1].1 < 1.0, "{scores:?}");
    assert!(scores[2..].iter().all(|(_, score)| *score < 0.1), "{scores:?}");
    println!("likeness to \"turn on the lamp in the kitchen\": {scores:?}");
    assert!(scores.iter().all(|(id, _)| *id != "a"), "what was asked for isn't its own likeness");
}

#[test]
fn a_partial_cue_is_completed_to_the_whole() {
    let mut rig = rig();
    store(&mut rig, memories());
    let by_words =
        ask(&mut rig, FindSimilar { context: Some("building the software".into()), ..FindSimilar::default() });
    assert_eq!(by_words.results[0].id, "c");
    assert_eq!((by_words.results[0].tool.as_deref(), by_words.results[0].success), (Some("bash"), Some(false)));
    let by_tool = ask(&mut rig, FindSimilar { tool_name: Some("switch".into()), ..FindSimilar::default() });
    let ids: Vec<&str> = by_tool.results.iter().map(|like| like.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"], "both uses, the newer first");
    assert_eq!(by_tool.results[0].parts.semantic, None, "what the cue doesn't say isn't compared");
}

#[test]
fn near_duplicates_stay_distinct() {
    let mut rig = rig();
    store(
        &mut rig,
        vec![
            done("left", "the red cup is on the left shelf", "look", true, &["red cup", "left shelf"]),
            done("right", "the red cup is on the right shelf", "look", true, &["red cup", "right shelf"]),
        ],
    );
    let cue = FindSimilar { context: Some("the red cup is on the right shelf".into()), ..FindSimilar::default() };
    let found = ask(&mut rig, cue);
    assert_eq!(found.results.len(), 2);
    assert_eq!(found.results[0].id, "right");
    assert!(found.results[0].score > found.results[1].score);
}

#[test]
fn a_situation_told_again_is_changed_and_a_forgotten_one_is_gone_over_a_crash() {
    let mut rig = rig();
    store(&mut rig, memories());
    store(&mut rig, vec![done("d", "my sister moved to Lisbon last summer", "write_file", true, &["letter"])]);
    let forgotten = vec![(EPISODES.to_owned(), "b".to_owned())];
    rig.send(SituationsStored { stored: Vec::new(), forgotten });
    let before = rig.state_hash();
    for _ in 0..2 {
        let written = ask(&mut rig, FindSimilar { tool_name: Some("write_file".into()), ..FindSimilar::default() });
        assert_eq!(written.results.iter().map(|like| like.id.as_str()).collect::<Vec<_>>(), ["d"]);
        let lamps = ask(&mut rig, FindSimilar { object: Some("lamp".into()), ..FindSimilar::default() });
        assert_eq!(lamps.results.iter().map(|like| like.id.as_str()).collect::<Vec<_>>(), ["a"]);
        rig.send(ReportStats {});
        let stats = rig.heard::<StatsReported>().pop().expect("stats");
        assert_eq!(stats.counts["signatures"], 3);
        rig.crash();
        assert_eq!(rig.state_hash(), before);
    }
}

#[test]
fn a_large_store_wakes_from_its_segments_and_knows_what_changed_in_them() {
    let mut rig = rig();
    let thing = |n: usize| ["lamp", "door", "kettle", "cable", "mirror"][n % 5].to_string() + &format!(" {}", n % 97);
    let time = |n: usize| monday_morning() + SignedDuration::from_mins(n as i64);
    let told = |n: usize| {
        let thing = thing(n);
        let goal = Some(format!("tidy room {}", n % 7));
        Situation {
            goal,
            at: time(n),
            ..done(&format!("m{n}"), &format!("put away the {thing}"), "move", !n.is_multiple_of(3), &[&thing])
        }
    };
    for part in 0..12 {
        store(&mut rig, (part * 500..(part + 1) * 500).map(told).collect());
    }
    store(&mut rig, vec![done("m3", "the parrot learned a word", "teach", true, &["parrot"])]);
    rig.send(SituationsStored { stored: Vec::new(), forgotten: vec![(EPISODES.to_owned(), "m4".to_owned())] });
    let cues = [
        FindSimilar { tool_name: Some("teach".into()), ..FindSimilar::default() },
        FindSimilar { object: Some("mirror 4".into()), limit: 30, ..FindSimilar::default() },
        FindSimilar { memory_id: Some("m700".into()), limit: 10, ..FindSimilar::default() },
        FindSimilar { context: Some("where the kettle went".into()), limit: 10, ..FindSimilar::default() },
        FindSimilar {
            context: Some("where the kettle went".into()),
            time_after: Some(time(1002)),
            time_before: Some(time(1017)),
            limit: 50,
            ..FindSimilar::default()
        },
    ];
    let before: Vec<SimilarFound> = cues.iter().map(|cue| ask(&mut rig, cue.clone())).collect();
    assert_eq!(before[0].results.iter().map(|like| like.id.as_str()).collect::<Vec<_>>(), ["m3"]);
    let mut times: Vec<Timestamp> = before[4].results.iter().map(|like| like.timestamp).collect();
    times.sort();
    assert_eq!(times, [1002, 1007, 1012, 1017].map(time), "each kettle of the time");
    assert!(!before[1].results.is_empty() && before[1].results.iter().all(|like| like.id != "m4"));
    rig.crash();
    let after: Vec<SimilarFound> = cues.iter().map(|cue| ask(&mut rig, cue.clone())).collect();
    assert_eq!(after, before);
    let [wakes, lists] = rig.woken_by();
    assert_eq!(wakes, lists, "what it says that it is woken by");
    let segments = lists.iter().filter(|(key, _)| key.starts_with(b"segment/")).count();
    assert!(segments > 0 && lists.len() > segments, "{segments} of {}", lists.len());
    rig.restart(EntorhinalSettings { encoder: Arc::new(Turned::new()), ..settings() });
    let [wakes, lists] = rig.woken_by();
    assert_eq!(wakes, lists, "and with another encoder");
    rig.pass(Duration::from_secs(1));
    for n in 6000..6003 {
        store(&mut rig, vec![told(n)]);
    }
    let [wakes, again] = rig.woken_by();
    assert_eq!(wakes, again, "and when all are made anew");
    assert_eq!(again.iter().filter(|(key, _)| key.starts_with(b"segment/")).count(), segments, "in segments again");
    assert!(again.len() < lists.len() / 2, "{} after {}", again.len(), lists.len());
}

#[test]
fn a_question_without_a_cue_is_told_what_to_give() {
    let mut rig = rig();
    let nothing = ask(&mut rig, FindSimilar::default());
    assert!(nothing.problem.expect("a problem").contains("memory_id"));
    let unknown = ask(&mut rig, FindSimilar { memory_id: Some("zzz".into()), ..FindSimilar::default() });
    assert!(unknown.problem.expect("a problem").contains("zzz"));
}

/// The table under another name, with every vector rotated: another encoder.
#[derive(Debug)]
struct Turned {
    table: TokenTable,
    id: EncoderId,
}

impl Turned {
    fn new() -> Self {
        Self { table: TokenTable::embedded(), id: EncoderId::new("turned") }
    }
}

impl Encoder for Turned {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn dims(&self) -> usize {
        self.table.dims()
    }

    fn embed(&self, text: &str) -> maxim_language::Embedding {
        let vector = self.table.embed(text).vector().iter().rev().map(|x| -x).collect();
        maxim_language::Embedding::new(self.id.clone(), vector)
    }
}

#[test]
fn another_encoder_never_meets_old_vectors_and_structure_answers_meanwhile() {
    let table = TokenTable::embedded();
    let turned = Turned::new();
    let mut index = SituationIndex::new(turned.id().clone(), turned.dims(), turned.floor(), TimeZone::UTC);
    for (place, situation) in memories().into_iter().enumerate() {
        index.put(place as u32, &Item::new(situation, &table));
    }
    assert!((0..4).all(|place| !index.has_vector(place)), "vectors of the table are left out");
    let meant = Cue { text: Some(PackedVector::of(&turned.embed("software build"))), ..Cue::default() };
    assert!(index.find(&meant, 5, |_| true).is_empty());
    let used = Cue { tool: Some("switch".into()), ..Cue::default() };
    assert_eq!(index.find(&used, 5, |_| true).len(), 2);
    for (place, situation) in memories().into_iter().enumerate() {
        index.set_vector(place as u32, &PackedVector::of(&turned.embed(&situation.text)));
    }
    assert_eq!(index.find(&meant, 5, |_| true)[0].item, 2);
}

mod quality;
mod settled;
