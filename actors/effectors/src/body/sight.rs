//! What the eyes see now, for tools that look at something: the newest picture of each source, and its place in the
//! scene.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use maxim_bus::SharedClock;
use maxim_bus::signals::scene::{Observed, SceneThing, plain_name};
use parking_lot::{Condvar, Mutex};

/// An older picture no longer counts.
const FRESH: SignedDuration = SignedDuration::from_secs(2);
/// Sources that are kept; beyond that the first by name are dropped.
const SOURCES: usize = 8;

/// Where something is in its picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub name: String,
    /// Distance from the middle, as a fraction of the picture: to the right, and down; -0.5 to 0.5.
    pub right: f64,
    pub down: f64,
    /// Grows with each picture.
    pub picture: u64,
}

#[derive(Default)]
struct Eyes {
    clock: Option<SharedClock>,
    pictures: BTreeMap<String, (Observed, jiff::Timestamp, u64)>,
    /// The most salient first.
    ranked: Vec<SceneThing>,
    count: u64,
}

#[derive(Default)]
pub(super) struct Sight {
    eyes: Mutex<Eyes>,
    changed: Condvar,
}

impl Sight {
    pub fn see(&self, observed: &Observed, clock: &SharedClock) {
        let mut eyes = self.eyes.lock();
        eyes.count += 1;
        let picture = (observed.clone(), clock.now(), eyes.count);
        eyes.clock = Some(clock.clone());
        eyes.pictures.insert(observed.source.clone(), picture);
        while eyes.pictures.len() > SOURCES {
            eyes.pictures.pop_first();
        }
        drop(eyes);
        self.changed.notify_all();
    }

    pub fn rank(&self, things: &[SceneThing]) {
        self.eyes.lock().ranked = things.to_vec();
    }

    /// Everything that is now seen at a place; `None` before the first picture.
    pub fn seen(&self) -> Option<Vec<Seen>> {
        let eyes = self.eyes.lock();
        let now = eyes.clock.as_ref()?.now();
        let fresh = eyes.pictures.values().filter(|(_, at, _)| now.duration_since(*at) < FRESH);
        let things = fresh.flat_map(|(observed, _, picture)| {
            let detections = observed.people.iter().chain(&observed.objects);
            detections.filter_map(|seen| {
                let [left, top, right, bottom] = seen.frame?;
                let (right, down) = ((left + right) / 2.0 - 0.5, (top + bottom) / 2.0 - 0.5);
                Some(Seen { name: plain_name(&seen.name), right, down, picture: *picture })
            })
        });
        Some(things.collect())
    }

    /// A thing by its name, or by whole words of it.
    pub fn find(&self, name: &str) -> Option<Seen> {
        let (wanted, seen) = (plain_name(name), self.seen()?);
        let part = |seen: &Seen| format!(" {} ", seen.name).contains(&format!(" {wanted} "));
        seen.iter().find(|seen| seen.name == wanted).or_else(|| seen.iter().find(|seen| part(seen))).cloned()
    }

    /// The thing with the highest value of a measure of the scene.
    pub fn best(&self, measure: impl Fn(&SceneThing) -> f64) -> Option<Seen> {
        let seen = self.seen()?;
        let mut ranked = self.eyes.lock().ranked.clone();
        // Stable, so equal ones stay in the order of salience.
        ranked.sort_by(|a, b| measure(b).total_cmp(&measure(a)));
        ranked.iter().find_map(|thing| seen.iter().find(|seen| seen.name == thing.name)).cloned()
    }

    /// Waits for a later picture, or until the time is over.
    pub fn wait_after(&self, picture: u64, limit: Duration) {
        let mut eyes = self.eyes.lock();
        if eyes.count <= picture {
            self.changed.wait_for(&mut eyes, limit);
        }
    }

    pub fn count(&self) -> u64 {
        self.eyes.lock().count
    }
}
