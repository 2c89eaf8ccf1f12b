//! What an answer from memory must hold: words of the question, those that can't be missing, and the time.
//!
//! Law: an answer holds each name, each number, and the last object of the question ("did Paul fix the *roof*?", "the password
//! *at home*"). A question about a time is answered by sentences about that time.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::question::content;
use crate::question::kinds;
use crate::talk::courtesy;
use crate::terms;
use crate::time::spans::{self, NamedSpan};
use crate::word::inflection;
use crate::word::lexicon;
use crate::word::tokens::Utterance;
use maxim_language::calendar::month_of;

/// A question to memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    pub topic: String,
    /// Its content words, without those of a time.
    pub words: Vec<String>,
    /// The words of these that an answer must hold.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The time that is asked about.
    pub span: Option<NamedSpan>,
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

/// Whether a question is about the past.
fn is_past(text: &str) -> bool {
    const PAST: [&str; 6] = ["was", "were", "did", "had", "wasn't", "didn't"];
    const WHO: [&str; 3] = ["who", "which", "what"];
    let said = Utterance::read(text);
    let lo = courtesy::lead(&said, &[]).lo;
    let is_verb = |word: &str| word.len() > 3 && (word.ends_with("ed") || inflection::base(word) != word);
    (lo..lo + 3).any(|at| PAST.contains(&said.word(at)))
        || WHO.contains(&said.word(lo)) && (lo + 1..lo + 3).any(|at| is_verb(said.word(at)))
}

/// The words without which a sentence is about something else.
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
        // The first word of a sentence has a capital anyway.
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

/// Whether the last word is the object of the question. So it is in questions for a yes or no, in words without a verb, and
/// after a word of place.
fn ends_in_object(said: &Utterance, lo: usize, last: usize) -> bool {
    const WORDS_OF_PLACE: [&str; 6] = ["at", "in", "of", "for", "from", "with"];
    const ASKING: [&str; 11] =
        ["what", "where", "who", "whom", "whose", "when", "why", "how", "which", "what'll", "what'd"];
    let first = said.word(lo);
    let before = (lo..last).rev().map(|at| said.word(at)).find(|word| !lexicon::DETERMINERS.contains(word));
    let is_placed = before.is_some_and(|word| WORDS_OF_PLACE.contains(&word));
    let asks_yes_or_no = kinds::is_interrogative(first) && !ASKING.contains(&first);
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
