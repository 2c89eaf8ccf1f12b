use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;
use maxim_language::TokenTable;
use maxim_region::development_data;

fn tool(name: &str, description: &str) -> ToolText {
    ToolText { name: name.into(), description: description.into(), parameters: json!({}) }
}

fn tokens(text: &str) -> usize {
    text.len() / 3
}

fn index(catalog: &[ToolText]) -> ToolIndex {
    ToolIndex::new(catalog, Arc::new(TokenTable::embedded()), tokens)
}

fn kitchen() -> Vec<ToolText> {
    vec![
        tool("oven", "Bakes and roasts food at a temperature."),
        tool("fridge", "Keeps food cold."),
        tool("lamp", "Lights the room."),
        tool("radio", "Plays music and news."),
        tool("blinds", "Lets daylight in or keeps it out."),
        tool("door", "Locks and unlocks the entrance."),
        tool("clock", "Tells the time."),
    ]
}

fn best(ranking: &Ranking) -> &str {
    &ranking.tools[0].name
}

#[test]
fn a_tool_is_found_by_its_words_and_by_words_of_near_meaning() {
    let index = index(&kitchen());
    assert_eq!(best(&index.rank(&index.goal("roast the food"))), "oven");
    assert_eq!(best(&index.rank(&index.goal("let me hear a song"))), "radio");
    assert_eq!(best(&index.rank(&index.goal("illuminate the hall"))), "lamp");
    let nothing = index.rank(&index.goal(""));
    assert_eq!((nothing.tools.len(), nothing.shown), (7, 5));
}

#[test]
fn a_success_teaches_its_words_and_the_rest_is_not_starved() {
    let mut index = index(&kitchen());
    let goal = index.goal("make it gemütlich");
    let before = index.rank(&goal);
    let place = |ranking: &Ranking, name: &str| ranking.tools.iter().position(|tool| tool.name == name);
    assert_ne!(best(&before), "blinds");
    for _ in 0..3 {
        index.learn(&goal, "blinds");
    }
    assert_eq!(best(&index.rank(&index.goal("gemütlich please"))), "blinds");
    let other = index.rank(&index.goal("what time is it"));
    assert_eq!(place(&other, "clock"), Some(0), "{other:?}");
}

#[test]
fn the_same_successes_in_any_order_give_the_same_scores_to_the_last_bit() {
    let goals = ["warm up the soup", "chill the beer", "brighten up the hall", "who won the match", "warm the rolls"];
    let used = ["oven", "fridge", "lamp", "radio", "oven"];
    let trained = |order: &[usize]| {
        let mut index = index(&kitchen());
        for round in 0..100 {
            for at in order {
                let goal = index.goal(&format!("{} {}", goals[*at], round % 60));
                index.learn(&goal, used[*at]);
                index.rank(&goal); // asking in between changes nothing
            }
        }
        index
    };
    let (one, other) = (trained(&[0, 1, 2, 3, 4]), trained(&[4, 2, 0, 3, 1]));
    for text in ["heat the soup", "something cold", "open up", "lights and music, warmly"] {
        assert_eq!(one.rank(&one.goal(text)), other.rank(&other.goal(text)));
    }
}

#[test]
fn what_was_kept_of_it_makes_it_again() {
    let mut index = index(&kitchen());
    let mut kept = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    for n in 0..300 {
        let goal = index.goal(&format!("warm the rolls for guest {n}"));
        let (learned, sampled, leaves) = index.with_success(&goal, "oven", "");
        index.learn(&goal, "oven");
        kept.0.insert("oven".to_owned(), learned);
        leaves.map(|key| kept.1.remove(&key));
        sampled.map(|(key, sampled)| kept.1.insert(key, sampled));
    }
    assert_eq!(kept.1.len(), 256);
    let mut again = self::index(&kitchen());
    kept.0.into_iter().for_each(|(tool, learned)| again.restore(tool, learned));
    kept.1.into_iter().for_each(|(key, sampled)| again.restore_sampled(key, sampled));
    let goal = index.goal("a guest wants rolls");
    assert_eq!(again.rank(&goal), index.rank(&goal));
    assert_eq!(again.successes(), 300);
}

struct Data {
    catalog: Vec<ToolText>,
    train: Vec<(String, Vec<String>)>,
    asked: Vec<(String, Vec<String>)>,
}

