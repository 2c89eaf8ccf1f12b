//! What something was learned from, in a room that keeps it only for as long as it rests on something.

use std::collections::VecDeque;

use maxim_bus::signals::concepts::RecordsRemoved;
use serde::{Deserialize, Serialize};

/// Episodes that something was learned from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sources {
    /// By id, the newest last.
    #[serde(default)]
    pub episodes: VecDeque<String>,
    /// It rests on others too: older ones than are named, or some that sleep let go. Of what was learned before they were
    /// noted nobody knows, so it has some.
    #[serde(default = "unnoted")]
    others: bool,
}

fn unnoted() -> bool {
    true
}

impl Sources {
    pub fn new(episodes: VecDeque<String>, others: bool) -> Self {
        Self { episodes, others }
    }

    /// Of what came from elsewhere, or before sources were noted.
    pub fn unknown() -> Self {
        Self::new(VecDeque::new(), true)
    }

    /// It was learned from this episode too, or, without an id, from one that nobody knows; the newest `most` are named.
    pub fn note(&mut self, episode: &str, most: usize) {
        if episode.is_empty() {
            self.others = true;
            return;
        }
        if self.episodes.iter().any(|known| known == episode) {
            return;
        }
        self.episodes.push_back(episode.to_owned());
        while self.episodes.len() > most {
            self.episodes.pop_front();
            self.others = true;
        }
    }

    pub fn holds(&self, removed: &RecordsRemoved) -> bool {
        self.episodes.iter().any(|episode| removed.ids.contains(episode))
    }

    /// Takes out what is gone; true when a person had the last of it forgotten.
    pub fn let_go(&mut self, removed: &RecordsRemoved) -> bool {
        let before = self.episodes.len();
        self.episodes.retain(|episode| !removed.ids.contains(episode));
        let is_less = self.episodes.len() < before;
        self.others |= is_less && !removed.forgotten;
        is_less && self.is_spent()
    }

    pub fn has_others(&self) -> bool {
        self.others
    }

    /// Nothing is left that it rests on.
    pub fn is_spent(&self) -> bool {
        self.episodes.is_empty() && !self.others
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::concepts::Layer;

    use super::*;

    fn gone(id: &str, forgotten: bool) -> RecordsRemoved {
        RecordsRemoved { layer: Layer::Hippocampus, ids: vec![id.into()], forgotten }
    }

    #[test]
    fn it_goes_with_the_last_that_is_forgotten_and_never_with_what_sleep_let_go() {
        let of = |ids: &[&str]| {
            let mut sources = Sources::default();
            ids.iter().for_each(|id| sources.note(id, 2));
            sources
        };
        let mut two = of(&["a", "a", "b"]);
        assert!(!two.let_go(&gone("a", true)) && !two.let_go(&gone("a", true)), "b is left");
        assert!(two.let_go(&gone("b", true)));
        let mut slept = of(&["a", "b"]);
        assert!(!slept.let_go(&gone("a", false)) && !slept.let_go(&gone("b", true)), "it rested on what sleep let go");
        assert!(slept.episodes.is_empty());
        let mut many = of(&["a", "b", "c"]);
        assert!(!many.let_go(&gone("b", true)) && !many.let_go(&gone("c", true)), "a is not named, but was one");
        let mut older: Sources = serde_json::from_str("{}").expect("one of before");
        older.note("a", 2);
        assert!(!older.let_go(&gone("a", true)), "nobody knows what it rested on before");
    }
}
