//! The stop phrase: a grammar over the *whole* utterance, never a search inside it.
//!
//! A person who wants the body to stop shouts, spaces the letters, repeats them, adds a name or a curse; a person who
//! talks about bus stops does none of that with nothing else in the sentence. So the utterance is normalised (NFKC,
//! case, punctuation, emoji, doubled letters) and must then be derived completely from
//!
//! ```text
//! utterance = clause+
//! clause    = interjection* [name] [please] command+ tail* [please] [name]
//! command   = stop | halt | freeze | e-stop | emergency stop | a configured phrase
//! tail      = now | immediately | it | that | everything | moving | all motion | the robot | what you are doing
//! ```
//!
//! One word outside of the grammar makes the utterance ordinary text. A wrong "yes" costs a pause, a wrong "no" may
//! cost a finger, so where a spelling is ambiguous (`stoop` alone) it stops.

use unicode_normalization::UnicodeNormalization;

/// Words that people put before the command. Each may be followed by another.
const INTERJECTIONS: &[&str] = &[
    "hey",
    "hi",
    "hello",
    "oh",
    "ah",
    "aah",
    "aargh",
    "argh",
    "ugh",
    "ow",
    "ouch",
    "whoa",
    "woah",
    "wow",
    "yo",
    "oi",
    "ok",
    "okay",
    "no",
    "nope",
    "wait",
    "god",
    "my god",
    "gosh",
    "jesus",
    "christ",
    "lord",
    "omg",
    "damn",
    "damn it",
    "dammit",
    "shit",
    "fuck",
    "hell",
    "alright",
    "right",
    "now",
    "quick",
    "quickly",
    "hold on",
    "listen",
    "attention",
    "for gods sake",
    "and",
    "just",
    "eh",
    "um",
    "hmm",
];

const PLEASE: &[&str] = &["please", "pls", "plz"];

const COMMANDS: &[&str] = &["stop", "halt", "freeze", "e stop", "estop", "emergency stop"];

const TAILS: &[&str] = &[
    "now",
    "right now",
    "right away",
    "immediately",
    "at once",
    "it",
    "that",
    "this",
    "everything",
    "moving",
    "all motion",
    "the robot",
    "what you are doing",
    "what youre doing",
    "whatever you are doing",
    "whatever youre doing",
];

/// True when the whole of `text` is a command to stop, in the built-in language. `names` are the agent's own names.
pub fn is_stop_phrase(text: &str, names: &[&str]) -> bool {
    StopGrammar::new(names, &[] as &[&str]).matches(text)
}

/// The grammar with the agent's names and the phrases of other languages, normalised once.
#[derive(Debug, Clone)]
pub struct StopGrammar {
    interjections: Vec<Vec<String>>,
    names: Vec<Vec<String>>,
    please: Vec<Vec<String>>,
    commands: Vec<Vec<String>>,
    tails: Vec<Vec<String>>,
}

/// What may come next in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Opening,
    Named,
    Asked,
    Commanded,
    ClosedPolitely,
    Closed,
}

impl StopGrammar {
    /// `phrases`: whole utterances of other languages ("alto", "arrête-toi"), which count as a command: a name, a
    /// please or a repetition may stand beside them. An empty name or phrase is ignored.
    pub fn new<N: AsRef<str>, P: AsRef<str>>(names: &[N], phrases: &[P]) -> Self {
        let table = |words: &[&str]| words.iter().map(|word| tokens(word)).collect::<Vec<_>>();
        let given = |words: Vec<Vec<String>>| words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let mut commands = table(COMMANDS);
        commands.extend(given(phrases.iter().map(|phrase| tokens(phrase.as_ref())).collect()));
        Self {
            interjections: table(INTERJECTIONS),
            names: given(names.iter().map(|name| tokens(name.as_ref())).collect()),
            please: table(PLEASE),
            commands,
            tails: table(TAILS),
        }
    }

