//! What the senses report, and which of it is still present.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::signal::{Lane, NotRead, Policy, Signal, Stage, decode_json};
use crate::units::{Confidence, Novelty, Salience};
use crate::{queries, signal};

/// A detected object. Labels are often wrong; the confidence is the detector's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    pub name: String,
    pub confidence: Confidence,
    /// Left, top, right and bottom, as fractions of the picture, 0 to 1.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub frame: Option<[f64; 4]>,
}

/// What one source sees now. A newer observation replaces an unread one of the same source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// E.g. `camera`.
    pub source: String,
    pub objects: Vec<Detection>,
    pub people: Vec<Detection>,
    /// A recognised sound, e.g. `doorbell`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sound: Option<Detection>,
    /// The body's pose, as this sense reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
}

/// Joints or axes by name, each with its reading; degrees or millimetres, unless the sense uses another unit.
pub type Pose = BTreeMap<String, f64>;

/// Maximum number of readings in one pose.
pub const READINGS: usize = 32;

impl Signal for Observed {
    const NAME: &'static str = "Observed";
    const STAGE: Stage = Stage::Outside;
    const POLICY: Policy = Policy::Latest;
    const LANE: Lane = Lane::Data;

    fn decode(bytes: &[u8]) -> Result<Self, NotRead> {
        decode_json(bytes)
    }

    fn key(&self) -> String {
        self.source.clone()
    }
}

/// Longest name of a thing, in characters.
pub const NAME: usize = 80;

/// A thing's name, normalized for storage and comparison: one line, lower case, at most [`NAME`] characters.
pub fn plain_name(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase().chars().filter(|c| !c.is_control()).take(NAME).collect()
}

/// What is present now, the most salient first. A newer scene replaces an unread one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneNoticed {
    pub things: Vec<SceneThing>,
    /// The thing in the middle of the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaze: Option<String>,
    /// The body's pose, from the latest report of a sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
}

/// A thing seen within this time counts as present.
pub const PRESENT: SignedDuration = SignedDuration::from_secs(60);
/// Detections with a lower confidence are ignored, because labels are often wrong, 0 to 1.
pub const SURE: f64 = 0.5;

impl SceneNoticed {
    /// What is present at this time with enough confidence, the most salient first.
    pub fn here(&self, now: Timestamp) -> impl Iterator<Item = &SceneThing> {
        let is_here = move |thing: &&SceneThing| now.duration_since(thing.last_seen) <= PRESENT;
        self.things.iter().filter(is_here).filter(|thing| thing.confidence.get() >= SURE)
    }
}

/// The agent, or a person in a conversation with it, names the present scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneNamed {
    pub title: String,
    pub description: String,
}

/// Asks what is present, the most salient first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyScene {
    /// Maximum number of things and people.
    pub top_n: usize,
    /// Include what the gaze rests on, and for how long.
    pub include_attention: bool,
}

/// A thing, person or sound that is present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneThing {
    pub name: String,
    pub kind: ThingKind,
    pub confidence: Confidence,
    pub novelty: Novelty,
    pub salience: Salience,
    pub last_seen: Timestamp,
    pub sightings: u64,
    /// How long it was in the middle of the picture, in seconds; only with `include_attention`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dwell_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThingKind {
    Person,
    Object,
    Sound,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneSurveyed {
    /// False until a sense has reported something.
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The latest name given to the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<SceneNamed>,
    pub objects: Vec<SceneThing>,
    /// The total number present.
    pub around: usize,
    /// The thing in the middle of the picture now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaze: Option<String>,
    /// The body's pose, from the latest report of a sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
    /// What to look at next: the most salient thing that isn't in the middle of the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_target: Option<String>,
}

queries! {
    SurveyScene => SceneSurveyed, of SCENE;
}

signal! {
    SceneNoticed: Perception, Latest;
    SceneNamed: Anywhere, Lossless;
    SurveyScene: Anywhere, Transient;
    SceneSurveyed: Anywhere, Transient;
}
