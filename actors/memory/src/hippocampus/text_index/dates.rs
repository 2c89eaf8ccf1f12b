//! Dates named in a question, matched with the day on which something was told. Things are told after they happen, so
//! days after the named one count more than days before.

use jiff::ToSpan;
use jiff::civil::{Date, date};

use maxim_language::Word;
use maxim_language::calendar::{day_of, month_anywhere};

/// Days since 1970-01-01 on the body's local calendar.
pub fn day_number(day: Date) -> i32 {
    day.since(date(1970, 1, 1)).map_or(0, |span| span.get_days())
}

/// A named period, as exact as the words allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedDate {
    Day { year: Option<i16>, month: i8, day: i8 },
    Month { year: Option<i16>, month: i8 },
    Year(i16),
}

/// Days `from..=to`, and how well a day in them fits, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DayRange {
    pub from: i32,
    pub to: i32,
    pub fit: f32,
}

/// Words before "may" or "march" that make it a month; and before "mai" and "mars", which are also ordinary words.
const BEFORE_MONTH: [&str; 30] = [
    "in", "on", "of", "since", "during", "before", "after", "until", "by", "last", "next", "this", "early", "late",
    "mid", "from", "im", "en", "em", "de", "seit", "ab", "bis", "vor", "nach", "depuis", "avant", "après", "desde",
    "antes",
];

fn month_at(words: &[Word], i: usize) -> Option<i8> {
    let word = &words[i];
    let month = month_anywhere(&word.text)?;
    let doubtful =
        matches!(word.text.as_str(), "may" | "march" | "mars" | "mai" | "mar" | "jan" | "dec" | "sep" | "jun" | "jul");
    if !doubtful {
        return Some(month);
    }
    let before = i.checked_sub(1).map(|at| words[at].text.as_str());
    let after = words.get(i + 1).map(|w| w.text.as_str());
    let numbered = |w: Option<&str>| w.is_some_and(|w| day_of(w).is_some() || year_of(w).is_some());
    let may_be_small = matches!(word.text.as_str(), "mars" | "mai");
    let led = before.is_some_and(|w| BEFORE_MONTH.contains(&w)) && (word.capital || may_be_small);
    (led || numbered(before) || numbered(after)).then_some(month)
}

fn year_of(word: &str) -> Option<i16> {
    let year: i16 = word.parse().ok()?;
    (word.len() == 4 && (1900..=2199).contains(&year)).then_some(year)
}

/// All dates that the words name, in order.
pub fn named_dates(words: &[Word]) -> Vec<NamedDate> {
    let text = |i: usize| words.get(i).map_or("", |w| w.text.as_str());
    let mut found = Vec::new();
    let mut i = 0;
    while i < words.len() {
        if let (Some(year), Ok(month), Some(day)) = (year_of(text(i)), text(i + 1).parse::<i8>(), day_of(text(i + 2)))
            && (1..=12).contains(&month)
        {
            found.push(NamedDate::Day { year: Some(year), month, day });
            i += 3;
            continue;
        }
        if let Some(month) = month_at(words, i) {
            let before = match i {
                0 => None,
                _ if matches!(text(i - 1), "of" | "de") && i >= 2 => day_of(text(i - 2)),
                _ => day_of(text(i - 1)),
            };
            let after = day_of(text(i + 1));
            let mut next = i + 1 + usize::from(before.is_none() && after.is_some());
            let year = year_of(text(next));
            next += usize::from(year.is_some());
            found.push(match before.or(after) {
                Some(day) => NamedDate::Day { year, month, day },
                None => NamedDate::Month { year, month },
            });
            i = next;
            continue;
        }
        if let Some(year) = year_of(text(i)) {
            found.push(NamedDate::Year(year));
        }
        i += 1;
    }
    found
}

