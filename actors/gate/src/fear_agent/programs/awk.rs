//! A program of awk, read as awk reads it: pipes and `system()` run commands, redirects and `getline` name files.
//!
//! Law: a command or a file that the program puts together is asked about, unless it is put together from known texts.

use std::collections::BTreeMap;

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Name(String),
    /// A regular expression or a number.
    Value,
    Sign(char),
    Line,
}

use Part::{Line, Name, Sign, Text, Value};

/// Words behind which an expression begins, so that `/` begins a regular expression.
const BEFORE_EXPRESSIONS: [&str; 9] = ["print", "printf", "return", "in", "else", "do", "case", "exit", "getline"];
/// Endings of files that run nothing, whatever stands before them.
const DATA_ENDINGS: [&str; 12] =
    [".txt", ".csv", ".tsv", ".log", ".out", ".dat", ".tmp", ".lst", ".fasta", ".bak", ".new", ".orig"];

/// `assigned`: variables that the command line sets.
pub(super) fn judge(walker: &mut Walker, script: &str, assigned: &[(String, String)]) {
    let Some(parts) = parts(script) else {
        walker.findings.ask(rules::RUN_CODE, "the awk program can't be read for certain");
        return;
    };
    let known = known(&parts, assigned);
    let program = Program { parts: &parts, known: &known };
    let mut depth = 0_i32;
    let mut prints = false;
    for (at, part) in parts.iter().enumerate() {
        match part {
            Text(text) if text.contains("/inet") => {
                walker.findings.block(rules::BACKDOOR, "the awk program opens a network connection");
            }
            Name(name) => program.name(walker, at, name, &mut prints, depth),
            Sign('@') => program.indirect(walker, at),
            Sign('(' | '[') => depth += 1,
            Sign(')' | ']') => depth -= 1,
            Sign(';' | '{' | '}') | Line => {
                prints = false;
                depth = if *part == Line { depth } else { 0 };
            }
            Sign('|') if parts.get(at + 1) != Some(&Sign('|')) && (at == 0 || parts[at - 1] != Sign('|')) => {
                program.pipe(walker, at);
            }
            Sign('>') if prints && depth <= 0 && (at == 0 || parts[at - 1] != Sign('>')) => {
                program.redirect(walker, at)
            }
            _ => {}
        }
    }
}

struct Program<'a> {
    parts: &'a [Part],
    known: &'a BTreeMap<String, String>,
}

