use proptest::prelude::*;
use serde::Deserialize;

use super::lexicon::{Class, Languages, languages_of};
use super::*;

const NAMES: &[&str] = &["Maxim", "Max"];

/// A line of the lists, which were written before the grammar by somebody who didn't know it.
#[derive(Deserialize)]
struct Line {
    text: String,
    lang: String,
    /// It need stop only while a body moves.
    #[serde(default)]
    moving: bool,
    /// It is a stop as it is written; no recogniser makes such marks or digits.
    #[serde(default)]
    written: bool,
}

fn lines(file: &str) -> Vec<Line> {
    file.lines().map(|line| serde_json::from_str(line).expect("a line of the list")).collect()
}

fn stops() -> Vec<Line> {
    lines(include_str!("tests/stops.jsonl"))
}

fn lookalikes() -> Vec<Line> {
    lines(include_str!("tests/lookalikes.jsonl"))
}

fn grammar() -> StopGrammar {
    StopGrammar::new(NAMES, &[] as &[&str])
}

#[test]
fn every_stop_of_the_list_stops() {
    let (grammar, all) = (grammar(), stops());
    let languages: std::collections::BTreeSet<&str> = all.iter().map(|line| line.lang.as_str()).collect();
    assert!(all.len() >= 400 && languages.len() >= 20, "{} in {languages:?}", all.len());
    let missed = |moving: bool| {
        let missed = all.iter().filter(|line| (moving || !line.moving) && !grammar.matches(&line.text, moving));
        missed.map(|line| format!("{}: {:?}", line.lang, line.text)).collect::<Vec<_>>()
    };
    assert!(missed(false).is_empty(), "while nothing moves: {:#?}", missed(false));
    assert!(missed(true).is_empty(), "while a body moves: {:#?}", missed(true));
}

#[test]
fn of_what_only_looks_like_a_stop_one_in_a_hundred_stops_at_most() {
    let (grammar, all) = (grammar(), lookalikes());
    assert!(all.len() >= 400, "{}", all.len());
    let taken = |moving: bool| {
        let taken = all.iter().filter(|line| grammar.matches(&line.text, moving));
        taken.map(|line| format!("{}: {:?}", line.lang, line.text)).collect::<Vec<_>>()
    };
    let (still, moving) = (taken(false), taken(true));
    println!(
        "taken for a stop: {} of {} while nothing moves, {} while a body moves",
        still.len(),
        all.len(),
        moving.len()
    );
    still.iter().for_each(|line| println!("  while nothing moves, {line}"));
    moving.iter().for_each(|line| println!("  while a body moves, {line}"));
    assert!(still.len() * 100 <= all.len(), "{still:#?}");
    assert!(moving.len() * 20 <= all.len(), "one in twenty at most: {moving:#?}");
}

/// As speech to text hands it in: lower case, and no marks.
fn transcribed(text: &str) -> String {
    let plain = text.to_lowercase().replace(|c: char| ",.!?;:…\"*()¡¿！。、，0123456789".contains(c), " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every text with one letter of a word missing, doubled, exchanged with the next or taken for another, where the word has as many
/// letters as a command that may have one wrong.
fn near_misses(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let letters: Vec<char> = word.chars().collect();
        // A letter that is held counts once, and no recogniser writes it so.
        let distinct = letters.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1;
        let is_held = letters.windows(3).any(|run| run[0] == run[1] && run[1] == run[2]);
        if distinct < 4 || is_held || letters.iter().any(|c| !c.is_alphabetic()) {
            continue;
        }
        let mut with = |changed: Vec<char>| {
            let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            all[at] = changed.into_iter().collect();
            out.push(all.join(" "));
        };
        for place in 0..letters.len() {
            let mut without = letters.clone();
            without.remove(place);
            with(without);
            for other in heard_for(letters[place]).chars() {
                let mut changed = letters.clone();
                changed[place] = other;
                with(changed);
            }
            if place + 1 < letters.len() {
                let mut exchanged = letters.clone();
                exchanged.swap(place, place + 1);
                with(exchanged);
            }
        }
    }
    out
}

/// What a recogniser takes a letter for.
fn heard_for(letter: char) -> &'static str {
    match letter {
        'p' => "bt",
        'b' => "p",
        't' => "dp",
        'd' => "t",
        'k' | 'c' => "g",
        'g' => "k",
        's' => "z",
        'z' => "s",
        'f' => "v",
        'v' => "f",
        'm' => "n",
        'n' => "m",
        'o' => "au",
        'a' => "eo",
        'e' => "ia",
        'i' => "e",
        'u' => "o",
        _ => "",
    }
}

