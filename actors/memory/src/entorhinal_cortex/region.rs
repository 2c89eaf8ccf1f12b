//! The entorhinal cortex as a room: knows which situations are similar.
//!
//! Biology: the entorhinal cortex, where patterns are separated on the way into memory and completed on the way out.
//! Law: `law.rs` weighs the parts of a likeness, `language::nearest` finds the nearest among many.
//! Remembers: every situation that a memory layer reported, as a record. Its vector is in a segment of many, with the
//! encoder of the vectors; until that segment is written, in its own record.
//! Forgets: what its layer forgot.
//! Down: new situations wait in its inbox; likeness is a missing section.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::encoding::{EncodeTexts, FindMeant, MeantFound, TextsEncoded};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::similarity::{FindSimilar, SimilarFound, Situation, SituationsStored};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::LikenessWeights;
use super::model::{Cue, Item};
use super::outer::{Asked, Outer, OuterEvent};
use super::settling::{Unsettled, item_key, pass_over, vector_key};
use super::situation_index::SituationIndex;
use maxim_language::Encoder;
use maxim_language::packed::PackedVector;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, RecordView, Region};

/// Answers if the question gives no number.
pub(super) const USUAL_LIMIT: usize = 5;

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct EntorhinalSettings {
    /// Makes vectors of texts. If it changes, all vectors are made again, and questions are answered meanwhile.
    pub encoder: Arc<dyn Encoder>,
    /// The name of the external encoder, if there is one.
    pub outer: Option<String>,
    /// Local time zone of the body.
    pub zone: TimeZone,
    /// How much each part counts in the likeness.
    pub weights: LikenessWeights,
}

