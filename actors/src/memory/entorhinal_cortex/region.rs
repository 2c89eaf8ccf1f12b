//! The entorhinal cortex as a room: knows which situations are like one another.
//!
//! Biology: the entorhinal cortex, where patterns are separated on the way into memory and completed on the way out.
//! Law: `law.rs` weighs the parts of a likeness, `language::nearest` finds the near among many.
//! Remembers: every situation that a layer of memory told of, with its vector and that vector's encoder, as one record.
//! Forgets: what its layer forgot.
//! Down: what is stored waits in its inbox; likeness is a missing section.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::encoding::{EncodeTexts, FindMeant, MeantFound, TextsEncoded};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::similarity::{FindSimilar, SimilarFound, Situation, SituationsStored};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::LikenessWeights;
use super::model::{Cue, Item};
use super::outer::{Asked, Outer, OuterEvent};
use super::segment::{HELD_OPEN, SEGMENT};
use super::situation_index::SituationIndex;
use crate::language::Encoder;
use crate::language::packed::PackedVector;
use crate::region::{Card, Hears, Pulse, RecordView, Region};
use crate::wiring;

/// Answers where the question says nothing about their number.
pub(super) const USUAL_LIMIT: usize = 5;
/// Vectors of another encoder that are made anew in one step.
const ENCODED_A_STEP: usize = 64;
/// Records read at a time when the room wakes: those of one page of keys.
const PAGE: u32 = 0x1000;

/// How the room is set up.
#[derive(Clone, Debug)]
pub struct EntorhinalSettings {
    /// Makes vectors of texts. When it is another than before, all are made anew while answers go on.
    pub encoder: Arc<dyn Encoder>,
    /// What the encoder outside of the program is called, if there is one.
    pub outer: Option<String>,
    /// Local time zone of the body.
    pub zone: TimeZone,
    /// How much each part counts in likeness.
    pub weights: LikenessWeights,
}

