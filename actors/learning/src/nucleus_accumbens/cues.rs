//! Cues that are present during an act and share its prediction error.
//!
//! Biology: accumbens neurons fire to the cues that announce reward, not to the reward that they explain.
//! Each thing learns at a rate given by its salience, because α belongs to the stimulus in Rescorla and Wagner
//! (1972). So a thing that is always visible, which the scene holds for less salient, learns more slowly (latent
//! inhibition). Strengths belong to one act: the dog that makes touching the stove go wrong says nothing about
//! reading a letter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::scene::{PRESENT, SceneNoticed};
use serde::{Deserialize, Serialize};

use super::events::NacEvent;
use super::model::Observation;
use super::region::NucleusAccumbens;
use super::series::OutcomeSeries;
use maxim_region::{FewSources, Hears, Pulse};

/// Maximum number of things in one trial beside the act. Together with the act, their rates add up to at most 0.7 at
/// the default α, so nothing overshoots.
pub const MOST_PRESENT: usize = 4;
/// Maximum number of things remembered per act; the weakest is removed first.
pub const MOST_KNOWN: usize = 16;
/// Unchanged surroundings are stored again after this time.
const RENEWED: SignedDuration = SignedDuration::from_secs(20);

/// A thing that is present: its name, and its salience from 0 to 1.
pub type Present = (String, f64);

/// What is known of a thing beside one act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cue {
    /// −1 to 1 and a little beyond.
    strength: f64,
    /// How often it was present.
    times: u32,
    /// The results of the act in its presence.
    series: OutcomeSeries,
    #[serde(default, skip_serializing_if = "FewSources::is_empty")]
    of: FewSources,
}

/// Things beside one act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CueStrengths(BTreeMap<String, Cue>);

impl CueStrengths {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// 0 for a thing that was never present.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |cue| cue.strength)
    }

    /// Things with at least this strength in either direction, and the results of the act in their presence.
    pub fn strong(&self, least: f64) -> impl Iterator<Item = (&str, f64, OutcomeSeries)> {
        let strong = self.0.iter().filter(move |(_, cue)| cue.strength.abs() >= least);
        strong.map(|(name, cue)| (name.as_str(), cue.strength, cue.series))
    }

    /// It was present, and now has this strength.
    pub(super) fn learn(&mut self, name: &str, strength: f64, seen: &Observation) {
        if !self.0.contains_key(name) && self.0.len() >= MOST_KNOWN {
            let weaker = |a: &(&String, &Cue), b: &(&String, &Cue)| a.1.strength.abs().total_cmp(&b.1.strength.abs());
            let weakest = self.0.iter().min_by(weaker).map(|(name, _)| name.clone());
            weakest.map(|name| self.0.remove(&name));
        }
        let cue = self.0.entry(name.to_owned()).or_default();
        cue.strength = strength;
        cue.of.note(seen.episode.unwrap_or_default(), cue.times);
        cue.times = cue.times.saturating_add(1);
        cue.series.push(seen.outcome.reinforcement);
    }

    /// Whether a thing was present in one of these episodes.
    pub(super) fn names(&self, gone: &BTreeSet<u64>) -> bool {
        self.0.values().any(|cue| cue.of.names(gone))
    }

    /// Removes things that were present only in episodes that a person has forgotten.
    pub(super) fn forget(&mut self, gone: &BTreeSet<u64>) {
        self.0.retain(|_, cue| !cue.of.forget(gone));
    }

    /// The things that take part: strong ones before merely salient ones.
    pub fn choose(&self, mut present: Vec<Present>) -> Vec<Present> {
        let weight = |(name, salience): &Present| self.get(name).abs() + salience;
        present.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.0.cmp(&b.0)));
        present.truncate(MOST_PRESENT);
        present
    }

    /// Adds each known thing that occurs in these words.
    pub fn said(&self, words: &str, present: &mut Vec<Present>) {
        let words: Vec<String> = words.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let words = format!(" {} ", words.join(" "));
        let said = self.0.keys().filter(|name| words.contains(&format!(" {name} ")));
        let new: Vec<Present> = said
            .filter(|name| !present.iter().any(|(known, _)| known == *name))
            .map(|name| (name.clone(), 1.0))
            .collect();
        present.extend(new);
    }
}

/// The surroundings as last noticed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Around {
    at: Option<Timestamp>,
    things: Vec<Present>,
}

impl Around {
    fn of(noticed: &SceneNoticed, now: Timestamp) -> Self {
        let things = noticed.here(now).map(|thing| (thing.name.clone(), thing.salience.get()));
        Self { at: Some(now), things: things.collect() }
    }

    /// Empty when that is too long ago.
    pub fn present(&self, now: Timestamp) -> Vec<Present> {
        let is_here = self.at.is_some_and(|at| now.duration_since(at) <= PRESENT);
        if is_here { self.things.clone() } else { Vec::new() }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.things.len() == other.things.len()
            && self.things.iter().all(|(name, _)| other.things.iter().any(|(known, _)| known == name))
    }
}

impl Hears<SceneNoticed> for NucleusAccumbens {
    fn hear(&self, noticed: &SceneNoticed, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let around = Around::of(noticed, now);
        let known = self.around();
        let is_old = known.at.is_none_or(|at| now.duration_since(at) >= RENEWED);
        if is_old || !around.is_like(known) {
            pulse.keep(NacEvent::Around(around));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{EventKind, OutcomeKind};
    use super::*;

    #[test]
    fn the_weakest_of_too_many_leaves_and_what_means_most_takes_part() {
        let mut known = CueStrengths::default();
        let (event, outcome) = (EventKind::default(), OutcomeKind::of_success(Some(true)));
        let seen = Observation {
            event: &event,
            context: &[],
            outcome: &outcome,
            cues: &[],
            around: &[],
            delay: None,
            episode: None,
            provenance: maxim_bus::Provenance::OwnExperience,
            at: Timestamp::UNIX_EPOCH,
            reward: None,
        };
        (0..40).for_each(|n| known.learn(&format!("thing {n}"), f64::from(n) / 40.0, &seen));
        assert_eq!((known.0.len(), known.get("thing 0"), known.get("thing 39")), (MOST_KNOWN, 0.0, 0.975));
        let mut present: Vec<Present> = (30..40).map(|n| (format!("thing {n}"), 0.1)).collect();
        present.push(("news".into(), 1.0));
        known.said("and thing 25, where thing 3 was", &mut present);
        let chosen = known.choose(present);
        let names: Vec<&str> = chosen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["thing 25", "thing 39", "thing 38", "thing 37"]);
    }
}
