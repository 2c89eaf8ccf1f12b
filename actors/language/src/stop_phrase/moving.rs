//! While a body moves, what is nearly a stop is one.
//!
//! Beside what the grammar derives anyway, an utterance may hold one word that isn't known ("stop the conveyor", "frank stop"), any
//! articles, and one entry with one letter wrong, as speech to text makes them ("stob", "dont moov"). What talks of stopping still
//! stops nothing: each language lists the words by which it is known ("don't", "said", "bus").

use super::lexicon::{Class, Languages, languages_of};
use super::normal::{self, Token};
use super::{NEAR, REFUSED, Readings, STOP, StopGrammar, UNKNOWN, WEAK};

/// An utterance of more words is no shout.
const LONGEST: usize = 32;
/// Words of an entry that was nearly said, at most.
const WINDOW: usize = 6;
/// The same in a script in which each character is a word: "止まってもらえますか".
const CHARACTER_WINDOW: usize = 12;
/// Letters or characters of an entry at least that may have one wrong. Shorter ones are near too much.
const LETTERS: usize = 4;
/// Characters that are taken for one unknown word, at most.
const CHARACTERS_A_WORD: usize = 4;

impl StopGrammar {
    pub(super) fn is_near(&self, text: &str) -> bool {
        let tokens: Vec<Token> = normal::stream(text).take(LONGEST + 1).collect();
        if tokens.len() > LONGEST {
            return false;
        }
        let mut reached = vec![Readings::NONE; tokens.len() + 1];
        reached[0] = Readings::begun();
        for at in 0..tokens.len() {
            let (readings, rest) = (reached[at], &tokens[at..]);
            if readings.is_none() {
                continue;
            }
            let mut is_report = false;
            for (length, classes) in self.lexicons.iter().flat_map(|lexicon| lexicon.entries(rest)) {
                let reason = readings.near_reason(classes);
                if reason.is_some_and(|reason| reason.may_be(&rest[length..], &self.lexicons)) {
                    return true;
                }
                let report = languages_of(classes, Class::Report);
                if !report.is_none() {
                    is_report = true;
                    reached[at + length].go_on(&readings, report, Some);
                }
            }
            if is_report {
                continue;
            }
            for (length, classes) in self.lexicons.iter().flat_map(|lexicon| lexicon.entries(rest)) {
                let behind = &mut reached[at + length];
                behind.go_behind(&readings, classes, rest[length - 1].is_cut);
                behind.go_on(&readings, languages_of(classes, Class::Article), Some);
            }
            let glued = self.glued(&rest[0], &readings);
            reached[at + 1].add(&glued);
            for length in 1..=self.unknown(rest) {
                let once = |reading: usize| (reading & (UNKNOWN | REFUSED) == 0).then_some(reading | UNKNOWN);
                reached[at + length].go_on(&readings, Languages::ALL, once);
            }
            let mut once = Readings::NONE;
            once.go_on(&readings, Languages::ALL, |reading| (reading & NEAR == 0).then_some(reading | NEAR));
            let mut has_reason = false;
            let window = if rest[0].is_character { CHARACTER_WINDOW } else { WINDOW };
            for length in 1..=window.min(rest.len()) {
                let ends_cut = rest[length - 1].is_cut;
                self.nearly_said(&rest[..length], |classes| {
                    let behind = &rest[length..];
                    has_reason |= once.near_reason(classes).is_some_and(|reason| reason.may_be(behind, &self.lexicons));
                    reached[at + length].go_behind(&once, classes, ends_cut);
                });
            }
            if has_reason {
                return true;
            }
        }
        reached[tokens.len()].each().any(|(reading, _)| reading & (STOP | WEAK) != 0)
    }

    /// Whether an entry that begins here talks of stopping, in whatever language: those that talk mix less than those that shout.
    fn talks(&self, rest: &[Token]) -> bool {
        !self.talk(rest).is_empty()
    }

    /// The words of talk with which these begin.
    fn talk(&self, rest: &[Token]) -> Vec<String> {
        let entries = self.lexicons.iter().flat_map(|lexicon| lexicon.entries(rest));
        let talk = entries.filter(|(_, classes)| languages_of(classes, Class::Against) != Languages::NONE);
        talk.map(|(length, _)| normal::spaced(&rest[..length])).collect()
    }

    /// How many words from here on may be one that isn't known.
    fn unknown(&self, rest: &[Token]) -> usize {
        let is_character = rest[0].is_character;
        let most = if is_character { CHARACTERS_A_WORD } else { 1 };
        let alike = (0..most.min(rest.len())).take_while(|at| rest[*at].is_character == is_character);
        alike.take_while(|at| !self.talks(&rest[*at..])).count()
    }

    /// Gives what these words are but for one letter.
    fn nearly_said(&self, tokens: &[Token], mut near: impl FnMut(&[(Class, Languages)])) {
        let is_of_characters = tokens.iter().all(|token| token.is_character);
        // "Stops" and "start" are words of their own; in a script of characters such a word stands among others.
        let entries = self.lexicons.iter().flat_map(|lexicon| lexicon.entries(tokens));
        let whole = entries.filter(|(length, _)| *length == tokens.len());
        let talking =
            whole.map(|(_, classes)| languages_of(classes, Class::Against)).fold(Languages::NONE, Languages::or);
        if talking == Languages::ALL {
            return;
        }
        let talk: Vec<String> = if is_of_characters {
            (0..tokens.len()).flat_map(|at| self.talk(&tokens[at..])).collect()
        } else {
            Vec::new()
        };
        let said: Vec<char> = normal::spaced(tokens).chars().collect();
        for length in said.len().saturating_sub(1).max(LETTERS)..=said.len() + 2 {
            for (entry, classes) in self.lexicons.iter().flat_map(|lexicon| lexicon.whole(length)) {
                // A polite question has its own word of asking: "止まってくれますか".
                let is_its_own = |word: &String| entry.iter().collect::<String>().contains(word.as_str());
                if is_within_a_letter(&said, entry) && talk.iter().all(is_its_own) {
                    let is_command = |class: Class| matches!(class, Class::Stop | Class::StopAfterNo | Class::Weak);
                    let open = classes.iter().filter(|(class, _)| talking == Languages::NONE || is_command(*class));
                    near(&open.map(|(class, of)| (*class, of.without(talking))).collect::<Vec<_>>());
                }
            }
        }
    }
}

/// Whether one letter that is wrong, missing, too much or exchanged with the next makes one of the other. Where the one between two
/// of a kind is missing, those count once.
fn is_within_a_letter(one: &[char], other: &[char]) -> bool {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let last = same.checked_sub(1).map(|last| one[last]);
    let (one, other) = (&one[same..], &other[same..]);
    let tail = |skip_one: usize, skip_other: usize| {
        one.len() >= skip_one && other.len() >= skip_other && one[skip_one..] == other[skip_other..]
    };
    let exchanged = || one.len() > 1 && other.len() > 1 && one[0] == other[1] && one[1] == other[0] && tail(2, 2);
    let between = || last.is_some() && other.get(1).copied() == last && tail(0, 2);
    one == other || between() || tail(1, 1) || tail(1, 0) || tail(0, 1) || exchanged()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_letter_is_near_and_two_are_not() {
        let near =
            |a: &str, b: &str| is_within_a_letter(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for said in ["stob", "stp", "stpo", "sstop", "top", "stopt", "stop"] {
            assert!(near(said, "stop") && near("stop", said), "{said}");
        }
        for said in ["tosp", "st", "stepp", "stopped", ""] {
            assert!(!near(said, "stop") && !near("stop", said), "{said}");
        }
    }
}
