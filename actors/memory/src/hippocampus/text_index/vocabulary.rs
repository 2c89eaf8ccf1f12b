//! All stems of the store: where their postings are, and the word that represents each.

use std::collections::HashMap;
use std::sync::Arc;

use super::segment::Segment;

/// One stem of the store.
#[derive(Clone, Debug)]
pub struct Entry {
    pub stem: Arc<str>,
    /// The shortest word seen with this stem; among equals the first by letters. Its vector represents the stem. It
    /// doesn't depend on the order of documents. Empty if no word was seen: an import only brings stems.
    pub form: Box<str>,
    /// Number of a sealed segment, and index of the stem in it.
    pub places: Vec<(u32, u32)>,
}

/// Stems by number and by text.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    ids: HashMap<Arc<str>, u32>,
    entries: Vec<Entry>,
    /// Stems whose form changed, in order.
    changed: Vec<u32>,
}

impl Vocabulary {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    pub fn id(&self, stem: &str) -> Option<u32> {
        self.ids.get(stem).copied()
    }

    pub fn entry(&self, stem: &str) -> Option<&Entry> {
        self.entries.get(self.id(stem)? as usize)
    }

    /// Notes a word with this stem.
    pub fn see(&mut self, stem: &str, form: &str) -> u32 {
        if let Some(id) = self.id(stem) {
            let entry = &mut self.entries[id as usize];
            let is_first = entry.form.is_empty();
            if !form.is_empty() && (is_first || (form.len(), form) < (entry.form.len(), &entry.form)) {
                entry.form = form.into();
                self.changed.push(id);
            }
            return id;
        }
        let (id, stem): (u32, Arc<str>) = (self.entries.len() as u32, stem.into());
        self.ids.insert(Arc::clone(&stem), id);
        self.entries.push(Entry { stem, form: form.into(), places: Vec::new() });
        id
    }

    /// Adds the stems of a sealed segment.
    pub fn enter(&mut self, number: u32, segment: &Segment) {
        for term in 0..segment.terms() {
            let id = self.see(segment.stem(term), segment.form(term));
            self.entries[id as usize].places.push((number, term as u32));
        }
    }

    /// Enters all segments again, because some were replaced.
    pub fn enter_again(&mut self, segments: &[Segment]) {
        self.entries.iter_mut().for_each(|entry| entry.places.clear());
        for (number, segment) in segments.iter().enumerate() {
            self.enter(number as u32, segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_word_stands_for_its_stem_whatever_came_first() {
        let orders = [["running", "runs", "run"], ["run", "running", "runs"]];
        for order in orders {
            let mut all = Vocabulary::default();
            order.iter().for_each(|form| {
                all.see("run", form);
            });
            assert_eq!(&*all.entry("run").expect("seen").form, "run");
            assert_eq!(all.entries().len(), 1);
        }
    }

    #[test]
    fn a_stem_without_a_word_gets_the_first_that_is_seen() {
        let mut all = Vocabulary::default();
        for form in ["", "generously", "", "generous"] {
            all.see("gener", form);
        }
        assert_eq!(&*all.entry("gener").expect("seen").form, "generous");
    }
}
