//! What was done elsewhere: episodes that an import brings say how it ended, and so teach what to expect. They are news to
//! nobody here, so they reward and surprise nothing.

use maxim_bus::signals::recall::{EndedAct, EpisodesCaptured};

use super::circumstances::Circumstances;
use super::event::{EventKind, OutcomeKind};
use super::region::{Imported, NacEvent, NucleusAccumbens, Observed};
use crate::region::{Hears, Pulse};

fn observed(act: &EndedAct, pulse: &Pulse<'_, NucleusAccumbens>) -> Observed {
    let settings = pulse.settings();
    let mode = act.mode.as_ref().unwrap_or(&settings.mode);
    Observed {
        kind: EventKind::of(&act.tool, &act.params),
        outcome: OutcomeKind::of_success(Some(act.success)),
        mode: mode.clone(),
        circumstances: Circumstances::of(&act.params, mode, act.goal.as_deref(), act.at, &settings.zone).into_pairs(),
        around: Vec::new(),
        delay_s: None,
        episode: act.episode.clone(),
        at: act.at,
        alpha: settings.alpha,
    }
}

impl Hears<EpisodesCaptured> for NucleusAccumbens {
    fn hear(&self, captured: &EpisodesCaptured, pulse: &mut Pulse<'_, Self>) {
        if !captured.ended.is_empty() {
            let imported = captured.ended.iter().map(|act| observed(act, pulse)).collect();
            pulse.keep(NacEvent::Imported(Imported { imported }));
        }
    }
}