impl Program<'_> {
    fn name(&self, walker: &mut Walker, at: usize, name: &str, prints: &mut bool, depth: i32) {
        match name {
            "print" | "printf" => *prints = depth <= 0,
            "system" => {
                walker.findings.ask(rules::RUN_CODE, "the awk program runs a command");
                let (command, _) = self.folded(at + 1);
                runs(walker, command);
            }
            "getline" => {
                // `getline < "file"`, `getline line < "file"`.
                let from = (at + 1..self.parts.len().min(at + 8)).find(|at| self.parts[*at] == Sign('<'));
                let is_near = |from: usize| {
                    self.parts[at + 1..from].iter().all(|part| matches!(part, Name(_) | Value | Sign('$' | '[' | ']')))
                };
                if let Some(from) = from.filter(|from| is_near(*from)) {
                    self.reads(walker, from + 1);
                }
            }
            "ARGV" => {
                // `ARGV[1] = "file"` makes it an input.
                let set = self.parts[at..].iter().take(8).position(|part| *part == Sign(']')).map(|end| at + end + 1);
                if let Some(set) = set.filter(|set| {
                    self.parts.get(*set) == Some(&Sign('=')) && self.parts.get(*set + 1) != Some(&Sign('='))
                }) {
                    self.reads(walker, set + 1);
                }
            }
            _ => {}
        }
    }

    /// `@load "library"`, `@include "file"`, and functions that are called by their names.
    fn indirect(&self, walker: &mut Walker, at: usize) {
        match (self.parts.get(at + 1), self.parts.get(at + 2)) {
            (Some(Name(mark)), Some(Text(library))) if matches!(mark.as_str(), "load" | "include") => {
                walker.loads(&format!("awk's @{mark}"), library);
            }
            (Some(Name(mark)), _) if mark == "namespace" => {}
            _ => walker.findings.ask(rules::RUN_CODE, "the awk program calls a function by its name"),
        }
    }

    /// `print | "command"` and `"command" | getline`.
    fn pipe(&self, walker: &mut Walker, at: usize) {
        let behind = at + 1 + usize::from(self.parts.get(at + 1) == Some(&Sign('&')));
        if matches!(self.parts.get(behind), Some(Name(name)) if name == "getline") {
            let start = self.parts[..at]
                .iter()
                .rposition(|part| matches!(part, Sign(';' | '{' | '}' | '!' | '&' | '|' | '=') | Line))
                .map_or(0, |start| start + 1);
            // `while (("command" | getline) > 0)`: the brackets around it are open still.
            let open = self.parts[start..at].iter().take_while(|part| matches!(part, Sign('(') | Name(_))).count();
            let start = start
                + self.parts[start..start + open].iter().rposition(|part| *part == Sign('(')).map_or(0, |at| at + 1);
            let (command, end) = self.folded(start);
            runs(walker, command.filter(|_| end == at));
        } else {
            let (command, end) = self.folded(behind);
            let is_whole = self.ends(end);
            // What is put behind the text is known only when it runs.
            runs(walker, command.map(|command| if is_whole { command } else { format!("{command}{UNKNOWN}") }));
        }
    }

    fn redirect(&self, walker: &mut Walker, at: usize) {
        let from = at + 1 + usize::from(self.parts.get(at + 1) == Some(&Sign('>')));
        let (path, end) = self.folded(from);
        if let Some(path) = path.filter(|_| self.ends(end)) {
            walker.write(&path);
            return;
        }
        let last = self.parts[from..].iter().take_while(|part| !matches!(part, Sign(';' | '}' | ')') | Line)).last();
        let is_data = match last {
            Some(Text(end)) => is_data_name(end),
            Some(Name(name)) => self.is_data_variable(name),
            _ => false,
        };
        if !is_data {
            walker.findings.ask(rules::UNKNOWN_PATH, "which file the awk program writes is known only when it runs");
        }
    }

    /// Whether the variable is only given names of data files: `f = $1 ".csv"`.
    fn is_data_variable(&self, name: &str) -> bool {
        let mut uses = self.parts.iter().enumerate().filter(|(_, part)| matches!(part, Name(known) if known == name));
        let mut given = false;
        uses.all(|(at, _)| match (self.parts.get(at + 1), self.parts.get(at + 2)) {
            (Some(Sign('=')), Some(second)) if *second != Sign('=') => {
                given = true;
                let value = self.parts[at + 2..].iter().take_while(|part| !matches!(part, Sign(';' | '}') | Line));
                matches!(value.last(), Some(Text(end)) if is_data_name(end))
            }
            // Here it is used, and not given anything else.
            (next, _) => {
                matches!(next, None | Some(Sign(';' | '}' | ')') | Line))
                    && at > 0
                    && matches!(self.parts[at - 1], Sign('>' | '('))
            }
        }) && given
    }

    fn reads(&self, walker: &mut Walker, from: usize) {
        match self.folded(from) {
            (Some(path), end) if !matches!(self.parts.get(end), Some(Text(_) | Name(_) | Sign('('))) => {
                walker.read(&path, By::Shell);
            }
            // An argument, or what was read, is a file that the command names already.
            (None, _) if matches!(self.parts.get(from), Some(Name(name)) if matches!(name.as_str(), "ARGV" | "FILENAME")) =>
                {}
            _ => {
                walker.findings.ask(rules::UNKNOWN_PATH, "which file the awk program reads is known only when it runs")
            }
        }
    }

    /// The text that begins here, joined from known texts, and the place behind it.
    fn folded(&self, from: usize) -> (Option<String>, usize) {
        let mut at = from;
        let mut open = 0;
        let mut text: Option<String> = None;
        while let Some(part) = self.parts.get(at) {
            let piece = match part {
                Text(piece) => piece.clone(),
                Name(name) => match self.known.get(name) {
                    Some(piece) => piece.clone(),
                    None => break,
                },
                Sign('(') if text.is_none() => {
                    open += 1;
                    at += 1;
                    continue;
                }
                Sign(')') if open > 0 => {
                    open -= 1;
                    at += 1;
                    continue;
                }
                _ => break,
            };
            text = Some(text.unwrap_or_default() + &piece);
            at += 1;
        }
        (text, at)
    }

    /// Whether nothing is put behind what ends here.
    fn ends(&self, at: usize) -> bool {
        matches!(self.parts.get(at), None | Some(Sign(';' | '}' | ')' | '|' | '&') | Line))
    }
}

fn is_data_name(end: &str) -> bool {
    DATA_ENDINGS.iter().any(|known| end.ends_with(known))
}

fn runs(walker: &mut Walker, command: Option<String>) {
    match command {
        Some(command) => {
            walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        }
        None => walker.findings.ask(rules::RUN_CODE, "the awk program runs a command that it puts together"),
    }
}

