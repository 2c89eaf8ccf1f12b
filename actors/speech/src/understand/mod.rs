//! From an utterance to what it asks for.

pub mod grammar;
pub(crate) mod guard;
mod judgement;
pub(crate) mod matcher;
pub(crate) mod pattern;
mod steps;
pub(crate) mod tool_speech;
pub(crate) mod understanding;

#[cfg(test)]
mod tests;
