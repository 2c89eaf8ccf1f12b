//! Autonomy: may the agent do this by itself at all, whatever it is worth.
//!
//! Biology: the dorsal anterior cingulate, which weighs whether to act or to ask.
//! Law: the level decides (planning proposes, supervised asks below a confidence, autonomous acts); rails bound how many
//! effects a second and a minute, and how often the same call may repeat without progress. Answers and questions are no
//! effects: rails never count them. What the escalation bridge learned of asking moves the bar: a supervised agent asks
//! below 0.3 less where people allow such things nearly always, below 0.3 more where they deny them, and an autonomous
//! one asks there too. The person's own direct command is never asked back.
//! Remembers: when it let effects pass, lately; counsel on asking. Forgets: after a minute; what is withdrawn.
//! Down: no intent passes.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::hash::StableHash;
use maxim_bus::signals::bridges::{Counsel, Counsels, EscalationCounselled, goal_kind};
use maxim_bus::signals::intent::{Escalation, Intent, IntentPermitted, IntentRefused, Refusal};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// How much the agent may do by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutonomyLevel {
    /// Proposes only.
    Planning,
    /// Asks below `ask_below`.
    Supervised,
    Autonomous,
}

/// How autonomy is set up.
#[derive(Clone, Debug)]
pub struct AutonomySettings {
    pub level: AutonomyLevel,
    /// Confidence below which a supervised agent asks; 0 to 1. Default 0.8.
    pub ask_below: f64,
    /// Tools that it may use; empty means all that are registered.
    pub whitelist: Vec<String>,
    /// Tools that only speak or read: no rail counts them.
    pub uncounted: Vec<String>,
    /// Effects in a second; default 20.
    pub per_second: usize,
    /// Effects in a minute; default 300.
    pub per_minute: usize,
    /// The same call without success in a row; default 5.
    pub repeats: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Autonomy {
    recent: VecDeque<Timestamp>,
    /// Hash of the latest failed call, and how often it came in a row.
    failing: Option<(u64, u32)>,
    #[serde(default)]
    counsels: Counsels,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AutonomyEvent {
    Passed { at: Timestamp },
    Failed { call: u64 },
    Succeeded,
    Counselled(EscalationCounselled),
}

wiring!(Autonomy {
    hears: [Intent],
    back: [ToolResult, EscalationCounselled],
    emits: [IntentPermitted, IntentRefused],
});

impl Region for Autonomy {
    const NAME: RegionName = "autonomy";
    const STAGE: Stage = Stage::Gate;
    type Event = AutonomyEvent;
    type Settings = AutonomySettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: AutonomyEvent) {
        match event {
            AutonomyEvent::Passed { at } => {
                let minute = at - SignedDuration::from_secs(60);
                while self.recent.front().is_some_and(|old| *old <= minute) {
                    self.recent.pop_front();
                }
                self.recent.push_back(at);
            }
            AutonomyEvent::Failed { call } => {
                let count = self.failing.filter(|(failing, _)| *failing == call).map_or(0, |(_, count)| count);
                self.failing = Some((call, count + 1));
            }
            AutonomyEvent::Succeeded => self.failing = None,
            AutonomyEvent::Counselled(told) => self.counsels.learn(&told),
        }
    }
}

/// Equal for equal calls.
fn call_hash(tool: &str, params: &serde_json::Value) -> u64 {
    StableHash::default().add(tool.as_bytes()).add(params.to_string().as_bytes()).get()
}

impl Autonomy {
    /// Why it may not, if it may not: rule and reason.
    fn objection(
        &self,
        intent: &Intent,
        trust: Trust,
        now: Timestamp,
        rails: &AutonomySettings,
    ) -> Option<(Refusal, &'static str, String)> {
        if !rails.whitelist.is_empty() && !rails.whitelist.contains(&intent.tool) {
            let reason = format!("{} is not on the list of tools that this agent may use", intent.tool);
            return Some((Refusal::Blocked, "autonomy.whitelist", reason));
        }
        if rails.uncounted.contains(&intent.tool) {
            return None;
        }
        if trust <= Trust::Sensor {
            let reason = "whoever asked for it may speak with the agent, but not command it".to_owned();
            return Some((Refusal::Blocked, "autonomy.no-command", reason));
        }
        match rails.level {
            AutonomyLevel::Planning => {
                let reason = "at autonomy level planning it only proposes".to_owned();
                return Some((Refusal::Blocked, "autonomy.planning", reason));
            }
            AutonomyLevel::Supervised | AutonomyLevel::Autonomous => {}
        }
        let since = |seconds| self.recent.iter().filter(|at| **at > now - SignedDuration::from_secs(seconds)).count();
        if since(1) >= rails.per_second || since(60) >= rails.per_minute {
            let reason = format!(
                "more than {} effects a second or {} a minute; wait and say it again",
                rails.per_second, rails.per_minute
            );
            return Some((Refusal::Blocked, "autonomy.rate", reason));
        }
        let failing = self.failing.filter(|(call, _)| *call == call_hash(&intent.tool, &intent.params));
        match failing {
            Some((_, count)) if count >= rails.repeats && !intent.commanded => {
                let reason = format!("the same call failed {count} times in a row without progress");
                Some((Refusal::Blocked, "autonomy.loop", reason))
            }
            _ => None,
        }
    }
}

/// How far counsel moves the confidence below which a supervised agent asks.
const SHIFT: f64 = 0.3;

impl Autonomy {
    /// Why a person is to be asked first, if so.
    fn question(&self, intent: &Intent, now: Timestamp, rails: &AutonomySettings) -> Option<Escalation> {
        if intent.commanded || rails.uncounted.contains(&intent.tool) {
            return None;
        }
        let kind = goal_kind(&intent.tool, intent.goal.as_deref());
        let counsel = self.counsels.on(&kind, now);
        let unwanted = counsel == Some(Counsel::Unwanted);
        let confidence = intent.confidence.get();
        let bar = match counsel {
            Some(Counsel::Trusted) => rails.ask_below - SHIFT,
            Some(Counsel::Unwanted) => rails.ask_below + SHIFT,
            _ => rails.ask_below,
        };
        if rails.level == AutonomyLevel::Supervised && confidence < bar {
            let reason = format!("its confidence {confidence:.2} is below {bar:.2}");
            return Some(Escalation { rule: "autonomy.supervised".into(), reason });
        }
        (rails.level == AutonomyLevel::Autonomous && unwanted).then(|| Escalation {
            rule: "escalation.unwanted".into(),
            reason: format!("people said no to such things ({kind}) nearly always"),
        })
    }
}

impl Hears<Intent> for Autonomy {
    fn hear(&self, intent: &Intent, pulse: &mut Pulse<'_, Self>) {
        let id = pulse.cause().map_or(intent.turn, |meta| meta.id);
        let rails = pulse.settings();
        if let Some((refusal, rule, reason)) = self.objection(intent, pulse.trust(), pulse.now(), rails) {
            pulse.emit(refused(id, intent, refusal, rule, reason));
            return;
        }
        if !rails.uncounted.contains(&intent.tool) {
            pulse.keep(AutonomyEvent::Passed { at: pulse.now() });
        }
        let policy = format!("autonomy.{:?}", rails.level).to_lowercase();
        let ask = self.question(intent, pulse.now(), rails);
        pulse.emit(IntentPermitted { intent: intent.clone(), id, policy, ask });
    }
}

impl Hears<ToolResult> for Autonomy {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        if pulse.settings().uncounted.contains(&result.tool) {
            return;
        }
        match result.success {
            Some(true) if self.failing.is_some() => pulse.keep(AutonomyEvent::Succeeded),
            Some(false) => pulse.keep(AutonomyEvent::Failed { call: call_hash(&result.tool, &result.params) }),
            _ => {}
        }
    }
}

