//! A yes or no to a question of the gate: it is passed to the gate, and its result is told.
//!
//! Law: yes and no are the words of small talk, besides "allow", "deny", "always" and the letters of an approval. The whole
//! utterance must be made of these. A bare yes is for the gate if the gate asked that person last. If something else was talked
//! about since, it is for any other open question, else it is asked back. The gate decides. The turn waits for the outcome of an
//! allowed act and tells it. If somebody else decides, or nobody in time, the person with the wish hears of it too: in the turn
//! of the question, on its channel.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use maxim_bus::signals::approval::{AnswerApproval, ApprovalAnswered, Consent, ConsentTaken, OpenQuestion, code_of};
use maxim_bus::signals::intent::{IntentRefused, OUTCOME_UNKNOWN, Refusal};
use maxim_bus::signals::outbox::is_outside;
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::percept::Percept;
use maxim_bus::{MessageId, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::plan::Plan;
use super::region::{Turns, TurnsEvent};
use super::turn::{Turn, Waiting, who};
use maxim_bus::rooms::RESPOND;
use maxim_region::{Hears, Pulse};
use maxim_speech::talk::consent::{is_a_word, read};
use maxim_speech::{Step, answer};

/// Time for the gate to take an answer.
pub(super) const GATE_ANSWERS: SignedDuration = SignedDuration::from_secs(10);
/// People whose questions are remembered.
const PEOPLE: usize = 256;

/// The people asked by the gate, and the turns that tell the outcome of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Questions {
    /// By `channel/person`: whether nothing else was talked about since.
    asked: BTreeMap<String, bool>,
    /// Allowed acts, each with the turn that tells its outcome.
    awaited: BTreeMap<MessageId, MessageId>,
    /// Acts that are asked about, or were allowed by somebody else, each with the wish behind it.
    #[serde(default)]
    wanted: BTreeMap<MessageId, Wish>,
}

/// A wish that the gate asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    turn: MessageId,
    channel: String,
    sender: String,
    trust: Trust,
    /// It may have been done already.
    #[serde(default)]
    again: bool,
}

/// Changes of the questions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum QuestionsEvent {
    Asked {
        who: String,
    },
    Left {
        who: String,
    },
    Closed {
        who: String,
    },
    Awaited {
        intent: MessageId,
        turn: MessageId,
    },
    Told {
        intent: MessageId,
    },
    Wanted {
        intent: MessageId,
        wanted: Wish,
    },
    /// The person knows the end of the wish, or needs no news of it.
    Known {
        intent: MessageId,
    },
}

/// The channel of the terminal that the brain was started on.
const TERMINAL: &str = "console";

impl Wish {
    /// Whether the speaker of this turn also reads the reply to the wish. All speakers on the console share one terminal.
    fn is_of(&self, turn: &Turn) -> bool {
        self.channel == turn.channel && (self.sender == turn.sender || turn.channel == TERMINAL)
    }

    fn turn(&self) -> Turn {
        Turn::new(self.turn, self.trust, &self.channel, &self.sender)
    }
}

impl Questions {
    pub(super) fn apply(&mut self, event: QuestionsEvent) {
        match event {
            QuestionsEvent::Asked { who } => {
                if self.asked.len() >= PEOPLE {
                    // At worst, the others are asked back.
                    self.asked.retain(|_, is_fresh| *is_fresh);
                }
                if self.asked.len() < PEOPLE {
                    self.asked.insert(who, true);
                }
            }
            QuestionsEvent::Left { who } => {
                self.asked.entry(who).and_modify(|is_fresh| *is_fresh = false);
            }
            QuestionsEvent::Closed { who } => {
                self.asked.remove(&who);
            }
            QuestionsEvent::Awaited { intent, turn } => {
                self.awaited.insert(intent, turn);
            }
            QuestionsEvent::Told { intent } => {
                self.awaited.remove(&intent);
            }
            QuestionsEvent::Wanted { intent, wanted } => {
                self.wanted.insert(intent, wanted);
                if self.wanted.len() > PEOPLE {
                    // Ids are in the order of time. The oldest has expired long ago.
                    self.wanted.pop_first();
                }
            }
            QuestionsEvent::Known { intent } => {
                self.wanted.remove(&intent);
            }
        }
    }

    /// Whether it is noted who has the wish.
    pub(super) fn is_wanted(&self, intent: MessageId) -> bool {
        self.wanted.contains_key(&intent)
    }

