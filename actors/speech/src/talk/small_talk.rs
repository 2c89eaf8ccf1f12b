//! Greetings, thanks, farewells, yes and no: whole utterances from closed lists.

use crate::understand::understanding::Understanding;
use crate::word::tokens::Utterance;
use crate::word_list::word_lists;

word_lists! {
    "small_talk.txt";
    GREETING = "greeting";
    THANKS = "thanks";
    FAREWELL = "farewell";
    YES = "yes";
    NO = "no";
    NOTED = "noted";
}

/// The meaning of a closed phrase, if it is the whole utterance (without the agent's name).
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
