//! Associations between episodes, which stay with the hippocampus: followed a hop at a time by whoever spreads activation.

use serde::{Deserialize, Serialize};

use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// Asks the hippocampus what these episodes are associated with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowAssociations {
    pub ids: Vec<String>,
}

/// For each episode that was asked of, in order, the ids and weights in [0, 1] of those next to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssociationsFollowed {
    pub next: Vec<Vec<(String, f64)>>,
    /// Ids that no episode has.
    #[serde(default)]
    pub missing: Vec<String>,
}

signal! {
    FollowAssociations: Anywhere, Transient;
    AssociationsFollowed: Anywhere, Transient;
}

impl Query for FollowAssociations {
    type Answer = AssociationsFollowed;
}
impl Addressed for FollowAssociations {
    const OF: RegionName = rooms::HIPPOCAMPUS;
}
