//! Motor programs: how a sequence of actions that reached the same kind of goal three times becomes one step.
//!
//! Three goals are of one kind if their words can be aligned (by the longest common subsequence, word by word) so
//! that most words are the same. The differing words are the kind's values. The sequence becomes a program if every
//! parameter of every action follows from the words: either always the same, or made of the values. Anything else
//! stays with deliberation.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::skill::{
    GoalWord, MOST_WORDS, MotorProgram, ParamForm, ProgramRecalled, ProgramStep, TextPiece,
};
use maxim_bus::units::Confidence;
use maxim_config::{SHARE, Shape, section};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use maxim_language::{Stems, is_stop_word};

section! {
    /// When practice makes a skill.
    #[derive(Copy)]
    SkillLaw = "cerebellum" {
        /// Times that the same actions have to reach the same kind of goal before they are a program.
        repetitions: usize = "3", "times", Shape::Integer { low: 2, high: 6 };
        /// The share of the way to full strength that a success takes.
        gain: f64 = "0.3", "share", SHARE;
        /// The share of its strength that a failure leaves.
        loss: f64 = "0.7", "share", SHARE;
        /// A program of this strength is offered as one step.
        offered_from: f64 = "0.5", "share", SHARE;
        /// A program of less strength is forgotten.
        forgotten_below: f64 = "0.2", "share", SHARE;
        // With the default it predicts from the third movement on.
        /// The confidence from which it is predicted what a movement does.
        predicts_from: f64 = "0.3", "share", Shape::Real { low: 0.01, high: 1.0 };
        /// How far off a movement is felt, in standard deviations.
        felt_from: f64 = "3.0", "deviations", Shape::Real { low: 0.5, high: 100.0 };
        /// Confidence in what works on what before it was tried; the share of successes scales it.
        confidence_first: f64 = "0.5", "share", SHARE;
        /// What the square root of the number of uses adds to it.
        confidence_growth: f64 = "0.1", "share", SHARE;
        /// It never goes higher.
        confidence_max: f64 = "0.99", "share", SHARE;
    }
    ordered { confidence_first <= confidence_max, forgotten_below <= offered_from }
}

/// Maximum number of values in a program.
const MOST_VALUES: usize = 6;
/// Share of the goal's positions that must always have the same word.
const LEAST_SAME: f64 = 0.5;
/// Maximum number of calls in a sequence.
const MOST_CALLS: usize = 6;
/// Words in a program's name.
const NAME_WORDS: usize = 4;
/// A goal that was reached, with the calls that reached it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The goal's words, as said.
    pub words: Vec<String>,
    /// Tools and parameters in order.
    pub calls: Vec<(String, Json)>,
    /// A person asked for exactly these calls.
    pub commanded: bool,
    /// A model found them.
    pub modelled: bool,
    /// The episode in which it was reached; empty after sleep has removed it.
    pub episode: String,
}

impl Example {
    /// Worth learning from. A goal that habit understands as one call needs no program, and very long goals have
    /// none.
    pub fn teaches(&self) -> bool {
        let least = if self.modelled { 1 } else { 2 };
        (least..=MOST_CALLS).contains(&self.calls.len()) && (1..=MOST_WORDS).contains(&self.words.len())
    }

    pub fn sequence(&self) -> String {
        self.calls.iter().map(|(tool, _)| tool.as_str()).collect::<Vec<_>>().join(" > ")
    }

    /// Share of common words, 0 to 1.
    fn likeness(&self, other: &Self) -> f64 {
        let holds = |words: &[String], word: &String| words.iter().any(|held| held.eq_ignore_ascii_case(word));
        let shared = self.words.iter().filter(|word| holds(&other.words, word)).count();
        shared as f64 / self.words.len().max(other.words.len()).max(1) as f64
    }
}

/// Strength after a success or a failure.
pub fn strengthened(strength: Confidence, success: bool, law: &SkillLaw) -> Confidence {
    let strength = strength.get();
    Confidence::clamped(if success { strength + law.gain * (1.0 - strength) } else { strength * law.loss })
}

