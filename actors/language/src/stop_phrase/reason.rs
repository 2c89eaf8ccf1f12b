//! The reason that may follow a stop: "stop, there's a child on the stairs", "stop or you'll break it".
//!
//! Its first words are an entry of a language's list, so that "stop, drop and roll" has none; what comes behind them is free, and
//! short. Behind a bare "or the", "before the", "because the" it must say what goes wrong: "stop or the vase falls" is a stop,
//! "stop before the bridge" is none. Who tells of somebody that "said" so tells a story, and stops nothing.

use std::sync::Arc;

use super::lexicon::{Class, Languages, Lexicon, languages_of};
use super::normal::Token;
use super::{Readings, STOP, WEAK};

/// Words of a reason behind its beginning, at most: who shouts is short.
const WORDS: usize = 12;
/// The same in a script without gaps.
const CHARACTERS: usize = 24;

/// A reason that has begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reason {
    words: usize,
    characters: usize,
    /// Languages in which it must still say what goes wrong; none where it need not.
    awaits: Languages,
}

impl Reason {
    /// Whether it may end here.
    pub fn is_whole(&self) -> bool {
        self.awaits.is_none()
    }

    /// With one word more; none where it is too long or a story.
    pub fn goes_on(mut self, token: &Token, lexicons: &[Arc<Lexicon>]) -> Option<Self> {
        match token.is_character {
            true => self.characters += 1,
            false => self.words += 1,
        }
        // The first word is the thing itself: "before the crash".
        if !self.is_whole() && self.words > 1 {
            let wrong = lexicons.iter().map(|lexicon| lexicon.languages(&token.text, Class::Wrong));
            if !self.awaits.and(wrong.fold(Languages::NONE, Languages::or)).is_none() {
                self.awaits = Languages::NONE;
            }
        }
        let is_talk = lexicons.iter().any(|lexicon| lexicon.is(&token.text, Class::Talk));
        (!is_talk && self.words <= WORDS && self.characters <= CHARACTERS).then_some(self)
    }

    /// Whether all of these words may stand behind its beginning.
    pub fn may_be(self, rest: &[Token], lexicons: &[Arc<Lexicon>]) -> bool {
        let whole = rest.iter().try_fold(self, |reason, token| reason.goes_on(token, lexicons));
        whole.is_some_and(|reason| reason.is_whole())
    }
}

impl Readings {
    /// The reason for the stop that was read, where an entry begins one. `is_cut`: a mark stands before it.
    pub fn reason(&self, classes: &[(Class, Languages)], is_cut: bool) -> Option<Reason> {
        let cry = if is_cut { languages_of(classes, Class::Cry) } else { Languages::NONE };
        begun(classes, cry, |languages| self.of(languages).stops())
    }

    /// The same while a body moves, where what is nearly a command or a weak one is enough. What needs a mark before it counts
    /// only behind a whole command.
    pub fn near_reason(&self, classes: &[(Class, Languages)]) -> Option<Reason> {
        begun(classes, Languages::NONE, |languages| {
            self.of(languages).each().any(|(reading, _)| reading & (STOP | WEAK) != 0)
        })
    }

    fn of(&self, languages: Languages) -> Self {
        Self(self.0.map(|known| known.and(languages)))
    }
}

/// What begins with an entry, where a stop was said in its languages.
fn begun(classes: &[(Class, Languages)], cry: Languages, is_said: impl Fn(Languages) -> bool) -> Option<Reason> {
    let is_said = |languages: &Languages| !languages.is_none() && is_said(*languages);
    let whole = Some(languages_of(classes, Class::Reason).or(cry)).filter(is_said).map(|_| Reason::default());
    let clause = || Some(languages_of(classes, Class::Clause)).filter(is_said);
    whole.or_else(|| clause().map(|awaits| Reason { awaits, ..Reason::default() }))
}
