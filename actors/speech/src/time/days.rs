//! Days whose names depend on the day of speaking: "tomorrow".

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use crate::word::tokens::Utterance;

/// Days ahead, by name.
const DAYS: [(&str, i32); 6] = [
    ("day after tomorrow", 2),
    ("day before yesterday", -2),
    ("tomorrow", 1),
    ("yesterday", -1),
    ("today", 0),
    ("tonight", 0),
];

/// The days that a text of that time names, with the words for them.
pub fn named(text: &str, at: Timestamp, zone: &TimeZone) -> Vec<(&'static str, Date)> {
    let said = Utterance::read(text);
    let today = at.to_zoned(zone.clone()).date();
    let (mut found, mut place) = (Vec::new(), 0);
    while place < said.len() {
        let hit =
            DAYS.iter().find_map(|(phrase, ahead)| Some((phrase, ahead, said.starts(place, said.len(), phrase)?)));
        let Some((phrase, ahead, length)) = hit else {
            place += 1;
            continue;
        };
        found.extend(today.checked_add(ahead.days()).ok().map(|date| (*phrase, date)));
        place += length;
    }
    found
}

/// Whether a word names the day of speaking.
pub fn is_now(word: &str) -> bool {
    matches!(word, "today" | "tonight")
}

/// A day in words that memory may hold: "wednesday 2026-11-25".
pub fn in_words(date: Date) -> String {
    date.strftime("%A %Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_named_by_when_it_is_said() {
        let at = "2026-11-24T23:30:00Z".parse().expect("a Tuesday");
        let read = |text: &str| {
            let found = named(text, at, &TimeZone::UTC).into_iter();
            found.map(|(word, date)| format!("{word}: {}", in_words(date))).collect::<Vec<_>>()
        };
        assert_eq!(read("The vet comes tomorrow."), ["tomorrow: Wednesday 2026-11-25"]);
        assert_eq!(
            read("not yesterday but the day before yesterday"),
            ["yesterday: Monday 2026-11-23", "day before yesterday: Sunday 2026-11-22"]
        );
        assert!(read("the vet comes on Friday").is_empty());
    }
}
