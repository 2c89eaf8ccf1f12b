//! A word that names a secret place counts as reading it, for any program, unless the table of words says that it is
//! only mentioned: `w3m -dump /etc/shadow`, `--file=~/.netrc`, `@.env`, `file:///etc/shadow`.

use std::path::Path;

use super::super::effects::By;
use super::super::kinds;
use super::super::paths::{Kind, UNKNOWN, Zone};
use super::super::shell::{Call, Walker};
use super::super::tables::{self, Talk};
use maxim_tools::places::own::Own;
use maxim_tools::places::percent::percent_decoded;

/// Pieces of one call that are checked, at most.
const PIECE_LIMIT: usize = 512;

/// Separators of paths within a word.
const SEPARATORS: &[char] = &['=', '@', ':', ',', ';', '|', '<', '>', '\'', '"', '`', '(', ')', '{', '}'];

/// The parts of a word that may be paths.
pub(super) fn pieces(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for token in word.split_whitespace() {
        let address = token.to_ascii_lowercase().find("file:").map(|at| &token[at + "file:".len()..]);
        if let Some(path) = address {
            let path = path.strip_prefix("//").map_or(path, |rest| rest.find('/').map_or(rest, |at| &rest[at..]));
            found.extend(alternatives(&percent_decoded(path.trim_end_matches(['\'', '"', ')', ',', ';']))));
            continue;
        }
        // Files of another machine aren't files of this one.
        if token.contains("://") {
            continue;
        }
        for piece in token.split(SEPARATORS) {
            let piece = match piece.strip_prefix('-') {
                // `-f/etc/shadow`, `-d.env`.
                Some(option) => match option.find(['/', '~']) {
                    Some(at) => &option[at..],
                    None => option.get(1..).filter(|rest| rest.starts_with('.')).unwrap_or_default(),
                },
                None => piece.trim_start_matches(['+', '%', '#', '^']),
            };
            if piece.len() > 2 && found.len() < PIECE_LIMIT {
                found.push(piece.to_owned());
            }
        }
    }
    found
}

/// `/etc/{shadow,hosts}` written out, as curl does it.
fn alternatives(path: &str) -> Vec<String> {
    let inner = path
        .split_once('{')
        .and_then(|(before, rest)| rest.split_once('}').map(|(inside, after)| (before, inside, after)));
    match inner {
        Some((before, inside, after)) => {
            inside.split(',').take(16).map(|part| format!("{before}{part}{after}")).collect()
        }
        None => vec![path.to_owned()],
    }
}

/// Whether the program takes file names from its standard input.
fn takes_names(call: &Call) -> bool {
    let has = |words: &[&str]| call.args.iter().any(|arg| words.contains(&arg.as_str()));
    let pair = |option: &str| call.args.windows(2).any(|pair| pair[0] == option && pair[1] == "-");
    match call.name.as_str() {
        "cpio" | "pax" => true,
        "zip" => has(&["-@", "--names-stdin"]),
        "tar" | "bsdtar" | "gtar" => pair("-T") || has(&["-T-", "--files-from=-", "--files-from"]),
        "rsync" => has(&["--files-from=-", "--files-from"]),
        "file" => pair("-f") || has(&["-f-", "--files-from=-"]),
        _ => has(&["--files0-from=-"]) || pair("--files0-from"),
    }
}

/// Whether a piece is written as a path. A bare name is a path only if it is the whole word.
fn is_path(piece: &str, alone: bool) -> bool {
    let is_told = piece.contains(|c: char| c.is_alphanumeric());
    match piece.chars().next() {
        Some('/' | '~' | UNKNOWN) => is_told,
        Some('.') => is_told,
        _ => alone && (piece.contains(['/', '.']) || piece.starts_with("id_")),
    }
}

