//! The origin of knowledge.

use serde::{Deserialize, Serialize};

/// What produced a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    #[default]
    OwnExperience,
    Person,
    Document,
    Inference,
    Simulation,
}
