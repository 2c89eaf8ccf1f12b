//! How people ask for a tool, as data. The habit grammar is generated from it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One way of asking for a tool.
///
/// # The pattern language
///
/// A pattern describes a **whole utterance**. What comes before or after in courtesy ("please", "can you", "now", the
/// agent's name) and the punctuation at the end (`.`, `!`, `?`) is the reader's business and not in the pattern.
/// Matching ignores case. An utterance is a row of tokens separated by white space; a token in quotes (`"…"`, `'…'`,
/// `` `…` ``) is one token whatever it holds.
///
/// | written | matches |
/// |---|---|
/// | `word` | this word. Letters, digits, `'` and `-`; a `:` or `,` written directly after a token in the utterance is no part of it and may always be left out or be there |
/// | `[a b]` | `a b`, or nothing |
/// | `[a\|b c]` | `a`, or `b c`, or nothing |
/// | `(a\|b c)` | `a`, or `b c` |
/// | `{verb}` | any of [`verbs`](Self::verbs); a verb may be several words. At most once in a pattern |
/// | `{name:kind}` | a slot: what it matches becomes the parameter `name` of the tool, after the conversion below. A name occurs at most once on each way through the pattern |
///
/// Brackets nest. A group of alternatives is tried in its order, what is optional is tried present before absent, and
/// the patterns of a tool are tried in their order; the first that matches the whole utterance wins. Between tools the
/// match wins whose slots took the fewest tokens: it understood the most words.
///
/// | kind | takes | value |
/// |---|---|---|
/// | `path` | one token that looks like a path or a glob: quoted, or without white space | string, quotes removed |
/// | `word` | one token | string, quotes removed |
/// | `number` | one token that is a decimal number, or a number word from zero to twenty | JSON number, an integer when it has no fraction |
/// | `quoted` | one quoted token | string, quotes removed |
/// | `rest` | all that remains, at least one token; only words may come after it | string as typed: case, inner spaces and inner quotes kept; quotes removed only when one pair encloses all of it |
///
/// `fixed` are parameters that the pattern sets although nobody says them. A slot of the same name is not allowed.
///
/// The registry checks all this when a tool is registered, with the tool's schema at hand: every slot and every fixed
/// name is a parameter, and a `number` slot belongs to a parameter of type number or integer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeechPattern {
    /// What `{verb}` stands for, lower case. Empty when the pattern has no `{verb}`.
    pub verbs: Vec<String>,
    pub pattern: String,
    /// Parameters that this way of asking implies.
    pub fixed: BTreeMap<String, Value>,
}

/// What a slot takes; see [`SpeechPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotKind {
    Path,
    Word,
    Number,
    Quoted,
    Rest,
}

impl SlotKind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "path" => Self::Path,
            "word" => Self::Word,
            "number" => Self::Number,
            "quoted" => Self::Quoted,
            "rest" => Self::Rest,
            _ => return None,
        })
    }
}

/// A pattern taken apart. The reader of utterances matches these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A literal word, lower case.
    Word(String),
    /// One of the pattern's verbs.
    Verb,
    /// One of these rows of pieces, or nothing when `optional`.
    Group {
        alternatives: Vec<Vec<Piece>>,
        optional: bool,
    },
    Slot {
        name: String,
        kind: SlotKind,
    },
}

/// A pattern that breaks the rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("speech pattern \"{pattern}\": {why}")]
pub struct PatternError {
    pub pattern: String,
    pub why: String,
}

impl SpeechPattern {
    pub fn new(verbs: &[&str], pattern: &str) -> Self {
        let has_verb = pattern.contains("{verb}");
        let verbs = if has_verb { verbs.iter().map(|verb| (*verb).to_owned()).collect() } else { Vec::new() };
        Self { verbs, pattern: pattern.into(), fixed: BTreeMap::new() }
    }

    /// Takes the pattern apart, in its order.
    pub fn pieces(&self) -> Result<Vec<Piece>, PatternError> {
        self.parse().map_err(|why| PatternError { pattern: self.pattern.clone(), why })
    }