pub(super) fn judge(walker: &mut Walker, call: &Call) {
    let program = call.name.as_str();
    let talk = tables::talk_of(program);
    if talk == Talk::All || tables::wrapper(program).is_some() {
        return;
    }
    if let Some(text) = call.stdin.text.as_deref().filter(|_| takes_names(call)) {
        text.split(['\n', '\0']).take(PIECE_LIMIT).filter(|name| !name.is_empty()).for_each(|name| {
            walker.read(name, By::Shell);
        });
    }
    let gives_pattern = |arg: &String| {
        matches!(arg.as_str(), "-e" | "-f" | "--regexp" | "--expression" | "--file" | "--from-file")
            || ["-e", "-f", "--regexp=", "--expression=", "--file="]
                .iter()
                .any(|start| arg.starts_with(start) && !arg.starts_with("--f"))
    };
    let mut pattern_comes = talk == Talk::First && !call.args.iter().any(gives_pattern);
    let mut is_text = false;
    for arg in &call.args {
        if std::mem::take(&mut is_text) {
            continue;
        }
        if arg.starts_with('-') && arg.len() > 1 {
            let name = arg.split('=').next().unwrap_or(arg);
            if tables::text_options(program, name) {
                is_text = name.len() == arg.len();
                continue;
            }
            // `-am message`, `-mmessage`.
            if !arg.starts_with("--")
                && name.len() > 2
                && tables::text_options(program, &format!("-{}", &last_letter(name)))
            {
                is_text = true;
                continue;
            }
            if !arg.starts_with("--") && arg.get(..2).is_some_and(|letter| tables::text_options(program, letter)) {
                continue;
            }
        } else if std::mem::take(&mut pattern_comes) {
            continue;
        }
        let alone = !arg.contains(char::is_whitespace);
        for piece in pieces(arg).iter().filter(|piece| is_path(piece, alone)) {
            name_place(walker, piece, talk);
        }
    }
}

/// The last letter of a cluster of letters.
fn last_letter(cluster: &str) -> String {
    let letters = cluster.trim_start_matches('-');
    if letters.chars().all(|c| c.is_ascii_alphabetic()) {
        letters.chars().last().into_iter().collect()
    } else {
        String::new()
    }
}

/// The secret places named in a program text of another language.
pub(super) fn judge_text(walker: &mut Walker, text: &str) {
    for piece in pieces(text) {
        if matches!(walker.place(&piece).kind, Kind::Secret) && piece.starts_with(['/', '~']) {
            walker.read(&piece, By::Shell);
        }
    }
}

fn name_place(walker: &mut Walker, piece: &str, talk: Talk) {
    let place = walker.place(piece);
    let is_inside = place.zone == Zone::Inside;
    let is_secret = match place.kind {
        Kind::Secret | Kind::MaybeSecret => true,
        Kind::Startup | Kind::Accounts => talk == Talk::None,
        _ => place.own == Own::Data,
    };
    if !is_secret || (is_inside && talk == Talk::Judged) {
        return;
    }
    // A bare name may be any word, unless it is a listed name or an existing file.
    let is_bare = !piece.contains('/') && !piece.starts_with(['.', '~']);
    if is_bare && !kinds::is_listed(piece) && !Path::new(&place.path).exists() {
        return;
    }
    walker.read(piece, By::Shell);
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn a_word_is_taken_apart_into_paths() {
        for (word, expected) in [
            ("--file=/etc/shadow", vec!["/etc/shadow"]),
            ("@/etc/shadow", vec!["/etc/shadow"]),
            ("-f/etc/shadow", vec!["/etc/shadow"]),
            ("-d.env", vec![".env"]),
            ("file:///etc/shadow", vec!["/etc/shadow"]),
            ("file://localhost/etc/sh%61dow", vec!["/etc/shadow"]),
            ("FILE:/etc/shadow", vec!["/etc/shadow"]),
            ("label:@/etc/shadow", vec!["label", "/etc/shadow"]),
            (".output ~/.ssh/authorized_keys", vec![".output", "~/.ssh/authorized_keys"]),
            ("https://example.com/.ssh/id_rsa", vec![]),
        ] {
            assert_eq!(pieces(word), expected, "{word}");
        }
    }
}
