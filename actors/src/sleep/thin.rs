//! A room of sleep that runs but isn't built out.

use maxim_bus::signals::concepts::{Promote, PromotionEnded};
use maxim_bus::signals::recall::{EpisodeStored, ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Makes concepts of what repeats.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SemanticPromoter {
    episodes_heard: u64,
}

/// Why it does nothing.
const THIN: &str = "this room is thin: it runs and remembers what it heard, but its work is not built";

wiring!(SemanticPromoter {
    hears: [ReportStats, Promote, EpisodeStored],
    back: [],
    emits: [StatsReported, PromotionEnded],
});

impl Region for SemanticPromoter {
    const NAME: RegionName = "semantic_promoter";
    const STAGE: Stage = Stage::Sleep;
    const THIN: bool = true;
    type Event = ();
    type Settings = ();

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, _event: ()) {
        self.episodes_heard += 1;
    }
}

impl Hears<EpisodeStored> for SemanticPromoter {
    fn hear(&self, stored: &EpisodeStored, pulse: &mut Pulse<'_, Self>) {
        if stored.complete {
            pulse.keep(());
        }
    }
}

impl Hears<Promote> for SemanticPromoter {
    fn hear(&self, _wish: &Promote, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(PromotionEnded { reason: Some(THIN.into()), ..PromotionEnded::default() });
    }
}

impl Hears<ReportStats> for SemanticPromoter {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(StatsReported {
            region: Self::NAME.into(),
            available: false,
            reason: Some(THIN.into()),
            counts: serde_json::json!({ "episodes_heard": self.episodes_heard }),
        });
    }
}
