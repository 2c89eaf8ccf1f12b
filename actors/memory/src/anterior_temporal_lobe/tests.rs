use super::model::ConceptLaw;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::signals::concepts::{
    ConceptLesson, ConceptProvenance, ConceptRemoved, ConceptShown, ConceptsFound, ConceptsLearned, ConsolidateLayer,
    CrossEdge, CrossKind, DocumentIngested, FindConcepts, ForgetRecord, IngestDocument, KnowledgeRecalled, Layer,
    LayerConsolidated, LayerLinked, LearnConcepts, MemoryRef, PinRecord, ProposeRelationType, RecallKnowledge,
    RecordChanged, RecordsLinked, RecordsRemoved, RelationLesson, RelationTypeProposed, SourcesRemoved,
};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::numbers::MetricsCorrelated;
use maxim_bus::signals::recall::PhaseLocked;
use maxim_bus::signals::similarity::SituationsStored;
use maxim_bus::signals::skill::ExecutesWithLearned;
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, Trust};

use super::{AnteriorTemporalLobe, AtlSettings};
use maxim_language::TokenTable;
use maxim_region::Region;
use maxim_region::rig::{Rig, ear};

mod cards;
mod documents;
mod forgetting;

fn rig() -> Rig<AnteriorTemporalLobe> {
    let settings = AtlSettings {
        run: "test".into(),
        encoder: Arc::new(TokenTable::embedded()),
        asks_meaning: false,
        law: ConceptLaw::default(),
    };
    Rig::new(settings, |bus, probe| {
        ear::<ConceptsLearned>(bus, probe);
        ear::<ConceptsFound>(bus, probe);
        ear::<KnowledgeRecalled>(bus, probe);
        ear::<RelationTypeProposed>(bus, probe);
        ear::<DocumentIngested>(bus, probe);
        ear::<RecordChanged>(bus, probe);
        ear::<RecordsExported>(bus, probe);
        ear::<RecordsImported>(bus, probe);
        ear::<LayerConsolidated>(bus, probe);
        ear::<LayerLinked>(bus, probe);
        ear::<RecordsLinked>(bus, probe);
        ear::<RecordsRemoved>(bus, probe);
        ear::<ConceptRemoved>(bus, probe);
        ear::<SituationsStored>(bus, probe);
    })
}

fn lesson(name: &str, category: &str, episodes: &[&str]) -> ConceptLesson {
    ConceptLesson {
        name: name.into(),
        category: category.into(),
        definition: None,
        properties: BTreeMap::new(),
        provenance: ConceptProvenance::EpisodicConsolidation,
        trust: Trust::Own,
        sources: episodes.iter().map(|id| MemoryRef::new(Layer::Hippocampus, *id)).collect(),
        passage: None,
        relations: Vec::new(),
    }
}

fn with(mut lesson: ConceptLesson, kind: &str, to: &str) -> ConceptLesson {
    let relation = RelationLesson {
        kind: kind.into(),
        to: to.into(),
        category: String::new(),
        weight: 1.0,
        phase: None,
        coupling: None,
    };
    lesson.relations.push(relation);
    lesson
}

fn learn(rig: &mut Rig<AnteriorTemporalLobe>, lessons: Vec<ConceptLesson>) -> ConceptsLearned {
    rig.send(LearnConcepts { lessons });
    rig.heard::<ConceptsLearned>().pop().expect("an answer")
}

fn find(rig: &mut Rig<AnteriorTemporalLobe>, asked: FindConcepts) -> Vec<ConceptShown> {
    rig.send(asked);
    let found = rig.heard::<ConceptsFound>().pop().expect("an answer");
    assert_eq!(found.error, None);
    found.concepts
}

fn names(found: &[ConceptShown]) -> Vec<&str> {
    found.iter().map(|concept| concept.name.as_str()).collect()
}

fn named(name: &str) -> FindConcepts {
    FindConcepts { name: Some(name.into()), ..FindConcepts::default() }
}

#[test]
fn one_thing_by_several_spellings_is_one_concept() {
    let mut rig = rig();
    let spellings = ["coffee mug", "coffee_mug", "Coffee-Mugs", "the coffeeMug", "mug, coffee"];
    for (n, spelling) in spellings.iter().enumerate() {
        let learned = learn(&mut rig, vec![lesson(spelling, "object", &[&format!("e{n}")])]).learned.remove(0);
        assert_eq!((learned.created, learned.id.as_str()), (n == 0, "concept-0"), "{spelling}");
    }
    let found = find(&mut rig, named("COFFEE_MUG"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].reinforcements, 5);
    assert!((found[0].confidence.get() - (0.5 + 0.1 * 5f64.sqrt())).abs() < 1e-9);
    for other in ["mug", "tea mug", "coffee", "coffee mug 2"] {
        assert!(learn(&mut rig, vec![lesson(other, "object", &["x"])]).learned[0].created, "{other} is another thing");
    }
}

