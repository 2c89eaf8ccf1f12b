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

/// What the stage is set up with. What isn't in its own section is in `memory`, but for one key of the statistician.
#[derive(Clone)]
pub struct Settings {
    pub sections: Sections,
    /// Names this run of the process.
    pub run: String,
    /// The zone by which nights are told.
    pub zone: TimeZone,
    /// When it sleeps each day. None: no daily sleep.
    pub nightly: Option<Time>,
    /// Nothing happened for this long: what repeats is promoted.
    pub promotion_idle: SignedDuration,
    /// The least confidence of what is promoted.
    pub promotion_confidence: f64,
    /// The same of the statistician's patterns, which it has tested already.
    pub patterns_from: f64,
    /// The least number of times that what is promoted was observed.
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
