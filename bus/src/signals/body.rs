//! What a body reports of its movements, and what was otherwise than expected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal;
use crate::units::{Confidence, Intensity};

/// A movement ended. The readings are the body's sensors by name, right before and right after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovementSensed {
    /// The execution that moved; none for what moved by itself.
    pub action: Option<MessageId>,
    /// E.g. `head`, `left_arm`, `base`.
    pub body_part: String,
    /// E.g. `turn`, `grip`.
    pub movement: String,
    pub params: Json,
    pub before: BTreeMap<String, f64>,
    pub after: BTreeMap<String, f64>,
    /// How far the joints that turn went on the way, summed, in degrees, where the driver read them on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub travelled: Option<f64>,
}

impl MovementSensed {
    /// How far the joints that turn went, summed, in degrees: along the way where that was read, else from start to end. Lengths
    /// don't count.
    pub fn degrees(&self) -> f64 {
        let turned = |(name, after): (&String, &f64)| {
            let is_length = matches!(name.as_str(), "x" | "y" | "z") || name.ends_with("_mm");
            let before = self.before.get(name).filter(|_| !is_length)?;
            Some((after - before).abs())
        };
        let ends = self.after.iter().filter_map(turned).filter(|degrees| degrees.is_finite()).sum();
        self.travelled.filter(|way| way.is_finite()).map_or(ends, |way| way.max(ends))
    }
}

/// A movement went otherwise than its forward model predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensoryErrorSensed {
    pub action: Option<MessageId>,
    pub body_part: String,
    pub movement: String,
    /// The sensor that was furthest off.
    pub sensor: String,
    /// Change that was expected, and the one that came, in the sensor's own unit.
    pub expected: f64,
    pub observed: f64,
    /// How many standard deviations lie between them.
    pub surprise: f64,
    /// How much such an error hurts.
    pub intensity: Intensity,
    /// Of the forward model.
    pub confidence: Confidence,
}

signal! {
    MovementSensed: Anywhere, Transient;
    SensoryErrorSensed: Learning, Lossless;
}
