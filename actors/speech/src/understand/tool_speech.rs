//! A tool's own description of how people ask for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The effect of a call, as far as understanding needs it.
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

/// Verbs and patterns of one tool. A tool may have several, with other verbs or defaults.
///
/// Pattern language: literal words; `[optional words]`; `(a|b c|d)` alternatives (also inside brackets); `{verb}` any of
/// `verbs`; `{slot:kind}` a parameter. Kinds:
///
/// - `path`: one word or a quoted string;
/// - `word`: one word or a quoted string;
/// - `number`: digits with sign and fraction, or a number word up to ninety-nine;
/// - `quoted`: one quoted string;
/// - `rest`: at the end of a pattern everything that remains, elsewhere the longest run of words that lets the rest match.
///   As the first slot, or by a name such as `command`, it is read as code: politeness and the final full stop are taken
///   off, and prose in it ("… but not now") is asked back. With a name such as `text`, `message` or `content`, or after
///   another slot, it is text and stays as typed;
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
    /// An object with parameters for slots that the words leave open. Null for none.
    #[serde(default)]
    pub defaults: Value,
}
