//! The stop phrase: a grammar over the *whole* utterance, never a search inside it.
//!
//! A person who wants the body to stop shouts, spaces the letters, repeats them, adds a name or a curse; a person who talks
//! about bus stops does none of that with nothing else in the sentence. So the utterance is normalised (`normal`) and must
//! then be made of entries of the `lexicon` alone:
//!
//! ```text
//! utterance = (interjection | refusal | name | please | urgency | object | behind | stop)+
//! ```
//!
//! with one stop at least; "it" and its like stand behind the stop; a refusal that means "not" as well counts only where a mark
//! cuts it off. All words are of one language, or English, or the agent's own. One word outside of the grammar makes the utterance
//! ordinary text.
//!
//! A reason may follow (`reason`): "stop, there's a child on the stairs". Its beginning is an entry, the rest of it is free.
//!
//! While a body moves, what is nearly a stop is one (`moving`): a missed stop costs an arm, a false one a reset.

mod lexicon;
mod moving;
mod normal;
mod reason;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use lexicon::{Class, Languages, Lexicon, languages_of};
use normal::Token;
use reason::Reason;

/// True when the whole of `text` is a command to stop while nothing moves. `names` are the agent's own names.
pub fn is_stop_phrase(text: &str, names: &[&str]) -> bool {
    StopGrammar::new(names, &[] as &[&str]).matches(text, false)
}

/// The grammar with the agent's names and the commands of its configuration, normalised once.
#[derive(Debug, Clone)]
pub struct StopGrammar {
    /// What all agents share, and what is this one's own.
    lexicons: [Arc<Lexicon>; 2],
}

/// What was read so far, as a set of possible readings: place `n` stands for the reading of which the bits of `n` say what it
/// has, and holds the languages that it may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Readings([Languages; READINGS]);

const READINGS: usize = 64;

/// A command to stop.
const STOP: usize = 1;
/// One that needs company.
const WEAK: usize = 2;
/// A name, urgency or an object.
const COMPANY: usize = 4;
/// A bare refusal that waits for its command.
const REFUSED: usize = 8;
/// While a body moves: a word that isn't known.
const UNKNOWN: usize = 16;
/// While a body moves: an entry that was nearly said.
const NEAR: usize = 32;

impl Readings {
    const NONE: Self = Self([Languages::NONE; READINGS]);

    /// Nothing was read yet.
    fn begun() -> Self {
        let mut readings = Self::NONE;
        readings.0[0] = Languages::ALL;
        readings
    }

    fn is_none(&self) -> bool {
        self.0.iter().all(|languages| languages.is_none())
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own = own.or(other));
    }

    fn each(&self) -> impl Iterator<Item = (usize, Languages)> {
        self.0.into_iter().enumerate().filter(|(_, languages)| !languages.is_none())
    }

    /// Adds each reading of `before`, as far as it is in these languages, that `next` goes on with.
    fn go_on(&mut self, before: &Self, languages: Languages, next: impl Fn(usize) -> Option<usize>) {
        for (reading, known) in before.each() {
            if let Some(next) = next(reading) {
                self.0[next] = self.0[next].or(known.and(languages));
            }
        }
    }

    /// Adds the readings behind an entry; `is_cut`: a mark follows it.
    fn go_behind(&mut self, before: &Self, classes: &[(Class, Languages)], is_cut: bool) {
        for (class, languages) in classes {
            self.go_on(before, *languages, |reading| match class {
                Class::Please | Class::Interjection => Some(reading),
                Class::Urgency | Class::Vocative | Class::Object => Some(reading | COMPANY),
                Class::After => (reading & (STOP | WEAK) != 0).then_some(reading | COMPANY),
                Class::Stop => (reading & REFUSED == 0).then_some(reading | STOP),
                Class::StopAfterNo => Some(reading & !REFUSED | STOP),
                Class::Weak => (reading & REFUSED == 0).then_some(reading | WEAK),
                // Said twice it is no "not".
                Class::No => Some(if is_cut { reading & !REFUSED } else { reading ^ REFUSED }),
                Class::NoOrNot => is_cut.then_some(reading),
                Class::Report => Some(reading),
                Class::Article | Class::Against | Class::Reason | Class::Cry | Class::Talk => None,
                Class::Clause | Class::Wrong => None,
            });
        }
    }

    fn stops(&self) -> bool {
        self.each().any(|(reading, _)| reading & STOP != 0 || reading & (WEAK | COMPANY) == WEAK | COMPANY)
    }
}

