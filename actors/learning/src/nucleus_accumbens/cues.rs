//! What is around while something is done: cues that share the error with the act itself.
//!
//! Biology: accumbens neurons fire to the cues that announce reward, not to the reward that they explain.
//! Each thing learns by its salience, as α is a stimulus's own in Rescorla and Wagner (1972), so that what is seen all the
//! time, which the scene holds for less salient, learns more slowly (latent inhibition). Strengths are an act's own: the
//! dog that makes touching the stove go wrong says nothing of reading a letter.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::scene::{PRESENT, SceneNoticed};
use serde::{Deserialize, Serialize};

use super::events::NacEvent;
use super::model::Observation;
use super::region::NucleusAccumbens;
use super::series::OutcomeSeries;
use maxim_region::{FewSources, Hears, Pulse};

/// Things that take part in one trial beside the act. Their rates and its own sum up to 0.7 at the default α: nothing overshoots.
pub const MOST_PRESENT: usize = 4;
/// Things that an act remembers the strength of; the weakest leaves first.
pub const MOST_KNOWN: usize = 16;
/// The same surroundings are written down again after this.
const RENEWED: SignedDuration = SignedDuration::from_secs(20);

/// A thing that is there: its name, and its salience from 0 to 1.
pub type Present = (String, f64);

/// What is known of a thing beside one act.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cue {
    /// −1 to 1 and a little beyond.
    strength: f64,
    /// How often it was there.
    times: u32,
    /// How the act went then.
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

    /// 0 for what was never there.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).map_or(0.0, |cue| cue.strength)
    }

    /// Things of at least this strength, either way, and how the act went beside them.
    pub fn strong(&self, least: f64) -> impl Iterator<Item = (&str, f64, OutcomeSeries)> {
        let strong = self.0.iter().filter(move |(_, cue)| cue.strength.abs() >= least);
        strong.map(|(name, cue)| (name.as_str(), cue.strength, cue.series))
    }

    /// It was there, and has this strength now.
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

    /// Whether a thing was there in one of these episodes.
    pub(super) fn names(&self, gone: &BTreeSet<u64>) -> bool {
        self.0.values().any(|cue| cue.of.names(gone))
    }

    /// Things that were there only in what a person has forgotten go.
    pub(super) fn forget(&mut self, gone: &BTreeSet<u64>) {
        self.0.retain(|_, cue| !cue.of.forget(gone));
    }

    /// Those that take part: what means much before what is only salient.
    pub fn choose(&self, mut present: Vec<Present>) -> Vec<Present> {
        let weight = |(name, salience): &Present| self.get(name).abs() + salience;
        present.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.0.cmp(&b.0)));
        present.truncate(MOST_PRESENT);
        present
    }

    /// Adds each known thing that stands in these words.
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

/// What was around when something was last noticed.
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

    /// Nothing when it is too long ago.
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
