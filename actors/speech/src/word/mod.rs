//! Words by themselves: tokens of an utterance, word lists, and the forms of verbs.

pub(crate) mod inflection;
pub mod lexicon;
pub mod tokens;
