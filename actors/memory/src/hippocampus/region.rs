//! The hippocampus as a room: captures what happened, one episode per percept, and recalls it by words and keys.
//!
//! Biology: the hippocampal formation, which binds a moment into an episode and completes it from a part.
//! Law: `law.rs` decides what is stored, `text_index` and `key_index` find it. A percept opens an episode; the end of
//! its turn completes it in place.
//! Remembers: every stored episode, as a record; its indexes in sealed segments beside the records, and a tail of the
//! newest; edges between episodes. Forgets: in sleep, and what a person has forgotten (`sleeping.rs`).
//! Down: percepts wait, and recall is a missing section.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::hash::StableHash;
use maxim_bus::mode::Mode;
use maxim_bus::rooms;
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::concepts::{
    EpisodesFetched, FetchEpisodes, ForgetRecord, LayerLinked, PinRecord, RecordChanged, RecordsRemoved,
};
use maxim_bus::signals::encoding::{FindMeant, MeantFound};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::intent::IntentRefused;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outbox::DeliveryEnded;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::{PainSignal, SalientPercept};
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::recall::{
    EpisodeStored, EpisodesCaptured, EpisodesImported, EpisodesRecalled, ImportEpisodes, PredictionErrorSensed,
    RecallEpisodes, ReportStats, StatsReported,
};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::similarity::SituationsStored;
use maxim_bus::signals::sleep::{CompressEpisodes, EpisodesCompressed, EpisodesScored, ScoreEpisodes, SessionEnded};
use maxim_bus::signals::thought::{SurveyTurns, TurnEnded, TurnsSurveyed};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::edges::Edges;
use super::events::HippocampusEvent;
use super::held::Indexed;
use super::key_index::KeyIndex;
use super::law::{CaptureLaw, LinkLaw};
use super::linking::{Linking, load_edges};
use super::model::EpisodicMemory;
use super::records::id_key;
use super::retention::RetentionLaw;
use super::sleeping::{Access, Round};
use super::surroundings::Around;
use super::text_index::{TextIndex, Weights, day_number};
use super::upkeep::{Merge, Sealed, load_gone};
use maxim_language::Encoder;
use maxim_language::packed::PackedVector;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Questions, RecordView, Region};

/// Documents among which a repeated observation is searched.
pub(super) const RECENT: usize = 32;

/// Settings of the hippocampus.
#[derive(Clone, Debug)]
pub struct HippocampusSettings {
    /// The zone of calendar days.
    pub zone: TimeZone,
    /// The mode recorded in episodes, unless a lower one is in force.
    pub mode: Mode,
    /// Identifies this run of the process.
    pub run: String,
    /// Makes the vectors of texts.
    pub encoder: Arc<dyn Encoder>,
    /// Whether an external encoder is asked about questions that can wait.
    pub asks_meaning: bool,
    /// Bytes that the records of episodes may take after a sleep; `None`: no limit.
    pub budget_bytes: Option<u64>,
    /// What is stored.
    pub capture: CaptureLaw,
    /// What is linked, and how activation spreads.
    pub links: LinkLaw,
    /// What is worth keeping in sleep.
    pub retention: RetentionLaw,
    /// How well an episode fits a question.
    pub weights: Weights,
    /// Tools whose results are other people's words: an episode holds that they were used, not what they said.
    pub hearsay: BTreeSet<String>,
}

#[derive(Default, Serialize, Deserialize)]
pub struct Hippocampus {
    /// Number of the next document.
    pub(super) next: u32,
    /// Open episodes by their turn.
    pub(super) open: BTreeMap<MessageId, u32>,
    /// Session, time and number of the newest episode.
    pub(super) newest: Option<(u32, Timestamp, u32)>,
    pub(super) recent: VecDeque<Recent>,
    /// The newest turns that ended while one of their actions waited for a person.
    #[serde(default)]
    pub(super) asked: VecDeque<TurnEnded>,
    /// Held moments that may still be kept: their turns, and where they are held; the newest last.
    #[serde(default)]
    pub(super) passed: VecDeque<(MessageId, u32)>,
    /// The newest action of current turns, and its result in words.
    #[serde(default)]
    pub(super) results: BTreeMap<MessageId, (MessageId, String)>,
    /// The agent's present goal.
    pub(super) goal: Option<String>,
    /// The goal of the last stored moment.
    #[serde(default)]
    pub(super) kept_goal: Option<String>,
    /// What the senses report about the place.
    #[serde(default)]
    pub(super) around: Around,
    /// Segments of each index on disk, and the documents in them.
    pub(super) sealed: Sealed,
    #[serde(default)]
    pub(super) linking: Linking,
    /// Number of removed episodes; their numbers stay empty.
    #[serde(default)]
    pub(super) gone: u32,
    /// The run of the process to which open turns belong.
    #[serde(default)]
    pub(super) run: String,
    /// Turns that were open when another run ended.
    #[serde(default)]
    pub(super) cut: Option<Cut>,
    /// Open turns belong to another run and were not handled yet.
    #[serde(skip)]
    pub(super) is_cut: bool,
    /// The mode to which the agent has lowered itself.
    #[serde(default)]
    pub(super) lowered: Option<Mode>,
    /// The newest turns that a person had forgotten, by hashes of their ids: their later results are forgotten too.
    #[serde(default)]
    pub(super) forgotten: VecDeque<u64>,
    /// Uses since the last sleep, by episode.
    #[serde(default)]
    pub(super) accesses: BTreeMap<u32, Access>,
    /// The current sleep, or the last one.
    #[serde(default)]
    pub(super) round: Option<Box<Round>>,
    /// Questions that wait for records near in meaning, by question.
    #[serde(default)]
    pub(super) pondered: Questions<RecallEpisodes>,
    /// When merging of segments continues.
    #[serde(default)]
    pub(super) merge_at: Option<Timestamp>,
    #[serde(skip)]
    pub(super) indexes: Option<Indexes>,
    #[serde(skip)]
    pub(super) edges: Edges,
}

