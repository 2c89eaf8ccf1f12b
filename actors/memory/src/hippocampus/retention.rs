//! How much an episode is worth keeping.

use jiff::Timestamp;
use maxim_config::{SHARE, Shape, Span, section};

use super::model::EpisodicMemory;

section! {
    /// What sleep keeps of episodes. A score is the sum of access, connectedness and importance, each 0 to 1.
    #[derive(Copy)]
    RetentionLaw = "sleep" {
        // Anderson & Schooler 1991.
        /// The decay of a memory's trace (ACT-R's d).
        trace_decay: f64 = "0.5", "exponent", Shape::Real { low: 0.01, high: 0.99 };
        /// What nobody recalled for this long is made small, or removed where it is low in score too.
        idle: Span = "7days", "time", Shape::Span { low: "1h", high: "3650days" };
        /// An idle episode of a lower score is removed, unless a person, a success or a pin protects it.
        remove_below: f64 = "0.4", "score", Shape::Real { low: 0.0, high: 4.5 };
        /// An episode of at least this score stays whole.
        whole_from: f64 = "2.0", "score", Shape::Real { low: 0.0, high: 4.5 };
        /// What an edge takes off what is missing to full connectedness, and again what its weight does.
        edge: f64 = "0.15", "share", SHARE;
        /// How much salience counts in importance.
        salience: f64 = "0.3", "weight", SHARE;
        /// How much novelty counts in importance.
        novelty: f64 = "0.2", "weight", SHARE;
        /// How much a success counts in importance.
        success: f64 = "0.25", "weight", SHARE;
        /// How much it counts in importance that a person took part.
        person: f64 = "0.25", "weight", SHARE;
        /// By how much the only episode of its hour of the week counts for more.
        sole_factor: f64 = "1.5", "times", Shape::Real { low: 1.0, high: 10.0 };
    }
    ordered { remove_below <= whole_from }
}

/// Shortest age of a trace, in seconds: a use at this moment is not infinitely strong.
const LEAST_AGE: f64 = 1.0;

/// Up to this many uses each counts by itself. Of more, those between the ends count by their mean, which differs by
/// less than 0.05 there.
const COUNTED: u32 = 64;

/// Base level of activation ln Σ t^−d (ACT-R) of n uses of which only the first and the last are known. The others
/// count as evenly spread between them, as Petrov (2006) does for older uses. Ages in seconds. Uses at random times
/// differ from it by less than 0.7; many uses within minutes count less than they would.
fn base_level(first: f64, last: f64, uses: u32, decay: f64) -> f64 {
    let first = first.max(LEAST_AGE);
    let last = last.max(LEAST_AGE).min(first);
    let trace = |age: f64| age.powf(-decay);
    let sum = match uses {
        0 | 1 => trace(last),
        2..=COUNTED => {
            let gap = (first - last) / f64::from(uses - 1);
            (0..uses).map(|use_| trace(last + gap * f64::from(use_))).sum()
        }
        _ => {
            let exponent = 1.0 - decay;
            let mean = if first - last > 1e-9 {
                (first.powf(exponent) - last.powf(exponent)) / exponent / (first - last)
            } else {
                trace(first)
            };
            trace(first) + trace(last) + f64::from(uses - 2) * mean
        }
    };
    sum.ln()
}

/// The properties of an episode's place in memory that count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Connections {
    /// Live edges.
    pub degree: usize,
    /// Sum of their weights.
    pub weight: f64,
    /// The only episode in its time bin.
    pub sole_representative: bool,
}

/// Retention: access (base level, mapped to 0 to 1) + connectedness (0 to 1) + importance (0 to 1), times 1.5 for the
/// only episode in its time bin.
pub fn retention(episode: &EpisodicMemory, connections: &Connections, now: Timestamp, law: &RetentionLaw) -> f64 {
    let decay = law.trace_decay;
    let age = |then: Timestamp| now.duration_since(then).as_secs_f64();
    let level =
        base_level(age(episode.created), age(episode.last_accessed), episode.access_count.saturating_add(1), decay);
    // ln of the trace of one day: a use a day ago counts one half.
    let day = -decay * 86_400f64.ln();
    let access = 1.0 / (1.0 + (day - level).exp());
    let connected = 1.0 - (-law.edge * connections.degree as f64 - law.edge * connections.weight).exp();
    let important = law.salience * episode.salience.get()
        + law.novelty * episode.novelty.get()
        + law.success * f64::from(u8::from(episode.success() == Some(true)))
        + law.person * f64::from(u8::from(episode.person_involved));
    let sole = if connections.sole_representative { law.sole_factor } else { 1.0 };
    (access + connected + important) * sole
}

