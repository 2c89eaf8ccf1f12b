//! Words with similar letters: other forms of one word, and parts of a compound.
//!
//! The stemmer and the embedded table only know English words well. In a question of another language, a word also
//! stands for words with the same beginning or end: "Berghütte" for "Hütten", "cerradura" for "cerraduras". The store
//! doesn't change: only questions look at letters.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::related::SoftTerm;
use super::vocabulary::Vocabulary;

/// Minimum number of letters that two words share at their beginning or end.
const SHARED: usize = 4;
/// The same if neither is a part of the other and more than an ending differs: many words of a language share prefixes
/// and endings.
const SHARED_OF_LONG: usize = 6;
/// Maximum length of an ending, in letters.
const ENDING: usize = 3;
/// Stems with the same beginning or end that are considered, the oldest first. This bounds the cost of a question.
const MOST_LOOKED_AT: usize = 1024;
/// Weight of a word that only differs in marks on its letters.
const MOST: f32 = 0.9;

/// The stems of a store by their beginnings and ends.
#[derive(Debug, Default)]
pub struct Forms {
    folded: Vec<Box<str>>,
    by_start: HashMap<[char; SHARED], Vec<u32>>,
    by_end: HashMap<[char; SHARED], Vec<u32>>,
}

/// Without marks on letters and without a final vowel: "Häuser" becomes "hauser", "Hütte" becomes "hutt". The English
/// stemmer does this for some words only.
fn folded(word: &str) -> String {
    let bare: String = word.nfd().filter(|c| !is_combining_mark(*c)).collect();
    let bare = bare.replace('ß', "ss");
    let short = bare.trim_end_matches(['a', 'e', 'i', 'o', 'u']);
    if short.len() < SHARED { bare } else { short.to_owned() }
}

/// The first letters of a word without digits: identifiers have no forms.
fn key(letters: impl Iterator<Item = char> + Clone) -> Option<[char; SHARED]> {
    if !letters.clone().all(char::is_alphabetic) {
        return None;
    }
    let mut key = ['\0'; SHARED];
    let count = key.iter_mut().zip(letters).map(|(place, letter)| *place = letter).count();
    (count == SHARED).then_some(key)
}

fn shared(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// How far one word stands for another: the mean share of both that is the same at one end.
fn likeness(a: &str, b: &str) -> f32 {
    let (long_a, long_b) = (a.chars().count(), b.chars().count());
    let (shorter, longer) = (long_a.min(long_b), long_a.max(long_b));
    let at_start = shared(a.chars(), b.chars());
    let best = at_start.max(shared(a.chars().rev(), b.chars().rev()));
    let is_part = best == shorter;
    let is_inflected = at_start >= SHARED && longer - at_start <= ENDING;
    if best < SHARED || !is_part && !is_inflected && best < SHARED_OF_LONG {
        return 0.0;
    }
    MOST * best as f32 * (1.0 / long_a as f32 + 1.0 / long_b as f32) / 2.0
}

impl Forms {
    /// The `most` most similar stems of the store, best first.
    pub fn of(&mut self, stem: &str, vocabulary: &Vocabulary, most: usize) -> Vec<SoftTerm> {
        self.keep_up(vocabulary);
        let asked = folded(stem);
        let starts = key(asked.chars()).and_then(|key| self.by_start.get(&key));
        let ends = key(asked.chars().rev()).and_then(|key| self.by_end.get(&key));
        let lists = starts.into_iter().chain(ends).map(|list| list.iter().take(MOST_LOOKED_AT));
        let mut ids: Vec<u32> = lists.flatten().copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let own = vocabulary.id(stem);
        let alike = ids.into_iter().filter(|id| Some(*id) != own);
        let alike = alike.map(|id| SoftTerm { id, weight: likeness(&asked, &self.folded[id as usize]) });
        let mut found: Vec<SoftTerm> = alike.filter(|soft| soft.weight > 0.0).collect();
        // Equals are ordered by letters, so that the order of arrival doesn't matter.
        let letters = |soft: &SoftTerm| &self.folded[soft.id as usize];
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| letters(a).cmp(letters(b))));
        found.truncate(most);
        found
    }

    fn keep_up(&mut self, vocabulary: &Vocabulary) {
        for entry in &vocabulary.entries()[self.folded.len()..] {
            let (id, folded) = (self.folded.len() as u32, folded(&entry.stem));
            if let Some(key) = key(folded.chars()) {
                self.by_start.entry(key).or_default().push(id);
            }
            if let Some(key) = key(folded.chars().rev()) {
                self.by_end.entry(key).or_default().push(id);
            }
            self.folded.push(folded.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_parts_of_compounds_are_alike_and_prefixes_alone_arent() {
        for (a, b) in [("hutte", "berghutte"), ("hauser", "haus"), ("cerradura", "cerraduras"), ("chorprobe", "chor")] {
            assert!(likeness(a, b) > 0.5, "{a} {b}");
            assert_eq!(likeness(a, b), likeness(b, a));
        }
        assert!(likeness("ruckgabegerat", "ruckgabekasten") > 0.4, "a long part in common");
        for (a, b) in [("verlieren", "verkaufen"), ("meldung", "heizung"), ("tor", "motor"), ("haus", "maus")] {
            assert_eq!(likeness(a, b), 0.0, "{a} {b}");
        }
    }

    #[test]
    fn the_likest_of_a_store_come_first_and_new_ones_are_seen() {
        let mut vocabulary = Vocabulary::default();
        for stem in ["fahrrad", "rad", "fahrräder", "garten"] {
            vocabulary.see(stem, stem);
        }
        let mut forms = Forms::default();
        let found = |forms: &mut Forms, vocabulary: &Vocabulary| -> Vec<u32> {
            forms.of("fahrrad", vocabulary, 5).into_iter().map(|soft| soft.id).collect()
        };
        assert_eq!(found(&mut forms, &vocabulary), [2]);
        vocabulary.see("fahrrads", "fahrrads");
        assert_eq!(found(&mut forms, &vocabulary), [4, 2]);
    }
}
