//! How far a grant for a program may reach.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::shape::program_of;
use super::{rows, wrapper};

/// What a program does with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Reach {
    /// It can run anything, whatever the words say.
    Anything,
    /// It runs a text or a file named by the first word.
    First,
    /// The first word is a subcommand.
    Command,
    /// The words are only arguments.
    Words,
}

static REACHES: LazyLock<BTreeMap<&'static str, Reach>> = LazyLock::new(|| {
    let row = |row: Vec<&'static str>| match row[..] {
        [program, "anything"] => Some((program, Reach::Anything)),
        [program, "first"] => Some((program, Reach::First)),
        [program, "command"] => Some((program, Reach::Command)),
        _ => None,
    };
    rows(include_str!("reach.tsv")).filter_map(row).collect()
});

/// Of a simple command. A wrapper may be named by more than one word, such as `uv run`.
pub(in super::super) fn reach(words: &[String]) -> Reach {
    let Some(first) = words.first() else { return Reach::Words };
    let program = program_of(first);
    // A number at its end may be its name's, as in `linux64`, or a version's.
    let mut name = first.rsplit('/').next().unwrap_or(first).to_owned();
    if wrapper(&name).is_some() || wrapper(program).is_some() {
        return Reach::Anything;
    }
    for word in words.iter().skip(1).take(2) {
        name = format!("{name} {word}");
        if wrapper(&name).is_some() || name == "git bisect" {
            return Reach::Anything;
        }
    }
    REACHES.get(program).copied().unwrap_or(Reach::Words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_read_and_wrappers_run_anything() {
        let lines = include_str!("reach.tsv").lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(REACHES.len(), lines);
        for (text, expected) in [
            ("linux64 git reset --hard", Reach::Anything),
            ("chronic make", Reach::Anything),
            ("uv run x", Reach::Anything),
            ("npm exec x", Reach::Anything),
            ("docker compose run x", Reach::Anything),
            ("git bisect run x", Reach::Anything),
            ("/usr/bin/env x", Reach::Anything),
            ("bash -c x", Reach::Anything),
            ("npm test", Reach::First),
            ("python3.12 a.py", Reach::First),
            ("git reset", Reach::Command),
            ("ls -l", Reach::Words),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(reach(&words), expected, "{text}");
        }
    }
}
