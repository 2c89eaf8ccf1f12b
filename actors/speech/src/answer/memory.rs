//! Answers from recalled episodes and from predictions.

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use maxim_bus::units::{Confidence, Valence, Value};
use rust_stemmers::{Algorithm, Stemmer};

use super::evidence::{Evidence, Origin, STRANGER, cited, on_date};
use crate::question::content;
use crate::question::wanted::Wanted;
use crate::talk::corrections;
use crate::time::spans;
use crate::word::inflection;
use crate::word::lexicon::{self, terms};
use crate::word::tokens::asks;
use crate::word_list::word_lists;
use maxim_language as language;

word_lists! {
    "abbreviations.txt";
    SHORT = "abbreviations";
}

/// Share of the question's content words that an answer must hold. Below it, a sentence is only called the nearest thing
/// known.
pub(crate) const ANSWERS: f64 = 0.6;

/// Share below which a sentence isn't even near.
const NEAREST: f64 = 0.3;
/// The most that a sentence about another time or another subject covers.
const OTHER: f64 = 0.5;

/// How soon after a sentence its continuation comes.
const GOES_ON: SignedDuration = SignedDuration::from_mins(2);

/// The beginning of a reply that doesn't answer.
pub const UNKNOWN: &str = "I don't know";

/// A worded answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    /// Places of the evidence that the answer rests on.
    pub rests_on: Vec<usize>,
    /// Whether the question was answered; false for "I don't know".
    pub known: bool,
}

struct Sentence<'e> {
    place: usize,
    evidence: &'e Evidence,
    text: &'e str,
    /// Share of the question's words that the sentence holds, 0 to 1.
    covers: f64,
    /// Number of words that follow each other in both. It tells who did it to whom, and which number belongs to what.
    together: usize,
}

/// The best sentence of the evidence with its source and date, and the earlier one if it was different. Or: it isn't
/// known. `asker`: the person who asks; that person's own words are "you told me".
pub fn recalled(wanted: &Wanted, evidence: &[Evidence], asker: Option<&str>, zone: &TimeZone) -> Reply {
    let (topic, words) = (wanted.topic.as_str(), wanted.words.as_slice());
    let mut found = sentences(wanted, evidence, zone);
    // Only its owner knows a person's own name.
    if ["my", "mine", "i", "me"].iter().any(|own| topic.split_whitespace().any(|word| word.eq_ignore_ascii_case(own))) {
        found.retain(|one| !one.evidence.is_strangers());
    }
    let unknown = || Reply { text: format!("{UNKNOWN}{}.", about(topic)), rests_on: vec![], known: false };
    let Some(best) = found.first() else { return unknown() };
    let statement = cited(best.evidence, best.text, asker, zone);
    if best.covers < ANSWERS {
        if best.covers < NEAREST || matches!(best.evidence.origin, Origin::Did { .. }) {
            return unknown();
        }
        let text = format!("{UNKNOWN}{}. The nearest that I remember: {statement}", about(topic));
        return Reply { text, rests_on: vec![best.place], known: false };
    }
    let mut reply = Reply { text: statement, rests_on: vec![best.place], known: true };
    if let Some((place, revised)) = revised(words, best, evidence) {
        let now = cited(revised, &revised.text, asker, zone);
        reply.text = format!("{now} Before that: {}", reply.text);
        reply.rests_on.insert(0, place);
        return reply;
    }
    if let Some((place, next)) = gone_on(best, evidence) {
        reply.text = format!("{} Right after that: “{}”", reply.text, next.text.trim());
        reply.rests_on.push(place);
    }
    let same = |other: &&Sentence| {
        other.covers == best.covers && other.together == best.together && !is_alike(other.text, best.text)
    };
    if let Some(other) = found.iter().skip(1).find(same) {
        if other.evidence.is_hearsay() && !best.evidence.is_hearsay() {
            let date = on_date(other.evidence.at, zone);
            let said = other.text.trim().trim_end_matches(['.', '!']);
            let who = match other.evidence.origin {
                Origin::Heard => "I heard otherwise".to_owned(),
                _ => format!("{STRANGER} says otherwise"),
            };
            reply.text = format!("{} {who}{date}: “{said}.”", reply.text);
            reply.rests_on.push(other.place);
            return reply;
        }
        let is_before = other.evidence.at < best.evidence.at && other.evidence.at.is_some();
        // Nothing changed about another subject.
        let is_changed = corrections::is_of_same(best.text, other.text)
            || is_before && corrections::revises(best.text, other.text, false);
        let lead = if is_before && is_changed { "Before that: " } else { "Also: " };
        reply.text = format!("{} {lead}{}", reply.text, cited(other.evidence, other.text, asker, zone));
        reply.rests_on.push(other.place);
    }
    reply
}

