use std::time::Duration;

use super::*;
use crate::bridges::fixtures::lived;
use maxim_bus::Trust;
use maxim_bus::signals::concepts::{CrossEdge, CrossKind, LayerEdge};
use maxim_bus::signals::percept::{Disposition, Percept, SalientPercept};
use maxim_bus::signals::recall::{RecalledEpisode, Via};
use maxim_bus::units::{Novelty, Salience};
use maxim_region::rig::{Rig, ear};

fn recall(id: &str, score: f64) -> RecalledEpisode {
    RecalledEpisode {
        id: id.into(),
        score,
        via: Via::Text,
        timestamp: Timestamp::UNIX_EPOCH,
        goal: None,
        tool: None,
        success: None,
        text: String::new(),
        people: vec![],
        result: None,
        trust: Trust::Owner,
        said: true,
        speaker: None,
    }
}

fn enriched(recalled: Vec<RecalledEpisode>) -> EnrichedPercept {
    let percept = Percept::from_outside("http", "anna", "where is it".into(), false, Trust::Owner);
    let salient = SalientPercept {
        percept,
        disposition: Disposition::Proceed,
        salience: Salience::clamped(0.9),
        novelty: Novelty::clamped(0.5),
    };
    EnrichedPercept { recalled, ..EnrichedPercept::bare(salient) }
}

#[test]
fn a_day_later_the_weights_follow_from_what_was_recalled() {
    let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |bus, probe| {
        ear::<SignificanceLearned>(bus, probe);
        ear::<FollowAssociations>(bus, probe);
    });
    let mut novel = lived("a hedgehog at the door", &[]);
    novel.novelty = Novelty::clamped(1.0);
    rig.send(novel.clone());
    rig.send(enriched(vec![recall("other", 2.0), recall(&novel.episode, 1.0)]));
    rig.crash();
    rig.pass(Duration::from_secs(86_399));
    rig.send(lived("the day isn't over", &[]));
    assert!(rig.heard_all().is_empty(), "nothing is judged, nor asked for, before the day is over");
    rig.pass(Duration::from_secs(1));
    rig.send(lived("now it is", &[]));
    assert_eq!(rig.heard::<FollowAssociations>()[0].ids, [novel.episode.as_str()]);
    assert_eq!(rig.region().judged, 0, "it is asked what the moment is associated with");
    rig.send(AssociationsFollowed { next: vec![Vec::new()], missing: Vec::new() });
    // σ(−2 + 1 + 1) = ½ was expected, 1 − e^−½ = 0.393 came: the step is 0.2 · (0.393 − 0.5) = −0.0213.
    let weights = rig.region().weights;
    assert!((weights.bias + 2.021_306_131_942_5).abs() < 1e-9, "{weights:?}");
    assert!((weights.features[2] - 0.978_693_868_057_5).abs() < 1e-9);
    assert_eq!(rig.region().judged, 1);
    assert!(rig.heard::<SignificanceLearned>().is_empty(), "too small a change to be told");
}

#[test]
fn what_is_connected_or_became_a_concept_was_useful_too() {
    let judged = |link: &dyn Fn(&mut Rig<SignificanceLearner>, String), next: Vec<(String, f64)>| {
        let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
        let moment = lived("a hedgehog at the door", &[]);
        rig.send(moment.clone());
        link(&mut rig, moment.episode.clone());
        rig.crash();
        rig.pass(Duration::from_secs(86_400));
        rig.send(EpisodeLived { episode: "later".into(), ..moment });
        rig.send(AssociationsFollowed { next: vec![next], missing: Vec::new() });
        assert_eq!(rig.region().judged, 1);
        rig.region().weights.bias
    };
    let useless = judged(&|_, _| (), Vec::new());
    let caused = judged(
        &|rig, to| {
            let edge = LayerEdge { kind: "CAUSES".into(), from: "other".into(), to, weight: 0.8, back: 0.4 };
            rig.send(LayerLinked { layer: Layer::Hippocampus, edges: vec![edge] });
        },
        Vec::new(),
    );
    let promoted = judged(
        &|rig, episode| {
            let (concept, episode) = (MemoryRef::new(Layer::Atl, "cup"), MemoryRef::new(Layer::Hippocampus, episode));
            let edge = |kind, from: &MemoryRef, to: &MemoryRef| CrossEdge {
                kind,
                from: from.clone(),
                to: to.clone(),
                weight: 1.0,
            };
            let edges =
                vec![edge(CrossKind::DerivedFrom, &concept, &episode), edge(CrossKind::InstanceOf, &episode, &concept)];
            rig.send(RecordsLinked { edges });
        },
        Vec::new(),
    );
    let associated = judged(&|_, _| (), vec![("other".into(), 1.0)]);
    assert!(useless < associated && associated < caused && caused < promoted, "{associated} {caused} {promoted}");
}

