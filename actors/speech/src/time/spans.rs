//! Spans of time that words name: "today", "five minutes ago", "in the last hour", "on Monday".

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};
use serde::{Deserialize, Serialize};

use crate::time::days;
use crate::word::lexicon;
use crate::word::tokens::Utterance;
use maxim_language::calendar::{day_of, month_of};

/// "Five minutes ago" means a time between these shares of five minutes ago.
const ABOUT: [f64; 2] = [1.5, 0.5];
/// Longest time phrase, in words.
const WORDS: usize = 6;
/// Hours at which parts of a day begin and end.
const PARTS: [(&str, i64, i64); 4] =
    [("morning", 0, 12), ("afternoon", 12, 18), ("evening", 18, 24), ("night", 18, 30)];

/// A span of time by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedSpan {
    pub after: Timestamp,
    /// `None`: until now.
    pub before: Option<Timestamp>,
    /// The words for it.
    pub words: String,
}

impl NamedSpan {
    pub fn holds(&self, at: Timestamp) -> bool {
        at >= self.after && self.before.is_none_or(|before| at < before)
    }

    /// Whether at least a part of the day lies in the span.
    pub fn has_day(&self, day: Date, zone: &TimeZone) -> bool {
        let begins = |day: Date| day.to_zoned(zone.clone()).ok().map(|at| at.timestamp());
        let (from, to) = (begins(day), day.tomorrow().ok().and_then(begins));
        to.is_some_and(|to| to > self.after) && self.before.is_none_or(|before| from.is_some_and(|from| from < before))
    }

    fn overlaps(&self, other: &Self) -> bool {
        let ends_after = |one: &Self, begin: Timestamp| one.before.is_none_or(|before| before > begin);
        ends_after(self, other.after) && ends_after(other, self.after)
    }
}

/// Whether the last words name a span.
pub fn names_one(text: &str) -> bool {
    at_the_end(text, Timestamp::UNIX_EPOCH, &TimeZone::UTC).is_some()
}

/// A text without a span at its end, and that span.
pub fn apart(text: &str, now: Timestamp, zone: &TimeZone) -> (String, Option<NamedSpan>) {
    match at_the_end(text, now, zone) {
        Some((rest, span)) => (rest, Some(span)),
        None => (text.to_owned(), None),
    }
}

/// The dates and months that a text of that time names, as spans.
fn dated(text: &str, at: Timestamp, zone: &TimeZone) -> Vec<NamedSpan> {
    let said = Utterance::read(text);
    let of_calendar = |word: usize| {
        let word = said.word(word);
        month_of(word).is_some() || day_of(word).is_some() || word.len() == 10 && word.parse::<Date>().is_ok()
    };
    let ends = (0..said.len()).filter(|end| of_calendar(*end) || said.word(*end).len() == 4);
    ends.filter_map(|end| {
        let from = end.saturating_sub(WORDS - 1);
        let (rest, span) = at_the_end(said.span(from, end + 1), at, zone)?;
        let of_calendar = (from + rest.split_whitespace().count()..=end).any(of_calendar);
        of_calendar.then_some(span)
    })
    .collect()
}

/// Whether words told at that time are about a span: they name a day, date or month in it; or they name none and were told in it.
pub fn is_of(span: &NamedSpan, text: &str, at: Option<Timestamp>, zone: &TimeZone) -> bool {
    let Some(at) = at else { return false };
    let (days, dated) = (days::named(text, at, zone), dated(text, at, zone));
    let told = at.to_zoned(zone.clone()).date();
    let said = Utterance::read(text);
    // "On Monday" is the last Monday or the next.
    let weekdays = (0..said.len()).filter_map(|place| weekday(said.word(place))).flat_map(|day| {
        let (back, ahead) = (told.weekday().since(day), told.weekday().until(day));
        [told.checked_sub(i64::from(back).days()).ok(), told.checked_add(i64::from(ahead).days()).ok()]
    });
    let mut named = days.iter().map(|(_, day)| *day).chain(weekdays.flatten());
    let speaks_of_it = named.any(|day| span.has_day(day, zone)) || dated.iter().any(|one| one.overlaps(span));
    let of_another = !dated.is_empty() || days.iter().any(|(_, day)| *day < told);
    speaks_of_it || span.holds(at) && !of_another
}

