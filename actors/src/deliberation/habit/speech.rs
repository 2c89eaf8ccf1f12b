//! What a tool says about how people ask for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call leaves behind, as far as understanding cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    ReadOnly,
    Reversible,
    Irreversible,
}

impl Effect {
    pub fn changes_something(self) -> bool {
        self != Self::ReadOnly
    }
}

/// One tool's verbs and patterns.
///
/// Pattern language: literal words; `[optional words]`; `(a|b c|d)` alternatives (also inside brackets); `{verb}` any of
/// `verbs`; `{slot:kind}` a parameter. Kinds:
///
/// - `path`: one word or a quoted string;
/// - `word`: one word or a quoted string;
/// - `number`: digits with sign and fraction, or a number word up to ninety-nine;
/// - `rest`: everything to the end. As the *first* slot it is read as code or a command: politeness and the final full stop
///   are taken off, and prose in it ("… but not now") is asked back. After another slot it is content;
/// - `quoted`: content: a quoted string, or the words as they stand;
/// - `a|b|c`: one of these words.
///
/// The word `the` in a pattern also matches a, an, my, our, your, this. A mark such as `:` matches that mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpeech {
    pub tool: String,
    pub effect: Effect,
    #[serde(default)]
    pub verbs: Vec<String>,
    pub patterns: Vec<String>,
    /// An object of parameters that apply where the words don't set them; null for none.
    #[serde(default)]
    pub defaults: Value,
}