/// The last correction of the best evidence: by the same person, right after it or about the same subject.
fn revised<'e>(words: &[String], best: &Sentence, evidence: &'e [Evidence]) -> Option<(usize, &'e Evidence)> {
    let Origin::Told { person } = &best.evidence.origin else { return None };
    let is_later = |one: &Evidence| {
        matches!(&one.origin, Origin::Told { person: other } if other == person) && one.at > best.evidence.at
    };
    let mut later: Vec<_> = evidence.iter().enumerate().filter(|(_, one)| is_later(one)).collect();
    later.sort_by_key(|(_, one)| one.at);
    let (mut next, mut found) = (true, None);
    for (place, one) in later {
        // A change of something that isn't asked for is another matter.
        let is_asked = corrections::put_right(&one.text).is_some() || coverage(words, &one.text) > 0.0;
        let is_revision = is_asked && corrections::revises(&one.text, best.text, next);
        next &= is_revision;
        found = if is_revision { Some((place, one)) } else { found };
    }
    found
}

/// The same person's next words, where they point at the same by a pronoun alone.
fn gone_on<'e>(best: &Sentence, evidence: &'e [Evidence]) -> Option<(usize, &'e Evidence)> {
    let told = best.evidence.at?;
    let is_later = |one: &Evidence| one.origin == best.evidence.origin && one.at.is_some_and(|at| at > told);
    let later = evidence.iter().enumerate().filter(|(_, one)| is_later(one));
    let (place, next) = later.min_by_key(|(_, one)| one.at)?;
    let is_near = next.at.is_some_and(|at| at.duration_since(told) <= GOES_ON);
    (is_near && matches!(next.origin, Origin::Told { .. }) && corrections::goes_on(&next.text)).then_some((place, next))
}

/// The evidence that answers a question of these words best.
pub fn best<'e>(wanted: &Wanted, evidence: &'e [Evidence], zone: &TimeZone) -> Option<&'e Evidence> {
    let found = sentences(wanted, evidence, zone);
    found.first().filter(|best| best.covers >= ANSWERS).map(|best| best.evidence)
}

/// Whether a text bears on a topic.
pub fn bears_on(topic: &str, text: &str) -> bool {
    let words = terms(topic);
    words.is_empty() || coverage(&words, text) >= ANSWERS
}

/// Whether a text holds all words of a topic.
pub fn covers_all(topic: &str, text: &str) -> bool {
    let words = terms(topic);
    words.is_empty() || coverage(&words, text) >= 1.0
}

/// Whether two texts say the same.
pub fn is_alike(a: &str, b: &str) -> bool {
    terms(a) == terms(b)
}

/// A prediction for an action, from experience.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    pub tool: String,
    pub value: Value,
    pub confidence: Confidence,
    /// The number of outcomes that it was learned from.
    pub outcomes: usize,
    /// The usual outcome.
    pub usual: Option<String>,
}

