//! Days named relative to the day of the question: "yesterday", "last week", "three days ago". "Today" and "this
//! week" often mean the future, so they name no day.

use jiff::ToSpan;
use jiff::civil::{Date, date};

use super::dates::{DayRange, day_number};
use maxim_language::Word;

const YESTERDAY: [&str; 6] = ["yesterday", "gestern", "ayer", "ieri", "ontem", "gisteren"];
const LAST: [&str; 7] = ["last", "past", "previous", "letzte", "letzten", "letzter", "letztes"];
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const ZAHLEN: [&str; 10] = ["einem", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"];

/// A period of the calendar that words count in.
#[derive(Clone, Copy)]
enum Unit {
    Day,
    Week,
    Month,
}

fn unit_of(word: &str) -> Option<Unit> {
    match word {
        "day" | "days" | "tag" | "tage" | "tagen" => Some(Unit::Day),
        "week" | "weeks" | "woche" | "wochen" => Some(Unit::Week),
        "month" | "months" | "monat" | "monate" | "monaten" => Some(Unit::Month),
        _ => None,
    }
}

fn number_of(word: &str) -> Option<i32> {
    let spelled = |of: &[&str]| of.iter().position(|one| *one == word).and_then(|at| i32::try_from(at + 1).ok());
    let written = word.parse().ok().filter(|number| (1..=366).contains(number));
    written.or_else(|| spelled(&NUMBERS)).or_else(|| spelled(&ZAHLEN)).or((word == "a").then_some(1))
}

fn days(from: i32, to: i32) -> DayRange {
    DayRange { from, to, fit: 1.0 }
}

/// The period that is `count` before the present one.
fn before(today: i32, unit: Unit, count: i32) -> Option<DayRange> {
    let day = date(1970, 1, 1).checked_add(today.days()).ok()?;
    match unit {
        Unit::Day => Some(days(today - count, today - count)),
        Unit::Week => {
            let monday = today - i32::from(day.weekday().to_monday_zero_offset()) - 7 * count;
            Some(days(monday, monday + 6))
        }
        Unit::Month => {
            let first: Date = day.first_of_month().checked_sub(count.months()).ok()?;
            Some(days(day_number(first), day_number(first.last_of_month())))
        }
    }
}

/// All days that the words name, looking back from `today`.
pub fn named_lately(words: &[Word], today: i32) -> Vec<DayRange> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let mut found = Vec::new();
    for at in 0..words.len() {
        let is = |of: &[&str]| of.contains(&text(at));
        let next = unit_of(text(at + 1));
        // "three days ago", and in German "vor drei Tagen".
        let counted = number_of(text(at)).zip(next);
        let is_ago = text(at + 2) == "ago" || at > 0 && text(at - 1) == "vor";
        found.extend(match (counted, next) {
            (Some((count, unit)), _) if is_ago => before(today, unit, count),
            _ if is(&YESTERDAY) => Some(days(today - 1, today - 1)),
            _ if text(at) == "vorgestern" => Some(days(today - 2, today - 2)),
            (_, Some(unit @ (Unit::Week | Unit::Month))) if is(&LAST) => before(today, unit, 1),
            _ => None,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::words;

    /// Wednesday, 13 March 2024.
    fn named(text: &str) -> Vec<(Date, Date)> {
        let today = day_number(date(2024, 3, 13));
        let day = |number: i32| date(1970, 1, 1).checked_add(number.days()).expect("a day");
        named_lately(&words(text), today).into_iter().map(|range| (day(range.from), day(range.to))).collect()
    }

    #[test]
    fn days_are_counted_back_from_the_one_on_which_is_asked() {
        let day = |of: i8| vec![(date(2024, 3, of), date(2024, 3, of))];
        assert_eq!(named("What broke yesterday?"), day(12));
        assert_eq!(named("who came three days ago"), day(10));
        assert_eq!(named("wer kam vor 2 Tagen"), day(11));
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_their_first_day() {
        assert_eq!(named("what did I read last week"), [(date(2024, 3, 4), date(2024, 3, 10))]);
        assert_eq!(named("im letzten Monat"), [(date(2024, 2, 1), date(2024, 2, 29))]);
        assert_eq!(named("two months ago"), [(date(2024, 1, 1), date(2024, 1, 31))]);
    }

    #[test]
    fn what_only_sounds_so_names_no_day() {
        for text in [
            "paint it today",
            "this week",
            "the last cup",
            "this is it",
            "three weeks of rain",
            "vor drei Häusern",
            "a month has 30 days",
        ] {
            assert!(named(text).is_empty(), "{text}");
        }
    }
}
