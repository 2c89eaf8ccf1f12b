//! What successes leave: counts and sums, the same in any order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::catalog::words;
use maxim_language::{Encoder, EncoderId, Stems};
use maxim_region::FewSources;

/// Steps of a vector's number from 0 to 1. Whole numbers add up to the same in any order.
const STEPS: f32 = 4096.0;
/// Longest goal that is learned from, in characters.
const GOAL: usize = 400;

/// A goal, taken apart once.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    pub(super) text: String,
    /// Stem and the plainest of its words.
    pub(super) words: BTreeMap<String, String>,
    /// Direction of its meaning, in steps; zero where nothing is known of it.
    pub(super) vector: Vec<i32>,
}

impl Goal {
    pub fn new(text: &str, stems: &Stems, encoder: &dyn Encoder) -> Self {
        let text: String = text.trim().chars().take(GOAL).collect();
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        for word in words(&text) {
            let Some(stem) = stems.of(&word) else { continue };
            let kept = found.entry(stem).or_insert_with(|| word.clone());
            if super::catalog::is_plainer(&word, kept) {
                *kept = word;
            }
        }
        let vector = encoder.embed(&text).vector().iter().map(|x| (x * STEPS).round() as i32).collect();
        Self { text, words: found, vector }
    }

    pub(super) fn direction(&self) -> impl Iterator<Item = f64> + '_ {
        self.vector.iter().map(|step| f64::from(*step) / f64::from(STEPS))
    }

    /// By which it is drawn into the sample: the same for the same words.
    pub(super) fn key(&self) -> u64 {
        maxim_bus::hash::StableHash::default().add(self.text.as_bytes()).get()
    }
}

/// The successes of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub successes: u32,
    /// Goals by word; of the words of one stem the plainest.
    pub words: BTreeMap<String, u32>,
    /// The turns of words that few goals had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of: BTreeMap<String, FewSources>,
    /// Sum of the goals' vectors, in steps.
    pub sum: Vec<i32>,
    /// The encoder of the sum.
    pub encoder: Option<EncoderId>,
}

impl Learned {
    pub(super) fn add(&mut self, goal: &Goal, turn: &str, encoder: &EncoderId) {
        self.successes = self.successes.saturating_add(1);
        for word in goal.words.values() {
            let count = self.words.entry(word.clone()).or_default();
            let of = self.of.entry(word.clone()).or_default();
            of.note(turn, *count);
            *count += 1;
        }
        self.of.retain(|_, of| !of.is_empty());
        if self.encoder.as_ref() != Some(encoder) {
            // Sums of another encoder mean nothing to this one.
            self.sum = vec![0; goal.vector.len()];
            self.encoder = Some(encoder.clone());
        }
        for (sum, step) in self.sum.iter_mut().zip(&goal.vector) {
            *sum = sum.saturating_add(*step);
        }
    }

    /// Removes words that only forgotten goals had; `None` if there are none.
    pub(super) fn without(&self, gone: &BTreeSet<u64>) -> Option<Self> {
        if !self.of.values().any(|of| of.names(gone)) {
            return None;
        }
        let mut left = self.clone();
        left.of.retain(|word, of| {
            let is_spent = of.forget(gone);
            if is_spent {
                left.words.remove(word);
            }
            !is_spent
        });
        Some(left)
    }

    pub(super) fn direction(&self) -> impl Iterator<Item = f64> + '_ {
        self.sum.iter().map(|step| f64::from(*step) / f64::from(STEPS))
    }
}

/// A sample of past goals: those with the smallest keys, so the same ones in any order of arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    goals: BTreeMap<u64, Sampled>,
}

/// A past goal and the tools that served it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    pub goal: String,
    pub used: BTreeMap<String, u32>,
    /// Its turns, while they are few.
    #[serde(default, skip_serializing_if = "FewSources::is_empty")]
    pub of: FewSources,
}

impl Sample {
    /// The goal with one more success, if it is in the sample, and the key that leaves it.
    pub(super) fn with(&self, goal: &Goal, tool: &str, turn: &str) -> (Option<(u64, Sampled)>, Option<u64>) {
        let key = goal.key();
        let known = self.goals.get(&key);
        let full = known.is_none() && self.goals.len() >= super::law::SAMPLE;
        let last = self.goals.last_key_value().map(|(last, _)| *last);
        if full && last.is_some_and(|last| key > last) {
            return (None, None);
        }
        let new = || Sampled { goal: goal.text.clone(), used: BTreeMap::new(), of: FewSources::default() };
        let mut sampled = known.cloned().unwrap_or_else(new);
        sampled.of.note(turn, sampled.used.values().sum());
        *sampled.used.entry(tool.to_owned()).or_default() += 1;
        (Some((key, sampled)), last.filter(|_| full))
    }

    pub(super) fn put(&mut self, key: u64, sampled: Sampled) {
        self.goals.insert(key, sampled);
    }

    pub(super) fn remove(&mut self, key: u64) {
        self.goals.remove(&key);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Sampled> {
        self.goals.values()
    }

    pub(super) fn by_key(&self) -> impl Iterator<Item = (u64, &Sampled)> {
        self.goals.iter().map(|(key, sampled)| (*key, sampled))
    }
}
