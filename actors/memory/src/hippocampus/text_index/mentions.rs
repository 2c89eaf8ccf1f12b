//! People named in a question: who said something, and about whom it was said.
//!
//! A name is removed from the question's words. Documents of other people lose score, by how much the name tells
//! compared with the words. Others speak about a person who is absent. To a person who is present they mostly speak
//! directly, which says nothing.

use super::TextIndex;
use super::people::Named;
use super::query::Weights;
use super::score::rarity;

/// Maximum weight of a name, as a share of the weight of all words: the speaker alone is no answer.
const MOST_TOLD: f32 = 0.8;
/// Number of documents of the named people that are examined whatever their words, the newest.
const MOST_SPOKEN: usize = 1_024;
/// A name that occurs in more documents is not searched for in texts.
const MOST_MENTIONS: usize = 2_048;

impl TextIndex {
    /// What each group of people loses when the question names somebody else. `total`: rarity of all its words.
    pub(super) fn penalties(&self, named: &Named, weights: &Weights, total: f32) -> Vec<f32> {
        let groups = self.people.groups();
        if named.people.is_empty() || weights.other <= 0.0 {
            return vec![0.0; groups.len()];
        }
        let is_theirs: Vec<bool> =
            groups.iter().map(|group| group.iter().any(|person| named.people.contains(person))).collect();
        let spoken = is_theirs.iter().zip(&self.of_group).filter(|(theirs, _)| **theirs).map(|(_, of)| of.len());
        let told = rarity(self.len(), spoken.sum()) / total.max(1e-6);
        let known = self.people.count().max(1) as f32;
        let penalty = told.min(MOST_TOLD).max(weights.other * (1.0 - 1.0 / known).powi(2));
        is_theirs.into_iter().map(|theirs| if theirs { 0.0 } else { penalty }).collect()
    }

    /// Documents, ascending, in which the named people took part: a name is found even if no other word matches.
    pub(super) fn spoken(&self, named: &Named, asked_in: Option<u32>) -> Vec<u32> {
        if named.people.is_empty() {
            return Vec::new();
        }
        let groups = self.people.groups().iter().zip(&self.of_group);
        let theirs = groups.filter(|(group, _)| group.iter().any(|person| named.people.contains(person)));
        let newest = theirs.flat_map(|(_, of)| of.iter().rev().take(MOST_SPOKEN).copied());
        let mut found: Vec<u32> = newest.filter(|ordinal| asked_in != Some(*ordinal)).collect();
        found.sort_unstable();
        found.drain(..found.len().saturating_sub(MOST_SPOKEN));
        found
    }

    /// Documents, ascending, that speak about a named person who took no part nearby.
    pub(super) fn mentions(&self, named: &Named, asked_in: Option<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        for (people, words) in &named.runs {
            // Of several words, the rarest one that occurs: "Halloran", not "Mrs".
            let stems = words.iter().filter_map(|word| self.stems.of(word));
            let lists = stems.map(|stem| self.list_of(&stem, 1.0)).filter(|list| list.len() > 0);
            let Some(list) = lists.min_by_key(|list| list.len()).filter(|list| list.len() <= MOST_MENTIONS) else {
                continue;
            };
            list.each(|posting| {
                if asked_in != Some(posting.ordinal) && !self.is_around(people, posting.ordinal) {
                    found.push(posting.ordinal);
                }
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether one of these people took part in a document or near it in its session.
    fn is_around(&self, people: &[u32], ordinal: u32) -> bool {
        let at = ordinal as usize;
        let Some(reach) = self.looks.get(at).map(|look| look.reach) else { return true };
        let near = at - usize::from(reach & 15)..=at + usize::from(reach >> 4);
        let groups = self.people.groups();
        near.into_iter().any(|near| groups[self.groups[near] as usize].iter().any(|person| people.contains(person)))
    }
}
