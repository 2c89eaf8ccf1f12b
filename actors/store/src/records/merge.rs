//! Reads several sorted sources as one. Of equal keys, the newest source's value counts.

use std::collections::btree_map;
use std::iter::Peekable;

use super::super::error::EngineError;
use super::run::{RunCursor, Whole};
use super::{Held, KeyRange, Tail, Value, is_empty_range};

type Item = (Vec<u8>, Value);

/// One sorted source.
pub enum Source<'a> {
    Memory(btree_map::Range<'a, Vec<u8>, Held>),
    List(Peekable<std::vec::IntoIter<Item>>),
    Run(RunCursor),
}

impl<'a> Source<'a> {
    pub fn memory(tail: &'a Tail, range: &KeyRange) -> Self {
        if is_empty_range(range) {
            return Self::list(Vec::new());
        }
        Self::Memory(tail.map.range(range.clone()))
    }

    pub fn list(items: Vec<Item>) -> Self {
        Self::List(items.into_iter().peekable())
    }

    fn next(&mut self) -> Result<Option<Item>, EngineError> {
        match self {
            Self::Memory(range) => Ok(range.next().map(|(key, held)| (key.clone(), held.value.clone()))),
            Self::List(list) => Ok(list.next()),
            Self::Run(cursor) => cursor.next(),
        }
    }
}

/// Merges sources that are given newest first.
pub struct Merging<'a> {
    sources: Vec<(Source<'a>, Option<Item>)>,
    primed: bool,
    /// Collects values that a newer one replaced, if set.
    pub replaced: Option<Vec<Value>>,
    /// Collects the key ranges of unreadable blocks, if set; otherwise such a block is an error.
    pub lost: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl<'a> Merging<'a> {
    pub fn new(sources: Vec<Source<'a>>) -> Self {
        let sources = sources.into_iter().map(|source| (source, None)).collect();
        Self { sources, primed: false, replaced: None, lost: None }
    }

    fn advance(&mut self, index: usize) -> Result<(), EngineError> {
        let Some((source, slot)) = self.sources.get_mut(index) else { return Ok(()) };
        *slot = loop {
            match (source.next(), &mut *source, &mut self.lost) {
                (Err(EngineError::Damaged(_)), Source::Run(cursor), Some(lost)) => lost.push(cursor.skip_block()),
                (next, ..) => break next?,
            }
        };
        Ok(())
    }

    fn prime(&mut self) -> Result<(), EngineError> {
        if !std::mem::replace(&mut self.primed, true) {
            (0..self.sources.len()).try_for_each(|index| self.advance(index))?;
        }
        Ok(())
    }

    /// The newest source with the smallest key.
    fn newest(&self) -> Option<usize> {
        let mut newest: Option<usize> = None;
        for (index, (_, slot)) in self.sources.iter().enumerate() {
            let Some((key, _)) = slot else { continue };
            let smaller = newest.and_then(|at| self.sources[at].1.as_ref()).is_none_or(|(best, _)| key < best);
            if smaller {
                newest = Some(index);
            }
        }
        newest
    }

    /// The next block of a run, if no other source has a key within it, with the index of its source.
    pub fn whole_block(&mut self) -> Result<Option<(usize, Whole)>, EngineError> {
        self.prime()?;
        let Some(newest) = self.newest() else { return Ok(None) };
        let Source::Run(cursor) = &self.sources[newest].0 else { return Ok(None) };
        let others = self.sources.iter().enumerate().filter(|(index, _)| *index != newest);
        let heads: Vec<&[u8]> = others.filter_map(|(_, (_, head))| Some(head.as_ref()?.0.as_slice())).collect();
        Ok(cursor.whole_block(&heads)?.map(|whole| (newest, whole)))
    }

    /// Skips the block of this source that [`Merging::whole_block`] returned.
    pub fn pass_block(&mut self, index: usize) -> Result<(), EngineError> {
        if let Some((Source::Run(cursor), head)) = self.sources.get_mut(index) {
            cursor.pass_block();
            *head = None;
        }
        self.advance(index)
    }

    /// The next key with its newest value, including deletions.
    pub fn next(&mut self) -> Result<Option<Item>, EngineError> {
        self.prime()?;
        let Some(newest) = self.newest() else { return Ok(None) };
        let Some(item) = self.sources[newest].1.take() else { return Ok(None) };
        self.advance(newest)?;
        for index in newest + 1..self.sources.len() {
            if self.sources[index].1.as_ref().is_some_and(|(key, _)| *key == item.0) {
                let older = self.sources[index].1.take();
                if let (Some(replaced), Some((_, value))) = (&mut self.replaced, older) {
                    replaced.push(value);
                }
                self.advance(index)?;
            }
        }
        Ok(Some(item))
    }

    /// As [`Merging::next`], when every source is in memory, so that nothing can fail.
    pub fn next_from_memory(&mut self) -> Option<Item> {
        self.next().unwrap_or(None)
    }
}
