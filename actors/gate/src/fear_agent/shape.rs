//! What a call is, as far as a grant can name it: a simple command word by word, a text, or parameters.
//!
//! Law: a simple command is one program with literal words: no operator, redirect, assignment, substitution, variable
//! or wildcard. Anything else can't be named word by word.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use brush_parser::ast::{Command, CommandPrefixOrSuffixItem as Item, SeparatorOperator};
use serde_json::{Map, Value as Json};

use super::Setting;
use super::paths;

/// The agent's own tool for commands.
pub(super) const SHELL: &str = "bash";
/// Parameter names of its command, and parameters that don't change what runs.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
const HARMLESS: [&str; 2] = ["timeout_seconds", "timeout"];
/// Longest command that is read word by word, in bytes.
const LONGEST: usize = 2048;

/// A call and the folder in which it would run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub tool: String,
    /// Absolute, with links resolved.
    pub folder: PathBuf,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// A simple command.
    Simple(Vec<String>),
    /// Any other text for the shell.
    Text(String),
    Parameters(Map<String, Json>),
}

impl Shape {
    pub fn of(tool: &str, params: &Json, setting: &Setting) -> Self {
        let workdir = paths::resolve(&setting.workdir);
        let fields = params.as_object().cloned().unwrap_or_default();
        let (folder, what) = match (tool == SHELL).then(|| shell_call(&fields)).flatten() {
            Some((command, cwd)) => {
                let what = simple_words(command).map_or_else(|| What::Text(command.trim().to_owned()), What::Simple);
                (paths::resolve(&workdir.join(cwd.unwrap_or("."))), what)
            }
            None => (workdir, What::Parameters(fields)),
        };
        Self { tool: tool.to_owned(), folder, what }
    }

    /// Why no grant can name what would be done; `None` if one can.
    pub fn objection(&self) -> Option<&'static str> {
        const VARIES: &str = "the values of its variables, substitutions or wildcards are known only when it runs";
        match &self.what {
            What::Text(text)
                if text.contains(['$', '`', '*', '?', '[']) || text.contains("<(") || text.contains(">(") =>
            {
                Some(VARIES)
            }
            _ => None,
        }
    }
}

/// The command of a shell call and its folder; `None` if the call holds anything else.
fn shell_call(fields: &Map<String, Json>) -> Option<(&str, Option<&str>)> {
    let mut command = None;
    let mut cwd = None;
    for (name, value) in fields {
        match name.as_str() {
            name if COMMANDS.contains(&name) => {
                if command.replace(value.as_str()?).is_some() {
                    return None;
                }
            }
            "cwd" => cwd = Some(value.as_str()?),
            name if HARMLESS.contains(&name) => {}
            _ => return None,
        }
    }
    Some((command?, cwd))
}

/// The words of one simple command as the program gets them; `None` for anything else.
pub(super) fn simple_words(source: &str) -> Option<Vec<String>> {
    let source = source.trim();
    if source.is_empty() || source.len() > LONGEST || source.contains(|c: char| c.is_control()) {
        return None;
    }
    let options = brush_parser::ParserOptions::default();
    // The parser is third-party code. A panic in it must not count as a parsed word.
    let parsed =
        catch_unwind(AssertUnwindSafe(|| brush_parser::Parser::new(source.as_bytes(), &options).parse_program()));
    let program = parsed.ok()?.ok()?;
    let [list] = program.complete_commands.as_slice() else { return None };
    let [item] = list.0.as_slice() else { return None };
    let pipeline = &item.0.first;
    let is_alone = item.0.additional.is_empty() && matches!(item.1, SeparatorOperator::Sequence);
    if !is_alone || pipeline.bang || pipeline.timed.is_some() {
        return None;
    }
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return None };
    if simple.prefix.is_some() {
        return None;
    }
    let mut words = vec![literal(&simple.word_or_name.as_ref()?.value)?];
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        // `a=b` after the program is an ordinary word.
        let (Item::Word(word) | Item::AssignmentWord(_, word)) = item else { return None };
        words.push(literal(&word.value)?);
    }
    (!words[0].is_empty() && !words[0].contains('=')).then_some(words)
}

/// The literal value of a word; `None` if it isn't literal.
fn literal(raw: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => loop {
                match letters.next()? {
                    '\'' => break,
                    inner => out.push(inner),
                }
            },
            '"' => loop {
                match letters.next()? {
                    '"' => break,
                    '$' | '`' | '\\' => return None,
                    inner => out.push(inner),
                }
            },
            '\\' => out.push(letters.next()?),
            '$' | '`' | '*' | '?' | '[' | ']' | '{' | '}' | '~' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '!' => {
                return None;
            }
            letter => out.push(letter),
        }
    }
    Some(out)
}

/// The program that a word names, without folder, version and ending.
pub(super) fn program_of(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if plain.is_empty() { name } else { plain }
}

