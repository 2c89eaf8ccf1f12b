//! What something is about, as the words of it: by these, things that are perceived, thought and remembered are alike or not.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Stems, words};

/// What is perceived, by its words: stems of the text and whole names of objects and people. Ascending, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gist(Vec<String>);

impl Gist {
    pub fn of<'a>(stems: &Stems, text: &str, things: impl IntoIterator<Item = &'a str>) -> Self {
        let mut gist = stems.of_text(text);
        gist.extend(things.into_iter().map(|thing| thing.trim().to_lowercase()).filter(|thing| !thing.is_empty()));
        // A text of stop words alone ("it is you") is still what it is.
        if gist.is_empty() {
            gist.extend(words(text).into_iter().map(|word| word.text));
        }
        gist.sort_unstable();
        gist.dedup();
        Self(gist)
    }

    /// |A ∩ B| / |A ∪ B|; two empty gists are the same.
    pub fn similarity(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }

    /// Share of `other`'s words that are here.
    pub fn covers(&self, other: &Self) -> f64 {
        if other.0.is_empty() {
            return 0.0;
        }
        self.shared(other) as f64 / other.0.len() as f64
    }

    fn shared(&self, other: &Self) -> usize {
        let (mut ours, mut theirs, mut shared) = (self.0.as_slice(), other.0.as_slice(), 0);
        while let ([our, our_rest @ ..], [their, their_rest @ ..]) = (ours, theirs) {
            match our.cmp(their) {
                Ordering::Less => ours = our_rest,
                Ordering::Greater => theirs = their_rest,
                Ordering::Equal => (ours, theirs, shared) = (our_rest, their_rest, shared + 1),
            }
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gist(text: &str) -> Gist {
        Gist::of(&Stems::default(), text, [])
    }

    #[test]
    fn a_word_counts_once_wherever_it_stands() {
        let [cup, kitchen] = [gist("the red cup, a cup that is red"), gist("a cup in the kitchen")];
        assert_eq!(cup, gist("cup red"));
        // "cup" of "cup", "kitchen" and "red".
        assert!((cup.similarity(&kitchen) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(cup.similarity(&kitchen).to_bits(), kitchen.similarity(&cup).to_bits());
        assert!((cup.covers(&kitchen) - 0.5).abs() < 1e-12);
        assert_eq!(cup.similarity(&cup).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn things_are_named_whole_and_stop_words_alone_are_what_they_are() {
        let stems = Stems::default();
        assert_eq!(Gist::of(&stems, "look", [" Red Cup ", ""]), Gist(vec!["look".into(), "red cup".into()]));
        assert_eq!(gist("it is you"), Gist(vec!["is".into(), "it".into(), "you".into()]));
        assert_eq!(gist("").covers(&gist("")), 0.0);
    }
}
