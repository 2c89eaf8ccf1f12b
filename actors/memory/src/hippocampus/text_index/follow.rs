//! What came after something, or before it: the answer needn't share a word with the question, nor stand in the same sitting.
//! What follows the best found, in the order of experience, inherits from it.

use super::asked::Then;
use super::query::{By, Hit};
use super::{TextIndex, order};

/// Best documents that others inherit from, at most.
const SEEDS: usize = 3;
/// A document that scores less than this share of the best is none of them.
const SEED_SHARE: f32 = 0.7;
/// Documents that inherit, in the order of experience.
const STEPS: usize = 5;
/// Share that the next one gets of what the one before it got.
const DECAY: f32 = 0.8;
/// Share of the lesser of both that is added where a document was found by itself too.
const BOTH: f32 = 0.3;

impl TextIndex {
    /// Adds what came after the best hits, or before them. `weight`: what the next one inherits.
    pub(super) fn follow(&self, then: Then, weight: f32, is_wanted: impl Fn(u32) -> bool, hits: &mut Vec<Hit>) {
        let Some(best) = hits.first().map(|hit| hit.score) else { return };
        let seeds = hits.iter().take(SEEDS).filter(|hit| hit.score >= SEED_SHARE * best);
        let seeds: Vec<(usize, f32)> =
            seeds.filter_map(|hit| Some((self.ordinal(hit.document)? as usize, hit.score))).collect();
        for (seed, score) in seeds {
            let mut gain = score * weight;
            for step in 1..=STEPS {
                let at = match then {
                    Then::After => seed.checked_add(step),
                    Then::Before => seed.checked_sub(step),
                };
                let Some(document) = at.and_then(|at| self.documents.get(at)).copied() else { break };
                match hits.iter_mut().find(|hit| hit.document == document) {
                    Some(hit) if hit.score < score => {
                        hit.score = hit.score.max(gain) + BOTH * hit.score.min(gain).max(0.0);
                    }
                    Some(_) => (),
                    None if is_wanted(document) => hits.push(Hit { document, score: gain, by: By::Neighbours }),
                    None => (),
                }
                gain *= DECAY;
            }
        }
        hits.sort_by(order);
    }
}
