//! Matches a pattern against a stretch of an utterance, by backtracking within a bounded number of steps.

use crate::understand::pattern::{Kind, Node, is_command, may_be_empty};
use crate::word::lexicon::{self, DETERMINERS};
use crate::word::tokens::Utterance;

/// Steps after which a pattern counts as not matching. They bound the time for any text.
const STEPS: u32 = 20_000;

/// Shortest word of a pattern in which one typing error is tolerated. In shorter words an edit makes another word.
const FUZZY_LENGTH: usize = 4;

/// A slot that took tokens `lo..hi`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Capture {
    pub slot: String,
    pub kind: Kind,
    pub lo: usize,
    pub hi: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Match {
    pub captures: Vec<Capture>,
    /// Words of the pattern that were said.
    pub literals: usize,
    /// The typed and the meant word, if there was a typing error.
    pub typo: Option<(String, String)>,
    /// The verb in its base form.
    pub verb: Option<String>,
}

/// The end of an utterance by the kind of reading. Politeness at the end may belong to content, but not to a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub plain: usize,
    pub command: usize,
    pub content: usize,
}

impl Ends {
    pub fn all(end: usize) -> Self {
        Self { plain: end, command: end, content: end }
    }
}

/// The stretch of words that a pattern is matched against.
pub(crate) struct Matcher<'m, 't> {
    pub said: &'m Utterance<'t>,
    pub ends: Ends,
    /// Each verb with its accepted forms.
    pub verbs: &'m [(String, Vec<String>)],
    pub typos: bool,
    steps: u32,
}

struct Then<'n> {
    nodes: &'n [Node],
    next: Option<&'n Then<'n>>,
}

impl<'m, 't> Matcher<'m, 't> {
    pub fn new(said: &'m Utterance<'t>, ends: Ends, verbs: &'m [(String, Vec<String>)], typos: bool) -> Self {
        Self { said, ends, verbs, typos, steps: 0 }
    }

    /// The first match of the whole stretch from `lo`, words before slots, longer slots before shorter ones.
    pub fn run(&mut self, nodes: &[Node], lo: usize) -> Option<Match> {
        self.steps = 0;
        self.go(nodes, None, lo, &Match::default())
    }

    fn go(&mut self, nodes: &[Node], then: Option<&Then>, at: usize, so_far: &Match) -> Option<Match> {
        self.steps += 1;
        if self.steps > STEPS {
            return None;
        }
        let Some((node, rest)) = nodes.split_first() else {
            return match then {
                Some(then) => self.go(then.nodes, then.next, at, so_far),
                None => (at == self.ends.plain).then(|| so_far.clone()),
            };
        };
        match node {
            Node::Literal(word) => {
                let (mut found, length) = self.phrase(word, at, so_far)?;
                found.literals += 1;
                self.go(rest, then, at + length, &found)
            }
            Node::Mark(mark) => {
                if at < self.ends.plain && self.said.word(at) == mark.to_string() {
                    return self.go(rest, then, at + 1, so_far);
                }
                let before = at.checked_sub(1).and_then(|before| self.said.tokens[before].closes);
                if before == Some(*mark) { self.go(rest, then, at, so_far) } else { None }
            }
            Node::Optional(ways) => {
                let after = Then { nodes: rest, next: then };
                let said = ways.iter().find_map(|way| self.go(way, Some(&after), at, so_far));
                said.or_else(|| self.go(rest, then, at, so_far))
            }
            Node::Either(ways) => {
                let after = Then { nodes: rest, next: then };
                ways.iter().find_map(|way| self.go(way, Some(&after), at, so_far))
            }
            Node::Verb => self.verb(rest, then, at, so_far),
            Node::Slot { name, kind } => {
                let after = Then { nodes: rest, next: then };
                self.slot(name, kind, &after, at, so_far)
            }
        }
    }

    fn verb(&mut self, rest: &[Node], then: Option<&Then>, at: usize, so_far: &Match) -> Option<Match> {
        let verbs = self.verbs;
        for (base, forms) in verbs {
            for form in forms {
                let Some((mut found, length)) = self.phrase(form, at, so_far) else { continue };
                found.literals += 1;
                found.verb = Some(base.clone());
                if let Some(whole) = self.go(rest, then, at + length, &found) {
                    return Some(whole);
                }
            }
        }
        None
    }

    /// Words that must be said, with at most one typing error in the whole utterance.
    fn phrase(&self, phrase: &str, at: usize, so_far: &Match) -> Option<(Match, usize)> {
        let mut found = so_far.clone();
        let mut here = at;
        for word in phrase.split(' ') {
            if here >= self.ends.plain {
                return None;
            }
            let typed = self.said.word(here);
            if !(typed == word || (word == "the" && DETERMINERS.contains(&typed))) {
                let near = self.typos
                    && found.typo.is_none()
                    && word.len() >= FUZZY_LENGTH
                    && typed.len() + 1 >= FUZZY_LENGTH
                    && !lexicon::is_common(typed)
                    && strsim::osa_distance(typed, word) == 1;
                if !near {
                    return None;
                }
                found.typo = Some((typed.to_owned(), word.to_owned()));
            }
            here += 1;
        }
        Some((found, here - at))
    }

