//! What a question asks for, as far as its words show it: about whom, what kind of answer, and what came after or
//! before something.

use super::people::Named;
use super::statement::Statement;
use maxim_language::Word;

/// Words that ask for a time, in the languages with known function words.
const WHEN: [&str; 27] = [
    "when", "long", "date", "day", "year", "month", "week", "time", "often", "since", "ago", "recently", "wann",
    "lange", "tag", "jahr", "monat", "quand", "jour", "année", "cuándo", "día", "año", "quando", "giorno", "dia",
    "wanneer",
];
/// Words that ask for the time of the thing that they themselves name: "When did he run again after the operation?"
const TIME: [&str; 6] = ["when", "wann", "quand", "cuándo", "quando", "wanneer"];
/// Words that ask for a person, a place or a name.
const WHO: [&str; 25] = [
    "who", "whom", "whose", "where", "which", "name", "names", "called", "city", "country", "state", "wer", "wem",
    "wen", "wo", "wohin", "heißt", "qui", "où", "quién", "dónde", "chi", "dove", "quem", "onde",
];
/// The first person singular, which means the asker.
const ME: [&str; 33] = [
    "i", "me", "my", "mine", "myself", "ich", "mir", "mich", "mein", "meine", "meinen", "meinem", "meiner", "je", "j",
    "moi", "mon", "ma", "mes", "yo", "mí", "mi", "mis", "io", "mio", "mia", "miei", "eu", "meu", "minha", "ik", "mij",
    "mijn",
];
const WE: [&str; 3] = ["we", "us", "our"];
/// Words that only say that the question is about an event.
const EVENT: [&str; 17] = [
    "happen",
    "happened",
    "happens",
    "happening",
    "passiert",
    "passierte",
    "geschah",
    "geschehen",
    "ereignete",
    "passé",
    "arrivé",
    "pasó",
    "ocurrió",
    "successo",
    "aconteceu",
    "gebeurd",
    "gebeurde",
];
/// Words that stand before the thing after which the answer comes.
const AFTER: [&str; 14] = [
    "after",
    "afterwards",
    "following",
    "since",
    "nachdem",
    "danach",
    "seitdem",
    "après",
    "después",
    "tras",
    "dopo",
    "depois",
    "após",
    "daarna",
];
/// The same for the thing before which the answer comes.
const BEFORE: [&str; 9] = ["before", "prior", "bevor", "vorher", "zuvor", "avant", "antes", "prima", "voordat"];
/// German "nach" is temporal before one of these, else mostly a place.
const ARTICLES: [&str; 6] = ["dem", "der", "den", "einem", "einer", "diesem"];

/// The direction of experience in which the answer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    After,
    Before,
}

/// What the words of a question show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Marks of a statement that count for it as an answer: all marks for a question about a life, else those that are
    /// asked for.
    pub particulars: u8,
    pub then: Option<Then>,
}

fn any(words: &[Word], of: &[&str]) -> bool {
    words.iter().any(|word| of.contains(&word.text.as_str()))
}

/// True if the word only says that something happened.
pub fn is_event(word: &Word) -> bool {
    EVENT.contains(&word.text.as_str())
}

/// True if the asker asks about themselves.
pub fn is_about_asker(words: &[Word]) -> bool {
    any(words, &ME)
}

impl Asked {
    pub fn of(words: &[Word], named: &Named) -> Self {
        let of_somebody = !named.people.is_empty() || any(words, &ME) || any(words, &WE);
        let marks = [
            (Statement::TIME, of_somebody || any(words, &WHEN)),
            (Statement::NAME, of_somebody || any(words, &WHO)),
            (Statement::FIRST_PERSON, of_somebody),
        ];
        let particulars = marks.into_iter().filter(|(_, counts)| *counts).fold(0, |all, (mark, _)| all | mark);
        let is_nach = |pair: &[Word]| pair[0].text == "nach" && ARTICLES.contains(&pair[1].text.as_str());
        let then = if any(words, &TIME) {
            None
        } else if any(words, &AFTER) || words.windows(2).any(is_nach) {
            Some(Then::After)
        } else {
            any(words, &BEFORE).then_some(Then::Before)
        };
        Self { particulars, then }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::words;

    fn asked(text: &str, people: Vec<u32>) -> Asked {
        Asked::of(&words(text), &Named { people, ..Named::default() })
    }

    #[test]
    fn of_somebody_all_particulars_count_and_else_what_is_asked_for() {
        let all = Statement::TIME | Statement::NAME | Statement::FIRST_PERSON;
        assert_eq!(asked("what did paint", vec![3]).particulars, all);
        assert_eq!(asked("Where are my keys?", vec![]).particulars, all);
        assert_eq!(asked("When did the fan fail?", vec![]).particulars, Statement::TIME);
        assert_eq!(asked("Who mended the fan?", vec![]).particulars, Statement::NAME);
        assert_eq!(asked("Why did the fan fail?", vec![]).particulars, 0);
    }

    #[test]
    fn after_and_before_are_heard_and_places_arent() {
        assert_eq!(asked("What happened after the flood?", vec![]).then, Some(Then::After));
        assert_eq!(asked("What was loaded before the ship left?", vec![]).then, Some(Then::Before));
        assert_eq!(asked("Was geschah nach dem Brand?", vec![]).then, Some(Then::After));
        assert_eq!(asked("Wer fuhr nach Bremen?", vec![]).then, None);
        assert_eq!(asked("When did he run again after the operation?", vec![]).then, None);
    }
}
