//! What happens to an intent at the gate: it is judged, then blocked, asked about, or passed on to experience.

use maxim_bus::signals::intent::{IntentPermitted, IntentRefused, Refusal};
use maxim_bus::signals::introspection::{ForeseeVerdict, VerdictForeseen};

use super::fears::PINNED;
use super::granting::{Asked, told};
use super::reading::{Files, Judged, Seen};
use super::region::{FearAgent, FearEvent, FearSettings, GateEntry, GateStatus, record_key, refusal_of};
use super::walls::is_wall;
use super::{Judgement, Mode, Setting, ToolCall, Verdict, judge_seen};
use crate::cleared_intent::Terms;
use maxim_region::{Gather, Hears, Pulse};

impl Hears<IntentPermitted> for FearAgent {
    fn hear(&self, permitted: &IntentPermitted, pulse: &mut Pulse<'_, Self>) {
        let IntentPermitted { intent, id, ask, powers, called, .. } = permitted;
        let entry = GateEntry {
            intent: intent.clone(),
            id: *id,
            trust: pulse.trust(),
            rule: String::new(),
            reason: String::new(),
            status: GateStatus::Judging,
            expires: pulse.now(),
            gather: Gather::default(),
            predicted: None,
            assessed: None,
            terms: Terms { powers: powers.clone(), called: called.clone(), sealed: None },
            asks: Vec::new(),
            grants: Vec::new(),
            always: None,
            any_arguments: None,
            files: Files { escalation: ask.clone(), ..Files::default() },
            question: None,
            replaced: Vec::new(),
        };
        self.judge_entry(entry, Seen::default(), pulse);
    }
}

impl FearAgent {
    /// Acts on the judgement of an intent.
    pub(super) fn pass(&self, mut entry: GateEntry, judged: Judgement, mode: Mode, pulse: &mut Pulse<'_, Self>) {
        entry.rule = judged.rule.to_string();
        entry.reason = judged.reason;
        entry.asks = judged.asks.iter().map(Asked::from).collect();
        if judged.verdict == Verdict::Ask && entry.asks.is_empty() {
            entry.asks.push(Asked::of_all(&entry.rule, &entry.reason));
        }
        entry.grants.clear();
        let is_changed = entry.files.changed.is_some();
        if self.stopped {
            let refused = refusal_of(&entry, Refusal::Stopped, "stop.latched", "the brain is stopped".into());
            return self.refuse_judged(&entry, refused, pulse);
        }
        match judged.verdict {
            Verdict::Block => {
                let (rule, reason) = (entry.rule.clone(), entry.reason.clone());
                // A wall's refusal says nothing about the action.
                if !is_wall(&rule) {
                    Self::remember_refusal(&entry, &rule, &reason, pulse);
                }
                let refused = refusal_of(&entry, Refusal::Blocked, &rule, reason);
                self.refuse_judged(&entry, refused, pulse);
            }
            // A model's review costs money. It isn't used for what no person asked for, nor for files that changed
            // since a person looked.
            Verdict::Ask if entry.intent.unasked || is_changed => self.ask(entry, pulse),
            Verdict::Allow if is_changed => self.ask(entry, pulse),
            Verdict::Ask | Verdict::Allow => {
                if let Some(ask) = entry.files.escalation.clone() {
                    if judged.verdict == Verdict::Allow {
                        entry.rule.clone_from(&ask.rule);
                    }
                    entry.asks.push(Asked::of_all(&ask.rule, &ask.reason));
                }
                if entry.asks.is_empty() {
                    return self.consult(entry, pulse);
                }
                entry.reason = told(&entry.asks);
                if let Some(files) = self.passes_by_grants(&mut entry, pulse) {
                    return self.consult_if_unchanged(entry, files, pulse);
                }
                let met: Vec<String> = entry.asks.iter().map(|ask| ask.rule.clone()).collect();
                self.review_or_ask(entry, &met, mode, pulse);
            }
        }
    }

    /// Refuses a judged intent and removes its record if it had to wait.
    fn refuse_judged(&self, entry: &GateEntry, refused: IntentRefused, pulse: &mut Pulse<'_, Self>) {
        if entry.files.round > 0 || entry.files.changed.is_some() {
            pulse.keep(FearEvent::Closed { id: entry.id });
            pulse.remove(record_key(entry.id));
        }
        pulse.emit_trusted(entry.intent.turn, entry.trust, refused);
    }
}

/// The deterministic verdict; what installed programs do isn't in their parameters alone.
pub(super) fn judged(tool: &str, params: &serde_json::Value, setting: &Setting, settings: &FearSettings) -> Judgement {
    judged_with(tool, params, setting, settings, &Seen::default()).judgement
}

/// The same with what was read of the files that it would run.
pub(super) fn judged_with(
    tool: &str,
    params: &serde_json::Value,
    setting: &Setting,
    settings: &FearSettings,
    seen: &Seen,
) -> Judged {
    if let Some(proof) = settings.fearless {
        let judgement = super::verdict::of_nobody_who_fears(proof);
        return Judged { judgement, wanted: Vec::new(), used: Vec::new(), runs: false };
    }
    let mut judged = judge_seen(&ToolCall { tool, params }, setting, Some(seen));
    judged.judgement = settings.walls.settle(tool, judged.judgement, setting);
    if judged.judgement.verdict == Verdict::Allow && settings.foreign.contains(tool) {
        judged.judgement = super::verdict::of_foreign_program(tool, setting.mode);
    }
    judged
}

impl Hears<ForeseeVerdict> for FearAgent {
    fn hear(&self, asked: &ForeseeVerdict, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let setting = settings.setting();
        let judged = judged(&asked.tool, &asked.params, &setting, settings);
        let is_pinned = judged.verdict == Verdict::Allow && self.pinned.contains(&asked.tool);
        let foreseen = VerdictForeseen {
            verdict: if is_pinned { Verdict::Ask } else { judged.verdict },
            rule: if is_pinned { PINNED } else { judged.rule }.into(),
            category: serde_json::to_value(judged.category)
                .ok()
                .and_then(|category| category.as_str().map(str::to_owned))
                .unwrap_or_default(),
            reason: judged.reason,
            allowed_always: self.is_granted(
                ToolCall { tool: &asked.tool, params: &asked.params },
                &judged.asks,
                &setting,
                settings,
            ),
            hurt_before: self.hurtful.contains(&asked.tool),
            veto_confidence: settings.law.veto_confidence,
            veto_value: settings.law.veto_value,
            unforgiven: self.unforgiven(&asked.tool, pulse),
        };
        pulse.reply(foreseen);
    }
}