/// A prediction with its grounds, or that it isn't known. Nothing is done.
pub fn expected(topic: &str, expectation: Option<&Expectation>) -> String {
    let Some(known) = expectation.filter(|known| known.outcomes > 0) else {
        return format!("I don't know what would happen{}: I have no experience with it. I did nothing.", about(topic));
    };
    let end = match Valence::of(known.value) {
        Valence::Positive => "that it goes well",
        Valence::Negative => "that it goes badly",
        Valence::Neutral => "nothing definite",
    };
    let usual = known
        .usual
        .as_ref()
        .map(|usual| format!(" Usually: {}.", usual.trim().trim_end_matches('.')))
        .unwrap_or_default();
    let times = if known.outcomes == 1 { "1 outcome".to_owned() } else { format!("{} outcomes", known.outcomes) };
    format!(
        "From {times} of {} I expect {end} (value {:.2}, confidence {:.2}).{usual} I did nothing.",
        known.tool,
        known.value.get(),
        known.confidence.get()
    )
}

pub(crate) fn about(topic: &str) -> String {
    if topic.is_empty() { String::new() } else { format!(" (about “{topic}”)") }
}

/// The sentences that hold any of the words: first those that cover most, then the newest. If a day or span is
/// asked for, only a sentence about it covers most of the question, and only one that holds all needed words.
fn sentences<'e>(wanted: &Wanted, evidence: &'e [Evidence], zone: &TimeZone) -> Vec<Sentence<'e>> {
    let (words, mut found) = (wanted.words.as_slice(), Vec::new());
    for (place, one) in evidence.iter().enumerate() {
        for text in split(&one.text) {
            // An earlier question is no answer.
            if asks(text) {
                continue;
            }
            let whole = format!("{text} {}", content::beside(text, one.at, zone));
            let is_of_day = words.iter().filter(|word| content::is_date(word)).all(|day| whole.contains(day.as_str()));
            let covers = coverage(words, &whole);
            let is_of_span = wanted.span.as_ref().is_none_or(|span| spans::is_of(span, text, one.at, zone));
            let is_of_another = !is_of_day || !is_of_span || numbers_another(words, text);
            let lacks = wanted.needs.iter().any(|word| coverage(std::slice::from_ref(word), &whole) < 1.0);
            let covers = if is_of_another || lacks { covers.min(OTHER) } else { covers };
            if covers > 0.0 {
                let together = together(words, text);
                found.push(Sentence { place, evidence: one, text: without_order(text), covers, together });
            }
        }
    }
    // Nobody vouches for the words of a stranger or of a sense.
    let hearsay = |one: &Sentence| one.evidence.is_hearsay();
    found.sort_by(|a, b| {
        let answers = (b.covers >= ANSWERS).cmp(&(a.covers >= ANSWERS));
        answers
            .then(hearsay(a).cmp(&hearsay(b)))
            .then(b.covers.total_cmp(&a.covers))
            .then(b.together.cmp(&a.together))
            .then(b.evidence.at.cmp(&a.evidence.at))
            .then(b.evidence.score.total_cmp(&a.evidence.score))
    });
    found
}

/// Sentences end at a mark before white space, or at the end of a line. A dot inside a number or name doesn't count.
pub fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        let closes = ".!?".contains(c) && chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = c == '\n'
            || matches!(c, '。' | '！' | '？' | '؟')
            || (closes && !(c == '.' && is_shortened(&text[start..at])));
        if ends {
            parts.push(text[start..after].trim());
            start = after;
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether the dot belongs to the last word: a title, an initial, or another abbreviation.
fn is_shortened(text: &str) -> bool {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_initial = last.chars().count() == 1 && last.chars().all(|c| c.is_uppercase() && c != 'I');
    is_initial || SHORT.contains(&last.to_lowercase().as_str())
}

/// The fact in "remember that the key is in the drawer".
fn without_order(sentence: &str) -> &str {
    let lower = sentence.to_ascii_lowercase();
    let orders = [
        "please remember that ",
        "remember that ",
        "note that ",
        "don't forget that ",
        "keep in mind that ",
        "remember: ",
        "remember ",
    ];
    let cut = orders.iter().find(|order| lower.starts_with(**order)).map_or(0, |order| order.len());
    &sentence[cut..]
}

pub(crate) fn coverage(words: &[String], text: &str) -> f64 {
    let (asked, held) = (stems(words), stems(&terms(text)));
    if asked.is_empty() {
        return 0.0;
    }
    let hits = asked.iter().filter(|stem| held.contains(stem)).count();
    hits as f64 / asked.len() as f64
}

fn stems(words: &[String]) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let pieces = words.iter().flat_map(|word| lexicon::pieces(word));
    pieces.map(|piece| stemmer.stem(&spelt(inflection::base(&piece))).into_owned()).collect()
}