/// Variables that are set once, to known texts.
fn known(parts: &[Part], assigned: &[(String, String)]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, value) in assigned {
        values.entry(name.clone()).and_modify(|known| *known = None).or_insert_with(|| Some(value.clone()));
    }
    // A parameter of a function is another variable.
    for (at, _) in
        parts.iter().enumerate().filter(|(_, part)| matches!(part, Name(word) if word == "function" || word == "func"))
    {
        let parameters = parts[at + 1..].iter().take_while(|part| **part != Sign(')'));
        for name in parameters.filter_map(|part| if let Name(name) = part { Some(name) } else { None }) {
            values.insert(name.clone(), None);
        }
    }
    for (at, part) in parts.iter().enumerate() {
        let Name(name) = part else { continue };
        let next = parts.get(at + 1);
        let is_set = next == Some(&Sign('=')) && parts.get(at + 2) != Some(&Sign('='));
        let is_changed = matches!(next, Some(Sign('+' | '-' | '*' | '/' | '%' | '^')))
            && matches!(parts.get(at + 2), Some(Sign('=' | '+' | '-')));
        // `getline name`, `for (name in list)`, `sub(…, name)`, `split(…, name)`.
        let is_given = (at > 0 && matches!(&parts[at - 1], Name(word) if word == "getline"))
            || matches!(next, Some(Name(word)) if word == "in")
            || (at > 0 && parts[at - 1] == Sign(',') && next == Some(&Sign(')')))
            || matches!(next, Some(Sign('[')));
        if !is_set && !is_changed && !is_given {
            continue;
        }
        let texts: Vec<&String> = parts[at + 1..]
            .iter()
            .skip(1)
            .map_while(|part| if let Text(text) = part { Some(text) } else { None })
            .collect();
        let ends = matches!(parts.get(at + 2 + texts.len()), None | Some(Sign(';' | '}' | ')' | ',') | Line));
        let value =
            (is_set && !texts.is_empty() && ends).then(|| texts.into_iter().map(String::as_str).collect::<String>());
        values.entry(name.clone()).and_modify(|known| *known = None).or_insert(value);
    }
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// `None` if a text or a regular expression doesn't end.
fn parts(script: &str) -> Option<Vec<Part>> {
    let chars: Vec<char> = script.chars().collect();
    let mut out: Vec<Part> = Vec::new();
    let mut at = 0;
    // Whether each open bracket is that of a condition, behind which a regular expression may stand.
    let mut open: Vec<bool> = Vec::new();
    let mut closed_condition = false;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        match c {
            '\n' => out.push(Line),
            '\\' if chars.get(at) == Some(&'\n') => at += 1,
            c if c.is_whitespace() => {}
            '#' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '"' => out.push(Text(delimited(&chars, &mut at, '"')?)),
            '/' => {
                let last = out.iter().rev().find(|part| **part != Line);
                let is_regex = match last {
                    None | Some(Sign('}')) => true,
                    Some(Sign(')')) => closed_condition,
                    Some(Sign(']' | '$')) | Some(Text(_) | Value) => false,
                    Some(Name(word)) => BEFORE_EXPRESSIONS.contains(&word.as_str()),
                    // `x++ / 2`.
                    Some(Sign('+' | '-')) if matches!(out.as_slice(), [.., Sign(a), Sign(b)] if a == b) => return None,
                    Some(_) => true,
                };
                if is_regex {
                    delimited(&chars, &mut at, '/')?;
                    out.push(Value);
                } else {
                    out.push(Sign('/'));
                }
            }
            c if c.is_alphabetic() || c == '_' => {
                let rest = chars[at..].iter().take_while(|c| c.is_alphanumeric() || matches!(c, '_')).count();
                out.push(Name(chars[at - 1..at + rest].iter().collect()));
                at += rest;
            }
            c if c.is_ascii_digit() => {
                at += chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '.').count();
                out.push(Value);
            }
            c => {
                match c {
                    '(' => open.push(
                        matches!(out.last(), Some(Name(word)) if matches!(word.as_str(), "if" | "while" | "for")),
                    ),
                    ')' => closed_condition = open.pop().unwrap_or_default(),
                    _ => {}
                }
                out.push(Sign(c));
            }
        }
    }
    Some(out)
}

/// The text up to an unescaped sign. In a list of a regular expression (`[/]`) a slash may or may not end it.
fn delimited(chars: &[char], at: &mut usize, end: char) -> Option<String> {
    let mut text = String::new();
    let mut is_escaped = false;
    loop {
        let c = *chars.get(*at)?;
        *at += 1;
        match c {
            '\\' if !is_escaped => is_escaped = true,
            c if c == end && !is_escaped => {
                let is_unclear = end == '/' && text.matches('[').count() > text.matches(']').count();
                return (!is_unclear).then(|| super::super::content::unescaped(&text));
            }
            '\n' if end == '/' => return None,
            _ => is_escaped = false,
        }
        text.push(c);
    }
}