/// An episode that the next observation may repeat.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Recent {
    pub document: u32,
    pub at: Timestamp,
    /// Hash of its text. An older state has none.
    #[serde(default)]
    pub text: Option<u64>,
}

impl Recent {
    pub(super) fn of(document: u32, episode: &EpisodicMemory) -> Self {
        Self { document, at: episode.created, text: Some(Self::text_of(episode)) }
    }

    pub fn text_of(episode: &EpisodicMemory) -> u64 {
        StableHash::default().add_long(episode.perception.text.as_bytes()).get()
    }
}

#[derive(Default)]
pub struct Indexes {
    pub(super) text: TextIndex,
    pub(super) keys: KeyIndex,
    /// Which segments are merged, and the progress.
    pub(super) merging: Option<(Range<usize>, Merge)>,
}

wiring!(Hippocampus {
    hears: [
        SalientPercept,
        SceneNoticed,
        RecallEpisodes,
        MeantFound,
        ReportStats,
        ImportEpisodes,
        FetchEpisodes,
        FollowAssociations,
        PainSignal,
        PinRecord,
        ForgetRecord,
        GoalChanged,
        SessionEnded,
        ScoreEpisodes,
        CompressEpisodes,
        ExportRecords,
        ImportRecords,
        TurnsSurveyed,
    ],
    back: [ToolResult, TurnEnded, IntentRefused, ModeLowered, DeliveryEnded, PredictionErrorSensed],
    emits: [
        EpisodeStored,
        EpisodeLived,
        EpisodesCaptured,
        SituationsStored,
        FindMeant,
        EpisodesRecalled,
        StatsReported,
        EpisodesImported,
        EpisodesFetched,
        AssociationsFollowed,
        RecordChanged,
        EpisodesScored,
        EpisodesCompressed,
        LayerLinked,
        RecordsRemoved,
        RecordsExported,
        RecordsImported,
        SurveyTurns,
    ],
});

impl Region for Hippocampus {
    const NAME: RegionName = rooms::HIPPOCAMPUS;
    const STAGE: Stage = Stage::Memory;
    type Event = HippocampusEvent;
    type Settings = HippocampusSettings;

    fn apply(&mut self, event: HippocampusEvent) {
        self.take_in(event);
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &HippocampusSettings) {
        let gone = load_gone(records);
        self.edges = load_edges(&mut self.linking, &gone, records);
        let indexes = self.load_indexes(&gone, records, settings);
        indexes.text.warm();
        self.indexes = Some(indexes);
        self.is_cut = self.run != settings.run && !self.open.is_empty();
    }

    fn read_to_wake(&mut self, records: &RecordView<'_>, settings: &HippocampusSettings) {
        if self.pass_over(records, settings).is_none() {
            self.wake(records, settings);
        }
    }

    fn next_deadline(&self, _settings: &HippocampusSettings) -> Option<Timestamp> {
        let own = self.linking.due.into_iter().chain(self.merge_due()).chain(self.cut_due());
        own.chain(self.pondered.due()).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        if self.cut_due().is_some_and(|due| due <= pulse.now()) {
            self.look_after_cut(pulse);
        } else if self.pondered.due().is_some_and(|due| due <= pulse.now()) {
            self.give_up_pondering(pulse);
        } else if self.linking.due.is_some_and(|due| due <= pulse.now()) {
            self.link_some(pulse);
        } else if self.merge_due().is_some_and(|due| due <= pulse.now()) {
            self.merge_some(pulse);
        }
    }
}

impl Hippocampus {
    /// The episode of a turn, open or not: an outcome may be judged after its turn.
    pub(super) fn document_of(&self, turn: MessageId, pulse: &Pulse<'_, Self>) -> Option<u32> {
        self.open.get(&turn).copied().or_else(|| pulse.record(&id_key(&turn.to_string())))
    }

    /// Number of remembered episodes.
    pub fn len(&self) -> u32 {
        self.next - self.gone
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub(super) fn vector_of(indexed: &Indexed, encoder: &dyn Encoder) -> PackedVector {
    PackedVector::of(&encoder.embed(indexed.fields(0).meant()))
}

pub(super) fn day_of(at: Timestamp, zone: &TimeZone) -> i32 {
    day_number(at.to_zoned(zone.clone()).date())
}

impl Hears<ReportStats> for Hippocampus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let (text, keys) = self.sealed.counts();
        let counts = serde_json::json!({
            "episodes": self.len(),
            "open": self.open.len(),
            "sealed": self.sealed.before,
            "segments": text + keys,
            "edges": self.edges.len(),
            "unlinked": self.linking.waiting(self.next),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
