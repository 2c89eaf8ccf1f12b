//! What autonomy lets pass, and what it asks a person about first.
//!
//! Law: checks run in this order: the level's list, the scene, who wants it, the level itself, then the limits on rate,
//! effort and repetition. Last comes the confidence threshold, which counsel moves.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::Trust;
use maxim_bus::clock::Reckoned;
use maxim_bus::hash::StableHash;
use maxim_bus::mode::AutonomyLevel;
use maxim_bus::signals::bridges::{Counsel, goal_kind};
use maxim_bus::signals::intent::{Escalation, Intent, Refusal};

use super::region::{Autonomy, AutonomySettings};
use maxim_tools::{EffectClass, ToolSpec};

/// How far counsel moves the confidence below which a supervised agent asks.
const SHIFT: f64 = 0.3;

/// Why the level may not use a tool; `None` if it may. Uncounted tools are always allowed.
pub(super) fn unlisted(tool: &str, level: AutonomyLevel, rails: &AutonomySettings) -> Option<String> {
    let list =
        rails.whitelists.get(&level).filter(|list| !list.iter().chain(&rails.uncounted).any(|name| name == tool));
    list.map(|_| format!("{tool} is not on the list of tools for autonomy level {}", level.as_str()))
}

/// The same for equal calls.
pub(super) fn call_hash(tool: &str, params: &serde_json::Value) -> u64 {
    StableHash::default().add(tool.as_bytes()).add(params.to_string().as_bytes()).get()
}

impl AutonomySettings {
    /// Whether a call of this tool is an effect that the rate counts. A foreign program's own claim that it only reads
    /// isn't believed.
    pub(super) fn counts(&self, tool: &str) -> bool {
        let only_reads = |spec: &ToolSpec| spec.effect == EffectClass::ReadOnly && !spec.is_foreign;
        !self.uncounted.iter().any(|name| name == tool)
            && !self.tools.get(tool).is_some_and(|found| only_reads(&found.spec))
    }
}

impl Autonomy {
    /// Why it is refused, as rule and reason; `None` if it isn't.
    pub(super) fn objection(
        &self,
        intent: &Intent,
        trust: Trust,
        now: Timestamp,
        rails: &AutonomySettings,
    ) -> Option<(Refusal, &'static str, String)> {
        let level = self.level(rails);
        if let Some(reason) = unlisted(&intent.tool, level, rails) {
            return Some((Refusal::Blocked, "autonomy.whitelist", reason));
        }
        let comes_with_scene = rails.tools.get(&intent.tool).is_some_and(|found| !found.spec.scene.is_empty());
        let off = comes_with_scene.then(|| self.scene.off(&rails.tools, now, rails.scene_tools));
        if let Some(reason) = off.and_then(|mut off| off.remove(&intent.tool)) {
            return Some((Refusal::Blocked, "tools.scene", reason));
        }
        if rails.uncounted.contains(&intent.tool) {
            return None;
        }
        if trust <= Trust::Sensor {
            let reason = "the person who asked for it may speak with the agent, but may not command it".to_owned();
            return Some((Refusal::Blocked, "autonomy.no-command", reason));
        }
        if let Some(objection) = intent.unasked.then(|| self.objection_to_unasked(intent, rails)).flatten() {
            return Some(objection);
        }
        match level {
            AutonomyLevel::Planning => {
                let reason = "at autonomy level planning it only proposes".to_owned();
                return Some((Refusal::Blocked, "autonomy.planning", reason));
            }
            AutonomyLevel::Supervised | AutonomyLevel::Autonomous => {}
        }
        let since = |seconds| {
            let begun = now.earlier(SignedDuration::from_secs(seconds));
            self.passed.iter().filter(|(at, _)| *at > begun).count()
        };
        if rails.counts(&intent.tool) && (since(1) >= rails.law.per_second || since(60) >= rails.law.per_minute) {
            let reason = format!(
                "more than {} effects a second or {} a minute; wait and say it again",
                rails.law.per_second, rails.law.per_minute
            );
            return Some((Refusal::Blocked, "autonomy.rate", reason));
        }
        if let Some(reason) = self.effort.objection(&intent.tool, &intent.params, now, rails.effort) {
            return Some((Refusal::Blocked, "autonomy.effort", reason));
        }
        let failing = self.failing.filter(|(call, _)| *call == call_hash(&intent.tool, &intent.params));
        match failing {
            Some((_, count)) if count >= rails.law.failures_in_row && !intent.commanded => {
                let reason = format!("the same call failed {count} times in a row without progress");
                Some((Refusal::Blocked, "autonomy.loop", reason))
            }
            _ => None,
        }
    }

    /// Why a person is asked first; `None` if nobody is.
    pub(super) fn question(&self, intent: &Intent, now: Timestamp, rails: &AutonomySettings) -> Option<Escalation> {
        if intent.commanded || rails.uncounted.contains(&intent.tool) {
            return None;
        }
        let kind = goal_kind(&intent.tool, intent.goal.as_deref());
        let counsel = self.counsels.on(&kind, now, &rails.zone);
        let unwanted = counsel == Some(Counsel::Unwanted);
        let confidence = intent.confidence.get();
        let bar = match counsel {
            Some(Counsel::Trusted) => rails.law.ask_below - SHIFT,
            Some(Counsel::Unwanted) => rails.law.ask_below + SHIFT,
            _ => rails.law.ask_below,
        };
        if self.level(rails) == AutonomyLevel::Supervised && confidence < bar {
            let reason = format!("its confidence {confidence:.2} is below {bar:.2}");
            return Some(Escalation { rule: "autonomy.supervised".into(), reason });
        }
        (self.level(rails) == AutonomyLevel::Autonomous && unwanted).then(|| Escalation {
            rule: "escalation.unwanted".into(),
            reason: format!("people said no to such things ({kind}) nearly always"),
        })
    }
}
