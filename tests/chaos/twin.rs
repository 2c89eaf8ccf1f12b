//! Compares two lives: the state of each room, without times and ids.
//!
//! Ids contain randomness and the time when they were made. Everything else in a state is compared exactly, except
//! where it depends on the order of two rooms that work at the same time. Those exceptions are listed here, room by
//! room, with the reason.

use std::collections::BTreeMap;

use maxim_bus::signals::approval::code_of;
use maxim_bus::{MessageId, RegionName};
use serde_json::{Map, Value};

use super::live::Live;

pub type States = BTreeMap<RegionName, Value>;

/// The differences between two undisturbed lives, as found in two dozen of them. The last is only seen when a room is
/// kept from its mail for some milliseconds. A `*` is each item of a list, or each value of an object.
const BY_CHANCE: &[(RegionName, &str, Chance)] = &[
    // Two rooms find pain in one movement, at the same time.
    ("pain_detector", "/felt", Chance::Order),
    ("working_memory", "/entries", Chance::Order),
    // The moment to which a change of energy belongs: two messages of one turn may come in either order. What is
    // learned from moments, and what is weighted by it, differs too.
    ("significance", "/weights", Chance::Value),
    ("significance", "/told", Chance::Value),
    ("significance", "/waiting/#/*/1/uses", Chance::Value),
    ("salience", "/weights", Chance::Value),
    ("working_memory", "/entries/*/salience", Chance::Value),
    // Characters of a prompt per token that the server counted; the prompt's contents depend on the same weights.
    ("prefrontal_cortex", "/window/ratio", Chance::Value),
    // Bytes of stored data: random numbers have more digits or fewer.
    ("consolidation", "/last/bytes_before", Chance::Value),
    ("consolidation", "/last/bytes_after", Chance::Value),
    ("hippocampus", "/round/tally/bytes_before", Chance::Value),
    ("hippocampus", "/round/tally/bytes_after", Chance::Value),
    // When the machine's own battery was checked.
    ("energy", "/battery/at", Chance::Value),
    // How often memories were used: a question of one room may come before or after another room's write.
    ("hippocampus", "/accesses/*/times", Chance::Value),
    // Two rooms remove records at the same time, in either order.
    ("cross_layer_graph", "/gone", Chance::Order),
];

enum Chance {
    /// The same items, in another order.
    Order,
    Value,
}

/// The state of each room that has one.
pub fn states(live: &Live) -> States {
    let folder = live.folder.path().display().to_string();
    let of = |part: &maxim::agent::Part| {
        let read = part.state?;
        let state = read(&live.agent.frame.store).unwrap_or_else(|error| panic!("{}: {error}", part.name));
        let mut state = nameless(state, &folder);
        // Values that are left out must be removed before sorting.
        let of_room = |is_value: bool| {
            let chance = BY_CHANCE.iter().filter(move |(room, ..)| *room == part.name);
            chance.filter(move |(.., chance)| matches!(chance, Chance::Value) == is_value)
        };
        of_room(true).for_each(|(_, path, _)| change(&mut state, &path[1..], &|value| *value = Value::Null));
        of_room(false).for_each(|(_, path, _)| change(&mut state, &path[1..], &sort));
        Some((part.name, state))
    };
    live.agent.parts.iter().filter_map(of).collect()
}

fn sort(list: &mut Value) {
    if let Value::Array(items) = list {
        items.sort_by_key(Value::to_string);
    }
}

/// Changes the value at a path, if it exists.
fn change(value: &mut Value, path: &str, how: &impl Fn(&mut Value)) {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let found: Vec<&mut Value> = match value {
        Value::Array(items) if first == "*" => items.iter_mut().collect(),
        Value::Array(items) => first.parse().ok().and_then(|at: usize| items.get_mut(at)).into_iter().collect(),
        Value::Object(fields) if first == "*" => fields.values_mut().collect(),
        Value::Object(fields) => fields.get_mut(first).into_iter().collect(),
        _ => Vec::new(),
    };
    for inner in found {
        if rest.is_empty() { how(inner) } else { change(inner, rest, how) }
    }
}

/// Makes ids equal; what was ordered by ids is ordered by the rest.
fn nameless(value: Value, folder: &str) -> Value {
    match value {
        Value::String(text) => Value::String(without_ids(&text).replace(folder, "~")),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| nameless(item, folder)).collect()),
        Value::Object(fields) => {
            let by_id = |(name, _): &(String, Value)| without_ids(name) != *name;
            let (named, plain): (Vec<_>, Vec<_>) = fields.into_iter().partition(by_id);
            let mut all: Map<String, Value> =
                plain.into_iter().map(|(name, value)| (name, nameless(value, folder))).collect();
            let mut entries: Vec<Value> = named
                .into_iter()
                .map(|(name, value)| Value::Array(vec![without_ids(&name).into(), nameless(value, folder)]))
                .collect();
            entries.sort_by_key(Value::to_string);
            if !entries.is_empty() {
                all.insert("#".into(), Value::Array(entries));
            }
            Value::Object(all)
        }
        other => other,
    }
}

