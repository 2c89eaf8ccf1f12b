//! FearAgent: is it safe? The room around the deterministic law and what experience adds to it.
//!
//! Biology: the amygdala.
//! Law: the deterministic layer judges the parsed call. Where it asks because it can't tell, a model may look first
//! (`review.rs`). Where it allows, bad experience with such calls may still make it ask: veto at confidence > 0.85 − b
//! and value < 0.1 + b, where b = 0.3 × the fear bridge's share of failures in similar contexts, b ≥ 0. Learned fear
//! only tightens. Its confidence halves with time, so reversible calls are tried again. A question that nobody answers
//! expires into a no. At hours at which nobody ever answers, an intent that no person asked for in so many words is
//! refused at once. A clearance that was not taken is issued again, after a check of the stop latch and its expiry.
//! Remembers: open questions, clearances that have not begun, tools that hurt or are pinned, counsel on asking.
//! Forgets: what expired.
//! Down: nothing is cleared, so nothing is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::mode::Powers;
use maxim_bus::rooms;
use maxim_bus::signals::approval::{AnswerApproval, ApprovalAnswered, code_of};
use maxim_bus::signals::bridges::{
    ApprovalEnd, ApprovalEnded, AssessContext, ContextAssessed, Counsel, Counsels, EnergyChanged, EscalationCounselled,
    goal_kind,
};
use maxim_bus::signals::fear::{FearsRecalled, FearsSurveyed, RecallFears, SurveyFears};
use maxim_bus::signals::grants::{AlwaysOffer, GrantsSurveyed, SurveyGrants};
use maxim_bus::signals::intent::{ApprovalDecided, DecisionTaken, Intent, IntentPermitted, IntentRefused, Refusal};
use maxim_bus::signals::introspection::{ForeseeVerdict, VerdictForeseen};
use maxim_bus::signals::layers::HurtRecalled;
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outcome::{ExecutionStarted, OutcomeDoubted, ToolResult};
use maxim_bus::signals::program_files::{FixPrograms, Fixed, ProgramsFixed, ProgramsRead, ReadPrograms};
use maxim_bus::signals::recall::{
    OutcomesPredicted, PredictOutcomes, PredictionErrorSensed, ReportStats, StatsReported,
};
use maxim_bus::signals::thought::{ModelCall, ModelReply};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::consent::{AnswerCounts, AnswerKind};
use super::fears::FearChange;
use super::grants::Grant;
use super::law::FearLaw;
use super::reading::{Files, Wait};
use super::refusals::Refusals;
use super::review::{ReviewEvent, ReviewSettings, Reviews};
use super::walls::Walls;
use super::{Mode, Setting};
use crate::ClearedIntent;
use crate::cleared_intent::Terms;
use maxim_region::wiring;
use maxim_region::{Gather, Hears, Pulse, Region};
use maxim_tools::{Imagined, OwnFiles};

