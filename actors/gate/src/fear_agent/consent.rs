//! A person's yes or no to a question of the gate, from any channel.
//!
//! Law: the owner decides everything. A sender who may command on a channel decides what was asked on that channel.
//! Nobody else decides; their attempt is counted and reported. A bare yes answers the last question of its
//! conversation. If it may mean another question, the gate asks which. A question that is asked anew, because the program
//! changed, has a new id and takes no bare yes. A code is the end of a question's random id. A
//! wrong code counts against every question that its author could have decided; too many wrong codes close the
//! question.

use maxim_bus::MessageId;
use maxim_bus::Trust;
use maxim_bus::signals::approval::{
    AnswerApproval, ApprovalAnswered, ConsentTaken, OpenQuestion, code_of, is_called, longer_code_of,
};
use maxim_bus::signals::bridges::ApprovalEnd;
use maxim_bus::signals::grants::GrantReach;
use maxim_bus::signals::intent::{ApprovalDecided, DecisionTaken, Refusal};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use serde::{Deserialize, Serialize};

use super::region::{FearAgent, FearEvent, GateEntry, record_key};
use maxim_region::{Hears, Pulse, Region};

/// Questions listed for a person who must say which one, at most.
const LISTED: usize = 8;
/// Wrong codes that close a question. A code has four letters of sixteen, so ten tries hit it once in some 6 500
/// questions.
const GUESSES: u32 = 10;

/// What happened to an answer, for the counts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum AnswerKind {
    Allowed,
    Denied,
    NotTheirs,
}

/// Answers since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnswerCounts {
    allowed: u64,
    denied: u64,
    not_theirs: u64,
}

impl AnswerCounts {
    pub fn count(&mut self, kind: AnswerKind) {
        let counter = match kind {
            AnswerKind::Allowed => &mut self.allowed,
            AnswerKind::Denied => &mut self.denied,
            AnswerKind::NotTheirs => &mut self.not_theirs,
        };
        *counter += 1;
    }
}

/// Whether the author may decide a question that was asked on `channel`.
fn may_decide(answer: &AnswerApproval, trust: Trust, channel: &str) -> bool {
    match answer.trust.min(trust) {
        Trust::Owner => true,
        Trust::Listed => answer.channel == channel,
        // `Own`: the brain's own word isn't a person's word.
        Trust::Own | Trust::Sensor | Trust::Outside => false,
    }
}

/// What an answer to the question before gets.
fn told_replaced(entry: &GateEntry) -> String {
    let (approval, reason) = (entry.approval(), &entry.reason);
    format!("this question was replaced by {} ({approval}): {reason}", code_of(approval))
}

/// Gives each question a code with enough letters to differ from the others.
fn told_apart(entries: Vec<GateEntry>) -> Vec<OpenQuestion> {
    let ids: Vec<MessageId> = entries.iter().map(GateEntry::approval).collect();
    let distinct = |letters: usize| {
        let mut codes: Vec<String> = ids.iter().map(|id| longer_code_of(*id, letters)).collect();
        codes.sort_unstable();
        codes.windows(2).all(|pair| pair[0] != pair[1])
    };
    let letters = (code_of(MessageId::from_parts(0, 0)).len()..=32).find(|letters| distinct(*letters)).unwrap_or(32);
    let question = |entry: GateEntry| OpenQuestion {
        approval: entry.approval(),
        intent: entry.id,
        code: longer_code_of(entry.approval(), letters),
        tool: entry.intent.tool,
        params: entry.intent.params,
    };
    entries.into_iter().take(LISTED).map(question).collect()
}

