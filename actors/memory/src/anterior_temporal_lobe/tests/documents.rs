//! Reading: dense documents, mere mentions, copies, and concepts known by a rhythm alone.

use super::*;

fn part(document: &str, text: &str) -> IngestDocument {
    let (document, text) = (document.to_owned(), text.to_owned());
    IngestDocument { document, markdown: true, text, passages_before: 0, lessons_before: 0, more: false }
}

#[test]
fn a_document_dense_in_definitions_is_learned_some_lessons_at_a_time() {
    let mut rig = rig();
    let text = (0..400).map(|n| format!("A widget{n} is a gadget number {n}.\n\n")).collect::<String>();
    let mut asked = part("widgets.md", &text);
    let (mut steps, mut created) = (0, 0);
    loop {
        rig.send(asked.clone());
        let done = rig.heard::<DocumentIngested>().remove(0);
        let learned = done.created + done.reinforced + done.known;
        assert!(learned > 0 && learned <= 64, "{done:?}");
        asked.lessons_before += learned;
        created += done.created;
        steps += 1;
        if done.lessons_left == 0 {
            break;
        }
    }
    assert!(steps > 5 && created >= 400, "{steps} steps, {created} concepts");
    assert_eq!(find(&mut rig, named("widget399"))[0].passages.len(), 1);
    rig.send(IngestDocument { lessons_before: 10_000, ..asked });
    let done = rig.heard::<DocumentIngested>().remove(0);
    assert_eq!((done.created, done.known, done.lessons_left), (0, 0, 0), "there are no more");
}

#[test]
fn what_is_only_mentioned_has_its_passage_and_is_defined_where_it_is_defined() {
    let mut rig = rig();
    rig.send(part("harbour.md", "# Harbour\n\nThe lamp is part of the lighthouse.\n\nA lighthouse is a tower.\n"));
    let found = find(&mut rig, named("lighthouse")).remove(0);
    let places: Vec<&str> = found.passages.iter().map(|passage| passage.place.as_str()).collect();
    assert_eq!(places, ["Harbour, passage 2", "Harbour, passage 1"]);
    assert_eq!((found.definition.as_str(), found.reinforcements), ("A lighthouse is a tower.", 2));
    let tower = find(&mut rig, named("tower")).remove(0);
    assert_eq!((tower.passages.len(), tower.reinforcements), (1, 1));
}

#[test]
fn a_copy_under_another_name_is_no_second_witness() {
    let mut rig = rig();
    let text = "# Harbour\n\nA ferry is a boat.\n";
    for name in ["a.md", "b.md", "copies/a.txt"] {
        rig.send(part(name, text));
    }
    assert_eq!(find(&mut rig, named("ferry"))[0].reinforcements, 1);
    rig.send(part("c.md", "# Ships\n\nA ferry is a boat. It has a ramp.\n"));
    assert_eq!(find(&mut rig, named("ferry"))[0].reinforcements, 2, "who says more says it himself");
}

#[test]
fn a_fact_of_a_document_is_known_though_little_else_is_and_the_question_has_words_of_its_own() {
    let mut rig = rig();
    rig.send(part("ships.md", "# Ships\n\nThe Seahawk is a brig.\n\nA brig is a ship. Its anchor weighs 900 kg.\n"));
    rig.send(RecallKnowledge { text: "how much does the anchor of a brig weigh?".into(), limit: 8 });
    let known = rig.heard::<KnowledgeRecalled>().remove(0).entries;
    assert!(known.iter().any(|entry| entry.text.contains("900 kg")), "{known:?}");
    rig.send(part("towns.md", "# Towns\n\n| City | People |\n|---|---|\n| Kiel | 247000 |\n| Binz | 5100 |\n"));
    rig.send(RecallKnowledge { text: "how many people live in Binz?".into(), limit: 8 });
    let known = rig.heard::<KnowledgeRecalled>().remove(0).entries;
    assert_eq!(known[0].text, "City: Binz | People: 5100.", "{known:?}");
}

#[test]
fn a_document_is_forgotten_by_its_name_and_can_be_read_again() {
    let mut rig = rig();
    let ships = "# Ships\n\nThe Seahawk is a brig. The harbour master is Ole Hansen.\n\nA brig is a ship.\n";
    rig.send(part("ships.md", ships));
    rig.send(part("more.md", "# Rigs\n\nA brig is a vessel with two masts.\n"));
    let forget = |rig: &mut Rig<AnteriorTemporalLobe>| {
        rig.send(ForgetRecord { id: "ships.md".into() });
        rig.heard::<RecordChanged>().remove(0).found
    };
    assert!(forget(&mut rig));
    assert!(!forget(&mut rig), "there is no such document any more");
    for restarted in [false, true] {
        if restarted {
            rig.crash();
        }
        assert!(find(&mut rig, named("seahawk")).is_empty());
        let brig = find(&mut rig, named("brig")).remove(0);
        assert_eq!((brig.passages.len(), brig.definition.as_str()), (1, "A brig is a vessel with two masts."));
        let outgoing = brig.relations.iter().filter(|relation| !relation.incoming);
        let relations: Vec<&str> = outgoing.map(|relation| relation.name.as_str()).collect();
        assert_eq!(relations, ["vessel"]);
        let records = rig.records().prefixed(b"", usize::MAX);
        let is_left = records.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("Hansen"));
        assert!(!is_left, "its text is in no record");
    }
    rig.send(part("ships.md", ships));
    assert_eq!(find(&mut rig, named("seahawk"))[0].definition, "The Seahawk is a brig.");
    assert_eq!(find(&mut rig, named("brig"))[0].passages.len(), 2);
}

