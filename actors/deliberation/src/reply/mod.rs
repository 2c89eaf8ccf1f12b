//! Reading what a language model replied: the JSON in it, whatever stands around it and however it is broken, and the
//! action that the JSON means.
//!
//! Law: valid JSON is taken as it is. Otherwise fenced blocks come first, then whole objects beside prose, then a repair
//! of what begins like JSON, then the bare text. Of several objects the first that names an action is meant. What can't
//! be told is refused with its place, never guessed: escapes that are no escapes, control characters, keys without values.
//! No input makes it panic or run long: depth and steps are bounded.

mod action;
mod find;
mod repair;
mod scan;
mod text;
mod word;

#[cfg(test)]
mod tests;

use serde_json::Value as Json;

pub use action::{NoAction, ProposedAction, is_action, read_action};
pub use repair::Unreadable;

/// JSON out of a model's reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub value: Json,
    /// The reply was not exactly this JSON.
    pub repaired: bool,
    /// Nothing in the reply looked like JSON: `value` is its words.
    pub bare: bool,
}

/// The JSON in a reply.
///
/// # Errors
/// The reply is empty, or what is meant can't be told.
pub fn read_json(reply: &str) -> Result<Reading, Unreadable> {
    let text = reply.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = serde_json::from_str::<Json>(text) {
        let (value, repaired) = find::unwrapped(value);
        return Ok(Reading { value, repaired, bare: false });
    }
    find::found(find::after_thinking(text))
}
