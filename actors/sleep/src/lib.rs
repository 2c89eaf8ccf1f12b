//! What to keep.

#![deny(clippy::disallowed_methods)]

pub mod consolidation;
pub mod semantic_promoter;

use jiff::SignedDuration;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use maxim_bus::signals::numbers::JudgeSeries;
use maxim_bus::signals::promotion::OfferCandidates;
use maxim_region::Placement::Pool;
use maxim_region::{Part, Room, hearers};

pub use consolidation::{Consolidation, ConsolidationSettings};
pub use semantic_promoter::SemanticPromoter;
use semantic_promoter::{PromoterKeys, PromoterSettings};

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections { semantic_promoter: PromoterKeys }
}

/// The stage's settings. Those outside its own section are in `memory`, except for one key of the statistician.
#[derive(Clone)]
pub struct Settings {
    pub sections: Sections,
    /// Identifies this run of the process.
    pub run: String,
    /// The time zone for nights.
    pub zone: TimeZone,
    /// The time of the daily sleep. None: no daily sleep.
    pub nightly: Option<Time>,
    /// Promotion starts after this long without activity.
    pub promotion_idle: SignedDuration,
    /// Minimum confidence for promotion.
    pub promotion_confidence: f64,
    /// The same for the statistician's patterns, which it has already tested.
    pub patterns_from: f64,
    /// Minimum number of observations for promotion.
    pub promotion_observations: u64,
}

/// The rooms of the stage.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    let Settings { run, zone, nightly, .. } = settings.clone();
    let consolidation = ConsolidationSettings { run, zone, nightly, ..ConsolidationSettings::default() };
    let settings = settings.clone();
    vec![
        Consolidation::room(Pool, consolidation),
        Room::among::<SemanticPromoter>(Pool, move |parts| promoter(&settings, parts)),
    ]
}

fn promoter(settings: &Settings, parts: &[Part]) -> PromoterSettings {
    let PromoterKeys { witnesses, judged_from } = settings.sections.semantic_promoter;
    PromoterSettings {
        sources: hearers::<OfferCandidates>(parts),
        judge: hearers::<JudgeSeries>(parts).first().copied(),
        idle: settings.promotion_idle,
        min_confidence: settings.promotion_confidence,
        patterns_from: settings.patterns_from,
        min_observations: settings.promotion_observations,
        witnesses: witnesses as usize,
        judged_from: judged_from as usize,
        ..PromoterSettings::default()
    }
}
