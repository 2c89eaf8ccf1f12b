//! The salience room: gives each percept its novelty and salience.
//!
//! Biology: the salience network of the anterior insula.
//! Law: `law.rs`. What a person says is always worth 0.9 at least.
//! Remembers: the gist of the latest percepts and the goal. Forgets: all but the newest.
//! Down: percepts wait.

use maxim_bus::signals::lifecycle::PreemptionChanged;
use maxim_bus::signals::percept::{AdmittedPercept, SalientPercept};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{Appraisal, Gist, NEUTRAL_HISTORY, RecentPercepts, SourceKind};
use crate::language::Stems;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Characters of a percept that its gist is made of; the rest adds little that is new.
const GIST: usize = 2_000;

/// How the room is set up.
#[derive(Default)]
pub struct SalienceSettings {
    pub stems: Stems,
}

#[derive(Default, Serialize, Deserialize)]
pub struct SalienceRoom {
    recent: RecentPercepts,
    goal: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum SalienceEvent {
    Perceived(Gist),
    GoalChanged(Option<String>),
}

wiring!(SalienceRoom { hears: [AdmittedPercept, PreemptionChanged], back: [], emits: [SalientPercept] });

impl Region for SalienceRoom {
    const NAME: RegionName = "salience";
    const STAGE: Stage = Stage::Perception;
    type Event = SalienceEvent;
    type Settings = SalienceSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: SalienceEvent) {
        match event {
            SalienceEvent::Perceived(gist) => self.recent.remember(gist),
            SalienceEvent::GoalChanged(goal) => self.goal = goal,
        }
    }
}

impl Hears<AdmittedPercept> for SalienceRoom {
    fn hear(&self, admitted: &AdmittedPercept, pulse: &mut Pulse<'_, Self>) {
        let percept = &admitted.percept;
        let stems = &pulse.settings().stems;
        let start: String = percept.content.chars().take(GIST).collect();
        let gist = Gist::of(stems, &start, percept.objects.iter().map(String::as_str));
        let novelty = percept.novelty.unwrap_or_else(|| self.recent.novelty(&gist, 0.0));
        let goal = self.goal.as_deref().map(|goal| Gist::of(stems, goal, []));
        let said = percept.source.starts_with("comms:");
        let appraisal = Appraisal {
            source: if said { SourceKind::Person } else { SourceKind::Observation },
            novelty,
            goal_relevance: goal.map_or(0.0, |goal| goal.covers(&gist)),
            history: NEUTRAL_HISTORY,
            confidence: 1.0,
        };
        pulse.keep(SalienceEvent::Perceived(gist));
        pulse.emit(SalientPercept {
            percept: percept.clone(),
            disposition: admitted.disposition.clone(),
            salience: appraisal.salience(),
            novelty,
        });
    }
}

impl Hears<PreemptionChanged> for SalienceRoom {
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        if changed.goal != self.goal {
            pulse.keep(SalienceEvent::GoalChanged(changed.goal.clone()));
        }
    }
}
