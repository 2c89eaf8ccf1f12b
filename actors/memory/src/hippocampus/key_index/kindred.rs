//! Documents that share keys with a given one, newest first, and how much two documents have in common.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::KeyIndex;
use super::filter::{Field, Wanted};
use crate::hippocampus::law::{goal_similarity, proximity};

/// The similarity of two documents by their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Likeness {
    /// Jaccard of the objects; `None` if one has none.
    pub objects: Option<f64>,
    pub people: Option<f64>,
    /// 0 to 1.
    pub goal: f64,
    /// 0 to 1.
    pub proximity: f64,
}

/// The keys of one document, prepared for many comparisons.
pub struct Compared<'a> {
    index: &'a KeyIndex,
    time: i64,
    goal: Option<u32>,
    objects: Vec<u32>,
    people: Vec<u32>,
    /// Likeness of goals so far, because many documents have the same few.
    goals: BTreeMap<u32, f64>,
}

fn jaccard(a: &[u32], b: &[u32]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let shared = a.iter().filter(|id| b.contains(id)).count();
    Some(shared as f64 / (a.len() + b.len() - shared) as f64)
}

impl KeyIndex {
    fn split(&self, ordinal: u32) -> (Option<u32>, Vec<u32>, Vec<u32>) {
        let (mut goal, mut objects, mut people) = (None, Vec::new(), Vec::new());
        for id in self.traits.of(ordinal) {
            let key = self.traits.key(*id);
            match key {
                _ if key.starts_with(Field::Goal.letter()) => goal = Some(*id),
                _ if key.starts_with(Field::Object.letter()) => objects.push(*id),
                _ => people.push(*id),
            }
        }
        (goal, objects, people)
    }

    fn ordinal(&self, document: u32) -> Option<u32> {
        self.documents.binary_search(&document).ok().map(|ordinal| ordinal as u32)
    }

    /// Documents below `before` with this goal, newest first, at most `most`.
    pub fn same_goal(&self, goal: &str, before: u32, most: usize) -> Vec<u32> {
        self.newest_with(&[&Field::Goal.key(goal)], before, most)
    }

    /// A document to compare others with; `None` if it is unknown.
    pub fn compared(&self, document: u32) -> Option<Compared<'_>> {
        let ordinal = self.ordinal(document)?;
        let (goal, objects, people) = self.split(ordinal);
        let time = self.times.get(ordinal as usize).copied()?;
        Some(Compared { index: self, time, goal, objects, people, goals: BTreeMap::new() })
    }

    /// Living documents with all of these keys, newest first, at most `most`, all below `before`.
    fn newest_with(&self, keys: &[&str], before: u32, most: usize) -> Vec<u32> {
        let below = self.documents.partition_point(|document| *document < before) as u32;
        let mut found = Vec::with_capacity(most);
        self.visit(&Wanted::with(keys, below), &|_| true, &mut |ordinal| {
            found.push(self.documents[ordinal as usize]);
            found.len() < most
        });
        found
    }
}

impl Compared<'_> {
    /// Earlier documents that share keys with this one, with a weight for looking at them. Each list is cut off, so
    /// that a very common key costs no more than a rare one.
    pub fn candidates(&self, document: u32, most: usize, into: &mut BTreeMap<u32, f32>) {
        let index = self.index;
        let key = |id: &u32| index.traits.key(*id);
        let mut vote = |found: Vec<u32>, weight: f32| {
            found.into_iter().for_each(|document| *into.entry(document).or_default() += weight);
        };
        let share = 0.6 / self.objects.len().max(1) as f32;
        for (at, object) in self.objects.iter().enumerate() {
            vote(index.newest_with(&[key(object)], document, most), share);
            if let Some(goal) = &self.goal {
                vote(index.newest_with(&[key(object), key(goal)], document, most), 0.1);
            }
            if let Some(next) = self.objects.get(at + 1) {
                vote(index.newest_with(&[key(object), key(next)], document, most), 0.1);
            }
        }
        if let Some(goal) = &self.goal {
            vote(index.newest_with(&[key(goal)], document, most), 0.25);
        }
    }

    /// What this document and another have in common; `None` if the other is unknown or removed.
    pub fn with(&mut self, other: u32) -> Option<Likeness> {
        let index = self.index;
        let ordinal = index.ordinal(other)?;
        if index.dead.binary_search(&other).is_ok() {
            return None;
        }
        let (goal, objects, people) = index.split(ordinal);
        let goal = match (self.goal, goal) {
            (Some(mine), Some(theirs)) => *self
                .goals
                .entry(theirs)
                .or_insert_with(|| goal_similarity(index.traits.key(mine).get(1..), index.traits.key(theirs).get(1..))),
            _ => 0.0,
        };
        let time = |micros: i64| Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
        Some(Likeness {
            objects: jaccard(&self.objects, &objects),
            people: jaccard(&self.people, &people),
            goal,
            proximity: proximity(time(self.time), time(*index.times.get(ordinal as usize)?)),
        })
    }
}