    /// Whether the whole of `text` can be derived. Cost is linear in its length.
    pub fn matches(&self, text: &str) -> bool {
        let words = self.joined(tokens(text));
        // Each entry: the states that are possible after this many words. A clause may begin again after a command.
        let mut reached = vec![Vec::new(); words.len() + 1];
        reached[0].push(State::Opening);
        for at in 0..words.len() {
            for state in reached[at].clone() {
                for (phrases, next) in self.steps(state) {
                    for phrase in phrases.iter().filter(|phrase| words[at..].starts_with(phrase)) {
                        let after = &mut reached[at + phrase.len()];
                        if !after.contains(&next) {
                            after.push(next);
                        }
                    }
                }
            }
        }
        reached[words.len()]
            .iter()
            .any(|state| matches!(state, State::Commanded | State::ClosedPolitely | State::Closed))
    }

    fn steps(&self, state: State) -> Vec<(&[Vec<String>], State)> {
        let mut steps: Vec<(&[Vec<String>], State)> = Vec::with_capacity(8);
        match state {
            State::Opening | State::ClosedPolitely | State::Closed => {
                steps.push((&self.interjections, State::Opening));
                steps.push((&self.names, State::Named));
                steps.push((&self.please, State::Asked));
                steps.push((&self.commands, State::Commanded));
                if state == State::ClosedPolitely {
                    steps.push((&self.names, State::Closed));
                }
            }
            State::Named => {
                steps.push((&self.please, State::Asked));
                steps.push((&self.commands, State::Commanded));
            }
            State::Asked => {
                steps.push((&self.names, State::Named));
                steps.push((&self.commands, State::Commanded));
            }
            State::Commanded => {
                steps.push((&self.commands, State::Commanded));
                steps.push((&self.tails, State::Commanded));
                steps.push((&self.please, State::ClosedPolitely));
                steps.push((&self.names, State::Closed));
                steps.push((&self.interjections, State::Opening));
            }
        }
        steps
    }

    /// Joins runs of single letters (`s t o p`) and splits glued repetitions (`stopstop`) into words of the grammar.
    fn joined(&self, words: Vec<String>) -> Vec<String> {
        let mut out = Vec::with_capacity(words.len());
        let mut run = String::new();
        for word in words.into_iter().chain([String::from("  ")]) {
            if word.chars().count() == 1 {
                run.push_str(&word);
                continue;
            }
            if run.chars().count() > 1 {
                // Doubled letters can only be seen once the letters stand together.
                out.extend(self.split(&collapsed(&run)));
            } else if !run.is_empty() {
                out.push(run.clone());
            }
            run.clear();
            if word != "  " {
                out.extend(self.split(&word));
            }
        }
        out
    }

    /// `glued` as words of the grammar when it is made of nothing else and holds a command, else itself.
    fn split(&self, glued: &str) -> Vec<String> {
        let tables = [&self.commands, &self.names, &self.please, &self.tails];
        let single = |phrase: &'_ &Vec<String>| phrase.len() == 1;
        let vocabulary = || tables.into_iter().flatten().filter(single).map(|phrase| phrase[0].as_str());
        // Most words begin with none of them.
        if !vocabulary().any(|word| glued.starts_with(word)) {
            return vec![glued.to_owned()];
        }
        let mut best: Vec<Option<Vec<&str>>> = vec![None; glued.len() + 1];
        best[0] = Some(Vec::new());
        for at in 0..glued.len() {
            let Some(before) = best[at].clone() else { continue };
            for word in vocabulary().filter(|word| glued[at..].starts_with(word)) {
                let mut words = before.clone();
                words.push(word);
                best[at + word.len()].get_or_insert(words);
            }
        }
        let is_command = |word: &&str| self.commands.iter().any(|phrase| phrase.len() == 1 && phrase[0] == *word);
        match best[glued.len()].take() {
            Some(words) if words.iter().any(is_command) => words.into_iter().map(str::to_owned).collect(),
            _ => vec![glued.to_owned()],
        }
    }
}

/// Words of the normalised text: NFKC, lower case, apostrophes and invisible marks dropped, all else that is not a
/// letter or digit a gap, runs of one letter collapsed.
fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            word.push(c);
        } else if !is_silent(c) && !word.is_empty() {
            words.push(collapsed(&word));
            word.clear();
        }
    }
    if !word.is_empty() {
        words.push(collapsed(&word));
    }
    words
}

