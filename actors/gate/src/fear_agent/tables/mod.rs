//! What options do, in data files that a reviewer reads beside the code: `wrappers.tsv` (programs that run another
//! program), `options.tsv` (options of known programs that name a program, a file or code), `words.tsv` (words that are
//! only mentioned), `reach.tsv` (how far a grant may reach), `walls.tsv` (what the sandbox refuses in any case). Each
//! is read once and never changes.

mod modules;
mod options;
mod reach;
mod text;
mod walls;
mod wrappers;

pub(super) use modules::{Module, is_python_interpreter, python_module};
pub(super) use options::{asked, options_of, setting};
pub(super) use reach::{Reach, reach};
pub(super) use text::{Talk, talk_of, text_options};
pub(super) use walls::{Hit, Refusable, Wall, refused};
pub(super) use wrappers::{Effect, Opened, Runs, Wrapper, wrapper};

#[cfg(test)]
pub(super) use wrappers::{Before, Takes, all as all_wrappers};

use super::verdict::{Rule, rules};

/// The rows of a file: its lines without remarks, cut at tabs.
fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).map(|line| line.split('\t').collect())
}

/// The names in a cell, which a comma separates, since a name may hold a blank: `docker run`.
fn names_of(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The rule that a table names by a word.
fn rule(word: &str) -> Rule {
    match word {
        "elevate" => rules::ELEVATE,
        "escape" => rules::ESCAPE,
        "environment" => rules::ENVIRONMENT,
        "install" => rules::INSTALL,
        "host" => rules::HOST,
        "remote" => rules::REMOTE_SHELL,
        "upload" => rules::UPLOAD,
        "change" => rules::REMOTE_CHANGE,
        "serve" => rules::SERVE,
        "schedule" => rules::SCHEDULE,
        "file" => rules::RUN_FILE,
        "database" => rules::DATABASE,
        _ => rules::RUN_CODE,
    }
}

#[cfg(test)]
mod tests {
    /// A word that no rule is named by would be taken for `code`, so it must not be written.
    #[test]
    fn each_module_of_python_is_found() {
        for row in super::rows(include_str!("modules.tsv")) {
            assert_eq!(row.len(), 3, "{row:?}");
            for name in super::names_of(row[0]) {
                let module = super::python_module(name);
                assert!(module.is_some(), "{row:?}");
                if let Some(super::Module::Looks { only_with, .. }) = module {
                    assert!(only_with.iter().all(|option| option.starts_with('-')), "{row:?}");
                }
            }
        }
    }

    #[test]
    fn each_table_names_rules_and_effects_that_there_are() {
        let known = [
            "elevate",
            "escape",
            "environment",
            "install",
            "host",
            "remote",
            "upload",
            "change",
            "serve",
            "schedule",
            "file",
            "database",
            "code",
        ];
        for text in [include_str!("wrappers.tsv"), include_str!("options.tsv")] {
            for row in super::rows(text) {
                assert_eq!(row.len(), 4, "{row:?}");
                if let Some(word) = row[3].strip_prefix("asks ") {
                    assert!(known.contains(&word), "{row:?}");
                }
            }
        }
    }
}