/// The span at the end of a text, and the words before it.
pub fn at_the_end(text: &str, now: Timestamp, zone: &TimeZone) -> Option<(String, NamedSpan)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let now = now.to_zoned(zone.clone());
    let from = words.len().saturating_sub(WORDS);
    (from..words.len()).find_map(|cut| {
        let plain = |word: &&str| word.to_lowercase().trim_matches(|c: char| ",.;:!?".contains(c)).to_owned();
        let phrase: Vec<String> = words[cut..].iter().map(plain).collect();
        let phrase: Vec<&str> = phrase.iter().map(String::as_str).collect();
        let (after, before) = span(&phrase, &now)?;
        let said = words[cut..].join(" ");
        let named = NamedSpan {
            after: after.timestamp(),
            before: before.map(|at| at.timestamp()),
            words: said.trim_end_matches(|c: char| ",.;:!?".contains(c)).to_owned(),
        };
        Some((words[..cut].join(" ").trim_end_matches(',').to_owned(), named))
    })
}

fn span(phrase: &[&str], now: &Zoned) -> Option<(Zoned, Option<Zoned>)> {
    let day = |back: i64| now.checked_sub(back.days()).ok()?.start_of_day().ok();
    let hours = |from: &Zoned, hours: i64| from.checked_add(hours.hours()).ok();
    let part = |of: Zoned, name: &str| {
        let (_, begins, ends) = PARTS.iter().find(|(part, ..)| *part == name)?;
        Some((hours(&of, *begins)?, hours(&of, *ends)))
    };
    match phrase {
        ["today" | "tonight"] | ["so", "far", "today"] => Some((day(0)?, None)),
        ["this", name @ ("morning" | "afternoon" | "evening")] => part(day(0)?, name),
        ["yesterday"] => Some((day(1)?, day(0))),
        ["yesterday", name] => part(day(1)?, name),
        ["last", "night"] => part(day(1)?, "night"),
        ["just", "now"] => Some((now.checked_sub(10.minutes()).ok()?, None)),
        ["this", "week"] => Some((day(i64::from(now.weekday().to_monday_zero_offset()))?, None)),
        ["the", "day", "before", "yesterday"] | ["day", "before", "yesterday"] => Some((day(2)?, day(1))),
        [which @ ("this" | "last"), unit @ ("month" | "year")] => {
            let year = *unit == "year";
            let first = if year { now.first_of_year() } else { now.first_of_month() }.ok()?.start_of_day().ok()?;
            let back = if year { 1.year() } else { 1.month() };
            match *which {
                "this" => Some((first, None)),
                _ => Some((first.checked_sub(back).ok()?, Some(first))),
            }
        }
        ["in" | "during", year] if let Some(year) = whole_year(year) => {
            let begins = Date::new(year, 1, 1).ok()?.to_zoned(now.time_zone().clone()).ok()?;
            let ends = begins.checked_add(1.year()).ok();
            Some((begins, ends))
        }
        ["last", "week"] => {
            let monday = i64::from(now.weekday().to_monday_zero_offset());
            Some((day(monday + 7)?, day(monday)))
        }
        ["on", rest @ ..] | rest if let Some(date) = date(rest, now) => {
            let begins = date.to_zoned(now.time_zone().clone()).ok()?;
            let ends = begins.checked_add(1.day()).ok();
            Some((begins, ends))
        }
        ["in" | "during", name, rest @ ..] if let Some(month) = month_of(name) => {
            let year = year(rest, now, (month, 1))?;
            let begins = Date::new(year, month, 1).ok()?.to_zoned(now.time_zone().clone()).ok()?;
            let ends = begins.checked_add(1.month()).ok();
            Some((begins, ends))
        }
        ["since", rest @ ..] => Some((span(rest, now)?.0, None)),
        ["in" | "within" | "during" | "over" | "for", rest @ ..] => span(rest, now),
        ["the", "last" | "past", rest @ ..] | ["last" | "past", rest @ ..] if !rest.is_empty() => match rest {
            [unit] if weekday(unit).is_none() => Some((ago(now, 1.0, unit)?, None)),
            [many, unit] => Some((ago(now, count(many)?, unit)?, None)),
            [day] => on(now, day),
            _ => None,
        },
        ["on", name] => on(now, name),
        [many, unit, "ago"] => {
            let many = count(many)?;
            Some((ago(now, many * ABOUT[0], unit)?, ago(now, many * ABOUT[1], unit)))
        }
        _ => None,
    }
}

