//! What a question to memory wants of an answer: its words, those without which a sentence tells of something else, and when.
//!
//! Law: a name, a number, and what a question ends in ("did Paul fix the *roof*?", "the password *at home*") must be in what
//! answers it; what was at a time is answered by what is of that time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::question::content;
use crate::question::questions;
use crate::terms;
use crate::time::spans::{self, Named};
use crate::understand::courtesy;
use crate::word::inflection;
use crate::word::lexicon;
use crate::word::tokens::Utterance;
use maxim_language::calendar::month_of;

/// A question to memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    pub topic: String,
    /// Its content words; those of a time apart.
    pub words: Vec<String>,
    /// Of these, what must be in an answer.
    #[serde(default)]
    pub needs: Vec<String>,
    /// When what is asked for was.
    #[serde(default)]
    pub span: Option<Named>,
}

impl Wanted {
    /// `words` are the question's content words.
    pub fn of(text: &str, topic: String, words: Vec<String>, now: Timestamp, zone: &TimeZone) -> Self {
        let (rest, span) = match is_past(text) {
            true => spans::apart(text, now, zone),
            false => (text.to_owned(), None),
        };
        let words = match &span {
            Some(span) => {
                let when = terms(&span.words);
                words.into_iter().filter(|word| !when.contains(word)).collect()
            }
            None => words,
        };
        let words = content::asked(words, &rest, now, zone);
        let needs = needed(&rest, &words);
        Self { topic, words, needs, span }
    }
}

/// Whether a question asks for what was.
fn is_past(text: &str) -> bool {
    const PAST: [&str; 6] = ["was", "were", "did", "had", "wasn't", "didn't"];
    const WHO: [&str; 3] = ["who", "which", "what"];
    let said = Utterance::read(text);
    let lo = courtesy::lead(&said, &[]).lo;
    let is_verb = |word: &str| word.len() > 3 && (word.ends_with("ed") || inflection::base(word) != word);
    (lo..lo + 3).any(|at| PAST.contains(&said.word(at)))
        || WHO.contains(&said.word(lo)) && (lo + 1..lo + 3).any(|at| is_verb(said.word(at)))
}

/// The words of a question without which a sentence is of something else.
fn needed(text: &str, words: &[String]) -> Vec<String> {
    let said = Utterance::read(text);
    let lo = courtesy::lead(&said, &[]).lo;
    let is_shouted = !text.contains(char::is_lowercase);
    let mut needed: Vec<String> = Vec::new();
    let mut need = |word: &str| {
        let found = words.iter().find(|known| *known == word || known.strip_suffix('s') == Some(word));
        // "Jan" is a name as often as a month.
        let is_month = |word: &str| word.len() > 3 && month_of(word).is_some();
        let is_time = |word: &str| content::is_date(word) || spans::weekday(word).is_some() || is_month(word);
        needed.extend(found.filter(|word| !is_time(word)).cloned());
    };
    for at in lo..said.len() {
        let is_number = said.word(at).starts_with(|c: char| c.is_ascii_digit());
        // What begins a sentence has a capital anyway.
        let is_name = at > lo && !is_shouted && said.span(at, at + 1).starts_with(char::is_uppercase);
        if is_number || is_name {
            terms(said.span(at, at + 1)).iter().for_each(|word| need(word));
        }
    }
    let last = (lo..said.len()).rev().find(|at| words.iter().any(|word| *word == plain(said.word(*at))));
    if let Some(last) = last.filter(|last| ends_in_object(&said, lo, *last)) {
        need(&plain(said.word(last)));
    }
    needed.dedup();
    needed
}

fn plain(word: &str) -> String {
    word.strip_suffix("'s").unwrap_or(word).to_owned()
}

/// Whether the word that a question ends in is what it asks about: of a question that wants a yes or no, or of words without a
/// verb; elsewhere where a word of place leads to it.
fn ends_in_object(said: &Utterance, lo: usize, last: usize) -> bool {
    const WORDS_OF_PLACE: [&str; 6] = ["at", "in", "of", "for", "from", "with"];
    const ASKING: [&str; 11] =
        ["what", "where", "who", "whom", "whose", "when", "why", "how", "which", "what'll", "what'd"];
    let first = said.word(lo);
    let before = (lo..last).rev().map(|at| said.word(at)).find(|word| !lexicon::DETERMINERS.contains(word));
    let is_placed = before.is_some_and(|word| WORDS_OF_PLACE.contains(&word));
    let asks_yes_or_no = questions::is_interrogative(first) && !ASKING.contains(&first);
    last > lo && (asks_yes_or_no || is_placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(text: &str) -> Wanted {
        let now = "2026-11-25T10:00:00Z".parse().expect("a Wednesday");
        Wanted::of(text, String::new(), terms(text), now, &TimeZone::UTC)
    }

    #[test]
    fn names_numbers_and_what_a_question_ends_in_are_needed() {
        for (text, needs) in [
            ("did Paul fix the roof?", vec!["paul", "roof"]),
            ("is Jan Kowalski allergic to nuts?", vec!["jan", "kowalski", "nuts"]),
            ("wifi password at home?", vec!["home"]),
            ("how many chairs does room 3 have?", vec!["3"]),
            ("where is the key?", vec![]),
            ("what does Anna like?", vec!["anna"]),
            ("where did I park?", vec![]),
            ("WHERE IS THE KEY?", vec![]),
        ] {
            assert_eq!(wanted(text).needs, needs, "{text}");
        }
    }

    #[test]
    fn what_was_is_asked_of_a_span_and_what_will_be_is_not() {
        let pressure = wanted("what was the pump pressure in April?");
        assert_eq!(pressure.words, ["pump", "pressure"]);
        assert_eq!(pressure.span.map(|span| span.words).as_deref(), Some("in April"));
        assert!(wanted("who fixed the roof last week?").span.is_some());
        for text in ["who am I meeting on Monday?", "what do I have today?", "where is the key?"] {
            assert_eq!(wanted(text).span, None, "{text}");
        }
    }
}
