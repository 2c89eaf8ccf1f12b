//! Habit as a room: owns each turn from the enriched percept to its end.
//!
//! Biology: habits of the dorsal striatum.
//! Law: what was understood becomes steps; each step goes through the gate or, for questions about the brain, through
//! the introspection door; what came of them is worded into one reply, spoken by the `respond` tool. Where a model is
//! configured, what isn't a clear command is handed over to deliberation first. What isn't understood is offered as the
//! plan that worked for such a goal, and done when the person says yes; where memory knows no place, the usual one is
//! told; what a model does goes back to it (`thinking_on.rs`); who finds confirmations unwelcome gets them in a word.
//! Bridges are waited for no longer than 300 ms. While it is held, and for a goal that was laid aside, no further step is
//! begun; it is when the time has come (`goals.rs`).
//! Remembers: open turns, as records; offers and manners. Forgets: ended ones; an offer after five minutes.
//! Down: enriched percepts wait; nothing is proposed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
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
use maxim_bus::signals::percept::Disposition;
use maxim_bus::signals::recall::{
    EnrichedPercept, Inquiry, InquiryAnswered, OutcomesPredicted, PredictOutcomes, RecalledEpisode, Via,
};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::signals::skill::{MotorProgram, ProgramForgotten, ProgramLearned};
use maxim_bus::signals::sleep::{SleepEnded, SleepEntered};
use maxim_bus::signals::thought::{Deliberate, Mind, ModelProposal, SurveyTurns, Thought, TurnEnded, TurnsSurveyed};
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::acting::{Acting, ActingEvent};
use super::answer;
use super::consent::{GATE_ANSWERS, Questions, QuestionsEvent};
use super::counsel::{self, Counsel, Offer, Waiting, usually, whereabouts_asked, who};
use super::goals::KnownGoals;
use super::handing_over::handed_over;
use super::plan::{Plan, plan};
use super::programs::Programs;
use super::recent::{RecentDeed, RecentDeeds};
use super::settings::HabitSettings;
use super::turn::{DECIDED, StepWanted, Turn};
use crate::action::executor::RESPOND;
use crate::region::{Card, Hears, Pulse, Region};
use crate::wiring;

/// A turn that hears nothing for this long is ended with what it has. Longer than any tool's deadline.
const PATIENCE: SignedDuration = SignedDuration::from_mins(8);
/// What is held or was laid aside for another goal waits this long for its time.
const LAID_ASIDE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long a bridge is waited for.
const BRIDGE: SignedDuration = SignedDuration::from_millis(300);
/// What could have been done instead, at most, that is kept with what is done.
const ALTERNATIVES: usize = 5;
/// The room that knows which plans worked.
const PLANNING: RegionName = "planning_bridge";
/// The room that knows where things usually are.
const SPATIAL: RegionName = "spatial_bridge";

#[derive(Default, Serialize, Deserialize)]
pub struct Habit {
    /// Open turns, and when each is given up.
    pub(super) turns: BTreeMap<MessageId, Timestamp>,
    /// Practised sequences that are one step.
    #[serde(default)]
    pub(super) programs: Programs,
    #[serde(default)]
    pub(super) counsel: Counsel,
    /// A hold: nothing is proposed.
    #[serde(default)]
    pub(super) held: bool,
    /// What is pursued, and what was laid aside.
    #[serde(default)]
    pub(super) goals: KnownGoals,
    /// What the gate asked.
    #[serde(default)]
    pub(super) questions: Questions,
    /// What it does when nobody wants anything.
    #[serde(default)]
    pub(super) acting: Acting,
    /// What a model did lately, and why.
    #[serde(default)]
    pub(super) recent: RecentDeeds,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HabitEvent {
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
}

wiring!(Habit {
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

impl Region for Habit {
    const NAME: RegionName = "habit";
    const STAGE: Stage = Stage::Deliberation;
    type Event = HabitEvent;
    type Settings = HabitSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: HabitEvent) {
        match event {
            HabitEvent::Touched { turn, due } => {
                self.turns.insert(turn, due);
            }
            HabitEvent::Ended { turn } => {
                self.turns.remove(&turn);
                self.questions.forget_turn(turn);
            }
            HabitEvent::Learned { program, offered } => self.programs.learn(*program, offered),
            HabitEvent::Told { name } => self.programs.tell(&name),
            HabitEvent::Forgot { name } => self.programs.forget(&name),
            HabitEvent::Offered { who, offer } => self.counsel.offer(who, offer),
            HabitEvent::OfferClosed { who } => self.counsel.close(&who),
            HabitEvent::Manner(manner) => self.counsel.learn(manner),
            HabitEvent::Held(held) => self.held = held,
            HabitEvent::Goals(goals) => self.goals = goals,
            HabitEvent::Questions(event) => self.questions.apply(event),
            HabitEvent::Acting(event) => self.acting.apply(event),
            HabitEvent::Did(deed) => self.recent.keep(*deed),
        }
    }

    fn next_deadline(&self, _settings: &HabitSettings) -> Option<Timestamp> {
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
                None => pulse.keep(HabitEvent::Ended { turn: id }),
            }
        }
    }
}

