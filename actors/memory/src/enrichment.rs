//! Enrichment: asks memory what a percept reminds of, and waits at most until the deadline.
//!
//! Biology: the parahippocampal cortex, which binds a scene to its context.
//! Law: all sections are asked at once. A section without an answer at the deadline is missing, and is named. A held
//! room is asked, because it may be back, but not waited for. The novelty of a percept is at most 1 − its likeness to
//! the nearest memory, so a repeated statement is not new even after a year.
//! Remembers: percepts that wait for answers; held rooms. Forgets: these, once enriched or back.
//! Down: percepts wait in its inbox.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{KnowledgeEntry, KnowledgeRecalled, RecallKnowledge};
use maxim_bus::signals::fear::{FearsRecalled, RecallFears};
use maxim_bus::signals::lifecycle::RegionChanged;
use maxim_bus::signals::percept::{Disposition, SalientPercept};
use maxim_bus::signals::recall::{
    DescribeTime, EnrichedPercept, EpisodeFilter, EpisodesRecalled, MissingSection, RecallEpisodes, RecalledEpisode,
    TimeDescribed,
};
use maxim_bus::signals::skill::{ProgramRecalled, ProgramsRecalled, RecallPrograms};
use maxim_bus::units::Novelty;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use maxim_language::{Gist, Stems};
use maxim_region::wiring;
use maxim_region::{Gather, Hears, Pulse, Region};

/// The room of episodes.
const EPISODES: RegionName = rooms::HIPPOCAMPUS;
/// The room of times and calendars.
const TIMES: RegionName = rooms::SUPRACHIASMATIC_NUCLEUS;
/// The room of practised programs.
const PROGRAMS: RegionName = rooms::CEREBELLUM;
/// The room that knows what hurt.
const FEARS: RegionName = rooms::FEAR_AGENT;
/// Programs, and fears of each kind, that are asked for at most.
const PRACTISED: usize = 8;
const FEARED: usize = 5;

/// Settings of enrichment.
#[derive(Clone, Debug)]
pub struct EnrichmentSettings {
    /// How long to wait for answers; 1 ms to 10 s. Default 50 ms.
    pub deadline: SignedDuration,
    /// Episodes to recall; 0 to 20. Default 5.
    pub episodes: usize,
    /// Whether their associations are told too, for a mind that thinks. Habit only uses direct matches.
    pub spreads: bool,
    /// Rooms that are asked for general knowledge.
    pub knowledge_rooms: Vec<RegionName>,
    /// Pieces of knowledge of all rooms together; 0 to 8. Default 8.
    pub knowledge: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Enrichment {
    pending: BTreeMap<MessageId, Pending>,
    /// Rooms that are held for a while.
    held: BTreeSet<String>,
}

/// The answers so far for a percept whose record waits under its turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    /// By the asked room.
    #[serde(default)]
    gather: Gather<String>,
    trust: Trust,
    recalled: Option<Vec<RecalledEpisode>>,
    time: Option<TimeDescribed>,
    /// By the answering room.
    knowledge: BTreeMap<String, Vec<KnowledgeEntry>>,
    programs: Option<Vec<ProgramRecalled>>,
    fears: Option<FearsRecalled>,
}

impl Pending {
    fn new(gather: Gather<String>, trust: Trust) -> Self {
        let knowledge = BTreeMap::new();
        Self { gather, trust, recalled: None, time: None, knowledge, programs: None, fears: None }
    }

    /// Adds an answer.
    fn take(&mut self, answer: EnrichmentEvent) {
        if let Some((_, room)) = answer.answered() {
            self.gather.close_for(room);
        }
        match answer {
            EnrichmentEvent::Recalled { episodes, .. } => self.recalled = Some(episodes),
            EnrichmentEvent::Timed { time, .. } => self.time = Some(*time),
            EnrichmentEvent::Known { room, entries, .. } => drop(self.knowledge.insert(room, entries)),
            EnrichmentEvent::Practised { programs, .. } => self.programs = Some(programs),
            EnrichmentEvent::Feared { fears, .. } => self.fears = Some(fears),
            EnrichmentEvent::Asked { .. }
            | EnrichmentEvent::Enriched { .. }
            | EnrichmentEvent::Held { .. }
            | EnrichmentEvent::Back { .. } => {}
        }
    }
}

impl EnrichmentSettings {
    /// The rooms that are asked for general knowledge.
    fn knowing(&self) -> &[RegionName] {
        if self.knowledge == 0 { &[] } else { &self.knowledge_rooms }
    }

