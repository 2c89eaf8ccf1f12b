//! When deliberation ends, and how much a thought stands out.

use std::collections::BTreeSet;

use maxim_bus::signals::cycle::CycleEnding;
use maxim_bus::units::Salience;

use maxim_language::Stems;

/// Likeness of two cycles' reasoning from which on nothing new is thought.
pub const ALIKE: f64 = 0.8;
/// Weights of what it was enriched with, what was remembered, and how new it is.
const WEIGHTS: [f64; 3] = [0.3, 0.3, 0.4];
/// Sections and memories that count in full.
const SECTIONS: f64 = 5.0;
const MEMORIES: f64 = 4.0;

/// |A ∩ B| / |A ∪ B| of the content words' stems (Jaccard 1912); two thoughts without any are alike.
pub fn likeness(a: &str, b: &str) -> f64 {
    let stems = Stems::default();
    let of = |text: &str| stems.of_text(text).into_iter().collect::<BTreeSet<String>>();
    let (a, b) = (of(a), of(b));
    let shared = a.intersection(&b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 1.0 } else { shared as f64 / all as f64 }
}

/// s = 0.3·min(sections/5, 1) + 0.3·min(memories/4, 1) + 0.4·(1 − likeness to the thought before). The first thought is
/// like none.
pub fn salience(sections: usize, memories: usize, before: Option<&str>, thought: &str) -> Salience {
    let [of_sections, of_memories, of_newness] = WEIGHTS;
    let alike = before.map_or(0.0, |before| likeness(before, thought));
    let full = |count: usize, most: f64| (count as f64 / most).min(1.0);
    Salience::clamped(
        of_sections * full(sections, SECTIONS) + of_memories * full(memories, MEMORIES) + of_newness * (1.0 - alike),
    )
}

/// Where a cycle stands.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// From 1, and how many there may be.
    pub cycle: u32,
    pub cycles: u32,
    /// It had been told to act.
    pub pressed: bool,
    /// The thought before.
    pub before: Option<&'a str>,
}

/// How a cycle ends whose reply was read. `ready`: it named an action and wants it now.
pub fn ending(ready: bool, thought: &str, standing: Standing<'_>) -> CycleEnding {
    match standing.before {
        _ if ready => CycleEnding::Ready,
        _ if standing.pressed => CycleEnding::Pressed,
        Some(before) if likeness(before, thought) >= ALIKE => CycleEnding::Converged,
        _ if standing.cycle >= standing.cycles => CycleEnding::Last,
        _ => CycleEnding::Continued,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_stands_out_by_what_it_rests_on_and_by_how_new_it_is() {
        let near = |salience: Salience, expected: f64| assert!((salience.get() - expected).abs() < 1e-12, "{salience}");
        // 0.3·⅕ + 0.3·¼ + 0.4
        near(salience(1, 1, None, "I look for the key"), 0.06 + 0.075 + 0.4);
        near(salience(0, 0, None, ""), 0.4);
        near(salience(9, 9, Some("old boats"), "new keys"), 1.0);
        // {look, key} and {look, door}: one of three is shared.
        near(salience(5, 0, Some("I look for the key"), "I look at the doors"), 0.3 + 0.4 * (1.0 - 1.0 / 3.0));
        near(salience(0, 2, Some("looking for keys"), "I look for the key"), 0.15);
    }

    #[test]
    fn content_words_alone_make_two_thoughts_alike() {
        assert_eq!(likeness("I should look for the key", "looking for keys"), 1.0);
        assert_eq!(likeness("the key", "the boat"), 0.0);
        assert_eq!(likeness("it is", ""), 1.0, "neither says anything");
        // Four of five.
        assert_eq!(likeness("red key blue drawer kitchen", "red key blue drawer"), 0.8);
    }

    #[test]
    fn it_ends_when_it_is_ready_repeats_itself_or_has_thought_often_enough() {
        let standing = |cycle, before| Standing { cycle, cycles: 3, pressed: false, before };
        let first = standing(1, None);
        assert_eq!(ending(true, "I act", first), CycleEnding::Ready);
        assert_eq!(ending(false, "I wonder", first), CycleEnding::Continued);
        assert_eq!(ending(false, "boats", standing(2, Some("keys"))), CycleEnding::Continued);
        assert_eq!(
            ending(false, "red key blue drawer", standing(2, Some("red key blue drawer kitchen"))),
            CycleEnding::Converged
        );
        assert_eq!(
            ending(false, "red key blue", standing(2, Some("red key blue drawer kitchen"))),
            CycleEnding::Continued
        );
        assert_eq!(ending(false, "boats", standing(3, Some("keys"))), CycleEnding::Last);
        assert_eq!(ending(false, "boats", Standing { cycles: 1, ..first }), CycleEnding::Last);
        assert_eq!(
            ending(false, "keys", Standing { pressed: true, ..standing(4, Some("keys")) }),
            CycleEnding::Pressed
        );
        assert_eq!(ending(true, "keys", Standing { pressed: true, ..standing(4, Some("keys")) }), CycleEnding::Ready);
    }
}
