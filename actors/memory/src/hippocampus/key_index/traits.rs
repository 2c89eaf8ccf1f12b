//! What each document is about, in numbers: the reverse of the key index. So two documents can be compared without
//! reading their records.

use std::collections::HashMap;
use std::sync::Arc;

use super::filter::Field;

/// Numbers of the goal, the objects and the people of every document.
#[derive(Clone, Debug, Default)]
pub(super) struct Traits {
    numbers: HashMap<Arc<str>, u32>,
    keys: Vec<Arc<str>>,
    ids: Vec<u32>,
    /// The end of each document's range in `ids`.
    ends: Vec<u32>,
}

impl Traits {
    fn number(&mut self, key: &str) -> u32 {
        if let Some(known) = self.numbers.get(key) {
            return *known;
        }
        let (number, key): (u32, Arc<str>) = (self.keys.len() as u32, key.into());
        self.keys.push(Arc::clone(&key));
        self.numbers.insert(key, number);
        number
    }

    /// The number of a compared key; `None` for others.
    pub fn number_of(&mut self, key: &str) -> Option<u32> {
        let compared = [Field::Goal, Field::Object, Field::Person];
        compared.iter().any(|field| key.starts_with(field.letter())).then(|| self.number(key))
    }

    /// Adds a document.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u32>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len() as u32);
    }

    /// Appends documents with these numbers of keys: returns where each one's keys begin, and the places for them.
    pub fn extend(&mut self, counts: &[usize]) -> (Vec<usize>, &mut [u32]) {
        let from = self.ids.len();
        let mut begins = Vec::with_capacity(counts.len());
        let mut end = 0;
        for count in counts {
            begins.push(end);
            end += count;
            self.ends.push((from + end) as u32);
        }
        self.ids.resize(from + end, 0);
        (begins, &mut self.ids[from..])
    }

    /// Keys of a document.
    pub fn of(&self, ordinal: u32) -> &[u32] {
        let end = |at: Option<usize>| at.and_then(|at| self.ends.get(at)).copied().unwrap_or(0) as usize;
        let ordinal = ordinal as usize;
        self.ids.get(end(ordinal.checked_sub(1))..end(Some(ordinal))).unwrap_or(&[])
    }

    pub fn key(&self, number: u32) -> &str {
        self.keys.get(number as usize).map_or("", |key| key)
    }
}
