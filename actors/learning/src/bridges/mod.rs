//! Bridges: each answers one question from associated memories, and so changes a decision elsewhere.
//!
//! ```text
//! planning      how was such a goal reached before     → habit offers the plan
//! salience      how much attention did this earn       → the salience of what is perceived
//! spatial       where is such a thing usually          → habit's answer to "where"
//! fear          how often did such things go wrong     → the gate's thresholds, only tighter
//! escalation    what does asking a person lead to      → autonomy and the gate ask, or don't
//! communication which messages were welcome            → how habit speaks
//! ```
//!
//! They learn from whole moments ([`maxim_bus::signals::bridges::EpisodeLived`]) or from the one signal about their
//! subject. They answer from their state without queries, and report only changes.

pub mod communication;
mod danger;
pub mod escalation;
pub mod fear;
#[cfg(test)]
pub(crate) mod fixtures;
mod gist;
pub mod law;
mod manner;
pub mod planning;
pub mod salience;
pub mod spatial;

pub use communication::CommunicationBridge;
pub use escalation::{EscalationBridge, EscalationSettings};
pub use fear::FearBridge;
pub use law::BridgeLaw;
pub use planning::PlanningBridge;
pub use salience::SalienceBridge;
pub use spatial::SpatialBridge;
