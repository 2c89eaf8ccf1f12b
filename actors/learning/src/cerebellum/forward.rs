//! Forward models: what a movement will do to each sensor (Wolpert, Miall & Kawato 1998).
//!
//! For each body part, movement and bucket of parameters, the change of each sensor has a running mean and variance
//! (Welford 1962). The model predicts from a confidence of 0.3 on, which is the third movement of its kind. Its error
//! is measured in standard deviations. Few movements say little about the spread, so a tenth of the expected change
//! is added as a prior worth two movements.

use std::collections::BTreeMap;

use maxim_bus::signals::body::MovementSensed;
use maxim_bus::units::{Confidence, Intensity};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::program::SkillLaw;

/// Number of movements at which confidence is one half: n / (n + 7) is 0.3 at three.
const HALF: f64 = 7.0;
/// Roughly the number of movements that the mean covers; older ones fade, because bodies change.
const MEMORY: f64 = 50.0;
/// Prior spread, as a share of the expected change, and its weight in movements.
const PRIOR_SHARE: f64 = 0.1;
const PRIOR_WEIGHT: f64 = 2.0;
/// Minimum spread, in the sensor's unit, because no sensor is exact.
const LEAST_SPREAD: f64 = 1e-6;
/// How much an error hurts that is just felt, and how much each further standard deviation adds.
const FIRST: f64 = 0.3;
const GROWTH: f64 = 0.05;
/// Maximum number of models, and of sensors in each; later ones aren't learned.
pub const MOST_MODELS: usize = 128;
const MOST_SENSORS: usize = 16;
/// Buckets per doubling of a numeric parameter.
const BUCKETS_AN_OCTAVE: f64 = 2.0;

/// Running mean and variance of a sensor's change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub count: f64,
    pub mean: f64,
    /// Sum of squared deviations.
    squares: f64,
}

impl Change {
    fn learn(&mut self, change: f64) {
        if self.count >= MEMORY {
            self.squares *= (MEMORY - 1.0) / self.count;
            self.count = MEMORY - 1.0;
        }
        self.count += 1.0;
        let before = change - self.mean;
        self.mean += before / self.count;
        self.squares += before * (change - self.mean);
    }

    /// Standard deviation expected for the next change.
    pub fn spread(&self) -> f64 {
        let prior = (PRIOR_SHARE * self.mean.abs()).max(LEAST_SPREAD);
        let variance = (self.squares + PRIOR_WEIGHT * prior * prior) / ((self.count - 1.0).max(0.0) + PRIOR_WEIGHT);
        (variance * (1.0 + 1.0 / self.count.max(1.0))).sqrt()
    }
}

/// The statistics of one kind of movement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForwardModel {
    pub movements: u32,
    pub sensors: BTreeMap<String, Change>,
}

/// The sensor with the largest error.
#[derive(Clone, Debug, PartialEq)]
pub struct SensoryError {
    pub sensor: String,
    pub expected: f64,
    pub observed: f64,
    pub surprise: f64,
    pub intensity: Intensity,
    pub confidence: Confidence,
}

impl ForwardModel {
    pub fn confidence(&self) -> Confidence {
        let n = f64::from(self.movements);
        Confidence::clamped(n / (n + HALF))
    }

    /// Expected change of each sensor and its standard deviation; none below the confidence needed to predict.
    pub fn predict(&self, law: &SkillLaw) -> Option<BTreeMap<&str, (f64, f64)>> {
        let sure = self.confidence().get() >= law.predicts_from - 1e-9;
        sure.then(|| {
            self.sensors.iter().map(|(name, change)| (name.as_str(), (change.mean, change.spread()))).collect()
        })
    }

    /// How the movement differed from the prediction; none if the difference is too small to be felt.
    pub fn error(&self, changes: &BTreeMap<String, f64>, law: &SkillLaw) -> Option<SensoryError> {
        let predicted = self.predict(law)?;
        let off = changes.iter().filter_map(|(sensor, observed)| {
            let (expected, spread) = predicted.get(sensor.as_str())?;
            Some((sensor, *expected, *observed, (observed - expected).abs() / spread))
        });
        let (sensor, expected, observed, surprise) =
            off.max_by(|a, b| a.3.total_cmp(&b.3)).filter(|worst| worst.3 >= law.felt_from)?;
        let intensity = Intensity::clamped(FIRST + GROWTH * (surprise - law.felt_from));
        let confidence = self.confidence();
        Some(SensoryError { sensor: sensor.clone(), expected, observed, surprise, intensity, confidence })
    }

    pub fn learn(&mut self, changes: &BTreeMap<String, f64>) {
        self.movements = self.movements.saturating_add(1);
        for (sensor, change) in changes {
            if self.sensors.len() < MOST_SENSORS || self.sensors.contains_key(sensor) {
                self.sensors.entry(sensor.clone()).or_default().learn(*change);
            }
        }
    }
}

