//! Two brains that lived separately are merged, and nothing of either changes its meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use maxim_bus::Clock;
use maxim_bus::signals::concepts::IngestDocument;
use serde_json::{Value, json};

use crate::carry::{LOBE, assert_same, born, exported, import, newborn};
use crate::common::Bench;

/// A life of its own with concepts; `names` says what it was taught.
fn taught(seed: u64, document: &str, text: &str, said: &str) -> Bench {
    let mut bench = born(seed);
    let text = text.to_owned();
    bench.ask(
        LOBE,
        IngestDocument {
            document: document.into(),
            markdown: true,
            text,
            passages_before: 0,
            lessons_before: 0,
            more: false,
        },
    );
    bench.say(&format!("remember that {said}"));
    bench.pass(Duration::from_secs(90_000));
    bench
}

/// Each concept by its name, with its category and its relations by name, all through the doors.
fn concepts(bench: &mut Bench) -> BTreeMap<String, Value> {
    let lines = exported(bench, 1000);
    let records: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let concepts = records.iter().filter(|line| line["part"] == "concepts").map(|line| &line["record"]);
    let names: BTreeMap<u64, &str> = concepts
        .clone()
        .filter_map(|one| Some((one["id"].as_str()?.strip_prefix("concept-")?.parse().ok()?, one["name"].as_str()?)))
        .collect();
    let told = |one: &Value| {
        let relations = one["relations"].as_array().into_iter().flatten();
        let mut relations: Vec<String> = relations
            .map(|one| {
                format!(
                    "{} {}",
                    one["kind"].as_str().unwrap_or_default(),
                    names[&one["to"].as_u64().expect("a number")]
                )
            })
            .collect();
        relations.sort();
        json!({"category": one["category"], "relations": relations, "definition": one["definition"]})
    };
    concepts.map(|one| (one["name"].as_str().expect("named").to_owned(), told(one))).collect()
}

/// The graph's edges between concepts, by name.
fn edges_of_concepts(bench: &mut Bench) -> BTreeSet<String> {
    let lines = exported(bench, 1000);
    let records: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: BTreeMap<&str, &str> = records
        .iter()
        .filter(|line| line["part"] == "concepts")
        .filter_map(|line| Some((line["key"].as_str()?, line["record"]["name"].as_str()?)))
        .collect();
    let mut edges = BTreeSet::new();
    for line in records.iter().filter(|line| line["layer"] == "cross_layer_graph") {
        let (_, from) = line["key"].as_str().and_then(|key| key.split_once('/')).expect("layer and id");
        for edge in line["record"].as_array().into_iter().flatten() {
            let end = |id: &str| names.get(id).map_or_else(|| id.to_owned(), |name| (*name).to_owned());
            let (kind, to) = (&edge["kind"], edge["to"].as_str().expect("an end"));
            edges.insert(format!("{} {kind} {}", end(from), end(to)));
        }
    }
    edges
}

const HARBOUR: &str = "# Harbour\n\nA pier is a structure. A jetty is a structure. A mug is a container.\n";
const KITCHEN: &str =
    "# Kitchen\n\nA teapot is a container. A mug is a vessel. A ladle is a tool. A spoon is a tool.\n";

