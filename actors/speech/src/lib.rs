//! English without a model: words become an understanding, and evidence becomes words.
//!
//! - [`word`]: tokens, word lists, and the forms of verbs.
//! - [`time`]: days and spans of time that words name.
//! - [`understand`]: the grammar. It is generated from what the registered tools say about themselves ([`ToolSpeech`]).
//! - [`talk`]: utterances by their form alone: courtesy, small talk, statements, corrections, a yes or no.
//! - [`question`]: kinds of questions, and what a question wants of an answer.
//! - [`answer`]: words for answers, from evidence alone.
//!
//! Precision comes before coverage: a request with side effects that isn't clear is asked back, never guessed. Everything here is
//! pure: no room, no signal, no clock, no chance, no state. Of the bus it uses data types alone.
//!
//! The word lists are text files in `en/`, read once by the crate's `word_list` module.

#![deny(clippy::disallowed_methods)]

pub mod answer;
pub mod question;
pub mod talk;
pub mod time;
pub mod understand;
pub mod word;
mod word_list;

pub use understand::grammar::{Grammar, GrammarError};
pub use understand::pattern::PatternError;
pub use understand::tool_speech::{Effect, ToolSpeech};
pub use understand::understanding::{
    Partial, Place, QuestionKind, Reading, Side, Step, Understanding, Unsupported, Which, Whose,
};
pub use word::lexicon::terms;