#[derive(Default, Serialize, Deserialize)]
pub struct EntorhinalCortex {
    /// Places given out.
    pub(super) places: u32,
    /// Segments of places on disk.
    sealed: u32,
    #[serde(default)]
    pub(super) outer: Outer,
    #[serde(skip)]
    pub(super) index: Option<SituationIndex>,
    #[serde(skip)]
    encoder: Option<Arc<dyn Encoder>>,
    /// Places whose vectors are of another encoder.
    #[serde(skip)]
    stale: BTreeSet<u32>,
    /// How many segments could be read at the start, where that was not all: those behind are written anew.
    #[serde(skip)]
    readable: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EntorhinalEvent {
    Indexed {
        place: u32,
        situation: Box<Situation>,
        /// What the handler made of it, so that it is made once; a reload makes it again.
        #[serde(skip)]
        made: Option<Box<Item>>,
    },
    Forgotten {
        place: u32,
    },
    Encoded {
        vectors: Vec<(u32, PackedVector)>,
    },
    /// So many segments are on disk; the rest is in records alone.
    Sealed {
        segments: u32,
    },
    /// About the encoder outside of the program.
    Outer(OuterEvent),
}

wiring!(EntorhinalCortex {
    hears: [SituationsStored, FindSimilar, FindMeant, TextsEncoded, EnergyChanged, ReportStats],
    back: [],
    emits: [SimilarFound, MeantFound, EncodeTexts, StatsReported],
});

impl Region for EntorhinalCortex {
    const NAME: RegionName = "entorhinal_cortex";
    const STAGE: Stage = Stage::Memory;
    type Event = EntorhinalEvent;
    type Settings = EntorhinalSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: EntorhinalEvent) {
        match event {
            EntorhinalEvent::Indexed { place, situation, made } => {
                self.places = self.places.max(place + 1);
                self.stale.remove(&place);
                if let (Some(index), Some(encoder)) = (&mut self.index, &self.encoder) {
                    let item = made.unwrap_or_else(|| Box::new(Item::new(*situation, &**encoder)));
                    index.put(place, &item);
                }
            }
            EntorhinalEvent::Forgotten { place } => {
                self.stale.remove(&place);
                self.outer.forget(place);
                if let Some(index) = &mut self.index {
                    index.forget(place);
                }
            }
            EntorhinalEvent::Encoded { vectors } => {
                for (place, vector) in &vectors {
                    self.stale.remove(place);
                    if let Some(index) = &mut self.index {
                        index.set_vector(*place, vector);
                    }
                }
            }
            EntorhinalEvent::Sealed { segments } => (self.sealed, self.readable) = (segments, None),
            EntorhinalEvent::Outer(event) => self.outer.apply(event, self.places),
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &EntorhinalSettings) {
        let encoder = &settings.encoder;
        let mut index =
            SituationIndex::new(encoder.id().clone(), encoder.dims(), encoder.floor(), settings.zone.clone())
                .weighing(settings.weights);
        index.reserve(self.places as usize);
        let mut whole = 0;
        while whole < self.sealed {
            let bytes = records.bytes(&segment_key(whole));
            match bytes.map(|bytes| index.append(&bytes)) {
                Some(Ok(true)) => whole += 1,
                Some(Ok(false)) => break,
                damaged => {
                    tracing::warn!(segment = whole, ?damaged, "a segment of situations can't be read; its records are");
                    break;
                }
            }
        }
        self.readable = (whole < self.sealed).then_some(whole);
        for (key, _) in records.prefixed(CHANGED.as_bytes(), usize::MAX) {
            if let Some(place) = place_of_key(&key, CHANGED).filter(|place| *place < index.places()) {
                match records.bytes(&item_key(place)).and_then(|bytes| Item::from_bytes(&bytes)) {
                    Some(item) => index.put(place, &item),
                    None => index.forget(place),
                }
            }
        }
        // Whole segments end where a page of keys does.
        for page in index.places() / PAGE..self.places.div_ceil(PAGE) {
            for (key, bytes) in records.prefixed(format!("{ITEM}{page:05x}").as_bytes(), PAGE as usize) {
                if let (Some(place), Some(item)) = (place_of_key(&key, ITEM), Item::from_bytes(&bytes)) {
                    if item.encoder != *encoder.id() {
                        self.stale.insert(place);
                    }
                    index.put(place, &item);
                }
            }
        }
        self.index = Some(index);
        self.encoder = Some(Arc::clone(encoder));
        self.outer.wake(records);
    }

    fn read_to_wake(&mut self, records: &RecordView<'_>, settings: &EntorhinalSettings) {
        let encoder = &settings.encoder;
        let is_whole = |segment: u32| {
            let mut alone =
                SituationIndex::new(encoder.id().clone(), encoder.dims(), encoder.floor(), settings.zone.clone())
                    .weighing(settings.weights);
            records.bytes(&segment_key(segment)).is_some_and(|bytes| alone.append(&bytes) == Ok(true))
        };
        let whole = (0..self.sealed).take_while(|segment| is_whole(*segment)).count() as u32 * SEGMENT;
        for (key, _) in records.prefixed(CHANGED.as_bytes(), usize::MAX) {
            if let Some(place) = place_of_key(&key, CHANGED).filter(|place| *place < whole) {
                records.bytes(&item_key(place));
            }
        }
        for page in whole / PAGE..self.places.div_ceil(PAGE) {
            records.prefixed(format!("{ITEM}{page:05x}").as_bytes(), PAGE as usize);
        }
        self.outer.wake(records);
    }

    fn next_deadline(&self, settings: &EntorhinalSettings) -> Option<Timestamp> {
        let is_due =
            self.readable.is_some() || !self.stale.is_empty() || self.outer.is_other(settings.outer.as_deref());
        let due = is_due.then_some(Timestamp::UNIX_EPOCH);
        due.or_else(|| self.outer.due(self.places))
    }

    /// Makes some of the vectors anew; between the steps questions are answered.
    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        if let Some(segments) = self.readable {
            // Damaged, of the format before, or with vectors of the encoder before, until all of which are made anew.
            pulse.keep(EntorhinalEvent::Sealed { segments });
        }
        if self.stale.is_empty() {
            return self.tick_outer(pulse);
        }
        let mut vectors = Vec::new();
        for place in self.stale.iter().copied().take(ENCODED_A_STEP) {
            let item = pulse.records().bytes(&item_key(place)).and_then(|bytes| Item::from_bytes(&bytes));
            let Some(item) = item else {
                pulse.keep(EntorhinalEvent::Forgotten { place });
                continue;
            };
            let item = Item::new(item.situation, &*pulse.settings().encoder);
            pulse.put_bytes(item_key(place), item.to_bytes());
            vectors.push((place, item.vector));
        }
        pulse.keep(EntorhinalEvent::Encoded { vectors });
    }
}

