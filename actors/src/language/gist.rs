//! What something is about, as the words of it: by these, things that are perceived, thought and remembered are alike or not.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Stems, words};

/// What is perceived, by its words: stems of the text and whole names of objects and people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gist(BTreeSet<String>);

impl Gist {
    pub fn of<'a>(stems: &Stems, text: &str, things: impl IntoIterator<Item = &'a str>) -> Self {
        let mut gist: BTreeSet<String> = stems.of_text(text).into_iter().collect();
        gist.extend(things.into_iter().map(|thing| thing.trim().to_lowercase()).filter(|thing| !thing.is_empty()));
        // A text of stop words alone ("it is you") is still what it is.
        if gist.is_empty() {
            gist.extend(words(text).into_iter().map(|word| word.text));
        }
        Self(gist)
    }

    /// |A ∩ B| / |A ∪ B|; two empty gists are the same.
    pub fn similarity(&self, other: &Self) -> f64 {
        let shared = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - shared;
        if all == 0 { 1.0 } else { shared as f64 / all as f64 }
    }

    /// Share of `other`'s words that are here.
    pub fn covers(&self, other: &Self) -> f64 {
        if other.0.is_empty() {
            return 0.0;
        }
        self.0.intersection(&other.0).count() as f64 / other.0.len() as f64
    }
}