    fn slot(&mut self, name: &str, kind: &Kind, after: &Then, at: usize, so_far: &Match) -> Option<Match> {
        let last = *kind == Kind::Rest && after_may_be_empty(after);
        // Content may include words that are politeness elsewhere ("write a.txt with thanks"), and may also begin with them.
        let end = if last { self.open_end(name, so_far) } else { self.ends.plain };
        if at >= end {
            return None;
        }
        let quoted = self.said.tokens[at].quoted.is_some();
        match kind {
            Kind::Path | Kind::Word if !quoted && lexicon::is_function_word(self.said.word(at)) => None,
            Kind::Path | Kind::Word => self.take(name, kind, after, at, at + 1, so_far),
            Kind::Number => {
                lexicon::number(&self.said.value(at))?;
                self.take(name, kind, after, at, at + 1, so_far)
            }
            Kind::OneOf(words) => {
                words.iter().any(|word| word == self.said.word(at)).then_some(())?;
                self.take(name, kind, after, at, at + 1, so_far)
            }
            Kind::Quoted => quoted.then(|| self.take(name, kind, after, at, at + 1, so_far)).flatten(),
            Kind::Rest => {
                if quoted && let Some(whole) = self.take(name, kind, after, at, at + 1, so_far) {
                    return Some(whole);
                }
                if !nothing_after(after) {
                    // An exact word comes before a typing error: "out loud" holds "loud", which is near "aloud".
                    for slips in [false, true] {
                        for hi in (at + 1..self.ends.plain).rev() {
                            let whole = self.take(name, kind, after, at, hi, so_far);
                            if let Some(whole) = whole.filter(|whole| slips || whole.typo == so_far.typo) {
                                return Some(whole);
                            }
                        }
                    }
                }
                last.then(|| with(so_far, name, kind, at, end))
            }
        }
    }

    fn take(&mut self, name: &str, kind: &Kind, after: &Then, lo: usize, hi: usize, so_far: &Match) -> Option<Match> {
        self.go(after.nodes, after.next, hi, &with(so_far, name, kind, lo, hi))
    }

    /// The end of an open slot at the end of a pattern.
    fn open_end(&self, name: &str, so_far: &Match) -> usize {
        if is_command(name, so_far.captures.is_empty()) { self.ends.command } else { self.ends.content }
    }
}

fn with(so_far: &Match, name: &str, kind: &Kind, lo: usize, hi: usize) -> Match {
    let mut found = so_far.clone();
    found.captures.push(Capture { slot: name.to_owned(), kind: kind.clone(), lo, hi });
    found
}

fn nothing_after(after: &Then) -> bool {
    after.nodes.is_empty() && after.next.is_none_or(nothing_after)
}

fn after_may_be_empty(after: &Then) -> bool {
    may_be_empty(after.nodes) && after.next.is_none_or(after_may_be_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understand::pattern::compile;

    fn matched(pattern: &str, text: &str) -> Option<Vec<String>> {
        let said = Utterance::read(text);
        let verbs =
            [("write".to_owned(), vec!["write".to_owned()]), ("look at".to_owned(), vec!["look at".to_owned()])];
        let ends = Ends::all(said.len());
        let found = Matcher::new(&said, ends, &verbs, true).run(&compile(pattern).expect("valid"), 0)?;
        Some(found.captures.iter().map(|capture| said.span(capture.lo, capture.hi).to_owned()).collect())
    }

    #[test]
    fn slots_take_what_their_kind_says() {
        let cases: [(&str, &str, &[&str]); 10] = [
            ("{verb} {c:rest} (aloud|out loud)", "write good morning out loud", &["good morning"]),
            (
                "{verb} [the] [file] {p:path} with {c:rest}",
                "write my file a.txt with two words",
                &["a.txt", "two words"],
            ),
            ("{verb} {c:rest} to {p:path}", "write go to school to a.txt", &["go to school", "a.txt"]),
            ("{verb} {c:rest} to {p:path}", "write \"x\" to a.txt", &["\"x\"", "a.txt"]),
            ("{verb} {p:path}[:] {c:rest}", "write a.txt: x y", &["a.txt:", "x y"]),
            ("{verb} {n:number}", "look at -12.5", &["-12.5"]),
            ("{verb} (me|us) {s:left|right}", "look at us right", &["right"]),
            ("{verb} {c:rest} [to {w:word}]", "write hi to anna", &["hi", "anna"]),
            ("{verb} {q:quoted} {p:path}", "write 'x y' b.txt", &["'x y'", "b.txt"]),
            ("{verb} {p:path}", "wriet a.txt", &["a.txt"]),
        ];
        for (pattern, text, slots) in cases {
            assert_eq!(matched(pattern, text).unwrap_or_default(), slots, "{pattern} on {text}");
        }
    }

    #[test]
    fn the_whole_stretch_must_match() {
        for (pattern, text) in [
            ("{verb} {p:path}", "write a.txt now"),
            ("{verb} {p:path}", "please write a.txt"),
            ("{verb} {p:path}", "write"),
            ("{verb} {p:path}", "\"write\" a.txt"),
            ("{verb} {n:number}", "write many"),
            ("{verb} {p:path}: {c:rest}", "write a.txt x"),
            ("{verb} {p:path}", "wrt a.txt"),
            ("{verb} {q:quoted}", "write a.txt"),
        ] {
            assert_eq!(matched(pattern, text), None, "{pattern} on {text}");
        }
    }

    #[test]
    fn hostile_text_ends_within_the_steps() {
        let text = format!("write {}", "to ".repeat(3_000));
        assert_eq!(matched("{verb} {a:rest} to {b:rest} to {c:rest} with {d:path}", &text), None);
    }
}
