//! The room of turns: owns each turn from the enriched percept to its end. On the bus it is called `habit`.
//!
//! Biology: habits of the dorsal striatum.
//! Law: a request becomes steps. Each step goes through the gate, or through the introspection door if it is a question about
//! the brain. Their results are worded into one reply, which the `respond` tool speaks. With a model, all but clear commands are
//! handed to the model first, and the results of its acts go back to it (`delegation.rs`). For an unclear request, the plan that
//! worked for such a goal is offered, and done when the person says yes. Where memory knows no place, the usual one is told.
//! People who find confirmations unwelcome get them in one word.
//! A bridge has 300 ms to answer. While the room is held or a goal is suspended, no further step of the turn is begun. It
//! resumes later (`goals.rs`).
//! Remembers: open turns, as records; offers and manners. Forgets: ended turns; an offer after five minutes.
//! Down: enriched percepts wait; nothing is proposed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::acting::{ActChosen, OpportunitySensed};
use maxim_bus::signals::approval::{AnswerApproval, ApprovalAnswered};
use maxim_bus::signals::bridges::{
    EnergyChanged, LocateUsually, MannerLearned, PlanTried, PlansProposed, ProposePlans, UsuallyLocated,
};
use maxim_bus::signals::goal::{GoalChanged, GoalWished};
use maxim_bus::signals::intent::{Intent, IntentRefused};
use maxim_bus::signals::introspection::{ForeseeVerdict, VerdictForeseen};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outcome::{OutcomeDoubted, ToolResult};
use maxim_bus::signals::recall::{EnrichedPercept, Inquiry, InquiryAnswered, OutcomesPredicted, PredictOutcomes};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::skill::{MotorProgram, ProgramForgotten, ProgramLearned};
use maxim_bus::signals::sleep::{SleepEnded, SleepEntered};
use maxim_bus::signals::thought::{Deliberate, Mind, ModelProposal, SurveyTurns, Thought, TurnEnded, TurnsSurveyed};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::consent::{GATE_ANSWERS, Questions, QuestionsEvent};
use super::counsel::{Counsel, Offer};
use super::goals::KnownGoals;
use super::plan::Plan;
use super::programs::Programs;
use super::settings::TurnsSettings;
use super::turn::{DECIDED, Turn, Waiting, who};
use crate::initiative::{Acting, ActingEvent};
use crate::recollection::StepWanted;
use crate::recollection::grounds::{Ground, Grounds};
use crate::recollection::recent_deeds::{RecentDeed, RecentDeeds};
use maxim_bus::rooms::RESPOND;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// A turn without news for this long ends with what it has. Longer than any tool's deadline.
const PATIENCE: SignedDuration = SignedDuration::from_mins(8);
/// Longest time that a held turn or a suspended goal waits.
const LAID_ASIDE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Time for a bridge to answer.
const BRIDGE: SignedDuration = SignedDuration::from_millis(300);
/// Alternatives that are kept with an act, at most.
const ALTERNATIVES: usize = 5;

