//! Reads the command line of a wrapper: its own options, the words before the program, and the program with its words.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::verdict::Rule;
use super::{names_of, rows, rule};

/// Most words that a wrapper's line may become; `env -S` can be nested.
const WORD_LIMIT: usize = 4096;

/// How many words an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Takes {
    Nothing,
    /// So many values; the first may stand in the same word.
    Values(usize),
    /// A value only within the same word: `-l5`, `--replace=x`.
    Attached,
    /// `-10`.
    Number,
}

/// What an option does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Effect {
    None,
    Reads,
    Writes,
    /// The program runs in that folder.
    Folder,
    /// The value is a command line that runs.
    Shell,
    /// The value names a program, perhaps with its words.
    Words,
    /// The value is split into words that take its place.
    Split,
    Assigns,
    /// Code or settings out of that file.
    Loads,
    /// A file, or a command after `|` or `!`.
    Tape,
    /// The wrapper runs nothing.
    Stops,
    /// The wrapper tells where the program is.
    Names,
    /// A command of a debugger.
    Debugger,
    Asks(Rule),
}

/// What stands before the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Before {
    Value,
    File,
    Folder,
    /// There may be a number.
    Number,
    /// Options may follow once more.
    Options,
    Assignments,
    /// A word of the wrapper's own, such as `stat` of perf.
    Verb,
}

/// How the program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Runs {
    Words,
    /// The words are joined and given to a shell.
    Shell,
    /// Each word is a command line.
    Each,
    /// What isn't an option is not a program.
    Nothing,
}

#[derive(Debug)]
pub(in super::super) struct Entry {
    pub name: &'static str,
    pub takes: Takes,
    pub effect: Effect,
}

#[derive(Debug)]
pub(in super::super) struct Wrapper {
    pub name: &'static str,
    pub entries: Vec<Entry>,
    pub before: Vec<Before>,
    /// Options may follow operands.
    pub permuted: bool,
    pub runs: Runs,
    /// Rules that ask for any options.
    pub itself: Vec<Rule>,
}

/// A wrapper's line, read.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Opened {
    pub given: Vec<(&'static str, Effect, Vec<String>)>,
    /// Options that the table doesn't have.
    pub unknown: Vec<String>,
    pub files: Vec<String>,
    pub folders: Vec<String>,
    pub assigned: Vec<String>,
    /// The program and its words.
    pub rest: Vec<String>,
}

static WRAPPERS: LazyLock<BTreeMap<&'static str, Wrapper>> = LazyLock::new(|| {
    let mut wrappers: BTreeMap<&'static str, Wrapper> = BTreeMap::new();
    for row in rows(include_str!("wrappers.tsv")) {
        let [programs, option, takes, effect] = row[..] else { continue };
        for name in names_of(programs) {
            let wrapper = wrappers.entry(name).or_insert_with(|| Wrapper {
                name,
                entries: Vec::new(),
                before: Vec::new(),
                permuted: false,
                runs: Runs::Words,
                itself: Vec::new(),
            });
            match option {
                "(command)" => {
                    wrapper.permuted = takes == "permuted";
                    wrapper.before = takes.split(' ').filter_map(before).collect();
                    wrapper.runs = runs(effect);
                }
                "(itself)" => wrapper.itself.push(rule(effect.trim_start_matches("asks "))),
                _ => wrapper.entries.extend(option.split(' ').map(|name| Entry {
                    name,
                    takes: taken(takes),
                    effect: effect_of(effect),
                })),
            }
        }
    }
    wrappers
});

pub(in super::super) fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.get(name)
}

#[cfg(test)]
pub(in super::super) fn all() -> impl Iterator<Item = &'static Wrapper> {
    WRAPPERS.values()
}

fn before(word: &str) -> Option<Before> {
    Some(match word {
        "value" => Before::Value,
        "file" => Before::File,
        "folder" => Before::Folder,
        "number?" => Before::Number,
        "options" => Before::Options,
        "assigns" => Before::Assignments,
        "verb" => Before::Verb,
        _ => return None,
    })
}

fn runs(word: &str) -> Runs {
    match word {
        "shell" => Runs::Shell,
        "each" => Runs::Each,
        "none" => Runs::Nothing,
        _ => Runs::Words,
    }
}

fn taken(word: &str) -> Takes {
    match word {
        "value" => Takes::Values(1),
        "two" => Takes::Values(2),
        "three" => Takes::Values(3),
        "attached" => Takes::Attached,
        "number" => Takes::Number,
        _ => Takes::Nothing,
    }
}

fn effect_of(word: &str) -> Effect {
    match word {
        "reads" => Effect::Reads,
        "writes" => Effect::Writes,
        "folder" => Effect::Folder,
        "shell" => Effect::Shell,
        "words" => Effect::Words,
        "split" => Effect::Split,
        "assigns" => Effect::Assigns,
        "loads" => Effect::Loads,
        "tape" => Effect::Tape,
        "stops" => Effect::Stops,
        "names" => Effect::Names,
        "debugger" => Effect::Debugger,
        word => word.strip_prefix("asks ").map_or(Effect::None, |word| Effect::Asks(rule(word))),
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    })
}

