//! Utterances by their form, whatever tools there are: courtesy, small talk, statements, corrections, a yes or no, talk about goals.

pub mod consent;
pub(crate) mod corrections;
pub(crate) mod courtesy;
pub mod goal_words;
pub(crate) mod plural_statement;
pub(crate) mod small_talk;
pub mod statement;