#[test]
fn what_was_known_by_a_rhythm_alone_goes_with_it() {
    let mut rig = rig();
    let locked = |kind: &str, clock: &str, holds| PhaseLocked {
        kind: kind.into(),
        clock: clock.into(),
        phase: 1.8,
        coupling: 0.9,
        holds,
    };
    learn(&mut rig, vec![lesson("brew", "event", &["e1"])]);
    for (kind, clock) in [("water", "day"), ("brew", "day"), ("sweep", "day"), ("sweep", "week")] {
        rig.send(locked(kind, clock, true));
    }
    for kind in ["water", "brew", "sweep"] {
        rig.send(locked(kind, "day", false));
    }
    let is_known = |rig: &mut Rig<AnteriorTemporalLobe>, kind| !find(rig, named(kind)).is_empty();
    assert_eq!(["water", "brew", "sweep"].map(|kind| is_known(&mut rig, kind)), [false, true, true]);
    rig.send(locked("sweep", "week", false));
    rig.crash();
    assert!(!is_known(&mut rig, "sweep"));
}

#[test]
fn what_a_document_says_otherwise_now_replaces_what_it_said() {
    let mut rig = rig();
    rig.send(part("zeppelin.md", "# Zeppelin\n\nThe zeppelin is 90 m long.\n"));
    rig.send(part("zeppelin.md", "# Zeppelin\n\nThe zeppelin is 120 m long.\n"));
    let done = rig.heard::<DocumentIngested>().pop().expect("an answer");
    assert_eq!((done.created, done.reinforced, done.known, done.changed, done.dropped), (0, 0, 0, 1, 0), "{done:?}");
    let found = find(&mut rig, named("zeppelin")).remove(0);
    let texts: Vec<&str> = found.passages.iter().map(|passage| passage.text.as_str()).collect();
    assert_eq!(texts, ["The zeppelin is 120 m long."]);
    assert_eq!((found.definition.as_str(), found.reinforcements), ("The zeppelin is 120 m long.", 1));
    // Read again, it is known.
    rig.send(part("zeppelin.md", "# Zeppelin\n\nThe zeppelin is 120 m long.\n"));
    let done = rig.heard::<DocumentIngested>().pop().expect("an answer");
    assert_eq!((done.known, done.changed), (1, 0), "{done:?}");
}

#[test]
fn what_rested_on_words_that_are_gone_goes_with_them() {
    let mut rig = rig();
    rig.send(part("parts.md", "# Parts\n\nA valve is a device.\n\nA ferry is a boat.\n"));
    rig.send(part("parts.md", "# Parts\n\nA valve is a machine.\n"));
    let done = rig.heard::<DocumentIngested>().pop().expect("an answer");
    assert_eq!((done.created, done.reinforced, done.changed, done.dropped), (0, 0, 2, 4), "{done:?}");
    rig.crash();
    let valve = find(&mut rig, named("valve")).remove(0);
    let kinds: Vec<(&str, &str)> = valve.relations.iter().map(|one| (one.kind.as_str(), one.name.as_str())).collect();
    assert_eq!(kinds, [("IS_A", "machine")]);
    assert_eq!((valve.definition.as_str(), valve.reinforcements), ("A valve is a machine.", 1));
    assert!(["device", "ferry", "boat"].iter().all(|name| find(&mut rig, named(name)).is_empty()));
    assert_eq!(find(&mut rig, named("parts"))[0].passages.len(), 1);
}

#[test]
fn what_has_moved_in_a_document_is_the_same_evidence() {
    let mut rig = rig();
    rig.send(part("harbour.md", "# Harbour\n\nA ferry is a boat.\n"));
    rig.send(part("harbour.md", "# Harbour\n\nThe quay was mended.\n\nA ferry is a boat.\n"));
    assert_eq!(rig.heard::<DocumentIngested>().pop().map(|done| (done.changed, done.dropped)), Some((0, 0)));
    let ferry = find(&mut rig, named("ferry")).remove(0);
    assert_eq!((ferry.reinforcements, ferry.passages[0].place.as_str()), (1, "Harbour, passage 2"));
}