impl FearAgent {
    /// Carries out the decision of somebody who may decide this open question.
    fn decide(&self, mut entry: GateEntry, allow: bool, by: &str, pulse: &mut Pulse<'_, Self>) {
        let id = entry.id;
        self.answered(id, if allow { ApprovalEnd::Allowed } else { ApprovalEnd::Denied }, pulse);
        pulse.keep(FearEvent::Answered(if allow { AnswerKind::Allowed } else { AnswerKind::Denied }));
        if !allow {
            self.refuse(id, Refusal::Denied, "approval.denied", &format!("{by} said no"), pulse);
            return;
        }
        entry.rule = format!("approved: {}", entry.rule);
        entry.reason = format!("{by} allowed it");
        if self.stopped {
            self.refuse(id, Refusal::Stopped, "stop.latched", "the brain is stopped", pulse);
        } else {
            self.clear_if_unchanged(entry, pulse);
        }
    }

    /// Open questions that haven't expired, oldest first.
    fn open_questions(&self, pulse: &Pulse<'_, Self>) -> Vec<GateEntry> {
        let now = pulse.now();
        let open = self.asked.iter().filter(|(_, expires)| **expires > now);
        open.filter_map(|(id, _)| pulse.record::<GateEntry>(&record_key(*id))).collect()
    }

    /// The open question with this id.
    fn open_question(&self, approval: MessageId, pulse: &Pulse<'_, Self>) -> Option<GateEntry> {
        let entries = self.asked.keys().filter_map(|id| pulse.record::<GateEntry>(&record_key(*id)));
        entries.into_iter().find(|entry| entry.approval() == approval)
    }

    /// The open question that replaced the one with this code.
    fn replacement_of(&self, code: &str, pulse: &Pulse<'_, Self>) -> Option<GateEntry> {
        let mut open = self.open_questions(pulse).into_iter();
        open.find(|entry| entry.replaced.iter().any(|before| is_called(*before, code)))
    }

    /// A code named no question. It counts against each open question that its author could have decided.
    fn count_guess(&self, answer: &AnswerApproval, trust: Trust, pulse: &mut Pulse<'_, Self>) {
        let mut open = self.open_questions(pulse);
        open.retain(|entry| may_decide(answer, trust, &entry.intent.channel));
        if open.is_empty() {
            return;
        }
        let (channel, sender) = (&answer.channel, &answer.sender);
        tracing::warn!(channel, sender, "a code was given that names no question");
        pulse.keep(FearEvent::Guessed { open: open.iter().map(|entry| entry.id).collect() });
        for entry in open {
            if self.guesses.get(&entry.id).copied().unwrap_or(0) + 1 >= GUESSES {
                self.answered(entry.id, ApprovalEnd::Expired, pulse);
                let reason = format!("{GUESSES} wrong codes were tried for it; say again what you want");
                self.refuse(entry.id, Refusal::Denied, "approval.guessed", &reason, pulse);
            }
        }
    }

    fn take(&self, answer: &AnswerApproval, pulse: &mut Pulse<'_, Self>) -> ConsentTaken {
        let trust = pulse.trust();
        let consent = &answer.consent;
        let is_meant = |entry: &GateEntry| match &consent.code {
            Some(letters) => is_called(entry.approval(), letters),
            None => entry.intent.channel == answer.channel && entry.intent.recipient == answer.sender,
        };
        let meant: Vec<GateEntry> = self.open_questions(pulse).into_iter().filter(is_meant).collect();
        let is_somebodys = !meant.is_empty();
        let mut theirs: Vec<GateEntry> =
            meant.into_iter().filter(|entry| may_decide(answer, trust, &entry.intent.channel)).collect();
        // A bare yes may be the same yes once more, so it doesn't answer a question that was asked anew.
        let is_new = theirs.first().is_none_or(|entry| entry.replaced.is_empty());
        let is_sure = consent.code.is_some() || (consent.is_fresh && (is_new || !consent.agrees));
        match theirs.len() {
            0 if is_somebodys => {
                let (channel, sender) = (&answer.channel, &answer.sender);
                tracing::warn!(channel, sender, "somebody who may not decide tried to answer a question of the gate");
                pulse.keep(FearEvent::Answered(AnswerKind::NotTheirs));
                ConsentTaken::NotTheirs
            }
            0 => {
                if let Some(entry) = consent.code.as_ref().and_then(|code| self.replacement_of(code, pulse))
                    && may_decide(answer, trust, &entry.intent.channel)
                {
                    let why = entry.reason.clone();
                    return ConsentTaken::Replaced { question: told_apart(vec![entry]).remove(0), why };
                }
                if consent.code.is_some() {
                    self.count_guess(answer, trust, pulse);
                }
                ConsentTaken::Nothing
            }
            1 if is_sure => {
                let entry = theirs.remove(0);
                let question = told_apart(vec![entry.clone()]).remove(0);
                let by = format!("{} on {}", answer.sender, answer.channel);
                let mut granted = None;
                // An action that may already be done is asked about each time.
                if consent.agrees && consent.always && !entry.is_doubt() {
                    // A sender who commands on this channel only allows it for this channel only.
                    let is_owner = answer.trust.min(trust) >= Trust::Owner;
                    let channel = (!is_owner).then(|| entry.intent.channel.clone());
                    granted = Some(match self.give(&entry, &GrantReach::Call, (&by, channel), pulse) {
                        Ok(words) => format!("Allowed for good: {words}"),
                        Err(why) => format!("Allowed only this once: {why}"),
                    });
                }
                self.decide(entry, consent.agrees, &by, pulse);
                match consent.agrees {
                    true => ConsentTaken::Allowed { question, granted },
                    false => ConsentTaken::Denied { question },
                }
            }
            _ => ConsentTaken::Which { open: told_apart(theirs) },
        }
    }
}