/// The text with each id replaced by `#`, and the letters that name it too.
fn without_ids(text: &str) -> String {
    const LENGTH: usize = 36;
    let mut plain = String::with_capacity(text.len());
    let (mut rest, mut called) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        match rest.get(..LENGTH).and_then(|id| id.parse::<MessageId>().ok()) {
            Some(id) => {
                called.push(code_of(id));
                plain.push('#');
                rest = &rest[LENGTH..];
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    called.into_iter().fold(plain, |plain, code| plain.replace(&format!(" {code}”"), " #”"))
}

/// The differences of two lives, room by room; empty if there are none.
pub fn differences(these: &States, those: &States) -> Vec<String> {
    assert_eq!(these.keys().collect::<Vec<_>>(), those.keys().collect::<Vec<_>>());
    let mut found = Vec::new();
    for (room, this) in these {
        compare(room, this, &those[room], &mut found);
    }
    found
}

/// The differences caused by the harm: they occur `again` in a second life with the same harm, compared with another
/// twin. A rare random difference doesn't.
pub fn by_harm(differs: Vec<String>, again: impl FnOnce() -> Vec<String>) -> Vec<String> {
    if differs.is_empty() {
        return differs;
    }
    let place = |difference: &String| difference.split(": ").next().unwrap_or_default().to_owned();
    let again: Vec<String> = again().iter().map(place).collect();
    differs.into_iter().filter(|difference| again.contains(&place(difference))).collect()
}

fn compare(at: &str, this: &Value, that: &Value, found: &mut Vec<String>) {
    match (this, that) {
        (Value::Object(this), Value::Object(that)) if this.keys().eq(that.keys()) => {
            this.iter().for_each(|(name, value)| compare(&format!("{at}/{name}"), value, &that[name], found));
        }
        (Value::Array(this), Value::Array(that)) if this.len() == that.len() => {
            for (index, (this, that)) in this.iter().zip(that).enumerate() {
                compare(&format!("{at}/{index}"), this, that, found);
            }
        }
        _ if this == that => {}
        _ => found.push(format!("{at}: {this} and {that}")),
    }
}

#[test]
fn what_depends_on_chance_is_what_is_named_and_no_more() {
    let mut counts = serde_json::json!({"a": {"7": {"n": 1, "at": 2}}});
    change(&mut counts, "a/*/at", &|value| *value = Value::Null);
    assert_eq!(counts, serde_json::json!({"a": {"7": {"n": 1, "at": null}}}));
    let list = |first: u32, second: u32| serde_json::json!({"a": {"list": [{"n": first, "at": second}, {"n": second, "at": first}]}});
    let (mut one, mut other) = (list(1, 2), list(2, 1));
    change(&mut one, "a/list/*/at", &|value| *value = Value::Null);
    change(&mut other, "a/list/*/at", &|value| *value = Value::Null);
    assert_ne!(one, other);
    change(&mut one, "a/list", &sort);
    change(&mut other, "a/list", &sort);
    assert_eq!(one, other);
    assert_eq!(one["a"]["list"][1], serde_json::json!({"n": 2, "at": null}));
}

#[test]
fn ids_are_alike_and_nothing_else_is() {
    let (one, other) = ("01a203e1-4097-75ba-a1ee-955c944c8726", "01a203e1-4097-75ba-a1ee-955c944c8727");
    let state = |id: &str, count: u64| {
        let text = format!(r#"{{"by": {{"{id}": {count}}}, "text": "turn {id} of ~/a", "list": ["{id}", 1]}}"#);
        BTreeMap::from([("habit", nameless(serde_json::from_str(&text).expect("JSON"), "/tmp/x"))])
    };
    assert_eq!(differences(&state(one, 1), &state(other, 1)), Vec::<String>::new());
    let told = differences(&state(one, 1), &state(other, 2));
    assert_eq!(by_harm(told.clone(), || told.clone()), told);
    assert_eq!(by_harm(told.clone(), Vec::new), Vec::<String>::new());
    assert!(told.len() == 1 && told[0].starts_with("habit/by/#/0/1: 1 and 2"), "{told:?}");
}
