//! What is present, from the senses' reports: how certain, how new, how salient, and what the gaze is on.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::scene::{Detection, Observed, Pose, SceneThing, ThingKind, plain_name};
use maxim_bus::units::{Confidence, Novelty, Salience};
use serde::{Deserialize, Serialize};

/// A thing not seen for this long is no longer present.
pub const FORGOTTEN: SignedDuration = SignedDuration::from_mins(10);
/// Maximum number of things; those seen longest ago are removed.
pub const MOST: usize = 64;
/// A thing seen again within this time is the same sighting.
pub const AGAIN: SignedDuration = SignedDuration::from_secs(1);
/// Weight of a new confidence in the running mean, because labels flicker.
const SMOOTHING: f64 = 0.3;
/// Number of sightings after which a thing is half as new.
const FAMILIAR: f64 = 5.0;
/// Half-life in seconds of a thing's presence after it was seen.
const PRESENCE: f64 = 30.0;
/// Maximum distance from the middle of the picture to be gazed at, as a fraction of the picture.
const FOVEA: f64 = 0.2;
/// Weights of salience.
const NEW: f64 = 0.4;
const PRESENT: f64 = 0.4;
const PERSON: f64 = 0.2;

/// One thing, by kind and name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thing {
    confidence: f64,
    last_seen: Timestamp,
    sightings: u64,
    dwell_s: f64,
}

/// Everything present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    things: BTreeMap<ThingKind, BTreeMap<String, Thing>>,
    /// The thing in the middle of each source's picture, and since when.
    gazes: BTreeMap<String, (String, Timestamp)>,
    /// The body's pose as last reported, and when.
    pose: Option<(Pose, Timestamp)>,
    sources: u64,
}

/// Rounded to whole units, so that trembling isn't news and nearly equal poses count as equal.
fn steady(pose: &Pose) -> Pose {
    pose.iter().map(|(joint, reading)| (plain_name(joint), reading.round() + 0.0)).collect()
}

/// The thing nearest to the middle, if near enough.
fn gazed(observed: &Observed) -> Option<String> {
    let seen = observed.people.iter().chain(&observed.objects);
    let off = |seen: &Detection| {
        let [left, top, right, bottom] = seen.frame?;
        Some((((left + right) / 2.0 - 0.5).powi(2) + ((top + bottom) / 2.0 - 0.5).powi(2)).sqrt())
    };
    let nearest = seen.filter_map(|seen| Some((off(seen)?, seen))).min_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 <= FOVEA).then(|| plain_name(&nearest.1.name))
}

impl Around {
    pub fn is_empty(&self) -> bool {
        self.sources == 0
    }

    pub fn len(&self) -> usize {
        self.things.values().map(BTreeMap::len).sum()
    }

    /// Whether this observation changes anything worth remembering.
    pub fn is_news(&self, observed: &Observed, at: Timestamp) -> bool {
        let gaze = self.gazes.get(&observed.source).map(|(name, _)| name.clone());
        let is_known = |kind: ThingKind, seen: &Detection| {
            let known = self.things.get(&kind).and_then(|things| things.get(&plain_name(&seen.name)));
            known.is_some_and(|known| at.duration_since(known.last_seen) < AGAIN)
        };
        let is_posed = observed.pose.as_ref().is_some_and(|pose| {
            let told = self.pose.as_ref().filter(|(_, told)| at.duration_since(*told) < FORGOTTEN);
            told.is_none_or(|(known, told)| at.duration_since(*told) >= AGAIN && *known != steady(pose))
        });
        self.is_empty()
            || is_posed
            || gaze != gazed(observed)
            || !kinds(observed).all(|(kind, seen)| is_known(kind, seen))
    }

    pub fn take(&mut self, observed: &Observed, at: Timestamp) {
        self.sources += 1;
        for (kind, seen) in kinds(observed) {
            let confidence = seen.confidence.get();
            let things = self.things.entry(kind).or_default();
            let thing = things.entry(plain_name(&seen.name)).or_insert(Thing {
                confidence,
                last_seen: at,
                sightings: 0,
                dwell_s: 0.0,
            });
            thing.confidence += SMOOTHING * (confidence - thing.confidence);
            thing.sightings += u64::from(thing.sightings == 0 || at.duration_since(thing.last_seen) >= AGAIN);
            thing.last_seen = at;
        }
        if let Some(pose) = &observed.pose {
            self.pose = Some((steady(pose), at));
        }
        self.gaze(observed, at);
        self.forget(at);
    }

