//! The nearest of many vectors: one pass over packed sign signatures, then the near ones compared exactly.
//!
//! On real text hash tables need a large part of the set at random addresses for the same recall, so the signatures lie
//! packed and are read once, in order: at most 4 ns an item.

use crate::packed::{bits_apart, soon};
use crate::signature::Signature;

/// Up to so many items all are compared exactly.
pub const ALL_BELOW: usize = 5_000;
/// Items compared exactly: the least and the most, and 0.2 % of all between.
const LEAST: usize = 500;
const MOST: usize = 5_000;
/// Signatures that are looked at for the first cut.
const SAMPLE: usize = 4_096;
/// More than wanted are taken by the sampled cut, so that seldom too few are.
const SLACK: f64 = 1.3;
/// Signatures whose distances are held at a time.
const BLOCK: usize = 512;
/// Signatures between the one that is compared and the one that is sent for.
const AHEAD: usize = 256;
/// Bits of which all differ.
const FARTHEST: u16 = 256;

/// How many items are compared exactly out of `count`.
pub fn looked_at(count: usize) -> usize {
    if count <= ALL_BELOW { count } else { (count / 500).clamp(LEAST, MOST) }
}

/// Items by bits apart from `signature`, at least `wanted` of those that `allowed` lets pass where there are so many;
/// in no order that matters, tied distances at the cut included.
pub fn near(signature: &Signature, all: &[Signature], wanted: usize, allowed: impl Fn(usize) -> bool) -> Vec<u32> {
    let step = all.len().div_ceil(SAMPLE).max(1);
    let (mut sampled, mut count) = ([0usize; 257], 0);
    for at in (0..all.len()).step_by(step).filter(|at| allowed(*at)) {
        sampled[usize::from(bits_apart(signature, &all[at]))] += 1;
        count += 1;
    }
    let enough = (wanted as f64 * SLACK / step as f64).ceil() as usize + 2;
    let first = if enough >= count { FARTHEST } else { reach(&sampled, enough) };
    let found = pass(signature, all, wanted, first, &allowed);
    // The sample misled.
    if found.len() < wanted && first < FARTHEST { pass(signature, all, wanted, FARTHEST, &allowed) } else { found }
}

/// The least distance within which `count` lie.
fn reach(by_distance: &[usize; 257], count: usize) -> u16 {
    let mut sum = 0;
    let is_enough = |n: &usize| {
        sum += n;
        sum >= count
    };
    by_distance.iter().position(is_enough).map_or(FARTHEST, |distance| distance as u16)
}

/// All that are allowed and no farther than the cut, which falls as nearer ones come: `wanted` stay.
fn pass(
    signature: &Signature,
    all: &[Signature],
    wanted: usize,
    mut cut: u16,
    allowed: &impl Fn(usize) -> bool,
) -> Vec<u32> {
    let mut found: Vec<(u16, u32)> = Vec::new();
    let mut near = [(0u16, 0u16); BLOCK];
    // How many of those found lie so far away, and how many no farther than the cut.
    let (mut by_distance, mut inside) = ([0usize; 257], 0);
    for start in (0..all.len()).step_by(BLOCK) {
        let count = within(signature, &all[start..], cut, &mut near);
        for (distance, at) in &near[..count] {
            let at = start + usize::from(*at);
            if allowed(at) {
                found.push((*distance, at as u32));
                by_distance[usize::from(*distance)] += 1;
                inside += 1;
            }
        }
        while cut > 0 && inside - by_distance[usize::from(cut)] >= wanted {
            inside -= by_distance[usize::from(cut)];
            cut -= 1;
        }
    }
    found.into_iter().filter(|(distance, _)| *distance <= cut).map(|(_, at)| at).collect()
}

#[inline(always)]
fn within_plain(signature: &Signature, rest: &[Signature], threshold: u16, near: &mut [(u16, u16); BLOCK]) -> usize {
    let mut count = 0;
    for (at, other) in rest.iter().take(BLOCK).enumerate() {
        soon(rest, at + AHEAD);
        let distance = bits_apart(signature, other);
        // Written always, counted only when near: no branch to guess wrong.
        near[count] = (distance, at as u16);
        count += usize::from(distance <= threshold);
    }
    count
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn within_popcnt(signature: &Signature, rest: &[Signature], threshold: u16, near: &mut [(u16, u16); BLOCK]) -> usize {
    within_plain(signature, rest, threshold, near)
}

/// Fills the front of `near` with those of the first block within the threshold; how many there are.
fn within(signature: &Signature, rest: &[Signature], threshold: u16, near: &mut [(u16, u16); BLOCK]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // Without the instruction a count of bits is a dozen operations.
        #[allow(unsafe_code)] // SAFETY: the processor was just asked for the feature
        return unsafe { within_popcnt(signature, rest, threshold, near) };
    }
    within_plain(signature, rest, threshold, near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(count: u64) -> Vec<Signature> {
        let mix = |n: u64| (n ^ n >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n << 17;
        (0..count).map(|n| [mix(n), mix(n + 7), mix(n * 3 + 1), mix(n * 5 + 2)]).collect()
    }

    #[test]
    fn the_nearest_are_those_of_a_full_sort() {
        let all = spread(20_003);
        for asked in [0usize, 777, 20_002] {
            let found = near(&all[asked], &all, 500, |_| true);
            let mut sorted: Vec<u16> = all.iter().map(|other| bits_apart(&all[asked], other)).collect();
            sorted.sort_unstable();
            let cut = sorted[499];
            let expected = sorted.iter().filter(|distance| **distance <= cut).count();
            assert_eq!(found.len(), expected);
            assert!(found.iter().all(|at| bits_apart(&all[asked], &all[*at as usize]) <= cut));
            assert!(found.contains(&(asked as u32)));
        }
    }

    #[test]
    fn only_the_allowed_are_found_however_few_they_are() {
        let all = spread(20_003);
        let found = near(&all[5], &all, 500, |at| at % 1_000 == 3);
        assert_eq!(found.len(), 20);
        let many = near(&all[5], &all, 500, |at| at.is_multiple_of(2));
        assert!(many.len() >= 500 && many.iter().all(|at| at.is_multiple_of(2)));
    }

    #[test]
    fn a_sample_that_misleads_leaves_nothing_out() {
        let mut all = spread(20_003);
        let step = all.len().div_ceil(SAMPLE);
        // Those that are sampled are equal, and fewer than wanted.
        (0..all.len()).step_by(step).for_each(|at| all[at] = all[0]);
        let equal = all.len().div_ceil(step);
        let found = near(&all[0], &all, equal + 500, |_| true);
        assert!(found.len() >= equal + 500, "{} of {}", found.len(), equal + 500);
        let farthest = found.iter().map(|at| bits_apart(&all[0], &all[*at as usize])).max();
        let left_out = |at: &usize| !found.contains(&(*at as u32));
        let nearest = (0..all.len()).filter(left_out).map(|at| bits_apart(&all[0], &all[at])).min();
        assert!(farthest < nearest, "{farthest:?} {nearest:?}");
    }

    #[test]
    fn a_large_store_is_compared_by_a_fifth_of_a_percent() {
        assert_eq!([10, 5_000, 100_000, 1_000_000, 9_000_000].map(looked_at), [10, 5_000, 500, 2_000, 5_000]);
    }
}
