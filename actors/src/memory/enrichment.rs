//! Enrichment: asks memory what a percept reminds of, and waits for it no longer than the deadline.
//!
//! Biology: the parahippocampal cortex, which binds a scene to its context.
//! Law: all sections are asked at once; what has not answered at the deadline is a missing section with its name.
//! Remembers: percepts whose answers are out. Forgets: them, once enriched.
//! Down: percepts wait in its inbox.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::recall::{
    DescribeTime, EnrichedPercept, EpisodeFilter, EpisodesRecalled, MissingSection, RecallEpisodes, RecalledEpisode,
    TimeDescribed,
};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// The room of episodes.
const EPISODES: RegionName = "hippocampus";
/// The room of times.
const TIMES: RegionName = "suprachiasmatic_nucleus";

/// How enrichment is set up.
#[derive(Clone, Debug)]
pub struct EnrichmentSettings {
    /// How long answers are waited for; 1 ms to 10 s. Default 50 ms.
    pub deadline: SignedDuration,
    /// Episodes recalled; 0 to 20. Default 5.
    pub episodes: usize,
    /// Rooms that aren't built: named as missing sections, not asked.
    pub thin: Vec<RegionName>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Enrichment {
    pending: BTreeMap<MessageId, Pending>,
}

/// What is known so far of a percept whose record waits under its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    due: Timestamp,
    trust: Trust,
    recalled: Option<Vec<RecalledEpisode>>,
    time: Option<TimeDescribed>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EnrichmentEvent {
    Asked { turn: MessageId, due: Timestamp, trust: Trust },
    Recalled { turn: MessageId, episodes: Vec<RecalledEpisode> },
    Timed { turn: MessageId, time: TimeDescribed },
    Enriched { turn: MessageId },
}

wiring!(Enrichment {
    hears: [SalientPercept, EpisodesRecalled, TimeDescribed],
    back: [],
    emits: [RecallEpisodes, DescribeTime, EnrichedPercept],
});

impl Region for Enrichment {
    const NAME: RegionName = "enrichment";
    const STAGE: Stage = Stage::Memory;
    type Event = EnrichmentEvent;
    type Settings = EnrichmentSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: EnrichmentEvent) {
        match event {
            EnrichmentEvent::Asked { turn, due, trust } => {
                self.pending.insert(turn, Pending { due, trust, recalled: None, time: None });
            }
            EnrichmentEvent::Recalled { turn, episodes } => {
                if let Some(pending) = self.pending.get_mut(&turn) {
                    pending.recalled = Some(episodes);
                }
            }
            EnrichmentEvent::Timed { turn, time } => {
                if let Some(pending) = self.pending.get_mut(&turn) {
                    pending.time = Some(time);
                }
            }
            EnrichmentEvent::Enriched { turn } => {
                self.pending.remove(&turn);
            }
        }
    }

    fn next_deadline(&self, _settings: &EnrichmentSettings) -> Option<Timestamp> {
        self.pending.values().map(|pending| pending.due).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (turn, pending) in self.pending.iter().filter(|(_, pending)| pending.due <= now) {
            self.finish(*turn, pending.recalled.clone(), pending.time.clone(), pulse);
        }
    }
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("pending/{turn}").into_bytes()
}

impl Enrichment {
    fn finish(
        &self,
        turn: MessageId,
        recalled: Option<Vec<RecalledEpisode>>,
        time: Option<TimeDescribed>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let key = record_key(turn);
        if let Some(salient) = pulse.record::<SalientPercept>(&key) {
            let late = |region: RegionName| MissingSection {
                region: region.into(),
                reason: format!("no answer within {} ms", pulse.settings().deadline.as_millis()),
            };
            let mut missing = Vec::new();
            missing.extend(recalled.is_none().then(|| late(EPISODES)));
            missing.extend(time.is_none().then(|| late(TIMES)));
            missing.extend(
                pulse
                    .settings()
                    .thin
                    .iter()
                    .map(|room| MissingSection { region: (*room).into(), reason: "not built".into() }),
            );
            let trust = self.pending.get(&turn).map_or(Trust::Outside, |pending| pending.trust);
            let enriched = EnrichedPercept { salient, recalled: recalled.unwrap_or_default(), time, missing };
            pulse.emit_trusted(turn, trust, enriched);
        }
        pulse.remove(key);
        pulse.keep(EnrichmentEvent::Enriched { turn });
    }
}

impl Hears<SalientPercept> for Enrichment {
    fn hear(&self, salient: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        if salient.disposition != Disposition::Proceed {
            // Nothing will be proposed for it, so nothing is asked.
            pulse.emit(EnrichedPercept {
                salient: salient.clone(),
                recalled: Vec::new(),
                time: None,
                missing: Vec::new(),
            });
            return;
        }
        let due = pulse.now() + pulse.settings().deadline;
        pulse.put(record_key(turn), salient);
        pulse.keep(EnrichmentEvent::Asked { turn, due, trust: pulse.trust() });
        let filter = EpisodeFilter {
            query: Some(salient.percept.content.clone()),
            limit: pulse.settings().episodes,
            ..EpisodeFilter::default()
        };
        pulse.ask(EPISODES, RecallEpisodes { filter, except: Some(turn) });
        pulse.ask(TIMES, DescribeTime { hour: None, day: None, limit: 0 });
    }
}

impl Hears<EpisodesRecalled> for Enrichment {
    fn hear(&self, answer: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        match self.pending.get(&turn) {
            Some(pending) if pending.time.is_some() => {
                self.finish(turn, Some(answer.episodes.clone()), pending.time.clone(), pulse);
            }
            Some(_) => pulse.keep(EnrichmentEvent::Recalled { turn, episodes: answer.episodes.clone() }),
            None => {} // it came after the deadline
        }
    }
}

impl Hears<TimeDescribed> for Enrichment {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        match self.pending.get(&turn) {
            Some(pending) if pending.recalled.is_some() => {
                self.finish(turn, pending.recalled.clone(), Some(answer.clone()), pulse);
            }
            Some(_) => pulse.keep(EnrichmentEvent::Timed { turn, time: answer.clone() }),
            None => {}
        }
    }
}