/// Interactions with people, successes and pinned episodes are never removed, only compressed.
pub fn is_protected(episode: &EpisodicMemory) -> bool {
    episode.person_involved || episode.long_term || episode.success() == Some(true)
}

/// True when sleep may remove it: not protected, not used for seven days, and with a low score.
pub fn may_be_pruned(episode: &EpisodicMemory, score: f64, now: Timestamp, law: &RetentionLaw) -> bool {
    let idle_days = now.duration_since(episode.last_accessed).as_secs_f64() / 86_400.0;
    !is_protected(episode) && !episode.is_open() && idle_days >= law.idle.days() && score < law.remove_below
}

/// What sleep does with an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Compress,
    Prune,
}

/// An episode that was not used for seven days is removed if nothing protects it, else compressed. Pinned, open,
/// compressed and high-scoring episodes stay as they are.
pub fn verdict(episode: &EpisodicMemory, score: f64, now: Timestamp, law: &RetentionLaw) -> Verdict {
    let idle_days = now.duration_since(episode.last_accessed).as_secs_f64() / 86_400.0;
    if may_be_pruned(episode, score, now, law) {
        Verdict::Prune
    } else if idle_days < law.idle.days()
        || episode.long_term
        || episode.is_open()
        || episode.is_compressed()
        || score >= law.whole_from
    {
        Verdict::Keep
    } else {
        Verdict::Compress
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::hippocampus::model::Outcome;
    use jiff::SignedDuration;

    static LAW: LazyLock<RetentionLaw> = LazyLock::new(RetentionLaw::default);

    /// ln Σ t^−d over all ages, without forgetting any.
    fn exact(ages: &[f64]) -> f64 {
        ages.iter().map(|age| age.max(LEAST_AGE).powf(-0.5)).sum::<f64>().ln()
    }

    /// The base level of these ages from the stored values.
    fn kept(ages: &[f64]) -> f64 {
        let (first, last) = (ages.iter().copied().fold(0.0, f64::max), ages.iter().copied().fold(f64::MAX, f64::min));
        base_level(first, last, ages.len() as u32, 0.5)
    }

    #[test]
    fn the_base_level_agrees_with_act_r_and_favours_spaced_uses() {
        let (massed, spaced) = ([0.0, 1.0, 2.0], [0.0, 50.0, 100.0]);
        let expected =
            [(110.0, -1.2470406093765476, -0.6149397501656841), (1000.0, -2.3547648501552647, -2.328925021512579)];
        for (at, of_massed, of_spaced) in expected {
            let level = |uses: [f64; 3]| kept(&uses.map(|use_at| at - use_at));
            assert!((level(massed) - of_massed).abs() < 1e-6);
            assert!((level(spaced) - of_spaced).abs() < 1e-6);
            assert!(level(spaced) > level(massed));
        }
        assert!((kept(&[50.0]) - exact(&[50.0])).abs() < 1e-9);
        assert!((kept(&[0.0]) - 0.0).abs() < 1e-12, "this very moment counts as a second ago");
    }

    #[test]
    fn what_is_kept_of_the_uses_is_near_the_sum_over_all() {
        const DAY: f64 = 86_400.0;
        let mut state = 88_172_645_463_325_252u64;
        let mut chance = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for days in [1.0, 8.0, 30.0, 100.0, 365.0] {
            for last in [60.0, 3_600.0, 8.0 * 3_600.0, 0.9 * DAY] {
                for uses in [2, 3, 6, 20, 64, 65, 200] {
                    let reach = days * DAY - last;
                    let even: Vec<f64> = (0..uses).map(|n| last + reach * f64::from(n) / f64::from(uses - 1)).collect();
                    let off = kept(&even) - exact(&even);
                    assert!(off.abs() < if uses <= 64 { 1e-9 } else { 0.05 }, "{uses} uses in {days} days: {off}");
                    for _ in 0..20 {
                        let mut ages = vec![last, last + reach];
                        ages.extend((2..uses).map(|_| last + reach * chance()));
                        let off = kept(&ages) - exact(&ages);
                        assert!(off.abs() < 0.7, "{uses} uses by chance in {days} days: {off}");
                    }
                    let mut burst = vec![last + reach];
                    burst.extend((1..uses).map(|n| last + f64::from(n - 1)));
                    assert!(kept(&burst) < exact(&burst) + 1e-3, "a burst is never counted for more than it was");
                }
            }
        }
    }

    fn episode(recalls: u32, now: Timestamp) -> EpisodicMemory {
        let mut episode = EpisodicMemory::new("e", now - SignedDuration::from_hours(8 * 24));
        episode.outcome = Some(Outcome::default());
        episode.access_count = recalls;
        if recalls > 0 {
            episode.last_accessed = now - SignedDuration::from_hours(24);
        }
        episode
    }

    #[test]
    fn recalled_and_connected_episodes_outlast_idle_ones() {
        let now = Timestamp::from_second(1_767_600_000).expect("a time");
        let six = Connections { degree: 6, weight: 3.6, sole_representative: false };
        let scores = [
            retention(&episode(5, now), &six, now, &LAW),
            retention(&episode(0, now), &six, now, &LAW),
            retention(&episode(0, now), &Connections::default(), now, &LAW),
        ];
        assert!(scores[0] > scores[1] && scores[1] > scores[2], "{scores:?}");
        let idle = episode(0, now);
        assert!(may_be_pruned(&idle, scores[2], now, &LAW));
        assert!(!may_be_pruned(&episode(0, now), scores[1], now, &LAW), "connected");
        let mut success = idle.clone();
        success.outcome = Some(Outcome { success: Some(true), result: String::new() });
        let with_person = EpisodicMemory { person_involved: true, ..idle.clone() };
        let open = EpisodicMemory { outcome: None, ..idle.clone() };
        for kept in [success, with_person, open] {
            assert!(!may_be_pruned(&kept, 0.0, now, &LAW));
        }
        let young = now - SignedDuration::from_hours(48);
        assert!(!may_be_pruned(&idle, scores[2], young, &LAW), "seven days aren't over");
    }

    #[test]
    fn what_is_idle_is_made_small_or_goes_and_what_is_pinned_or_in_use_stays() {
        let now = Timestamp::from_second(1_767_600_000).expect("a time");
        let idle = episode(0, now);
        let of = |episode: &EpisodicMemory, score: f64| verdict(episode, score, now, &LAW);
        assert_eq!(
            (of(&idle, 0.1), of(&idle, 1.0), of(&idle, LAW.whole_from)),
            (Verdict::Prune, Verdict::Compress, Verdict::Keep)
        );
        let with_person = EpisodicMemory { person_involved: true, ..idle.clone() };
        assert_eq!(of(&with_person, 0.1), Verdict::Compress);
        let pinned = EpisodicMemory { long_term: true, ..idle.clone() };
        let open = EpisodicMemory { outcome: None, ..idle.clone() };
        let small = EpisodicMemory { live_edges: Some(3), ..with_person };
        for kept in [pinned, open, small, episode(1, now)] {
            assert_eq!(of(&kept, 0.1), Verdict::Keep, "{kept:?}");
        }
        assert_eq!(of(&EpisodicMemory { live_edges: Some(0), ..idle }, 0.1), Verdict::Prune, "small ones go too");
    }

    #[test]
    fn the_sole_representative_of_its_time_counts_half_as_much_again() {
        let now = Timestamp::from_second(1_767_600_000).expect("a time");
        let alone = Connections { sole_representative: true, ..Connections::default() };
        let ratio = retention(&episode(0, now), &alone, now, &LAW)
            / retention(&episode(0, now), &Connections::default(), now, &LAW);
        assert!((ratio - 1.5).abs() < 1e-12);
    }
}
