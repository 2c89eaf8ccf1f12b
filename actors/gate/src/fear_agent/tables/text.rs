//! Words that only mention a place: listed names, patterns, messages. Any other word that names a secret place counts
//! as reading it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::{names_of, rows};

/// How a program uses its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Talk {
    /// Words are names or talk: nothing is opened.
    All,
    /// What is read and written is judged by the program's own table.
    Judged,
    /// The first word that isn't an option is a pattern or a program text.
    First,
    /// None of the above.
    None,
}

struct Table {
    programs: BTreeMap<&'static str, Talk>,
    options: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { programs: BTreeMap::new(), options: BTreeMap::new() };
    for row in rows(include_str!("words.tsv")) {
        let [programs, words, ..] = row[..] else { continue };
        for name in names_of(programs) {
            match words {
                "all" => drop(table.programs.insert(name, Talk::All)),
                "judged" => drop(table.programs.insert(name, Talk::Judged)),
                "first" => drop(table.programs.insert(name, Talk::First)),
                options => table.options.entry(name).or_default().extend(options.split(' ')),
            }
        }
    }
    table
});

pub(in super::super) fn talk_of(program: &str) -> Talk {
    TABLE.programs.get(program).copied().unwrap_or(Talk::None)
}

/// Whether the value of this option is text, for this program or for any.
pub(in super::super) fn text_options(program: &str, option: &str) -> bool {
    [program, "*"].iter().any(|name| TABLE.options.get(name).is_some_and(|options| options.contains(option)))
}
