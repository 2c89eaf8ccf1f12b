//! What nobody wanted: allowed at the highest level of autonomy alone.

use maxim_bus::mode::AutonomyLevel;
use maxim_bus::signals::intent::{Intent, Refusal};

use super::region::{Autonomy, AutonomySettings};

impl Autonomy {
    /// What nobody wanted needs the widest of powers, and what only a person's wish would excuse isn't tried.
    pub(super) fn objection_to_unasked(
        &self,
        intent: &Intent,
        rails: &AutonomySettings,
    ) -> Option<(Refusal, &'static str, String)> {
        let powers = self.lowered.of(&rails.powers);
        if powers.autonomy != AutonomyLevel::Autonomous {
            let level = powers.autonomy.as_str();
            let reason = format!("at autonomy level {level} it does nothing that nobody wants");
            return Some((Refusal::Blocked, "autonomy.unasked", reason));
        }
        let spec = rails.tools.get(&intent.tool).map(|found| &found.spec)?;
        (spec.required_mode > powers.mode).then(|| {
            let (needed, mode) = (spec.required_mode.as_str(), powers.mode.as_str());
            (Refusal::Blocked, "autonomy.mode", format!("{} needs {needed} mode; this is {mode} mode", spec.name))
        })
    }
}
