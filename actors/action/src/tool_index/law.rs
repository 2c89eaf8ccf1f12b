//! Numbers of the score: saturation, rarity, and how many tools are worth showing.

/// Saturation of a word's weight in one tool (Robertson & Zaragoza 2009). Tool texts are long enough for the usual values.
const K1: f64 = 1.2;
/// Length normalisation, over learned words too: else tools with many successes swallow everything.
const B: f64 = 0.75;

/// Weight of a word by where a tool's own text has it, in tenths: whole numbers add up to the same in any order.
pub(super) const NAME: u32 = 20;
pub(super) const DESCRIPTION: u32 = 10;
pub(super) const PARAMETER: u32 = 10;
pub(super) const PARAMETER_DESCRIPTION: u32 = 5;
/// Weight of one success with a goal that had the word, in tenths.
pub(super) const SUCCESS: u32 = 3;

/// Weight of the cosine of goal and tool beside the coverage of the goal's words.
pub(super) const MEANING: f64 = 0.7;
/// How many successes the tool's own description counts for in its centroid.
pub(super) const DESCRIBED: f64 = 3.0;
/// How many successes the descriptions' mean counts for in the mean goal.
pub(super) const PRIOR: f64 = 20.0;
/// How much of a tool's score on foreign goals is subtracted: a little more than all, so that tools without successes
/// keep their places.
pub(super) const HUB: f64 = 1.5;
/// Successes after which the correction for hubs counts whole.
pub(super) const HUB_AFTER: f64 = 50.0;

/// Cosine at and below which words are no help to each other.
pub(super) const WORD_FLOOR: f32 = 0.2;
/// Words of near meaning that may stand for one of the goal's.
pub(super) const NEIGHBOURS: usize = 20;
/// Goals used for the correction and the bar.
pub(super) const SAMPLE: usize = 256;

/// Successes before which the bar isn't learned.
const BAR_AFTER: usize = 50;
/// Share of the best score that is enough to be shown, before it is learned.
const BAR: f64 = 0.25;
/// Share of past successes whose tool may fall under the bar.
const MISSED: f64 = 0.02;
/// The learned share is never higher. Beyond it, savings cost more misses than they are worth.
const BAR_MOST: f64 = 0.3;
/// Tools shown, at least.
pub(super) const SHOWN_LEAST: usize = 5;
/// Share of the tokens of all schemas that showing some must save.
pub(super) const SAVED: f64 = 0.75;

/// tf (k1 + 1) / (tf + k1 (1 − b + b · length / average)).
/// The weight is in tenths.
pub(super) fn saturated(weight: u32, relative_length: f64) -> f64 {
    let weight = f64::from(weight) / 10.0;
    weight * (K1 + 1.0) / (weight + K1 * (1.0 - B + B * relative_length))
}

/// ln(1 + (N − n + ½) / (n + ½)) for a word in `n` of `total` tools.
pub(super) fn rarity(total: usize, n: usize) -> f64 {
    let (total, n) = (total as f64, n.min(total) as f64);
    (1.0 + (total - n + 0.5) / (n + 0.5)).ln()
}

/// Share of the best score from which a tool is shown. Nearly all tools used for past goals passed it. `shares` are
/// scores of the used tool divided by the best score.
pub(super) fn bar(mut shares: Vec<f64>, successes: usize) -> f64 {
    if successes < BAR_AFTER || shares.is_empty() {
        return BAR;
    }
    shares.sort_by(f64::total_cmp);
    let at = (MISSED * shares.len() as f64) as usize;
    shares.get(at).copied().unwrap_or(BAR).clamp(0.05, BAR_MOST)
}

/// How many of the best to show. `scores` are descending; `full` and `name` are tokens of each tool in the same order.
pub(super) fn shown(scores: &[f64], full: &[usize], name: &[usize], bar: f64) -> usize {
    let best = scores.first().copied().unwrap_or(0.0);
    if best <= 0.0 {
        return SHOWN_LEAST.min(scores.len());
    }
    let whole: usize = full.iter().sum();
    let mut tokens: usize = name.iter().sum();
    let most = whole as f64 * (1.0 - SAVED);
    for (count, score) in scores.iter().enumerate() {
        let with = tokens + full[count].saturating_sub(name[count]);
        if count >= SHOWN_LEAST && (*score < bar * best || with as f64 > most) {
            return count;
        }
        tokens = with;
    }
    scores.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_agree_with_numbers_by_hand() {
        assert!((saturated(10, 1.0) - 1.0).abs() < 1e-12);
        assert!((saturated(20, 2.0) - 4.4 / (2.0 + 1.2 * 1.75)).abs() < 1e-12);
        assert!((rarity(10, 1) - (1.0f64 + 9.5 / 1.5).ln()).abs() < 1e-12);
    }

    #[test]
    fn the_bar_is_learned_after_fifty_successes_and_lets_two_in_a_hundred_miss() {
        assert_eq!(bar(vec![0.9; 49], 49), 0.25);
        let shares: Vec<f64> = (0..100).map(|n| f64::from(n) / 100.0 + 0.05).collect();
        assert!((bar(shares, 100) - 0.07).abs() < 1e-12);
    }

    #[test]
    fn at_least_five_are_shown_and_no_more_than_a_quarter_of_the_tokens() {
        let scores: Vec<f64> = (0..40).map(|n| 1.0 - f64::from(n) / 100.0).collect();
        assert_eq!(shown(&scores, &[100; 40], &[5; 40], 0.2), 8, "8 · 100 + 32 · 5 ≤ 1000 < 9 · 100 + 31 · 5");
        assert_eq!(shown(&scores, &[100; 40], &[5; 40], 0.95), 6);
        assert_eq!(shown(&scores, &[10; 40], &[5; 40], 0.2), 5, "names alone cost half already");
        assert_eq!(shown(&[0.0; 9], &[100; 9], &[5; 9], 0.2), 5, "nothing fits: five and the names");
        assert_eq!(shown(&[1.0, 0.9], &[10; 2], &[1; 2], 0.2), 2);
    }
}
