//! What a body reports of its movements, and what differed from the expected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal;
use crate::units::{Confidence, Intensity};

/// A movement ended. The readings are the body's sensors by name, right before and right after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovementSensed {
    /// The execution that moved it; none for a movement without one.
    pub action: Option<MessageId>,
    /// E.g. `head`, `left_arm`, `base`.
    pub body_part: String,
    /// E.g. `turn`, `grip`.
    pub movement: String,
    pub params: Json,
    pub before: BTreeMap<String, f64>,
    pub after: BTreeMap<String, f64>,
    /// How far the turning joints went, summed, in degrees; set only where the driver read them during the movement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub travelled: Option<f64>,
}

impl MovementSensed {
    /// How far the turning joints went, summed, in degrees: along the way where it was read, else from start to end.
    /// Lengths don't count.
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

/// A movement differed from the prediction of its forward model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensoryErrorSensed {
    pub action: Option<MessageId>,
    pub body_part: String,
    pub movement: String,
    /// The sensor with the largest deviation.
    pub sensor: String,
    /// The expected change, then the observed one, in the sensor's own unit.
    pub expected: f64,
    pub observed: f64,
    /// How many standard deviations lie between the two.
    pub surprise: f64,
    /// How much this error hurts.
    pub intensity: Intensity,
    /// The confidence of the forward model.
    pub confidence: Confidence,
}

signal! {
    MovementSensed: Anywhere, Transient;
    SensoryErrorSensed: Learning, Lossless;
}
