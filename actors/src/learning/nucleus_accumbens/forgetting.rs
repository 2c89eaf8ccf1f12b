//! Episodes that are gone: no link names them any more. What they taught stays.

use std::collections::BTreeSet;

use maxim_bus::signals::concepts::{Layer, RecordsRemoved};

use super::events::NacEvent;
use super::kept::{KeptConditions, Learned, conditions_key, kind_key, make_small};
use super::model::{CausalLink, EventRecord};
use super::region::NucleusAccumbens;
use super::remembering::Restored;
use crate::region::{Hears, Pulse};

impl Hears<RecordsRemoved> for NucleusAccumbens {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer != Layer::Hippocampus {
            return;
        }
        let gone: BTreeSet<&str> = removed.ids.iter().map(String::as_str).collect();
        let names = |link: &CausalLink| link.episodes.iter().any(|episode| gone.contains(&**episode));
        let rests = |event: &EventRecord| event.links.iter().any(names);
        let kinds: Vec<String> =
            self.links().records().filter(|(_, event)| rests(event)).map(|(key, _)| key.to_owned()).collect();
        if kinds.is_empty() {
            return;
        }
        self.recollect(kinds.iter().map(String::as_str), pulse.records());
        let links = self.links();
        let mut restored = Vec::with_capacity(kinds.len());
        for key in &kinds {
            let Some(event) = links.record(key) else { continue };
            let mut learned = Learned::of(&links, key, event.clone());
            for link in &mut learned.event.links {
                link.episodes.retain(|episode| !gone.contains(&**episode));
            }
            pulse.put(conditions_key(key), &KeptConditions::of(&learned.event));
            make_small(&mut learned.event);
            pulse.put(kind_key(key), &learned);
            restored.push(learned);
        }
        let restored = Restored { restored, observations: self.observations };
        pulse.keep_gone(NacEvent::Restored(Box::new(restored)), removed.forgotten);
    }
}
