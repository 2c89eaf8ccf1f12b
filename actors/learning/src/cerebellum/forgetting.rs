//! Removed episodes: their ids are dropped everywhere. If a person had them forgotten, everything learned only from
//! them is removed too. If sleep removed them, what they taught stays.

use maxim_bus::signals::concepts::{Layer, RecordsRemoved};

use super::region::{Cerebellum, CerebellumEvent};
use maxim_region::{Hears, Pulse, Sources};

impl Cerebellum {
    pub(super) fn let_go(&mut self, removed: &RecordsRemoved) {
        if removed.forgotten {
            self.open.retain(|turn, _| !removed.ids.contains(&turn.to_string()));
        }
        self.examples.retain(|_, examples| {
            examples.retain_mut(|example| {
                let is_gone = removed.ids.contains(&example.episode);
                if is_gone {
                    example.episode.clear();
                }
                !(is_gone && removed.forgotten)
            });
            !examples.is_empty()
        });
        self.pairs.retain(|_, pairing| !pairing.rests_on(removed) || pairing.let_go(removed));
        for sources in self.taught.values_mut() {
            sources.let_go(removed);
        }
    }

    fn rests_on(&self, removed: &RecordsRemoved) -> bool {
        let mut open = self.open.keys().map(ToString::to_string);
        let mut exemplified = self.examples.values().flatten().map(|example| &example.episode);
        open.any(|turn| removed.ids.contains(&turn))
            || exemplified.any(|episode| removed.ids.contains(episode))
            || self.taught.values().any(|sources| sources.holds(removed))
            || self.pairs.values().any(|pairing| pairing.rests_on(removed))
    }
}

impl Hears<RecordsRemoved> for Cerebellum {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer != Layer::Hippocampus || !(removed.forgotten || self.rests_on(removed)) {
            return;
        }
        let is_over = |sources: &Sources| sources.holds(removed) && sources.clone().let_go(removed);
        for (name, _) in self.taught.iter().filter(|(_, sources)| is_over(sources)) {
            self.forget(name, pulse);
        }
        pulse.keep_gone(CerebellumEvent::LetGo(removed.clone()), removed.forgotten);
    }
}
