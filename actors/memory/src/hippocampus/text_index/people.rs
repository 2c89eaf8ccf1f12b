//! Who spoke: people are a field of an episode, not words of its text. A name in a question is removed from its words
//! and looked up here.

use std::collections::HashMap;

use maxim_language::{Word, is_stop_word, words};

/// A part of a name that more people share doesn't show who is meant.
const MOST_SHARING_A_PART: usize = 8;
/// A longer name is found by its parts.
const MOST_WORDS_OF_A_NAME: usize = 4;

/// Known people and the groups in which they occur.
#[derive(Clone, Debug, Default)]
pub struct People {
    names: Vec<String>,
    by_name: HashMap<String, u32>,
    by_part: HashMap<String, Vec<u32>>,
    groups: Vec<Vec<u32>>,
    by_group: HashMap<Vec<u32>, u32>,
}

/// A question, split into the people it names and the remaining words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Sorted, distinct.
    pub people: Vec<u32>,
    pub rest: Vec<Word>,
    /// Each name: the people that it may mean, and its words.
    pub runs: Vec<(Vec<u32>, Vec<String>)>,
}

fn key(name: &str) -> String {
    words(name).into_iter().map(|w| w.text).collect::<Vec<_>>().join(" ")
}

impl People {
    /// Number of known people.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    pub fn names_of(&self, group: u32) -> impl Iterator<Item = &str> {
        self.groups.get(group as usize).into_iter().flatten().map(|id| self.names[*id as usize].as_str())
    }

    /// True if anybody is in the group.
    pub fn talks(&self, group: u32) -> bool {
        self.groups.get(group as usize).is_some_and(|people| !people.is_empty())
    }

    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    /// The group of these people; a new one is made. Order and repeats don't matter.
    pub fn group<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> u32 {
        let mut ids: Vec<u32> = names.into_iter().filter_map(|name| self.person(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        if let Some(known) = self.by_group.get(&ids) {
            return *known;
        }
        let group = self.groups.len() as u32;
        self.groups.push(ids.clone());
        self.by_group.insert(ids, group);
        group
    }

    fn person(&mut self, name: &str) -> Option<u32> {
        let key = key(name);
        if key.is_empty() {
            return None;
        }
        if let Some(known) = self.by_name.get(&key) {
            return Some(*known);
        }
        let id = self.names.len() as u32;
        self.names.push(name.trim().to_string());
        for part in key.split(' ').filter(|part| is_name_part(part)) {
            let sharing = self.by_part.entry(part.to_string()).or_default();
            if sharing.last() != Some(&id) {
                sharing.push(id);
            }
        }
        self.by_name.insert(key, id);
        Some(id)
    }

    /// Removes the names of known people from a question: whole names first, then single parts of a name, then a
    /// capitalised short form that begins exactly one known name ("Mel" for "Melanie").
    pub fn named_in(&self, question: &[Word]) -> Named {
        let mut named = Named::default();
        let mut i = 0;
        while i < question.len() {
            match self.name_at(&question[i..]) {
                Some((people, length)) => {
                    named.people.extend(&people);
                    let said = question[i..i + length].iter().map(|word| word.text.clone());
                    named.runs.push((people, said.filter(|word| is_name_part(word)).collect()));
                    i += length;
                }
                None => {
                    named.rest.push(question[i].clone());
                    i += 1;
                }
            }
        }
        named.people.sort_unstable();
        named.people.dedup();
        named
    }

    fn name_at(&self, words: &[Word]) -> Option<(Vec<u32>, usize)> {
        // The first word, the first two and so on, each with its end.
        let (mut joined, mut ends) = (String::new(), [0; MOST_WORDS_OF_A_NAME]);
        for (word, end) in words.iter().zip(&mut ends) {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(&word.text);
            *end = joined.len();
        }
        for length in (1..=words.len().min(MOST_WORDS_OF_A_NAME)).rev() {
            let said = &joined[..ends[length - 1]];
            // "Will" is a person, "will" at the start of a question isn't.
            let plain = !words[0].capital || words[0].opens_sentence;
            let doubtful = length == 1 && plain && is_stop_word(said);
            if let Some(id) = self.by_name.get(said)
                && !doubtful
            {
                return Some((vec![*id], length));
            }
        }
        let word = &words[0];
        let sharing = self.by_part.get(&word.text).filter(|ids| ids.len() <= MOST_SHARING_A_PART);
        if let Some(ids) = sharing
            && (word.capital || !is_stop_word(&word.text))
        {
            return Some((ids.clone(), 1));
        }
        self.short_form(word).map(|id| (vec![id], 1))
    }

    fn short_form(&self, word: &Word) -> Option<u32> {
        if !word.capital || word.opens_sentence || word.text.len() < 3 || !is_name_part(&word.text) {
            return None;
        }
        let mut fitting = self.by_part.iter().filter(|(part, _)| part.starts_with(&word.text)).flat_map(|(_, ids)| ids);
        let first = *fitting.next()?;
        fitting.all(|id| *id == first).then_some(first)
    }
}

/// Parts with digits, or of one or two letters, don't identify a person.
fn is_name_part(part: &str) -> bool {
    part.len() >= 3 && part.chars().all(char::is_alphabetic)
}

/// The speaker, if a transcript writes the name before the text ("Anna: hello"), and the text without it.
pub fn speaker_prefix(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(": ")?;
    let parts: Vec<_> = name.split(' ').collect();
    let like_a_name = |part: &&str| {
        part.chars().next().is_some_and(char::is_uppercase)
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '\'' | '_'))
    };
    (parts.len() <= 3 && name.len() <= 40 && parts.iter().all(like_a_name)).then_some((name, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(names: &[&str]) -> People {
        let mut people = People::default();
        for name in names {
            people.group([*name]);
        }
        people
    }

    fn named(people: &People, text: &str) -> (Vec<u32>, Vec<String>) {
        let found = people.named_in(&words(text));
        (found.people, found.rest.into_iter().map(|w| w.text).collect())
    }

    #[test]
    fn names_leave_the_question() {
        let known = people(&["Anna", "Moritz Weber"]);
        assert_eq!(named(&known, "Did Anna's dog run?"), (vec![0], vec!["did".into(), "dog".into(), "run".into()]));
        assert_eq!(named(&known, "moritz weber and anna").0, vec![0, 1]);
        assert_eq!(named(&known, "what did Moritz say").0, vec![1]);
    }

    #[test]
    fn a_name_that_is_a_common_word_needs_its_capital() {
        let known = people(&["Will"]);
        assert!(named(&known, "will it rain").0.is_empty());
        assert_eq!(named(&known, "what did Will say").0, vec![0]);
    }

    #[test]
    fn a_short_form_names_the_one_it_begins() {
        let known = people(&["Melanie", "Caroline"]);
        assert_eq!(named(&known, "what did Mel paint").0, vec![0]);
        assert!(named(&people(&["Melanie", "Melissa"]), "what did Mel paint").0.is_empty());
    }

    #[test]
    fn numbered_people_are_only_met_by_their_whole_name() {
        let known = people(&["person_a1", "person_a2"]);
        assert_eq!(named(&known, "was person_a2 there").0, vec![1]);
        assert_eq!(named(&known, "was person there").0, vec![0, 1]);
    }

    #[test]
    fn a_group_is_the_same_in_any_order() {
        let mut known = People::default();
        assert_eq!(known.group(["Anna", "Ben"]), known.group(["ben", "anna", "Anna"]));
    }

    #[test]
    fn a_transcript_prefix_names_the_speaker() {
        assert_eq!(speaker_prefix("Anna: hello"), Some(("Anna", "hello")));
        assert_eq!(speaker_prefix("see the note: it is here"), None);
        assert_eq!(speaker_prefix("12:30 came"), None);
    }
}