impl StopGrammar {
    /// `phrases`: whole utterances of further languages, which count as a command: a name, a please or a repetition may stand
    /// beside them. A name or phrase without a letter is ignored.
    pub fn new<N: AsRef<str>, P: AsRef<str>>(names: &[N], phrases: &[P]) -> Self {
        Self { lexicons: [Lexicon::built_in(), Arc::new(Lexicon::own(names, phrases))] }
    }

    /// Whether `text` stops. `moving`: a body moves, and what is nearly a stop is one. Most text is known for ordinary by its
    /// first words, and the cost is linear in its length.
    pub fn matches(&self, text: &str, moving: bool) -> bool {
        self.is_exact(text) || moving && self.is_near(text)
    }

    /// Reads word by word, as long as there is a way to a stop.
    fn is_exact(&self, text: &str) -> bool {
        // Inside of entries: the lexicon, the place there, the readings before the entry, and whether a mark is there.
        let mut inside: Vec<(usize, u32, Readings, bool)> = Vec::new();
        let mut ways: Vec<(usize, u32, Readings, bool)> = Vec::new();
        let mut between = Readings::begun();
        let mut is_cut = false;
        let mut reason: Option<Reason> = None;
        for token in normal::stream(text) {
            reason = reason.and_then(|reason| reason.goes_on(&token, &self.lexicons));
            let mut ended = Readings::NONE;
            let mut reported = Readings::NONE;
            let mut is_known = false;
            for (which, lexicon) in self.lexicons.iter().enumerate() {
                let Some(number) = lexicon.number(&token.text) else { continue };
                is_known = true;
                let begun = (!between.is_none()).then_some((which, 0, between, is_cut));
                let here = inside.iter().copied().filter(|(of, ..)| *of == which).chain(begun);
                for (_, place, readings, is_cut) in here {
                    if let Some(next) = lexicon.step(place, number) {
                        let classes = lexicon.ends(next);
                        ended.go_behind(&readings, classes, token.is_cut);
                        reported.go_on(&readings, languages_of(classes, Class::Report), Some);
                        // "Or it" goes on to "or it will", which says more.
                        if reason.is_none_or(|reason| !reason.is_whole()) {
                            reason = readings.reason(classes, is_cut).or(reason);
                        }
                        ways.push((which, next, readings, is_cut));
                    }
                }
            }
            if !is_known {
                ended.add(&self.glued(&token, &between));
            }
            std::mem::swap(&mut inside, &mut ways);
            ways.clear();
            // "I quit" is no command, though "i" is "and" in some language.
            between = if reported.is_none() { ended } else { reported };
            is_cut = token.is_cut;
            if between.is_none() && inside.is_empty() && reason.is_none() {
                return false;
            }
        }
        between.stops() || reason.is_some_and(|reason| reason.is_whole())
    }

    /// The readings behind a word that is several in one, a command among them: `stopstop`, `stopnow`, `s t o p n o w`.
    fn glued(&self, token: &Token, before: &Readings) -> Readings {
        let word = token.text.as_str();
        if before.is_none() || token.is_character || !self.lexicons.iter().any(|lexicon| lexicon.may_be_glued(word)) {
            return Readings::NONE;
        }
        // By place: the readings without a command of the word, and with one.
        let mut reached = vec![[Readings::NONE; 2]; word.len() + 1];
        reached[0][0] = *before;
        let mut last = 0;
        for at in word.char_indices().map(|(at, _)| at) {
            let here = reached[at];
            // A letter that ends one entry and begins the next was counted once.
            for from in if at == 0 { at..=at } else { last..=at }.filter(|from| word.is_char_boundary(*from)) {
                if here.iter().all(Readings::is_none) {
                    break;
                }
                for (length, classes) in self.lexicons.iter().flat_map(|lexicon| lexicon.glued_entries(&word[from..])) {
                    if from + length <= at {
                        continue;
                    }
                    let is_cut = token.is_cut && from + length == word.len();
                    let is_command = |(class, _): &&(Class, Languages)| {
                        matches!(class, Class::Stop | Class::Weak | Class::StopAfterNo)
                    };
                    let commands: Vec<_> = classes.iter().filter(is_command).copied().collect();
                    let [without, with] = &mut reached[from + length];
                    without.go_behind(&here[0], classes, is_cut);
                    with.go_behind(&here[0], &commands, is_cut);
                    with.go_behind(&here[1], classes, is_cut);
                }
            }
            last = at;
        }
        reached[word.len()][1]
    }
}
