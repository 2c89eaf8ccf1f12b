//! The content of a question and of a sentence besides their own words: days by their dates, and whose name is told.

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use crate::talk::courtesy;
use crate::time::days;
use crate::time::spans;
use crate::word::tokens::Utterance;

/// Stands for the speaker's own name.
pub(crate) const OWN_NAME: &str = "own-name";

/// Verbs that only lead to the subject of the question.
const LIGHT: [&str; 8] = ["called", "named", "use", "uses", "using", "happening", "happens", "going"];

/// Whether the speaker's own name is asked for.
pub fn asks_own_name(text: &str) -> bool {
    let said = Utterance::read(text);
    let holds = |phrase: &str| (0..said.len()).any(|at| said.starts(at, said.len(), phrase).is_some());
    let is_all = said.starts(courtesy::lead(&said, &[]).lo, said.len(), "who am i").is_some() && said.len() <= 5;
    is_all
        || ((holds("is my name") || holds("know my name") || holds("remember my name")) && said.len() <= 8)
        || holds("am i called")
}

/// The words of a question, with days by their dates.
pub(crate) fn asked(words: Vec<String>, text: &str, now: Timestamp, zone: &TimeZone) -> Vec<String> {
    if asks_own_name(text) {
        return vec![OWN_NAME.to_owned()];
    }
    // "What is it called", "what do we use": such verbs carry no content, unless nothing else is said.
    let is_light = |word: &String| LIGHT.contains(&word.as_str());
    let others = words.iter().any(|word| !is_light(word));
    let named = days::named(text, now, zone);
    let is_day = |word: &String| named.iter().any(|(name, _)| name.split(' ').any(|part| part == word));
    let kept = words.into_iter().filter(|word| !(is_day(word) || others && is_light(word)));
    kept.chain(named.iter().map(|(_, date)| date.to_string())).collect()
}

/// Whether a word is the date of a day.
pub(crate) fn is_date(word: &str) -> bool {
    word.len() == 10 && word.parse::<jiff::civil::Date>().is_ok()
}

/// The content of a sentence besides its words, at the time of telling. Without a named day it is about the day of telling.
pub(crate) fn beside(sentence: &str, at: Option<Timestamp>, zone: &TimeZone) -> String {
    let mut held = String::new();
    if tells_own_name(sentence) {
        held.push_str(OWN_NAME);
    }
    if tells_time(sentence) {
        held.push_str(" time");
    }
    let Some(at) = at else { return held };
    let named = days::named(sentence, at, zone);
    let today = at.to_zoned(zone.clone()).date();
    let said = Utterance::read(sentence);
    let weekday = (0..said.len()).find_map(|place| spans::weekday(said.word(place)));
    let coming = |day: Weekday| today.checked_add(jiff::Span::new().days(i64::from(today.weekday().until(day)))).ok();
    let mut hold = |day: String| {
        held.push(' ');
        held.push_str(&day);
    };
    match weekday {
        _ if !named.is_empty() => named.iter().for_each(|(_, date)| hold(days::in_words(*date))),
        Some(day) => coming(day).into_iter().for_each(|date| hold(date.to_string())),
        None => hold(today.to_string()),
    }
    held
}

/// "At 9:30", "by 5pm": an answer to "what time".
fn tells_time(sentence: &str) -> bool {
    let is_clock = |word: &str| {
        let hour = word.split(':').next().unwrap_or_default();
        let hour = hour.strip_suffix("am").or_else(|| hour.strip_suffix("pm")).unwrap_or(hour);
        let is_marked = word.contains(':') || word.ends_with("am") || word.ends_with("pm");
        is_marked && hour.parse::<u8>().is_ok_and(|hour| hour <= 24)
    };
    let lower = sentence.to_lowercase();
    lower
        .split_whitespace()
        .map(|word| word.trim_matches([',', '.', '!', ';']))
        .any(|word| is_clock(word) || matches!(word, "noon" | "midnight" | "o'clock" | "am" | "pm"))
}

/// "I'm Karen and …", "my name is Karen", "call me Karen".
fn tells_own_name(sentence: &str) -> bool {
    let said = Utterance::read(sentence);
    (0..said.len().saturating_sub(1)).any(|at| {
        let begins = at == 0
            || said.tokens[at - 1].closes.is_some()
            || ["hi", "hello", "hey", "and"].contains(&said.word(at - 1));
        let leads = ["my name is", "you can call me", "call me", "i'm", "i am", "im", "this is"];
        let length = leads.iter().find_map(|lead| said.starts(at, said.len(), lead)).filter(|_| begins);
        let Some(name) = length.map(|length| at + length).filter(|name| *name < said.len()) else { return false };
        let is_name = said.span(name, name + 1).starts_with(char::is_uppercase);
        let sure = ["my", "call", "you"].contains(&said.word(at));
        // "I'm German" and "I'm Karen" look alike. A name ends the clause; "I'm Italian food's greatest fan" goes on.
        let ends = name + 1 >= said.len() || said.tokens[name].closes.is_some() || said.word(name + 1) == "and";
        (is_name && (sure || ends)) || (sure && said.word(at) == "my" && ends)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms;

    #[test]
    fn who_tells_a_name_is_told_from_who_tells_something_else() {
        for sentence in ["Hi, I'm Karen and I live here.", "my name is Bo", "Call me Ishmael.", "hello, I am Tom."] {
            assert!(tells_own_name(sentence), "{sentence}");
        }
        for sentence in ["I'm tired.", "I'm allergic to penicillin", "I am Karen's sister Joan", "Tom said I'm late"] {
            assert!(!tells_own_name(sentence), "{sentence}");
        }
        assert!(
            asks_own_name("what's my name?") && asks_own_name("who am I") && !asks_own_name("what is my cat's name")
        );
    }

    #[test]
    fn a_day_is_the_same_by_whatever_word() {
        let now: Timestamp = "2026-11-24T10:00:00Z".parse().expect("a Tuesday");
        let question = "what do I have tomorrow?";
        let words = asked(terms(question), question, now, &TimeZone::UTC);
        assert_eq!(words, ["2026-11-25"]);
        let holds = |sentence: &str| beside(sentence, Some(now), &TimeZone::UTC).contains("2026-11-25");
        assert!(holds("The vet comes tomorrow") && holds("Dentist on Wednesday"));
        assert!(!holds("The vet comes on Friday") && !holds("I ate soup"));
        assert_eq!(asked(terms("what are my cats called"), "what are my cats called", now, &TimeZone::UTC), ["cats"]);
    }
}
