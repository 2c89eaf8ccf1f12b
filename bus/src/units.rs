//! Checked numbers. A value out of range is refused where it enters, so no room has to check it again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number outside its unit's range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{unit} must be between {low} and {high}, got {value}")]
pub struct OutOfRange {
    unit: &'static str,
    low: f64,
    high: f64,
    value: f64,
}

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident, $low:expr, $high:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            pub const LOW: f64 = $low;
            pub const HIGH: f64 = $high;

            pub fn new(value: f64) -> Result<Self, OutOfRange> {
                if !($low..=$high).contains(&value) {
                    return Err(OutOfRange { unit: stringify!($name), low: $low, high: $high, value });
                }
                Ok(Self(value))
            }

            /// The nearest value in range; NaN becomes the lowest.
            pub fn clamped(value: f64) -> Self {
                if value.is_nan() { Self($low) } else { Self(value.clamp($low, $high)) }
            }

            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = OutOfRange;
            fn try_from(value: f64) -> Result<Self, OutOfRange> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(unit: $name) -> f64 {
                unit.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

unit! {
    /// How much a moment deserves attention: 0 none, 1 all.
    Salience, 0.0, 1.0
}
unit! {
    /// How different from what is known: 0 the same, 1 never seen.
    Novelty, 0.0, 1.0
}
unit! {
    /// How sure: 0 not at all, 1 certain.
    Confidence, 0.0, 1.0
}

impl Confidence {
    /// min(0.99, 0.5 + 0.1 √n) after n observations that agree.
    pub fn of_observations(observations: u64) -> Self {
        Self::clamped((0.5 + 0.1 * (observations as f64).sqrt()).min(0.99))
    }
}

unit! {
    /// Expected or received value: 0 bad, 0.5 neutral, 1 good.
    Value, 0.0, 1.0
}
unit! {
    /// Reward prediction error, λ − V before the update: −1 worst surprise, 1 best (Rescorla & Wagner 1972).
    Rpe, -1.0, 1.0
}
unit! {
    /// How much it hurts: 0 not, 1 unbearable.
    Intensity, 0.0, 1.0
}

/// The sign of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Valence {
    Negative,
    Neutral,
    Positive,
}

impl Valence {
    /// Below 0.4 negative, above 0.6 positive, between them neutral.
    pub fn of(value: Value) -> Self {
        match value.get() {
            v if v < 0.4 => Self::Negative,
            v if v > 0.6 => Self::Positive,
            _ => Self::Neutral,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_is_refused_by_name() {
        let error = Salience::new(1.5).expect_err("1.5 is no salience");
        assert_eq!(error.to_string(), "Salience must be between 0 and 1, got 1.5");
        assert!(serde_json::from_str::<Salience>("-0.1").is_err());
        assert!(Rpe::new(-0.4).is_ok());
    }

    #[test]
    fn clamping_never_yields_nan() {
        assert_eq!(Confidence::clamped(f64::NAN).get(), 0.0);
        assert_eq!(Confidence::clamped(7.0).get(), 1.0);
    }
}