#[test]
fn two_brains_become_one_and_no_concept_means_another() {
    let mut here = taught(1, "harbour.md", HARBOUR, "the boat key hangs in the shed");
    let mut other = taught(2, "kitchen.md", KITCHEN, "the sugar stands on the upper shelf");
    let (before, theirs) = (concepts(&mut here), concepts(&mut other));
    let (edges, their_edges) = (edges_of_concepts(&mut here), edges_of_concepts(&mut other));
    assert!(!edges.is_empty() && their_edges.iter().any(|edge| edge.contains("teapot")), "{their_edges:?}");
    let lines = exported(&mut other, 1000);
    // In any order of lines: edges before the concepts that they name, and the last concept first.
    let (mut layers, episodes): (Vec<String>, Vec<String>) =
        lines.iter().cloned().partition(|line| line.contains("\"layer\""));
    layers.reverse();
    let orders = [lines.clone(), layers.into_iter().chain(episodes).collect::<Vec<_>>()];
    let from = exported(&mut here, 1000);
    for lines in orders {
        let mut both = newborn();
        both.clock.advance_to(other.clock.now());
        assert!(import(&mut both, &from).2.is_empty());
        let (_, _, bad) = import(&mut both, &lines);
        assert!(bad.is_empty(), "{bad:?}");
        let joined = concepts(&mut both);
        let names = |of: &BTreeMap<String, Value>| of.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&joined), &names(&before) | &names(&theirs), "each once, by its name");
        for (name, told) in before.iter().chain(&theirs) {
            let related = |told: &Value| {
                let relations = told["relations"].as_array().expect("a list").iter();
                relations.map(|one| one.as_str().expect("text").to_owned()).collect::<BTreeSet<_>>()
            };
            let (held, missing) = (related(&joined[name]), related(told));
            assert!(held.is_superset(&missing), "{name}: {held:?} lacks some of {missing:?}");
            let all: BTreeSet<String> =
                [&before, &theirs].iter().filter_map(|of| of.get(name)).flat_map(related).collect();
            assert_eq!(held, all, "{name} has nothing else");
        }
        assert_eq!(edges_of_concepts(&mut both), &edges | &their_edges);
        for name in ["teapot", "pier", "mug"] {
            let found = both.inquire("concept_query", json!({"name": name}));
            assert_eq!(found["results"][0]["name"], name, "{found}");
        }
        let again = exported(&mut both, 1000);
        let (kept, _, bad) = import(&mut both, &lines);
        assert_eq!((kept, bad), (0, Vec::new()), "all is known");
        assert_same(&again, &exported(&mut both, 1000), "the second time");
        both.crash();
        assert_same(&again, &exported(&mut both, 1000), "after a crash");
    }
}

#[test]
fn what_names_an_episode_or_a_concept_that_did_not_come_in_is_refused_and_joined_with_nothing_else() {
    let mut here = newborn();
    let line = |id: &str, at: &str, text: &str| {
        json!({"id": id, "timestamp": format!("2026-01-05T09:00:{at}Z"), "text": text}).to_string()
    };
    here.import(vec![(1, line("m1", "00", "the boat is blue")), (2, line("m2", "40", "the sail is torn"))], true);
    let mut other = newborn();
    other.import(vec![(1, line("m1", "05", "a cup fell")), (2, line("m3", "50", "the cup is broken"))], true);
    let mut lines: Vec<String> = exported(&mut other, 1000);
    let graph = |from: &str, layer: &str, to: &str| {
        let edge = json!([{"kind": "IS_A", "layer": layer, "to": to, "weight": 1.0}]);
        json!({"layer": "cross_layer_graph", "part": "edges", "key": from, "record": edge}).to_string()
    };
    let first = lines.len() as u64;
    lines.push(graph("hippocampus/m3", "hippocampus", "m1"));
    lines.push(graph("hippocampus/m1", "hippocampus", "m3"));
    lines.push(graph("nac/move -> success", "atl", "concept-0"));
    lines.push(
        json!({"layer": "hippocampus", "part": "uses", "key": "m1",
        "record": {"times": 3, "last": "2026-01-06T09:00:00Z"}})
        .to_string(),
    );
    let before = edges_of_concepts(&mut here);
    let (_, _, bad) = import(&mut here, &lines);
    let numbers: Vec<u64> = bad.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, first + 1, first + 2, first + 3, first + 4], "{bad:?}");
    for ((_, reason), word) in bad.iter().zip(["other content", "m1", "m1", "concept-0", "m1"]) {
        assert!(reason.contains(word), "{reason}");
    }
    assert_eq!(edges_of_concepts(&mut here), before);
    let told = exported(&mut here, 1000);
    assert!(told.iter().all(|line| !line.contains("\"part\":\"uses\"")), "nothing was used");
}
