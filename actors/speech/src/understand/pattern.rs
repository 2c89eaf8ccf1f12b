//! The pattern language: text to a small tree. Its syntax is described at [`crate::ToolSpeech`].

use crate::word::tokens::uncontracted;

/// The kind of a slot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Path,
    Word,
    Number,
    Quoted,
    Rest,
    OneOf(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Literal(String),
    /// A punctuation mark.
    Mark(char),
    Optional(Vec<Vec<Node>>),
    Either(Vec<Vec<Node>>),
    Verb,
    Slot {
        name: String,
        kind: Kind,
    },
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PatternError {
    #[error("pattern `{pattern}`: `{open}` at byte {at} is never closed; add `{close}`")]
    Unclosed { pattern: String, open: char, close: char, at: usize },
    #[error("pattern `{pattern}`: `{close}` at byte {at} closes nothing; remove it")]
    Unopened { pattern: String, close: char, at: usize },
    #[error(
        "pattern `{pattern}`: `{{{slot}}}` is no slot; write {{verb}} or {{name:kind}} with kind path, word, number, quoted, rest or a|b"
    )]
    Slot { pattern: String, slot: String },
    #[error("pattern `{pattern}` would match any text: it needs a word or {{verb}} that must be said")]
    Bare { pattern: String },
}

/// Reads a pattern. It must hold a literal or the verb that isn't optional, so that no pattern matches every utterance.
pub(crate) fn compile(pattern: &str) -> Result<Vec<Node>, PatternError> {
    let mut reader = Reader { pattern, at: 0 };
    let mut ways = reader.alternatives(None)?;
    let nodes = if ways.len() == 1 { ways.remove(0) } else { vec![Node::Either(ways)] };
    if anchored(&nodes) { Ok(nodes) } else { Err(PatternError::Bare { pattern: pattern.to_owned() }) }
}

/// Whether these nodes match without any word.
pub(crate) fn may_be_empty(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Optional(_) => true,
        Node::Either(ways) => ways.iter().any(|way| may_be_empty(way)),
        Node::Literal(_) | Node::Mark(_) | Node::Verb | Node::Slot { .. } => false,
    })
}

/// Whether an open slot holds code or a command, not text: by its name, or because it comes first and has no name of a
/// text. Prose in a command is a reason to ask.
pub(crate) fn is_command(slot: &str, first: bool) -> bool {
    const TEXTS: &[&str] = &[
        "text",
        "message",
        "content",
        "contents",
        "body",
        "words",
        "phrase",
        "speech",
        "note",
        "title",
        "description",
        "thought",
        "reason",
        "reply",
        "subject",
        "caption",
        "comment",
        "old",
        "new",
        "old_string",
        "new_string",
    ];
    ["command", "cmd", "script", "code", "program"].contains(&slot) || (first && !TEXTS.contains(&slot))
}

/// The required slots, in order.
pub(crate) fn required_slots(nodes: &[Node]) -> Vec<&str> {
    let mut slots = Vec::new();
    for node in nodes {
        match node {
            Node::Slot { name, .. } => slots.push(name.as_str()),
            Node::Either(ways) => slots.extend(ways.first().map(|way| required_slots(way)).unwrap_or_default()),
            _ => {}
        }
    }
    slots
}

/// Whether these hold all required words of the pattern, in any order, and a quoted text where the pattern
/// requires one.
pub(crate) fn are_said(nodes: &[Node], said: &impl Fn(&str) -> bool, quotes: bool) -> bool {
    nodes.iter().all(|node| match node {
        Node::Literal(word) => said(word),
        Node::Either(ways) => ways.iter().any(|way| are_said(way, said, quotes)),
        Node::Slot { kind: Kind::Quoted, .. } => quotes,
        Node::Mark(_) | Node::Optional(_) | Node::Verb | Node::Slot { .. } => true,
    })
}

/// The pattern in a person's words, with slots as `<name>`.
pub(crate) fn example(nodes: &[Node], verb: &str) -> String {
    let mut said: Vec<String> = Vec::new();
    for node in nodes {
        match node {
            Node::Literal(word) => said.push(word.clone()),
            Node::Mark(mark) => {
                if let Some(last) = said.last_mut() {
                    last.push(*mark);
                }
            }
            Node::Optional(_) => {}
            Node::Either(ways) => said.extend(ways.first().map(|way| example(way, verb))),
            Node::Verb => said.push(verb.to_owned()),
            Node::Slot { kind: Kind::OneOf(words), .. } => said.extend(words.first().cloned()),
            Node::Slot { name, .. } => said.push(format!("<{}>", name.replace('_', " "))),
        }
    }
    said.join(" ")
}