    fn asks(&self, room: &str) -> bool {
        [EPISODES, TIMES, PROGRAMS, FEARS].iter().chain(self.knowing()).any(|asked| *asked == room)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EnrichmentEvent {
    Asked {
        turn: MessageId,
        trust: Trust,
        #[serde(default)]
        gather: Gather<String>,
    },
    Recalled {
        turn: MessageId,
        episodes: Vec<RecalledEpisode>,
    },
    Timed {
        turn: MessageId,
        time: Box<TimeDescribed>,
    },
    Known {
        turn: MessageId,
        room: String,
        entries: Vec<KnowledgeEntry>,
    },
    Practised {
        turn: MessageId,
        programs: Vec<ProgramRecalled>,
    },
    Feared {
        turn: MessageId,
        fears: FearsRecalled,
    },
    Enriched {
        turn: MessageId,
    },
    Held {
        room: String,
    },
    Back {
        room: String,
    },
}

impl EnrichmentEvent {
    /// The turn for which a room answered, and the room.
    fn answered(&self) -> Option<(MessageId, &str)> {
        match self {
            Self::Recalled { turn, .. } => Some((*turn, EPISODES)),
            Self::Timed { turn, .. } => Some((*turn, TIMES)),
            Self::Known { turn, room, .. } => Some((*turn, room)),
            Self::Practised { turn, .. } => Some((*turn, PROGRAMS)),
            Self::Feared { turn, .. } => Some((*turn, FEARS)),
            Self::Asked { .. } | Self::Enriched { .. } | Self::Held { .. } | Self::Back { .. } => None,
        }
    }
}

wiring!(Enrichment {
    hears: [
        SalientPercept,
        EpisodesRecalled,
        TimeDescribed,
        KnowledgeRecalled,
        ProgramsRecalled,
        FearsRecalled,
        RegionChanged
    ],
    back: [],
    emits: [RecallEpisodes, DescribeTime, RecallKnowledge, RecallPrograms, RecallFears, EnrichedPercept],
});

impl Region for Enrichment {
    const NAME: RegionName = rooms::ENRICHMENT;
    const STAGE: Stage = Stage::Memory;
    type Event = EnrichmentEvent;
    type Settings = EnrichmentSettings;

    fn apply(&mut self, event: EnrichmentEvent) {
        match event {
            EnrichmentEvent::Asked { turn, trust, gather } => {
                self.pending.insert(turn, Pending::new(gather, trust));
            }
            EnrichmentEvent::Enriched { turn } => {
                self.pending.remove(&turn);
            }
            EnrichmentEvent::Held { room } => {
                self.held.insert(room);
            }
            EnrichmentEvent::Back { room } => {
                self.held.remove(&room);
            }
            answer => {
                if let Some(pending) = answer.answered().and_then(|(turn, _)| self.pending.get_mut(&turn)) {
                    pending.take(answer);
                }
            }
        }
    }

    fn next_deadline(&self, _settings: &EnrichmentSettings) -> Option<Timestamp> {
        self.pending.values().map(|pending| pending.gather.due).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (turn, pending) in self.pending.iter().filter(|(_, pending)| pending.gather.due <= now) {
            self.finish(*turn, pending.clone(), &self.held, pulse);
        }
    }
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("pending/{turn}").into_bytes()
}

impl Enrichment {
    fn finish(&self, turn: MessageId, pending: Pending, held: &BTreeSet<String>, pulse: &mut Pulse<'_, Self>) {
        let key = record_key(turn);
        if let Some(mut salient) = pulse.record::<SalientPercept>(&key) {
            let settings = pulse.settings();
            let late = |region: &String| MissingSection {
                region: region.clone(),
                reason: match held.contains(region) {
                    true => "it failed too often and was given up for a while".into(),
                    false => format!("no answer within {} ms", settings.deadline.as_millis()),
                },
            };
            let missing: Vec<_> = pending.gather.missing().map(late).collect();
            let Pending { trust, recalled, time, knowledge, programs, fears, .. } = pending;
            let knowledge = merged(knowledge.into_values().flatten().collect(), settings.knowledge);
            let (recalled, programs, fears) =
                (recalled.unwrap_or_default(), programs.unwrap_or_default(), fears.unwrap_or_default());
            let known = likeness(&salient.percept.content, &recalled);
            salient.novelty = Novelty::clamped(salient.novelty.get().min(1.0 - known));
            let enriched = EnrichedPercept { salient, recalled, time, knowledge, programs, fears, missing };
            pulse.emit_trusted(turn, trust, enriched);
        }
        pulse.remove(key);
        pulse.keep(EnrichmentEvent::Enriched { turn });
    }

    /// Adds a room's answer to a turn, and finishes the turn if no other answer is missing.
    fn take(&self, answer: EnrichmentEvent, pulse: &mut Pulse<'_, Self>) {
        let Some((turn, room)) = answer.answered() else { return };
        let Some(pending) = self.pending.get(&turn) else { return }; // it came after the deadline
        let mut gather = pending.gather.clone();
        gather.close_for(room);
        if gather.waits(&self.held) {
            pulse.keep(answer);
        } else {
            let mut pending = pending.clone();
            pending.take(answer);
            self.finish(turn, pending, &self.held, pulse);
        }
    }
}

/// Characters of a text that make its gist; the rest adds little.
const GIST: usize = 2_000;

/// The likeness of a text to the nearest of these, 0 to 1.
fn likeness(text: &str, recalled: &[RecalledEpisode]) -> f64 {
    let stems = Stems::default();
    let gist = |text: &str| Gist::of(&stems, &text.chars().take(GIST).collect::<String>(), []);
    let perceived = gist(text);
    recalled.iter().map(|episode| perceived.similarity(&gist(&episode.text))).fold(0.0, f64::max)
}

/// One list of the knowledge of all layers, best first.
fn merged(mut entries: Vec<KnowledgeEntry>, most: usize) -> Vec<KnowledgeEntry> {
    entries.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.layer, &a.id).cmp(&(b.layer, &b.id))));
    entries.truncate(most);
    entries
}

