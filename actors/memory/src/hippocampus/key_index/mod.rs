//! Episodes by goal, tool, object, person, success, mode and time: sets per key, intersected, newest first.
//!
//! Sealed blocks of 4 096 documents store each key's set as a list or, if shorter, as one bit per document. A directory
//! in memory says which blocks have a key, so that a look-up only reads these.

mod block;
mod filter;
mod kindred;
mod merging;
mod traits;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use maxim_bus::signals::recall::EpisodeFilter;

use super::model::EpisodicMemory;
use super::text_index::{HELD_OPEN, NotIndexed, SEGMENT_DOCUMENTS};
use crate::packing::DamagedSegment;
use block::{Block, Place, pack};
use filter::{Field, Wanted, success_key};
pub use kindred::{Compared, Likeness};
use traits::Traits;

/// The index. The caller numbers documents in ascending order, as in the text index.
#[derive(Debug, Default)]
pub struct KeyIndex {
    blocks: Vec<Block>,
    /// Sorted by block.
    directory: HashMap<String, Vec<Place>>,
    /// Ordinals of unsealed documents, ascending.
    tail: HashMap<String, Vec<u32>>,
    /// Keys of each unsealed document.
    tail_keys: Vec<Vec<String>>,
    sealed: u32,
    documents: Vec<u32>,
    /// Microseconds since 1970.
    times: Vec<i64>,
    traits: Traits,
    /// Some document is older than the one before it, as after an import. Then the newest by time must be searched for.
    out_of_order: bool,
    /// Sorted.
    dead: Vec<u32>,
}

