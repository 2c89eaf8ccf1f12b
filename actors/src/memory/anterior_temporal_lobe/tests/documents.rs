//! What is read: dense documents, what is only mentioned, and copies; and what was known by a rhythm alone.

use super::*;

fn part(document: &str, text: &str) -> IngestDocument {
    let (document, text) = (document.to_owned(), text.to_owned());
    IngestDocument { document, markdown: true, text, passages_before: 0, lessons_before: 0 }
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
