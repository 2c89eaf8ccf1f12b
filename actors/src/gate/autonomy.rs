//! Autonomy: may the agent do this by itself at all, whatever it is worth.
//!
//! Biology: the dorsal anterior cingulate, which weighs whether to act or to ask.
//! Law: the level decides (planning proposes, supervised asks below a confidence, autonomous acts); rails bound how many
//! effects a second and a minute, and how often the same call may repeat without progress. Answers and questions are no
//! effects: rails never count them.
//! Remembers: when it let effects pass, lately. Forgets: after a minute.
//! Down: no intent passes.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::hash::StableHash;
use maxim_bus::signals::intent::{Intent, IntentPermitted, IntentRefused, Refusal};
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
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AutonomyEvent {
    Passed { at: Timestamp },
    Failed { call: u64 },
    Succeeded,
}

wiring!(Autonomy { hears: [Intent], back: [ToolResult], emits: [IntentPermitted, IntentRefused] });

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
            AutonomyLevel::Supervised if !intent.commanded && intent.confidence.get() < rails.ask_below => {
                let reason = format!("its confidence {:.2} is below {:.2}", intent.confidence.get(), rails.ask_below);
                return Some((Refusal::Blocked, "autonomy.supervised", reason));
            }
            _ => {}
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
        pulse.emit(IntentPermitted { intent: intent.clone(), id, policy });
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
