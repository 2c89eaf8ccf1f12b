//! Enrichment: asks memory what a percept reminds of, and waits for it no longer than the deadline.
//!
//! Biology: the parahippocampal cortex, which binds a scene to its context.
//! Law: all sections are asked at once; what has not answered at the deadline is a missing section with its name.
//! Remembers: percepts whose answers are out. Forgets: them, once enriched.
//! Down: percepts wait in its inbox.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::concepts::{KnowledgeEntry, KnowledgeRecalled, RecallKnowledge};
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::recall::{
    DescribeTime, EnrichedPercept, EpisodeFilter, EpisodesRecalled, MissingSection, RecallEpisodes, RecalledEpisode,
    TimeDescribed, Via,
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
    /// Whether what is associated with these is told too, for a mind that thinks; habit answers by what fits by itself.
    pub spreads: bool,
    /// Rooms that are asked what is generally known.
    pub knowledge_rooms: Vec<RegionName>,
    /// Pieces of knowledge of all rooms together; 0 to 8. Default 8.
    pub knowledge: usize,
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
    /// By the room that knows.
    #[serde(default)]
    knowledge: BTreeMap<String, Vec<KnowledgeEntry>>,
}

impl Pending {
    fn is_whole(&self, rooms: usize) -> bool {
        self.recalled.is_some() && self.time.is_some() && self.knowledge.len() >= rooms
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EnrichmentEvent {
    Asked { turn: MessageId, due: Timestamp, trust: Trust },
    Recalled { turn: MessageId, episodes: Vec<RecalledEpisode> },
    Timed { turn: MessageId, time: Box<TimeDescribed> },
    Known { turn: MessageId, room: String, entries: Vec<KnowledgeEntry> },
    Enriched { turn: MessageId },
}

wiring!(Enrichment {
    hears: [SalientPercept, EpisodesRecalled, TimeDescribed, KnowledgeRecalled],
    back: [],
    emits: [RecallEpisodes, DescribeTime, RecallKnowledge, EnrichedPercept],
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
                let knowledge = BTreeMap::new();
                self.pending.insert(turn, Pending { due, trust, recalled: None, time: None, knowledge });
            }
            EnrichmentEvent::Recalled { turn, episodes } => {
                if let Some(pending) = self.pending.get_mut(&turn) {
                    pending.recalled = Some(episodes);
                }
            }
            EnrichmentEvent::Timed { turn, time } => {
                if let Some(pending) = self.pending.get_mut(&turn) {
                    pending.time = Some(*time);
                }
            }
            EnrichmentEvent::Known { turn, room, entries } => {
                if let Some(pending) = self.pending.get_mut(&turn) {
                    pending.knowledge.insert(room, entries);
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
            self.finish(*turn, pending.clone(), pulse);
        }
    }
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("pending/{turn}").into_bytes()
}

impl Enrichment {
    fn finish(&self, turn: MessageId, pending: Pending, pulse: &mut Pulse<'_, Self>) {
        let key = record_key(turn);
        if let Some(salient) = pulse.record::<SalientPercept>(&key) {
            let settings = pulse.settings();
            let late = |region: RegionName| MissingSection {
                region: region.into(),
                reason: format!("no answer within {} ms", settings.deadline.as_millis()),
            };
            let mut missing = Vec::new();
            missing.extend(pending.recalled.is_none().then(|| late(EPISODES)));
            missing.extend(pending.time.is_none().then(|| late(TIMES)));
            let asked = if settings.knowledge == 0 { &[][..] } else { settings.knowledge_rooms.as_slice() };
            missing.extend(asked.iter().filter(|room| !pending.knowledge.contains_key(**room)).map(|room| late(room)));
            let unbuilt = |room: &RegionName| MissingSection { region: (*room).into(), reason: "not built".into() };
            missing.extend(settings.thin.iter().map(unbuilt));
            let Pending { trust, recalled, time, knowledge, .. } = pending;
            let knowledge = merged(knowledge.into_values().flatten().collect(), settings.knowledge);
            let enriched =
                EnrichedPercept { salient, recalled: recalled.unwrap_or_default(), time, knowledge, missing };
            pulse.emit_trusted(turn, trust, enriched);
        }
        pulse.remove(key);
        pulse.keep(EnrichmentEvent::Enriched { turn });
    }

    /// Takes an answer into what is known of a turn: finishes it if nothing else is out.
    fn take(
        &self,
        turn: MessageId,
        answer: EnrichmentEvent,
        of: impl FnOnce(&mut Pending),
        pulse: &mut Pulse<'_, Self>,
    ) {
        let Some(pending) = self.pending.get(&turn) else { return }; // it came after the deadline
        let mut pending = pending.clone();
        of(&mut pending);
        let settings = pulse.settings();
        let rooms = if settings.knowledge == 0 { 0 } else { settings.knowledge_rooms.len() };
        if pending.is_whole(rooms) {
            self.finish(turn, pending, pulse);
        } else {
            pulse.keep(answer);
        }
    }
}

/// Pieces of knowledge in one prompt, at most.
const MOST_KNOWLEDGE: usize = 8;

/// One list of what all layers know, the best first.
fn merged(mut entries: Vec<KnowledgeEntry>, most: usize) -> Vec<KnowledgeEntry> {
    entries.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.layer, &a.id).cmp(&(b.layer, &b.id))));
    entries.truncate(most.min(MOST_KNOWLEDGE));
    entries
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
                knowledge: Vec::new(),
                missing: Vec::new(),
            });
            return;
        }
        let due = pulse.now() + pulse.settings().deadline;
        pulse.put(record_key(turn), salient);
        pulse.keep(EnrichmentEvent::Asked { turn, due, trust: pulse.trust() });
        let spreads = pulse.settings().spreads && pulse.settings().episodes > 0;
        let filter = EpisodeFilter {
            query: Some(salient.percept.content.clone()),
            limit: pulse.settings().episodes + usize::from(spreads),
            expand: spreads,
            ..EpisodeFilter::default()
        };
        pulse.ask(EPISODES, RecallEpisodes { filter, except: Some(turn), waits: false });
        pulse.ask(TIMES, DescribeTime::default());
        let settings = pulse.settings();
        for room in settings.knowledge_rooms.iter().filter(|_| settings.knowledge > 0) {
            let text = salient.percept.content.clone();
            pulse.ask(room, RecallKnowledge { text, limit: settings.knowledge.min(MOST_KNOWLEDGE) });
        }
    }
}

