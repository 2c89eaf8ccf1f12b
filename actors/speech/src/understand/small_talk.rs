//! Greetings, thanks, farewells, yes and no: whole utterances from closed lists.

use crate::understand::understanding::Understanding;
use crate::word::tokens::Utterance;

const GREETING: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "yo",
    "hi there",
    "hello there",
    "hey there",
    "good morning",
    "good evening",
    "good afternoon",
    "good day",
    "greetings",
    "howdy",
    "morning",
    "hiya",
    "hi again",
    "hello again",
    "welcome back",
    "i'm back",
    "nice to meet you",
];
const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thx",
    "ty",
    "thank you very much",
    "thank you so much",
    "thanks a lot",
    "many thanks",
    "cheers",
    "much appreciated",
    "thanks a bunch",
    "thanks again",
    "thank you again",
    "great thanks",
    "ok thanks",
    "perfect thanks",
    "i appreciate it",
    "thanks for your help",
    "thank you for your help",
    "thanks for the help",
];
const FAREWELL: &[&str] = &[
    "bye",
    "goodbye",
    "good bye",
    "good night",
    "goodnight",
    "see you",
    "see you later",
    "see you tomorrow",
    "see ya",
    "cya",
    "bye bye",
    "farewell",
    "take care",
    "until tomorrow",
    "talk to you later",
    "ttyl",
    "later",
    "have a nice day",
    "i'm off",
    "i have to go",
    "i gotta go",
];
const YES: &[&str] = &[
    "yes",
    "yeah",
    "yep",
    "yup",
    "sure",
    "of course",
    "absolutely",
    "ok",
    "okay",
    "alright",
    "go ahead",
    "do it",
    "yes please",
    "sounds good",
    "please do",
    "correct",
    "right",
    "exactly",
    "fine",
    "agreed",
    "that's right",
    "y",
    "ok do it",
    "yes do it",
];
const NO: &[&str] = &[
    "no",
    "nope",
    "nah",
    "no thanks",
    "no thank you",
    "never mind",
    "nevermind",
    "cancel",
    "cancel that",
    "forget it",
    "don't",
    "don't do it",
    "do not",
    "do not do that",
    "don't do that",
    "please don't",
    "rather not",
    "not now",
    "no way",
    "n",
    "leave it",
    "scratch that",
    "wrong",
    "no please don't",
    "dont",
    "no don't",
    "not yet",
    "that is wrong",
];
const NOTED: &[&str] = &[
    "i see",
    "got it",
    "hm",
    "hmm",
    "interesting",
    "cool",
    "nice",
    "great",
    "wow",
    "good job",
    "well done",
    "awesome",
    "perfect",
    "good",
    "very good",
    "lol",
    "haha",
    "ah",
    "oh",
    "understood",
    "no problem",
    "don't worry",
    "dont worry",
    "no worries",
    "never",
    "amazing",
    "you're welcome",
    "good boy",
    "good to know",
    "i know",
    "i don't know",
    "i dont know",
    "not bad",
    "excellent",
    "brilliant",
    "sorry",
    "my bad",
];

/// What a closed phrase means, if the whole utterance (without the agent's name) is one.
pub(crate) fn read(said: &Utterance, names: &[String]) -> Option<Understanding> {
    let named = |at: usize| names.iter().any(|name| name == said.word(at));
    let vocative = |at: usize| at > 0 && ["mate", "buddy", "friend", "dude", "man", "pal"].contains(&said.word(at));
    let emoticon = |at: usize| !said.word(at).is_empty() && !said.word(at).chars().any(char::is_alphanumeric);
    let kept: Vec<&str> =
        (0..said.len()).filter(|at| !named(*at) && !vocative(*at) && !emoticon(*at)).map(|at| said.word(at)).collect();
    if kept.is_empty() {
        let addressed = (0..said.len()).any(named);
        return addressed.then_some(Understanding::Greeting);
    }
    let phrase = kept.join(" ");
    let phrase = phrase.as_str();
    let asked = said.tokens.last().and_then(|last| last.closes) == Some('?');
    if GREETING.contains(&phrase) {
        return Some(Understanding::Greeting);
    }
    if asked {
        return None;
    }
    if THANKS.contains(&phrase) {
        Some(Understanding::Thanks)
    } else if FAREWELL.contains(&phrase) {
        Some(Understanding::Farewell)
    } else if YES.contains(&phrase) {
        Some(Understanding::Acknowledgement { agrees: Some(true) })
    } else if NO.contains(&phrase) {
        Some(Understanding::Acknowledgement { agrees: Some(false) })
    } else if NOTED.contains(&phrase) {
        Some(Understanding::Acknowledgement { agrees: None })
    } else {
        None
    }
}