/// Marks that are not seen or that join a word: apostrophes, joiners, direction marks, variation selectors, accents.
fn is_silent(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | '`' | '´' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{300}'..='\u{36f}')
}

fn collapsed(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if !out.ends_with(c) {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: &[&str] = &["Maxim", "Max"];

    #[test]
    fn commands_to_stop_are_seen_in_any_dress() {
        for text in [
            "stop",
            "STOP!!!",
            "Stop.",
            "stop stop stop",
            "s t o p",
            "S.T.O.P.",
            "s-t-o-p now",
            "stooooop",
            "sttoopp",
            "ＳＴＯＰ",
            "¡stop!",
            "🛑 stop 🛑",
            "halt",
            "FREEZE!",
            "e-stop",
            "estop",
            "E STOP",
            "emergency stop now",
            "Emergency-stop!",
            "maxim stop",
            "Hey Maxim, please stop moving now, please",
            "stop, maxim!",
            "please halt",
            "oh god stop",
            "wait, stop",
            "stop it",
            "stop that",
            "stop everything",
            "stop all motion",
            "stop the robot",
            "stop what you're doing",
            "stop what you are doing immediately",
            "no no no stop",
            "stopstopstop",
            "stop\nstop",
            "s\u{200b}t\u{200b}op",
            "**stop**",
            "stop right now",
            "stop! stop now! halt!",
            "STOP\u{202c}",
            "s t o o o p",
            "please stop",
            "please, max, freeze",
            "stop…",
            "stop it now please Maxim",
            "s t o p n o w",
        ] {
            assert!(is_stop_phrase(text, NAMES), "should stop: {text:?}");
        }
    }

    #[test]
    fn talk_about_stopping_is_not_a_command() {
        for text in [
            "",
            " ",
            "🛑",
            "please don't stop",
            "do not stop",
            "don't stop me now",
            "unstoppable",
            "Halting",
            "non-stop",
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
            "can you stop?",
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
        ] {
            assert!(!is_stop_phrase(text, NAMES), "should not stop: {text:?}");
        }
    }

    #[test]
    fn phrases_of_other_languages_come_from_configuration() {
        let grammar = StopGrammar::new(NAMES, &["alto", "arrête-toi", "止まれ", ""]);
        for text in ["¡Alto!", "alto alto", "Maxim, arrête-toi !", "ARRÊTE TOI", "止まれ！", "a l t o", "stop"] {
            assert!(grammar.matches(text), "should stop: {text:?}");
        }
        for text in ["alto saxophone", "rialto", "ne t'arrête pas", ""] {
            assert!(!grammar.matches(text), "should not stop: {text:?}");
        }
        assert!(!is_stop_phrase("alto", NAMES));
    }

    #[test]
    fn the_agents_name_counts_only_where_it_is_its_own() {
        assert!(is_stop_phrase("robot, stop", &["robot"]));
        assert!(!is_stop_phrase("robot, stop", NAMES));
        assert!(is_stop_phrase("hey R2 D2 stop", &["R2-D2"]));
    }

    #[test]
    fn development_phrases_come_out_as_labelled() {
        let Some(text) = crate::development_data::text("inbound/hardstop.jsonl") else { return };
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("a row is JSON");
            let phrase = row["text"].as_str().expect("a row has text");
            assert_eq!(is_stop_phrase(phrase, NAMES), row["stop"].as_bool().expect("a row has a label"), "{phrase:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            is_stop_phrase(&text, NAMES);
        }

        #[test]
        fn a_foreign_word_makes_it_ordinary_text(word in "[b-df-hj-km-oq-rt-z]{5,9}") {
            let text = format!("please stop {word}");
            prop_assert!(!is_stop_phrase(&text, NAMES));
        }

        #[test]
        fn any_letter_may_be_held(counts in proptest::array::uniform4(1usize..6)) {
            let text: String = "stop".chars().zip(counts).flat_map(|(c, n)| std::iter::repeat_n(c, n)).collect();
            prop_assert!(is_stop_phrase(&text, NAMES));
        }
    }
}
