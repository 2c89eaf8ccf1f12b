//! The newest documents, not yet sealed: they can still be amended.

use std::collections::HashMap;

/// A document with a stem, and the frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    pub ordinal: u32,
    pub count: u16,
}

/// Postings of the newest documents, by stem.
#[derive(Debug, Default)]
pub struct Tail {
    lists: HashMap<String, Vec<Posting>>,
}

impl Tail {
    /// Counts a stem of a document. Documents mostly come in order; an earlier one costs a search in its list.
    pub fn count(&mut self, stem: &str, ordinal: u32) {
        if !self.lists.contains_key(stem) {
            self.lists.insert(stem.to_string(), Vec::new());
        }
        let Some(list) = self.lists.get_mut(stem) else { return };
        let at = match list.last() {
            Some(last) if last.ordinal >= ordinal => list.partition_point(|p| p.ordinal < ordinal),
            _ => list.len(),
        };
        match list.get_mut(at) {
            Some(known) if known.ordinal == ordinal => known.count = known.count.saturating_add(1),
            _ => list.insert(at, Posting { ordinal, count: 1 }),
        }
    }

    /// Removes a stem from a document. Returns whether it was there.
    pub fn remove(&mut self, stem: &str, ordinal: u32) -> bool {
        let Some(list) = self.lists.get_mut(stem) else { return false };
        let Ok(at) = list.binary_search_by_key(&ordinal, |posting| posting.ordinal) else { return false };
        list.remove(at);
        if list.is_empty() {
            self.lists.remove(stem);
        }
        true
    }

    pub fn list(&self, stem: &str) -> &[Posting] {
        self.lists.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Removes all postings below `end`, sorted by stem, with ordinals counted from `base`.
    pub fn split_off(&mut self, base: u32, end: u32) -> Vec<(String, Vec<Posting>)> {
        let mut taken = Vec::new();
        for (stem, list) in &mut self.lists {
            let cut = list.partition_point(|p| p.ordinal < end);
            if cut > 0 {
                let moved = list.drain(..cut).map(|p| Posting { ordinal: p.ordinal - base, ..p });
                taken.push((stem.clone(), moved.collect()));
            }
        }
        self.lists.retain(|_, list| !list.is_empty());
        taken.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_keeps_lists_sorted_even_for_earlier_documents() {
        let mut tail = Tail::default();
        for ordinal in [5, 7, 5, 6] {
            tail.count("cup", ordinal);
        }
        let seen: Vec<_> = tail.list("cup").iter().map(|p| (p.ordinal, p.count)).collect();
        assert_eq!(seen, [(5, 2), (6, 1), (7, 1)]);
        let sealed = tail.split_off(5, 7);
        assert_eq!(sealed[0].1.iter().map(|p| p.ordinal).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(tail.list("cup").len(), 1);
    }
}
