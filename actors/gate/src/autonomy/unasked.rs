//! What nobody asked for is allowed only at the highest level of autonomy.

use maxim_bus::mode::AutonomyLevel;
use maxim_bus::signals::intent::{Intent, Refusal};

use super::region::{Autonomy, AutonomySettings};

impl Autonomy {
    /// Why an unasked intent is refused. It needs autonomous level and the mode of the tool.
    pub(super) fn objection_to_unasked(
        &self,
        intent: &Intent,
        rails: &AutonomySettings,
    ) -> Option<(Refusal, &'static str, String)> {
        let powers = self.lowered.of(&rails.powers);
        if powers.autonomy != AutonomyLevel::Autonomous {
            let level = powers.autonomy.as_str();
            let reason = format!("at autonomy level {level} it does nothing that no person asked for");
            return Some((Refusal::Blocked, "autonomy.unasked", reason));
        }
        let spec = rails.tools.get(&intent.tool).map(|found| &found.spec)?;
        (spec.required_mode > powers.mode).then(|| {
            let (needed, mode) = (spec.required_mode.as_str(), powers.mode.as_str());
            (Refusal::Blocked, "autonomy.mode", format!("{} needs {needed} mode; this is {mode} mode", spec.name))
        })
    }
}
