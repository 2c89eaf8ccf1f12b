//! What is on disk of situations, and how it settles: records of the newest, segments of the rest, and what is to be made
//! anew because it was damaged, is another encoder's or has changed much.

use maxim_bus::clock::Reckoned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::model::Item;
use super::region::{EntorhinalCortex, EntorhinalEvent, EntorhinalSettings};
use super::segment::{HELD_OPEN, SEGMENT};
use super::situation_index::SituationIndex;
use maxim_region::{Pulse, RecordView};

/// Vectors that are made anew in one step.
const ENCODED_A_STEP: usize = 64;
/// Changed places of a segment from which it is written anew.
const WORN: usize = SEGMENT as usize / 8;
/// For so long nothing has changed before that: what changes one place of a segment changes others soon.
const CALM: SignedDuration = SignedDuration::from_secs(2);

const ITEM: &str = "item/";
/// Vectors of items that stand in no segment, or otherwise.
const VECTOR: &str = "vector/";
/// Places whose items changed since their segment was written.
const CHANGED: &str = "changed/";

fn place_key(prefix: &str, place: u32) -> Vec<u8> {
    format!("{prefix}{place:08x}").into_bytes()
}

pub fn item_key(place: u32) -> Vec<u8> {
    place_key(ITEM, place)
}

pub fn vector_key(place: u32) -> Vec<u8> {
    place_key(VECTOR, place)
}

fn segment_key(number: u32) -> Vec<u8> {
    format!("segment/{number:06x}").into_bytes()
}

fn place_of_key(key: &[u8], prefix: &str) -> Option<u32> {
    let hex = key.strip_prefix(prefix.as_bytes()).and_then(|hex| std::str::from_utf8(hex).ok())?;
    u32::from_str_radix(hex, 16).ok()
}

fn places_of(segment: u32) -> std::ops::Range<u32> {
    segment * SEGMENT..(segment + 1) * SEGMENT
}

/// Records of a stretch of places, by place.
fn stretch(prefix: &str, places: std::ops::Range<u32>, records: &RecordView<'_>) -> BTreeMap<u32, Vec<u8>> {
    let found = records.between(&place_key(prefix, places.start), &place_key(prefix, places.end));
    found.into_iter().filter_map(|(key, bytes)| Some((place_of_key(&key, prefix)?, bytes))).collect()
}

fn empty_index(settings: &EntorhinalSettings) -> SituationIndex {
    let encoder = &settings.encoder;
    SituationIndex::new(encoder.id().clone(), encoder.dims(), encoder.floor(), settings.zone.clone())
        .weighing(settings.weights)
}

fn changed_places(records: &RecordView<'_>) -> Vec<u32> {
    let keys = records.prefixed(CHANGED.as_bytes(), usize::MAX).into_iter();
    keys.filter_map(|(key, _)| place_of_key(&key, CHANGED)).collect()
}

/// What is not on disk as it should be.
#[derive(Default)]
pub struct Unsettled {
    /// Places without a vector of the present encoder.
    pub stale: BTreeSet<u32>,
    /// Segments that can't be read, or are another encoder's.
    broken: BTreeSet<u32>,
    /// Places that changed since their segment was written.
    changed: BTreeSet<u32>,
    pub worn_at: Option<Timestamp>,
}

impl Unsettled {
    pub fn changed_at(&mut self, place: u32, sealed: u32) {
        self.stale.remove(&place);
        if place < sealed * SEGMENT {
            self.changed.insert(place);
        }
    }

    pub fn resealed(&mut self, segment: u32) {
        self.broken.remove(&segment);
        self.changed.retain(|place| !places_of(segment).contains(place));
    }

    fn is_stale(&self, segment: u32) -> bool {
        self.stale.range(places_of(segment)).next().is_some()
    }

    /// A segment of which so much changed that it is written anew.
    fn worn(&self) -> Option<u32> {
        if self.changed.len() < WORN {
            return None;
        }
        let mut from = *self.changed.first()? / SEGMENT;
        loop {
            if self.changed.range(places_of(from)).count() >= WORN {
                return Some(from);
            }
            from = self.changed.range(places_of(from).end..).next()? / SEGMENT;
        }
    }
}

/// Reads what waking reads, segment by segment.
pub fn pass_over(places: u32, sealed: u32, records: &RecordView<'_>, settings: &EntorhinalSettings) {
    let index = empty_index(settings);
    let is_whole = |segment: u32| records.bytes(&segment_key(segment)).is_some_and(|bytes| index.would_append(&bytes));
    let (whole, broken): (Vec<u32>, Vec<u32>) = (0..sealed).partition(|segment| is_whole(*segment));
    for place in changed_places(records) {
        if whole.binary_search(&(place / SEGMENT)).is_ok() {
            records.bytes(&item_key(place));
            records.bytes(&vector_key(place));
        }
    }
    for segment in broken.into_iter().chain(sealed..places.div_ceil(SEGMENT)) {
        stretch(ITEM, places_of(segment), records);
        stretch(VECTOR, places_of(segment), records);
    }
}