/// Offered programs that fit a text, at most `limit`: first those that share the largest part of their words with it,
/// then the strongest.
pub fn recalled<'a>(
    programs: impl Iterator<Item = &'a MotorProgram>,
    text: &str,
    limit: usize,
    law: &SkillLaw,
) -> Vec<ProgramRecalled> {
    let stems = Stems::default();
    let said: BTreeSet<String> = stems.of_text(text).into_iter().collect();
    let fit = |program: &MotorProgram| {
        let own = program.goal.iter().filter_map(|word| match word {
            GoalWord::Same(word) => stems.of(word),
            GoalWord::Open(_) => None,
        });
        let own: BTreeSet<String> = own.collect();
        own.intersection(&said).count() as f64 / own.len().max(1) as f64
    };
    let offered = programs.filter(|program| program.strength.get() >= law.offered_from);
    let mut found: Vec<(f64, &MotorProgram)> = offered.map(|program| (fit(program), program)).collect();
    found.sort_by(|(a_fit, a), (b_fit, b)| {
        b_fit
            .total_cmp(a_fit)
            .then_with(|| b.strength.get().total_cmp(&a.strength.get()))
            .then_with(|| a.name.cmp(&b.name))
    });
    let found = found.into_iter().take(limit).map(|(fit, program)| ProgramRecalled {
        name: program.name.clone(),
        wording: program.wording(),
        strength: program.strength,
        successes: program.successes,
        fit,
    });
    found.collect()
}

/// The program that the newest example forms with enough other examples of its sequence, the most similar first; and
/// the indices of these.
pub fn crystallise(examples: &[Example], newest: &Example, law: &SkillLaw) -> Option<(MotorProgram, Vec<usize>)> {
    let mut near: Vec<usize> = (0..examples.len()).collect();
    near.sort_by(|a, b| examples[*b].likeness(newest).total_cmp(&examples[*a].likeness(newest)).then(b.cmp(a)));
    choices(&near, law.repetitions.saturating_sub(1)).into_iter().find_map(|chosen| {
        let mut all = vec![newest];
        all.extend(chosen.iter().map(|place| &examples[*place]));
        Some((generalise(&all, law)?, chosen))
    })
}

/// All combinations of `many` items, in order. There are few, because a sequence has few examples.
fn choices(of: &[usize], many: usize) -> Vec<Vec<usize>> {
    if many == 0 {
        return vec![Vec::new()];
    }
    let begun = |(at, first): (usize, &usize)| {
        choices(&of[at + 1..], many - 1).into_iter().map(|rest| [vec![*first], rest].concat()).collect::<Vec<_>>()
    };
    of.iter().enumerate().flat_map(begun).collect()
}

/// The common part of the examples, as a program with the strength that this many successes give.
pub fn generalise(examples: &[&Example], law: &SkillLaw) -> Option<MotorProgram> {
    let (first, others) = examples.split_first()?;
    if others.iter().any(|other| other.sequence() != first.sequence()) {
        return None;
    }
    let mut goal: Vec<Option<String>> = first.words.iter().map(|word| Some(word.to_lowercase())).collect();
    for other in others {
        goal = common(&goal, &other.words);
    }
    let same: Vec<&String> = goal.iter().flatten().collect();
    let content: Vec<&str> = same.iter().map(|word| word.as_str()).filter(|word| is_content(word)).collect();
    let opens = goal.iter().filter(|word| word.is_none()).count();
    if content.is_empty() || opens > MOST_VALUES || (same.len() as f64) < LEAST_SAME * goal.len() as f64 {
        return None;
    }
    let name = content.iter().take(NAME_WORDS).copied().collect::<Vec<_>>().join("-");
    let mut number = 0;
    let numbered = goal.into_iter().map(|word| match word {
        Some(word) => GoalWord::Same(word),
        None => {
            number += 1;
            GoalWord::Open(number - 1)
        }
    });
    let strength = examples.iter().fold(Confidence::clamped(0.0), |strength, _| strengthened(strength, true, law));
    let mut program = MotorProgram {
        name,
        goal: numbered.collect(),
        values: number,
        steps: Vec::new(),
        successes: u32::try_from(examples.len()).unwrap_or(u32::MAX),
        strength,
        commanded: examples.iter().all(|example| example.commanded),
    };
    let mut values: Vec<Vec<String>> = Vec::new();
    for example in examples {
        values.push(program.values_in(&quoted(&example.words))?);
    }
    join_equal(&mut program, &mut values);
    for (place, (tool, _)) in first.calls.iter().enumerate() {
        let params: Vec<&Json> = examples.iter().map(|example| &example.calls[place].1).collect();
        program.steps.push(ProgramStep { tool: tool.clone(), params: form(&params, &values)? });
    }
    Some(program)
}