impl Hears<SalientPercept> for Enrichment {
    fn hear(&self, salient: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        if salient.disposition != Disposition::Proceed {
            // Nothing will be proposed for it, so no room is asked.
            pulse.emit(EnrichedPercept::bare(salient.clone()));
            return;
        }
        let due = pulse.now().later(pulse.settings().deadline);
        let mut gather = Gather::until(due);
        pulse.put(record_key(turn), salient);
        let spreads = pulse.settings().spreads && pulse.settings().episodes > 0;
        let filter = EpisodeFilter {
            query: Some(salient.percept.content.clone()),
            limit: pulse.settings().episodes + usize::from(spreads),
            expand: spreads,
            ..EpisodeFilter::default()
        };
        let recall = RecallEpisodes { filter, except: Some(turn), thought: false, waits: false, until: Some(due) };
        gather.ask(recall, pulse);
        gather.ask(DescribeTime::default(), pulse);
        let (settings, text) = (pulse.settings(), &salient.percept.content);
        for room in settings.knowing() {
            gather.ask_room(
                (*room).into(),
                room,
                RecallKnowledge { text: text.clone(), limit: settings.knowledge },
                pulse,
            );
        }
        gather.ask(RecallPrograms { text: text.clone(), limit: PRACTISED }, pulse);
        gather.ask(RecallFears { text: text.clone(), limit: FEARED }, pulse);
        pulse.keep(EnrichmentEvent::Asked { turn, trust: pulse.trust(), gather });
    }
}

impl Hears<RegionChanged> for Enrichment {
    fn hear(&self, changed: &RegionChanged, pulse: &mut Pulse<'_, Self>) {
        let (room, known) = (changed.region.clone(), self.held.contains(&changed.region));
        if !changed.is_held && known {
            pulse.keep(EnrichmentEvent::Back { room });
        } else if changed.is_held && !known && pulse.settings().asks(&room) {
            let mut held = self.held.clone();
            held.insert(room.clone());
            pulse.keep(EnrichmentEvent::Held { room });
            for (turn, pending) in self.pending.iter().filter(|(_, pending)| !pending.gather.waits(&held)) {
                self.finish(*turn, pending.clone(), &held, pulse);
            }
        }
    }
}

impl Hears<EpisodesRecalled> for Enrichment {
    fn hear(&self, answer: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        // One more episode was requested.
        let episodes = answer.with_associations(pulse.settings().episodes);
        self.take(EnrichmentEvent::Recalled { turn, episodes }, pulse);
    }
}

impl Hears<TimeDescribed> for Enrichment {
    fn hear(&self, answer: &TimeDescribed, pulse: &mut Pulse<'_, Self>) {
        let (turn, time) = (pulse.turn(), Box::new(answer.clone()));
        self.take(EnrichmentEvent::Timed { turn, time }, pulse);
    }
}

impl Hears<KnowledgeRecalled> for Enrichment {
    fn hear(&self, answer: &KnowledgeRecalled, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let Some(room) = pulse.cause().map(|cause| cause.sender.clone().into_owned()) else { return };
        self.take(EnrichmentEvent::Known { turn, room, entries: answer.entries.clone() }, pulse);
    }
}

impl Hears<ProgramsRecalled> for Enrichment {
    fn hear(&self, answer: &ProgramsRecalled, pulse: &mut Pulse<'_, Self>) {
        let (turn, programs) = (pulse.turn(), answer.programs.clone());
        self.take(EnrichmentEvent::Practised { turn, programs }, pulse);
    }
}

impl Hears<FearsRecalled> for Enrichment {
    fn hear(&self, answer: &FearsRecalled, pulse: &mut Pulse<'_, Self>) {
        let (turn, fears) = (pulse.turn(), answer.clone());
        self.take(EnrichmentEvent::Feared { turn, fears }, pulse);
    }
}
