//! Associations between episodes, which the hippocampus keeps. Rooms that spread activation follow them one hop at a
//! time.

use serde::{Deserialize, Serialize};

use crate::{queries, signal};

/// Asks the hippocampus what these episodes are associated with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowAssociations {
    pub ids: Vec<String>,
}

/// For each requested episode, in order: the ids of its neighbours and their weights in [0, 1].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssociationsFollowed {
    pub next: Vec<Vec<(String, f64)>>,
    /// Requested ids that no episode has.
    #[serde(default)]
    pub missing: Vec<String>,
}

signal! {
    FollowAssociations: Anywhere, Transient;
    AssociationsFollowed: Anywhere, Transient;
}

queries! {
    FollowAssociations => AssociationsFollowed, of HIPPOCAMPUS;
}
