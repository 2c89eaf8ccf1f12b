//! A start reads cards and derives nothing again. A damaged card, or one of another encoder, is made in steps.

use std::path::Path;

use super::*;
use maxim_language::{Embedding, Encoder, EncoderId};
use maxim_store::Commit;

const MANY: u32 = 150;

fn taught() -> Rig<AnteriorTemporalLobe> {
    let mut rig = rig();
    let lessons = (0..MANY - 1).map(|n| {
        let mut lesson = with(lesson(&format!("kettle {n}"), "container", &[&format!("e{n}")]), "IS_A", "container");
        lesson.definition = Some(format!("the kettle that stands in place {}", n % 7));
        lesson.properties.insert("place".into(), (n % 7).to_string());
        lesson
    });
    learn(&mut rig, lessons.collect());
    rig
}

fn answers(rig: &mut Rig<AnteriorTemporalLobe>) -> Vec<Vec<ConceptShown>> {
    let asked = [
        named("kettle 12"),
        FindConcepts { property: Some("place".into()), value: Some("3".into()), limit: 50, ..FindConcepts::default() },
        FindConcepts { query: Some("what is in place 5?".into()), limit: 9, ..FindConcepts::default() },
        FindConcepts { category: Some("container".into()), limit: 200, ..FindConcepts::default() },
        FindConcepts {
            name: Some("container".into()),
            relationship_type: Some("IS_A".into()),
            limit: 200,
            ..FindConcepts::default()
        },
    ];
    asked.into_iter().map(|asked| find(rig, asked)).collect()
}

fn count(rig: &Rig<AnteriorTemporalLobe>, prefix: &str) -> usize {
    rig.records().prefixed(prefix.as_bytes(), usize::MAX).len()
}

/// Number of records that a start reads, by the kind of their keys.
fn read_at_start(rig: &Rig<AnteriorTemporalLobe>, kind: &str) -> usize {
    rig.woken_by()[0].iter().filter(|(key, _)| Path::new(&*String::from_utf8_lossy(key)).starts_with(kind)).count()
}

fn settle_over_crashes(rig: &mut Rig<AnteriorTemporalLobe>) -> usize {
    let mut steps = 0;
    while rig.tick() {
        rig.crash();
        steps += 1;
        assert!(steps < 100, "it ends");
    }
    steps
}

#[test]
fn a_start_reads_cards_alone_and_knows_what_was_known() {
    let mut rig = taught();
    let before = answers(&mut rig);
    let cards: Vec<_> = (0..MANY).map(|number| rig.region().index.card(number).cloned()).collect();
    assert!(cards.iter().all(Option::is_some) && before.iter().all(|found| !found.is_empty()));
    rig.crash();
    assert_eq!(cards, (0..MANY).map(|number| rig.region().index.card(number).cloned()).collect::<Vec<_>>());
    assert_eq!(answers(&mut rig), before);
    assert_eq!((read_at_start(&rig, "card"), read_at_start(&rig, "concept")), (MANY as usize, 0));
    rig.send(ForgetRecord { id: "concept-4".into() });
    rig.crash();
    assert_eq!((count(&rig, "card/"), count(&rig, "concept/")), (MANY as usize - 1, MANY as usize - 1));
    assert_eq!(rig.region().index.len(), MANY as usize - 1);
}

/// The table under another name.
#[derive(Debug)]
struct Renamed(TokenTable, EncoderId);

impl Encoder for Renamed {
    fn id(&self) -> &EncoderId {
        &self.1
    }

    fn dims(&self) -> usize {
        self.0.dims()
    }

    fn embed(&self, text: &str) -> Embedding {
        Embedding::new(self.1.clone(), self.0.embed(text).vector().to_vec())
    }
}

#[test]
fn a_card_of_another_encoder_or_that_is_damaged_is_made_anew() {
    let mut rig = taught();
    let before = answers(&mut rig);
    let encoder = Arc::new(Renamed(TokenTable::embedded(), EncoderId::new("renamed")));
    let settings = AtlSettings { run: "test".into(), encoder, asks_meaning: false, law: ConceptLaw::default() };
    rig.restart(settings);
    assert_eq!(settle_over_crashes(&mut rig), MANY.div_ceil(64) as usize);
    assert_eq!(read_at_start(&rig, "concept"), 0);
    assert_eq!(answers(&mut rig), before);
    let name = AnteriorTemporalLobe::NAME;
    let records = vec![(b"card/00000005".to_vec(), Some(b"no card"[..].into()))];
    let commit = Commit { records, state_hash: rig.state_hash(), ..Commit::of(name, rig.store().epoch(name)) };
    rig.store().accept(commit, |_| {}).expect("accepted");
    rig.crash();
    assert_eq!((rig.region().index.len(), settle_over_crashes(&mut rig)), (MANY as usize, 1));
    assert_eq!(answers(&mut rig), before);
}