/// A clearance is void after this.
const CLEARANCE: SignedDuration = SignedDuration::from_secs(60);
/// A clearance that nobody took is issued again after this.
const REISSUE: SignedDuration = SignedDuration::from_secs(2);
/// The FearAgent's settings.
#[derive(Clone, Debug)]
pub struct FearSettings {
    pub mode: Mode,
    pub workdir: PathBuf,
    pub home: PathBuf,
    /// Files that no tool may change, in any mode and with anybody's consent.
    pub own: Arc<OwnFiles>,
    pub law: FearLaw,
    /// Tools whose effect can't be taken back: these get no trial.
    pub irreversible: BTreeSet<String>,
    /// Foreign programs installed as tools that change something. Their effect isn't known, so they are asked about.
    pub foreign: BTreeSet<String>,
    /// The widest reach of the hands. What they refuse in any case isn't asked about.
    pub walls: Walls,
    /// By tool: digest of the server's description. A grant holds only for the description at which it was given.
    pub offers: BTreeMap<String, String>,
    /// Who is asked about what the rules can't tell; none without a model.
    pub review: Option<ReviewSettings>,
    /// Identifies this run of the process.
    pub boot: u64,
    /// The time zone of the hours.
    pub zone: TimeZone,
    /// Clears everything. Only an imagining agent can have this; its tools do nothing.
    pub fearless: Option<Imagined>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FearAgent {
    /// Tools with a bad experience, by name. Experience is asked about these only.
    pub(super) hurtful: BTreeSet<String>,
    /// When each tool last hurt.
    pub(super) hurt_at: BTreeMap<String, Timestamp>,
    /// Tools about which a person always wants to be asked.
    pub(super) pinned: BTreeSet<String>,
    pub(super) asked: BTreeMap<MessageId, Timestamp>,
    pub(super) predicting: BTreeMap<MessageId, Timestamp>,
    pub(super) cleared: BTreeMap<MessageId, Clearance>,
    /// What a person allowed for good, by its id.
    #[serde(default)]
    pub(super) grants: BTreeMap<String, Grant>,
    /// By question: wrong codes tried while it was open.
    #[serde(default)]
    pub(super) guesses: BTreeMap<MessageId, u32>,
    /// Intents that wait for the program reader.
    #[serde(default)]
    pub(super) waits: BTreeMap<MessageId, Wait>,
    pub(super) stopped: bool,
    pub(super) counts: AnswerCounts,
    counsels: Counsels,
    pub(super) reviews: Reviews,
    /// Recent refusals.
    pub(super) refusals: Refusals,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clearance {
    expires: Timestamp,
    reissue: Timestamp,
}

/// What an intent in the gate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// The rules, which are at work. No record has it.
    Judging,
    /// The files that it would run, to be read.
    Reading,
    /// The same files, to be compared with what was read.
    Checking,
    /// A person.
    Asked,
    /// A model that reviews it.
    Reviewing,
    /// What experience expects.
    Predicting,
    /// To be begun.
    Cleared,
}

/// An intent that waits in the gate, as a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GateEntry {
    pub intent: Intent,
    pub id: MessageId,
    pub trust: Trust,
    pub rule: String,
    pub reason: String,
    pub status: GateStatus,
    pub expires: Timestamp,
    /// The rooms that know how such actions went, while they are asked.
    #[serde(default)]
    pub gather: Gather<String>,
    /// What experience expects of it, once it has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<OutcomesPredicted>,
    /// How often similar contexts went wrong, once the bridge has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<ContextAssessed>,
    /// The conditions under which it is carried out.
    pub terms: Terms,
    /// Every reason for asking that isn't answered yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<super::granting::Asked>,
    /// The grants that let it pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// What an "always" would cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<AlwaysOffer>,
    /// What a yes for any arguments would cover; `None` if no such yes is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_arguments: Option<String>,
    /// The files that it would run.
    #[serde(default)]
    pub files: Files,
    /// The id of the open question, if it was asked anew. The first question has the id of the intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<MessageId>,
    /// Earlier questions about this intent. An answer to one of them decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<MessageId>,
}

impl GateEntry {
    /// The id of its question.
    pub fn approval(&self) -> MessageId {
        self.question.unwrap_or(self.id)
    }

    /// Gives it a question with a new id and another code. An answer to the question before decides nothing anymore.
    pub(super) fn renew_question(&mut self, mut fresh_id: impl FnMut() -> MessageId) {
        let before = self.approval();
        self.replaced.push(before);
        let question = loop {
            let id = fresh_id();
            if self.replaced.iter().all(|old| code_of(*old) != code_of(id)) {
                break id;
            }
        };
        self.question = Some(question);
    }