impl Hears<ApprovalDecided> for FearAgent {
    fn hear(&self, decided: &ApprovalDecided, pulse: &mut Pulse<'_, Self>) {
        // Decisions come through the HTTP door, which gives them the owner's trust.
        if pulse.trust() < Trust::Owner {
            tracing::warn!(
                by = decided.by,
                "someone who is not the owner tried to answer a question of the gate; refused"
            );
            pulse.keep(FearEvent::Answered(AnswerKind::NotTheirs));
            return;
        }
        let approval = decided.approval;
        let Some(entry) = self.open_question(approval, pulse) else {
            let replaced = self.open_questions(pulse).into_iter().find(|entry| entry.replaced.contains(&approval));
            let refused = replaced.map(|entry| told_replaced(&entry));
            pulse.reply(DecisionTaken { approval, taken: false, refused, granted: None });
            return;
        };
        let wanted = (decided.allow && decided.always && !entry.is_doubt()).then_some(&decided.reach);
        let granted = wanted.map(|reach| self.give(&entry, reach, (&decided.by, None), pulse)).transpose();
        let granted = match granted {
            Ok(granted) => granted,
            // A failed "always" isn't turned into a single yes. A person who wants that says so.
            Err(why) => {
                pulse.reply(DecisionTaken { approval, taken: false, refused: Some(why), granted: None });
                return;
            }
        };
        self.decide(entry, decided.allow, &decided.by, pulse);
        pulse.reply(DecisionTaken { approval, taken: true, refused: None, granted });
    }
}

impl Hears<AnswerApproval> for FearAgent {
    fn hear(&self, answer: &AnswerApproval, pulse: &mut Pulse<'_, Self>) {
        let taken = self.take(answer, pulse);
        let ended = match &taken {
            ConsentTaken::Allowed { question, .. } | ConsentTaken::Denied { question } => Some(question.intent),
            _ => None,
        };
        let is_theirs =
            |entry: &GateEntry| entry.intent.channel == answer.channel && entry.intent.recipient == answer.sender;
        let open = self.open_questions(pulse);
        let is_more = open.iter().any(|entry| is_theirs(entry) && Some(entry.id) != ended);
        pulse.reply(ApprovalAnswered { turn: answer.turn, taken, is_more });
    }
}

impl Hears<ReportStats> for FearAgent {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let AnswerCounts { allowed, denied, not_theirs } = self.counts;
        let counts = serde_json::json!({
            "asked": self.asked.len(),
            "grants": self.grants.len(),
            "answers": {"allowed": allowed, "denied": denied, "refused": not_theirs},
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
