//! Merges several sealed blocks into one, so that looking up a common key reads fewer of them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::block::{self, Block, pack};
use super::{KeyIndex, SEGMENT_DOCUMENTS};
use crate::hippocampus::text_index::MERGE_FACTOR;
use crate::packing::DamagedSegment;

impl KeyIndex {
    /// The first run of small neighbouring blocks.
    pub fn mergeable(&self) -> Option<Range<usize>> {
        let small = |run: &[Block]| run.iter().all(|block| block.documents as usize <= SEGMENT_DOCUMENTS);
        let start = self.blocks.windows(MERGE_FACTOR).position(small)?;
        Some(start..start + MERGE_FACTOR)
    }

    /// The bytes of one block that replaces several.
    pub fn merged(&self, parts: Range<usize>) -> Result<Arc<[u8]>, DamagedSegment> {
        let blocks = self.blocks.get(parts.clone()).unwrap_or(&[]);
        let start = blocks.first().map_or(0, |block| block.base);
        let documents: u32 = blocks.iter().map(|block| block.documents).sum();
        let mut keys: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        for (block, number) in blocks.iter().zip(parts) {
            for (key, place) in block::open(&block.bytes, number as u32)?.keys {
                let mut members = Vec::new();
                block.common(&[place], &mut |ordinal| {
                    members.push((ordinal - start) as u16);
                    true
                });
                members.reverse();
                keys.entry(key).or_default().extend(members);
            }
        }
        let columns = start as usize..(start + documents) as usize;
        let keys: Vec<(String, Vec<u16>)> = keys.into_iter().collect();
        Ok(pack(&self.documents[columns.clone()], &self.times[columns], &keys).into())
    }

    /// Replaces several blocks by the merged one.
    pub fn replace(&mut self, parts: Range<usize>, merged: Arc<[u8]>) -> Result<(), DamagedSegment> {
        let Some(base) = self.blocks.get(parts.start).map(|block| block.base) else { return Ok(()) };
        let opened = block::open(&merged, parts.start as u32)?;
        let (first, after, fewer) = (parts.start as u32, parts.end as u32, parts.len() as u32 - 1);
        for places in self.directory.values_mut() {
            places.retain(|place| place.block < first || place.block >= after);
            places.iter_mut().filter(|place| place.block >= after).for_each(|place| place.block -= fewer);
        }
        for (key, place) in opened.keys {
            let places = self.directory.entry(key).or_default();
            places.insert(places.partition_point(|other| other.block < place.block), place);
        }
        let block = Block::new(merged, base, &opened.times);
        self.blocks.splice(parts, [block]);
        Ok(())
    }

    /// Times of existing documents from an ordinal on, in microseconds since 1970, examining at most `most`. Also the
    /// next ordinal; none at the end.
    pub fn times_from(&self, ordinal: usize, most: usize) -> (Vec<i64>, Option<usize>) {
        let end = (ordinal + most).min(self.documents.len());
        let living = (ordinal..end).filter(|at| self.dead.binary_search(&self.documents[*at]).is_err());
        (living.map(|at| self.times[at]).collect(), (end < self.documents.len()).then_some(end))
    }
}
