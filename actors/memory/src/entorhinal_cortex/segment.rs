//! A range of situations as columns, so that a large store wakes without reading each record.

use std::collections::{BTreeMap, BTreeSet};

use super::situation_index::{Row, SituationIndex};
use crate::packing::{DamagedSegment, Packer, Unpacker};

const KIND: [u8; 4] = *b"MXE2";
/// Places of a segment.
pub const SEGMENT: u32 = 4096;
/// The newest places are never sealed, because most changes come soon.
pub const HELD_OPEN: u32 = 1024;
const NONE: u32 = u32::MAX;

impl SituationIndex {
    /// Packs the places of segment `number`, with the encoder's id.
    pub fn pack(&self, number: u32) -> Vec<u8> {
        let places = number * SEGMENT..(number + 1) * SEGMENT;
        let mut out = Packer::new(KIND);
        out.text(self.encoder().as_str());
        let rows: Vec<Row> = places.clone().map(|place| self.row(place)).collect();
        // Only the names that occur here, renumbered. With all names in each segment, all would be read again with
        // each.
        let mut used = BTreeMap::new();
        let named =
            |row: &Row| [Some(row.layer), row.tool, row.goal, row.mode].into_iter().flatten().collect::<Vec<_>>();
        for id in
            rows.iter().flat_map(|row| named(row).into_iter().chain(row.objects.iter().chain(&row.people).copied()))
        {
            if let Some(name) = self.names().get(id as usize) {
                let next = used.len() as u32;
                used.entry(id).or_insert((next, name));
            }
        }
        let mut names: Vec<(u32, &String)> = used.values().copied().collect();
        names.sort_unstable();
        out.count(names.len());
        names.iter().for_each(|(_, name)| out.text(name));
        let number = |id: Option<u32>| id.and_then(|id| used.get(&id)).map_or(NONE, |(number, _)| *number);
        for row in &rows {
            out.i64(row.at);
            for id in [Some(row.layer), row.tool, row.goal, row.mode] {
                out.u32(number(id));
            }
            out.u32(row.success.map_or(NONE, u32::from));
            row.phases.iter().for_each(|phase| out.u32(u32::from(*phase)));
            for list in [&row.objects, &row.people] {
                out.count(list.len());
                list.iter().for_each(|name| out.u32(number(Some(*name))));
            }
            out.u32(u32::from(row.is_forgotten));
            out.u32(row.scale.to_bits());
            row.signature.iter().for_each(|word| out.raw(&word.to_le_bytes()));
        }
        for place in places {
            let steps: Vec<u8> = self.steps(place).iter().map(|step| step.cast_unsigned()).collect();
            out.raw(&steps);
        }
        out.finish()
    }

    /// True if [`SituationIndex::append`] would accept these bytes. A start can ask this without building an index
    /// twice.
    pub fn would_append(&self, bytes: &[u8]) -> bool {
        let named = Unpacker::open(bytes, KIND).and_then(|mut reader| reader.text("the encoder's id"));
        named == Ok(self.encoder().as_str())
    }

    /// Appends what was packed; false, and nothing done, if it is another encoder's.
    pub fn append(&mut self, bytes: &[u8]) -> Result<bool, DamagedSegment> {
        let mut reader = Unpacker::open(bytes, KIND)?;
        if reader.text("the encoder's id")? != self.encoder().as_str() {
            return Ok(false);
        }
        let count = reader.u32("the number of names")?;
        let names = (0..count).map(|_| reader.text("a name")).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<u32> = names.into_iter().map(|name| self.name(name)).collect();
        let given = |number: u32| names.get(number as usize).copied();
        let mut rows = Vec::with_capacity(SEGMENT as usize);
        for _ in 0..SEGMENT {
            let at = reader.i64("a time")?;
            let mut next = || reader.u32("a row");
            let (layer, tool, goal, mode, success) = (next()?, next()?, next()?, next()?, next()?);
            let mut row = Row {
                layer: given(layer).unwrap_or(NONE),
                tool: given(tool),
                goal: given(goal),
                mode: given(mode),
                success: (success != NONE).then_some(success == 1),
                phases: [next()? as u16, next()? as u16, next()? as u16, next()? as u16],
                at,
                ..Row::default()
            };
            for list in [&mut row.objects, &mut row.people] {
                let length = next()? as usize;
                // Without spare room, so that nothing is moved when it becomes a place's list.
                list.reserve_exact(length.min(SEGMENT as usize));
                for _ in 0..length {
                    list.extend(given(next()?));
                }
                list.sort_unstable();
            }
            row.is_forgotten = next()? == 1;
            row.scale = f32::from_bits(next()?);
            for word in &mut row.signature {
                *word = u64::from(next()?) | u64::from(next()?) << 32;
            }
            rows.push(row);
        }
        let goals: BTreeSet<u32> = rows.iter().filter_map(|row| row.goal).collect();
        goals.into_iter().for_each(|goal| self.know_goal(Some(goal)));
        let dims = self.dims();
        let steps = reader.take(SEGMENT as usize * dims, "the vectors")?;
        for (row, steps) in rows.into_iter().zip(steps.chunks_exact(dims.max(1))) {
            self.push_row(row, steps.iter().map(|byte| byte.cast_signed()));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use jiff::{SignedDuration, Timestamp};
    use maxim_bus::signals::similarity::Situation;

    use super::*;
    use crate::entorhinal_cortex::model::Item;
    use maxim_language::packed::PackedVector;
    use maxim_language::{Embedding, EncoderId};

    fn index() -> SituationIndex {
        SituationIndex::new(EncoderId::new("two"), 2, 0.3, TimeZone::UTC)
    }

    #[test]
    fn a_segment_holds_the_names_of_its_own_places_and_comes_back_as_it_was() {
        let mut index = index();
        for place in 0..2 * SEGMENT {
            let vector = PackedVector::of(&Embedding::new(EncoderId::new("two"), vec![1.0, place as f32]));
            let situation = Situation {
                layer: "hippocampus".into(),
                at: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::from(place) * 7_919 - 20_000_000),
                goal: Some(format!("find cup {place:05}")),
                objects: vec![format!("cup {place:05}"), "table".into()],
                people: if place % 3 == 0 { vec![format!("person {}", place % 5)] } else { Vec::new() },
                success: [None, Some(true), Some(false)][place as usize % 3],
                ..Situation::default()
            };
            index.put(place, &Item::with_vector(situation, EncoderId::new("two"), vector));
        }
        index.forget(SEGMENT + 7);
        let packed: Vec<Vec<u8>> = (0..2).map(|number| index.pack(number)).collect();
        assert!(packed[1].len() < packed[0].len() * 11 / 10, "{} after {}", packed[1].len(), packed[0].len());
        let mut again = self::index();
        for segment in &packed {
            assert!(again.append(segment).expect("readable"));
        }
        let named = |of: &SituationIndex, place: u32| {
            let row = of.row(place);
            let name = |id: &u32| of.names().get(*id as usize).cloned();
            let mut things: Vec<_> = row.objects.iter().chain(&row.people).map(name).collect();
            things.sort();
            let fields = [Some(row.layer), row.tool, row.goal, row.mode].map(|id| id.and_then(|id| name(&id)));
            (fields, things, row.success, row.phases, row.at, row.is_forgotten, row.signature)
        };
        for place in (0..2 * SEGMENT).step_by(61).chain([SEGMENT + 7]) {
            assert_eq!(named(&again, place), named(&index, place), "{place}");
        }
    }
}