    fn gaze(&mut self, observed: &Observed, at: Timestamp) {
        if let Some((name, since)) = self.gazes.remove(&observed.source) {
            let passed = at.duration_since(since).as_secs_f64().clamp(0.0, FORGOTTEN.as_secs_f64());
            let mut gazed = self.things.values_mut().filter_map(|things| things.get_mut(&name));
            if let Some(thing) = gazed.next() {
                thing.dwell_s += passed;
            }
        }
        if let Some(name) = gazed(observed) {
            self.gazes.insert(observed.source.clone(), (name, at));
        }
    }

    fn forget(&mut self, at: Timestamp) {
        for things in self.things.values_mut() {
            things.retain(|_, thing| at.duration_since(thing.last_seen) < FORGOTTEN);
        }
        self.gazes.retain(|_, (_, since)| at.duration_since(*since) < FORGOTTEN);
        while self.gazes.len() > MOST {
            self.gazes.pop_first();
        }
        while self.len() > MOST {
            let oldest = self.things.iter().flat_map(|(kind, things)| things.iter().map(move |thing| (*kind, thing)));
            let oldest = oldest.min_by_key(|(_, (_, thing))| thing.last_seen);
            let Some((kind, name)) = oldest.map(|(kind, (name, _))| (kind, name.clone())) else { return };
            self.things.get_mut(&kind).map(|things| things.remove(&name));
        }
    }

    /// The body's pose, as last reported.
    pub fn pose(&self, now: Timestamp) -> Option<&Pose> {
        self.pose.as_ref().filter(|(_, told)| now.duration_since(*told) < FORGOTTEN).map(|(pose, _)| pose)
    }

    /// The thing gazed at now; with several sources, the newest gaze.
    pub fn gazed(&self, now: Timestamp) -> Option<&str> {
        let fresh = self.gazes.values().filter(|(_, since)| now.duration_since(*since) < FORGOTTEN);
        fresh.max_by_key(|(_, since)| *since).map(|(name, _)| name.as_str())
    }

    /// The most salient first.
    pub fn told(&self, now: Timestamp, with_attention: bool) -> Vec<SceneThing> {
        let things = self.things.iter().flat_map(|(kind, things)| things.iter().map(move |thing| (*kind, thing)));
        let around = things.filter(|(_, (_, thing))| now.duration_since(thing.last_seen) < FORGOTTEN);
        let mut told: Vec<SceneThing> =
            around.map(|(kind, (name, thing))| thing.told(name, kind, now, with_attention)).collect();
        told.sort_by(|a, b| b.salience.get().total_cmp(&a.salience.get()).then_with(|| a.name.cmp(&b.name)));
        told
    }
}

impl Thing {
    fn told(&self, name: &str, kind: ThingKind, now: Timestamp, with_attention: bool) -> SceneThing {
        let novelty = FAMILIAR / (FAMILIAR + self.sightings.saturating_sub(1) as f64);
        let presence = 0.5_f64.powf(now.duration_since(self.last_seen).as_secs_f64().max(0.0) / PRESENCE);
        let person = f64::from(u8::from(kind == ThingKind::Person));
        let salience = self.confidence * (NEW * novelty + PRESENT * presence + PERSON * person);
        SceneThing {
            name: name.to_owned(),
            kind,
            confidence: Confidence::clamped(self.confidence),
            novelty: Novelty::clamped(novelty),
            salience: Salience::clamped(salience),
            last_seen: self.last_seen,
            sightings: self.sightings,
            dwell_s: with_attention.then_some(self.dwell_s),
        }
    }
}

fn kinds(observed: &Observed) -> impl Iterator<Item = (ThingKind, &Detection)> {
    let people = observed.people.iter().map(|seen| (ThingKind::Person, seen));
    let objects = observed.objects.iter().map(|seen| (ThingKind::Object, seen));
    people.chain(objects).chain(observed.sound.iter().map(|heard| (ThingKind::Sound, heard)))
}
