//! Kinds of events in memory: the small part of each, and the circumstances of those that occurred recently. So a
//! room that knows thousands of kinds holds little of each.

use std::collections::{BTreeMap, BTreeSet};

use super::events::Observed;
use super::kept::{KeptConditions, Learned, make_small};
use super::law::PredictionLaw;
use super::model::LinkTable;
use maxim_language::Stems;

/// Kinds whose circumstances stay in memory although they can be read again.
const MOST_WHOLE: usize = 128;
/// Extra kinds before any are dropped, because finding the least recently used is more expensive than reading one
/// again.
const SPARE: usize = 64;

/// Derived from records, and from what was learned since they were written.
#[derive(Default)]
pub struct Known {
    links: LinkTable,
    /// Kinds with circumstances in memory, with the time of their last use.
    whole: BTreeMap<String, u64>,
    needed: u64,
    named: ToolNames,
}

impl Known {
    pub fn under(law: PredictionLaw) -> Self {
        Self { links: LinkTable::default().under(law), ..Self::default() }
    }

    pub fn links(&self) -> &LinkTable {
        &self.links
    }

    pub fn named(&self) -> &ToolNames {
        &self.named
    }

    /// Adds the stored part of a kind; its circumstances are read when needed.
    pub fn put_small(&mut self, learned: Learned) {
        let key = learned.event.kind.key();
        self.named.know(&learned.event.kind.tool);
        self.whole.remove(&key);
        learned.put_into(&mut self.links);
    }

    pub fn is_whole(&self, key: &str) -> bool {
        self.whole.contains_key(key)
    }

    /// Marks it as used now, so that it stays for some time.
    pub fn mark(&mut self, key: &str) {
        self.needed += 1;
        self.whole.insert(key.to_owned(), self.needed);
    }

    pub fn complete(&mut self, key: &str, kept: KeptConditions) {
        if let Some(event) = self.links.record_mut(key) {
            kept.put_into(event);
            self.mark(key);
        }
    }

    /// Drops the least recently used circumstances that can be read again.
    pub fn let_go(&mut self, can_be_read: impl Fn(&str) -> bool) {
        if self.whole.len() <= MOST_WHOLE + SPARE {
            return;
        }
        let mut spare: Vec<(u64, &String)> = self.whole.iter().map(|(key, needed)| (*needed, key)).collect();
        spare.retain(|(_, key)| can_be_read(key));
        spare.sort_unstable();
        spare.truncate(self.whole.len() - MOST_WHOLE);
        let gone: Vec<String> = spare.into_iter().map(|(_, key)| key.clone()).collect();
        for key in gone {
            self.whole.remove(&key);
            self.links.record_mut(&key).map(make_small);
        }
    }

    /// The kind must be whole, or new.
    pub fn learn(&mut self, event: &Observed) {
        event.teach(&mut self.links);
        self.named.know(&event.kind.tool);
        self.mark(&event.kind.key());
    }

    pub fn forget(&mut self, key: &str) {
        let tool = self.links.record(key).map(|event| event.kind.tool.clone());
        self.links.forget(key);
        self.whole.remove(key);
        if let Some(tool) = tool.filter(|tool| self.links.records_of(tool).next().is_none()) {
            self.named.forget(&tool);
        }
    }
}

/// Tools by the words of their names.
#[derive(Default)]
pub struct ToolNames {
    stems: Stems,
    /// All words of each tool's name.
    words: BTreeMap<String, BTreeSet<String>>,
    /// Tools by the first of their words.
    first: BTreeMap<String, BTreeSet<String>>,
}

impl ToolNames {
    fn of(&self, text: &str) -> BTreeSet<String> {
        self.stems.of_text(&text.replace('_', " ")).into_iter().collect()
    }

    fn know(&mut self, tool: &str) {
        if self.words.contains_key(tool) {
            return;
        }
        let words = self.of(tool);
        if let Some(first) = words.first() {
            self.first.entry(first.clone()).or_default().insert(tool.to_owned());
        }
        self.words.insert(tool.to_owned(), words);
    }

    fn forget(&mut self, tool: &str) {
        let Some(first) = self.words.remove(tool).and_then(|words| words.first().cloned()) else { return };
        if let Some(tools) = self.first.get_mut(&first) {
            tools.remove(tool);
            if tools.is_empty() {
                self.first.remove(&first);
            }
        }
    }

    /// Tools whose name occurs completely in the text, by name.
    pub fn in_text(&self, text: &str) -> BTreeSet<&str> {
        let said = self.of(text);
        let near = said.iter().filter_map(|word| self.first.get(word)).flatten();
        let is_said = |tool: &&String| self.words.get(*tool).is_some_and(|words| words.is_subset(&said));
        near.filter(is_said).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_where_all_its_words_are_said_until_it_is_forgotten() {
        let mut names = ToolNames::default();
        ["write_file", "write_letter", "bash", "touchOven"].into_iter().for_each(|tool| names.know(tool));
        let said =
            |names: &ToolNames, text: &str| names.in_text(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(said(&names, "bash it, or write files"), ["bash", "write_file"]);
        assert!(said(&names, "could you write to me?").is_empty(), "half of a name is no name");
        names.forget("write_file");
        assert_eq!(said(&names, "write files or letters"), ["write_letter"]);
    }
}
