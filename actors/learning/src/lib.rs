//! What it taught.

#![deny(clippy::disallowed_methods)]

pub mod bridges;
pub mod cerebellum;
pub mod intraparietal_sulcus;
pub mod nucleus_accumbens;
pub mod significance;
pub mod statistician;

use std::sync::Arc;

use jiff::tz::TimeZone;
use maxim_bus::mode::Mode;
use maxim_language::Encoder;
use maxim_region::Placement::Pool;
use maxim_region::Room;

use bridges::{
    BridgeLaw, CommunicationBridge, EscalationBridge, EscalationSettings, FearBridge, PlanningBridge, SalienceBridge,
    SpatialBridge,
};
use cerebellum::Cerebellum;
use cerebellum::program::SkillLaw;
use intraparietal_sulcus::IntraparietalSulcus;
use intraparietal_sulcus::law::QuickLaw;
use nucleus_accumbens::law::PredictionLaw;
use nucleus_accumbens::{NacSettings, NucleusAccumbens};
use significance::SignificanceLearner;
use significance::law::SignificanceLaw;
use statistician::law::PatternLaw;
use statistician::{Statistician, StatisticianSettings};

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections {
        nucleus_accumbens: PredictionLaw,
        intraparietal_sulcus: QuickLaw,
        statistician: PatternLaw,
        cerebellum: SkillLaw,
        significance: SignificanceLaw,
        bridges: BridgeLaw,
    }
}

/// The stage's settings.
#[derive(Clone)]
pub struct Settings {
    pub sections: Sections,
    /// The learning rate of the nucleus accumbens, `memory.nac_alpha`.
    pub alpha: f64,
    /// The configured mode, in which experience is made unless a lower mode is in force.
    pub mode: Mode,
    /// The time zone for hours.
    pub zone: TimeZone,
    /// Finds kinds of events with similar names.
    pub encoder: Arc<dyn Encoder>,
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    let Settings { sections, alpha, mode, zone, encoder } = settings;
    let Sections { nucleus_accumbens, intraparietal_sulcus, statistician, cerebellum, significance, bridges } =
        sections.clone();
    let accumbens = NacSettings {
        alpha: *alpha,
        mode: *mode,
        zone: zone.clone(),
        encoder: Arc::clone(encoder),
        law: nucleus_accumbens,
    };
    vec![
        NucleusAccumbens::room(Pool, accumbens),
        Cerebellum::room(Pool, cerebellum),
        Statistician::room(Pool, StatisticianSettings { law: statistician, ..StatisticianSettings::default() }),
        IntraparietalSulcus::room(Pool, intraparietal_sulcus),
        SignificanceLearner::room(Pool, significance),
        PlanningBridge::room(Pool, ()),
        SalienceBridge::room(Pool, ()),
        SpatialBridge::room(Pool, ()),
        FearBridge::room(Pool, bridges),
        EscalationBridge::room(Pool, EscalationSettings { zone: zone.clone(), law: bridges }),
        CommunicationBridge::room(Pool, zone.clone()),
    ]
}
