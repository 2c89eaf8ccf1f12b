//! What came after something, or before it. The answer may share no word with the question, and may be in another
//! sitting. Documents that follow the best hits, in the order of experience, inherit from them.

use super::asked::Then;
use super::query::{By, Hit};
use super::{TextIndex, order};

/// Best documents from which others inherit, at most.
const SEEDS: usize = 3;
/// A document below this share of the best score is not one of them.
const SEED_SHARE: f32 = 0.7;
/// Number of inheriting documents, in the order of experience.
const STEPS: usize = 5;
/// Share that the next document gets of what the previous one got.
const DECAY: f32 = 0.8;
/// Share of the smaller value that is added if a document was also found by itself.
const BOTH: f32 = 0.3;

impl TextIndex {
    /// Adds the documents after the best hits, or before them. `weight`: the share that the next one inherits.
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
