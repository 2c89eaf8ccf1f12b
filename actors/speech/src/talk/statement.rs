//! Statements, and the part of them that is worth keeping.

use std::borrow::Cow;

use crate::word::lexicon::{self, pieces, terms};
use crate::word::tokens::{Utterance, asks};
use crate::{Grammar, Understanding, Unsupported};

/// Words without spaces between them have more pieces than this.
const PIECES: usize = 4;
/// A statement has at least so many content words.
const TERMS: usize = 2;
/// A statement has at least so many words.
const WORDS: usize = 3;

/// The statement in a text. `None` for requests, questions and courtesies. "Remember that …" gives the fact alone.
pub fn told<'t>(grammar: &Grammar, text: &'t str) -> Option<Cow<'t, str>> {
    match grammar.understand(text) {
        Understanding::Command { .. } | Understanding::Question { .. } | Understanding::Ambiguous { .. } => None,
        Understanding::Unsupported { what: Unsupported::NoTool | Unsupported::Forget, .. } => None,
        Understanding::Greeting | Understanding::Thanks | Understanding::Farewell => None,
        Understanding::Acknowledgement { .. } => None,
        Understanding::Remember { fact } => Some(fact.into()),
        _ => Some(text.into()),
    }
}

/// Whether a sentence asks for something in the imperative.
pub fn is_wish(sentence: &str) -> bool {
    lexicon::is_imperative(&Utterance::read(sentence), 0)
}

/// Whether a text that isn't understood may be a statement.
pub fn may_tell(text: &str) -> bool {
    // Such words can't be counted.
    let has_no_spaces = terms(text).iter().any(|word| pieces(word).len() > PIECES);
    !asks(text) && (has_no_spaces || (terms(text).len() >= TERMS && text.split_whitespace().count() >= WORDS))
}
