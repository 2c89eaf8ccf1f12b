//! Skills: action sequences that became one step, and which objects a tool works with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{queries, signal};

use crate::units::Confidence;

/// The name that a model uses to call a program like a tool.
pub const RUN_PROGRAM: &str = "run_program";
/// Maximum number of words of a goal that are matched; a longer goal matches no program.
pub const MOST_WORDS: usize = 64;
/// Maximum number of attempts to align a program's words with a text.
const MOST_TRIES: usize = 20_000;

/// A position in the wording of the goals that a program serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalWord {
    /// Always this word, in lower case.
    Same(String),
    /// One or more words, which are the value of this index. Two positions with one index must have the same words.
    Open(usize),
}

/// A piece of a text parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextPiece {
    Said(String),
    Value(usize),
}

/// How a parameter is made from the goal's values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamForm {
    /// The same each time.
    Fixed(Json),
    Text(Vec<TextPiece>),
    /// The number that this value contains.
    Number(usize),
    List(Vec<ParamForm>),
    Fields(BTreeMap<String, ParamForm>),
}

impl ParamForm {
    /// The parameter for these values; none if a value is missing or isn't a number.
    pub fn fill(&self, values: &[String]) -> Option<Json> {
        Some(match self {
            Self::Fixed(json) => json.clone(),
            Self::Text(pieces) => {
                let said = pieces.iter().map(|piece| match piece {
                    TextPiece::Said(text) => Some(text.as_str()),
                    TextPiece::Value(number) => values.get(*number).map(String::as_str),
                });
                Json::String(said.collect::<Option<String>>()?)
            }
            Self::Number(number) => Json::Number(values.get(*number)?.parse().ok()?),
            Self::List(forms) => Json::Array(forms.iter().map(|form| form.fill(values)).collect::<Option<_>>()?),
            Self::Fields(forms) => {
                let fields = forms.iter().map(|(name, form)| Some((name.clone(), form.fill(values)?)));
                Json::Object(fields.collect::<Option<_>>()?)
            }
        })
    }
}

/// One action of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramStep {
    pub tool: String,
    pub params: ParamForm,
}

/// A sequence of actions performed as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MotorProgram {
    /// The name that a person uses for it.
    pub name: String,
    /// The goals that it serves.
    pub goal: Vec<GoalWord>,
    /// How many values it takes from the goal's words.
    pub values: usize,
    pub steps: Vec<ProgramStep>,
    /// How often it reached its goal.
    pub successes: u32,
    /// 0 to 1; grows with successes, falls with failures.
    pub strength: Confidence,
    /// A person asked for exactly these steps, each time it was learned.
    pub commanded: bool,
}

impl MotorProgram {
    /// The program's values in a goal; none when the goal has another form.
    pub fn values_in(&self, goal: &str) -> Option<Vec<String>> {
        let words = goal_words(goal);
        if words.len() > MOST_WORDS {
            return None;
        }
        let mut values = vec![None; self.values];
        let mut tries = MOST_TRIES;
        lay(&self.goal, &words, &mut values, &mut tries).then_some(())?;
        values.into_iter().collect()
    }

    /// Its calls, in order; none when values are missing.
    pub fn calls(&self, values: &[String]) -> Option<Vec<(String, Json)>> {
        self.steps.iter().map(|step| Some((step.tool.clone(), step.params.fill(values)?))).collect()
    }

    /// The values in the words after the program's name. A single value takes all of them. Several values take one
    /// word or quotation each, or else the parts between commas.
    pub fn values_given(&self, words: &str) -> Option<Vec<String>> {
        let plain = goal_words(words);
        let parts = || words.split(',').map(|part| goal_words(part).join(" ")).filter(|part| !part.is_empty());
        let values = match self.values {
            0 => Vec::new(),
            1 => vec![plain.join(" ")],
            count if plain.len() == count => plain,
            _ => parts().collect(),
        };
        (values.len() == self.values && values.iter().all(|value| !value.is_empty())).then_some(values)
    }

