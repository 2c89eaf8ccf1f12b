//! What the clients of databases do besides speaking to one: their own commands run programs and read and write files.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;

/// What a command of a client does with its last or first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Runs,
    Tape,
    Writes,
    /// Reads a file, or what a command gives behind `|`.
    Reads,
    Loads,
    Asks,
}

/// Dot commands of SQLite and DuckDB; they may be cut short.
const DOT: &[(&str, Does)] = &[
    ("shell", Does::Runs),
    ("system", Does::Runs),
    ("output", Does::Tape),
    ("once", Does::Tape),
    ("log", Does::Writes),
    ("trace", Does::Writes),
    ("backup", Does::Writes),
    ("save", Does::Writes),
    ("clone", Does::Writes),
    ("open", Does::Writes),
    ("excel", Does::Asks),
    ("www", Does::Asks),
    ("edit", Does::Asks),
    ("archive", Does::Asks),
    ("session", Does::Asks),
    ("import", Does::Reads),
    ("read", Does::Loads),
    ("restore", Does::Reads),
    ("load", Does::Loads),
];

pub(super) fn judge(walker: &mut Walker, client: &str, text: &str) {
    match client {
        "sqlite3" | "sqlite" | "litecli" | "duckdb" => {
            text.lines().for_each(|line| dot_command(walker, line.trim_start()));
            functions(walker, text);
        }
        "psql" | "pgcli" => backslashes(walker, text),
        "mysql" | "mariadb" | "mycli" => mysql(walker, text),
        _ => {}
    }
}

fn runs(walker: &mut Walker, source: &str) {
    walker.findings.ask(rules::RUN_CODE, "the client would run a command");
    walker.apart(|walker| walker.script(source.trim(), &Stream::unknown()));
}

fn unquoted(word: &str) -> &str {
    word.trim().trim_matches(['\'', '"'])
}