fn anchored(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Literal(_) | Node::Verb => true,
        Node::Slot { kind: Kind::OneOf(_), .. } => true,
        Node::Either(ways) => ways.iter().all(|way| anchored(way)),
        Node::Mark(_) | Node::Optional(_) | Node::Slot { .. } => false,
    })
}

struct Reader<'p> {
    pattern: &'p str,
    at: usize,
}

impl Reader<'_> {
    /// Alternatives separated by `|`, up to the closing mark (or the end of the pattern if none is open).
    fn alternatives(&mut self, close: Option<(char, char, usize)>) -> Result<Vec<Vec<Node>>, PatternError> {
        let mut ways = vec![Vec::new()];
        while let Some(c) = self.pattern[self.at..].chars().next() {
            let begun = self.at;
            self.at += c.len_utf8();
            let node = match c {
                '|' => {
                    ways.push(Vec::new());
                    continue;
                }
                '[' => Node::Optional(self.alternatives(Some(('[', ']', begun)))?),
                '(' => Node::Either(self.alternatives(Some(('(', ')', begun)))?),
                '{' => self.slot(begun)?,
                ']' | ')' | '}' if close.is_some_and(|(_, wanted, _)| wanted == c) => return Ok(ways),
                ']' | ')' | '}' => {
                    return Err(PatternError::Unopened { pattern: self.pattern.to_owned(), close: c, at: begun });
                }
                c if c.is_whitespace() => continue,
                ':' | ',' | ';' | '?' | '!' => Node::Mark(c),
                _ => self.literal(begun),
            };
            if let Some(way) = ways.last_mut() {
                way.push(node);
            }
        }
        match close {
            None => Ok(ways),
            Some((open, close, at)) => {
                Err(PatternError::Unclosed { pattern: self.pattern.to_owned(), open, close, at })
            }
        }
    }

    fn literal(&mut self, begun: usize) -> Node {
        let rest = &self.pattern[begun..];
        let end = rest.find(|c: char| c.is_whitespace() || "[](){}|:,;?!".contains(c)).unwrap_or(rest.len());
        self.at = begun + end;
        Node::Literal(uncontracted(&rest[..end].to_lowercase().replace('’', "'")))
    }

    fn slot(&mut self, begun: usize) -> Result<Node, PatternError> {
        let rest = &self.pattern[self.at..];
        let Some(end) = rest.find('}') else {
            return Err(PatternError::Unclosed { pattern: self.pattern.to_owned(), open: '{', close: '}', at: begun });
        };
        let inside = &rest[..end];
        self.at += end + 1;
        if inside == "verb" {
            return Ok(Node::Verb);
        }
        let wrong = || PatternError::Slot { pattern: self.pattern.to_owned(), slot: inside.to_owned() };
        let (name, kind) = inside.split_once(':').ok_or_else(wrong)?;
        let kind = match kind.trim() {
            "path" => Kind::Path,
            "word" => Kind::Word,
            "number" => Kind::Number,
            "quoted" => Kind::Quoted,
            "rest" => Kind::Rest,
            words if words.contains('|') => {
                Kind::OneOf(words.split('|').map(|word| word.trim().to_lowercase()).collect())
            }
            _ => return Err(wrong()),
        };
        if name.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Node::Slot { name: name.trim().to_owned(), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_becomes_a_tree() {
        let nodes = compile("{verb} [the|some file] (to|into the) {path:path}: {state:on|off}").expect("valid");
        assert_eq!(nodes.len(), 6);
        assert_eq!(required_slots(&nodes), ["path", "state"]);
        assert_eq!(example(&nodes, "put"), "put to <path>: on");
    }

    #[test]
    fn mistakes_name_the_pattern_and_the_fix() {
        for (pattern, says) in [
            ("{verb} [the", "never closed"),
            ("{verb} the]", "closes nothing"),
            ("{verb} {path}", "no slot"),
            ("{verb} {path:folder}", "no slot"),
            ("{verb} {:path}", "no slot"),
            ("{command:rest}", "any text"),
            ("[please] {command:rest}", "any text"),
        ] {
            let error = compile(pattern).expect_err(pattern).to_string();
            assert!(error.contains(says) && error.contains(pattern), "{error}");
        }
    }
}
