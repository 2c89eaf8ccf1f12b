//! The empty room to copy: what it is, in a line.
//!
//! Biology: which part of the brain does this, in a line.
//! Law: how it decides, with the paper and its symbols.
//! Remembers: what its state holds. Forgets: when.
//! Down: what happens to the others while it is.

use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::{Card, Hears, Pulse, Region};
use crate::wiring;

/// Counts the questions that it was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Template {
    questions: u64,
}

wiring!(Template { hears: [ReportStats], back: [], emits: [StatsReported] });

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TemplateEvent {
    Asked,
}

impl Region for Template {
    const NAME: RegionName = "template";
    const STAGE: Stage = Stage::Memory;
    type Event = TemplateEvent;
    type Settings = ();

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: TemplateEvent) {
        match event {
            TemplateEvent::Asked => self.questions += 1,
        }
    }
}

impl Hears<ReportStats> for Template {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TemplateEvent::Asked);
        let counts = serde_json::json!({ "questions": self.questions + 1 });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, ear};

    #[test]
    fn it_remembers_over_a_crash_how_often_it_was_asked() {
        let mut rig: Rig<Template> = Rig::new((), ear::<StatsReported>);
        rig.send(ReportStats {});
        let before = rig.state_hash();
        rig.crash();
        assert_eq!(rig.state_hash(), before, "the state after a crash is the state before it");
        rig.send(ReportStats {});
        let said = rig.heard::<StatsReported>();
        assert_eq!(said.last().map(|stats| stats.counts["questions"].clone()), Some(2.into()));
    }
}
