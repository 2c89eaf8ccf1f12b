//! The reason that may follow a stop: "stop, there's a child on the stairs", "stop or you'll break it".
//!
//! Its first words are an entry of a language's list, so that "stop, drop and roll" has none; what comes behind them is free, and
//! short. Who tells of somebody that "said" so tells a story, and stops nothing.

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
}

impl Reason {
    /// With one word more; none where it is too long or a story.
    pub fn goes_on(mut self, token: &Token, lexicons: &[Arc<Lexicon>]) -> Option<Self> {
        match token.is_character {
            true => self.characters += 1,
            false => self.words += 1,
        }
        let is_talk = lexicons.iter().any(|lexicon| lexicon.is(&token.text, Class::Talk));
        (!is_talk && self.words <= WORDS && self.characters <= CHARACTERS).then_some(self)
    }

    /// Whether all of these words may stand behind its beginning.
    pub fn may_be(rest: &[Token], lexicons: &[Arc<Lexicon>]) -> bool {
        rest.iter().try_fold(Self::default(), |reason, token| reason.goes_on(token, lexicons)).is_some()
    }
}

impl Readings {
    /// Whether an entry begins a reason for the stop that was read. `is_cut`: a mark stands before it.
    pub fn have_a_reason(&self, classes: &[(Class, Languages)], is_cut: bool) -> bool {
        let cry = if is_cut { languages_of(classes, Class::Cry) } else { Languages::NONE };
        let languages = languages_of(classes, Class::Reason).or(cry);
        !languages.is_none() && self.of(languages).stops()
    }

    /// The same while a body moves, where what is nearly a command or a weak one is enough. What needs a mark before it counts
    /// only behind a whole command.
    pub fn nearly_have_a_reason(&self, classes: &[(Class, Languages)]) -> bool {
        let languages = languages_of(classes, Class::Reason);
        !languages.is_none() && self.of(languages).each().any(|(reading, _)| reading & (STOP | WEAK) != 0)
    }

    fn of(&self, languages: Languages) -> Self {
        Self(self.0.map(|known| known.and(languages)))
    }
}
