//! Reasoning is private and in the first person: where it speaks to others instead.

use std::collections::BTreeSet;

use maxim_bus::signals::cycle::OutwardSpeech;

use maxim_language::words;

/// Words by which a person is spoken to.
const YOU: [&str; 4] = ["you", "your", "yours", "yourself"];
/// How a sentence begins that is said to somebody.
const ADDRESSES: [&str; 14] = [
    "hello",
    "hi",
    "hey",
    "dear",
    "sorry",
    "thanks",
    "thank you",
    "sure",
    "of course",
    "certainly",
    "absolutely",
    "please let me know",
    "let me know",
    "i am happy to help",
];
/// How a narrator names who thinks.
const NARRATED: [&str; 7] =
    ["the assistant", "the agent", "the robot", "the ai", "the language model", "the mind", "the system decides"];

/// How the reasoning speaks to others, each kind once. `names`: what the agent is called.
pub fn outward(reasoning: &str, names: &[String]) -> Vec<OutwardSpeech> {
    let kinds: BTreeSet<OutwardSpeech> =
        sentences(reasoning).into_iter().filter_map(|(sentence, asks)| kind(sentence, asks, names)).collect();
    kinds.into_iter().collect()
}

fn kind(sentence: &str, asks: bool, names: &[String]) -> Option<OutwardSpeech> {
    let words: Vec<String> = words(sentence).into_iter().map(|word| word.text).collect();
    let said = format!("{} ", words.join(" "));
    let begins = |phrase: &str| said.starts_with(&format!("{phrase} "));
    // A question that it asks itself is thinking.
    if asks && words.iter().any(|word| YOU.contains(&word.as_str())) {
        return Some(OutwardSpeech::Question);
    }
    let named = |name: &String| begins(&name.to_lowercase()) && words.len() > 1;
    if NARRATED.iter().any(|phrase| begins(phrase)) || names.iter().any(named) {
        return Some(OutwardSpeech::Narrator);
    }
    ADDRESSES.iter().any(|phrase| begins(phrase)).then_some(OutwardSpeech::Address)
}

/// Sentences, and whether each is a question. What is quoted is somebody else's and no part of them.
fn sentences(text: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 1 {
            continue;
        }
        let ended = part.split_inclusive(['.', '!', '?', '\n']);
        found.extend(ended.map(|sentence| (sentence.trim(), sentence.trim_end().ends_with('?'))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_to_others_is_told_from_thinking() {
        use OutwardSpeech::{Address, Narrator, Question};
        let names = ["Gull".to_owned()];
        let cases: [(&str, &[OutwardSpeech]); 14] = [
            ("I was asked for the key. I look it up in memory first.", &[]),
            ("Where did I put it? Perhaps in the blue drawer.", &[]),
            ("She asked \"do you know the way?\", so I answer that.", &[]),
            ("I would like to know more. Should I read the file?", &[]),
            ("The user wants a file. I write it.", &[]),
            ("The systems are down, so I wait.", &[]),
            ("What would you like me to do?", &[Question]),
            ("I think about it. Is your key blue?", &[Question]),
            ("The assistant decides to write the file.", &[Narrator]),
            ("Gull looks at the sea.", &[Narrator]),
            ("Gulls are birds.", &[]),
            ("Sure! I'd be happy to help with that.", &[Address]),
            ("Hello Anna. The robot smiles. Can you wait?", &[Question, Address, Narrator]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(outward(text, &names), expected, "{text}");
        }
    }
}