fn data() -> Option<Data> {
    let lines = |name: &str| -> Option<Vec<Json>> {
        let text = development_data::text(&format!("tools/{name}"))?;
        Some(text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
    };
    let pairs = |lines: Vec<Json>| {
        let gold = |line: &Json| {
            line["gold"].as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
        };
        lines.iter().map(|line| (line["q"].as_str().unwrap_or_default().to_owned(), gold(line))).collect()
    };
    let catalog = lines("metatool_tools.jsonl")?.into_iter().map(|line| serde_json::from_value(line).expect("a tool"));
    let catalog = catalog.collect();
    Some(Data { catalog, train: pairs(lines("metatool_train.jsonl")?), asked: pairs(lines("metatool_dev.jsonl")?) })
}

/// Share of right tools among the first `k`, of the questions that `of` wants.
fn recall(index: &ToolIndex, asked: &[(String, Vec<String>)], k: usize, of: impl Fn(&str) -> bool) -> f64 {
    let (mut found, mut all) = (0, 0);
    for (text, gold) in asked {
        let first: Vec<String> =
            index.rank(&index.goal(text)).tools.into_iter().take(k).map(|tool| tool.name).collect();
        for tool in gold.iter().filter(|tool| of(tool)) {
            all += 1;
            found += usize::from(first.contains(tool));
        }
    }
    found as f64 / f64::from(all.max(1))
}

/// Share of right tools shown whole, and of tokens saved.
fn shown(index: &ToolIndex, asked: &[(String, Vec<String>)]) -> (f64, f64, f64) {
    let (mut kept, mut all, mut saved, mut count) = (0, 0, 0.0, 0);
    for (text, gold) in asked {
        let ranking = index.rank(&index.goal(text));
        let (full, spent) = index.tokens(&ranking);
        saved += 1.0 - spent as f64 / full as f64;
        count += ranking.shown;
        all += gold.len();
        kept +=
            gold.iter().filter(|gold| ranking.tools[..ranking.shown].iter().any(|tool| tool.name == **gold)).count();
    }
    let asked = asked.len() as f64;
    (kept as f64 / all as f64, saved / asked, count as f64 / asked)
}

#[test]
fn learning_finds_nine_in_ten_tools_among_five_and_leaves_no_tool_behind() {
    let Some(data) = data() else { return };
    let teach = |index: &mut ToolIndex, of: &dyn Fn(&str) -> bool| {
        for (text, gold) in &data.train {
            let goal = index.goal(text);
            gold.iter().filter(|tool| of(tool)).for_each(|tool| index.learn(&goal, tool));
        }
    };
    let mut names: Vec<&str> = data.catalog.iter().map(|tool| tool.name.as_str()).collect();
    names.sort_unstable();
    let taught = |tool: &str| names.binary_search(&tool).is_ok_and(|at| at % 2 == 0);
    let any = |_: &str| true;
    let cold = index(&data.catalog);
    let at_start = recall(&cold, &data.asked, 5, any);
    println!(
        "cold: recall@1 {:.3}, @5 {at_start:.3}, @10 {:.3}",
        recall(&cold, &data.asked, 1, any),
        recall(&cold, &data.asked, 10, any)
    );
    let (kept, saved, count) = shown(&cold, &data.asked);
    println!("cold: kept {kept:.3}, saved {saved:.3}, shown {count:.1}");
    let unseen_cold = recall(&cold, &data.asked, 5, |tool| !taught(tool));
    let mut half = index(&data.catalog);
    teach(&mut half, &taught);
    let unseen = recall(&half, &data.asked, 5, |tool| !taught(tool));
    let seen = recall(&half, &data.asked, 5, taught);
    println!(
        "half taught: recall@5 {:.3}, unseen {unseen:.3} (cold {unseen_cold:.3}), seen {seen:.3}",
        recall(&half, &data.asked, 5, any)
    );
    let mut learned = index(&data.catalog);
    teach(&mut learned, &any);
    let at_end = recall(&learned, &data.asked, 5, any);
    println!(
        "learned: recall@1 {:.3}, @5 {at_end:.3}, @10 {:.3}",
        recall(&learned, &data.asked, 1, any),
        recall(&learned, &data.asked, 10, any)
    );
    let (kept, saved, count) = shown(&learned, &data.asked);
    println!("learned: kept {kept:.3}, saved {saved:.3}, shown {count:.1}");
    assert!(at_start >= 0.677 - 0.02, "plain BM25 finds 0.677");
    assert!(at_end >= 0.89 && unseen >= unseen_cold - 0.02 && kept >= 0.95 && saved >= 0.74);
}
