//! Recall on real conversations, where the development data is at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::civil::DateTime;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Turn {
    conv: String,
    id: String,
    session: u32,
    date: String,
    speaker: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    conv: String,
    category: String,
    question: String,
    evidence: Vec<String>,
}

fn folder() -> PathBuf {
    let shared = std::env::var_os("MAXIM_SHARED_DATA").map(PathBuf::from);
    shared.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data"))).join("locomo")
}

fn lines<T: serde::de::DeserializeOwned>(name: &str) -> Option<Vec<T>> {
    let text = std::fs::read_to_string(folder().join(name)).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect())
}

fn day(date: &str) -> i32 {
    let parsed = DateTime::strptime("%I:%M %p on %d %B, %Y", date).expect("a date");
    day_number(parsed.date())
}

/// Mean share of the evidence among the best ten, by category and over all.
fn recall_at_ten(turns: &[Turn], questions: &[Question], together: bool, weights: &Weights) -> BTreeMap<String, f64> {
    type Store<'a> = (TextIndex, Vec<(&'a str, &'a str)>);
    let mut stores: BTreeMap<&str, Store> = BTreeMap::new();
    let mut sittings: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for turn in turns {
        let next = sittings.len() as u32;
        let sitting = *sittings.entry((&turn.conv, turn.session)).or_insert(next);
        let (index, ids) = stores.entry(if together { "" } else { &turn.conv }).or_default();
        let people = [turn.speaker.clone()];
        let fields = Fields { text: &turn.text, people: &people, sitting, day: day(&turn.date), ..Fields::default() };
        index.add(ids.len() as u32, &fields).expect("ascending");
        ids.push((&turn.conv, &turn.id));
    }
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for question in questions.iter().filter(|q| q.category != "adversarial") {
        let (index, ids) = &stores[if together { "" } else { question.conv.as_str() }];
        let query = Query { weights: weights.clone(), ..Query::new(&question.question) };
        let best: BTreeSet<_> = index.search(&query, 10).into_iter().map(|hit| ids[hit.document as usize]).collect();
        let found = question.evidence.iter().filter(|id| best.contains(&(question.conv.as_str(), id.as_str()))).count();
        let share = found as f64 / question.evidence.len() as f64;
        for category in [question.category.as_str(), "all"] {
            let sum = sums.entry(category.to_string()).or_default();
            *sum = (sum.0 + share, sum.1 + 1.0);
        }
    }
    sums.into_iter().map(|(category, (sum, count))| (category, sum / count)).collect()
}

#[test]
fn what_was_said_in_long_conversations_is_found_by_words_alone() {
    let (Some(turns), Some(questions)) = (lines::<Turn>("docs.jsonl"), lines::<Question>("queries.jsonl")) else {
        println!("SKIPPED: no conversations in {}; set MAXIM_SHARED_DATA to measure recall", folder().display());
        return;
    };
    let apart = recall_at_ten(&turns, &questions, false, &Weights::default());
    let together = recall_at_ten(&turns, &questions, true, &Weights::default());
    let unspread = recall_at_ten(&turns, &questions, false, &Weights::without_spreading());
    println!("recall@10, one store each   {apart:.3?}");
    println!("recall@10, all in one store {together:.3?}");
    println!("recall@10, no spreading     {unspread:.3?}");
    assert!(apart["all"] >= 0.78, "{apart:?}");
    assert!(together["all"] >= apart["all"] - 0.03, "{together:?}");
    assert!(apart["all"] >= unspread["all"] + 0.07, "{unspread:?}");
}