    /// The goal's wording with `<1>` for the first value.
    pub fn wording(&self) -> String {
        let word = |word: &GoalWord| match word {
            GoalWord::Same(word) => word.clone(),
            GoalWord::Open(number) => format!("<{}>", number + 1),
        };
        self.goal.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The words of a goal, without quotation marks and trailing punctuation; their case is kept.
pub fn goal_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '`' | '“').then(|| {
            let close = if first == '“' { '”' } else { first };
            let inner = &rest[first.len_utf8()..];
            inner.find(close).map(|end| (&inner[..end], &inner[end + close.len_utf8()..]))
        });
        let (word, after) = match quoted.flatten() {
            Some(found) => found,
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']), &rest[end..])
            }
        };
        if !word.is_empty() {
            words.push(word.to_owned());
        }
        rest = after.trim_start_matches(['.', ',', ';', ':', '!', '?']).trim_start();
    }
    words
}

/// The program's name and the words after it, when a person calls it by name: "run program NAME [with …]".
pub fn invocation(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim().trim_end_matches(['.', '!']);
    let mut took = |phrases: &[&str], needed: bool| {
        let lower = rest.to_lowercase();
        let found = phrases.iter().find(|phrase| {
            // Outside ASCII, lower case may have another length.
            lower.starts_with(**phrase) && rest.is_char_boundary(phrase.len()) && rest.len() > phrase.len()
        });
        match found {
            Some(phrase) => {
                rest = rest[phrase.len()..].trim_start();
                true
            }
            None => !needed,
        }
    };
    took(&["please "], false);
    took(&["run ", "do ", "start ", "repeat "], true).then_some(())?;
    took(&["the ", "my ", "your "], false);
    took(&["program "], true).then_some(())?;
    let end = rest.find([' ', ':', ',']).unwrap_or(rest.len());
    let (name, after) = (rest[..end].to_lowercase(), rest[end..].trim_start_matches([' ', ':', ',']));
    let after = ["with ", "for ", "on "].iter().find_map(|word| after.strip_prefix(word)).unwrap_or(after);
    (!name.is_empty()).then_some((name, after.trim()))
}

/// Aligns the goal with the words, the shortest spans first, and fills in the values.
fn lay(goal: &[GoalWord], words: &[String], values: &mut Vec<Option<String>>, tries: &mut usize) -> bool {
    *tries = tries.saturating_sub(1);
    if *tries == 0 {
        return false;
    }
    match goal.split_first() {
        None => words.is_empty(),
        Some((GoalWord::Same(wanted), later)) => words
            .split_first()
            .is_some_and(|(word, after)| word.to_lowercase() == *wanted && lay(later, after, values, tries)),
        Some((GoalWord::Open(number), later)) => {
            let Some(known) = values.get(*number).cloned() else { return false };
            for end in 1..=words.len() {
                let said = words[..end].join(" ");
                if known.as_ref().is_some_and(|known| *known != said) {
                    continue;
                }
                let before = values.clone();
                values[*number] = Some(said);
                if lay(later, &words[end..], values, tries) {
                    return true;
                }
                *values = before;
            }
            false
        }
    }
}

/// A sequence has become a program, or a program has become stronger or weaker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramLearned {
    pub program: MotorProgram,
    /// Strong enough to run instead of deliberating.
    pub offered: bool,
}

/// A program failed too often and was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramForgotten {
    pub name: String,
}

/// Asks the cerebellum for programs that fit a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallPrograms {
    pub text: String,
    pub limit: usize,
}

/// A program in an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRecalled {
    pub name: String,
    /// The goals that it serves, with `<1>` for the first value.
    pub wording: String,
    pub strength: Confidence,
    pub successes: u32,
    /// The share of its goal's content words that the text contains, 0 to 1.
    pub fit: f64,
}

impl ProgramRecalled {
    /// Its line where programs are listed.
    pub fn line(&self) -> String {
        format!("- {}: {}", self.name, self.wording)
    }
}

/// The offered programs, the best fitting first, then the strongest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramsRecalled {
    pub programs: Vec<ProgramRecalled>,
}

