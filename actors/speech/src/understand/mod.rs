//! From an utterance to what it asks for.

pub mod consent;
pub(crate) mod corrections;
pub(crate) mod courtesy;
pub mod goal_words;
pub mod grammar;
pub(crate) mod guard;
mod judgement;
pub(crate) mod matcher;
pub(crate) mod pattern;
mod plural_statement;
mod small_talk;
pub mod statement;
mod steps;
pub(crate) mod tool_speech;
pub(crate) mod understanding;

#[cfg(test)]
mod tests;