#[derive(Default, Serialize, Deserialize)]
pub struct Turns {
    /// Open turns, each with the time at which it is given up.
    pub(super) turns: BTreeMap<MessageId, Timestamp>,
    /// Practised sequences that are one step.
    #[serde(default)]
    pub(super) programs: Programs,
    #[serde(default)]
    pub(super) counsel: Counsel,
    /// While it is set, nothing is proposed.
    #[serde(default)]
    pub(super) held: bool,
    /// The active goal, and suspended ones.
    #[serde(default)]
    pub(super) goals: KnownGoals,
    /// Open questions of the gate.
    #[serde(default)]
    pub(super) questions: Questions,
    /// State of unasked acts.
    #[serde(default)]
    pub(super) acting: Acting,
    /// A model's latest acts, with its reasons.
    #[serde(default)]
    pub(super) recent: RecentDeeds,
    /// Grounds of the last answers.
    #[serde(default)]
    pub(super) grounds: Grounds,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TurnsEvent {
    Touched { turn: MessageId, due: Timestamp },
    Ended { turn: MessageId },
    Learned { program: Box<MotorProgram>, offered: bool },
    Told { name: String },
    Forgot { name: String },
    Offered { who: String, offer: Offer },
    OfferClosed { who: String },
    Manner(MannerLearned),
    Held(bool),
    Goals(KnownGoals),
    Questions(QuestionsEvent),
    Acting(ActingEvent),
    Did(Box<RecentDeed>),
    Grounded { who: String, grounds: Vec<Ground> },
}

wiring!(Turns {
    hears: [
        EnrichedPercept,
        ModelProposal,
        InquiryAnswered,
        PreemptionChanged,
        PlansProposed,
        UsuallyLocated,
        GoalChanged,
        ApprovalAnswered,
        SceneNoticed,
        OutcomesPredicted,
        VerdictForeseen,
        EnergyChanged,
        SleepEntered,
        SleepEnded,
        SurveyTurns,
    ],
    back: [ToolResult, OutcomeDoubted, IntentRefused, ProgramLearned, ProgramForgotten, MannerLearned],
    emits: [
        Thought,
        Intent,
        Inquiry,
        Deliberate,
        TurnEnded,
        ProposePlans,
        LocateUsually,
        PlanTried,
        GoalWished,
        AnswerApproval,
        PredictOutcomes,
        ForeseeVerdict,
        OpportunitySensed,
        ActChosen,
        TurnsSurveyed,
    ],
});

impl Region for Turns {
    const NAME: RegionName = rooms::HABIT;
    const STAGE: Stage = Stage::Deliberation;
    type Event = TurnsEvent;
    type Settings = TurnsSettings;

    fn apply(&mut self, event: TurnsEvent) {
        match event {
            TurnsEvent::Touched { turn, due } => {
                self.turns.insert(turn, due);
            }
            TurnsEvent::Ended { turn } => {
                self.turns.remove(&turn);
                self.questions.forget_turn(turn);
            }
            TurnsEvent::Learned { program, offered } => self.programs.learn(*program, offered),
            TurnsEvent::Told { name } => self.programs.tell(&name),
            TurnsEvent::Forgot { name } => self.programs.forget(&name),
            TurnsEvent::Offered { who, offer } => self.counsel.offer(who, offer),
            TurnsEvent::OfferClosed { who } => self.counsel.close(&who),
            TurnsEvent::Manner(manner) => self.counsel.learn(manner),
            TurnsEvent::Held(held) => self.held = held,
            TurnsEvent::Goals(goals) => self.goals = goals,
            TurnsEvent::Questions(event) => self.questions.apply(event),
            TurnsEvent::Acting(event) => self.acting.apply(event),
            TurnsEvent::Did(deed) => self.recent.keep(*deed),
            TurnsEvent::Grounded { who, grounds } => self.grounds.keep(who, grounds),
        }
    }

    fn next_deadline(&self, _settings: &TurnsSettings) -> Option<Timestamp> {
        self.turns.values().copied().chain(self.acting.due()).min()
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        self.settle_overdue(pulse);
        for id in self.turns.iter().filter(|(_, due)| **due <= now).map(|(id, _)| *id) {
            match self.turn(id, pulse) {
                Some(turn) if matches!(turn.waiting, Some(Waiting::Gate { .. } | Waiting::Outcome { .. })) => {
                    self.without_gate(turn, pulse);
                }
                Some(turn) if turn.waiting.is_some() => self.without_bridge(turn, pulse),
                Some(turn) if turn.unasked => self.end(turn, false, pulse),
                Some(mut turn) => {
                    turn.said
                        .push("I waited for an outcome that did not come; see `maxim why` for what is known.".into());
                    self.end(turn, false, pulse);
                }
                None => pulse.keep(TurnsEvent::Ended { turn: id }),
            }
        }
    }
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("turn/{turn}").into_bytes()
}

impl Turns {
    pub(super) fn turn(&self, id: MessageId, pulse: &Pulse<'_, Self>) -> Option<Turn> {
        if self.turns.contains_key(&id) { pulse.record(&record_key(id)) } else { None }
    }