/// "2026-07-01", "1 July", "July 1st 2026". Without a year: the last such day that has begun.
fn date(words: &[&str], now: &Zoned) -> Option<Date> {
    if let [iso] = words {
        return iso.parse().ok();
    }
    let words: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "the" | "of")).collect();
    let (month, day, rest) = match words.as_slice() {
        [first, second, rest @ ..] if let (Some(month), Some(day)) = (month_of(first), day_of(second)) => {
            (month, day, rest)
        }
        [first, second, rest @ ..] => (month_of(second)?, day_of(first)?, rest),
        _ => return None,
    };
    Date::new(year(rest, now, (month, day))?, month, day).ok()
}

/// The given year, or the last in which that month and day have begun.
fn year(said: &[&str], now: &Zoned, day: (i8, i8)) -> Option<i16> {
    match said {
        [] => Some(now.year() - i16::from(day > (now.month(), now.day()))),
        [year] => whole_year(year),
        _ => None,
    }
}

/// "2025": a plausible year.
fn whole_year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..2100).contains(year))
}

/// The last such day that is over.
fn on(now: &Zoned, name: &str) -> Option<(Zoned, Option<Zoned>)> {
    let back = i64::from(now.weekday().since(weekday(name)?));
    let back: Span = if back == 0 { 7.days() } else { back.days() };
    let begins = now.checked_sub(back).ok()?.start_of_day().ok()?;
    let ends = begins.checked_add(1.day()).ok();
    Some((begins, ends))
}

