//! Removal: concepts on request, and their evidence.

use super::*;

#[test]
fn a_forgotten_concept_leaves_no_relation_behind() {
    let mut rig = rig();
    learn(&mut rig, vec![with(lesson("mug", "", &["e1"]), "IS_A", "container")]);
    rig.send(ForgetRecord { id: "concept-1".into() });
    assert_eq!(rig.heard::<RecordsRemoved>()[0].ids, ["concept-1"]);
    assert!(find(&mut rig, named("mug"))[0].relations.is_empty());
    assert!(find(&mut rig, named("container")).is_empty());
    rig.crash();
    assert!(find(&mut rig, named("mug"))[0].relations.is_empty());
    rig.send(ForgetRecord { id: "concept-99".into() });
    assert!(!rig.heard::<RecordChanged>()[0].found);
    assert!(learn(&mut rig, vec![lesson("container", "", &["e3"])]).learned[0].created);
}

#[test]
fn a_source_that_is_gone_is_no_source_any_more_over_a_crash() {
    let mut rig = rig();
    learn(&mut rig, vec![lesson("mug", "", &["e1", "e2"])]);
    let e1 = MemoryRef::new(Layer::Hippocampus, "e1");
    rig.send(SourcesRemoved {
        gone: vec![("concept-0".into(), e1.clone()), ("concept-9".into(), e1)],
        forgotten: false,
    });
    for _ in 0..2 {
        let mug = find(&mut rig, named("mug")).remove(0);
        assert_eq!(mug.source_episodes, ["e2"]);
        assert_eq!(mug.reinforcements, 2, "what it taught stays");
        rig.crash();
    }
    // A measurement of it is computed from remaining data.
    let mut measured = lesson("mug", "", &[]);
    measured.sources = vec![MemoryRef::new(Layer::AngularGyrus, "m1")];
    rig.send(LearnConcepts { lessons: vec![measured] });
    let edges: Vec<CrossEdge> = rig.heard::<RecordsLinked>().into_iter().flat_map(|linked| linked.edges).collect();
    let computed = edges.iter().filter(|edge| edge.kind == CrossKind::ComputedFrom);
    assert_eq!(computed.map(|edge| edge.to.id.as_str()).collect::<Vec<_>>(), ["e2"]);
}

fn forgotten(concept: &str, episodes: &[&str]) -> SourcesRemoved {
    let gone = episodes.iter().map(|id| (concept.to_owned(), MemoryRef::new(Layer::Hippocampus, *id)));
    SourcesRemoved { gone: gone.collect(), forgotten: true }
}

#[test]
fn what_a_person_has_forgotten_is_no_evidence_and_the_last_of_it_takes_the_concept_along() {
    let mut rig = rig();
    let zapper = with(lesson("zapper failure", "", &["e1", "e2", "e3"]), "RELATED_TO", "zebulon");
    let zapper = with(zapper, "CAUSES", "shock");
    let other = with(lesson("lamp", "", &["e9"]), "CAUSES", "shock");
    learn(&mut rig, vec![zapper, other]);
    rig.send(forgotten("concept-0", &["e1", "e2"]));
    let left = find(&mut rig, named("zapper failure")).remove(0);
    assert_eq!((left.source_episodes, left.reinforcements), (vec!["e3".to_owned()], 1));
    rig.send(forgotten("concept-0", &["e3"]));
    let told = rig.heard::<RecordsRemoved>();
    assert!(told.iter().all(|removed| removed.forgotten) && told.len() == 2, "{told:?}");
    for _ in 0..2 {
        assert!(find(&mut rig, named("zapper failure")).is_empty());
        assert!(find(&mut rig, named("zebulon")).is_empty(), "nothing else tells of it");
        assert_eq!(find(&mut rig, named("shock")).len(), 1, "the lamp causes it too");
        rig.crash();
    }
    assert!(learn(&mut rig, vec![lesson("zapper failure", "", &["e7"])]).learned[0].created);
}

#[test]
fn a_concept_stays_that_a_sleep_let_sources_go_of_or_that_was_told_or_pinned() {
    let mut rig = rig();
    let mut told = lesson("valve", "", &["e1"]);
    told.provenance = ConceptProvenance::DirectIngestion;
    learn(&mut rig, vec![lesson("mug", "", &["e1", "e2"]), told, lesson("bowl", "", &["e1"])]);
    rig.send(PinRecord { id: "concept-2".into(), pinned: true });
    let e1 = MemoryRef::new(Layer::Hippocampus, "e1");
    rig.send(SourcesRemoved { gone: vec![("concept-0".into(), e1)], forgotten: false });
    rig.send(forgotten("concept-0", &["e2"]));
    rig.send(forgotten("concept-1", &["e1"]));
    rig.send(forgotten("concept-2", &["e1"]));
    assert_eq!(find(&mut rig, named("mug"))[0].reinforcements, 1, "what it was taught in sleep it keeps");
    for name in ["valve", "bowl"] {
        assert_eq!(find(&mut rig, named(name))[0].reinforcements, 0, "{name}");
    }
}