impl EntorhinalCortex {
    /// Whole segments as they are, what changed in them, and the rest from its records.
    pub(super) fn read_situations(&mut self, records: &RecordView<'_>, settings: &EntorhinalSettings) {
        let mut index = empty_index(settings);
        index.reserve(self.places as usize);
        self.unsettled = Unsettled::default();
        for segment in 0..self.sealed {
            match records.bytes(&segment_key(segment)).map(|bytes| index.append(&bytes)) {
                Some(Ok(true)) => continue,
                Some(Ok(false)) => {}
                damaged => {
                    tracing::warn!(segment, ?damaged, "a segment of situations can't be read; its records are");
                }
            }
            index.push_places(SEGMENT);
            self.unsettled.broken.insert(segment);
        }
        index.push_places(self.places.saturating_sub(index.places()));
        self.index = Some(index);
        self.encoder = Some(Arc::clone(&settings.encoder));
        for place in changed_places(records) {
            let segment = place / SEGMENT;
            if segment < self.sealed {
                self.unsettled.changed.insert(place);
            }
            if segment < self.sealed && !self.unsettled.broken.contains(&segment) {
                let item = records.bytes(&item_key(place));
                let vector = records.bytes(&vector_key(place));
                self.take_up(place, item.as_deref(), vector.as_deref());
            }
        }
        let broken: Vec<u32> = self.unsettled.broken.iter().copied().collect();
        for segment in broken.into_iter().chain(self.sealed..self.places.div_ceil(SEGMENT)) {
            let vectors = stretch(VECTOR, places_of(segment), records);
            for (place, item) in stretch(ITEM, places_of(segment), records) {
                self.take_up(place, Some(&item), vectors.get(&place).map(Vec::as_slice));
            }
        }
    }

    /// Puts what records say of a place into the index. Its vector is made anew later if none is of this encoder.
    fn take_up(&mut self, place: u32, item: Option<&[u8]>, vector: Option<&[u8]>) {
        let (Some(index), Some(encoder)) = (&mut self.index, &self.encoder) else { return };
        let Some(mut item) = item.and_then(Item::from_bytes) else {
            index.forget(place);
            return;
        };
        if let Some(vector) = vector {
            item.take_vector(vector, encoder.id());
        }
        if item.encoder != *encoder.id() {
            self.unsettled.stale.insert(place);
        }
        index.put(place, &item);
    }

    /// Something is to be settled at once.
    pub(super) fn is_unsettled(&self) -> bool {
        !self.unsettled.stale.is_empty() || !self.unsettled.broken.is_empty()
    }

    /// When a segment is to be written anew in which much has changed.
    pub(super) fn worn_due(&self) -> Option<Timestamp> {
        self.unsettled.worn()?;
        Some(self.unsettled.worn_at.map_or(Timestamp::UNIX_EPOCH, |at| at.later(CALM)))
    }

    /// Does the next step of what is to be settled; false if nothing is.
    pub(super) fn settle_some(&self, pulse: &mut Pulse<'_, Self>) -> bool {
        let broken = self.unsettled.broken.iter().find(|segment| !self.unsettled.is_stale(**segment));
        let worn = self.worn_due().filter(|due| *due <= pulse.now()).and_then(|_| self.unsettled.worn());
        match (broken, worn.filter(|segment| !self.unsettled.is_stale(*segment))) {
            (Some(segment), _) => self.reseal(*segment, pulse),
            (None, Some(segment)) => self.reseal(segment, pulse),
            (None, None) if !self.unsettled.stale.is_empty() => self.encode_some(pulse),
            (None, None) => return false,
        }
        true
    }

    fn encode_some(&self, pulse: &mut Pulse<'_, Self>) {
        let mut vectors = Vec::new();
        for place in self.unsettled.stale.iter().copied().take(ENCODED_A_STEP) {
            let Some(situation) = self.situation(place, pulse) else {
                pulse.keep(EntorhinalEvent::Forgotten { place });
                continue;
            };
            let item = Item::new(situation, &*pulse.settings().encoder);
            pulse.put_bytes(item_key(place), item.to_bytes());
            pulse.put_bytes(vector_key(place), item.vector_bytes());
            vectors.push((place, item.vector));
        }
        pulse.keep(EntorhinalEvent::Encoded { vectors });
    }

    /// The place's segment on disk is no longer true of it.
    pub(super) fn note_change(place: u32, sealed: u32, pulse: &mut Pulse<'_, Self>) -> bool {
        let is_sealed = place < sealed * SEGMENT;
        if is_sealed {
            pulse.put(place_key(CHANGED, place), &());
        }
        is_sealed
    }

    /// Writes the next segment when enough have come behind it, as it was before this message; how many there are then.
    pub(super) fn keep_sealed(&self, pulse: &mut Pulse<'_, Self>) -> u32 {
        let number = self.sealed;
        if self.places < (number + 1) * SEGMENT + HELD_OPEN || self.unsettled.is_stale(number) {
            return number;
        }
        self.write_segment(number, pulse);
        pulse.keep(EntorhinalEvent::Sealed { segments: number + 1 });
        number + 1
    }

    fn reseal(&self, segment: u32, pulse: &mut Pulse<'_, Self>) {
        self.write_segment(segment, pulse);
        for place in self.unsettled.changed.range(places_of(segment)) {
            pulse.remove(place_key(CHANGED, *place));
        }
        pulse.keep(EntorhinalEvent::Resealed { segment });
    }

    /// Writes a segment in place of the vectors' records.
    fn write_segment(&self, number: u32, pulse: &mut Pulse<'_, Self>) {
        let Some(index) = &self.index else { return };
        pulse.put_bytes(segment_key(number), index.pack(number));
        places_of(number).for_each(|place| pulse.remove(vector_key(place)));
    }
}