const ITEM: &str = "item/";
/// Places whose items changed since their segment was written.
const CHANGED: &str = "changed/";

fn item_key(place: u32) -> Vec<u8> {
    format!("{ITEM}{place:08x}").into_bytes()
}

fn changed_key(place: u32) -> Vec<u8> {
    format!("{CHANGED}{place:08x}").into_bytes()
}

fn segment_key(number: u32) -> Vec<u8> {
    format!("segment/{number:06x}").into_bytes()
}

fn place_of_key(key: &[u8], prefix: &str) -> Option<u32> {
    let hex = key.strip_prefix(prefix.as_bytes()).and_then(|hex| std::str::from_utf8(hex).ok())?;
    u32::from_str_radix(hex, 16).ok()
}

/// Layers whose records are compared.
const LAYERS: [&str; 3] = ["hippocampus", "anterior_temporal_lobe", "angular_gyrus"];

fn id_key(layer: &str, id: &str) -> Vec<u8> {
    format!("id/{layer}/{id}").into_bytes()
}

impl EntorhinalCortex {
    fn place_of(&self, layer: &str, id: &str, pulse: &Pulse<'_, Self>) -> Option<u32> {
        pulse.record(&id_key(layer, id))
    }

    /// The place's segment on disk is no longer true of it.
    fn note_change(place: u32, sealed: u32, pulse: &mut Pulse<'_, Self>) {
        if place < sealed * SEGMENT {
            pulse.put(changed_key(place), &());
        }
    }

    /// Writes the next segment when enough have come behind it, as it was before this message; how many there are then.
    /// Never while vectors of another encoder wait.
    fn keep_sealed(&self, pulse: &mut Pulse<'_, Self>) -> u32 {
        let due = self.places >= (self.sealed + 1) * SEGMENT + HELD_OPEN;
        if let Some(index) = self.index.as_ref().filter(|_| due && self.stale.is_empty()) {
            let number = self.sealed;
            pulse.put_bytes(segment_key(number), index.pack(number));
            pulse.keep(EntorhinalEvent::Sealed { segments: number + 1 });
            return number + 1;
        }
        self.sealed
    }

    pub(super) fn item(&self, place: u32, pulse: &Pulse<'_, Self>) -> Option<Item> {
        pulse.records().bytes(&item_key(place)).and_then(|bytes| Item::from_bytes(&bytes))
    }

    /// The record that a question names, in whatever layer it is.
    fn named(&self, query: &FindSimilar, pulse: &Pulse<'_, Self>) -> Option<(u32, Item)> {
        let id = query.memory_id.as_deref()?;
        let place = LAYERS.into_iter().find_map(|layer| self.place_of(layer, id, pulse))?;
        Some((place, self.item(place, pulse)?))
    }