    fn parse(&self) -> Result<Vec<Piece>, String> {
        let mut reader = PatternReader { rest: &self.pattern };
        let mut rows = reader.alternatives(None)?;
        let row = rows.pop().filter(|_| rows.is_empty()).ok_or("'|' outside of brackets")?;
        if row.is_empty() {
            return Err("it is empty".into());
        }
        let verbs = count(&row, &|piece| matches!(piece, Piece::Verb));
        if verbs > 1 {
            return Err("{verb} stands in it more than once".into());
        }
        if (verbs == 1) == self.verbs.is_empty() {
            return Err("{verb} and the list of verbs must both be there, or neither".into());
        }
        slots_on_each_way(&row)?;
        if rest_before_a_slot(&row, false) {
            return Err("after a rest slot only words may come".into());
        }
        Ok(row)
    }
}

struct PatternReader<'a> {
    rest: &'a str,
}

impl PatternReader<'_> {
    /// Rows separated by `|` up to `close`, or to the end.
    fn alternatives(&mut self, close: Option<char>) -> Result<Vec<Vec<Piece>>, String> {
        let mut rows = vec![Vec::new()];
        loop {
            self.rest = self.rest.trim_start();
            let Some(next) = self.rest.chars().next() else {
                return close.map_or(Ok(rows), |close| Err(format!("'{close}' is missing")));
            };
            if Some(next) == close {
                self.rest = &self.rest[next.len_utf8()..];
                return if rows.iter().any(Vec::is_empty) { Err("an empty alternative".into()) } else { Ok(rows) };
            }
            if next == '|' {
                self.rest = &self.rest[1..];
                rows.push(Vec::new());
                continue;
            }
            let piece = self.piece(next)?;
            if let Some(row) = rows.last_mut() {
                row.push(piece);
            }
        }
    }

    fn piece(&mut self, first: char) -> Result<Piece, String> {
        match first {
            '[' | '(' => {
                self.rest = &self.rest[1..];
                let optional = first == '[';
                let alternatives = self.alternatives(Some(if optional { ']' } else { ')' }))?;
                Ok(Piece::Group { alternatives, optional })
            }
            '{' => {
                let (inside, after) = self.rest[1..].split_once('}').ok_or("'}' is missing")?;
                self.rest = after;
                if inside == "verb" {
                    return Ok(Piece::Verb);
                }
                let (name, kind) = inside.split_once(':').ok_or_else(|| format!("{{{inside}}} has no kind"))?;
                let kind = SlotKind::parse(kind).ok_or_else(|| format!("slot kind \"{kind}\" is unknown"))?;
                Ok(Piece::Slot { name: name.to_owned(), kind })
            }
            c if is_word(c) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let (word, after) = self.rest.split_at(end);
                self.rest = after;
                Ok(Piece::Word(word.to_lowercase()))
            }
            other => Err(format!("unexpected '{other}'")),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '\'' || c == '-'
}

fn count(row: &[Piece], is: &dyn Fn(&Piece) -> bool) -> usize {
    row.iter()
        .map(|piece| match piece {
            Piece::Group { alternatives, .. } => alternatives.iter().map(|row| count(row, is)).sum(),
            piece => usize::from(is(piece)),
        })
        .sum()
}

/// The slots of a row; an error when one way through it meets a name twice.
fn slots_on_each_way(row: &[Piece]) -> Result<BTreeSet<&str>, String> {
    let mut seen = BTreeSet::new();
    for piece in row {
        let here: BTreeSet<&str> = match piece {
            Piece::Slot { name, .. } => BTreeSet::from([name.as_str()]),
            Piece::Group { alternatives, .. } => {
                let rows: Vec<_> = alternatives.iter().map(|row| slots_on_each_way(row)).collect::<Result<_, _>>()?;
                rows.into_iter().flatten().collect()
            }
            Piece::Word(_) | Piece::Verb => BTreeSet::new(),
        };
        for name in here {
            if !seen.insert(name) {
                return Err(format!("slot \"{name}\" stands in it twice"));
            }
        }
    }
    Ok(seen)
}