/// The change of each sensor that was read before and after.
pub fn changes(sensed: &MovementSensed) -> BTreeMap<String, f64> {
    let change = |(name, before): (&String, &f64)| {
        let change = sensed.after.get(name)? - before;
        change.is_finite().then(|| (name.clone(), change))
    };
    sensed.before.iter().filter_map(change).collect()
}

/// The name of a kind of movement: part, movement and bucket of parameters.
pub fn kind(sensed: &MovementSensed) -> String {
    let mut buckets: Vec<String> = Vec::new();
    if let Some(params) = sensed.params.as_object() {
        buckets.extend(params.iter().map(|(name, value)| format!("{name}: {}", bucket(value))));
    }
    buckets.sort_unstable();
    format!("{}.{}({})", sensed.body_part, sensed.movement, buckets.join(", "))
}

/// Numbers fall into two buckets per octave; words stay as they are.
fn bucket(value: &Json) -> String {
    match value {
        Json::Number(number) => match number.as_f64().unwrap_or(0.0) {
            0.0 => "0".into(),
            number => {
                let step = (number.abs().log2() * BUCKETS_AN_OCTAVE).floor() as i64;
                format!("{}2^{}", if number < 0.0 { "-" } else { "" }, step as f64 / BUCKETS_AN_OCTAVE)
            }
        },
        Json::String(text) => text.chars().take(32).collect(),
        Json::Bool(yes) => yes.to_string(),
        Json::Null => "nothing".into(),
        Json::Array(items) => format!("{} items", items.len()),
        Json::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turned(by: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("yaw".to_owned(), by), ("current".to_owned(), 0.2)])
    }

    #[test]
    fn it_predicts_from_the_third_movement_on() {
        let mut model = ForwardModel::default();
        for (count, by) in [10.0, 11.0, 9.0].into_iter().enumerate() {
            assert_eq!(model.predict(&SkillLaw::default()), None, "after {count}");
            model.learn(&turned(by));
        }
        assert!((model.confidence().get() - 0.3).abs() < 1e-12);
        let predicted = model.predict(&SkillLaw::default()).expect("three movements are enough");
        assert!((predicted["yaw"].0 - 10.0).abs() < 1e-12);
        // (Σ d² + 2 · 1²)/(2 + 2) with Σ d² = 2, times 1 + 1/3.
        assert!((predicted["yaw"].1 - (4.0f64 / 4.0 * 4.0 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_movement_otherwise_than_predicted_is_an_error_and_a_usual_one_is_none() {
        let mut model = ForwardModel::default();
        (0..10).for_each(|n| model.learn(&turned(10.0 + f64::from(n % 3) * 0.3)));
        assert_eq!(model.error(&turned(10.4), &SkillLaw::default()), None);
        let error = model.error(&turned(2.0), &SkillLaw::default()).expect("it was stopped on its way");
        assert_eq!((error.sensor.as_str(), error.observed), ("yaw", 2.0));
        assert!(error.surprise > 10.0 && error.intensity.get() > 0.6, "{error:?}");
        let blocked = model.error(&turned(7.5), &SkillLaw::default()).expect("it was held back");
        assert!(blocked.intensity < error.intensity, "a greater error hurts more");
        assert_eq!(model.error(&BTreeMap::from([("unknown".to_owned(), 9.0)]), &SkillLaw::default()), None);
    }

    #[test]
    fn a_body_that_changed_is_learned_anew() {
        let mut model = ForwardModel::default();
        (0..200).for_each(|_| model.learn(&turned(10.0)));
        assert!(model.error(&turned(20.0), &SkillLaw::default()).is_some());
        (0..200).for_each(|_| model.learn(&turned(20.0)));
        assert_eq!(model.error(&turned(20.0), &SkillLaw::default()), None);
        assert!(model.error(&turned(10.0), &SkillLaw::default()).is_some());
    }

    #[test]
    fn kinds_are_parts_movements_and_buckets_and_changes_what_was_read_twice() {
        let sensed = |params: Json| MovementSensed {
            action: None,
            body_part: "head".into(),
            movement: "turn".into(),
            params,
            before: BTreeMap::from([("yaw".into(), 1.0), ("lost".into(), 1.0)]),
            after: BTreeMap::from([("yaw".into(), 11.0), ("new".into(), 3.0)]),
            travelled: None,
        };
        let of = |degrees: f64| kind(&sensed(json!({"degrees": degrees})));
        assert_eq!(of(10.0), "head.turn(degrees: 2^3)");
        assert_eq!(of(10.0), of(11.0));
        assert_ne!(of(10.0), of(20.0));
        assert_ne!(of(10.0), of(-10.0));
        assert_eq!(kind(&sensed(Json::Null)), "head.turn()");
        assert_eq!(changes(&sensed(Json::Null)), BTreeMap::from([("yaw".to_owned(), 10.0)]));
    }
}
