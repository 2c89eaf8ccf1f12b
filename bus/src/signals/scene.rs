//! What the senses report, and what of it is still around.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::signal;
use crate::signal::{Addressed, Lane, NotRead, Policy, Query, Signal, Stage, decode_json};
use crate::units::{Confidence, Novelty, Salience};
use crate::{RegionName, rooms};

/// Something that a detector saw. Labels are often wrong; the confidence is the detector's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    pub name: String,
    pub confidence: Confidence,
    /// Left, top, right and bottom, as shares of the picture, 0 to 1.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub frame: Option<[f64; 4]>,
}

/// What one source sees now. A newer one of the same source replaces one that was not looked at yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// E.g. `camera`.
    pub source: String,
    pub objects: Vec<Detection>,
    pub people: Vec<Detection>,
    /// A sound that was recognised, e.g. `doorbell`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sound: Option<Detection>,
    /// How the body stands, as this sense tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
}

/// Joints or axes by name, each with its reading; degrees and millimetres where the sense doesn't say otherwise.
pub type Pose = BTreeMap<String, f64>;

/// Readings in one pose, at most.
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

/// A thing's name as it is kept and compared: one line, lower case, at most [`NAME`] characters.
pub fn plain_name(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase().chars().filter(|c| !c.is_control()).take(NAME).collect()
}

/// What there is around now, the most salient first. A newer one replaces one that was not looked at yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneNoticed {
    pub things: Vec<SceneThing>,
    /// What is in the middle of the picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaze: Option<String>,
    /// How the body stands, by what a sense told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
}

/// What was seen within this is here.
pub const PRESENT: SignedDuration = SignedDuration::from_secs(60);
/// Labels are often wrong: what is less sure than this isn't reckoned with, 0 to 1.
pub const SURE: f64 = 0.5;

impl SceneNoticed {
    /// What is here at this time and surer than not, the most salient first.
    pub fn here(&self, now: Timestamp) -> impl Iterator<Item = &SceneThing> {
        let is_here = move |thing: &&SceneThing| now.duration_since(thing.last_seen) <= PRESENT;
        self.things.iter().filter(is_here).filter(|thing| thing.confidence.get() >= SURE)
    }
}

/// The agent, or who talks with it, says in which scene it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneNamed {
    pub title: String,
    pub description: String,
}

/// What is around, the most salient first?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurveyScene {
    /// Things and people at most.
    pub top_n: usize,
    /// Also what is gazed at, and for how long.
    pub include_attention: bool,
}

/// A thing, person or sound that is around.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneThing {
    pub name: String,
    pub kind: ThingKind,
    pub confidence: Confidence,
    pub novelty: Novelty,
    pub salience: Salience,
    pub last_seen: Timestamp,
    pub sightings: u64,
    /// How long it was in the middle of the picture, in seconds; told with attention alone.
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
    /// False while no sense has reported anything.
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the scene was named last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<SceneNamed>,
    pub objects: Vec<SceneThing>,
    /// How many there are in all.
    pub around: usize,
    /// What is in the middle of the picture now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaze: Option<String>,
    /// How the body stands, by what a sense told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<Pose>,
    /// What deserves the next look: the most salient that isn't gazed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_target: Option<String>,
}

impl Query for SurveyScene {
    type Answer = SceneSurveyed;
}
impl Addressed for SurveyScene {
    const OF: RegionName = rooms::SCENE;
}

signal! {
    SceneNoticed: Perception, Latest;
    SceneNamed: Anywhere, Lossless;
    SurveyScene: Anywhere, Transient;
    SceneSurveyed: Anywhere, Transient;
}