    /// The tool's name as the caller used it.
    pub(super) fn called(&self) -> String {
        self.terms.called.clone().unwrap_or_else(|| self.intent.tool.clone())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FearEvent {
    Hurt {
        tool: String,
        at: Option<Timestamp>,
    },
    /// A person deleted everything that says that it hurt.
    Unlearned {
        tool: String,
    },
    Asked {
        id: MessageId,
        expires: Timestamp,
    },
    Predicting {
        id: MessageId,
        due: Timestamp,
    },
    Cleared {
        id: MessageId,
        expires: Timestamp,
        reissue: Timestamp,
    },
    Closed {
        id: MessageId,
    },
    /// The program reader was asked.
    Waits {
        id: MessageId,
        wait: Wait,
    },
    /// The reader answered, or the wait was given up.
    Waited {
        id: MessageId,
    },
    Granted {
        id: String,
        grant: Box<Grant>,
    },
    GrantUsed {
        id: String,
        at: Timestamp,
    },
    Revoked {
        id: String,
    },
    /// Somebody tried a code that names no question while these were open.
    Guessed {
        open: Vec<MessageId>,
    },
    Stopped(bool),
    Counselled(EscalationCounselled),
    Review(ReviewEvent),
    /// A person's answer was taken or rejected.
    Answered(AnswerKind),
    /// A person pinned or forgave a fear.
    Changed(FearChange),
    /// The rules or a person refused it for good.
    Refused {
        tool: String,
        rule: String,
        reason: String,
        at: Timestamp,
    },
}

wiring!(FearAgent {
    hears: [
        IntentPermitted,
        ApprovalDecided,
        AnswerApproval,
        PreemptionChanged,
        OutcomesPredicted,
        ContextAssessed,
        ForeseeVerdict,
        SurveyFears,
        SurveyGrants,
        RecallFears,
        ModelReply,
        EnergyChanged,
        ReportStats,
        ProgramsRead,
        ProgramsFixed,
    ],
    back: [PredictionErrorSensed, HurtRecalled, ExecutionStarted, ToolResult, OutcomeDoubted, EscalationCounselled],
    emits: [
        ClearedIntent,
        IntentRefused,
        PredictOutcomes,
        AssessContext,
        ApprovalEnded,
        ApprovalAnswered,
        VerdictForeseen,
        FearsSurveyed,
        GrantsSurveyed,
        DecisionTaken,
        FearsRecalled,
        ModelCall,
        StatsReported,
        ReadPrograms,
        FixPrograms,
    ],
});

impl Region for FearAgent {
    const NAME: RegionName = rooms::FEAR_AGENT;
    const STAGE: Stage = Stage::Gate;
    type Event = FearEvent;
    type Settings = FearSettings;

    fn apply(&mut self, event: FearEvent) {
        match event {
            FearEvent::Hurt { tool, at } => {
                self.hurt_at.extend(at.map(|at| (tool.clone(), at)));
                self.hurtful.insert(tool);
            }
            FearEvent::Unlearned { tool } => {
                self.hurtful.remove(&tool);
                self.hurt_at.remove(&tool);
            }
            FearEvent::Asked { id, expires } => {
                self.predicting.remove(&id);
                self.reviews.close(id);
                self.asked.insert(id, expires);
            }
            FearEvent::Predicting { id, due } => {
                self.reviews.close(id);
                self.predicting.insert(id, due);
            }
            FearEvent::Cleared { id, expires, reissue } => {
                self.predicting.remove(&id);
                self.asked.remove(&id);
                self.guesses.remove(&id);
                self.reviews.close(id);
                self.cleared.insert(id, Clearance { expires, reissue });
            }
            FearEvent::Waits { id, wait } => {
                self.predicting.remove(&id);
                self.asked.remove(&id);
                self.reviews.close(id);
                self.waits.insert(id, wait);
            }
            FearEvent::Waited { id } => drop(self.waits.remove(&id)),
            FearEvent::Closed { id } => {
                self.waits.remove(&id);
                self.predicting.remove(&id);
                self.asked.remove(&id);
                self.guesses.remove(&id);
                self.cleared.remove(&id);
                self.reviews.close(id);
            }
            FearEvent::Granted { id, grant } => {
                self.grants.insert(id, *grant);
            }
            FearEvent::GrantUsed { id, at } => self.note_use(&id, at),
            FearEvent::Revoked { id } => self.lose_grant(&id),
            FearEvent::Guessed { open } => {
                for id in open {
                    *self.guesses.entry(id).or_insert(0) += 1;
                }
            }
            FearEvent::Stopped(stopped) => self.stopped = stopped,
            FearEvent::Counselled(told) => self.counsels.learn(&told),
            FearEvent::Review(event) => self.reviews.apply(event),
            FearEvent::Answered(kind) => self.counts.count(kind),
            FearEvent::Changed(change) => self.change_fear(change),
            FearEvent::Refused { tool, rule, reason, at } => self.refusals.note(tool, rule, reason, at),
        }
    }

    fn next_deadline(&self, settings: &FearSettings) -> Option<Timestamp> {
        let cleared = self.cleared.values().map(|clearance| clearance.reissue.min(clearance.expires));
        let read = self.waits.values().map(|wait| wait.due);
        let waiting = self.asked.values().chain(self.predicting.values()).copied().chain(read);
        waiting.chain(self.reviews.next_due(settings.boot)).chain(cleared).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for id in self.asked.iter().filter(|(_, expires)| **expires <= now).map(|(id, _)| *id) {
            self.answered(id, ApprovalEnd::Expired, pulse);
            self.refuse(id, Refusal::Denied, "approval.expired", "nobody answered in time", pulse);
        }
        for id in self.predicting.iter().filter(|(_, due)| **due <= now).map(|(id, _)| *id) {
            match pulse.record::<GateEntry>(&record_key(id)) {
                Some(entry) if entry.predicted.is_some() => self.weigh(entry, pulse),
                Some(entry) => self.clear(entry, pulse),
                None => {}
            }
        }
        for (id, wait) in self.waits.iter().filter(|(_, wait)| wait.due <= now) {
            self.waited_in_vain(*id, *wait, pulse);
        }
        self.reviews_overdue(pulse);
        for (id, clearance) in &self.cleared {
            if clearance.expires <= now {
                self.refuse(*id, Refusal::Stopped, "clearance.expired", "it did not begin in time", pulse);
            } else if clearance.reissue <= now
                && let Some(entry) = pulse.record::<GateEntry>(&record_key(*id))
            {
                self.issue(&entry, clearance.expires, pulse);
            }
        }
    }
}

/// Records of waiting intents have this prefix.
pub const ENTRIES: &str = "gate/";

pub(super) fn record_key(id: MessageId) -> Vec<u8> {
    format!("{ENTRIES}{id}").into_bytes()
}

impl FearAgent {
    pub(super) fn ask(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        if entry.intent.unasked {
            let reason = format!("it would need a yes, and no person asked for it: {}", entry.reason);
            return self.refuse_at_once(&entry, "gate.unasked", reason, pulse);
        }
        let kind = goal_kind(&entry.intent.tool, entry.intent.goal.as_deref());
        let counsel = self.counsels.on(&kind, pulse.now(), &pulse.settings().zone);
        if counsel == Some(Counsel::Unanswered) && !entry.intent.commanded {
            let reason = format!("it would need a yes, and nobody answers at this hour: {}", entry.reason);
            return self.refuse_at_once(&entry, "escalation.nobody", reason, pulse);
        }
        entry.expires = pulse.now().later(pulse.settings().law.approval_expiry.signed());
        self.fix_and_ask(entry, pulse);
    }

    /// Asks a person; the question is open until the entry expires.
    pub(super) fn put_question(mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        entry.status = GateStatus::Asked;
        let GateEntry { id, expires, .. } = entry;
        let refused = refusal_of(&entry, Refusal::Asked, &entry.rule, entry.reason.clone());
        let always = entry.always.clone();
        let question = IntentRefused { approval: Some(entry.approval()), until: Some(expires), always, ..refused };
        pulse.put(record_key(id), &entry);
        pulse.keep(FearEvent::Asked { id, expires });
        pulse.emit_trusted(entry.intent.turn, entry.trust, question);
    }

    /// Refuses at once instead of asking.
    fn refuse_at_once(&self, entry: &GateEntry, rule: &str, reason: String, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(FearEvent::Closed { id: entry.id });
        pulse.remove(record_key(entry.id));
        let refused = refusal_of(entry, Refusal::Blocked, rule, reason);
        pulse.emit_trusted(entry.intent.turn, entry.trust, refused);
    }

    /// A question has ended. Its outcome teaches whether to ask again.
    pub(super) fn answered(&self, id: MessageId, end: ApprovalEnd, pulse: &mut Pulse<'_, Self>) {
        let entry = pulse.record::<GateEntry>(&record_key(id));
        if let Some(entry) = entry.filter(|entry| !entry.is_doubt()) {
            let asked_at = entry.expires.earlier(pulse.settings().law.approval_expiry.signed());
            let GateEntry { rule, intent, trust, .. } = entry;
            let ended = ApprovalEnded { intent: id, tool: intent.tool, goal: intent.goal, rule, asked_at, end };
            pulse.emit_trusted(intent.turn, trust, ended);
        }
    }

    pub(super) fn clear(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        let expires = pulse.now().later(CLEARANCE);
        entry.status = GateStatus::Cleared;
        entry.terms.sealed = entry.files.fixed.as_ref().map(Fixed::sealed);
        entry.expires = expires;
        pulse.put(record_key(entry.id), &entry);
        self.issue(&entry, expires, pulse);
    }

    fn issue(&self, entry: &GateEntry, expires: Timestamp, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(FearEvent::Cleared { id: entry.id, expires, reissue: pulse.now().later(REISSUE) });
        let (rule, reason) = (entry.rule.clone(), entry.reason.clone());
        let (intent, terms, expected) = (entry.intent.clone(), entry.terms.clone(), entry.predicted.clone());
        let cleared = ClearedIntent::issue(entry.id, intent, rule, reason, expires, terms, expected);
        pulse.emit_trusted(entry.intent.turn, entry.trust, cleared);
    }

    pub(super) fn refuse(
        &self,
        id: MessageId,
        refusal: Refusal,
        rule: &str,
        reason: &str,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let entry = pulse.record::<GateEntry>(&record_key(id));
        self.forget_read(id, pulse);
        pulse.keep(FearEvent::Closed { id });
        pulse.remove(record_key(id));
        if let Some(entry) = entry {
            let is_a_persons = refusal == Refusal::Denied && rule != "approval.guessed";
            if is_a_persons && !entry.is_doubt() {
                Self::remember_refusal(&entry, rule, reason, pulse);
            }
            let refused = refusal_of(&entry, refusal, rule, reason.into());
            pulse.emit_trusted(entry.intent.turn, entry.trust, refused);
        }
    }
}

impl FearAgent {
    /// Cleared intents that have not begun.
    pub(super) fn cleared_intents(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.cleared.keys().copied()
    }
}

impl FearSettings {
    /// The setting, limited to the agent's present powers.
    pub(super) fn setting_under(&self, powers: Option<&Powers>) -> Setting {
        let mut setting = self.setting();
        if let Some(powers) = powers {
            setting.mode = setting.mode.min(powers.mode);
            setting.workdir = powers.workdir.clone().unwrap_or(setting.workdir);
        }
        setting
    }

    pub(super) fn setting(&self) -> Setting {
        let Self { mode, workdir, home, own, .. } = self;
        Setting { mode: *mode, workdir: workdir.clone(), home: home.clone(), own: Arc::clone(own) }
    }
}

pub(super) fn refusal_of(entry: &GateEntry, refusal: Refusal, rule: &str, reason: String) -> IntentRefused {
    IntentRefused {
        intent: entry.id,
        turn: entry.intent.turn,
        tool: entry.called(),
        refusal,
        rule: rule.into(),
        reason,
        approval: None,
        until: None,
        always: None,
    }
}

impl Hears<EscalationCounselled> for FearAgent {
    fn hear(&self, told: &EscalationCounselled, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(FearEvent::Counselled(told.clone()));
    }
}

impl Hears<PreemptionChanged> for FearAgent {
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        match changed.request {
            PreemptionRequested::Stop(_) => {
                pulse.keep(FearEvent::Stopped(true));
                let waiting = self.cleared.keys().chain(self.predicting.keys()).chain(self.asked.keys());
                let waiting = waiting.chain(self.waits.keys());
                let waiting: Vec<MessageId> = waiting.copied().chain(self.reviews.intents()).collect();
                for id in waiting {
                    self.refuse(id, Refusal::Stopped, "stop.latched", "it was stopped before it began", pulse);
                }
            }
            PreemptionRequested::Reset { .. } => pulse.keep(FearEvent::Stopped(false)),
            _ => {}
        }
    }
}
