//! What is happening.

#![deny(clippy::disallowed_methods)]

pub mod energy;
pub mod gateway;
pub mod inbound;
pub mod pain_detector;
pub mod preemption_circuit;
pub mod salience;
pub mod scene;

use maxim_region::Placement::{Own, Pool};
use maxim_region::Room;

use energy::{Energy, EnergySettings};
use gateway::{Gateway, GatewayKeys, GatewaySettings};
use pain_detector::PainDetector;
use preemption_circuit::PreemptionCircuit;
use salience::{SalienceRoom, SalienceSettings};
use scene::Scene;

maxim_config::sections! {
    /// The stage's part of the configuration.
    Sections { gateway: GatewayKeys }
}

/// The stage's settings.
#[derive(Clone)]
pub struct Settings {
    pub gateway: GatewaySettings,
    pub energy: EnergySettings,
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(settings: &Settings) -> Vec<Room> {
    vec![
        Gateway::room(Pool, settings.gateway.clone()),
        PreemptionCircuit::room(Own, ()),
        SalienceRoom::room(Pool, SalienceSettings::default()),
        Scene::room(Pool, ()).tells(),
        PainDetector::room(Pool, ()),
        Energy::room(Pool, settings.energy.clone()).tells(),
    ]
}