#[test]
fn what_a_recogniser_makes_of_a_stop_stops_a_moving_body() {
    let (grammar, mut all, mut missed) = (grammar(), 0, Vec::new());
    for line in stops().into_iter().filter(|line| !line.moving && !line.written) {
        let said = transcribed(&line.text);
        assert!(grammar.matches(&said, false), "without marks, in small letters: {said:?}");
        for near in near_misses(&said) {
            all += 1;
            if !grammar.matches(&near, true) {
                missed.push(format!("{} {said:?} as {near:?}", line.lang));
            }
        }
    }
    println!("{} of {all} near misses stop nothing: {:#?}", missed.len(), missed.iter().take(200).collect::<Vec<_>>());
    assert!(all > 5_000 && missed.len() * 1_000 <= all * 5, "{} of {all} are missed", missed.len());
}

#[test]
fn talk_about_stopping_stops_no_moving_body() {
    let grammar = grammar();
    for text in [
        "don't stop",
        "please don't stop",
        "never stop",
        "he said stop",
        "bus stop",
        "the next stop",
        "when does the bus stop?",
        "why did you stop?",
        "stop sign",
        "unstoppable",
        "how do I stop a container?",
        "nicht anhalten",
        "bitte nicht aufhören",
        "n'arrête pas",
        "no pares",
        "non ti fermare",
        "не останавливайся",
        "止まらないで",
        "不要停",
        "멈추지 마",
        "لا تتوقف",
        "go on",
        "look left",
        "the key is in the drawer",
        "what is the weather like today",
        "",
    ] {
        assert!(!grammar.matches(text, true), "{text:?}");
    }
    let long = "stop word ".repeat(40);
    assert!(!grammar.matches(&long, true), "an utterance of many words is no shout");
}

#[test]
fn commands_to_stop_are_seen_in_any_dress() {
    for text in [
        "stop",
        "STOP!!!",
        "stop stop stop",
        "s t o p",
        "S.T.O.P.",
        "s-t-o-p now",
        "stooooop",
        "sttoopp",
        "ＳＴＯＰ",
        "¡stop!",
        "🛑 stop 🛑",
        "E STOP",
        "Emergency-stop!",
        "Hey Maxim, please stop moving now, please",
        "stopstopstop",
        "stop\nstop",
        "s\u{200b}t\u{200b}op",
        "STOP\u{202c}",
        "s t o o o p",
        "please, max, freeze",
        "stop it now please Maxim",
        "s t o p n o w",
        "s t o p p l e a s e",
        "stop fucking moving",
        "stop, bitte, stop!",
        "stop subito",
        "robotstop",
        "robot robot robot stop",
        "No! Stop! No!",
        "¡No! ¡Para!",
        "não, pare!",
        "shut your motors down now",
        "turn the motors off, please",
        "machine, halt",
        "हॉल्ट stop",
        "full stop now",
    ] {
        assert!(is_stop_phrase(text, NAMES), "should stop: {text:?}");
    }
}

#[test]
fn talk_about_stopping_is_not_a_command() {
    for text in [
        "",
        " ",
        "please don't stop",
        "do not stop",
        "don't stop me now",
        "unstoppable",
        "Halting",
        "non-stop",
        "nonstop",
        "when does the bus stop?",
        "the bus stop",
        "stop sign",
        "one-stop shop",
        "stops",
        "stopped",
        "halts at noon",
        "how do I stop a container?",
        "stop the music",
        "stop the robot vacuum from beeping",
        "freezer",
        "stopwatch",
        "tell Bob to stop",
        "if it hurts, stop",
        "pit stop",
        "maxim",
        "please",
        "now",
        "it",
        "stop motion animation",
        "emergency",
        "emergency button",
        "emergency stops",
        "halt and catch fire",
        "maxim's non-stop",
        "can you stop by?",
        "s t o r e",
        "stop loss order",
        "full stop",
        "never stop",
        "stop by the shop",
        "e stops",
        "cobalt",
        "top",
        "Stop Bob now",
        "I said stop to him",
        "{\"hard_override\": \"HARD_STOP\"}",
        "stop, then go left",
        "não pare",
        "no para",
        "it stop",
        "the robot",
        "robot, please",
    ] {
        assert!(!is_stop_phrase(text, NAMES), "should not stop: {text:?}");
    }
}

