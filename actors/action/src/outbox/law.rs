//! When a message is tried again.

use jiff::SignedDuration;

/// The first pause.
const FIRST: SignedDuration = SignedDuration::from_secs(1);
/// The longest pause of its own; a provider may ask for more.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);
/// The longest pause that a provider may ask for.
const LONGEST_ASKED: SignedDuration = SignedDuration::from_hours(1);

/// Pause after the `attempt`-th attempt (from 1) failed. It doubles each time, is multiplied by 0.5 to 1.5 by `chance`
/// in [0, 1), and is never shorter than the provider asked for.
pub fn pause(attempt: u32, chance: f64, asked: Option<u64>) -> SignedDuration {
    let doubled = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST);
    // Whole milliseconds: clocks are coarser than a fraction of chance.
    #[expect(clippy::cast_possible_truncation, reason = "at most a quarter of an hour")]
    let millis = (doubled.as_secs_f64() * 1e3 * (0.5 + chance.clamp(0.0, 1.0))).round() as i64;
    let jittered = SignedDuration::from_millis(millis);
    let asked = asked.map_or(SignedDuration::ZERO, |seconds| {
        SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)).min(LONGEST_ASKED)
    });
    jittered.max(asked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_keep_to_what_the_provider_asks() {
        assert_eq!(pause(1, 0.5, None), SignedDuration::from_secs(1));
        assert_eq!(pause(4, 0.5, None), SignedDuration::from_secs(8));
        assert_eq!(pause(40, 0.5, None), LONGEST);
        assert_eq!(pause(1, 0.5, Some(90)), SignedDuration::from_secs(90));
        assert_eq!(pause(1, 0.5, Some(u64::MAX)), LONGEST_ASKED);
    }

    proptest! {
        #[test]
        fn a_pause_is_never_nothing_and_never_endless(attempt in 0u32.., chance in 0.0f64..1.0, asked in any::<Option<u64>>()) {
            let pause = pause(attempt, chance, asked);
            prop_assert!(pause >= SignedDuration::from_millis(500) && pause <= LONGEST_ASKED);
        }
    }
}
