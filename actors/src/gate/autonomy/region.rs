//! Autonomy as a room: may the agent do this by itself at all, whatever it is worth.
//!
//! Biology: the dorsal anterior cingulate, which weighs whether to act or to ask.
//! Law: the level decides (planning proposes, supervised asks below a confidence, autonomous acts); rails bound how many
//! effects a second and a minute, and how often the same call may repeat without progress. Answers and questions are no
//! effects: rails never count them. A movement that would turn the joints further than an hour or a day allow isn't made. What the escalation bridge learned of asking moves the bar: a supervised agent asks
//! below 0.3 less where people allow such things nearly always, below 0.3 more where they deny them, and an autonomous
//! one asks there too. The person's own direct command is never asked back. A wrong name leads to its tool or is answered
//! with the right ones; what the agent lowered of its own powers holds from the next intent on, and so does what takes a tool
//! away: the mode, the list of the level, the scene that it came with (`scene_tools.rs`).
//! Remembers: when it let effects pass, lately; counsel on asking; what was lowered; how names were read. Forgets: after a
//! minute; what is withdrawn or given back.
//! Down: no intent passes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::hash::StableHash;
use maxim_bus::mode::{AutonomyLevel, EffortLimits, Powers};
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::bridges::{Counsel, Counsels, EscalationCounselled, goal_kind};
use maxim_bus::signals::intent::{Escalation, Intent, IntentPermitted, IntentRefused, Refusal};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::powers::{ModeLowered, PowersReported, ReportPowers, RestorePowers};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::skill::RUN_PROGRAM;
use maxim_bus::signals::thought::{Mind, ModelProposal};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::effort::Effort;
use super::lowered::Lowered;
use super::names::{NameTally, Named};
use super::scene_tools::{SceneTools, SceneToolsEvent};
use crate::action::tools::{Resolved, ToolRegistry};
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// How autonomy is set up.
#[derive(Clone, Debug)]
pub struct AutonomySettings {
    /// What the configuration allows; the level of autonomy is in it.
    pub powers: Powers,
    /// The tools that there are.
    pub tools: Arc<ToolRegistry>,
    /// Confidence below which a supervised agent asks; 0 to 1. Default 0.8.
    pub ask_below: f64,
    /// Tools that it may use at a level; a level without a list may use all that are registered.
    pub whitelists: BTreeMap<AutonomyLevel, Vec<String>>,
    /// Tools of the scene that are on at once; default 20.
    pub scene_tools: usize,
    /// Tools that only speak or read: no rail counts them.
    pub uncounted: Vec<String>,
    /// Effects in a second; default 20.
    pub per_second: usize,
    /// Effects in a minute; default 300.
    pub per_minute: usize,
    /// The same call without success in a row; default 5.
    pub repeats: u32,
    /// How far the joints may turn.
    pub effort: EffortLimits,
    /// Hours are told in it.
    pub zone: TimeZone,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Autonomy {
    recent: VecDeque<Timestamp>,
    /// Hash of the latest failed call, and how often it came in a row.
    failing: Option<(u64, u32)>,
    #[serde(default)]
    counsels: Counsels,
    #[serde(default)]
    pub(super) lowered: Lowered,
    #[serde(default)]
    names: NameTally,
    #[serde(default)]
    effort: Effort,
    #[serde(default)]
    scene: SceneTools,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AutonomyEvent {
    Passed { at: Timestamp },
    Failed { call: u64 },
    Succeeded,
    Counselled(EscalationCounselled),
    Named(Named),
    Lowered(Lowered),
    Restored,
    Moved { at: Timestamp, degrees: f64 },
    Scene(SceneToolsEvent),
}

wiring!(Autonomy {
    hears: [ModelProposal, Intent, ReportPowers, RestorePowers, SceneNoticed],
    back: [ToolResult, EscalationCounselled, MovementSensed],
    emits: [IntentPermitted, IntentRefused, PowersReported, ModeLowered],
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
            AutonomyEvent::Named(named) => self.names.count(named),
            AutonomyEvent::Lowered(change) => self.lowered.add(&change),
            AutonomyEvent::Moved { at, degrees } => self.effort.moved(at, degrees),
            AutonomyEvent::Scene(event) => self.scene.apply(event),
            AutonomyEvent::Restored => self.lowered = Lowered::default(),
        }
    }
}

/// Why a tool is beyond what the level may use. Speaking and looking inward never are.
fn unlisted(tool: &str, level: AutonomyLevel, rails: &AutonomySettings) -> Option<String> {
    let list =
        rails.whitelists.get(&level).filter(|list| !list.iter().chain(&rails.uncounted).any(|name| name == tool));
    list.map(|_| format!("{tool} is not on the list of tools for autonomy level {}", level.as_str()))
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
            let reason = "whoever asked for it may speak with the agent, but not command it".to_owned();
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
        let since = |seconds| self.recent.iter().filter(|at| **at > now - SignedDuration::from_secs(seconds)).count();
        if since(1) >= rails.per_second || since(60) >= rails.per_minute {
            let reason = format!(
                "more than {} effects a second or {} a minute; wait and say it again",
                rails.per_second, rails.per_minute
            );
            return Some((Refusal::Blocked, "autonomy.rate", reason));
        }
        if let Some(reason) = self.effort.objection(&intent.tool, &intent.params, now, rails.effort) {
            return Some((Refusal::Blocked, "autonomy.effort", reason));
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

    /// Tools that can't be called at present, and why. What the mode forbids is refused where it is done, since some tools do
    /// a part of their work in every mode.
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

    /// The intent with its tool's own name; none when it was refused.
    fn named(&self, id: MessageId, intent: &Intent, pulse: &mut Pulse<'_, Self>) -> Option<Intent> {
        let (named, read) = match self.names.read(&intent.tool, &pulse.settings().tools) {
            Ok((named, tool)) => (named, Ok(tool)),
            Err((named, why)) => (named, Err(why)),
        };
        // What a model wrote was counted when it proposed it. Habit knows the names.
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

/// How far counsel moves the confidence below which a supervised agent asks.
const SHIFT: f64 = 0.3;

impl Autonomy {
    /// Why a person is to be asked first, if so.
    fn question(&self, intent: &Intent, now: Timestamp, rails: &AutonomySettings) -> Option<Escalation> {
        if intent.commanded || rails.uncounted.contains(&intent.tool) {
            return None;
        }
        let kind = goal_kind(&intent.tool, intent.goal.as_deref());
        let counsel = self.counsels.on(&kind, now, &rails.zone);
        let unwanted = counsel == Some(Counsel::Unwanted);
        let confidence = intent.confidence.get();
        let bar = match counsel {
            Some(Counsel::Trusted) => rails.ask_below - SHIFT,
            Some(Counsel::Unwanted) => rails.ask_below + SHIFT,
            _ => rails.ask_below,
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

impl Hears<ModelProposal> for Autonomy {
    /// Here alone stand the names of questions too, which never come as intents.
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
        if !rails.uncounted.contains(&intent.tool) {
            pulse.keep(AutonomyEvent::Passed { at: pulse.now() });
        }
        let powers = self.lowered.of(&rails.powers);
        let policy = format!("autonomy.{}", powers.autonomy.as_str());
        let ask = self.question(intent, pulse.now(), rails);
        let called = (asked_for.tool != intent.tool).then(|| asked_for.tool.clone());
        pulse.emit(IntentPermitted { intent: intent.clone(), id, policy, ask, powers: Some(powers), called });
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
        // A person's word comes by the door alone, which gives it the owner's trust.
        if pulse.trust() < Trust::Owner {
            tracing::warn!(by = wish.by, "powers were to be given back by someone who is not the owner");
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
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::units::Confidence;

    use super::*;
    use crate::action::tools::core_registry;
    use crate::region::rig::{Rig, ear, monday_morning};

    fn settings(level: AutonomyLevel) -> AutonomySettings {
        AutonomySettings {
            powers: Powers { autonomy: level, ..Powers::whole() },
            tools: Arc::new(core_registry().expect("good specs")),
            ask_below: 0.8,
            whitelists: BTreeMap::new(),
            scene_tools: 20,
            uncounted: vec!["respond".into()],
            per_second: 20,
            per_minute: 300,
            repeats: 5,
            effort: EffortLimits::default(),
            zone: TimeZone::UTC,
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
            unasked: false,
            goal: Some("run the tests".into()),
            channel: "http".into(),
            recipient: "anna".into(),
            then: vec![],
            instead: vec![],
        }
    }

    fn asks(rig: &mut Rig<Autonomy>, intent: Intent) -> Option<String> {
        rig.send(intent);
        rig.heard::<IntentPermitted>().remove(0).ask.map(|ask| ask.rule)
    }

    #[test]
    fn each_level_may_use_the_tools_on_its_list_and_always_answer() {
        let whitelists = BTreeMap::from([(AutonomyLevel::Supervised, vec!["read_file".to_owned()])]);
        let refused = |level: AutonomyLevel, tool: &str| {
            let settings = AutonomySettings { whitelists: whitelists.clone(), ..settings(level) };
            let mut rig: Rig<Autonomy> = Rig::new(settings, ear::<IntentRefused>);
            rig.send(Intent { tool: tool.into(), commanded: true, ..intent(1.0) });
            rig.heard::<IntentRefused>().first().map(|refused| refused.rule.clone())
        };
        let by_list = Some("autonomy.whitelist".to_owned());
        assert_eq!(refused(AutonomyLevel::Supervised, "bash"), by_list);
        assert_eq!(refused(AutonomyLevel::Supervised, "read_file"), None);
        assert_eq!(refused(AutonomyLevel::Supervised, "respond"), None);
        assert_eq!(refused(AutonomyLevel::Autonomous, "bash"), None, "this level has no list");
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

    fn result(tool: &str, output: serde_json::Value) -> ToolResult {
        let id = MessageId::from_parts(1, 1);
        ToolResult {
            action: id,
            intent: id,
            turn: id,
            tool: tool.into(),
            params: serde_json::Value::Null,
            success: Some(true),
            output,
            error: None,
            failure: None,
            duration_us: 0,
            side_effects: vec![],
            reward: None,
        }
    }

    fn powers(rig: &mut Rig<Autonomy>) -> Powers {
        rig.send(intent(1.0));
        rig.heard::<IntentPermitted>().remove(0).powers.expect("powers travel with what is permitted")
    }

    #[test]
    fn what_was_lowered_holds_over_a_crash_until_a_person_gives_it_back() {
        use maxim_bus::mode::Mode;
        use serde_json::json;
        let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), |bus, probe| {
            ear::<IntentPermitted>(bus, probe);
            ear::<PowersReported>(bus, probe);
            ear::<ModeLowered>(bus, probe);
        });
        assert_eq!(powers(&mut rig), Powers::whole());
        rig.send(result("mode_switch", json!({"mode": "passive", "was": "singularity"})));
        rig.send(result("mode_switch", json!({"mode": "active", "was": "singularity"})));
        rig.send(result("web_access", json!({"web": false, "was": true})));
        rig.send(result("autonomy_level", json!({"autonomy": "supervised", "was": "autonomous"})));
        rig.send(ToolResult { success: Some(false), ..result("autonomy_level", json!({"autonomy": "planning"})) });
        rig.crash();
        let now = powers(&mut rig);
        assert_eq!((now.mode, now.web, now.autonomy), (Mode::Passive, false, AutonomyLevel::Supervised));
        rig.send(RestorePowers { by: "anna".into() });
        let told = rig.heard_all();
        let modes = told.iter().filter_map(|envelope| envelope.get::<ModeLowered>());
        let modes: Vec<Option<Mode>> = modes.map(|lowered| lowered.to).collect();
        let told = told.iter().find_map(|envelope| envelope.get::<PowersReported>()).expect("told");
        assert_eq!((told.powers.clone(), told.lowered.len()), (Powers::whole(), 3));
        assert_eq!(modes, [None]);
        assert_eq!(powers(&mut rig), Powers::whole());
    }

    #[test]
    fn another_working_folder_travels_with_what_is_permitted() {
        let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), ear::<IntentPermitted>);
        rig.send(result("request_directory_change", serde_json::json!({"workdir": "/srv/other", "was": "/srv"})));
        assert_eq!(powers(&mut rig).workdir, Some("/srv/other".into()));
    }

    #[test]
    fn a_wrong_name_is_led_to_its_tool_and_an_unknown_one_is_answered() {
        let mut rig: Rig<Autonomy> = Rig::new(settings(AutonomyLevel::Autonomous), |bus, probe| {
            ear::<IntentPermitted>(bus, probe);
            ear::<IntentRefused>(bus, probe);
            ear::<PowersReported>(bus, probe);
        });
        let proposed = |tool: &str| ModelProposal {
            instead: Vec::new(),
            turn: MessageId::from_parts(1, 1),
            tool: Some(tool.into()),
            params: serde_json::Value::Null,
            reasoning: String::new(),
            confidence: None,
            error: None,
        };
        rig.send(proposed("run_command"));
        rig.send(Intent { tool: "run_command".into(), ..intent(1.0) });
        let permitted = rig.heard::<IntentPermitted>().remove(0);
        assert_eq!((permitted.intent.tool.as_str(), permitted.called.as_deref()), ("bash", Some("run_command")));
        let mut unknown = |name: &str| {
            rig.send(proposed(name));
            rig.send(Intent { tool: name.into(), ..intent(1.0) });
            rig.heard::<IntentRefused>().remove(0)
        };
        let first = unknown("rite_file");
        assert_eq!((first.rule.as_str(), first.tool.as_str()), ("tools.name", "rite_file"));
        assert!(first.reason.contains("write_file"), "{}", first.reason);
        assert!(unknown("rite_file").reason.contains("these are all"));
        rig.send(proposed("remember"));
        rig.send(proposed(RUN_PROGRAM));
        rig.send(ReportPowers {});
        let names = rig.heard::<PowersReported>().remove(0).names;
        assert_eq!((names.attempts, names.redirected, names.unknown), (4, 2, 2));
    }
}