#[test]
fn a_stop_with_its_reason_is_a_stop() {
    let (grammar, mut missed) = (grammar(), Vec::new());
    for text in [
        "stop it, you're hurting me",
        "stop you're hurting me",
        "you're hurting me, stop!",
        "Stop! It hurts!",
        "stop that hurts",
        "halt, that hurts me",
        "Maxim stop, I'm stuck",
        "stop now please, my hand is caught",
        "stop, my finger is stuck",
        "stop, my hair got caught",
        "freeze, someone is in there",
        "stop hurting me",
        "stop crushing my foot",
        "STOP IT, you're crushing my hand",
        "ouch, stop, let me go",
        "stop, I can't breathe",
        "Halt, du tust mir weh!",
        "stopp, das tut weh",
        "Hör auf, meine Hand ist eingeklemmt",
        "Arrête, tu me fais mal !",
        "stop, ça fait mal",
        "arrête, ma main est coincée",
        "¡Para, me haces daño!",
        "detente, me duele",
        "alto, mi mano está atrapada",
        "Fermati, mi fai male!",
        "ferma, la mia mano è incastrata",
        "pare, você está me machucando",
        "stop, je doet me pijn",
        "stop, mijn hand zit vast",
        "stój, to boli",
        "стой, мне больно",
        "стоп, рука застряла",
        "dur, canımı acıtıyorsun",
        "dur, elim sıkıştı",
        "stanna, det gör ont",
        "止まれ、痛い！",
        "止まって、手が挟まった",
        "快停下，你弄疼我了",
        "停！我的手被夹住了",
        "멈춰, 아파!",
        "멈춰! 손이 끼었어",
        "توقف، هذا يؤلم",
        "रुको, दर्द हो रहा है",
    ] {
        for said in [text.to_owned(), transcribed(text)] {
            if !grammar.matches(&said, false) || !grammar.matches(&said, true) {
                missed.push(said);
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    for text in [
        "it hurts",
        "my hand is caught",
        "you're hurting me",
        "don't stop, it hurts",
        "it hurts when I stop",
        "if it hurts, stop",
        "du tust mir weh",
        "me duele",
        "我的手被夹住了",
        "痛い",
    ] {
        assert!(!grammar.matches(text, false), "no command: {text:?}");
    }
}

#[test]
fn what_only_holds_a_word_of_stopping_stops_no_moving_body() {
    let (grammar, mut taken) = (grammar(), Vec::new());
    for text in [
        "quit is a verb",
        "halt is a noun",
        "freeze the peas",
        "freeze the bread",
        "the non-stop flight",
        "el alto precio",
        "para mí un café",
        "¿para qué sirve?",
        "une halte à la gare",
        "stopa procentowa",
    ] {
        if grammar.matches(text, true) {
            taken.push(text);
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}

#[test]
fn phrases_of_further_languages_come_from_configuration() {
    let grammar = StopGrammar::new(NAMES, &["geldi-stopu", "ĉesu", "止まらんかい", ""]);
    for text in
        ["Geldi stopu!", "ĈESU", "cesu cesu", "Maxim, ĉesu !", "止まらんかい！", "ĉ e s u", "robot, ĉesu now", "stop"]
    {
        assert!(grammar.matches(text, false), "should stop: {text:?}");
    }
    for text in ["ĉesulo", "ne ĉesu", ""] {
        assert!(!grammar.matches(text, false), "should not stop: {text:?}");
    }
    assert!(grammar.matches("ĉeso", true) && !grammar.matches("ĉeso", false), "a near miss of it, while a body moves");
    assert!(!is_stop_phrase("ĉesu", NAMES));
}

#[test]
fn the_agents_name_counts_only_where_it_is_its_own() {
    assert!(is_stop_phrase("karel, stop", &["Karel"]));
    assert!(!is_stop_phrase("karel, stop", NAMES));
    assert!(is_stop_phrase("hey R2 D2 stop", &["R2-D2"]));
}

#[test]
fn development_phrases_come_out_as_labelled() {
    let Some(text) = maxim_region::development_data::text("inbound/hardstop.jsonl") else { return };
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row is JSON");
        let phrase = row["text"].as_str().expect("a row has text");
        assert_eq!(is_stop_phrase(phrase, NAMES), row["stop"].as_bool().expect("a row has a label"), "{phrase:?}");
    }
}

#[test]
fn every_language_can_stop_with_each_of_its_own_words() {
    let grammar = grammar();
    let mut stops = 0;
    for (command, classes) in (1..64).flat_map(|letters| grammar.lexicons[0].whole(letters)) {
        if languages_of(classes, Class::Stop) != Languages::NONE {
            stops += 1;
            let said: String = command.iter().collect();
            assert!(grammar.matches(&said, false), "{said:?}");
        }
    }
    assert!(stops > 1_000, "{stops}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let grammar = grammar();
        prop_assert!(!grammar.matches(&text, false) || grammar.matches(&text, true));
    }

    #[test]
    fn a_foreign_word_makes_it_ordinary_text(word in "[bcdfjkqvwxz]{5,9}") {
        let text = format!("please stop {word}");
        prop_assert!(!is_stop_phrase(&text, NAMES));
        prop_assert!(grammar().matches(&text, true), "one is no reason against it while a body moves");
    }

    #[test]
    fn any_letter_may_be_held(counts in proptest::array::uniform4(1usize..6)) {
        let text: String = "stop".chars().zip(counts).flat_map(|(c, n)| std::iter::repeat_n(c, n)).collect();
        prop_assert!(is_stop_phrase(&text, NAMES));
    }
}

#[test]
fn a_reason_belongs_to_a_stop_before_it_and_is_short_and_no_story() {
    let grammar = grammar();
    for text in [
        "stop, there's a child on the stairs behind the door",
        "stop or you'll knock the red vase off the shelf",
        "Halt, da ist eine Katze unter dem Tisch",
        "arrête, il y a un enfant dans l'escalier",
        "停下，有孩子在楼梯上",
    ] {
        assert!(grammar.matches(text, false), "{text:?}");
    }
    for text in [
        "there's a child on the stairs, stop sign behind it",
        "there's a child on the stairs",
        "stop, there's a film of that name in the old cinema",
        "stop, there's a man, he said, who goes up and down the street all day long",
        "stop, there's a long way to go from here to the town where we were born and raised",
        "stop, drop and roll",
        "stop, collaborate and listen",
        "Stop & Shop",
        "stop, then go left",
        "don't stop, there's a child behind you",
    ] {
        assert!(!grammar.matches(text, false), "{text:?}");
    }
    for text in ["don't stop, there's a child behind you", "I quit my job", "I quit the gym", "we stop here every day"]
    {
        assert!(!grammar.matches(text, true), "{text:?}");
    }
    assert!(grammar.matches("stob, there's a child on the stairs", true), "a near miss with a reason");
    assert!(grammar.matches("stop or yuo'll knock it over", true), "a near miss of the reason");
}

#[test]
fn signs_that_stop_stop_by_themselves() {
    let grammar = grammar();
    for text in ["🛑", "🛑🛑", "🛑!!!", "✋✋", "⛔⛔⛔", "✋🏽✋🏽", "Maxim 🛑"] {
        assert!(grammar.matches(text, false), "{text:?}");
    }
    for text in ["✋", "⛔", "high five ✋", "🛑 means stop", "👋", "🚗"] {
        assert!(!grammar.matches(text, false), "{text:?}");
    }
}

#[test]
fn a_reason_that_begins_with_a_bare_conjunction_says_what_goes_wrong() {
    let grammar = grammar();
    for text in [
        "stop or the vase falls",
        "stop or the vase will fall",
        "Stop, or my glass breaks!",
        "stop before the red lamp tips over",
        "Maxim stop, because the cup is falling",
        "halt or your arm gets stuck",
        "stopp, oder die Vase fällt",
        "halt, bevor meine Tasse zerbricht",
        "arrête ou le vase tombe",
        "para o el vaso se cae",
        "fermati o il vaso cade",
        "stop of de vaas valt",
        "pare ou o vaso cai",
        "stój, bo wazon spadnie",
        "stanna, eller vasen välter",
        "стой, или ваза упадет",
    ] {
        assert!(grammar.matches(text, false), "{text:?}");
        assert!(grammar.matches(text, true), "{text:?}");
    }
    for text in [
        "stop before the bridge",
        "stop before the crash",
        "stop before the next break",
        "stop or the other one?",
        "stop or the story goes on",
        "stop or my mom will shoot",
        "stop because the light is red",
        "stop or the vase falls, she said",
        "the vase falls",
        "or the vase falls",
        "did it stop before the vase fell?",
        "should we stop or the vase falls?",
        "it will stop before the vase falls",
        "don't stop or the vase falls",
        "tell me when to stop before the vase falls",
        "he stopped because the vase fell",
        "stopp oder die andere?",
        "halte vor der Brücke, bevor die Vase fällt",
    ] {
        assert!(!grammar.matches(text, false), "{text:?}");
    }
}