    pub(super) fn keep(&self, turn: &Turn, pulse: &mut Pulse<'_, Self>) {
        let patience = match (self.is_parked(turn), &turn.waiting) {
            (true, _) => LAID_ASIDE,
            (false, Some(Waiting::Plans | Waiting::UsualPlace { .. })) => BRIDGE,
            (false, Some(Waiting::Gate { .. })) => GATE_ANSWERS,
            (false, Some(Waiting::Outcome { .. }) | None) => PATIENCE,
        };
        pulse.put(record_key(turn.id), turn);
        pulse.keep(TurnsEvent::Touched { turn: turn.id, due: pulse.now().later(patience) });
    }

    /// Grounds of the last answer to the speaker of this turn.
    pub(super) fn grounds_of(&self, turn: &Turn) -> &[Ground] {
        self.grounds.of(&who(&turn.channel, &turn.sender))
    }

    /// The next step, or the reply once there is none.
    pub(super) fn go_on(&self, mut turn: Turn, pulse: &mut Pulse<'_, Self>) {
        if self.is_parked(&turn) {
            return self.keep(&turn, pulse);
        }
        let Some(step) = turn.steps.pop_front() else { return self.speak(turn, pulse) };
        if pulse.settings().is_inward(&step.tool) {
            let (tool, params, by_model) = (step.tool.clone(), step.params.clone(), turn.mind == Mind::Model);
            pulse.emit_in(turn.id, Inquiry { tool, params, turn: Some(turn.id), by_model });
        } else {
            let instead = std::mem::take(&mut turn.instead);
            let intent = Intent { instead, ..self.intent(&turn, &step.tool, step.params.clone()) };
            pulse.emit_trusted(turn.id, turn.trust, intent);
        }
        turn.current = Some(step);
        self.keep(&turn, pulse);
    }

    pub(super) fn intent(&self, turn: &Turn, tool: &str, params: Json) -> Intent {
        Intent {
            turn: turn.id,
            tool: tool.into(),
            params,
            mind: turn.mind,
            confidence: turn.confidence,
            commanded: turn.commanded && turn.trust == Trust::Owner,
            trust: turn.trust,
            unasked: turn.unasked,
            goal: (!turn.text.is_empty()).then(|| turn.text.chars().take(200).collect()),
            channel: turn.channel.clone(),
            recipient: turn.sender.clone(),
            then: turn.steps.iter().map(|step| step.tool.clone()).collect(),
            instead: Vec::new(),
        }
    }

    /// Speaks the reply, through the gate like every act.
    pub(super) fn speak(&self, mut turn: Turn, pulse: &mut Pulse<'_, Self>) {
        if turn.said.is_empty() {
            return self.end(turn, false, pulse);
        }
        let message = turn.said.join("\n");
        let instead = std::mem::take(&mut turn.instead);
        let intent = Intent { instead, ..self.intent(&turn, RESPOND, json!({ "message": message })) };
        pulse.emit_trusted(turn.id, turn.trust, intent);
        turn.current = Some(StepWanted { tool: RESPOND.into(), params: Json::Null, question: None });
        turn.reply = Some(message);
        self.keep(&turn, pulse);
    }