impl NamedDate {
    /// The matching days, in years `from..=to` if no year is named.
    pub fn ranges(self, from: i16, to: i16) -> Vec<DayRange> {
        let years = |year: Option<i16>| match year {
            Some(year) => year..=year,
            None => from..=to,
        };
        match self {
            Self::Day { year, month, day } => years(year)
                .filter_map(|year| Date::new(year, month, day).ok())
                .map(day_number)
                .flat_map(|day| {
                    [DayRange { from: day, to: day, fit: 1.0 }, DayRange { from: day - 2, to: day + 9, fit: 0.5 }]
                })
                .collect(),
            Self::Month { year, month } => years(year)
                .filter_map(|year| Date::new(year, month, 1).ok())
                .flat_map(|first| {
                    let start = day_number(first);
                    let end = first.checked_add(1.month()).map_or(start + 30, day_number) - 1;
                    [DayRange { from: start, to: end, fit: 1.0 }, DayRange { from: end + 1, to: end + 14, fit: 0.5 }]
                })
                .collect(),
            Self::Year(year) => {
                let (start, end) = (day_number(date(year, 1, 1)), day_number(date(year, 12, 31)));
                vec![DayRange { from: start, to: end, fit: 0.5 }]
            }
        }
    }
}

/// The best fit of a day, 0 if no range contains it.
pub fn fit(ranges: &[DayRange], day: i32) -> f32 {
    best_fit(ranges, (day, day))
}

/// The best possible fit of a day from the first to the last of these.
pub fn best_fit(ranges: &[DayRange], (first, last): (i32, i32)) -> f32 {
    ranges.iter().filter(|r| r.from <= last && first <= r.to).fold(0.0, |best, r| best.max(r.fit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_language::words;

    fn dates(text: &str) -> Vec<NamedDate> {
        named_dates(&words(text))
    }

    #[test]
    fn days_are_read_in_every_common_order() {
        let day = NamedDate::Day { year: Some(2023), month: 5, day: 3 };
        for text in ["on May 3, 2023", "on 3 May, 2023", "the 3rd of May 2023", "at 2023-05-03", "May 3rd 2023?"] {
            assert_eq!(dates(text), [day], "{text}");
        }
        assert_eq!(dates("on 3 June"), [NamedDate::Day { year: None, month: 6, day: 3 }]);
    }

    #[test]
    fn months_and_years_stand_alone() {
        assert_eq!(dates("in June"), [NamedDate::Month { year: None, month: 6 }]);
        assert_eq!(dates("during September 2023 in"), [NamedDate::Month { year: Some(2023), month: 9 }]);
        assert_eq!(dates("how often in 2022?"), [NamedDate::Year(2022)]);
    }

    #[test]
    fn may_and_march_are_words_too() {
        assert_eq!(dates("What may she buy on the march?"), []);
        assert_eq!(dates("May I ask"), []);
        assert_eq!(dates("what happened in May"), [NamedDate::Month { year: None, month: 5 }]);
        assert_eq!(dates("in March 2022"), [NamedDate::Month { year: Some(2022), month: 3 }]);
    }

    #[test]
    fn months_have_names_in_other_languages() {
        let march = NamedDate::Month { year: None, month: 3 };
        for text in ["Was war im März?", "qu'y avait-il en mars ?", "en marzo de", "em março", "in maart"] {
            assert_eq!(dates(text), [march], "{text}");
        }
        let day = NamedDate::Day { year: Some(2024), month: 5, day: 3 };
        for text in ["am 3. Mai 2024", "le 3 mai 2024", "el 3 de mayo 2024", "il 3 maggio 2024", "op 3 mei 2024"] {
            assert_eq!(dates(text), [day], "{text}");
        }
        assert_eq!(dates("how far is Mars, Mai asked"), []);
    }

    #[test]
    fn a_day_fits_itself_and_the_days_after_by_half() {
        let ranges = NamedDate::Day { year: Some(2023), month: 5, day: 3 }.ranges(2020, 2024);
        let of = |y, m, d| fit(&ranges, day_number(date(y, m, d)));
        assert_eq!([of(2023, 5, 3), of(2023, 5, 1), of(2023, 5, 12)], [1.0, 0.5, 0.5]);
        assert_eq!([of(2023, 4, 30), of(2023, 5, 13), of(2022, 5, 3)], [0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_month_without_year_fits_every_year_and_two_weeks_after() {
        let ranges = NamedDate::Month { year: None, month: 2 }.ranges(2023, 2024);
        let of = |y, m, d| fit(&ranges, day_number(date(y, m, d)));
        assert_eq!([of(2023, 2, 28), of(2024, 2, 29), of(2024, 3, 14), of(2024, 3, 15)], [1.0, 1.0, 0.5, 0.0]);
        assert_eq!(fit(&NamedDate::Year(2023).ranges(0, 0), day_number(date(2023, 7, 1))), 0.5);
    }
}
