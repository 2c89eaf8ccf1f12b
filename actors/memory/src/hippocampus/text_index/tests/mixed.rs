//! Recall among mixed experience: what people said, what tools did and how it failed, what was sensed and read.
//! Questions use other words than the facts, and name people and things.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::*;
use crate::hippocampus::import::{ImportDefaults, ImportLine};
use crate::hippocampus::model::EpisodicMemory;
use maxim_language::TokenTable;

/// Unrelated memories among the facts, and how many of them stand together.
const NOISE: usize = 1_500;
const SITTING: usize = 15;

#[derive(Deserialize)]
struct Fact {
    line: Map<String, Value>,
    ask: Vec<String>,
}

#[derive(Deserialize)]
struct Noise {
    slots: BTreeMap<String, Vec<String>>,
    /// Lines of an import with slots in braces.
    noise: Vec<String>,
}

/// Numerical Recipes' generator, which is good enough for mixing.
struct Dice(u32);

impl Dice {
    fn of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        &from[(self.0 >> 8) as usize % from.len()]
    }
}

impl Noise {
    fn line(&self, dice: &mut Dice) -> String {
        let mut line = dice.of(&self.noise).clone();
        for (name, words) in &self.slots {
            let slot = format!("{{{name}}}");
            while let Some(at) = line.find(&slot) {
                line.replace_range(at..at + slot.len(), dice.of::<String>(words));
            }
        }
        line
    }
}

fn episode(line: &str) -> EpisodicMemory {
    let defaults = ImportDefaults { id: "", now: Timestamp::UNIX_EPOCH, run: "" };
    ImportLine::parse(line).expect("a line").into_episode(&defaults)
}

/// Each fact in a session of unrelated memories.
fn life(facts: &[Fact]) -> (TextIndex, Vec<String>) {
    let noise: Noise = serde_json::from_str(include_str!("mixed_noise.json")).expect("JSON");
    let (mut dice, mut lines) = (Dice(7), Vec::new());
    let apart = NOISE / facts.len();
    for fact in facts {
        (0..apart).for_each(|_| lines.push(noise.line(&mut dice)));
        lines.push(serde_json::to_string(&fact.line).expect("JSON"));
    }
    let mut index = TextIndex::with_encoder(Arc::new(TokenTable::embedded()));
    let episodes = lines.iter().map(|line| episode(line));
    let ids = episodes.enumerate().map(|(at, mut episode)| {
        episode.sitting = (at / SITTING) as u32;
        let more = episode.further_words();
        index.add(at as u32, &episode.fields(&more, episode.sitting as i32)).expect("ascending");
        episode.id
    });
    let ids = ids.collect();
    (index, ids)
}

/// Ranks of the fact in the answers to its questions, the first is 0.
fn places(fact: &Fact, index: &TextIndex, ids: &[String]) -> Vec<Option<usize>> {
    let wanted = fact.line["id"].as_str().expect("an id");
    let place = |question: &String| {
        let hits = index.search(&Query::new(question), 10);
        hits.iter().position(|hit| ids[hit.document as usize] == wanted)
    };
    fact.ask.iter().map(place).collect()
}

#[test]
fn what_was_told_done_and_sensed_is_found_in_other_words_among_the_like() {
    let facts: Vec<Fact> =
        include_str!("mixed_facts.jsonl").lines().map(|line| serde_json::from_str(line).expect("a fact")).collect();
    let (index, ids) = life(&facts);
    let (mut asked, mut first, mut among_ten) = (0.0, 0.0, 0.0);
    for fact in &facts {
        for (question, place) in fact.ask.iter().zip(places(fact, &index, &ids)) {
            asked += 1.0;
            first += f64::from(u8::from(place == Some(0)));
            among_ten += f64::from(u8::from(place.is_some()));
            if place.is_none() {
                println!("not found: {question}");
            }
        }
    }
    println!("{asked} questions: first {:.3}, among the best ten {:.3}", first / asked, among_ten / asked);
    assert!(among_ten / asked >= 0.75 && first / asked >= 0.65, "{first} first, {among_ten} among ten, of {asked}");
}

#[test]
fn of_somebody_who_is_absent_others_speak() {
    let index = index(&[
        ("Lotte", "the tram was late", 1),
        ("Anna", "my sister Lotte is allergic to hazelnuts", 2),
        ("Ben", "we must eat something", 3),
        ("Lotte", "so late again", 4),
        ("Ben", "Lotte, we must go", 4),
    ]);
    assert!(found(&index, "what must Lotte not eat?").contains(&1), "it speaks of her, and shares no other word");
    let about_her = found(&index, "is Lotte ill?");
    assert_eq!(about_her[0], 1, "before what she said herself");
    assert!(!about_her.contains(&4), "who is spoken to isn't spoken of");
}

#[test]
fn a_rare_name_tells_more_than_a_common_word() {
    let said = |n: u32| match n {
        31 => "I varnished the boat".to_owned(),
        n if n.is_multiple_of(6) => "it was sunday".to_owned(),
        n => format!("I painted part {n}"),
    };
    let mut turns: Vec<(String, String, u32)> = (0..60).map(|n| (format!("Guest {}", n % 20), said(n), n)).collect();
    turns.push(("Moritz".into(), "the sunday was long".into(), 60));
    let turns: Vec<(&str, &str, u32)> = turns.iter().map(|(who, text, n)| (who.as_str(), text.as_str(), *n)).collect();
    assert_eq!(found(&index(&turns), "what did Moritz varnish on Sunday?")[0], 60);
}

#[test]
fn an_action_is_found_by_its_parameters_and_by_having_failed() {
    let of = |line: &str| episode(line).further_words();
    let moved =
        of(r#"{"text": "rename it", "tool": "bash", "params": {"command": "mv draft.odt annual.odt", "n": 3}}"#);
    assert!(moved.contains("mv draft.odt annual.odt") && moved.contains('3') && !moved.contains("failed"), "{moved}");
    let bad = of(r#"{"text": "rename it", "tool": "bash", "success": false, "result": "no space left"}"#);
    assert!(bad.ends_with("failed"), "{bad}");
}