#[derive(Default, Serialize, Deserialize)]
pub struct EntorhinalCortex {
    /// The number of assigned places.
    pub(super) places: u32,
    /// Number of segments of places on disk.
    pub(super) sealed: u32,
    pub(super) outer: Outer,
    #[serde(skip)]
    pub(super) index: Option<SituationIndex>,
    #[serde(skip)]
    pub(super) encoder: Option<Arc<dyn Encoder>>,
    #[serde(skip)]
    pub(super) unsettled: Unsettled,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EntorhinalEvent {
    Indexed {
        place: u32,
        situation: Box<Situation>,
        /// The handler's result, so that it is made only once. A reload makes it again.
        #[serde(skip)]
        made: Option<Box<Item>>,
    },
    Forgotten {
        place: u32,
    },
    Encoded {
        vectors: Vec<(u32, PackedVector)>,
    },
    /// This many segments are on disk; the rest is only in records.
    Sealed {
        segments: u32,
    },
    /// Changed places whose segments are on disk.
    Worn {
        at: Timestamp,
    },
    /// This segment was rewritten.
    Resealed {
        segment: u32,
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
    const NAME: RegionName = rooms::ENTORHINAL_CORTEX;
    const STAGE: Stage = Stage::Memory;
    type Event = EntorhinalEvent;
    type Settings = EntorhinalSettings;

    fn apply(&mut self, event: EntorhinalEvent) {
        match event {
            EntorhinalEvent::Indexed { place, situation, made } => {
                self.places = self.places.max(place + 1);
                self.unsettled.changed_at(place, self.sealed);
                if let (Some(index), Some(encoder)) = (&mut self.index, &self.encoder) {
                    let item = made.unwrap_or_else(|| Box::new(Item::new(*situation, &**encoder)));
                    index.put(place, &item);
                }
            }
            EntorhinalEvent::Forgotten { place } => {
                self.unsettled.changed_at(place, self.sealed);
                self.outer.forget(place);
                if let Some(index) = &mut self.index {
                    index.forget(place);
                }
            }
            EntorhinalEvent::Encoded { vectors } => {
                for (place, vector) in &vectors {
                    self.unsettled.stale.remove(place);
                    if let Some(index) = &mut self.index {
                        index.set_vector(*place, vector);
                    }
                }
            }
            EntorhinalEvent::Sealed { segments } => self.sealed = segments,
            EntorhinalEvent::Worn { at } => self.unsettled.worn_at = Some(at),
            EntorhinalEvent::Resealed { segment } => self.unsettled.resealed(segment),
            EntorhinalEvent::Outer(event) => self.outer.apply(event, self.places),
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &EntorhinalSettings) {
        self.read_situations(records, settings);
        self.outer.wake(records);
    }

    fn read_to_wake(&mut self, records: &RecordView<'_>, settings: &EntorhinalSettings) {
        pass_over(self.places, self.sealed, records, settings);
        self.outer.wake(records);
    }

    fn next_deadline(&self, settings: &EntorhinalSettings) -> Option<Timestamp> {
        let is_due = self.is_unsettled() || self.outer.is_other(settings.outer.as_deref());
        let due = is_due.then_some(Timestamp::UNIX_EPOCH);
        due.or_else(|| self.worn_due()).into_iter().chain(self.outer.due(self.places)).min()
    }

    /// Remakes some of the stored data. Questions are answered between the steps.
    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        if !self.settle_some(pulse) {
            self.tick_outer(pulse);
        }
    }
}

/// Layers whose records are compared.
const LAYERS: [&str; 3] = ["hippocampus", "anterior_temporal_lobe", "angular_gyrus"];

fn id_key(layer: &str, id: &str) -> Vec<u8> {
    format!("id/{layer}/{id}").into_bytes()
}

impl EntorhinalCortex {
    /// The situation that a layer reported for a record, for readers outside the room. An unreadable one is left out.
    pub fn situation_in(records: &RecordView<'_>, layer: &str, id: &str) -> Option<Situation> {
        let place = records.read(&id_key(layer, id)).ok()??;
        let item = records.read(&item_key(serde_json::from_slice(&place).ok()?)).ok()??;
        Some(Item::from_bytes(&item)?.situation)
    }

    fn place_of(&self, layer: &str, id: &str, pulse: &Pulse<'_, Self>) -> Option<u32> {
        pulse.record(&id_key(layer, id))
    }

    pub(super) fn situation(&self, place: u32, pulse: &Pulse<'_, Self>) -> Option<Situation> {
        let bytes = pulse.records().bytes(&item_key(place))?;
        Some(Item::from_bytes(&bytes)?.situation)
    }

    /// The record that a question names, in any layer.
    fn named(&self, query: &FindSimilar, pulse: &Pulse<'_, Self>) -> Option<(u32, Situation)> {
        let id = query.memory_id.as_deref()?;
        let place = LAYERS.into_iter().find_map(|layer| self.place_of(layer, id, pulse))?;
        Some((place, self.situation(place, pulse)?))
    }

    /// The question as a cue, and the place that it must not find.
    pub(super) fn cue(&self, query: &FindSimilar, pulse: &Pulse<'_, Self>) -> Result<(Cue, Option<u32>), String> {
        if let Some(layer) = query.layer.as_deref().filter(|layer| !LAYERS.contains(layer)) {
            return Err(format!("there is no layer {layer:?}; there are {}", LAYERS.join(", ")));
        }
        let named = self.named(query, pulse);
        if let (Some(id), None) = (&query.memory_id, &named) {
            return Err(format!("no memory has the id {id:?}; take an id that memory_recall gave"));
        }
        let encoder = &pulse.settings().encoder;
        let meaning = |text: &str| Some(PackedVector::of(&encoder.embed(text))).filter(|vector| vector.scale > 0.0);
        let context = query.context.as_deref().filter(|context| !context.trim().is_empty());
        let text = match (context, &named) {
            (Some(context), _) => meaning(context),
            (None, Some((place, situation))) => {
                self.index.as_ref().and_then(|index| index.vector(*place)).or_else(|| meaning(&situation.text))
            }
            (None, None) => None,
        };
        let (own, known) = named.unzip();
        let mut cue = Cue { text, ..known.map(Cue::of).unwrap_or_default() };
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
        let (mut changed, mut gone, mut is_calm) = (Vec::new(), Vec::new(), true);
        for situation in &told.stored {
            let key = id_key(&situation.layer, &situation.id);
            let known = given.get(&key).copied().or_else(|| self.place_of(&situation.layer, &situation.id, pulse));
            let place = known.unwrap_or_else(|| {
                pulse.put(key.clone(), &places);
                places += 1;
                places - 1
            });
            given.insert(key, place);
            if self.outer.covers(place) && self.situation(place, pulse).is_none_or(|old| old.text != situation.text) {
                changed.push(place);
            }
            let item = Item::new(situation.clone(), &*pulse.settings().encoder);
            pulse.put_bytes(item_key(place), item.to_bytes());
            pulse.put_bytes(vector_key(place), item.vector_bytes());
            is_calm &= !Self::note_change(place, sealed, pulse);
            let situation = Box::new(item.situation.clone());
            pulse.keep(EntorhinalEvent::Indexed { place, situation, made: Some(Box::new(item)) });
        }
        for (layer, id) in &told.forgotten {
            if let Some(place) = self.place_of(layer, id, pulse) {
                pulse.remove(id_key(layer, id));
                pulse.remove(item_key(place));
                pulse.remove(vector_key(place));
                is_calm &= !Self::note_change(place, sealed, pulse);
                pulse.keep(EntorhinalEvent::Forgotten { place });
                gone.push(place);
            }
        }
        if !is_calm {
            pulse.keep(EntorhinalEvent::Worn { at: pulse.now() });
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
            "signatures": signatures, "encoder": encoder, "waiting_for_encoder": self.unsettled.stale.len(),
            "outer_encoder": self.outer.report(self.places, signatures),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