pub fn weekday(name: &str) -> Option<Weekday> {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let at = names.iter().position(|known| *known == name)?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

fn count(word: &str) -> Option<f64> {
    match word {
        "a" | "an" | "one" => Some(1.0),
        "few" | "some" => Some(5.0),
        "couple" => Some(2.0),
        _ => lexicon::number(word)?.as_f64().filter(|many| *many > 0.0),
    }
}

fn ago(now: &Zoned, many: f64, unit: &str) -> Option<Zoned> {
    let seconds = match unit.strip_suffix('s').unwrap_or(unit) {
        "second" | "sec" => 1.0,
        "minute" | "min" => 60.0,
        "hour" => 3_600.0,
        "day" => 86_400.0,
        "week" => 604_800.0,
        "month" => 2_629_800.0,
        "year" => 31_557_600.0,
        _ => return None,
    };
    now.checked_sub(SignedDuration::try_from_secs_f64(many * seconds).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_off_the_end() {
        let now: Timestamp = "2026-01-14T15:30:00Z".parse().expect("a Wednesday");
        let read = |text: &str| {
            let (rest, named) = at_the_end(text, now, &TimeZone::UTC)?;
            Some((rest, named.after.to_string(), named.before.map(|at| at.to_string())))
        };
        let some = |rest: &str, after: &str, before: Option<&str>| {
            Some((rest.to_owned(), format!("2026-01-{after}Z"), before.map(|at| format!("2026-01-{at}Z"))))
        };
        for (text, meant) in [
            ("today?", some("", "14T00:00:00", None)),
            ("delete any files yesterday?", some("delete any files", "13T00:00:00", Some("14T00:00:00"))),
            ("write, this morning", some("write", "14T00:00:00", Some("14T12:00:00"))),
            ("last night", some("", "13T18:00:00", Some("14T06:00:00"))),
            ("five minutes ago", some("", "14T15:22:30", Some("14T15:27:30"))),
            ("an hour ago", some("", "14T14:00:00", Some("14T15:00:00"))),
            ("fail in the last two hours", some("fail", "14T13:30:00", None)),
            ("the past hour", some("", "14T14:30:00", None)),
            ("on Monday", some("", "12T00:00:00", Some("13T00:00:00"))),
            ("last wednesday", some("", "07T00:00:00", Some("08T00:00:00"))),
            ("since yesterday", some("", "13T00:00:00", None)),
            ("this week", some("", "12T00:00:00", None)),
            ("last week", some("", "05T00:00:00", Some("12T00:00:00"))),
            ("write the last line", None),
            ("the key", None),
            ("", None),
        ] {
            assert_eq!(read(text), meant, "{text}");
        }
    }

    #[test]
    fn dates_and_months_are_spans() {
        let now: Timestamp = "2026-01-14T15:30:00Z".parse().expect("a Wednesday");
        let read = |text: &str| {
            let (rest, named) = at_the_end(text, now, &TimeZone::UTC)?;
            let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date().to_string();
            Some((rest, day(named.after), named.before.map(day)))
        };
        for (text, from, to) in [
            ("do on 2025-07-01", "2025-07-01", "2025-07-02"),
            ("do on 1 July 2025", "2025-07-01", "2025-07-02"),
            ("do on July 1st?", "2025-07-01", "2025-07-02"),
            ("do on the 3rd of January", "2026-01-03", "2026-01-04"),
            ("do in October", "2025-10-01", "2025-11-01"),
            ("do in January 2024", "2024-01-01", "2024-02-01"),
            ("do 1 July 2025?", "2025-07-01", "2025-07-02"),
            ("do last month", "2025-12-01", "2026-01-01"),
            ("do last year", "2025-01-01", "2026-01-01"),
            ("do in 2024", "2024-01-01", "2025-01-01"),
            ("do the day before yesterday", "2026-01-12", "2026-01-13"),
        ] {
            assert_eq!(read(text), Some(("do".into(), from.into(), Some(to.into()))), "{text}");
        }
        for text in ["do on the table", "do in the drawer", "do on 45 July", "do in 1234"] {
            assert_eq!(read(text), None, "{text}");
        }
        let (_, named) = at_the_end("do in October?", now, &TimeZone::UTC).expect("a span");
        assert_eq!(named.words, "in October", "as it was said");
    }

    #[test]
    fn what_names_no_day_is_of_when_it_was_told() {
        let now: Timestamp = "2026-01-14T15:30:00Z".parse().expect("a Wednesday");
        let (_, yesterday) = at_the_end("yesterday", now, &TimeZone::UTC).expect("a span");
        let (_, october) = at_the_end("in October", now, &TimeZone::UTC).expect("a span");
        let is_of = |span: &NamedSpan, text: &str, at: &str| is_of(span, text, at.parse().ok(), &TimeZone::UTC);
        assert!(is_of(&yesterday, "the boiler broke", "2026-01-13T10:00:00Z"));
        assert!(is_of(&yesterday, "the boiler broke yesterday", "2026-01-14T10:00:00Z"));
        assert!(is_of(&yesterday, "the vet comes tomorrow", "2026-01-13T10:00:00Z"), "it was told then");
        assert!(!is_of(&yesterday, "the boiler broke yesterday", "2026-01-13T10:00:00Z"));
        assert!(!is_of(&yesterday, "the boiler broke", "2026-01-14T10:00:00Z"));
        assert!(is_of(&october, "the pressure in October was 2 bar", "2026-01-14T10:00:00Z"));
        assert!(is_of(&october, "on 3 October 2025 the pump was new", "2026-01-14T10:00:00Z"));
        assert!(!is_of(&october, "the pressure in November was 2 bar", "2025-10-14T10:00:00Z"));
    }
}