#[test]
fn an_answer_is_for_the_moments_that_were_asked_of_though_one_has_left() {
    let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
    let novel = |id: &str, novelty: f64| EpisodeLived {
        episode: id.into(),
        novelty: Novelty::clamped(novelty),
        ..lived("x y", &[])
    };
    let id = |n: usize| format!("e{n:03}");
    // Only the last of them is novel, and associated with something.
    let useful = WAITING - 1;
    for n in 0..WAITING {
        rig.send(novel(&id(n), if n == useful { 1.0 } else { 0.0 }));
    }
    rig.pass(Duration::from_secs(86_400));
    rig.send(novel("later", 0.0));
    let left: Vec<usize> = (0..WAITING).filter(|n| !rig.region().waiting.contains_key(&id(*n))).collect();
    assert!(left.len() == 1 && left[0] < useful, "one left while they were asked of: {left:?}");
    let (until, _) = rig.region().asked.expect("asked");
    let expected = rig.region().taught(until, &[(id(useful), 0.5)], SignificanceLaw::default().eta);
    rig.crash();
    let next = (0..WAITING).map(|n| if n == useful { vec![("other".into(), 1.0)] } else { Vec::new() }).collect();
    rig.send(AssociationsFollowed { next, missing: Vec::new() });
    assert_eq!((rig.region().weights, rig.region().judged), expected);
    assert_eq!((rig.region().judged, rig.region().waiting.len()), (511, 1));
    assert_eq!(rig.region().earliest, rig.region().waiting.values().map(|waiting| waiting.at).min());
}

#[test]
fn without_an_answer_it_judges_by_what_was_told() {
    let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
    rig.send(lived("a hedgehog at the door", &[]));
    rig.pass(Duration::from_secs(86_400));
    for (n, judged) in [(1, 0), (2, 1)] {
        rig.send(EpisodeLived { episode: format!("e{n}"), ..lived("x y", &[]) });
        assert_eq!(rig.region().judged, judged);
        rig.pass(Duration::from_secs(60));
    }
}

#[test]
fn more_moments_than_there_is_room_for_take_the_place_of_others() {
    let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
    for n in 0..WAITING + 40 {
        rig.send(EpisodeLived { episode: format!("e{n}"), ..lived("x y", &[]) });
    }
    assert_eq!(rig.region().waiting.len(), WAITING);
    assert!(rig.region().waiting.contains_key(&format!("e{}", WAITING + 39)));
}

#[test]
fn what_a_person_has_forgotten_is_judged_no_more_and_no_id_of_it_is_kept() {
    let mut rig: Rig<SignificanceLearner> = Rig::new(SignificanceLaw::default(), |_, _| ());
    let novel = |id: &str| EpisodeLived { episode: id.into(), novelty: Novelty::clamped(1.0), ..lived("x y", &[]) };
    rig.send(novel("secret"));
    rig.send(novel("told"));
    let removed =
        |forgotten| RecordsRemoved { layer: Layer::Hippocampus, ids: vec!["secret".into()], forgotten, again: false };
    rig.send(removed(false));
    assert_eq!(rig.region().waiting.len(), 2, "what sleep let go teaches yet");
    rig.pass(Duration::from_secs(86_400));
    rig.send(novel("later"));
    rig.send(removed(true));
    let kept = rig.store().recover(SignificanceLearner::NAME).expect("read");
    let held = kept.root.iter().chain(&kept.events).any(|bytes| String::from_utf8_lossy(bytes).contains("secret"));
    assert!(!held, "neither its root nor the events since name it");
    rig.crash();
    // The answer is read by the positions in the question.
    let expected = rig.region().taught(
        rig.region().asked.expect("asked").0,
        &[("told".into(), 0.5)],
        SignificanceLaw::default().eta,
    );
    rig.send(AssociationsFollowed {
        next: vec![vec![("a".into(), 9.0)], vec![("b".into(), 1.0)]],
        missing: Vec::new(),
    });
    assert_eq!((rig.region().weights, rig.region().judged), expected);
    assert_eq!(rig.region().judged, 1);
}
