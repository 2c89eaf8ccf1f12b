//! Settings of unasked acts.

use jiff::SignedDuration;

use super::choice::ActLaw;
use crate::section::HabitKeys;
use maxim_tools::{Door, ToolRegistry, ToolSpec};

/// Settings of unasked acts.
#[derive(Clone, Debug, PartialEq)]
pub struct ActingSettings {
    /// Whether anything is done unasked. Default true. Only tools that allow it are used so.
    pub on: bool,
    /// Shortest time between two choices. Default 5 s.
    pub every: SignedDuration,
    /// Options that are weighed at once, 1 or more. Default 8.
    pub options: usize,
    /// A refused act isn't tried again for this long. Default 1 h.
    pub refused: SignedDuration,
    pub law: ActLaw,
}

impl From<&HabitKeys> for ActingSettings {
    fn from(keys: &HabitKeys) -> Self {
        Self {
            on: keys.acts,
            every: keys.act_every.signed(),
            options: keys.act_options as usize,
            refused: keys.act_refused.signed(),
            law: ActLaw::from(keys),
        }
    }
}

impl Default for ActingSettings {
    fn default() -> Self {
        Self::from(&HabitKeys::default())
    }
}

/// Tools that may be used unasked, in the order of the registry.
pub(crate) fn affordances(tools: &ToolRegistry) -> Vec<ToolSpec> {
    let may = |spec: &&ToolSpec| spec.unasked && spec.door == Door::Gated && spec.unavailable.is_none();
    tools.specs().filter(may).filter(|spec| !spec.scene.is_empty()).cloned().collect()
}