/// The words of a pattern.
///
/// # Errors
/// It contains a character that isn't part of a plain word.
pub(super) fn pattern_words(pattern: &str) -> Result<Vec<String>, String> {
    const NO_WORDS: &[char] =
        &['$', '`', ';', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']', '?', '~', '!', '\\', '\'', '"', '#'];
    if pattern.len() > LONGEST || pattern.contains(|c: char| c.is_control()) {
        return Err(format!("the pattern is longer than {LONGEST} bytes or holds a control character"));
    }
    if let Some(found) = pattern.chars().find(|c| NO_WORDS.contains(c)) {
        return Err(format!(
            "the pattern holds {found:?}; it is made of plain words and *, for one simple command: cargo test *"
        ));
    }
    let words: Vec<String> = pattern.split_whitespace().map(str::to_owned).collect();
    match words.first() {
        None => Err("the pattern is empty; give words such as: cargo test *".into()),
        Some(program) if program.contains('*') || program.contains('=') => {
            Err(format!("the pattern's first word {program:?} must name one program"))
        }
        Some(_) => Ok(words),
    }
}

/// Whether a command's words have the form of a pattern. A `*` at the end stands for any number of further words, also
/// none. Another `*` that stands alone is one word. A `*` within a word is any letters without `/`.
pub(super) fn has_form(words: &[String], pattern: &[String]) -> bool {
    let (fixed, is_open) = match pattern.split_last() {
        Some((last, before)) if last == "*" => (before, true),
        _ => (pattern, false),
    };
    let is_long_enough = if is_open { words.len() >= fixed.len() } else { words.len() == fixed.len() };
    is_long_enough && fixed.iter().zip(words).all(|(form, word)| form == "*" || word_fits(word, form))
}

fn word_fits(word: &str, form: &str) -> bool {
    let climbs = |path: &str| path.split('/').any(|part| part == "..");
    if form.contains('*') && climbs(word) && !climbs(form) {
        return false;
    }
    stretches(word, form)
}

fn stretches(word: &str, form: &str) -> bool {
    let Some((head, tail)) = form.split_once('*') else { return word == form };
    let Some(rest) = word.strip_prefix(head) else { return false };
    // Each position at which the text for `*` may end.
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.take_while(|at| !rest[..*at].contains('/')).any(|at| stretches(&rest[at..], tail))
}

/// Whether a program lies in this folder, also after links are resolved.
pub(super) fn lies_in(folder: &Path, program: &str) -> bool {
    if !program.contains('/') {
        return false;
    }
    let real = paths::resolve(&folder.join(program));
    real.starts_with(folder) && real != folder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn one_program_with_plain_words_is_simple_and_nothing_else_is() {
        assert_eq!(simple_words("python3  count.py"), Some(words("python3 count.py")));
        assert_eq!(
            simple_words("git commit -m 'a; b $x'"),
            Some(vec!["git".into(), "commit".into(), "-m".into(), "a; b $x".into()])
        );
        assert_eq!(simple_words("dd if=a of=b"), Some(words("dd if=a of=b")));
        for other in [
            "",
            "a && b",
            "a; b",
            "a | b",
            "a &",
            "a || b",
            "a > b",
            "a < b",
            "a 2>&1",
            "X=1 a",
            "X=1",
            "a $(b)",
            "a `b`",
            "a $B",
            "a \"$B\"",
            "a <(b)",
            "a *.py",
            "a {b,c}",
            "a ~/b",
            "(a)",
            "{ a; }",
            "! a",
            "time a",
            "a\nb",
            "if a; then b; fi",
            "a <<< b",
            "f() { a; }",
            "$A b",
            "a 'b",
        ] {
            assert_eq!(simple_words(other), None, "{other}");
        }
    }

    #[test]
    fn a_pattern_fits_words_and_never_crosses_a_folder() {
        let fits = |pattern: &str, text: &str| has_form(&words(text), &pattern_words(pattern).expect("a pattern"));
        for (pattern, text) in [
            ("cargo test *", "cargo test"),
            ("cargo test *", "cargo test --lib a"),
            ("python3 test_*.py", "python3 test_a.py"),
            ("python3 a.py", "python3 a.py"),
            ("git push * main", "git push origin main"),
            ("a b*c*d", "a bxcyd"),
            ("a *", "a /b/c"),
        ] {
            assert!(fits(pattern, text), "{pattern}: {text}");
        }
        for (pattern, text) in [
            ("cargo test *", "cargo run"),
            ("cargo test *", "cargo testx"),
            ("cargo test", "cargo test --lib"),
            ("python3 test_*.py", "python3 test_a/../../b.py"),
            ("python3 tests/*.py", "python3 tests/a/b.py"),
            ("sh tests/*/run", "sh tests/../run"),
            ("git push * main", "git push main"),
            ("git push * main", "git push a b main"),
        ] {
            assert!(!fits(pattern, text), "{pattern}: {text}");
        }
        for bad in ["", "*", "py* a", "a && b", "a; b", "a $(b)", "a `b`", "a | *", "a > *", "A=1 b", "a 'b'", "a\nb"] {
            assert!(pattern_words(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn programs_are_known_whatever_their_folder_and_version() {
        for (word, program) in [("/usr/bin/python3.12", "python"), ("./run.sh", "run.sh"), ("bash", "bash"), ("7", "7")]
        {
            assert_eq!(program_of(word), program, "{word}");
        }
    }
}