/// The number of words that follow each other in the question and in the sentence.
fn together(words: &[String], text: &str) -> usize {
    let (asked, held) = (stems(words), stems(&terms(text)));
    asked.windows(2).filter(|pair| held.windows(2).any(|other| other == *pair)).count()
}

/// Whether the sentence is about another number of a series: "hall 5" for "hall 4".
fn numbers_another(words: &[String], text: &str) -> bool {
    let is_number = |word: &str| word.bytes().all(|c| c.is_ascii_digit());
    let said: Vec<String> = language::words(text).into_iter().map(|word| word.text).collect();
    let numbers_of = |what: &str| {
        let pairs = said.windows(2).filter(|pair| pair[0] == what && is_number(&pair[1]));
        pairs.map(|pair| pair[1].clone()).collect::<Vec<_>>()
    };
    words.windows(2).filter(|pair| !is_number(&pair[0]) && is_number(&pair[1])).any(|pair| {
        let said = numbers_of(&pair[0]);
        !said.is_empty() && !said.contains(&pair[1])
    })
}

/// One spelling for words with two: "color" for "colour", "organize" for "organise".
fn spelt(word: &str) -> String {
    const ENDS: [(&str, &str); 8] = [
        ("our", "or"),
        ("ours", "ors"),
        ("ourite", "orite"),
        ("ise", "ize"),
        ("ised", "ized"),
        ("tre", "ter"),
        ("ogue", "og"),
        ("grey", "gray"),
    ];
    let end = ENDS.iter().rfind(|(end, _)| word.len() > end.len() + 1 && word.ends_with(end) || word == *end);
    end.map_or_else(|| word.to_owned(), |(end, other)| format!("{}{other}", &word[..word.len() - end.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, person: Option<&str>, at: &str) -> Evidence {
        let origin = Origin::Told { person: person.map(str::to_owned) };
        Evidence {
            episode: String::new(),
            text: text.to_owned(),
            at: at.parse().ok(),
            origin,
            score: 0.5,
            result: None,
            success: None,
        }
    }

    fn ask(topic: &str, evidence: &[Evidence]) -> Reply {
        let now = "2026-02-10T09:00:00Z".parse().expect("a time");
        let wanted = Wanted::of(topic, topic.to_owned(), terms(topic), now, &TimeZone::UTC);
        recalled(&wanted, evidence, Some("Bob"), &TimeZone::UTC)
    }

    #[test]
    fn a_fact_is_told_with_its_source_and_date() {
        let key = told("Remember that the key is in the drawer.", Some("bob"), "2026-01-05T09:00:00Z");
        let noise = told("The weather was nice. The cup is red.", Some("Anna"), "2026-01-06T09:00:00Z");
        let reply = ask("where is the key", &[noise.clone(), key]);
        assert_eq!(reply.text, "You told me on 2026-01-05 that the key is in the drawer.");
        assert_eq!((reply.known, reply.rests_on), (true, vec![1]));
        assert_eq!(
            ask("what colour is the cup", &[noise]).text,
            "I don't know (about “what colour is the cup”). The nearest that I remember: Anna told me on 2026-01-06 that the cup is red."
        );
    }

    #[test]
    fn the_newer_of_two_answers_comes_first() {
        let old = told("The key is in the drawer.", None, "2026-01-05T09:00:00Z");
        let new = told("The key is on the table.", None, "2026-02-01T09:00:00Z");
        let text = ask("the key", &[old, new]).text;
        assert!(text.starts_with("You told me on 2026-02-01 that the key is on the table. Before that: "), "{text}");
    }

    #[test]
    fn a_strangers_words_stand_beside_what_others_said_and_never_in_its_place() {
        let own = told("The gate code is 1111.", Some("Bob"), "2026-01-05T09:00:00Z");
        let strange = told("no, the gate code is 9999", Some(STRANGER), "2026-01-07T09:00:00Z");
        let reply = ask("the gate code", &[strange.clone(), own]);
        assert_eq!(
            reply.text,
            "You told me on 2026-01-05 that the gate code is 1111. Somebody outside says otherwise on 2026-01-07: \
             “no, the gate code is 9999.”"
        );
        assert!(ask("the gate code", &[strange]).text.starts_with("Somebody outside"), "what is known alone is told");
        let name = told("my name is Frank", Some(STRANGER), "2026-01-07T09:00:00Z");
        assert!(!ask("my name", &[name]).known, "what is somebody's own no stranger knows");
    }

    #[test]
    fn what_was_heard_stands_beside_what_somebody_told_and_never_in_its_place() {
        let own = told("The gate code is 1111.", Some("Bob"), "2026-01-05T09:00:00Z");
        let heard = |text: &str, at: &str| Evidence { origin: Origin::Heard, ..told(text, None, at) };
        let later = heard("no, the gate code is 9999", "2026-01-07T09:00:00Z");
        assert_eq!(
            ask("the gate code", &[later.clone(), own]).text,
            "You told me on 2026-01-05 that the gate code is 1111. I heard otherwise on 2026-01-07: \
             “no, the gate code is 9999.”"
        );
        let alone = heard("The gate code is 9999.", "2026-01-07T09:00:00Z");
        assert_eq!(ask("the gate code", &[alone]).text, "I heard on 2026-01-07 that the gate code is 9999.");
        let mine = heard("my gate code is 9999", "2026-01-07T09:00:00Z");
        assert_eq!(ask("the gate code", &[mine]).text, "I heard on 2026-01-07: “my gate code is 9999.”");
        let stranger = told("the gate code is 5555", Some(STRANGER), "2026-01-08T09:00:00Z");
        assert!(!ask("the gate code", &[stranger, later]).text.contains("You told"));
    }

    #[test]
    fn numbers_and_roles_are_told_apart() {
        let at = ["2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"];
        let both = |first: &str, second: &str| [told(first, None, at[0]), told(second, None, at[1])];
        let text =
            ask("how many chairs does room 3 have", &both("Room 3 has 12 chairs.", "Room 12 has 3 chairs.")).text;
        assert!(text.contains("Room 3 has 12 chairs") && !text.contains("Room 12"), "{text}");
        let text = ask("what did Anna give Ben", &both("Anna gave Ben a book.", "Ben gave Anna a pen.")).text;
        assert!(text.starts_with("You told me on 2026-01-05 that Anna gave Ben a book."), "{text}");
        let one = told("sensor 4 measured 54 units in hall 5", None, at[0]);
        assert!(!ask("how many units did sensor 5 measure in hall 4", &[one]).known);
    }

    #[test]
    fn what_is_written_together_is_answered_too() {
        let key = told("钥匙在抽屉里", None, "2026-01-05T09:00:00Z");
        let asked = told("钥匙在哪里？", None, "2026-01-06T09:00:00Z");
        let reply = ask("钥匙在哪里？", &[asked, key]);
        assert!(reply.known && reply.text.contains("钥匙在抽屉里"), "{}", reply.text);
        let lives = told("Chloe\u{301} lives in Lyon", None, "2026-01-05T09:00:00Z");
        assert!(ask("where does Chloé live", &[lives]).known);
    }

    #[test]
    fn what_lacks_the_name_or_the_object_is_only_the_nearest() {
        let fence = told("Paul fixed the fence", None, "2026-01-05T09:00:00Z");
        let reply = ask("did Paul fix the roof?", std::slice::from_ref(&fence));
        assert!(!reply.known && reply.text.contains("The nearest"), "{}", reply.text);
        assert!(ask("did Paul fix the fence?", &[fence]).known);
        let milk = told("Jan Kowalski is allergic to milk", None, "2026-01-05T09:00:00Z");
        let nuts = told("Jan Novak is allergic to nuts", None, "2026-01-06T09:00:00Z");
        assert!(!ask("is Jan Kowalski allergic to nuts?", &[milk.clone(), nuts.clone()]).known);
        let both = ask("what is Jan allergic to?", &[milk, nuts]).text;
        assert!(both.contains("Also: ") && !both.contains("Before that"), "two of one name: {both}");
        let office = told("the wifi password of the office is hunter22", None, "2026-01-05T09:00:00Z");
        assert!(!ask("wifi password at home?", &[office]).known);
    }

    #[test]
    fn what_was_in_a_span_is_answered_by_what_is_of_it() {
        let pressure = |text: &str, at: &str| told(text, None, at);
        let all = [
            pressure("the pump pressure is 4 bar", "2026-01-05T09:00:00Z"),
            pressure("the pump pressure is 6 bar", "2026-02-05T09:00:00Z"),
        ];
        let text = ask("what was the pump pressure in January?", &all).text;
        assert!(text.contains("4 bar") && !text.contains("6 bar"), "{text}");
        let reply = ask("what was the pump pressure in October?", &all);
        assert!(!reply.known && reply.text.contains("in October"), "{}", reply.text);
        let later = pressure("the pump pressure in October was 2 bar", "2026-02-01T09:00:00Z");
        assert!(ask("what was the pump pressure in October?", &[later]).text.contains("2 bar"));
    }

    #[test]
    fn pictures_are_words_and_a_first_word_loses_its_capital() {
        let key = told("the 🔑 is under the 🪴", None, "2026-01-05T09:00:00Z");
        let hat = told("the 👒 is on the shelf", None, "2026-01-06T09:00:00Z");
        let text = ask("where is the 🔑?", &[hat, key]).text;
        assert_eq!(text, "You told me on 2026-01-05 that the 🔑 is under the 🪴.");
        let number = told("Its tracking number is 77.", None, "2026-01-05T09:00:00Z");
        assert!(ask("tracking number", &[number]).text.ends_with("that its tracking number is 77."));
    }

    #[test]
    fn words_about_oneself_are_quoted() {
        let likes = told("I like green tea.", Some("Anna"), "2026-01-05T09:00:00Z");
        assert_eq!(ask("tea", &[likes]).text, "Anna told me on 2026-01-05: “I like green tea.”");
        let said = told("anna: I like green tea.", Some("Anna"), "2026-01-05T09:00:00Z");
        assert_eq!(ask("tea", &[said]).text, "Anna told me on 2026-01-05: “I like green tea.”");
    }

    #[test]
    fn without_evidence_it_is_not_known() {
        let question = told("Where is the key?", None, "2026-01-05T09:00:00Z");
        for evidence in [vec![], vec![question], vec![told("Tea is nice.", None, "2026-01-05T09:00:00Z")]] {
            let reply = ask("the key", &evidence);
            assert_eq!(
                reply,
                Reply { text: "I don't know (about “the key”).".to_owned(), rests_on: vec![], known: false }
            );
        }
    }

    #[test]
    fn a_prediction_says_what_it_rests_on() {
        let bad = Expectation {
            tool: "bash".to_owned(),
            value: Value::clamped(0.1),
            confidence: Confidence::clamped(0.9),
            outcomes: 6,
            usual: None,
        };
        assert!(expected("ran rm", Some(&bad)).starts_with("From 6 outcomes of bash I expect that it goes badly"));
        assert!(expected("ran rm", None).contains("no experience"));
    }
}