fn dot_command(walker: &mut Walker, line: &str) {
    let Some(rest) = line.strip_prefix('.') else { return };
    let (name, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let known = DOT.iter().filter(|(known, _)| !name.is_empty() && known.starts_with(name));
    // What is cut short may be any of those that begin so.
    for (_, does) in known.take(if name.len() < 3 { DOT.len() } else { 1 }) {
        // A switch, such as `-e` of `.once`, opens an editor or another program.
        let switch = rest.split_whitespace().find(|word| word.starts_with('-'));
        let words: Vec<&str> = rest.split_whitespace().filter(|word| !word.starts_with('-')).collect();
        let piped = rest.split_once('|').map(|(before, source)| match before.trim_end().chars().last() {
            Some(mark @ ('\'' | '"')) => source.split(mark).next().unwrap_or(source),
            _ => source,
        });
        match (does, piped) {
            (Does::Runs, _) if !rest.trim().is_empty() => runs(walker, rest),
            (Does::Tape | Does::Reads | Does::Loads | Does::Writes, Some(source)) => runs(walker, source),
            (Does::Tape, None) => {
                if switch.is_some_and(|switch| matches!(switch, "-e" | "-x" | "-w" | "--www")) {
                    walker.findings.ask(rules::RUN_CODE, "the client would open what it writes with another program");
                }
                words.iter().take(1).filter(|word| **word != "off").for_each(|path| walker.write(unquoted(path)));
            }
            (Does::Writes, None) => {
                words
                    .iter()
                    .filter(|word| !matches!(**word, "off" | "stdout" | "stderr" | "main"))
                    .for_each(|path| walker.write(unquoted(path)));
            }
            (Does::Reads, None) => {
                for path in words.iter().take(2) {
                    walker.read(unquoted(path), By::Shell);
                }
            }
            (Does::Loads, None) => words.iter().take(1).for_each(|path| walker.loads("the client", unquoted(path))),
            (Does::Asks, _) => walker
                .findings
                .ask(rules::RUN_CODE, format!("the client's .{name} runs another program or writes files")),
            (Does::Runs, _) => {}
        }
    }
}

/// The text of the arguments of each call of `name`.
fn arguments<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lowered = text.to_ascii_lowercase();
    let found: Vec<usize> = lowered
        .match_indices(name)
        .filter(|(at, _)| !lowered[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
        .map(|(at, _)| at + name.len())
        .collect();
    found.into_iter().filter_map(move |from| {
        // SQL allows remarks and blanks before the bracket.
        let open = text[from..]
            .find('(')
            .filter(|open| text[from..from + open].chars().all(|c| !c.is_alphanumeric() && c != ','))?;
        Some(&text[from + open + 1..])
    })
}

/// The string that stands first, none where it is put together.
fn literal(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let mark = text.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let (value, rest) = text[1..].split_once(mark)?;
    rest.trim_start().starts_with([',', ')']).then_some(value)
}

/// Functions of the SQLite shell and of DuckDB that reach files, and statements that name one.
fn functions(walker: &mut Walker, text: &str) {
    for inner in arguments(text, "writefile") {
        match literal(inner) {
            Some(path) => walker.write(path),
            None => {
                walker.findings.ask(rules::UNKNOWN_PATH, "which file writefile() writes is known only when it runs")
            }
        }
    }
    for name in [
        "readfile",
        "fsdir",
        "lsmode",
        "zipfile",
        "read_text",
        "read_blob",
        "read_csv",
        "read_csv_auto",
        "read_json",
        "read_json_auto",
        "read_parquet",
        "parquet_scan",
        "glob",
        "sniff_csv",
        "csv",
        "sqlite_scan",
    ] {
        for path in arguments(text, name).filter_map(literal) {
            walker.read(path, By::Shell);
        }
    }
    for inner in arguments(text, "load_extension") {
        walker.loads("the client", literal(inner).unwrap_or("a library that is named when it runs"));
    }
    if arguments(text, "edit").next().is_some() {
        walker.findings.ask(rules::RUN_CODE, "edit() runs another program");
    }
    if arguments(text, "fts3_tokenizer").next().is_some() {
        walker.findings.ask(rules::RUN_CODE, "fts3_tokenizer() takes an address of code");
    }
    for statement in text.split(';') {
        let upper = statement.trim_start().to_ascii_uppercase();
        let named = || {
            let from = statement.find('\'')?;
            statement[from + 1..].split('\'').next()
        };
        if upper.starts_with("VACUUM") && upper.contains("INTO") || upper.starts_with("EXPORT ") {
            named().into_iter().for_each(|path| walker.write(path));
        } else if upper.starts_with("COPY ") && upper.contains(" TO ") {
            named().into_iter().for_each(|path| walker.write(path));
        } else if upper.starts_with("LOAD ") || upper.starts_with("INSTALL ") {
            walker.findings.ask(rules::RUN_CODE, "an extension would be loaded into the client");
        }
    }
    // Every file that a statement names by its place.
    for path in text.split(['\'', '"']).skip(1).step_by(2).filter(|path| path.starts_with(['/', '~'])) {
        if matches!(walker.place(path).kind, super::super::paths::Kind::Secret) {
            walker.read(path, By::Shell);
        }
    }
}

/// `\! command`, `\o |command`, `\copy … from program '…'`, wherever they stand in the text.
fn backslashes(walker: &mut Walker, text: &str) {
    for line in text.lines() {
        for (at, _) in line.match_indices('\\') {
            let command = &line[at + 1..];
            let word: String =
                command.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '!' | '+')).collect();
            // The next command ends this one, except for what is given to a shell.
            let rest = &command[word.len()..];
            let argument = rest.split('\\').next().unwrap_or_default().trim();
            match word.as_str() {
                word if word.starts_with('!') => {
                    runs(walker, command.trim_start_matches('!'));
                    break;
                }
                "o" | "out" | "g" | "gx" | "w" | "write" | "s" => {
                    let target = argument
                        .split_whitespace()
                        .last()
                        .filter(|_| !argument.starts_with('|') && !argument.starts_with('('));
                    if argument.contains('|') {
                        let source = rest.split_once('|').map_or("", |(_, source)| source);
                        runs(walker, source);
                        break;
                    }
                    target.into_iter().for_each(|path| walker.write(unquoted(path)));
                }
                "i" | "ir" | "include" | "include_relative" => walker.loads("psql", unquoted(argument)),
                "e" | "edit" | "ef" | "ev" => walker.findings.ask(rules::RUN_CODE, "psql would open an editor"),
                "lo_import" => {
                    walker.read(unquoted(argument.split_whitespace().next().unwrap_or_default()), By::Shell);
                }
                "lo_export" => {
                    argument.split_whitespace().nth(1).into_iter().for_each(|path| walker.write(unquoted(path)))
                }
                "copy" => copy(walker, argument),
                "setenv" => walker.findings.ask(rules::ENVIRONMENT, "psql would set a variable for what it runs"),
                // A back-quoted argument is a command, whatever it is given to.
                _ => {}
            }
            if let Some(source) = argument.split('`').nth(1) {
                runs(walker, source);
            }
        }
    }
    copy(walker, text);
}