/// The keys of an episode, sorted, distinct.
fn keys_of(episode: &EpisodicMemory) -> Vec<String> {
    let perception = &episode.perception;
    let mut keys: Vec<String> = perception.objects.iter().map(|object| Field::Object.key(object)).collect();
    keys.extend(perception.people.iter().map(|person| Field::Person.key(person)));
    keys.extend(episode.goal().map(|goal| Field::Goal.key(goal)));
    keys.extend(episode.tool().map(|tool| Field::Tool.key(tool)));
    keys.extend(episode.context.mode.as_deref().map(|mode| Field::Mode.key(mode)));
    keys.push(success_key(episode.success()));
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl KeyIndex {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Indexes an episode under a number larger than all earlier ones.
    pub fn add(&mut self, document: u32, episode: &EpisodicMemory) -> Result<(), NotIndexed> {
        if let Some(&last) = self.documents.last()
            && last >= document
        {
            return Err(NotIndexed::OutOfOrder { document, last });
        }
        let ordinal = self.documents.len() as u32;
        let keys = keys_of(episode);
        for key in &keys {
            match self.tail.get_mut(key) {
                Some(members) => members.push(ordinal),
                None => {
                    self.tail.insert(key.clone(), vec![ordinal]);
                }
            }
        }
        let compared: Vec<u32> = keys.iter().filter_map(|key| self.traits.number_of(key)).collect();
        self.traits.push(compared);
        self.tail_keys.push(keys);
        self.append(document, episode.created.as_microsecond());
        Ok(())
    }

    fn append(&mut self, document: u32, time: i64) {
        self.out_of_order |= self.times.last().is_some_and(|last| *last > time);
        self.documents.push(document);
        self.times.push(time);
    }

    /// Updates the keys of an unsealed document to those of its episode (its outcome came).
    pub fn amend(&mut self, document: u32, episode: &EpisodicMemory) -> Result<(), NotIndexed> {
        let ordinal = self.documents.binary_search(&document).map_err(|_| NotIndexed::Sealed(document))? as u32;
        let at = ordinal.checked_sub(self.sealed).ok_or(NotIndexed::Sealed(document))? as usize;
        let keys = keys_of(episode);
        for gone in self.tail_keys[at].iter().filter(|key| keys.binary_search(key).is_err()) {
            if let Some(members) = self.tail.get_mut(gone) {
                members.retain(|m| *m != ordinal);
            }
        }
        for new in keys.iter().filter(|key| self.tail_keys[at].binary_search(key).is_err()) {
            let members = self.tail.entry(new.clone()).or_default();
            members.insert(members.partition_point(|m| *m < ordinal), ordinal);
        }
        self.tail_keys[at] = keys;
        Ok(())
    }

    /// Makes a document impossible to find.
    pub fn remove(&mut self, document: u32) {
        if let Err(at) = self.dead.binary_search(&document) {
            self.dead.insert(at, document);
        }
    }

    /// Documents that pass the filter, newest first, at most `limit`. The filter's words and limit are ignored.
    pub fn find(&self, filter: &EpisodeFilter, limit: usize) -> Vec<u32> {
        self.newest(filter, limit).0
    }

    /// The same, oldest first. Blocks without such old documents aren't read.
    pub fn find_oldest(&self, filter: &EpisodeFilter, limit: usize) -> Vec<u32> {
        let wanted = Wanted::of(filter);
        let mut oldest = BinaryHeap::new();
        let take = |ordinal: u32, oldest: &mut BinaryHeap<(i64, u32)>| {
            if self.passes(ordinal, &wanted) {
                oldest.push((self.times[ordinal as usize], ordinal));
            }
            if oldest.len() > limit {
                oldest.pop();
            }
            true
        };
        for (block, places) in self.holding(&wanted) {
            if oldest.len() < limit || oldest.peek().is_some_and(|(last, _)| block.earliest() <= *last) {
                block.common(&places, &mut |ordinal| take(ordinal, &mut oldest));
            }
        }
        self.visit_tail(&wanted, &mut |ordinal| take(ordinal, &mut oldest));
        oldest.into_sorted_vec().into_iter().map(|(_, ordinal)| self.documents[ordinal as usize]).collect()
    }

    /// Puts documents in order of time, the newest or the oldest first.
    pub fn put_in_order(&self, documents: &mut [u32], oldest: bool) {
        let time = |document: &u32| self.documents.binary_search(document).ok().map(|at| self.times[at]);
        match oldest {
            true => documents.sort_by_key(time),
            false => documents.sort_by_key(|document| Reverse(time(document))),
        }
    }

    /// How many documents pass. A block that is within the time as a whole is counted, not looked through.
    pub fn count(&self, filter: &EpisodeFilter) -> u64 {
        let wanted = Wanted::of(filter);
        let mut count = 0;
        let mut one = |ordinal: u32| {
            count += u64::from(self.passes(ordinal, &wanted));
            true
        };
        self.visit_tail(&wanted, &mut one);
        let mut whole = 0;
        for (block, places) in self.holding(&wanted) {
            if block.is_within(wanted.time) && !self.has_dead(block) {
                whole += u64::from(block.count(&places));
            } else {
                block.common(&places, &mut one);
            }
        }
        count + whole
    }

    /// The newest matching documents, and how many were examined.
    fn newest(&self, filter: &EpisodeFilter, limit: usize) -> (Vec<u32>, usize) {
        // The oldest first. If documents were not added in the order of time, the newest may come last.
        let mut newest = BinaryHeap::new();
        let (enough, mut looked) = (Cell::new(i64::MIN), 0);
        if limit > 0 {
            self.visit(&Wanted::of(filter), &|latest| latest >= enough.get(), &mut |ordinal| {
                looked += 1;
                newest.push(Reverse((self.times[ordinal as usize], ordinal)));
                if newest.len() > limit {
                    newest.pop();
                }
                if let Some(Reverse((oldest, _))) = newest.peek().filter(|_| newest.len() == limit) {
                    enough.set(*oldest);
                }
                self.out_of_order || newest.len() < limit
            });
        }
        let newest = newest.into_sorted_vec();
        (newest.into_iter().map(|Reverse((_, ordinal))| self.documents[ordinal as usize]).collect(), looked)
    }

    /// All matching documents, ascending, for a ranked search among them.
    pub fn matching(&self, filter: &EpisodeFilter) -> Vec<u32> {
        let mut found = Vec::new();
        self.visit(&Wanted::of(filter), &|_| true, &mut |ordinal| {
            found.push(self.documents[ordinal as usize]);
            true
        });
        found.sort_unstable();
        found
    }

    /// Ordinals that pass, block after block, beginning with the one that has the latest document. `wants` gets that
    /// time (microseconds since 1970) and says whether it may matter. Ends when `take` returns false.
    fn visit(&self, wanted: &Wanted, wants: &dyn Fn(i64) -> bool, take: &mut dyn FnMut(u32) -> bool) {
        let mut pass = |ordinal: u32| !self.passes(ordinal, wanted) || take(ordinal);
        if !self.visit_tail(wanted, &mut pass) {
            return;
        }
        for (block, places) in self.holding(wanted).rev() {
            if !wants(block.latest()) || !block.common(&places, &mut pass) {
                return;
            }
        }
    }

    /// True if a document that has the keys also meets the other conditions.
    fn passes(&self, ordinal: u32, wanted: &Wanted) -> bool {
        let at = ordinal as usize;
        let is_alive = || self.dead.is_empty() || self.dead.binary_search(&self.documents[at]).is_err();
        ordinal < wanted.below && wanted.is_of_time(self.times[at]) && is_alive()
    }

    fn has_dead(&self, block: &Block) -> bool {
        let documents = &self.documents[block.base as usize..(block.base + block.documents) as usize];
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else { return false };
        self.dead.get(self.dead.partition_point(|dead| dead < first)).is_some_and(|dead| dead <= last)
    }

    /// Sealed blocks with all of the keys and possibly the time, sorted by their latest document.
    fn holding(&self, wanted: &Wanted) -> impl DoubleEndedIterator<Item = (&Block, Vec<Place>)> {
        let list = |key: &String| self.directory.get(key).map_or(&[][..], Vec::as_slice);
        let mut lists: Vec<&[Place]> = wanted.keys.iter().map(list).collect();
        lists.sort_by_key(|places| places.len());
        let before = self.blocks.partition_point(|block| block.base < wanted.below);
        let mut numbers: Vec<u32> = match lists.first() {
            None => (0..before as u32).collect(),
            Some(fewest) => fewest.iter().map(|place| place.block).take_while(|at| (*at as usize) < before).collect(),
        };
        if self.out_of_order {
            numbers.sort_by_key(|number| self.blocks[*number as usize].latest());
        }
        let time = wanted.time;
        numbers.into_iter().filter_map(move |number| {
            let block = &self.blocks[number as usize];
            let place = |places: &&[Place]| Some(places[places.binary_search_by_key(&number, |it| it.block).ok()?]);
            let places = block.overlaps(time).then(|| lists.iter().map(place).collect::<Option<Vec<_>>>()).flatten()?;
            Some((block, places))
        })
    }

    /// Returns false when `pass` wants no more.
    fn visit_tail(&self, wanted: &Wanted, pass: &mut dyn FnMut(u32) -> bool) -> bool {
        let mut lists: Vec<&[u32]> = Vec::with_capacity(wanted.keys.len());
        for key in &wanted.keys {
            match self.tail.get(key) {
                Some(members) => lists.push(members),
                None => return true,
            }
        }
        lists.sort_by_key(|members| members.len());
        match lists.split_first() {
            None => (self.sealed..wanted.below.min(self.documents.len() as u32)).rev().all(pass),
            Some((fewest, others)) => {
                let below = fewest.partition_point(|ordinal| *ordinal < wanted.below);
                fewest[..below].iter().rev().all(|ordinal| {
                    let shared = others.iter().all(|members| members.binary_search(ordinal).is_ok());
                    !shared || pass(*ordinal)
                })
            }
        }
    }

    /// The number after the last sealed document.
    pub fn sealed_before(&self) -> u32 {
        let last = (self.sealed as usize).checked_sub(1).and_then(|last| self.documents.get(last));
        last.map_or(0, |document| document + 1)
    }

    /// Number of unsealed documents.
    pub fn unsealed(&self) -> usize {
        self.documents.len() - self.sealed as usize
    }

    /// Seals the oldest documents if enough have come, and returns the bytes to store. In step with the text index.
    pub fn seal(&mut self) -> Option<Arc<[u8]>> {
        (self.unsealed() >= SEGMENT_DOCUMENTS + HELD_OPEN).then(|| self.seal_first(SEGMENT_DOCUMENTS))
    }

    /// Seals all remaining documents; `None` if there are none.
    pub fn seal_all(&mut self) -> Option<Arc<[u8]>> {
        (self.unsealed() > 0).then(|| self.seal_first(self.unsealed()))
    }

    fn seal_first(&mut self, count: usize) -> Arc<[u8]> {
        let start = self.sealed;
        let end = start + count as u32;
        let mut keys = Vec::new();
        for (key, members) in &mut self.tail {
            let cut = members.partition_point(|m| *m < end);
            if cut > 0 {
                keys.push((key.clone(), members.drain(..cut).map(|m| (m - start) as u16).collect()));
            }
        }
        self.tail.retain(|_, members| !members.is_empty());
        self.tail_keys.drain(..count);
        keys.sort_unstable_by(|a: &(String, Vec<u16>), b| a.0.cmp(&b.0));
        let columns = start as usize..end as usize;
        let bytes: Arc<[u8]> = pack(&self.documents[columns.clone()], &self.times[columns], &keys).into();
        let block = self.blocks.len() as u32;
        if let Ok(opened) = block::open(&bytes, block) {
            self.enter(opened.keys);
        }
        self.blocks.push(Block::new(bytes.clone(), start, &self.times[start as usize..end as usize]));
        self.sealed = end;
        bytes
    }

    fn enter(&mut self, keys: Vec<(String, Place)>) {
        for (key, place) in keys {
            self.directory.entry(key).or_default().push(place);
        }
    }

    /// True if a sealed block is readable.
    pub fn is_whole(bytes: &[u8]) -> bool {
        block::open(bytes, 0).is_ok()
    }

    /// The index from sealed blocks, in the order of sealing. The caller adds the documents since the last seal again.
    pub fn from_segments(segments: Vec<Arc<[u8]>>) -> Result<Self, DamagedSegment> {
        let mut index = Self::default();
        for bytes in segments {
            let opened = block::open(&bytes, index.blocks.len() as u32)?;
            let base = index.documents.len() as u32;
            for (document, time) in opened.documents.into_iter().zip(opened.times) {
                if let Some(&last) = index.documents.last()
                    && last >= document
                {
                    return Err(DamagedSegment::Order { document, last });
                }
                index.append(document, time);
            }
            index.sealed = index.documents.len() as u32;
            let block = Block::new(bytes, base, &index.times[base as usize..]);
            index.enter_traits(&block, &opened.keys);
            index.blocks.push(block);
            index.enter(opened.keys);
        }
        Ok(index)
    }

    /// Enters a block's keys by document. The keys of each document are counted first, so that a start with a million
    /// documents makes no list for each.
    fn enter_traits(&mut self, block: &Block, keys: &[(String, Place)]) {
        let compared: Vec<(u32, Place)> =
            keys.iter().filter_map(|(key, place)| Some((self.traits.number_of(key)?, *place))).collect();
        let mut counts = vec![0; block.documents as usize];
        for (_, place) in &compared {
            block.each(*place, |member| counts[member] += 1);
        }
        let (mut next, ids) = self.traits.extend(&counts);
        for (number, place) in &compared {
            block.each(*place, |member| {
                ids[next[member]] = *number;
                next[member] += 1;
            });
        }
    }

    /// Seals the oldest documents except the newest `held`, at most `most`; `None` if there are none.
    pub fn seal_but(&mut self, held: usize, most: usize) -> Option<Arc<[u8]>> {
        let count = self.unsealed().saturating_sub(held).min(most);
        (count > 0).then(|| self.seal_first(count))
    }

    /// Bytes of the sealed blocks, in order.
    pub fn segments(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        self.blocks.iter().map(|block| &block.bytes)
    }
}

#[cfg(test)]
mod tests;
