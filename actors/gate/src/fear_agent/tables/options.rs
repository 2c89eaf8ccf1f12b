//! Options of known programs, in the compact form that [`super::super::options`] reads, made out of the data file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::verdict::Rule;
use super::{names_of, rows, rule};

#[derive(Default)]
struct Options {
    /// As [`super::super::options::parse`] takes it, without its prefix.
    table: String,
    /// Options that are asked about by themselves.
    asks: Vec<(&'static str, Rule)>,
}

static OPTIONS: LazyLock<BTreeMap<&'static str, Options>> = LazyLock::new(|| {
    let mut programs: BTreeMap<&'static str, Options> = BTreeMap::new();
    for row in rows(include_str!("options.tsv")) {
        let [names, option, takes, effect] = row[..] else { continue };
        for name in names_of(names) {
            let program = programs.entry(name).or_default();
            let value = match takes {
                "nothing" => String::new(),
                "two" => format!("=V{}", role(effect)),
                _ => format!("={}", role(effect)),
            };
            // A setting within an option's value has no entry of its own: `-C linker=`.
            for spelling in option.split(' ').filter(|name| !name.contains(':')) {
                if let Some(word) = effect.strip_prefix("asks ") {
                    program.asks.push((spelling.trim_start_matches('-'), rule(word)));
                }
                program.table.push_str(&format!(" {}{value}", spelled(spelling)));
            }
        }
    }
    programs
});

/// Settings within a value, by program and option: `-C linker=./x`.
static SETTINGS: LazyLock<Vec<(&'static str, &'static str, &'static str, char)>> = LazyLock::new(|| {
    rows(include_str!("options.tsv"))
        .filter_map(|row| {
            let [names, option, _, effect] = row[..] else { return None };
            let settings = option.split(' ').filter_map(|option| option.split_once(':'));
            Some(settings.flat_map(move |(option, key)| {
                names_of(names).map(move |name| (name, option.trim_start_matches('-'), key, role(effect)))
            }))
        })
        .flatten()
        .collect()
});

/// A letter, or a long name, is written without its dashes, a long name behind one dash with it.
fn spelled(option: &'static str) -> &'static str {
    match option.strip_prefix("--") {
        Some(long) => long,
        None if option.chars().count() > 2 => option,
        None => option.trim_start_matches('-'),
    }
}

/// The letter by which an effect goes in a compact table.
fn role(effect: &str) -> char {
    match effect {
        "reads" => 'R',
        "writes" => 'W',
        "runs" => 'X',
        "loads" => 'L',
        "fetches" => 'U',
        "tape" => 'T',
        "data" => 'A',
        "query" => 'Q',
        "cookie" => 'C',
        "loads-path" => 'l',
        _ => 'V',
    }
}

/// What the data file adds to a program's own table.
pub(in super::super) fn options_of(program: &str) -> Option<&'static str> {
    OPTIONS.get(program).map(|options| options.table.as_str())
}

/// The rule by which an option is asked about.
pub(in super::super) fn asked(program: &str, option: &str) -> Option<Rule> {
    let asks = &OPTIONS.get(program)?.asks;
    asks.iter().find(|(name, _)| *name == option).map(|(_, rule)| *rule)
}

/// What a setting within an option's value does: its letter and its value.
pub(in super::super) fn setting<'a>(program: &str, option: &str, value: &'a str) -> Option<(char, &'a str)> {
    let (key, value) = value.split_once('=')?;
    let key = key.trim();
    SETTINGS
        .iter()
        .find(|(name, known, wanted, _)| *name == program && *known == option && wanted.eq_ignore_ascii_case(key))
        .map(|(_, _, _, role)| (*role, value.trim()))
}