/// `… from program 'command'`, `… to '/file'`.
fn copy(walker: &mut Walker, text: &str) {
    let lowered = text.to_ascii_lowercase();
    for (at, word) in lowered.match_indices("program") {
        if let Some(source) = text.get(at + word.len()..).and_then(|rest| rest.trim_start().strip_prefix('\'')) {
            let source = source.split('\'').next().unwrap_or_default();
            runs(walker, source);
        }
    }
    if lowered.trim_start().starts_with("copy") || !lowered.contains(';') && !lowered.contains("select") {
        for (word, writes) in [(" to ", true), (" from ", false)] {
            let Some(at) = lowered.find(word) else { continue };
            let path = text[at + word.len()..].split_whitespace().next().map(unquoted).unwrap_or_default();
            if !path.contains(['/', '.', '~']) || path.contains(UNKNOWN) {
                continue;
            }
            if writes {
                walker.write(path);
            } else {
                walker.read(path, By::Shell);
            }
        }
    }
}

/// `\! command`, `system command`, `pager command`, `tee file`, `source file`, `LOAD DATA INFILE`.
fn mysql(walker: &mut Walker, text: &str) {
    for (at, _) in text.match_indices("\\!") {
        runs(walker, text[at + 2..].lines().next().unwrap_or_default());
    }
    for (mark, does) in [("\\P", Does::Runs), ("\\T", Does::Writes), ("\\.", Does::Loads)] {
        for (at, _) in text.match_indices(mark) {
            named(walker, does, text[at + 2..].lines().next().unwrap_or_default());
        }
    }
    for statement in text.split([';', '\n']) {
        let (word, rest) = statement.trim_start().split_once(char::is_whitespace).unwrap_or((statement.trim(), ""));
        match word.to_ascii_lowercase().as_str() {
            "system" | "pager" => named(walker, Does::Runs, rest),
            "tee" => named(walker, Does::Writes, rest),
            "source" => named(walker, Does::Loads, rest),
            "edit" => walker.findings.ask(rules::RUN_CODE, "the client would open an editor"),
            _ => {}
        }
    }
    let lowered = text.to_ascii_lowercase();
    for (word, writes) in [("infile", false), ("outfile", true), ("dumpfile", true)] {
        for (at, _) in lowered.match_indices(word) {
            let Some(path) = text.get(at + word.len()..).and_then(|rest| rest.split(['\'', '"']).nth(1)) else {
                continue;
            };
            if writes {
                walker.write(path);
            } else {
                walker.read(path, By::Shell);
            }
        }
    }
}

fn named(walker: &mut Walker, does: Does, argument: &str) {
    let argument = argument.trim().trim_end_matches(';');
    match does {
        _ if argument.is_empty() => {}
        Does::Runs => runs(walker, argument),
        Does::Loads => walker.loads("the client", unquoted(argument)),
        _ => walker.write(unquoted(argument)),
    }
}
