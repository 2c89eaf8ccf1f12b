//! Autonomy as a room: whether the agent may do this by itself, regardless of what it is worth.
//!
//! Biology: the dorsal anterior cingulate, which weighs whether to act or to ask.
//! Law: the level decides: planning proposes, supervised asks below a confidence, autonomous acts. Limits bound the
//! effects a second and a minute, and how often the same call may fail in a row. Answers, questions, calls that only
//! read and calls that the gate refuses don't count as effects. A movement that would turn the joints beyond the limit
//! of an hour or a day is refused. Counsel of the escalation bridge moves the threshold. Where people nearly always
//! allow such calls, a supervised agent asks below a threshold that is 0.3 lower. Where they nearly always deny them,
//! the threshold is 0.3 higher, and an autonomous agent asks too. A direct command of a person is never asked back
//! here. A known wrong name leads to its tool; an unknown one is answered with the right names. Powers that the agent
//! lowered, and the mode, the level's list and the scene (`scene_tools.rs`), hold from the next intent on.
//! Remembers: recent effects, counsel on asking, lowered powers, how names were read. Forgets: effects after a minute;
//! withdrawn counsel; lowered powers when they are given back.
//! Down: no intent passes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::{AutonomyLevel, EffortLimits, Powers};
use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::bridges::{Counsels, EscalationCounselled};
use maxim_bus::signals::intent::{Intent, IntentPermitted, IntentRefused, Refusal};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::powers::{ModeLowered, PowersReported, ReportPowers, RestorePowers};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::skill::RUN_PROGRAM;
use maxim_bus::signals::thought::{Mind, ModelProposal};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::effort::Effort;
use super::law::Rails;
use super::lowered::Lowered;
use super::names::{NameTally, Named};
use super::rails::{call_hash, unlisted};
use super::scene_tools::{SceneTools, SceneToolsEvent};
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};
use maxim_tools::{Resolved, ToolRegistry};