fn rest_before_a_slot(row: &[Piece], slots_follow: bool) -> bool {
    row.iter().enumerate().any(|(at, piece)| {
        let follow = slots_follow || row[at + 1..].iter().any(holds_a_slot);
        match piece {
            Piece::Slot { kind: SlotKind::Rest, .. } => follow,
            Piece::Group { alternatives, .. } => alternatives.iter().any(|row| rest_before_a_slot(row, follow)),
            _ => false,
        }
    })
}

fn holds_a_slot(piece: &Piece) -> bool {
    match piece {
        Piece::Slot { .. } | Piece::Verb => true,
        Piece::Group { alternatives, .. } => alternatives.iter().flatten().any(holds_a_slot),
        Piece::Word(_) => false,
    }
}

/// All slots of a pattern, in order.
pub fn slots(row: &[Piece]) -> Vec<(&str, SlotKind)> {
    row.iter()
        .flat_map(|piece| match piece {
            Piece::Slot { name, kind } => vec![(name.as_str(), *kind)],
            Piece::Group { alternatives, .. } => alternatives.iter().flat_map(|row| slots(row)).collect(),
            Piece::Word(_) | Piece::Verb => Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(pattern: &str) -> String {
        SpeechPattern::new(&["go"], pattern).pieces().expect_err("a broken pattern").why
    }

    #[test]
    fn a_pattern_comes_apart_in_its_order() {
        let pattern =
            SpeechPattern::new(&["write"], "{verb} [the] file {path:path} (with|containing [the text]) {content:rest}");
        let word = |text: &str| Piece::Word(text.into());
        let expected = vec![
            Piece::Verb,
            Piece::Group { alternatives: vec![vec![word("the")]], optional: true },
            word("file"),
            Piece::Slot { name: "path".into(), kind: SlotKind::Path },
            Piece::Group {
                alternatives: vec![
                    vec![word("with")],
                    vec![
                        word("containing"),
                        Piece::Group { alternatives: vec![vec![word("the"), word("text")]], optional: true },
                    ],
                ],
                optional: false,
            },
            Piece::Slot { name: "content".into(), kind: SlotKind::Rest },
        ];
        assert_eq!(pattern.pieces().expect("a good pattern"), expected);
        assert_eq!(slots(&expected), [("path", SlotKind::Path), ("content", SlotKind::Rest)]);
    }

    #[test]
    fn broken_patterns_say_what_is_wrong() {
        assert_eq!(why(""), "it is empty");
        assert_eq!(why("{verb} [the"), "']' is missing");
        assert_eq!(why("{verb} {path:file}"), "slot kind \"file\" is unknown");
        assert_eq!(why("{verb} {path}"), "{path} has no kind");
        assert_eq!(why("{verb} a | b"), "'|' outside of brackets");
        assert_eq!(why("{verb} (a|)"), "an empty alternative");
        assert_eq!(why("{verb} {a:rest} in {b:path}"), "after a rest slot only words may come");
        assert_eq!(why("{verb} [to {a:rest}] {b:path}"), "after a rest slot only words may come");
        assert_eq!(why("{verb} {a:word} {a:path}"), "slot \"a\" stands in it twice");
        assert_eq!(why("{verb} {verb}"), "{verb} stands in it more than once");
        assert_eq!(why("{verb} a)"), "unexpected ')'");
    }

    #[test]
    fn the_same_slot_may_stand_in_two_alternatives() {
        let pattern = SpeechPattern::new(&[], "say ({text:quoted}|that {text:rest})");
        assert!(pattern.pieces().is_ok());
    }

    #[test]
    fn verbs_and_their_place_belong_together() {
        let mut pattern = SpeechPattern::new(&["go"], "go home");
        assert!(pattern.verbs.is_empty() && pattern.pieces().is_ok());
        pattern.verbs.push("go".into());
        assert!(pattern.pieces().is_err());
    }
}