    /// Drops all that waits for this turn, because it is over.
    pub(super) fn forget_turn(&mut self, turn: MessageId) {
        self.awaited.retain(|_, waiting| *waiting != turn);
    }
}

fn step(question: &OpenQuestion) -> Step {
    step_of(question.tool.clone(), question.params.clone())
}

fn step_of(tool: String, params: Json) -> Step {
    Step {
        tool,
        params,
        certainty: maxim_bus::units::Confidence::clamped(1.0),
        pattern: String::new(),
        others: Vec::new(),
    }
}

impl Turns {
    /// Tells the gate the answer of a person who may not command. The person gets no reply.
    pub(super) fn note_answer(&self, percept: &Percept, pulse: &mut Pulse<'_, Self>) {
        let consent = read(&pulse.settings().grammar, &percept.content).filter(|consent| consent.code.is_some());
        let turn = pulse.turn();
        if let Some(answer) = consent.and_then(|consent| AnswerApproval::said(percept, turn, consent)) {
            pulse.ask(answer);
        }
    }

    /// Has the gate decide, if the utterance is an answer to it. Gives the turn back if it isn't.
    pub(super) fn answer_gate(&self, percept: &Percept, mut turn: Turn, pulse: &mut Pulse<'_, Self>) -> Option<Turn> {
        let who = who(&turn.channel, &turn.sender);
        let asked = self.questions.asked.get(&who).copied();
        let consent = read(&pulse.settings().grammar, &percept.content);
        let Some(consent) = consent.filter(|consent| consent.code.is_some() || asked.is_some()) else {
            if asked == Some(true) {
                pulse.keep(TurnsEvent::Questions(QuestionsEvent::Left { who }));
            }
            return Some(turn);
        };
        let is_fresh = asked == Some(true);
        let is_for_another = self.goals.asks(&who) || self.counsel.has_offer(&who);
        if consent.code.is_none() && !is_fresh && is_for_another {
            return Some(turn);
        }
        let waiting = Waiting::Gate { is_bare: consent.code.is_none(), is_a_word: is_a_word(&consent) };
        let Some(answer) = AnswerApproval::said(percept, turn.id, Consent { is_fresh, ..consent }) else {
            return Some(turn);
        };
        pulse.ask(answer);
        turn.waiting = Some(waiting);
        self.keep(&turn, pulse);
        None
    }