/// Autonomy's settings.
#[derive(Clone, Debug)]
pub struct AutonomySettings {
    /// The powers that the configuration allows, the autonomy level among them.
    pub powers: Powers,
    /// All registered tools.
    pub tools: Arc<ToolRegistry>,
    pub law: Rails,
    /// Tools that it may use at a level; a level without a list may use all that are registered.
    pub whitelists: BTreeMap<AutonomyLevel, Vec<String>>,
    /// Scene tools that are on at the same time, at most. Default 20.
    pub scene_tools: usize,
    /// Tools that only speak or read. No limit counts them.
    pub uncounted: Vec<String>,
    /// How far the joints may turn.
    pub effort: EffortLimits,
    /// The time zone of the hours.
    pub zone: TimeZone,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Autonomy {
    /// Recent effects that it let pass, oldest first.
    pub(super) passed: VecDeque<(Timestamp, MessageId)>,
    /// Hash of the last failed call, and its failures in a row.
    pub(super) failing: Option<(u64, u32)>,
    pub(super) counsels: Counsels,
    pub(super) lowered: Lowered,
    names: NameTally,
    pub(super) effort: Effort,
    pub(super) scene: SceneTools,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AutonomyEvent {
    Passed {
        at: Timestamp,
        intent: Option<MessageId>,
    },
    /// The gate refused it, so the effect isn't counted.
    Barred {
        intent: MessageId,
    },
    Failed {
        call: u64,
    },
    Succeeded,
    Counselled(EscalationCounselled),
    Named(Named),
    Lowered(Lowered),
    Restored,
    Moved {
        at: Timestamp,
        degrees: f64,
    },
    Scene(SceneToolsEvent),
}

wiring!(Autonomy {
    hears: [ModelProposal, Intent, IntentRefused, ReportPowers, RestorePowers, SceneNoticed],
    back: [ToolResult, EscalationCounselled, MovementSensed],
    emits: [IntentPermitted, IntentRefused, PowersReported, ModeLowered],
});

impl Region for Autonomy {
    const NAME: RegionName = rooms::AUTONOMY;
    const STAGE: Stage = Stage::Gate;
    type Event = AutonomyEvent;
    type Settings = AutonomySettings;

    fn apply(&mut self, event: AutonomyEvent) {
        match event {
            AutonomyEvent::Passed { at, intent } => {
                let minute = at.earlier(SignedDuration::from_secs(60));
                while self.passed.front().is_some_and(|(old, _)| *old <= minute) {
                    self.passed.pop_front();
                }
                self.passed.extend(intent.map(|intent| (at, intent)));
            }
            AutonomyEvent::Barred { intent } => self.passed.retain(|(_, passed)| *passed != intent),
            AutonomyEvent::Failed { call } => {
                let count = self.failing.filter(|(failing, _)| *failing == call).map_or(0, |(_, count)| count);
                self.failing = Some((call, count + 1));
            }
            AutonomyEvent::Succeeded => self.failing = None,
            AutonomyEvent::Counselled(told) => self.counsels.learn(&told),
            AutonomyEvent::Named(named) => self.names.count(named),
            AutonomyEvent::Lowered(change) => self.lowered.add(&change),
            AutonomyEvent::Moved { at, degrees } => self.effort.moved(at, degrees),
            AutonomyEvent::Scene(event) => self.scene.apply(event),
            AutonomyEvent::Restored => self.lowered = Lowered::default(),
        }
    }
}

impl Autonomy {
    pub(super) fn level(&self, rails: &AutonomySettings) -> AutonomyLevel {
        self.lowered.of(&rails.powers).autonomy
    }

    fn report(&self, lowered: &Lowered, now: Timestamp, settings: &AutonomySettings) -> PowersReported {
        let powers = lowered.of(&settings.powers);
        let off = self.off(&powers, now, settings);
        PowersReported {
            powers,
            lowered: self.lowered.words(&settings.powers),
            names: self.names.counts().clone(),
            off,
        }
    }

    /// Tools that can't be called now, and why. Some tools do a part of their work in every mode, so the mode itself is
    /// enforced where the work is done.
    fn off(&self, powers: &Powers, now: Timestamp, rails: &AutonomySettings) -> BTreeMap<String, String> {
        let mut off = self.scene.off(&rails.tools, now, rails.scene_tools);
        for spec in rails.tools.specs() {
            let name = &spec.name;
            if let Some(why) = unlisted(name, powers.autonomy, rails) {
                off.insert(name.clone(), why);
            } else if spec.required_mode > powers.mode {
                let (needed, mode) = (spec.required_mode.as_str(), powers.mode.as_str());
                off.insert(name.clone(), format!("{name} needs {needed} mode; this is {mode} mode"));
            }
        }
        off
    }

    /// The intent with the tool's own name; `None` if it was refused.
    fn named(&self, id: MessageId, intent: &Intent, pulse: &mut Pulse<'_, Self>) -> Option<Intent> {
        let (named, read) = match self.names.read(&intent.tool, &pulse.settings().tools) {
            Ok((named, tool)) => (named, Ok(tool)),
            Err((named, why)) => (named, Err(why)),
        };
        // A model's name was counted when the model proposed it. Habit uses right names only.
        if intent.mind != Mind::Model && named != Named::Rightly {
            pulse.keep(AutonomyEvent::Named(named));
        }
        match read {
            Ok(tool) => Some(Intent { tool, ..intent.clone() }),
            Err(why) => {
                pulse.emit(refused(id, intent, Refusal::Blocked, "tools.name", why));
                None
            }
        }
    }
}

impl Hears<ModelProposal> for Autonomy {
    /// Questions never become intents, so their names are counted only here.
    fn hear(&self, proposal: &ModelProposal, pulse: &mut Pulse<'_, Self>) {
        let tools = &pulse.settings().tools;
        let proposed = proposal.tool.as_deref().filter(|tool| *tool != RUN_PROGRAM);
        if let Some(named) = proposed.map(|tool| Named::of(&tools.resolve(tool))) {
            pulse.keep(AutonomyEvent::Named(named));
        }
    }
}

impl Hears<Intent> for Autonomy {
    fn hear(&self, intent: &Intent, pulse: &mut Pulse<'_, Self>) {
        let id = pulse.cause().map_or(intent.turn, |meta| meta.id);
        let rails = pulse.settings();
        let asked_for = intent;
        let Some(intent) = &self.named(id, intent, pulse) else { return };
        if rails.tools.get(&intent.tool).is_some_and(|found| !found.spec.scene.is_empty()) {
            let (tool, at) = (intent.tool.clone(), pulse.now());
            pulse.keep(AutonomyEvent::Scene(SceneToolsEvent::Used { tool, at }));
        }
        if let Some((refusal, rule, reason)) = self.objection(intent, pulse.trust(), pulse.now(), rails) {
            pulse.emit(refused(id, asked_for, refusal, rule, reason));
            return;
        }
        if rails.counts(&intent.tool) {
            pulse.keep(AutonomyEvent::Passed { at: pulse.now(), intent: Some(id) });
        }
        let powers = self.lowered.of(&rails.powers);
        let policy = format!("autonomy.{}", powers.autonomy.as_str());
        let ask = self.question(intent, pulse.now(), rails);
        let called = (asked_for.tool != intent.tool).then(|| asked_for.tool.clone());
        pulse.emit(IntentPermitted { intent: intent.clone(), id, policy, ask, powers: Some(powers), called });
    }
}

impl Hears<IntentRefused> for Autonomy {
    fn hear(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        if self.passed.iter().any(|(_, intent)| *intent == refused.intent) {
            pulse.keep(AutonomyEvent::Barred { intent: refused.intent });
        }
    }
}

impl Hears<MovementSensed> for Autonomy {
    fn hear(&self, sensed: &MovementSensed, pulse: &mut Pulse<'_, Self>) {
        let (degrees, limits) = (sensed.degrees(), pulse.settings().effort);
        if degrees > 0.0 && limits != EffortLimits::default() {
            pulse.keep(AutonomyEvent::Moved { at: pulse.now(), degrees });
        }
    }
}

impl Hears<SceneNoticed> for Autonomy {
    fn hear(&self, noticed: &SceneNoticed, pulse: &mut Pulse<'_, Self>) {
        if let Some(event) = self.scene.seen(noticed, &pulse.settings().tools, pulse.now()) {
            pulse.keep(AutonomyEvent::Scene(event));
        }
    }
}

impl Hears<ReportPowers> for Autonomy {
    fn hear(&self, _query: &ReportPowers, pulse: &mut Pulse<'_, Self>) {
        let report = self.report(&self.lowered, pulse.now(), pulse.settings());
        pulse.reply(report);
    }
}

impl Hears<RestorePowers> for Autonomy {
    fn hear(&self, wish: &RestorePowers, pulse: &mut Pulse<'_, Self>) {
        // A person's request comes through the HTTP door, which gives it the owner's trust.
        if pulse.trust() < Trust::Owner {
            tracing::warn!(by = wish.by, "someone who is not the owner asked to give powers back; refused");
            let report = self.report(&self.lowered, pulse.now(), pulse.settings());
            pulse.reply(report);
            return;
        }
        pulse.keep(AutonomyEvent::Restored);
        if self.lowered.mode().is_some() {
            pulse.emit(ModeLowered { to: None });
        }
        let report = self.report(&Lowered::default(), pulse.now(), pulse.settings());
        pulse.reply(report);
    }
}

impl Hears<ToolResult> for Autonomy {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let tool = match pulse.settings().tools.resolve(&result.tool) {
            Resolved::Tool(found) | Resolved::Redirected(found) => found.spec.name.as_str(),
            Resolved::Unknown { .. } => result.tool.as_str(),
        };
        if let Some(change) = Lowered::by(tool, result) {
            let mut lowered = self.lowered.clone();
            lowered.add(&change);
            if lowered.mode() != self.lowered.mode() {
                pulse.emit(ModeLowered { to: lowered.mode() });
            }
            pulse.keep(AutonomyEvent::Lowered(change));
        }
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
        until: None,
        always: None,
    }
}

#[cfg(test)]
mod tests;
