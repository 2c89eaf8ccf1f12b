//! What a text shows when it is captured: whether it asks, and whether it states something specific. A turn with a
//! time, a name or the first person is worth remembering; a mere question is seldom the evidence.

use maxim_language::Word;

/// Marks of one text, packed in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statement(pub u8);

impl Statement {
    /// The text ends with a question mark.
    pub const ASKS: u8 = 1;
    /// The text contains a question mark anywhere: the answer may follow.
    pub const AWAITS_ANSWER: u8 = 2;
    /// It contains a calendar word.
    pub const TIME: u8 = 4;
    /// It contains a capitalised word inside a sentence.
    pub const NAME: u8 = 8;
    /// It uses the first person.
    pub const FIRST_PERSON: u8 = 16;

    pub fn of(text: &str, words: &[Word]) -> Self {
        let mut marks = 0;
        if text.trim_end().ends_with('?') {
            marks |= Self::ASKS;
        }
        if text.contains('?') {
            marks |= Self::AWAITS_ANSWER;
        }
        for word in words {
            if is_calendar_word(word) {
                marks |= Self::TIME;
            }
            if word.capital && !word.opens_sentence && word.text != "i" {
                marks |= Self::NAME;
            }
            if matches!(word.text.as_str(), "i" | "my" | "me" | "we" | "our") {
                marks |= Self::FIRST_PERSON;
            }
        }
        Self(marks)
    }

    pub fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }

    /// How many of time, name and first person occur, 0 to 3.
    pub fn particulars(self) -> u8 {
        (self.0 & (Self::TIME | Self::NAME | Self::FIRST_PERSON)).count_ones() as u8
    }
}

/// "may" and "march" are months only with a capital.
fn is_calendar_word(word: &Word) -> bool {
    match word.text.as_str() {
        "may" | "march" => word.capital && !word.opens_sentence,
        "yesterday" | "today" | "tomorrow" | "tonight" | "ago" | "day" | "days" | "week" | "weeks" | "weekend"
        | "weekends" | "month" | "months" | "year" | "years" | "last" | "next" | "recently" | "monday" | "tuesday"
        | "wednesday" | "thursday" | "friday" | "saturday" | "sunday" | "january" | "february" | "april" | "june"
        | "july" | "august" | "september" | "october" | "november" | "december" | "spring" | "summer" | "autumn"
        | "fall" | "winter" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::words;

    fn of(text: &str) -> Statement {
        Statement::of(text, &words(text))
    }

    #[test]
    fn a_particular_statement_has_time_name_and_person() {
        assert_eq!(of("Last week we went to Rome").particulars(), 3);
        assert_eq!(of("nice").particulars(), 0);
        assert_eq!(of("That may be so").particulars(), 0);
    }

    #[test]
    fn a_question_is_known_by_its_end_and_awaits_an_answer_anywhere() {
        assert!(of("How are you? ").has(Statement::ASKS));
        let both = of("How are you? Fine here.");
        assert!(!both.has(Statement::ASKS) && both.has(Statement::AWAITS_ANSWER));
    }
}
