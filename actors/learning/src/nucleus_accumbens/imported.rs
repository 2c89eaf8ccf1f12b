//! Actions done elsewhere: imported episodes contain results, so they teach what to expect. They are no news here, so
//! they cause no reward and no surprise. Tools that hurt are reported to the gate.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::signals::recall::{EndedAct, EpisodesCaptured};
use maxim_bus::units::Valence;

use super::circumstances::Circumstances;
use super::event::{EventKind, OutcomeKind};
use super::events::{Lessons, NacEvent, Observed};
use super::kept::{Learned, small};
use super::model::LinkTable;
use super::region::NucleusAccumbens;
use super::remembering::hurt_at;
use maxim_region::{Hears, Pulse};

fn observed(act: &EndedAct, pulse: &Pulse<'_, NucleusAccumbens>) -> Observed {
    let settings = pulse.settings();
    // An action done elsewhere was not done in a mode that the agent has lowered itself to here.
    let mode = act.mode.clone().unwrap_or_else(|| settings.mode.as_str().to_owned());
    Observed {
        kind: EventKind::of(&act.tool, &act.params),
        outcome: OutcomeKind::of_success(Some(act.success)),
        circumstances: Circumstances::of(&act.params, &mode, act.goal.as_deref(), act.at, &settings.zone).into_pairs(),
        around: Vec::new(),
        delay_s: None,
        episode: act.episode.clone(),
        at: act.at,
        alpha: settings.alpha,
        reward: None,
    }
}

impl NucleusAccumbens {
    /// Tools with bad experience once this is learned, and when they were found to be bad.
    fn would_hurt(&self, imported: &[Observed], alpha: f64) -> BTreeMap<String, Timestamp> {
        let links = self.links();
        let mut trial = LinkTable::new(alpha);
        for event in imported {
            let key = event.kind.key();
            // It is copied when the first action of its kind comes.
            if trial.record(&key).is_none()
                && let Some(record) = links.record(&key)
            {
                Learned::of(&links, &key, small(record)).put_into(&mut trial);
            }
            event.teach(&mut trial);
        }
        let mut hurt = BTreeMap::new();
        let bad =
            trial.records().map(|(_, record)| record).filter(|record| Valence::of(record.value()) == Valence::Negative);
        for (record, at) in bad.filter_map(|record| Some((record, hurt_at(record)?))) {
            let latest = hurt.entry(record.kind.tool.clone()).or_insert(at);
            *latest = at.max(*latest);
        }
        hurt
    }
}

impl Hears<EpisodesCaptured> for NucleusAccumbens {
    fn hear(&self, captured: &EpisodesCaptured, pulse: &mut Pulse<'_, Self>) {
        if captured.ended.is_empty() {
            return;
        }
        let imported: Vec<Observed> = captured.ended.iter().map(|act| observed(act, pulse)).collect();
        for (tool, at) in self.would_hurt(&imported, pulse.settings().alpha) {
            pulse.emit(HurtRecalled { tool, at, forgotten: false });
        }
        let kinds: BTreeSet<String> = imported.iter().map(|event| event.kind.key()).collect();
        self.recollect(kinds.iter().map(String::as_str), pulse.records());
        pulse.keep(NacEvent::Lessons(Lessons { lessons: imported }));
    }
}
