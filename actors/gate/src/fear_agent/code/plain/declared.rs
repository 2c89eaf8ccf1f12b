//! The names that a program declares by itself.

use super::*;

/// Names that a program declares.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) all: BTreeSet<String>,
    /// Names that are declared as functions.
    pub(super) functions: BTreeSet<String>,
    /// Names that are given something else than a function.
    pub(super) values: BTreeSet<String>,
}

pub(super) fn declared(lexemes: &[Lexeme], language: Language) -> Declared {
    let mut out = Declared::default();
    let is_sign = |at: usize, sign: char| lexemes.get(at) == Some(&Sign(sign));
    for (at, lexeme) in lexemes.iter().enumerate() {
        match lexeme {
            // `x = …`, and not `x == …`.
            Sign('=')
                if !is_sign(at + 1, '=') && !is_sign(at + 1, '>') && at > 0 && !is_comparison(&lexemes[at - 1]) =>
            {
                let is_function = match lexemes.get(at + 1) {
                    Some(Name(word)) => {
                        matches!(word.as_str(), "function" | "async" | "lambda")
                            || (is_sign(at + 2, '=') && is_sign(at + 3, '>'))
                    }
                    Some(Sign('(')) => {
                        let end = closing(lexemes, at + 1);
                        is_sign(end + 1, '=') && is_sign(end + 2, '>')
                    }
                    _ => false,
                };
                for name in targets(lexemes, at, language) {
                    if is_function {
                        out.functions.insert(name.clone())
                    } else {
                        out.values.insert(name.clone())
                    };
                    out.all.insert(name);
                }
            }
            // `(a, b) => …` and `a => …`.
            Sign('=') if is_sign(at + 1, '>') && language == Language::JavaScript => {
                match lexemes.get(at.wrapping_sub(1)) {
                    Some(Name(name)) => {
                        out.values.insert(name.clone());
                        out.all.insert(name.clone());
                    }
                    Some(Sign(')')) => parameters(lexemes, opening(lexemes, at - 1), &mut out),
                    _ => {}
                }
            }
            // `{ |a, b| … }`.
            Sign('|') if language == Language::Ruby => {
                let names = lexemes[at + 1..].iter().take_while(|lexeme| **lexeme != Sign('|'));
                let is_list = names.clone().all(|lexeme| matches!(lexeme, Name(_) | Sign(',' | '(' | ')' | '*')));
                let begins =
                    at == 0 || matches!(&lexemes[at - 1], Sign('{')) || lexemes[at - 1] == Name(String::from("do"));
                if is_list && begins {
                    out.all.extend(names.filter_map(name_of));
                }
            }
            Name(word) => match (language, word.as_str()) {
                (Language::JavaScript, "function")
                | (Language::Python | Language::Ruby, "def")
                | (Language::Perl, "sub") => {
                    let mut from = at + 1;
                    if let Some(Name(name)) = lexemes.get(from) {
                        out.functions.insert(name.clone());
                        out.all.insert(name.clone());
                        from += 1;
                    }
                    if is_sign(from, '(') && language != Language::Perl {
                        parameters(lexemes, from, &mut out);
                    }
                }
                (Language::JavaScript, "const" | "let" | "var") => {
                    let end =
                        lexemes[at + 1..].iter().position(|lexeme| matches!(lexeme, Sign('=' | ';' | ')') | Line));
                    let named = &lexemes[at + 1..at + 1 + end.unwrap_or(0)];
                    let names = named.iter().take_while(|lexeme| !is_word(lexeme, &["of", "in"])).filter_map(name_of);
                    out.all.extend(names);
                }
                (Language::Python, "for") | (Language::Ruby, "for") => {
                    let names = lexemes[at + 1..].iter().take_while(|lexeme| **lexeme != Name("in".into()));
                    out.all.extend(names.filter_map(name_of));
                }
                (Language::JavaScript, "for" | "catch") if is_sign(at + 1, '(') => {
                    let names = lexemes[at + 2..].iter().take_while(|lexeme| {
                        !matches!(lexeme, Sign(')' | '=' | ';')) && !is_word(lexeme, &["in", "of"])
                    });
                    let names: Vec<String> = names.filter_map(name_of).collect();
                    out.values.extend(names.iter().cloned());
                    out.all.extend(names);
                }
                (Language::Python, "lambda") => {
                    let names = lexemes[at + 1..].iter().take_while(|lexeme| **lexeme != Sign(':'));
                    let names: Vec<String> = names.filter_map(name_of).collect();
                    out.all.extend(names);
                }
                (Language::Python, "as" | "class") => out.all.extend(lexemes.get(at + 1).and_then(name_of)),
                // What may be imported is judged by `is_plain` and by the modules.
                (Language::Python, "import") => {
                    let names = lexemes[at + 1..].iter().take_while(|lexeme| !matches!(lexeme, Line | Sign(';')));
                    out.all.extend(names.filter_map(name_of));
                }
                _ => {}
            },
            _ => {}
        }
    }
    out
}

pub(super) fn name_of(lexeme: &Lexeme) -> Option<String> {
    match lexeme {
        Name(name) => Some(name.clone()),
        _ => None,
    }
}

pub(super) fn is_word(lexeme: &Lexeme, words: &[&str]) -> bool {
    matches!(lexeme, Name(name) if words.contains(&name.as_str()))
}

pub(super) fn is_comparison(lexeme: &Lexeme) -> bool {
    matches!(lexeme, Sign('=' | '!' | '<' | '>'))
}

/// The names before `=`: `x`, `a, b`, `[a, b]`.
pub(super) fn targets(lexemes: &[Lexeme], at: usize, language: Language) -> Vec<String> {
    let before = lexemes[..at].iter().rev();
    // `x += 1`.
    let before: Vec<&Lexeme> = before
        .skip_while(|lexeme| matches!(lexeme, Sign('+' | '-' | '*' | '/' | '|' | '&' | '%' | ':' | '?')))
        .collect();
    let list = before.iter().take_while(|lexeme| matches!(lexeme, Name(_) | Sign(','))).count();
    let begins = matches!(before.get(list), None | Some(Line | Sign(';' | ':' | '{' | '|')));
    let length = match language {
        Language::Perl => 0,
        Language::Python | Language::Ruby if begins => list,
        _ => list.min(1),
    };
    before[..length].iter().filter_map(|lexeme| name_of(lexeme)).collect()
}

/// The names in the brackets that open here.
pub(super) fn parameters(lexemes: &[Lexeme], from: usize, out: &mut Declared) {
    let end = closing(lexemes, from);
    let names: Vec<String> = lexemes[from..end.min(lexemes.len())].iter().filter_map(name_of).collect();
    out.values.extend(names.iter().cloned());
    out.all.extend(names);
}

/// The bracket that closes the one at `from`.
pub(super) fn closing(lexemes: &[Lexeme], from: usize) -> usize {
    let mut depth = 0;
    for (at, lexeme) in lexemes.iter().enumerate().skip(from) {
        match lexeme {
            Sign('(' | '[' | '{') => depth += 1,
            Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    lexemes.len()
}

/// The bracket that the one at `from` closes.
pub(super) fn opening(lexemes: &[Lexeme], from: usize) -> usize {
    let mut depth = 0;
    for at in (0..=from).rev() {
        match lexemes[at] {
            Sign(')' | ']' | '}') => depth += 1,
            Sign('(' | '[' | '{') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    0
}
