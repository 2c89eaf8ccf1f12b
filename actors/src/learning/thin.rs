//! Rooms of learning that run but aren't built out.

use crate::thin_room;

thin_room! {
    /// Which moments are worth keeping.
    SignificanceLearner, "significance", Learning
}
thin_room! {
    /// Plans that succeeded before.
    PlanningBridge, "planning_bridge", Learning
}
thin_room! {
    /// How much attention an object earned before.
    SalienceBridge, "salience_bridge", Learning
}
thin_room! {
    /// Where things usually are.
    SpatialBridge, "spatial_bridge", Learning
}
thin_room! {
    /// How often similar contexts went wrong.
    FearBridge, "fear_bridge", Learning
}
thin_room! {
    /// Whether a person should be asked.
    EscalationBridge, "escalation_bridge", Learning
}
thin_room! {
    /// Which messages were welcome.
    CommunicationBridge, "communication_bridge", Learning
}