    /// Notes the gate's question about a step of this turn.
    pub(super) fn asked_by_gate(&self, turn: &Turn, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        let (intent, trust) = (refused.intent, turn.trust);
        let (channel, sender) = (turn.channel.clone(), turn.sender.clone());
        let who = who(&channel, &sender);
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Asked { who }));
        let wanted = Wish { turn: turn.id, channel, sender, trust, again: false };
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Wanted { intent, wanted }));
    }

    /// Notes the gate's question whether an act that may have been done is done again.
    pub(super) fn asked_again(&self, turn: &Turn, intent: MessageId, pulse: &mut Pulse<'_, Self>) {
        let (channel, sender) = (turn.channel.clone(), turn.sender.clone());
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Asked { who: who(&channel, &sender) }));
        let wanted = Wish { turn: turn.id, channel, sender, trust: turn.trust, again: true };
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Wanted { intent, wanted }));
    }

    fn is_about_again(&self, intent: MessageId) -> bool {
        self.questions.wanted.get(&intent).is_some_and(|wanted| wanted.again)
    }

    /// Something else was asked of that person, so a bare yes is for that.
    pub(super) fn asks_otherwise(&self, who: String, pulse: &mut Pulse<'_, Self>) {
        if self.questions.asked.contains_key(&who) {
            pulse.keep(TurnsEvent::Questions(QuestionsEvent::Left { who }));
        }
    }

    fn say_of_answer(&self, mut turn: Turn, words: String, thought: &str, pulse: &mut Pulse<'_, Self>) {
        turn.waiting = None;
        let plan = Plan { say: Some(words), thought: thought.into(), settled: true, ..Plan::default() };
        self.begin(turn, plan, pulse);
    }

    /// The gate's reply, or the outcome of an allowed act, didn't come in time.
    pub(super) fn without_gate(&self, turn: Turn, pulse: &mut Pulse<'_, Self>) {
        let words = match &turn.waiting {
            Some(Waiting::Outcome { tool, .. }) => {
                format!("{tool} is allowed; I don't know yet what came of it: maxim why.")
            }
            _ => "I can't tell whether your answer was taken; say it again, or look at: maxim approvals list.".into(),
        };
        self.say_of_answer(turn, words, "I was answered, and can't tell what came of it.", pulse);
    }

    /// An allowed act has ended: tells the person with the wish, and the turn that waits for it.
    pub(super) fn outcome_of_allowed(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let wanted = self.questions.wanted.get(&result.intent).map(Wish::turn);
        let answers = self.questions.awaited.get(&result.intent).and_then(|turn| self.turn(*turn, pulse));
        // The question whether to do it again is put once: to the person with the wish, else to the person who allowed it.
        let doubt = wanted.as_ref().or(answers.as_ref()).and_then(|turn| self.doubt_of(result, turn, pulse));
        let plain = answer::of_result(result);
        let words = doubt.unwrap_or_else(|| plain.clone());
        self.tell_who_wanted(result.intent, format!("What you wanted was allowed. {words}"), pulse);
        self.tell_outcome(result.intent, if wanted.is_some() { plain } else { words }, pulse);
    }

    /// An allowed act was refused after all.
    pub(super) fn refusal_of_allowed(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        match refused.refusal {
            Refusal::Denied if self.is_being_answered(refused.intent, pulse) => {}
            Refusal::Denied | Refusal::Blocked => {
                let again = if self.is_about_again(refused.intent) { " again" } else { "" };
                let words = format!("{} isn't done{again}: {}.", refused.tool, refused.reason);
                self.tell_who_wanted(refused.intent, words, pulse);
            }
            // The stop has told the person already.
            Refusal::Stopped if self.questions.wanted.contains_key(&refused.intent) => {
                pulse.keep(TurnsEvent::Questions(QuestionsEvent::Known { intent: refused.intent }));
            }
            Refusal::Asked if refused.rule != OUTCOME_UNKNOWN => self.asked_anew(refused, pulse),
            Refusal::Stopped | Refusal::Asked => {}
        }
        if refused.refusal != Refusal::Asked {
            let refusal = answer::Refusal {
                tool: refused.tool.clone(),
                rule: refused.rule.clone(),
                reason: refused.reason.clone(),
            };
            self.tell_outcome(refused.intent, answer::refused(&refusal), pulse);
        }
    }

    /// An allowed act is asked about anew, because its program changed. The turn that waits for its outcome tells the new
    /// question; without one, the person with the wish hears of it.
    fn asked_anew(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        let intent = refused.intent;
        let waiting = self.questions.awaited.get(&intent).and_then(|turn| self.turn(*turn, pulse));
        if let Some(turn) = waiting {
            let Some(Waiting::Outcome { tool, params, .. }) = turn.waiting.clone() else { return };
            pulse.keep(TurnsEvent::Questions(QuestionsEvent::Told { intent }));
            self.asked_by_gate(&turn, refused, pulse);
            let Some(words) = self.question_words(&turn, &step_of(tool, params), refused, pulse) else { return };
            return self.say_of_answer(turn, words, "What I was allowed has changed, so I ask anew.", pulse);
        }
        // The first question is told by the turn of the wish itself.
        let Some(wanted) = self.questions.wanted.get(&intent).filter(|_| self.turn(refused.turn, pulse).is_none())
        else {
            return;
        };
        let Some(approval) = refused.approval else { return };
        let (turn, code) = (wanted.turn(), code_of(approval));
        let message = format!(
            "{} was allowed and isn't done: {}. Answer “yes {code}” or “no {code}”.",
            refused.tool, refused.reason
        );
        let words = self.intent(&turn, RESPOND, json!({ "message": message }));
        pulse.emit_trusted(turn.id, turn.trust, words);
    }

    /// The gate's question as it is told in this turn.
    pub(super) fn question_words(
        &self,
        turn: &Turn,
        step: &Step,
        refused: &IntentRefused,
        pulse: &Pulse<'_, Self>,
    ) -> Option<String> {
        let approval = refused.approval?;
        let until = refused.until.map(|until| until.to_zoned(pulse.settings().zone.clone()));
        let question = answer::Question {
            code: code_of(approval),
            id: (!is_outside(&turn.channel)).then(|| approval.to_string()),
            until: until.map(|until| until.strftime("%H:%M (UTC%:z)").to_string()),
            always: refused.always.clone(),
        };
        Some(answer::approval_needed(step, &refused.reason, &question))
    }

    /// Whether the person with the wish is saying no right now. The turn of that answer tells the result.
    fn is_being_answered(&self, intent: MessageId, pulse: &Pulse<'_, Self>) -> bool {
        let Some(wanted) = self.questions.wanted.get(&intent) else { return false };
        let answers = |turn: &Turn| matches!(turn.waiting, Some(Waiting::Gate { .. })) && wanted.is_of(turn);
        self.turns.keys().filter_map(|id| self.turn(*id, pulse)).any(|turn| answers(&turn))
    }

    /// Tells the person with the wish how it ended, if somebody else decided it or nobody did. Through the gate, like all words.
    fn tell_who_wanted(&self, intent: MessageId, message: String, pulse: &mut Pulse<'_, Self>) {
        let Some(wanted) = self.questions.wanted.get(&intent) else { return };
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Known { intent }));
        let turn = wanted.turn();
        let words = self.intent(&turn, RESPOND, json!({ "message": message }));
        pulse.emit_trusted(turn.id, turn.trust, words);
    }

    fn tell_outcome(&self, intent: MessageId, words: String, pulse: &mut Pulse<'_, Self>) {
        let Some(waiting) = self.questions.awaited.get(&intent) else { return };
        pulse.keep(TurnsEvent::Questions(QuestionsEvent::Told { intent }));
        if let Some(turn) = self.turn(*waiting, pulse) {
            self.say_of_answer(turn, words, "What I was allowed has ended; I tell what came of it.", pulse);
        }
    }
}