impl Hears<EpisodesRecalled> for Enrichment {
    fn hear(&self, answer: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        // One more was asked for, so that an association takes no place.
        let is_association = |episode: &RecalledEpisode| episode.via == Via::Association;
        let (associated, found): (Vec<_>, Vec<_>) = answer.episodes.iter().cloned().partition(is_association);
        let episodes: Vec<_> = found.into_iter().take(pulse.settings().episodes).chain(associated).collect();
        let event = EnrichmentEvent::Recalled { turn, episodes: episodes.clone() };
        self.take(turn, event, |pending| pending.recalled = Some(episodes), pulse);
    }
}

impl Hears<TimeDescribed> for Enrichment {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let event = EnrichmentEvent::Timed { turn, time: Box::new(answer.clone()) };
        self.take(turn, event, |pending| pending.time = Some(answer.clone()), pulse);
    }
}

impl Hears<KnowledgeRecalled> for Enrichment {
    fn hear(&self, answer: &KnowledgeRecalled, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let Some(room) = pulse.cause().map(|cause| cause.sender.clone()) else { return };
        let entries = answer.entries.clone();
        let event = EnrichmentEvent::Known { turn, room: room.clone(), entries: entries.clone() };
        self.take(turn, event, |pending| drop(pending.knowledge.insert(room, entries)), pulse);
    }
}