fn is_content(word: &str) -> bool {
    !is_stop_word(word) && word != "then" && word.chars().any(char::is_alphabetic)
}

/// The words as a text that parses into the same words.
fn quoted(words: &[String]) -> String {
    let one = |word: &String| match word.contains(char::is_whitespace) {
        true if !word.contains('"') => format!("\"{word}\""),
        true => format!("`{word}`"),
        false => word.clone(),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The longest common subsequence; the gaps between its words are open.
fn common(goal: &[Option<String>], words: &[String]) -> Vec<Option<String>> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let (rows, columns) = (goal.len(), words.len());
    let mut longest = vec![vec![0u32; columns + 1]; rows + 1];
    let alike = |row: usize, column: usize| goal[row].as_ref() == Some(&words[column]);
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            longest[row][column] = if alike(row, column) {
                longest[row + 1][column + 1] + 1
            } else {
                longest[row + 1][column].max(longest[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut gap, mut out) = (0, 0, false, Vec::new());
    while row < rows && column < columns {
        if alike(row, column) {
            if std::mem::take(&mut gap) {
                out.push(None);
            }
            out.push(goal[row].clone());
            (row, column) = (row + 1, column + 1);
        } else {
            gap = true;
            if longest[row + 1][column] >= longest[row][column + 1] { row += 1 } else { column += 1 }
        }
    }
    if gap || row < rows || column < columns {
        out.push(None);
    }
    out
}

/// Joins values that were equal in every example.
fn join_equal(program: &mut MotorProgram, values: &mut [Vec<String>]) {
    let columns: Vec<Vec<&String>> =
        (0..program.values).map(|number| values.iter().map(|row| &row[number]).collect()).collect();
    let mut kept: Vec<usize> = Vec::new();
    let mut renamed: Vec<usize> = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        match kept.iter().position(|earlier| columns[*earlier] == *column) {
            Some(place) => renamed.push(place),
            None => {
                renamed.push(kept.len());
                kept.push(number);
            }
        }
    }
    for word in &mut program.goal {
        if let GoalWord::Open(number) = word {
            *number = renamed[*number];
        }
    }
    program.values = kept.len();
    for row in values.iter_mut() {
        *row = kept.iter().map(|number| row[*number].clone()).collect();
    }
}

/// How a parameter follows from the values; `params` and `values` have one entry per example.
fn form(params: &[&Json], values: &[Vec<String>]) -> Option<ParamForm> {
    let first = *params.first()?;
    if params.iter().all(|param| *param == first) {
        return Some(ParamForm::Fixed(first.clone()));
    }
    match first {
        Json::Object(fields) => {
            let each = fields.keys().map(|name| {
                let inner: Option<Vec<&Json>> = params.iter().map(|param| param.get(name)).collect();
                Some((name.clone(), form(&inner?, values)?))
            });
            let forms: BTreeMap<String, ParamForm> = each.collect::<Option<_>>()?;
            let same = params.iter().all(|param| param.as_object().is_some_and(|object| object.len() == forms.len()));
            same.then_some(ParamForm::Fields(forms))
        }
        Json::Array(items) => {
            let each = (0..items.len()).map(|place| {
                let inner: Option<Vec<&Json>> = params.iter().map(|param| param.get(place)).collect();
                form(&inner?, values)
            });
            let forms: Vec<ParamForm> = each.collect::<Option<_>>()?;
            let same = params.iter().all(|param| param.as_array().is_some_and(|array| array.len() == forms.len()));
            same.then_some(ParamForm::List(forms))
        }
        Json::Number(_) => {
            let spells = |number: &usize| {
                params.iter().zip(values).all(|(param, values)| {
                    values[*number].parse::<serde_json::Number>().is_ok_and(|spelt| Json::Number(spelt) == **param)
                })
            };
            (0..values.first()?.len()).find(spells).map(ParamForm::Number)
        }
        Json::String(_) => {
            let pieces = params.iter().zip(values).map(|(param, values)| Some(pieces(param.as_str()?, values)));
            let pieces: Vec<Vec<TextPiece>> = pieces.collect::<Option<_>>()?;
            let found = pieces.first()?.clone();
            pieces.iter().all(|other| *other == found).then_some(ParamForm::Text(found))
        }
        _ => None,
    }
}

/// A text with the values in it replaced, the longest first.
fn pieces(text: &str, values: &[String]) -> Vec<TextPiece> {
    let mut order: Vec<usize> = (0..values.len()).filter(|number| !values[*number].is_empty()).collect();
    order.sort_by_key(|number| (std::cmp::Reverse(values[*number].len()), *number));
    let mut pieces = vec![TextPiece::Said(text.to_owned())];
    for number in order {
        let mut next = Vec::new();
        for piece in pieces {
            let TextPiece::Said(said) = piece else {
                next.push(piece);
                continue;
            };
            for (place, part) in said.split(values[number].as_str()).enumerate() {
                if place > 0 {
                    next.push(TextPiece::Value(number));
                }
                if !part.is_empty() {
                    next.push(TextPiece::Said(part.to_owned()));
                }
            }
        }
        pieces = next;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::skill::goal_words;
    use serde_json::json;

    use super::*;

    fn example(goal: &str, calls: &[(&str, Json)]) -> Example {
        let calls = calls.iter().map(|(tool, params)| ((*tool).to_owned(), params.clone())).collect();
        Example { words: goal_words(goal), calls, commanded: true, modelled: false, episode: String::new() }
    }

    fn note(file: &str, text: &str) -> Example {
        example(
            &format!("create a file {file} with the text {text} and then read the file {file}"),
            &[("write_file", json!({"path": file, "content": text})), ("read_file", json!({"path": file}))],
        )
    }

    #[test]
    fn three_goals_of_a_kind_make_a_program_for_a_fourth() {
        let examples = [note("a.txt", "hello"), note("b.txt", "good morning"), note("c.txt", "bye")];
        let program = generalise(&examples.iter().collect::<Vec<_>>(), &SkillLaw::default()).expect("a program");
        assert_eq!(program.name, "create-file-text-read");
        assert_eq!(program.wording(), "create a file <1> with the text <2> and then read the file <1>");
        assert!((program.strength.get() - 0.657).abs() < 1e-12, "1 − 0.7³");
        let values = program
            .values_in("Create a file d.txt with the text so long and then read the file d.txt")
            .expect("of the kind");
        let calls = program.calls(&values).expect("calls");
        assert_eq!(calls, note("d.txt", "so long").calls);
        assert_eq!(program.values_in("create a file d.txt with the text x and then read the file e.txt"), None);
    }

    #[test]
    fn values_inside_of_texts_and_numbers_are_found() {
        let of = |host: &str, count: i64| {
            example(
                &format!("ping {host} exactly {count} times and tell me"),
                &[
                    ("bash", json!({"command": format!("ping -c {count} {host}"), "limit": count, "quiet": true})),
                    ("respond_later", json!(["ok", host])),
                ],
            )
        };
        let examples = [of("alpha", 3), of("beta", 5), of("gamma", 4)];
        let program = generalise(&examples.iter().collect::<Vec<_>>(), &SkillLaw::default()).expect("a program");
        let values = program.values_in("ping delta exactly 7 times and tell me").expect("of the kind");
        assert_eq!(program.calls(&values).expect("calls"), of("delta", 7).calls);
        let words = program.values_in("ping delta exactly many times and tell me").expect("of the kind");
        assert_eq!(program.calls(&words), None, "many is no number");
    }

    #[test]
    fn what_does_not_follow_from_the_words_is_no_program() {
        let of = |secret: &str| {
            example("do the usual thing", &[("bash", json!({"command": secret})), ("bash", json!({"command": "true"}))])
        };
        assert_eq!(generalise(&[&of("a"), &of("b"), &of("c")], &SkillLaw::default()), None);
        assert!(
            generalise(&[&of("a"), &of("a"), &of("a")], &SkillLaw::default()).is_some(),
            "the same each time follows"
        );
        let unlike = |goal: &str| example(goal, &[("a", json!({})), ("b", json!({}))]);
        assert_eq!(
            generalise(
                &[&unlike("sing a song"), &unlike("mow my lawn"), &unlike("count the stars")],
                &SkillLaw::default()
            ),
            None
        );
        assert_eq!(
            generalise(&[&unlike("the"), &unlike("the"), &unlike("the")], &SkillLaw::default()),
            None,
            "no word of content"
        );
        let other = example("sing a song", &[("b", json!({})), ("a", json!({}))]);
        assert_eq!(
            generalise(&[&unlike("sing a song"), &unlike("sing a song"), &other], &SkillLaw::default()),
            None,
            "another order"
        );
    }

    #[test]
    fn the_two_most_alike_are_chosen() {
        let mut examples: Vec<Example> = ["a.txt", "b.txt"].iter().map(|file| note(file, "hi")).collect();
        let odd =
            |text: &str| example(text, &[("write_file", json!({"path": "x"})), ("read_file", json!({"path": "x"}))]);
        examples.insert(1, odd("something else entirely"));
        let (program, places) = crystallise(&examples, &note("c.txt", "hi"), &SkillLaw::default()).expect("a program");
        assert_eq!(places, vec![2, 0]);
        assert_eq!(program.values, 1, "the text was always the same");
        assert_eq!(crystallise(&examples[..2], &note("c.txt", "hi"), &SkillLaw::default()), None, "two are not enough");
    }

    #[test]
    fn only_sequences_teach_unless_a_model_found_the_call() {
        let one = example("clean up", &[("bash", json!({}))]);
        assert!(!one.teaches());
        assert!(Example { modelled: true, ..one }.teaches());
        assert!(note("a", "b").teaches());
    }

    #[test]
    fn a_young_program_is_withdrawn_by_one_failure_and_an_old_one_by_two() {
        let young =
            (0..3).fold(Confidence::clamped(0.0), |strength, _| strengthened(strength, true, &SkillLaw::default()));
        assert!(
            young.get() >= SkillLaw::default().offered_from
                && strengthened(young, false, &SkillLaw::default()).get() < SkillLaw::default().offered_from
        );
        let old = (0..20).fold(young, |strength, _| strengthened(strength, true, &SkillLaw::default()));
        let once = strengthened(old, false, &SkillLaw::default());
        assert!(
            once.get() >= SkillLaw::default().offered_from
                && strengthened(once, false, &SkillLaw::default()).get() < SkillLaw::default().offered_from
        );
        let failing = (0..4).fold(young, |strength, _| strengthened(strength, false, &SkillLaw::default()));
        assert!(failing.get() < SkillLaw::default().forgotten_below);
    }
}
