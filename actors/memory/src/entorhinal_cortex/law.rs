//! How similar two situations are.
//!
//! Meaning and structure are the content. Time and context only count as far as the content is similar: two events at
//! the same hour are not similar for that reason alone.

use maxim_bus::signals::similarity::LikenessParts;
use maxim_config::{SHARE, section};

section! {
    /// How much each part counts in the likeness of two situations.
    #[derive(Copy)]
    LikenessWeights = "entorhinal_cortex" {
        /// What was said and meant.
        semantic: f64 = "0.35", "weight", SHARE;
        /// Tool, outcome, objects and people.
        structural: f64 = "0.35", "weight", SHARE;
        /// The time of day, week, month and year.
        temporal: f64 = "0.15", "weight", SHARE;
        /// Goal and mode.
        context: f64 = "0.15", "weight", SHARE;
    }
}

/// Likeness of random times: on average half of the circle apart, so this much counts as nothing.
const TIME_FLOOR: f64 = 0.5;
/// Cosine at which two packed vectors count as equal: int8 steps lose up to this much.
const SAME_DIRECTION: f32 = 0.998;
/// A different outcome reduces the likeness of two uses of one tool by this.
const OTHER_OUTCOME: f64 = 0.3;
/// Weight of the people in the structural part.
const PEOPLE: f64 = 0.2;
/// Weight of the mode in the context part, if both have a goal.
const MODE: f64 = 0.25;

/// The total, in [0, 1], over the parts that the cue has: c · (Σ content weights + Σ wᵢ·sᵢ of time and context) / Σ
/// w, where c is the weighted mean of the content parts. With all parts equal it is 1; without content it is the mean
/// of the rest.
pub fn likeness(parts: &LikenessParts, weights: &LikenessWeights) -> f64 {
    let mean = |pairs: [(Option<f64>, f64); 2]| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (part, weight) in pairs {
            if let Some(part) = part {
                sum += weight * part;
                total += weight;
            }
        }
        (sum, total)
    };
    let (content, content_weight) = mean([(parts.semantic, weights.semantic), (parts.structural, weights.structural)]);
    let (rest, rest_weight) = mean([(parts.temporal, weights.temporal), (parts.context, weights.context)]);
    if content_weight == 0.0 {
        return if rest_weight == 0.0 { 0.0 } else { rest / rest_weight };
    }
    content / content_weight * (content_weight + rest) / (content_weight + rest_weight)
}

/// Similarity of meanings, from the cosine of their vectors.
pub fn semantic(cosine: f32, floor: f32) -> f64 {
    if cosine >= SAME_DIRECTION { 1.0 } else { f64::from(maxim_language::calibrated(cosine, floor)) }
}

/// |A ∩ B| / |A ∪ B| of sorted lists; `None` if the cue has none.
pub fn overlap(cue: &[u32], other: &[u32]) -> Option<f64> {
    if cue.is_empty() {
        return None;
    }
    let shared = cue.iter().filter(|name| other.binary_search(name).is_ok()).count();
    Some(shared as f64 / (cue.len() + other.len() - shared) as f64)
}

/// Tool with its outcome, objects, and people beside them. People alone are no structure: two turns of one speaker may
/// be about different things.
pub fn structural(
    same_tool: Option<bool>,
    same_outcome: Option<bool>,
    objects: Option<f64>,
    people: Option<f64>,
) -> Option<f64> {
    let tool = same_tool.map(|same| match (same, same_outcome) {
        (false, _) => 0.0,
        (true, Some(false)) => 1.0 - OTHER_OUTCOME,
        (true, _) => 1.0,
    });
    let content: Vec<f64> = [tool, objects].into_iter().flatten().collect();
    if content.is_empty() {
        return None;
    }
    let content = content.iter().sum::<f64>() / content.len() as f64;
    Some(people.map_or(content, |people| content * (1.0 - PEOPLE + PEOPLE * people)))
}

/// Goal and mode; only the mode if the cue has no goal.
pub fn context(goal: Option<f64>, same_mode: Option<bool>) -> Option<f64> {
    let mode = same_mode.map(f64::from);
    match (goal, mode) {
        (Some(goal), Some(mode)) => Some((1.0 - MODE) * goal + MODE * mode),
        (goal, mode) => goal.or(mode),
    }
}

/// Likeness of two times from their circular likeness.
pub fn temporal(circular: f64) -> f64 {
    ((circular - TIME_FLOOR) / (1.0 - TIME_FLOOR)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(semantic: Option<f64>, structural: Option<f64>, temporal: Option<f64>, context: Option<f64>) -> f64 {
        likeness(&LikenessParts { semantic, structural, temporal, context }, &LikenessWeights::default())
    }

    #[test]
    fn equal_content_is_the_weighted_sum_and_duplicates_are_one() {
        assert!((of(Some(1.0), Some(1.0), Some(1.0), Some(1.0)) - 1.0).abs() < 1e-12);
        assert!((of(Some(1.0), Some(1.0), Some(0.2), Some(0.6)) - (0.7 + 0.03 + 0.09)).abs() < 1e-12);
        assert!((of(Some(0.5), Some(0.3), Some(1.0), Some(1.0)) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn the_same_time_and_context_make_nothing_alike() {
        assert_eq!(of(Some(0.0), Some(0.0), Some(1.0), Some(1.0)), 0.0);
        assert!(of(Some(0.09), None, Some(1.0), Some(1.0)) < 0.1);
    }

    #[test]
    fn what_the_cue_has_not_is_not_compared() {
        assert_eq!(of(None, Some(1.0), None, None), 1.0);
        assert_eq!(of(None, None, Some(0.4), None), 0.4);
        assert_eq!(of(None, None, None, None), 0.0);
    }

    #[test]
    fn structure_is_tool_with_outcome_and_objects_and_people_only_beside_them() {
        assert_eq!(structural(Some(true), Some(false), None, None), Some(0.7));
        assert_eq!(structural(Some(true), None, Some(0.5), None), Some(0.75));
        assert_eq!(structural(Some(true), None, None, Some(0.0)), Some(0.8));
        assert_eq!(structural(None, None, None, Some(1.0)), None);
        assert_eq!(overlap(&[1, 2, 3], &[2, 3, 4]), Some(0.5));
        assert_eq!(overlap(&[], &[1]), None);
        assert_eq!(context(Some(1.0), Some(false)), Some(0.75));
        assert_eq!([temporal(0.5), temporal(0.75), temporal(1.0)], [0.0, 0.5, 1.0]);
        assert_eq!([semantic(0.999, 0.35), semantic(0.35, 0.35)], [1.0, 0.0]);
    }
}
