//! The intraparietal sulcus as a room: tells quickly how a series looks.
//!
//! Biology: the sulcus of the parietal lobe in which neurons are tuned to approximate quantities (Nieder & Dehaene 2009).
//! Law: `law.rs`. The asker gets a verdict, the patterns found, and how certain it is that they aren't chance.
//! Remembers: how often it gave each verdict. Forgets: the series, at once.
//! Down: the asker has no verdict and asks again later; nothing is confirmed meanwhile.

use maxim_bus::rooms;
use maxim_bus::signals::numbers::{JudgeSeries, SeriesJudged, SeriesVerdict};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law::{QuickLaw, judge};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IntraparietalSulcus {
    too_short: u64,
    random: u64,
    structured: u64,
}

wiring!(IntraparietalSulcus { hears: [JudgeSeries, ReportStats], back: [], emits: [SeriesJudged, StatsReported] });

impl Region for IntraparietalSulcus {
    const NAME: RegionName = rooms::INTRAPARIETAL_SULCUS;
    const STAGE: Stage = Stage::Learning;
    /// The verdict that was given.
    type Event = SeriesVerdict;
    type Settings = QuickLaw;

    fn apply(&mut self, verdict: SeriesVerdict) {
        match verdict {
            SeriesVerdict::TooShort => self.too_short += 1,
            SeriesVerdict::Random => self.random += 1,
            SeriesVerdict::Structured => self.structured += 1,
        }
    }
}

impl Hears<JudgeSeries> for IntraparietalSulcus {
    fn hear(&self, query: &JudgeSeries, pulse: &mut Pulse<'_, Self>) {
        let judged = judge(&query.values, query.reference, pulse.settings());
        pulse.keep(judged.verdict);
        pulse.reply(SeriesJudged { series: query.series.clone(), ..judged });
    }
}

impl Hears<ReportStats> for IntraparietalSulcus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({
            "judged": self.too_short + self.random + self.structured,
            "too_short": self.too_short,
            "random": self.random,
            "structured": self.structured,
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_region::rig::{Rig, ear};

    #[test]
    fn it_judges_whoever_asks_and_counts_over_a_crash() {
        let mut rig: Rig<IntraparietalSulcus> = Rig::new(QuickLaw::default(), ear::<SeriesJudged>);
        let periodic = JudgeSeries { series: "beat".into(), values: [1.0, 5.0, 2.0].repeat(4), reference: Some(4.0) };
        rig.send(periodic.clone());
        let judged = rig.heard::<SeriesJudged>().pop().expect("an answer");
        assert_eq!(
            (judged.series.as_str(), judged.verdict, judged.observations),
            ("beat", SeriesVerdict::Structured, 12)
        );
        assert_eq!(judged.compared, Some(maxim_bus::signals::numbers::Magnitude::Smaller), "its median of 2 beside 4");
        rig.send(JudgeSeries { values: vec![1.0], ..periodic });
        let before = rig.region().clone();
        rig.crash();
        assert_eq!(*rig.region(), before);
        assert_eq!((before.structured, before.too_short, before.random), (1, 1, 0));
    }
}
