//! A stretch of situations as columns, so that a large store wakes without reading each record.

use super::situation_index::{Row, SituationIndex};
use crate::memory::hippocampus::packing::{DamagedSegment, Packer, Unpacker};

const KIND: [u8; 4] = *b"MXE1";
/// Places of a segment.
pub const SEGMENT: u32 = 4096;
/// Newest places that are never sealed: most changes come soon.
pub const HELD_OPEN: u32 = 1024;
const NONE: u32 = u32::MAX;

impl SituationIndex {
    /// The places of segment `number`, with the encoder's id.
    pub fn pack(&self, number: u32) -> Vec<u8> {
        let places = number * SEGMENT..(number + 1) * SEGMENT;
        let mut out = Packer::new(KIND);
        out.text(self.encoder().as_str());
        let names = self.names();
        out.count(names.len());
        names.iter().for_each(|name| out.text(name));
        for place in places.clone() {
            let row = self.row(place);
            let success = row.success.map_or(NONE, u32::from);
            for number in
                [row.layer, row.tool.unwrap_or(NONE), row.goal.unwrap_or(NONE), row.mode.unwrap_or(NONE), success]
            {
                out.u32(number);
            }
            row.phases.iter().for_each(|phase| out.u32(u32::from(*phase)));
            for list in [&row.objects, &row.people] {
                out.count(list.len());
                list.iter().for_each(|name| out.u32(*name));
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
            let mut next = || reader.u32("a row");
            let (layer, tool, goal, mode, success) = (next()?, next()?, next()?, next()?, next()?);
            let mut row = Row {
                layer: given(layer).unwrap_or(NONE),
                tool: given(tool),
                goal: given(goal),
                mode: given(mode),
                success: (success != NONE).then_some(success == 1),
                phases: [next()? as u16, next()? as u16, next()? as u16, next()? as u16],
                ..Row::default()
            };
            for list in [&mut row.objects, &mut row.people] {
                let length = next()?;
                *list = (0..length)
                    .map(|_| next().map(|name| given(name).unwrap_or(NONE)))
                    .collect::<Result<Vec<_>, _>>()?;
                list.sort_unstable();
            }
            row.is_forgotten = next()? == 1;
            row.scale = f32::from_bits(next()?);
            for word in &mut row.signature {
                *word = u64::from(next()?) | u64::from(next()?) << 32;
            }
            rows.push(row);
        }
        let dims = self.dims();
        let steps = reader.take(SEGMENT as usize * dims, "the vectors")?;
        for (row, steps) in rows.into_iter().zip(steps.chunks_exact(dims.max(1))) {
            self.push_row(row, steps.iter().map(|byte| byte.cast_signed()));
        }
        Ok(true)
    }
}