impl Hears<EscalationCounselled> for Autonomy {
    fn hear(&self, told: &EscalationCounselled, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(AutonomyEvent::Counselled(told.clone()));
    }
}

fn refused(id: MessageId, intent: &Intent, refusal: Refusal, rule: &str, reason: String) -> IntentRefused {
    IntentRefused {
        intent: id,
        turn: intent.turn,
        tool: intent.tool.clone(),
        refusal,
        rule: rule.into(),
        reason,
        approval: None,
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::thought::Mind;
    use maxim_bus::units::Confidence;

    use super::*;
    use crate::region::rig::{Rig, ear, monday_morning};

    fn settings(level: AutonomyLevel) -> AutonomySettings {
        AutonomySettings {
            level,
            ask_below: 0.8,
            whitelist: vec![],
            uncounted: vec!["respond".into()],
            per_second: 20,
            per_minute: 300,
            repeats: 5,
        }
    }

    fn intent(confidence: f64) -> Intent {
        Intent {
            turn: MessageId::from_parts(1, 1),
            tool: "bash".into(),
            params: serde_json::Value::Null,
            mind: Mind::Model,
            confidence: Confidence::clamped(confidence),
            commanded: false,
            trust: Trust::Owner,
            goal: Some("run the tests".into()),
            channel: "http".into(),
            recipient: "anna".into(),
            alternatives: vec![],
        }
    }

    fn asks(rig: &mut Rig<Autonomy>, intent: Intent) -> Option<String> {
        rig.send(intent);
        rig.heard::<IntentPermitted>().remove(0).ask.map(|ask| ask.rule)
    }

    fn counsel(counsel: Option<Counsel>) -> EscalationCounselled {
        let until = monday_morning() + SignedDuration::from_hours(1);
        EscalationCounselled { kind: Some("bash:run".into()), hour: None, counsel, until }
    }

    #[test]
    fn counsel_moves_the_bar_of_a_supervised_agent() {
        let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Supervised), ear::<IntentPermitted>);
        let supervised = Some("autonomy.supervised".to_owned());
        assert_eq!(asks(&mut rig, intent(0.7)), supervised);
        assert_eq!(asks(&mut rig, intent(0.9)), None);
        assert_eq!(asks(&mut rig, Intent { commanded: true, ..intent(0.1) }), None);
        rig.send(counsel(Some(Counsel::Trusted)));
        rig.crash();
        assert_eq!(asks(&mut rig, intent(0.7)), None);
        assert_eq!(asks(&mut rig, intent(0.4)), supervised, "the bar is 0.5, not gone");
        rig.send(counsel(Some(Counsel::Unwanted)));
        assert_eq!(asks(&mut rig, intent(1.0)), supervised, "the bar is 1.1");
    }

    #[test]
    fn an_autonomous_agent_asks_what_people_did_not_want() {
        let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), ear::<IntentPermitted>);
        assert_eq!(asks(&mut rig, intent(0.1)), None);
        rig.send(counsel(Some(Counsel::Unwanted)));
        assert_eq!(asks(&mut rig, intent(0.9)), Some("escalation.unwanted".into()));
        assert_eq!(asks(&mut rig, Intent { commanded: true, ..intent(0.9) }), None);
        assert_eq!(asks(&mut rig, Intent { tool: "respond".into(), ..intent(0.9) }), None);
        rig.send(counsel(None));
        assert_eq!(asks(&mut rig, intent(0.1)), None);
    }
}
