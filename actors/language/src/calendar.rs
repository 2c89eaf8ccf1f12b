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

/// Names of months in German, French, Spanish, Italian, Portuguese and Dutch that aren't the English ones.
const ELSEWHERE: [&[&str]; 12] = [
    &["januar", "jänner", "janvier", "enero", "gennaio", "janeiro", "januari"],
    &["februar", "feber", "février", "febrero", "febbraio", "fevereiro", "februari"],
    &["märz", "mars", "marzo", "março", "maart"],
    &["avril", "abril", "aprile"],
    &["mai", "mayo", "maggio", "maio", "mei"],
    &["juni", "juin", "junio", "giugno", "junho"],
    &["juli", "juillet", "julio", "luglio", "julho"],
    &["août", "agosto", "augustus"],
    &["septembre", "septiembre", "setiembre", "settembre", "setembro"],
    &["oktober", "octobre", "octubre", "ottobre", "outubro"],
    &["novembre", "noviembre", "novembro"],
    &["dezember", "décembre", "diciembre", "dicembre", "dezembro"],
];

/// The month, 1 to 12, by its name in one of these languages or in English.
pub fn month_anywhere(word: &str) -> Option<i8> {
    let elsewhere = || i8::try_from(ELSEWHERE.iter().position(|names| names.contains(&word))? + 1).ok();
    month_of(word).or_else(elsewhere)
}

/// A month by its whole name.
pub fn is_month(word: &str) -> bool {
    word.len() > 3 && month_anywhere(word).is_some()
}

/// The day of a month, 1 to 31: "3" or "3rd".
pub fn day_of(word: &str) -> Option<i8> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let day: i8 = bare.parse().ok()?;
    (bare.len() <= 2 && (1..=31).contains(&day)).then_some(day)
}