    /// What the question says, and the place that it must not find.
    pub(super) fn cue(&self, query: &FindSimilar, pulse: &Pulse<'_, Self>) -> Result<(Cue, Option<u32>), String> {
        if let Some(layer) = query.layer.as_deref().filter(|layer| !LAYERS.contains(layer)) {
            return Err(format!("there is no layer {layer:?}; there are {}", LAYERS.join(", ")));
        }
        let named = self.named(query, pulse);
        if let (Some(id), None) = (&query.memory_id, &named) {
            return Err(format!("no memory has the id {id:?}; take an id that memory_recall gave"));
        }
        let (own, mut cue) = match &named {
            Some((place, item)) => (Some(*place), Cue::of(item)),
            None => (None, Cue::default()),
        };
        let encoder = &pulse.settings().encoder;
        if let Some(context) = query.context.as_deref().filter(|context| !context.trim().is_empty()) {
            cue.text = Some(PackedVector::of(&encoder.embed(context))).filter(|vector| vector.scale > 0.0);
        } else if named.as_ref().is_some_and(|(_, item)| item.encoder != *encoder.id()) {
            cue.text = named.map(|(_, item)| PackedVector::of(&encoder.embed(&item.situation.text)));
        }
        cue.tool = query.tool_name.clone().or(cue.tool);
        cue.goal = query.goal.clone().or(cue.goal);
        cue.layer.clone_from(&query.layer);
        cue.objects.extend(query.object.clone());
        cue.people.extend(query.person.clone());
        if cue.is_empty() {
            return Err("nothing to compare with: give memory_id, context or tool_name".into());
        }
        Ok((cue, own))
    }
}

impl Hears<SituationsStored> for EntorhinalCortex {
    fn hear(&self, told: &SituationsStored, pulse: &mut Pulse<'_, Self>) {
        let sealed = self.keep_sealed(pulse);
        let mut places = self.places;
        let mut given: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for situation in &told.stored {
            let key = id_key(&situation.layer, &situation.id);
            let known = given.get(&key).copied().or_else(|| self.place_of(&situation.layer, &situation.id, pulse));
            let place = known.unwrap_or_else(|| {
                pulse.put(key.clone(), &places);
                places += 1;
                places - 1
            });
            given.insert(key, place);
            if self.outer.covers(place)
                && self.item(place, pulse).is_none_or(|old| old.situation.text != situation.text)
            {
                changed.push(place);
            }
            let item = Item::new(situation.clone(), &*pulse.settings().encoder);
            pulse.put_bytes(item_key(place), item.to_bytes());
            Self::note_change(place, sealed, pulse);
            let situation = Box::new(item.situation.clone());
            pulse.keep(EntorhinalEvent::Indexed { place, situation, made: Some(Box::new(item)) });
        }
        for (layer, id) in &told.forgotten {
            if let Some(place) = self.place_of(layer, id, pulse) {
                pulse.remove(id_key(layer, id));
                pulse.remove(item_key(place));
                Self::note_change(place, sealed, pulse);
                pulse.keep(EntorhinalEvent::Forgotten { place });
                gone.push(place);
            }
        }
        self.forget_outer(&gone, pulse);
        if !changed.is_empty() {
            pulse.keep(EntorhinalEvent::Outer(OuterEvent::Changed { places: changed }));
        }
    }
}

impl Hears<FindSimilar> for EntorhinalCortex {
    fn hear(&self, query: &FindSimilar, pulse: &mut Pulse<'_, Self>) {
        let text = query.context.as_deref().unwrap_or_default();
        if !self.wonder(text, Asked::Similar(Box::new(query.clone())), pulse) {
            let found = self.similar(query, None, pulse);
            pulse.reply(found);
        }
    }
}

impl Hears<ReportStats> for EntorhinalCortex {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let signatures = self.index.as_ref().map_or(0, SituationIndex::len);
        let encoder = pulse.settings().encoder.id().as_str();
        let counts = serde_json::json!({
            "signatures": signatures, "encoder": encoder, "waiting_for_encoder": self.stale.len(),
            "outer_encoder": self.outer.report(self.places, signatures),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}
