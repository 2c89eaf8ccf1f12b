//! Words of dates, in lower case.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month, 1 to 12, of its name or of the first three letters of that.
pub fn month_of(word: &str) -> Option<i8> {
    let is_it = |name: &&str| *name == word || word.len() == 3 && name.starts_with(word);
    i8::try_from(MONTHS.iter().position(is_it)? + 1).ok()
}

/// The day of a month, 1 to 31: "3" or "3rd".
pub fn day_of(word: &str) -> Option<i8> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let day: i8 = bare.parse().ok()?;
    (bare.len() <= 2 && (1..=31).contains(&day)).then_some(day)
}