impl Wrapper {
    /// Reads the wrapper's own words off. `split` cuts the value of `env -S` into words.
    pub(in super::super) fn open(&self, args: &[String], split: &dyn Fn(&str) -> Vec<String>) -> Opened {
        let mut opened = Opened::default();
        let mut words: Vec<String> = args.to_vec();
        let mut at = self.options(&mut words, 0, split, &mut opened);
        for before in &self.before {
            match before {
                Before::Options => at = self.options(&mut words, at, split, &mut opened),
                Before::Assignments => {
                    while let Some(word) = words.get(at).filter(|word| is_assignment(word)) {
                        opened.assigned.push(word.clone());
                        at += 1;
                    }
                }
                Before::Number => {
                    at += usize::from(words.get(at).is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())));
                }
                Before::Value | Before::Verb | Before::File | Before::Folder => {
                    let Some(word) = words.get(at) else { continue };
                    match before {
                        Before::File => opened.files.push(word.clone()),
                        Before::Folder => opened.folders.push(word.clone()),
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
        opened.rest.extend(words.drain(at.min(words.len())..));
        opened
    }

    /// Reads options from `at` on, and returns where they end.
    fn options(
        &self,
        words: &mut Vec<String>,
        mut at: usize,
        split: &dyn Fn(&str) -> Vec<String>,
        opened: &mut Opened,
    ) -> usize {
        while let Some(word) = words.get(at).cloned() {
            if words.len() > WORD_LIMIT {
                opened.unknown.push(word);
                return words.len();
            }
            // Not every wrapper takes `--` for the end of its options, so a program behind it is the program either way.
            if word == "--" && self.exact("--").is_none() {
                return at + 1;
            }
            if !word.starts_with(['-', '=', '+']) || (word == "-" && self.exact("-").is_none()) {
                if !self.permuted || self.exact(&word).is_some() {
                    if self.exact(&word).is_none() {
                        return at;
                    }
                } else {
                    opened.rest.push(word);
                    at += 1;
                    continue;
                }
            }
            at = self.option(words, at, split, opened);
        }
        at
    }

    /// Reads the option at `at`.
    fn option(
        &self,
        words: &mut Vec<String>,
        at: usize,
        split: &dyn Fn(&str) -> Vec<String>,
        opened: &mut Opened,
    ) -> usize {
        let word = words[at].clone();
        if let Some(entry) = self.exact(&word) {
            return self.take(entry, None, words, at + 1, split, opened);
        }
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        if name.len() > 2
            && let Some(entry) = self.long(name)
        {
            return self.take(entry, value, words, at + 1, split, opened);
        }
        if word.starts_with("--") || !word.starts_with('-') {
            opened.unknown.push(word);
            return at + 1;
        }
        if word[1..].chars().all(|c| c.is_ascii_digit())
            && let Some(entry) = self.entries.iter().find(|entry| entry.takes == Takes::Number)
        {
            opened.given.push((entry.name, entry.effect, vec![word[1..].to_owned()]));
            return at + 1;
        }
        self.cluster(&word, words, at + 1, split, opened)
    }

    /// `-iu NAME`, `-oFILE`.
    fn cluster(
        &self,
        word: &str,
        words: &mut Vec<String>,
        next: usize,
        split: &dyn Fn(&str) -> Vec<String>,
        opened: &mut Opened,
    ) -> usize {
        for (index, letter) in word.char_indices().skip(1) {
            let Some(entry) = self.exact(&format!("-{letter}")) else {
                opened.unknown.push(word.to_owned());
                return next;
            };
            let rest = &word[index + letter.len_utf8()..];
            match entry.takes {
                Takes::Nothing => opened.given.push((entry.name, entry.effect, Vec::new())),
                Takes::Values(_) if rest.is_empty() => return self.take(entry, None, words, next, split, opened),
                Takes::Values(_) | Takes::Attached | Takes::Number => {
                    let value = (!rest.is_empty()).then(|| rest.trim_start_matches('=').to_owned());
                    return self.take(entry, value, words, next, split, opened);
                }
            }
        }
        next
    }

    fn exact(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// A long name may be cut short where only one of the table begins so; programs with one dash before long names have them whole.
    fn long(&self, name: &str) -> Option<&Entry> {
        if let Some(entry) = self.exact(name) {
            return Some(entry);
        }
        if !name.starts_with("--") {
            return None;
        }
        let mut begun = self.entries.iter().filter(|entry| entry.name.starts_with(name));
        match (begun.next(), begun.next()) {
            (Some(entry), None) => Some(entry),
            (None, _) => self.exact("--*"),
            (Some(_), Some(_)) => None,
        }
    }

    fn take(
        &self,
        entry: &Entry,
        attached: Option<String>,
        words: &mut Vec<String>,
        mut next: usize,
        split: &dyn Fn(&str) -> Vec<String>,
        opened: &mut Opened,
    ) -> usize {
        let mut values: Vec<String> = attached.into_iter().collect();
        if let Takes::Values(count) = entry.takes {
            while values.len() < count && next < words.len() {
                values.push(words[next].clone());
                next += 1;
            }
        }
        if entry.effect == Effect::Split {
            let cut: Vec<String> = values.iter().flat_map(|value| split(value)).collect();
            words.splice(next..next, cut);
        }
        opened.given.push((entry.name, entry.effect, values));
        next
    }
}
