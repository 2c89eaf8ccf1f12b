//! The sources of knowledge, in a room that only keeps it while it has a source.

use std::collections::{BTreeSet, VecDeque};

use maxim_bus::hash::StableHash;
use maxim_bus::signals::concepts::RecordsRemoved;
use serde::{Deserialize, Serialize};

/// Episodes from which something was learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sources {
    /// Ids, the newest last.
    pub episodes: VecDeque<String>,
    /// It also has unnamed sources: older ones, or ones that sleep removed.
    others: bool,
}

impl Sources {
    pub fn new(episodes: VecDeque<String>, others: bool) -> Self {
        Self { episodes, others }
    }

    /// For imported knowledge.
    pub fn unknown() -> Self {
        Self::new(VecDeque::new(), true)
    }

    /// Adds this episode as a source or, without an id, an unknown one; the newest `most` are named.
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

    /// Removes removed episodes; true when a person had the last source forgotten.
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

    /// True if no source is left.
    pub fn is_spent(&self) -> bool {
        self.episodes.is_empty() && !self.others
    }
}

/// Episodes that are named. If something was met in more, they are no longer all known.
const FEW: usize = 4;
/// Stands for a forgotten episode.
const FORGOTTEN: u64 = 0;

/// All episodes in which something was met, while they are few: for words and values, of which there are many. Stored
/// as hashes, because the only question is whether one is removed. In a fixed order, so that the same episodes give the
/// same value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FewSources(Vec<u64>);

/// The hash of an episode: never 0, and small enough for every program that reads JSON.
pub fn source_hash(episode: &str) -> u64 {
    (StableHash::default().add_long(episode.as_bytes()).get() >> 11) | 1
}

/// The hashes of the episodes of a removal.
pub fn source_hashes(removed: &RecordsRemoved) -> BTreeSet<u64> {
    removed.ids.iter().map(|id| source_hash(id)).collect()
}

impl FewSources {
    /// Notes one more time, in this episode; `before`: how often it had been met.
    pub fn note(&mut self, episode: &str, before: u32) {
        if self.0.len() != before as usize || self.0.len() >= FEW || episode.is_empty() {
            self.0.clear();
            return;
        }
        self.0.push(source_hash(episode));
        self.0.sort_unstable();
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn names(&self, gone: &BTreeSet<u64>) -> bool {
        self.0.iter().any(|source| gone.contains(source))
    }

    /// A person had these forgotten; true when it was met in no other.
    pub fn forget(&mut self, gone: &BTreeSet<u64>) -> bool {
        if !self.names(gone) {
            return false;
        }
        self.0.iter_mut().filter(|source| gone.contains(source)).for_each(|source| *source = FORGOTTEN);
        self.0.sort_unstable();
        self.0.iter().all(|source| *source == FORGOTTEN)
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::concepts::Layer;

    use super::*;

    fn gone(id: &str, forgotten: bool) -> RecordsRemoved {
        RecordsRemoved { layer: Layer::Hippocampus, ids: vec![id.into()], forgotten, again: false }
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
        let mut unknown = Sources::unknown();
        unknown.note("a", 2);
        assert!(!unknown.let_go(&gone("a", true)), "nobody knows what else it rested on");
    }

    #[test]
    fn what_few_episodes_had_goes_with_the_last_of_them_and_what_many_had_stays() {
        let of = |ids: &[&str]| {
            let mut sources = FewSources::default();
            (0..).zip(ids).for_each(|(before, id)| sources.note(id, before));
            sources
        };
        let gone = |ids: &[&str]| ids.iter().map(|id| source_hash(id)).collect::<BTreeSet<u64>>();
        assert_eq!(of(&["a", "b"]), of(&["b", "a"]), "their order says nothing");
        let mut two = of(&["a", "b"]);
        assert!(!two.forget(&gone(&["a", "c"])) && !two.forget(&gone(&["a"])), "b is left");
        two.note("d", 2);
        assert!(!two.forget(&gone(&["b"])) && two.forget(&gone(&["d"])));
        assert!(of(&["a", "a"]).forget(&gone(&["a"])));
        let all = ["a", "b", "c", "d", "e"];
        assert!(of(&all[..4]).forget(&gone(&all)) && !of(&all).forget(&gone(&all)));
        let mut late = FewSources::default();
        late.note("a", 3);
        assert!(!late.forget(&gone(&["a"])), "nobody knows where it was met before");
    }
}
