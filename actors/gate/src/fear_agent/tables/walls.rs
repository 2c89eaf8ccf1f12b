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
    /// Its first word is one of these, and it names nothing local. Behind `@`: only if a word holds a version.
    Fetches(&'static str),
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
                Some(("fetches", words)) => When::Fetches(words),
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
        When::Fetches(words) => fetches(call.args, words),
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

/// Options by which a package tool or git stays on this machine, or may.
const LOCAL: &[&str] = &[
    "--offline",
    "--prefer-offline",
    "--no-index",
    "--find-links",
    "-f",
    "--path",
    "--local",
    "--link",
    "--list",
    "--dry-run",
    "-n",
    "--no-install",
    "--no",
    "--no-download",
    "--help",
    "-h",
    "--git-dir",
    "--work-tree",
    "-C",
    "--prefix",
];

/// Whether these arguments fetch or send over the network. In doubt they don't, so a person is asked.
fn fetches(args: &[String], words: &str) -> bool {
    let mut operands = args.iter().filter(|arg| !arg.starts_with('-'));
    let Some(verb) = operands.next() else { return false };
    let is_wanted = words.split(' ').any(|word| match word.strip_suffix('@') {
        Some("") => verb.contains('@'),
        Some(word) => verb == word && operands.clone().any(|arg| arg.contains('@')),
        None => verb == word,
    });
    let is_local = |arg: &String| {
        let option = arg.split('=').next().unwrap_or_default();
        let is_file = [".whl", ".tgz", ".tar.gz", ".gem", ".zip", ".crate"].iter().any(|end| arg.ends_with(end));
        // A registry gets the file that `publish` or `upload` names.
        let is_sent = ["publish", "upload", "push"].contains(&verb.as_str()) && is_file;
        arg.starts_with(['.', '/', '~']) || arg.starts_with("file:") || LOCAL.contains(&option) || (is_file && !is_sent)
    };
    let is_url = |arg: &String| arg.contains("://") && !arg.starts_with("file:");
    is_wanted && (args.iter().any(is_url) || !args.iter().any(is_local))
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
            assert!(
                ["-", "set-id", "outside"].contains(&row[2])
                    || row[2].starts_with("options -")
                    || row[2].starts_with("fetches "),
                "{row:?}"
            );
            assert!(row[4].contains(';'), "it tells what to do instead: {row:?}");
        }
    }
}