/// A kind of tool works with a kind of object: the evidence for an EXECUTES_WITH relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecutesWithLearned {
    pub tool: String,
    /// E.g. `txt file`, `folder`, `example.org`, `git`.
    pub object: String,
    pub successes: u32,
    pub failures: u32,
    pub confidence: Confidence,
    /// Turns of the successes, the newest last.
    pub episodes: Vec<String>,
}

signal! {
    ProgramLearned: Learning, Lossless;
    ProgramForgotten: Learning, Lossless;
    ExecutesWithLearned: Learning, Lossless;
    RecallPrograms: Anywhere, Transient;
    ProgramsRecalled: Anywhere, Transient;
}

queries! {
    RecallPrograms => ProgramsRecalled, of CEREBELLUM;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(word: &str) -> GoalWord {
        GoalWord::Same(word.into())
    }

    /// "put X into F and read F"
    fn program() -> MotorProgram {
        let text = |number| ParamForm::Text(vec![TextPiece::Value(number)]);
        let write = BTreeMap::from([("content".to_owned(), text(0)), ("path".to_owned(), text(1))]);
        let read = BTreeMap::from([("path".to_owned(), text(1)), ("lines".to_owned(), ParamForm::Fixed(json!(3)))]);
        MotorProgram {
            name: "put-into-read".into(),
            goal: vec![
                same("put"),
                GoalWord::Open(0),
                same("into"),
                GoalWord::Open(1),
                same("and"),
                same("read"),
                GoalWord::Open(1),
            ],
            values: 2,
            steps: vec![
                ProgramStep { tool: "write_file".into(), params: ParamForm::Fields(write) },
                ProgramStep { tool: "read_file".into(), params: ParamForm::Fields(read) },
            ],
            successes: 3,
            strength: Confidence::clamped(0.6),
            commanded: true,
        }
    }

    #[test]
    fn a_goal_of_the_kind_gives_the_values_and_another_gives_none() {
        let program = program();
        let values = program.values_in("Put milk and bread into list.txt, and read list.txt!").expect("of the kind");
        assert_eq!(values, ["milk and bread", "list.txt"]);
        let calls = program.calls(&values).expect("all values are there");
        assert_eq!(calls[0], ("write_file".to_owned(), json!({"content": "milk and bread", "path": "list.txt"})));
        assert_eq!(calls[1], ("read_file".to_owned(), json!({"path": "list.txt", "lines": 3})));
        assert_eq!(program.values_in("put milk into a.txt and read b.txt"), None, "it must be the same file");
        assert_eq!(program.values_in("put milk into a.txt"), None);
        assert_eq!(program.calls(&["milk".to_owned()]), None);
        assert_eq!(program.wording(), "put <1> into <2> and read <2>");
    }

    #[test]
    fn words_lose_their_quotes_and_punctuation_and_keep_their_case() {
        assert_eq!(
            goal_words("Create \"My File.txt\", then  read it."),
            ["Create", "My File.txt", "then", "read", "it"]
        );
        assert_eq!(goal_words(" \u{201c}a b\u{201d} 'tis? "), ["a b", "'tis"]);
        assert_eq!(goal_words("…"), ["…"]);
        assert!(goal_words(" , ").is_empty());
    }

    #[test]
    fn a_program_is_called_by_its_name_with_its_values() {
        let program = program();
        let (name, after) =
            invocation("Please run the program put-into-read with \"milk and bread\" list.txt.").expect("a call");
        assert_eq!(name, "put-into-read");
        assert_eq!(program.values_given(after).expect("two values"), ["milk and bread", "list.txt"]);
        assert_eq!(
            program.values_given("milk and bread, list.txt").expect("two values"),
            ["milk and bread", "list.txt"]
        );
        assert_eq!(program.values_given("milk"), None);
        assert_eq!(invocation("run program tidy"), Some(("tidy".into(), "")));
        for text in ["run program ", "program tidy", "run the command program tidy", "rün program x", "run"] {
            assert_eq!(invocation(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_could_be_laid_in_very_many_ways_is_given_up() {
        let mut program = program();
        program.values = 6;
        program.goal = (0..6).flat_map(|n| [GoalWord::Open(n), same("a")]).chain([same("end")]).collect();
        let text = "a ".repeat(60);
        assert_eq!(program.values_in(&text), None);
    }
}
