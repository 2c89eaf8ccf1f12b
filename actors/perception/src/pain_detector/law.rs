//! How much repeated failures of the same kind hurt, and when the pain is felt.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::units::Intensity;
use serde::{Deserialize, Serialize};

/// Intensity of the first failure, 0 to 1.
pub const FIRST: f64 = 0.3;
/// Growth with the logarithm of the number of failures in a row.
pub const GROWTH: f64 = 0.17;
/// Share of the count left after one success.
pub const EASE: f64 = 0.5;
/// Pain of the same kind is felt at most once in this time.
pub const COOLDOWN: SignedDuration = SignedDuration::from_secs(5);
/// During the cooldown a new failure is still felt if it is stronger than the last felt one by at least this.
pub const STEP_FELT: f64 = 0.2;

pub use maxim_bus::signals::percept::PainKind;

/// min(1, 0.3 + 0.17 ln n) for the n-th failure; 0 for none.
pub fn intensity(failures: f64) -> Intensity {
    if failures <= 0.0 {
        return Intensity::clamped(0.0);
    }
    Intensity::clamped((FIRST + GROWTH * failures.max(1.0).ln()).min(1.0))
}

/// Maximum number of sore places.
const PLACES: usize = 512;

/// Failures of one kind in one place (a tool, a joint).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Sore {
    /// Number of failures, reduced by successes.
    count: f64,
    felt: Option<(Timestamp, f64)>,
}

/// Pain felt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Felt {
    pub kind: PainKind,
    pub place: String,
    pub intensity: Intensity,
}

/// Recent failures, by kind and place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sores {
    by_place: BTreeMap<String, BTreeMap<PainKind, Sore>>,
}

impl Sores {
    /// Counts a failure. Pain is felt unless this kind is in its cooldown at this place; the failure counts in any
    /// case.
    pub fn failure(&mut self, kind: PainKind, place: &str, at: Timestamp) -> Option<Felt> {
        let sore = self.sore(kind, place);
        sore.count += 1.0;
        let strength = intensity(sore.count);
        sore.feel(strength.get(), at).then(|| Felt { kind, place: place.to_string(), intensity: strength })
    }

    /// Takes a pain reported from outside with its own intensity.
    pub fn external(&mut self, place: &str, strength: Intensity, at: Timestamp) -> Option<Felt> {
        let kind = PainKind::External;
        let felt = self.sore(kind, place).feel(strength.get(), at);
        felt.then(|| Felt { kind, place: place.to_string(), intensity: strength })
    }

    /// A success halves the counts of all kinds at this place; counts below one failure are removed.
    pub fn success(&mut self, place: &str) {
        let Some(kinds) = self.by_place.get_mut(place) else {
            return;
        };
        kinds.values_mut().for_each(|sore| sore.count *= EASE);
        kinds.retain(|_, sore| sore.count >= 1.0);
        if kinds.is_empty() {
            self.by_place.remove(place);
        }
    }

    /// The intensity of the next failure of this kind at this place.
    pub fn next_intensity(&self, kind: PainKind, place: &str) -> Intensity {
        let count = self.by_place.get(place).and_then(|kinds| kinds.get(&kind)).map_or(0.0, |sore| sore.count);
        intensity(count + 1.0)
    }

    /// A failure at this place has not eased yet.
    pub fn is_sore(&self, place: &str) -> bool {
        self.by_place.contains_key(place)
    }

    /// Places with failures that have not eased, in order.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.by_place.keys().map(String::as_str)
    }

    fn sore(&mut self, kind: PainKind, place: &str) -> &mut Sore {
        if self.by_place.len() >= PLACES && !self.by_place.contains_key(place) {
            // Senses may name any number of places: the one with the oldest pain is removed.
            let last =
                |kinds: &BTreeMap<PainKind, Sore>| kinds.values().filter_map(|sore| sore.felt).map(|(at, _)| at).max();
            let oldest = self.by_place.iter().min_by_key(|(_, kinds)| last(kinds)).map(|(place, _)| place.clone());
            oldest.map(|place| self.by_place.remove(&place));
        }
        let kinds = self.by_place.entry(place.to_string()).or_default();
        kinds.entry(kind).or_insert(Sore { count: 0.0, felt: None })
    }
}

impl Sore {
    fn feel(&mut self, strength: f64, at: Timestamp) -> bool {
        let numb =
            self.felt.is_some_and(|(last, before)| at.duration_since(last) < COOLDOWN && strength < before + STEP_FELT);
        if !numb {
            self.felt = Some((at, strength));
        }
        !numb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    #[test]
    fn there_are_never_too_many_sore_places_and_the_oldest_go() {
        let mut sores = Sores::default();
        for n in 0..2000_i64 {
            sores.external(&format!("place {n:04}"), Intensity::clamped(0.5), at(n * 60));
        }
        assert_eq!(sores.places().count(), PLACES);
        assert!(sores.is_sore("place 1999") && !sores.is_sore("place 0000"));
    }

    #[test]
    fn intensity_grows_with_the_logarithm_up_to_one() {
        let of = |n: f64| intensity(n).get();
        assert!((of(1.0) - 0.3).abs() < 1e-12);
        assert!((of(2.0) - (0.3 + 0.17 * 2f64.ln())).abs() < 1e-12);
        assert!((of(10.0) - 0.691_439_5).abs() < 1e-6);
        assert_eq!((of(0.0), of(100.0)), (0.0, 1.0));
    }

    #[test]
    fn failures_add_up_and_success_eases() {
        let mut sores = Sores::default();
        let felt: Vec<f64> = (0..4)
            .filter_map(|n| sores.failure(PainKind::ToolError, "read", at(n * 10)))
            .map(|felt| felt.intensity.get())
            .collect();
        assert!(felt.len() == 4 && felt.windows(2).all(|w| w[0] < w[1]), "{felt:?}");
        sores.success("read");
        let next = sores.next_intensity(PainKind::ToolError, "read").get();
        assert!((next - intensity(3.0).get()).abs() < 1e-12, "four halved are two, the next is the third");
        (0..2).for_each(|_| sores.success("read"));
        assert_eq!(sores, Sores::default(), "nothing is left");
    }

    #[test]
    fn one_kind_is_felt_once_in_its_cooldown_and_others_at_once() {
        let mut sores = Sores::default();
        assert!(sores.failure(PainKind::Timeout, "read", at(0)).is_some());
        assert!(sores.failure(PainKind::Timeout, "read", at(4)).is_none());
        assert!(sores.failure(PainKind::ToolError, "read", at(4)).is_some());
        assert!(sores.failure(PainKind::Timeout, "write", at(4)).is_some());
        let again = sores.failure(PainKind::Timeout, "read", at(5)).expect("the cooldown is over");
        assert!((again.intensity.get() - intensity(3.0).get()).abs() < 1e-12, "the numb one counted");
    }

    #[test]
    fn a_much_stronger_pain_breaks_through_the_cooldown() {
        let mut sores = Sores::default();
        assert!(sores.external("hand", Intensity::clamped(0.3), at(0)).is_some());
        assert!(sores.external("hand", Intensity::clamped(0.4), at(1)).is_none());
        assert!(sores.external("hand", Intensity::clamped(0.9), at(1)).is_some());
    }
}
