//! Episodes that are gone: no link names them any more. What they taught stays, except that what a person had forgotten
//! takes the words, values and things with it that were met in nothing else, and a kind of event that was.

use std::collections::BTreeSet;

use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::layers::HurtRecalled;

use super::events::{Forgotten, NacEvent};
use super::kept::{KeptConditions, Learned, conditions_key, kind_key, make_small};
use super::law::Reinforcement;
use super::model::{CausalLink, EventRecord, LinkTable};
use super::region::NucleusAccumbens;
use super::remembering::Restored;
use maxim_region::{Hears, Pulse, RecordView, source_hashes};

impl NucleusAccumbens {
    /// Kinds that hold something of what a person has forgotten, where no link names it any more: in lessons that wait, in
    /// circumstances or beside them. Circumstances that aren't here are looked through as they are written.
    fn holding(&self, removed: &RecordsRemoved, records: &RecordView<'_>) -> BTreeSet<String> {
        let gone = source_hashes(removed);
        let written: Vec<String> = gone.iter().map(u64::to_string).collect();
        let waits = self.waiting().filter(|(_, episode)| removed.ids.iter().any(|id| id == episode));
        let mut kinds: BTreeSet<String> = waits.map(|(key, _)| key.to_owned()).collect();
        let known = self.known();
        for (key, event) in known.links().records() {
            let is_written = |bytes: Vec<u8>| {
                let holds = |hash: &String| bytes.windows(hash.len()).any(|part| part == hash.as_bytes());
                written.iter().any(holds)
            };
            let elsewhere = || !known.is_whole(key) && records.bytes(&conditions_key(key)).is_some_and(is_written);
            if event.names(&gone) || elsewhere() {
                kinds.insert(key.to_owned());
            }
        }
        kinds
    }
}

fn is_bad(event: &EventRecord) -> bool {
    event.links.iter().any(|link| link.outcome.reinforcement == Reinforcement::Bad)
}

/// Whether something bad is known of a tool, beside these kinds of event.
fn hurts(links: &LinkTable, tool: &str, without: &BTreeSet<String>) -> bool {
    links.records().any(|(key, event)| event.kind.tool == tool && !without.contains(key) && is_bad(event))
}

impl Hears<RecordsRemoved> for NucleusAccumbens {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer != Layer::Hippocampus {
            return;
        }
        let gone: BTreeSet<&str> = removed.ids.iter().map(String::as_str).collect();
        let names = |link: &CausalLink| link.episodes.iter().any(|episode| gone.contains(&**episode));
        let rests = |event: &EventRecord| event.links.iter().any(names);
        let mut kinds: BTreeSet<String> =
            self.links().records().filter(|(_, event)| rests(event)).map(|(key, _)| key.to_owned()).collect();
        if removed.forgotten {
            kinds.append(&mut self.holding(removed, pulse.records()));
        } else if kinds.is_empty() {
            return;
        }
        self.recollect(kinds.iter().map(String::as_str), pulse.records());
        let links = self.links();
        let (mut restored, mut forgotten) = (Vec::with_capacity(kinds.len()), Vec::new());
        // Kinds of which nothing bad is known any more, and their tools.
        let (mut good, mut tools): (BTreeSet<String>, BTreeSet<String>) = Default::default();
        for key in kinds {
            let Some(event) = links.record(&key) else { continue };
            let mut learned = Learned::of(&links, &key, event.clone());
            let is_unknown = removed.forgotten && learned.event.forget(&gone);
            if is_bad(event) && !is_bad(&learned.event) {
                good.insert(key.clone());
                tools.insert(event.kind.tool.clone());
            }
            if is_unknown {
                pulse.remove(kind_key(&key));
                pulse.remove(conditions_key(&key));
                forgotten.push(key);
                continue;
            }
            for link in &mut learned.event.links {
                link.episodes.retain(|episode| !gone.contains(&**episode));
            }
            pulse.put(conditions_key(&key), &KeptConditions::of(&learned.event));
            make_small(&mut learned.event);
            pulse.put(kind_key(&key), &learned);
            restored.push(learned);
        }
        for tool in tools.into_iter().filter(|tool| !hurts(&links, tool, &good)) {
            pulse.emit(HurtRecalled { tool, at: pulse.now(), forgotten: true });
        }
        if !forgotten.is_empty() {
            pulse.keep(NacEvent::Forgotten(Forgotten { forgotten }));
        }
        // Its lesson may stand in earlier events of the journal.
        let restored = Restored { restored, observations: self.observations };
        pulse.keep_gone(NacEvent::Restored(Box::new(restored)), removed.forgotten);
    }
}