/// What was found by itself; what is merely associated with it is no evidence.
fn found(recalled: &[RecalledEpisode]) -> Vec<RecalledEpisode> {
    recalled.iter().filter(|episode| episode.via != Via::Association).cloned().collect()
}

fn record_key(turn: MessageId) -> Vec<u8> {
    format!("turn/{turn}").into_bytes()
}

impl Habit {
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
        pulse.keep(HabitEvent::Touched { turn: turn.id, due: pulse.now() + patience });
    }

    /// Begins, or first asks experience where it isn't clear what is wanted. Whoever may not command is offered nothing.
    pub(super) fn consider(&self, mut turn: Turn, plan: Plan, pulse: &mut Pulse<'_, Self>) {
        if !plan.lost || turn.trust < Trust::Listed {
            return self.begin(turn, plan, pulse);
        }
        let (id, goal) = (turn.id, turn.text.clone());
        pulse.ask(PLANNING, ProposePlans { turn: id, goal });
        turn.waiting = Some(Waiting::Plans);
        self.keep(&turn, pulse);
    }

    pub(super) fn ask_place(
        &self,
        mut turn: Turn,
        thing: String,
        fallback: Option<String>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        pulse.ask(SPATIAL, LocateUsually { turn: turn.id, thing });
        turn.waiting = Some(Waiting::UsualPlace { fallback });
        self.keep(&turn, pulse);
    }

    /// The bridge knows nothing, or didn't answer in time.
    pub(super) fn without_bridge(&self, mut turn: Turn, pulse: &mut Pulse<'_, Self>) {
        match turn.waiting.take() {
            Some(Waiting::UsualPlace { fallback: Some(words) }) => {
                turn.said.push(words);
                self.go_on(turn, pulse);
            }
            _ => {
                let settings = pulse.settings();
                let plan = plan(&settings.grammar, &turn.text, pulse.now(), &settings.zone);
                self.begin(turn, plan, pulse);
            }
        }
    }

    /// A yes to what was offered, as the plan to do.
    fn accepted(&self, turn: &Turn, pulse: &mut Pulse<'_, Self>) -> Option<(u64, Plan)> {
        let who = who(&turn.channel, &turn.sender);
        if !self.counsel.has_offer(&who) {
            return None;
        }
        pulse.keep(HabitEvent::OfferClosed { who: who.clone() });
        let offer = self.counsel.offered(&who, pulse.now())?;
        let yes = super::Understanding::Acknowledgement { agrees: Some(true) };
        if turn.trust < Trust::Listed || pulse.settings().grammar.understand(&turn.text) != yes {
            return None;
        }
        let step = |step: &maxim_bus::signals::bridges::PlannedStep| StepWanted {
            tool: step.tool.clone(),
            params: step.params.clone(),
            question: None,
        };
        let plan = Plan {
            steps: offer.steps.iter().map(step).collect(),
            thought: format!("I was told to do what worked for “{}”.", offer.goal),
            commanded: true,
            settled: true,
            ..Plan::default()
        };
        Some((offer.template, plan))
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

    /// Says what there is to say, through the gate like every action.
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
            _ => None, // a no of the gate says nothing of the plan
        });
        if let (Some(template), Some(outcomes)) = (turn.tried, outcome.collect::<Option<Vec<bool>>>())
            && !outcomes.is_empty()
        {
            let success = outcomes.into_iter().all(|success| success);
            pulse.emit_trusted(turn.id, turn.trust, PlanTried { template, turn: turn.id, success });
        }
        let reply = turn.reply.or_else(|| (!turn.said.is_empty()).then(|| turn.said.join("\n")));
        let Turn { id, channel, actions, lost, decided, .. } = turn;
        pulse.keep(HabitEvent::Ended { turn: id });
        pulse.remove(record_key(id));
        pulse.emit_trusted(id, turn.trust, TurnEnded { turn: id, channel, reply, spoken, actions, lost, decided });
    }

    /// A turn in which nothing is proposed.
    fn end_at_once(&self, enriched: &EnrichedPercept, reply: String, pulse: &mut Pulse<'_, Self>) {
        let turn = pulse.turn();
        let channel = enriched.salient.percept.metadata.channel.clone();
        pulse.emit(TurnEnded {
            turn,
            channel,
            reply: Some(reply),
            spoken: false,
            actions: Vec::new(),
            lost: false,
            decided: None,
        });
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

impl Hears<SurveyTurns> for Habit {
    fn hear(&self, asked: &SurveyTurns, pulse: &mut Pulse<'_, Self>) {
        let open = asked.turns.iter().filter(|turn| self.turns.contains_key(turn)).copied().collect();
        pulse.reply(TurnsSurveyed { open });
    }
}

impl Hears<EnrichedPercept> for Habit {
    fn hear(&self, enriched: &EnrichedPercept, pulse: &mut Pulse<'_, Self>) {
        let percept = &enriched.salient.percept;
        if percept.is_sensed() {
            return self.take_opportunity(enriched, pulse);
        }
        match &enriched.salient.disposition {
            Disposition::Stopped { reason } => {
                let reply = answer::stopped(reason, &percept.metadata.sender);
                return self.end_at_once(enriched, reply, pulse);
            }
            Disposition::Held { until } => {
                let until = until.map(|until| until.to_string());
                return self.end_at_once(enriched, answer::held(until.as_deref()), pulse);
            }
            Disposition::Proceed | Disposition::Noted => {}
        }
        if !percept.is_request() || enriched.salient.disposition == Disposition::Noted {
            // What the senses report or strangers write is no request; it was remembered, and nobody is answered.
            self.note_answer(percept, pulse);
            let (turn, channel) = (pulse.turn(), percept.metadata.channel.clone());
            pulse.emit(TurnEnded {
                turn,
                channel,
                reply: None,
                spoken: false,
                actions: Vec::new(),
                lost: false,
                decided: None,
            });
            return;
        }
        let origin = &percept.metadata;
        let mut turn = Turn {
            text: percept.content.chars().take(2_000).collect(),
            recalled: found(&enriched.recalled),
            knowledge: enriched.knowledge.clone(),
            brief: self.counsel.is_brief(&who(&origin.channel, &origin.sender), pulse.now(), &pulse.settings().zone),
            aside: self.goals.is_laid_aside(pulse.turn()),
            ..Turn::new(pulse.turn(), pulse.trust(), &origin.channel, &origin.sender)
        };
        if percept.is_said() {
            let Some(unanswered) = self.answer_gate(percept, turn, pulse) else { return };
            turn = unanswered;
        }
        if let Some(plan) = self.about_goals(&turn, percept.is_said(), pulse) {
            return self.begin(turn, plan, pulse);
        }
        if let Some((template, plan)) = self.accepted(&turn, pulse) {
            turn.tried = Some(template);
            return self.begin(turn, plan, pulse);
        }
        if let Some((thing, true)) = whereabouts_asked(&percept.content) {
            return self.ask_place(turn, thing, None, pulse);
        }
        let settings = pulse.settings();
        if let Some(called) = self.programs.called(&percept.content) {
            return self.begin(turn, called, pulse);
        }
        let mut plan = plan(&settings.grammar, &percept.content, pulse.now(), &settings.zone);
        // What was practised needs no deliberation; a clear command of the person comes first.
        let open = !plan.settled && (settings.model || plan.steps.is_empty());
        match self.programs.serving(&percept.content) {
            Some(mut practised) if open => {
                let why = "it is what the words ask for, but a practised program serves the goal";
                practised.instead = plan.passed_over(why);
                return self.begin(turn, practised, pulse);
            }
            Some(practised) => {
                let why = format!("a practised program ({}), but the words are a clear request", practised.thought);
                plan.instead.extend(practised.passed_over(&why));
            }
            None => {}
        }
        if let Some((name, words)) = plan.commanded.then(|| self.programs.news(&percept.content, &plan.steps)).flatten()
        {
            plan.say = Some(words);
            pulse.keep(HabitEvent::Told { name });
        }
        if settings.model && !plan.settled {
            turn.instead = plan.passed_over("habit's own reading; the model was asked");
            let goal = self.goals.active();
            let wish = Deliberate { goal, ..handed_over(turn.id, enriched) };
            return self.deliberate(turn, wish, pulse);
        }
        self.consider(turn, plan, pulse);
    }
}

impl Hears<PlansProposed> for Habit {
    fn hear(&self, proposed: &PlansProposed, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(proposed.turn, pulse).filter(|turn| turn.waiting == Some(Waiting::Plans)) else {
            return; // it came after the deadline
        };
        let best = proposed.plans.iter().find(|plan| counsel::may_serve(&turn.text, &plan.goal));
        let Some(best) = best else { return self.without_bridge(turn, pulse) };
        let offer = Offer::of(best, pulse.now());
        let others = proposed.plans.iter().filter(|plan| plan.template != best.template);
        let plan = Plan {
            instead: others.filter_map(counsel::as_alternative).collect(),
            say: Some(offer.words()),
            thought: format!(
                "I don't understand this, but a plan for “{}” may serve (episode {}).",
                best.goal, best.episode
            ),
            settled: true,
            ..Plan::default()
        };
        pulse.keep(HabitEvent::Offered { who: who(&turn.channel, &turn.sender), offer });
        turn.waiting = None;
        self.begin(turn, plan, pulse);
    }
}

impl Hears<UsuallyLocated> for Habit {
    fn hear(&self, located: &UsuallyLocated, pulse: &mut Pulse<'_, Self>) {
        let Some(mut turn) = self.turn(located.turn, pulse) else { return };
        let Some(Waiting::UsualPlace { fallback }) = turn.waiting.clone() else { return };
        let Some(words) = usually(located) else { return self.without_bridge(turn, pulse) };
        turn.waiting = None;
        match fallback {
            Some(unknown) => {
                turn.said.push(format!("{unknown} {words}"));
                self.go_on(turn, pulse);
            }
            None => {
                let thought = format!("I am asked where {} usually is; I know that from where it was.", located.thing);
                let plan = Plan { say: Some(words), thought, settled: true, ..Plan::default() };
                self.begin(turn, plan, pulse);
            }
        }
    }
}

impl Hears<MannerLearned> for Habit {
    fn hear(&self, manner: &MannerLearned, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HabitEvent::Manner(manner.clone()));
    }
}

impl Hears<ProgramLearned> for Habit {
    fn hear(&self, learned: &ProgramLearned, pulse: &mut Pulse<'_, Self>) {
        let (program, offered) = (Box::new(learned.program.clone()), learned.offered);
        pulse.keep(HabitEvent::Learned { program, offered });
    }
}

impl Hears<ProgramForgotten> for Habit {
    fn hear(&self, forgotten: &ProgramForgotten, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HabitEvent::Forgot { name: forgotten.name.clone() });
    }
}

impl Hears<PreemptionChanged> for Habit {
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

impl Habit {
    fn stop(&self, reason: &str, pulse: &mut Pulse<'_, Self>) {
        if self.held {
            pulse.keep(HabitEvent::Held(false));
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
                None => pulse.keep(HabitEvent::Ended { turn: id }),
            }
        }
    }
}