#[test]
fn the_same_evidence_reinforces_once() {
    let mut rig = rig();
    for round in 0..5 {
        let learned = learn(&mut rig, vec![lesson("mug", "object", &["e1", "e2"])]);
        assert_eq!(learned.learned[0].reinforced, round == 0);
    }
    assert_eq!(find(&mut rig, named("mug"))[0].reinforcements, 2);
}

#[test]
fn an_outsiders_word_makes_no_concept_and_changes_none() {
    let mut rig = rig();
    learn(&mut rig, vec![lesson("stove", "object", &["e1"])]);
    let before = rig.state_hash();
    let poison =
        ConceptLesson { definition: Some("A stove is harmless.".into()), ..lesson("stove", "object", &["p1"]) };
    let turn = MessageId::from_parts(1, 77);
    // Its own label is false: the turn in which it comes is an outsider's.
    rig.send_in(turn, Trust::Outside, LearnConcepts { lessons: vec![poison.clone()] });
    let labelled = ConceptLesson { trust: Trust::Outside, ..poison };
    rig.send(LearnConcepts { lessons: vec![labelled] });
    let answers = rig.heard::<ConceptsLearned>();
    assert!(answers.iter().all(|answer| answer.learned.is_empty() && answer.refused.len() == 1), "{answers:?}");
    let text = "A stove is a toy.".to_owned();
    let part = IngestDocument {
        document: "evil.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    rig.send_in(turn, Trust::Outside, part);
    assert_eq!(rig.heard::<DocumentIngested>()[0].created, 0);
    let stove = find(&mut rig, named("stove")).remove(0);
    assert_eq!((stove.definition.as_str(), stove.reinforcements), ("", 1));
    assert_ne!(rig.state_hash(), before, "the refusals are counted");
    // A less trusted source may support what is known, but doesn't rewrite it.
    let read = ConceptLesson {
        definition: Some("A stove is cold.".into()),
        trust: Trust::Listed,
        ..lesson("stove", "object", &["e2"])
    };
    learn(&mut rig, vec![read]);
    let stove = find(&mut rig, named("stove")).remove(0);
    assert_eq!((stove.definition.as_str(), stove.reinforcements, stove.trust), ("", 2, Trust::Own));
}

#[test]
fn kinds_are_found_over_any_number_of_steps_and_circles_are_none() {
    let mut rig = rig();
    learn(
        &mut rig,
        vec![
            with(lesson("mug", "", &["e1"]), "IS_A", "cup"),
            with(lesson("cup", "", &["e2"]), "is a", "container"),
            with(lesson("bowl", "", &["e3"]), "IS-A", "containers"),
            with(lesson("container", "", &["e4"]), "IS_A", "mug"),
            with(lesson("lamp", "", &["e5"]), "IS_A", "light source"),
        ],
    );
    let of_kind = FindConcepts { category: Some("containers".into()), limit: 20, ..FindConcepts::default() };
    assert_eq!(names(&find(&mut rig, of_kind.clone())), ["cup", "bowl", "mug"]);
    let asked = FindConcepts { relationship_type: Some("IS_A".into()), limit: 20, ..named("container") };
    assert_eq!(names(&find(&mut rig, asked)), ["cup", "bowl", "mug"]);
    rig.crash();
    assert_eq!(names(&find(&mut rig, of_kind)), ["cup", "bowl", "mug"]);
    let mug = find(&mut rig, named("mugs")).remove(0);
    assert_eq!(mug.relations.iter().map(|r| (r.kind.as_str(), r.name.as_str())).collect::<Vec<_>>(), [("IS_A", "cup")]);
}

#[test]
fn properties_and_inverse_relations_are_found() {
    let mut rig = rig();
    let red = BTreeMap::from([("Colour".to_owned(), "Red".to_owned())]);
    learn(
        &mut rig,
        vec![
            ConceptLesson { properties: red, ..lesson("fire truck", "vehicle", &["e1"]) },
            with(lesson("engine", "part", &["e2"]), "PART_OF", "fire truck"),
        ],
    );
    let by = |value: Option<&str>| FindConcepts {
        property: Some("colour".into()),
        value: value.map(str::to_owned),
        ..FindConcepts::default()
    };
    assert_eq!(names(&find(&mut rig, by(Some("red")))), ["fire truck"]);
    assert_eq!(names(&find(&mut rig, by(None))), ["fire truck"]);
    assert!(find(&mut rig, by(Some("blue"))).is_empty());
    let parts = FindConcepts { relationship_type: Some("HAS_PART".into()), ..named("fire truck") };
    assert_eq!(names(&find(&mut rig, parts)), ["engine"]);
    rig.send(FindConcepts { relationship_type: Some("LOVES".into()), ..FindConcepts::default() });
    let error = rig.heard::<ConceptsFound>().remove(0).error.expect("unknown");
    assert!(error.contains("LOVES") && error.contains("IS_A"), "{error}");
}

#[test]
fn a_proposed_relation_type_outlives_a_crash_and_only_trusted_ones_propose() {
    let mut rig = rig();
    let proposal = ProposeRelationType {
        name: "employs".into(),
        symmetric: false,
        inverse: Some("works for".into()),
        by: "anna".into(),
    };
    rig.send_in(MessageId::from_parts(1, 5), Trust::Outside, proposal.clone());
    assert!(!rig.heard::<RelationTypeProposed>()[0].accepted);
    assert_eq!(learn(&mut rig, vec![with(lesson("acme", "company", &["e1"]), "EMPLOYS", "anna")]).refused.len(), 1);
    rig.send(proposal);
    assert!(rig.heard::<RelationTypeProposed>()[0].accepted);
    rig.crash();
    assert!(learn(&mut rig, vec![with(lesson("acme", "company", &["e1"]), "EMPLOYS", "anna")]).refused.is_empty());
    let employers = FindConcepts { relationship_type: Some("WORKS_FOR".into()), ..named("anna") };
    assert_eq!(names(&find(&mut rig, employers)), ["acme"]);
}

#[test]
fn edges_to_sources_and_relations_are_told() {
    let mut rig = rig();
    rig.send(LearnConcepts { lessons: vec![with(lesson("mug", "", &["e1"]), "IS_A", "container")] });
    let told = rig.heard::<RecordsLinked>().remove(0).edges;
    let kinds: Vec<(CrossKind, &str, &str)> =
        told.iter().map(|edge| (edge.kind, edge.from.id.as_str(), edge.to.id.as_str())).collect();
    assert_eq!(kinds, [(CrossKind::DerivedFrom, "concept-0", "e1"), (CrossKind::InstanceOf, "e1", "concept-0")]);
    let mut counted = lesson("mug", "", &[]);
    counted.sources = vec![MemoryRef::new(Layer::AngularGyrus, "m1"), MemoryRef::new(Layer::Nac, "look -> success")];
    rig.send(LearnConcepts { lessons: vec![counted] });
    let told = rig.heard::<RecordsLinked>().remove(0).edges;
    let kinds: Vec<(CrossKind, &str, &str)> =
        told.iter().map(|edge| (edge.kind, edge.from.id.as_str(), edge.to.id.as_str())).collect();
    let informs = (CrossKind::Informs, "look -> success", "concept-0");
    let (confirms, computed) = (CrossKind::StatisticallyConfirms, CrossKind::ComputedFrom);
    assert_eq!(kinds, [(confirms, "m1", "concept-0"), (computed, "m1", "e1"), informs]);
    rig.send(LearnConcepts { lessons: vec![with(lesson("bowl", "", &["e2"]), "RELATED_TO", "mug")] });
    let edge = rig.heard::<LayerLinked>().remove(0).edges.remove(0);
    assert_eq!((edge.from.as_str(), edge.to.as_str(), edge.weight, edge.back), ("concept-2", "concept-0", 1.0, 1.0));
}

#[test]
fn what_a_tool_works_with_weighs_as_much_as_it_is_sure() {
    let mut rig = rig();
    rig.send(ExecutesWithLearned {
        tool: "grasp".into(),
        object: "cup".into(),
        successes: 3,
        failures: 1,
        confidence: Confidence::clamped(0.525),
        episodes: vec!["e1".into()],
    });
    let edge = rig.heard::<LayerLinked>().remove(0).edges.remove(0);
    assert_eq!((edge.kind.as_str(), edge.weight), ("EXECUTES_WITH", 0.525), "0.75 · (0.5 + 0.1 √4), as it is told");
}

#[test]
fn knowledge_is_what_bears_on_the_text_the_surest_first() {
    let mut rig = rig();
    let defined = |name: &str, definition: &str, episodes: &[&str]| ConceptLesson {
        definition: Some(definition.into()),
        ..lesson(name, "", episodes)
    };
    learn(
        &mut rig,
        vec![
            defined("write_file success", "Using write_file usually works.", &["a", "b", "c", "d"]),
            defined("bash failure", "Using bash usually goes wrong.", &["e"]),
            defined("lighthouse", "The lighthouse guides ships.", &["f"]),
        ],
    );
    rig.send(RecallKnowledge { text: "what do you know about write_file?".into(), limit: 8 });
    let known = rig.heard::<KnowledgeRecalled>().remove(0).entries;
    assert_eq!(known[0].name, "write_file success");
    assert!(known.iter().all(|entry| entry.name != "lighthouse"), "{known:?}");
    rig.send(RecallKnowledge { text: "good morning".into(), limit: 8 });
    assert!(rig.heard::<KnowledgeRecalled>().remove(0).entries.is_empty());
}

#[test]
fn what_nobody_asked_for_is_compressed_or_pruned_after_a_month_unless_pinned() {
    let mut rig = rig();
    let long = "It is described at length. ".repeat(30);
    let described =
        |name: &str, episodes: &[&str]| ConceptLesson { definition: Some(long.clone()), ..lesson(name, "", episodes) };
    learn(
        &mut rig,
        vec![
            described("anchor", &["e1", "e2"]),
            described("pinned thing", &["e3", "e4"]),
            lesson("passing thought", "", &["e5"]),
        ],
    );
    rig.send(PinRecord { id: "concept-1".into(), pinned: true });
    rig.pass(Duration::from_secs(30 * 86_400 - 1));
    rig.send(ConsolidateLayer { step: 16 });
    let early = rig.heard::<LayerConsolidated>().remove(0);
    assert_eq!((early.compressed, early.pruned), (0, 0), "thirty days aren't over: {early:?}");
    rig.pass(Duration::from_secs(1));
    rig.send(ConsolidateLayer { step: 16 });
    let done = rig.heard::<LayerConsolidated>().remove(0);
    assert_eq!((done.compressed, done.pruned, done.done), (1, 1, true), "{done:?}");
    assert!(done.bytes_after * 2 < done.bytes_before, "{done:?}");
    let anchor = find(&mut rig, named("anchor")).remove(0);
    assert!(anchor.compressed && anchor.reinforcements == 2);
    assert!(!find(&mut rig, named("pinned thing"))[0].compressed);
    assert!(find(&mut rig, named("passing thought")).is_empty());
    // It was used just now.
    rig.send(ConsolidateLayer { step: 16 });
    assert_eq!(rig.heard::<LayerConsolidated>()[0].compressed, 0);
}

#[test]
fn evidence_that_a_compressed_concept_names_no_more_counts_once() {
    let mut rig = rig();
    let long = "It is described at length. ".repeat(30);
    let taught = || {
        let episodes = ["e1", "e2", "e3", "e4", "e5", "e6", "e7"];
        ConceptLesson { definition: Some(long.clone()), ..lesson("anchor", "", &episodes) }
    };
    let text = "# Harbour\n\nAn anchor is a weight.\n".to_owned();
    let part = IngestDocument {
        document: "harbour.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    learn(&mut rig, vec![taught()]);
    rig.send(part.clone());
    let before = find(&mut rig, named("anchor")).remove(0).reinforcements;
    assert_eq!(before, 8, "seven episodes and a passage");
    for _ in 0..2 {
        rig.pass(Duration::from_secs(30 * 86_400));
        rig.send(ConsolidateLayer { step: 16 });
        assert!(find(&mut rig, named("anchor"))[0].compressed);
        rig.crash();
        learn(&mut rig, vec![taught()]);
        rig.send(part.clone());
        // The same words are in another place now.
        let moved = "# Quay\n\nAn anchor is a weight.\n".to_owned();
        rig.send(IngestDocument { text: moved, ..part.clone() });
        assert_eq!(find(&mut rig, named("anchor"))[0].reinforcements, before, "the same evidence");
    }
    learn(&mut rig, vec![lesson("anchor", "", &["e8"])]);
    assert_eq!(find(&mut rig, named("anchor"))[0].reinforcements, before + 1, "new evidence");
}

#[test]
fn concepts_are_exported_and_come_back_in_another_brain() {
    let mut rig = rig();
    learn(&mut rig, vec![with(lesson("mug", "object", &["e1"]), "IS_A", "container"), lesson("lamp", "", &["e2"])]);
    let mut lines: Vec<String> = Vec::new();
    let mut after = None;
    loop {
        rig.send(ExportRecords { after: after.clone(), limit: 2 });
        let part = rig.heard::<RecordsExported>().remove(0);
        lines.extend(part.lines);
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(lines.len(), 3);
    let mut other = self::rig();
    let lines = (1..).zip(lines.into_iter().chain(["nonsense".into()])).collect();
    other.send(ImportRecords { lines, ..ImportRecords::default() });
    let done = other.heard::<RecordsImported>().remove(0);
    assert_eq!((done.kept, done.bad.len(), done.bad[0].0), (3, 1, 4));
    assert_eq!(
        names(&find(&mut other, FindConcepts { category: Some("container".into()), ..FindConcepts::default() })),
        ["mug"]
    );
    assert!(learn(&mut other, vec![lesson("tulip", "", &["e9"])]).learned[0].id == "concept-3");
}

#[test]
fn a_crash_loses_nothing_and_changes_nothing() {
    let mut rig = rig();
    for n in 0..40 {
        learn(
            &mut rig,
            vec![with(lesson(&format!("thing {n}"), "object", &[&format!("e{n}")]), "IS_A", "object of all")],
        );
    }
    let (hash, before) = (rig.state_hash(), find(&mut rig, FindConcepts { limit: 100, ..FindConcepts::default() }));
    rig.crash();
    assert_eq!(rig.state_hash(), hash);
    assert_eq!(find(&mut rig, FindConcepts { limit: 100, ..FindConcepts::default() }), before);
}

#[test]
fn concepts_are_told_of_once_when_their_words_change_and_when_they_go() {
    let mut rig = rig();
    let told = |rig: &mut Rig<AnteriorTemporalLobe>| -> (Vec<String>, Vec<String>) {
        let all = rig.heard::<SituationsStored>();
        let stored = all.iter().flat_map(|one| one.stored.iter().map(|situation| situation.text.clone())).collect();
        (stored, all.iter().flat_map(|one| one.forgotten.iter().map(|(_, id)| id.clone())).collect())
    };
    rig.send(LearnConcepts { lessons: vec![lesson("red cup", "container", &["e1"]), lesson("stove", "", &["e2"])] });
    assert_eq!(told(&mut rig), (vec!["red cup: container".into(), "stove".into()], Vec::new()));
    rig.send(LearnConcepts { lessons: vec![lesson("red cup", "container", &["e3"])] });
    assert_eq!(told(&mut rig), (Vec::new(), Vec::new()), "it is better known, and says the same");
    rig.send(ForgetRecord { id: "concept-1".into() });
    assert_eq!(told(&mut rig), (Vec::new(), vec!["concept-1".into()]));
}

#[test]
fn what_goes_together_is_related_until_it_does_not_and_trends_and_rhythms_are_told_apart() {
    let mut rig = rig();
    let correlated = |holds, trends| MetricsCorrelated {
        metrics: ["pain:rate".into(), "energy:rate".into()],
        rho: 0.9,
        p: 0.001,
        q: 0.01,
        observations: 12,
        confidence: Confidence::clamped(0.8),
        holds,
        trends,
        trust: Trust::Own,
    };
    let locked = |holds| PhaseLocked { kind: "water".into(), clock: "day".into(), phase: 1.8, coupling: 0.9, holds };
    let kinds = |rig: &mut Rig<AnteriorTemporalLobe>, name: &str| {
        rig.send(FindConcepts { name: Some(name.into()), ..FindConcepts::default() });
        let found = rig.heard::<ConceptsFound>().remove(0).concepts;
        let relations = found.into_iter().flat_map(|concept| concept.relations);
        relations.map(|one| (one.kind, one.phase, one.coupling)).collect::<Vec<_>>()
    };
    rig.send(correlated(true, false));
    assert_eq!(kinds(&mut rig, "pain:rate"), [("CORRELATES_WITH".to_owned(), None, None)]);
    rig.send(correlated(true, true));
    rig.send(locked(true));
    rig.crash();
    assert_eq!(kinds(&mut rig, "pain:rate").len(), 2);
    rig.send(correlated(true, false));
    assert_eq!(kinds(&mut rig, "pain:rate"), [("CORRELATES_WITH".to_owned(), None, None)], "they rise no more");
    rig.send(correlated(true, true));
    assert_eq!(kinds(&mut rig, "water"), [("PHASE_LOCKED_TO".to_owned(), Some(1.8), Some(0.9))]);
    rig.send(correlated(false, false));
    rig.send(locked(false));
    assert!(kinds(&mut rig, "pain:rate").is_empty() && kinds(&mut rig, "water").is_empty());
}