    pub(super) fn end(&self, turn: Turn, spoken: bool, pulse: &mut Pulse<'_, Self>) {
        let done = turn.actions.iter().filter(|action| action.tool != RESPOND);
        let outcome = done.map(|action| match action.status.as_str() {
            "done" => Some(true),
            "failed" => Some(false),
            _ => None, // a refusal by the gate says nothing about the plan
        });
        if let (Some(template), Some(outcomes)) = (turn.tried, outcome.collect::<Option<Vec<bool>>>())
            && !outcomes.is_empty()
        {
            let success = outcomes.into_iter().all(|success| success);
            pulse.emit_trusted(turn.id, turn.trust, PlanTried { template, turn: turn.id, success });
        }
        let reply = turn.reply.or_else(|| (!turn.said.is_empty()).then(|| turn.said.join("\n")));
        let partner = who(&turn.channel, &turn.sender);
        if !turn.unasked && self.grounds.of(&partner) != turn.grounds {
            pulse.keep(TurnsEvent::Grounded { who: partner, grounds: turn.grounds });
        }
        let Turn { id, channel, actions, lost, decided, rests_on, .. } = turn;
        pulse.keep(TurnsEvent::Ended { turn: id });
        pulse.remove(record_key(id));
        pulse.emit_trusted(
            id,
            turn.trust,
            TurnEnded { turn: id, channel, reply, spoken, actions, lost, decided, rests_on },
        );
    }

    pub(super) fn begin(&self, mut turn: Turn, plan: Plan, pulse: &mut Pulse<'_, Self>) {
        turn.steps = plan.steps.into();
        turn.commanded = plan.commanded;
        turn.confidence = plan.confidence;
        turn.said.extend(plan.say);
        turn.lost = plan.lost;
        turn.instead = plan.instead;
        turn.instead.truncate(ALTERNATIVES);
        if !plan.thought.is_empty() {
            turn.decided = Some(plan.thought.chars().take(DECIDED).collect());
        }
        let thought = Thought { turn: turn.id, mind: turn.mind, text: plan.thought, confidence: plan.confidence };
        pulse.emit_trusted(turn.id, turn.trust, thought);
        self.go_on(turn, pulse);
    }
}

impl Hears<SurveyTurns> for Turns {
    fn hear(&self, asked: &SurveyTurns, pulse: &mut Pulse<'_, Self>) {
        let open = asked.turns.iter().filter(|turn| self.turns.contains_key(turn)).copied().collect();
        pulse.reply(TurnsSurveyed { open });
    }
}

impl Hears<ProgramLearned> for Turns {
    fn hear(&self, learned: &ProgramLearned, pulse: &mut Pulse<'_, Self>) {
        let (program, offered) = (Box::new(learned.program.clone()), learned.offered);
        pulse.keep(TurnsEvent::Learned { program, offered });
    }
}

impl Hears<ProgramForgotten> for Turns {
    fn hear(&self, forgotten: &ProgramForgotten, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TurnsEvent::Forgot { name: forgotten.name.clone() });
    }
}

impl Hears<PreemptionChanged> for Turns {
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        self.acting_after(&changed.request, pulse);
        match &changed.request {
            PreemptionRequested::Stop(detail) => self.stop(&detail.reason, pulse),
            PreemptionRequested::Hold { .. } => self.hold(pulse),
            PreemptionRequested::Resume { .. } => self.release(pulse),
            PreemptionRequested::Reset { .. } | PreemptionRequested::Redirect { .. } => {}
        }
    }
}

impl Turns {
    fn stop(&self, reason: &str, pulse: &mut Pulse<'_, Self>) {
        if self.held {
            pulse.keep(TurnsEvent::Held(false));
        }
        let open: Vec<MessageId> = self.turns.keys().copied().collect();
        for id in open {
            match self.turn(id, pulse) {
                Some(turn) if turn.unasked => self.end(turn, false, pulse),
                Some(mut turn) => {
                    turn.said = vec![format!("Stopped: {reason}. What I was doing for you is cancelled.")];
                    turn.reply = None;
                    self.end(turn, false, pulse);
                }
                None => pulse.keep(TurnsEvent::Ended { turn: id }),
            }
        }
    }
}