#[test]
fn what_stands_beyond_a_part_or_comes_from_an_outsider_takes_nothing_out() {
    let mut rig = rig();
    rig.send(part("parts.md", "# Parts\n\nA valve is a device.\n\nA ferry is a boat.\n"));
    rig.send(IngestDocument { more: true, ..part("parts.md", "# Parts\n\nA valve is a device.\n") });
    assert_eq!(find(&mut rig, named("ferry")).len(), 1, "another part may hold it");
    let turn = MessageId::from_parts(1, 77);
    rig.send_in(turn, Trust::Outside, part("parts.md", "# Parts\n\nA valve is a toy.\n"));
    assert_eq!(find(&mut rig, named("ferry")).len(), 1);
    assert_eq!(find(&mut rig, named("valve"))[0].definition, "A valve is a device.");
    rig.send(part("parts.md", "# Parts\n\nA valve is a device.\n"));
    assert!(find(&mut rig, named("ferry")).is_empty(), "the document ends before it");
}

#[test]
fn of_what_was_read_the_sentence_is_known_that_tells_most_of_what_is_asked() {
    let mut rig = rig();
    rig.send(part("boats.md", "# Seagull\n\nThe Seagull is a boat. The Seagull weighs 900 kg. It is blue.\n"));
    let said = |rig: &mut Rig<AnteriorTemporalLobe>, text: &str| {
        rig.send(RecallKnowledge { text: text.into(), limit: 8 });
        let entries = rig.heard::<KnowledgeRecalled>().remove(0).entries;
        let found = entries.into_iter().find(|entry| entry.name == "seagull").expect("it was read of");
        (found.text, found.read)
    };
    assert_eq!(said(&mut rig, "what is the Seagull?"), ("The Seagull is a boat.".into(), true));
    assert_eq!(said(&mut rig, "how many kg weighs the Seagull?"), ("The Seagull weighs 900 kg.".into(), true));
}

#[test]
fn a_document_becomes_concepts_with_their_passages() {
    let mut rig = rig();
    let text = "# Kitchen\n\nA mug is a container. It holds coffee.\n\nA bowl is a container.\n".to_owned();
    let part = IngestDocument {
        document: "kitchen.md".into(),
        markdown: true,
        text,
        passages_before: 0,
        lessons_before: 0,
        more: false,
    };
    rig.send(part.clone());
    let done = rig.heard::<DocumentIngested>().remove(0);
    // The heading is a concept too.
    assert_eq!((done.passages, done.created, done.known), (2, 3, 0), "{done:?}");
    let mug = find(&mut rig, named("mug")).remove(0);
    assert_eq!(mug.provenance, ConceptProvenance::DirectIngestion);
    assert_eq!(
        (mug.passages[0].document.as_str(), mug.passages[0].place.as_str()),
        ("kitchen.md", "Kitchen, passage 1")
    );
    assert_eq!(mug.trust, Trust::Listed);
    // Read again, it teaches nothing.
    rig.send(part);
    let again = rig.heard::<DocumentIngested>().remove(0);
    assert_eq!((again.created, again.reinforced, again.known), (0, 0, 4), "{again:?}");
    // Own experience of a thing that was read about adds to its evidence.
    learn(&mut rig, vec![lesson("mug", "", &["e1"])]);
    assert_eq!(find(&mut rig, named("mug"))[0].provenance, ConceptProvenance::Hybrid);
}

#[test]
fn what_a_document_says_first_of_a_thing_stays_its_definition() {
    let mut rig = rig();
    let first =
        "# Pump\n\nThe pump moves water.\n\n| Part | Count |\n|---|---|\n| valve | 2 |\n\nIt is cleaned in May.\n";
    let part = |text: &str, before: u32| IngestDocument {
        document: "pump.md".into(),
        markdown: true,
        text: text.into(),
        passages_before: before,
        lessons_before: 0,
        more: false,
    };
    rig.send(part(first, 0));
    rig.send(part("# Pump\n\nIts colour is green.\n", 3));
    let definition = |rig: &mut Rig<AnteriorTemporalLobe>| {
        rig.send(FindConcepts { name: Some("pump".into()), ..FindConcepts::default() });
        rig.heard::<ConceptsFound>().remove(0).concepts[0].definition.clone()
    };
    assert_eq!(definition(&mut rig), "The pump moves water.");
    // The same passage in a later edition of the document corrects it.
    rig.send(part("# Pump\n\nThe pump moves oil.\n", 0));
    assert_eq!(definition(&mut rig), "The pump moves oil.");
    let mut wrong = |asked: FindConcepts| {
        rig.send(asked);
        rig.heard::<ConceptsFound>().remove(0).error.expect("an error")
    };
    assert!(
        wrong(FindConcepts { concept_id: Some("concept-99".into()), ..FindConcepts::default() }).contains("concept-99")
    );
    assert!(
        wrong(FindConcepts { property: Some(" ".into()), ..FindConcepts::default() }).contains("property is empty")
    );
}