impl Hears<ApprovalAnswered> for Turns {
    fn hear(&self, answered: &ApprovalAnswered, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(answered.turn, pulse) else { return };
        let Some(Waiting::Gate { is_bare, is_a_word }) = turn.waiting else { return };
        let who = who(&turn.channel, &turn.sender);
        let close = |pulse: &mut Pulse<'_, Self>| {
            let event = match answered.is_more {
                true => QuestionsEvent::Left { who },
                false => QuestionsEvent::Closed { who },
            };
            pulse.keep(TurnsEvent::Questions(event));
        };
        match &answered.taken {
            ConsentTaken::Allowed { question, granted } => {
                close(pulse);
                turn.said.extend(granted.iter().map(|words| format!("{words}.")));
                let (intent, id) = (question.intent, turn.id);
                if self.questions.wanted.get(&intent).is_some_and(|wanted| wanted.is_of(&turn)) {
                    pulse.keep(TurnsEvent::Questions(QuestionsEvent::Known { intent }));
                }
                pulse.keep(TurnsEvent::Questions(QuestionsEvent::Awaited { intent, turn: id }));
                turn.waiting =
                    Some(Waiting::Outcome { intent, tool: question.tool.clone(), params: question.params.clone() });
                self.keep(&turn, pulse);
            }
            ConsentTaken::Denied { question } => {
                close(pulse);
                if self.questions.wanted.contains_key(&question.intent) {
                    pulse.keep(TurnsEvent::Questions(QuestionsEvent::Known { intent: question.intent }));
                }
                let again = self.is_about_again(question.intent);
                let words = answer::denied(&step(question), again);
                self.say_of_answer(turn, words, "I was told no, so I leave it.", pulse);
            }
            ConsentTaken::Which { open } => {
                let open: Vec<(String, Step)> = open.iter().map(|one| (one.code.clone(), step(one))).collect();
                self.say_of_answer(turn, answer::which(&open), "It isn't clear what the answer is for; I ask.", pulse);
            }
            ConsentTaken::Replaced { question, why } => {
                let code = &question.code;
                let words = format!(
                    "That question was replaced, so I do nothing: {why}. The new question waits for “yes {code}” or “no {code}”."
                );
                self.say_of_answer(turn, words, "A question was answered that I have asked anew.", pulse);
            }
            ConsentTaken::NotTheirs => {
                let words = "That isn't yours to decide: it was asked elsewhere. It still waits.".to_owned();
                self.say_of_answer(turn, words, "Somebody answered who doesn't decide this.", pulse);
            }
            ConsentTaken::Nothing if is_bare => {
                close(pulse);
                let words = "What I asked has been answered or has expired, so I do nothing. Say again what you want.";
                self.say_of_answer(turn, words.into(), "I was answered too late, or again.", pulse);
            }
            ConsentTaken::Nothing if is_a_word => self.without_bridge(turn, pulse),
            ConsentTaken::Nothing => {
                let words = "Nothing is asked by that name: it has been answered, has expired, or is misspelt.";
                self.say_of_answer(turn, words.into(), "I was answered what I haven't asked.", pulse);
            }
        }
    }
}
