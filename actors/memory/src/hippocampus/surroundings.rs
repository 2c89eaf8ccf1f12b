//! The surroundings of a moment: what the senses report at the time is part of the episode, so the episode is found by
//! it too.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::scene::{PRESENT, Pose, SceneNoticed, ThingKind};
use serde::{Deserialize, Serialize};

use super::events::HippocampusEvent;
use super::model::Perception;
use super::region::Hippocampus;
use maxim_region::{Hears, Pulse};

/// Unchanged surroundings are stored again after this time, a third of their lifetime.
const RENEWED: SignedDuration = SignedDuration::from_secs(20);
/// Things of an episode that come from its surroundings, at most: the most salient.
const MOST: usize = 8;

/// The surroundings at the last observation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    at: Option<Timestamp>,
    objects: Vec<String>,
    people: Vec<String>,
    #[serde(default)]
    pose: Pose,
}

impl Around {
    fn of(noticed: &SceneNoticed, now: Timestamp) -> Self {
        let named = |is_person: bool| {
            let of_kind = noticed.here(now).filter(|thing| (thing.kind == ThingKind::Person) == is_person);
            of_kind.take(MOST).map(|thing| thing.name.clone()).collect()
        };
        Self {
            at: Some(now),
            objects: named(false),
            people: named(true),
            pose: noticed.pose.clone().unwrap_or_default(),
        }
    }

    /// True if the surroundings are the same, in any order.
    fn is_like(&self, other: &Self) -> bool {
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        set(&self.objects) == set(&other.objects) && set(&self.people) == set(&other.people) && self.pose == other.pose
    }

    /// Adds the surroundings to what was perceived, unless they are too old.
    pub(super) fn come_into(&self, perception: &mut Perception, now: Timestamp) {
        if self.at.is_none_or(|at| now.duration_since(at) > PRESENT) {
            return;
        }
        for (into, seen) in [(&mut perception.objects, &self.objects), (&mut perception.people, &self.people)] {
            let new: Vec<String> = seen.iter().filter(|name| !into.contains(name)).cloned().collect();
            into.extend(new);
        }
        perception.pose.clone_from(&self.pose);
    }
}

impl Hears<SceneNoticed> for Hippocampus {
    fn hear(&self, noticed: &SceneNoticed, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let around = Around::of(noticed, now);
        let is_old = self.around.at.is_none_or(|at| now.duration_since(at) >= RENEWED);
        if is_old || !around.is_like(&self.around) {
            pulse.keep(HippocampusEvent::Around(around));
        }
    }
}
