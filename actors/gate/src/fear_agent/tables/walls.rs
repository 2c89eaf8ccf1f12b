//! What the sandbox refuses even after a person's yes, by program.

use std::sync::LazyLock;

use super::{names_of, rows};

/// Which part of the sandbox refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Wall {
    Calls,
    Signals,
    Rights,
    Files,
    Network,
}

/// When a program is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// One of these options is given.
    Options(&'static str),
    /// A mode that makes a program run as its owner is set.
    SetId,
    /// It concerns processes that this call hasn't started.
    Outside,
}

/// One line of the table.
#[derive(Debug)]
struct Row {
    programs: Vec<&'static str>,
    rules: Vec<&'static str>,
    when: When,
    wall: Wall,
    words: &'static str,
}

/// A program that a wall refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Hit {
    pub program: String,
    pub wall: Wall,
    pub words: &'static str,
    /// The wall answers only questions by rules that start so; if empty, all questions.
    rules: &'static [&'static str],
}

impl Hit {
    /// Whether the question of this rule is about what the wall refuses.
    pub fn answers(&self, rule: &str) -> bool {
        self.rules.is_empty() || self.rules.iter().any(|start| rule.starts_with(start))
    }
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    rows(include_str!("walls.tsv"))
        .filter_map(|row| {
            let [programs, rules, when, wall, words] = row[..] else { return None };
            let when = match when.split_once(' ') {
                Some(("options", options)) => When::Options(options),
                _ => match when {
                    "set-id" => When::SetId,
                    "outside" => When::Outside,
                    _ => When::Always,
                },
            };
            let wall = match wall {
                "calls" => Wall::Calls,
                "signals" => Wall::Signals,
                "rights" => Wall::Rights,
                "files" => Wall::Files,
                _ => Wall::Network,
            };
            let rules = rules.split(' ').filter(|rule| *rule != "-").collect();
            Some(Row { programs: names_of(programs).collect(), rules, when, wall, words })
        })
        .collect()
});

/// What the caller knows of the call.
pub(in super::super) struct Refusable<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub sets_id: fn(&str) -> bool,
    /// It may have started processes before.
    pub has_others: bool,
}

/// The wall that refuses this program with these words, if one does.
pub(in super::super) fn refused(call: &Refusable) -> Option<Hit> {
    let row = TABLE.iter().find(|row| row.programs.contains(&call.program) && is_met(row.when, call))?;
    let (program, wall, words) = (call.program.to_owned(), row.wall, row.words);
    Some(Hit { program, wall, words, rules: &row.rules })
}

fn is_met(when: When, call: &Refusable) -> bool {
    match when {
        When::Always => true,
        When::Options(options) => call.args.iter().any(|arg| options.split(' ').any(|option| is_option(arg, option))),
        When::SetId => call.args.iter().any(|arg| {
            let mode = arg.strip_prefix("--mode=").or_else(|| arg.strip_prefix("-m")).unwrap_or(arg);
            (call.sets_id)(mode) && !mode.contains('/')
        }),
        When::Outside => {
            let mut named = call.args.iter().filter(|arg| !arg.starts_with('-'));
            let is_number = |arg: &String| arg.parse::<u32>().is_ok();
            // A number that stands in the command was there before it. A job of this shell isn't outside.
            let is_known = call.program == "kill" && named.clone().next().is_some() && named.clone().all(is_number);
            is_known || (!call.has_others && !named.any(|arg| arg.starts_with('%')))
        }
    }
}

/// `--pid`, `--pid=1`, `-p1`.
fn is_option(arg: &str, option: &str) -> bool {
    match option.starts_with("--") {
        true => arg.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')),
        false => arg.starts_with(option) && !arg.starts_with("--"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_table_is_read_and_its_words_known() {
        let table = include_str!("walls.tsv");
        assert_eq!(TABLE.len(), rows(table).count());
        for row in rows(table) {
            assert_eq!(row.len(), 5, "{row:?}");
            assert!(["calls", "signals", "rights", "files", "network"].contains(&row[3]), "{row:?}");
            assert!(["-", "set-id", "outside"].contains(&row[2]) || row[2].starts_with("options -"), "{row:?}");
            assert!(row[4].contains(';'), "it tells what to do instead: {row:?}");
        }
    }
}
