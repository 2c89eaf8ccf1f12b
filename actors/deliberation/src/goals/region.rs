//! Goals as a room: what is pursued, what waits, what was laid aside, and how each ended.
//!
//! Biology: the frontopolar cortex keeps a goal pending while another is pursued (Koechlin 1999).
//! Law: `agenda.rs`. One goal is active at a time; its pursuit is a turn like any other, through the same gate. REDIRECT
//! lays it aside with all that it still had to do; when the other ends it goes on, or a person is asked where something
//! has changed. A stop gives it up, and nothing goes on before a person resumes. Where too little energy is left to think and
//! nothing else is to do, it wants to rest, at most once in six hours; one goal at a time may be the agent's own.
//! Remembers: open goals, and the latest that ended. Forgets: those that ended long ago.
//! Down: no goal is taken up and none ends; turns go on.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::bridges::EnergyChanged;
use maxim_bus::signals::goal::{
    Goal, GoalChanged, GoalOrigin, GoalPursued, GoalState, GoalWish, GoalWished, GoalsSurveyed, SurveyGoals,
};
use maxim_bus::signals::intent::{IntentRefused, Refusal};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::agenda::{Agenda, Moves, Pause};
use super::outcome::Outcome;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// The channel of what nobody is told.
const NOBODY: &str = "none";
/// Characters of a goal's title.
const TITLE: usize = 400;

/// How long it doesn't go to rest again, however tired it is.
const RESTED: SignedDuration = SignedDuration::from_hours(6);
/// What it wants when too little energy is left: habit understands it, and it costs no thought.
const REST: &str = "go to sleep";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Goals {
    agenda: Agenda,
    /// When it last wanted to rest.
    #[serde(default)]
    rested: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GoalsEvent {
    Moved { goals: Vec<Goal> },
    Paused { pause: Pause },
    Tired { at: Timestamp },
}

wiring!(Goals {
    hears: [PreemptionChanged, TurnEnded, GoalWished, EnergyChanged, SurveyGoals, ReportStats],
    back: [ToolResult, IntentRefused],
    emits: [GoalChanged, GoalPursued, GoalsSurveyed, StatsReported],
});

impl Region for Goals {
    const NAME: RegionName = rooms::GOALS;
    const STAGE: Stage = Stage::Deliberation;
    type Event = GoalsEvent;
    type Settings = ();

    fn apply(&mut self, event: GoalsEvent) {
        match event {
            GoalsEvent::Moved { goals } => goals.into_iter().for_each(|goal| self.agenda.put(goal)),
            GoalsEvent::Paused { pause } => self.agenda.pause = pause,
            GoalsEvent::Tired { at } => self.rested = Some(at),
        }
    }
}

fn new_goal(title: &str, origin: GoalOrigin, whom: (&str, &str), pulse: &mut Pulse<'_, Goals>) -> Goal {
    let title: String = title.trim().chars().take(TITLE).collect();
    Goal::new(pulse.fresh_id(), &title, origin, whom, pulse.trust(), pulse.now())
}

impl Goals {
    /// Keeps what moved, tells it, and begins the pursuit of what became active without a turn. `after` is how it stands then.
    fn moved(&self, mut after: Agenda, moves: Moves, pulse: &mut Pulse<'_, Self>) {
        if after.pause != self.agenda.pause {
            pulse.keep(GoalsEvent::Paused { pause: after.pause });
        }
        if moves.is_empty() {
            return;
        }
        let mut goals = moves;
        let mut begun = Vec::new();
        for goal in &mut goals {
            if goal.state == GoalState::Active && goal.turn.is_none() && goal.waits_for.is_none() {
                goal.turn = Some(pulse.fresh_id());
                after.put(goal.clone());
                begun.push(goal.clone());
            }
        }
        pulse.keep(GoalsEvent::Moved { goals: goals.clone() });
        let active = after.active().map(|goal| goal.title.clone());
        let suspended: Vec<String> = after.suspended().iter().map(|goal| goal.title.clone()).collect();
        for goal in goals {
            let changed = GoalChanged { goal, active: active.clone(), suspended: suspended.clone() };
            pulse.emit(changed);
        }
        for Goal { id, turn, title, channel, sender, trust, .. } in begun {
            if let Some(turn) = turn {
                let pursued = GoalPursued { goal: id, turn, title, channel, sender, trust };
                pulse.emit_trusted(turn, trust, pursued);
            }
        }
    }

    fn wish(&self, wish: &GoalWish, by: &str, pulse: &mut Pulse<'_, Self>) -> Result<Agenda, String> {
        let (mut after, now) = (self.agenda.clone(), pulse.now());
        let moves = match wish {
            GoalWish::Propose { title, .. } | GoalWish::Adopt { title, .. } if title.trim().is_empty() => {
                Err("a goal needs words".to_owned())
            }
            GoalWish::Propose { .. } | GoalWish::Adopt { .. } | GoalWish::GoOn { .. }
                if after.pause == Pause::Stopped =>
            {
                Err("it is stopped, so no goal is taken up: `maxim reset`, then `maxim resume`, then say it again"
                    .to_owned())
            }
            GoalWish::Propose { title, channel, sender } => {
                let goal = new_goal(title, GoalOrigin::Person, (channel, sender), pulse);
                Ok(after.propose(goal, now))
            }
            // One that it pursues already is open too, so no goal of its own begets another.
            GoalWish::Adopt { .. } if after.has_open(&GoalOrigin::Agent) => {
                Err("it pursues, or is about to pursue, a goal of its own already".to_owned())
            }
            GoalWish::Adopt { title, channel, sender } => {
                let goal = new_goal(title, GoalOrigin::Agent, (channel, sender), pulse);
                let trust = goal.trust.min(Trust::Own);
                Ok(after.propose(Goal { trust, ..goal }, now))
            }
            GoalWish::Drop { goal } => after.give_up(*goal, by, now),
            GoalWish::GoOn { goal } => after.go_on(*goal, by, now),
        }?;
        self.moved(after.clone(), moves, pulse);
        Ok(after)
    }

    /// What the active goal waited for has come to this.
    fn answered(&self, question: MessageId, state: GoalState, reason: String, pulse: &mut Pulse<'_, Self>) {
        if self.agenda.active().is_none_or(|goal| goal.waits_for != Some(question)) {
            return;
        }
        let mut after = self.agenda.clone();
        let moves = after.end(state, reason, None, pulse.now());
        self.moved(after, moves, pulse);
    }
}

impl Hears<PreemptionChanged> for Goals {
    fn hear(&self, changed: &PreemptionChanged, pulse: &mut Pulse<'_, Self>) {
        let (mut after, now) = (self.agenda.clone(), pulse.now());
        let mut moves = Moves::new();
        match &changed.request {
            PreemptionRequested::Stop(detail) => moves = after.stop(&detail.reason, now),
            PreemptionRequested::Reset { .. } => {
                if after.pause == Pause::Stopped {
                    after.pause = Pause::Reset;
                }
            }
            PreemptionRequested::Resume { .. } => {
                if after.pause != Pause::Stopped {
                    after.pause = Pause::None;
                    after.take_up(now, &mut moves);
                }
            }
            PreemptionRequested::Hold { .. } => {
                if after.pause == Pause::None {
                    after.pause = Pause::Held;
                }
            }
            PreemptionRequested::Redirect { goal, by, channel, turn, is_threat } => {
                // Whoever the work was for is told what came in between.
                let former = after.active().filter(|_| *is_threat);
                let goal = match former {
                    Some(former) => {
                        let whom = (former.channel.clone(), former.sender.clone());
                        let drive = GoalOrigin::Drive { name: "pain".into() };
                        new_goal(goal, drive, (&whom.0, &whom.1), pulse)
                    }
                    None => new_goal(goal, GoalOrigin::Person, (channel, by), pulse),
                };
                moves = after.redirect(Goal { turn: *turn, ..goal }, *is_threat, now);
            }
        }
        self.moved(after, moves, pulse);
    }
}

impl Hears<TurnEnded> for Goals {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        let mut after = self.agenda.clone();
        let Some(goal) = after.active().filter(|goal| goal.turn == Some(ended.turn)).cloned() else {
            let mut moves = after.lost(ended.turn);
            if ended.spoken {
                moves.extend(after.heard(ended.turn));
            }
            return self.moved(after, moves, pulse);
        };
        let told = ended.spoken.then(|| format!("{}/{}", goal.channel, goal.sender));
        let moves = match Outcome::of(ended) {
            Outcome::Done(reason) => after.end(GoalState::Done, reason, told, pulse.now()),
            Outcome::Failed(reason) => after.end(GoalState::Failed, reason, told, pulse.now()),
            Outcome::Waits(question, reason) => after.wait_for(question, reason),
        };
        self.moved(after, moves, pulse);
    }
}

impl Hears<ToolResult> for Goals {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let (state, reason) = match result.success {
            Some(true) => (GoalState::Done, format!("{} was allowed and done", result.tool)),
            Some(false) => {
                (GoalState::Failed, result.error.clone().unwrap_or_else(|| format!("{} failed", result.tool)))
            }
            None => (GoalState::Failed, format!("nobody knows whether {} took effect", result.tool)),
        };
        self.answered(result.intent, state, reason, pulse);
    }
}

impl Hears<IntentRefused> for Goals {
    fn hear(&self, refused: &IntentRefused, pulse: &mut Pulse<'_, Self>) {
        if refused.refusal != Refusal::Asked {
            let reason = format!("{}: {}", refused.rule, refused.reason);
            self.answered(refused.intent, GoalState::Failed, reason, pulse);
        }
    }
}

impl Hears<GoalWished> for Goals {
    fn hear(&self, wished: &GoalWished, pulse: &mut Pulse<'_, Self>) {
        if let Err(why) = self.wish(&wished.wish, &wished.by, pulse) {
            tracing::info!(why, by = %wished.by, "a wish about a goal could not be done");
        }
    }
}

impl Hears<EnergyChanged> for Goals {
    /// The drive to rest. It tells nobody, and gives way to whatever is open.
    fn hear(&self, changed: &EnergyChanged, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let has_rested = self.rested.is_some_and(|at| now < at.later(RESTED));
        if !changed.is_low() || has_rested || self.agenda.pause != Pause::None || self.agenda.has_any() {
            return;
        }
        pulse.keep(GoalsEvent::Tired { at: now });
        let drive = GoalOrigin::Drive { name: "energy".into() };
        let goal = new_goal(REST, drive, (NOBODY, "itself"), pulse);
        let mut after = self.agenda.clone();
        let moves = after.propose(Goal { trust: Trust::Own, ..goal }, now);
        self.moved(after, moves, pulse);
    }
}

impl Hears<SurveyGoals> for Goals {
    fn hear(&self, survey: &SurveyGoals, pulse: &mut Pulse<'_, Self>) {
        let wish = survey.wish.as_ref();
        let done = wish.map_or_else(|| Ok(self.agenda.clone()), |wish| self.wish(wish, &survey.by, pulse));
        let (goals, refused) = match done {
            Ok(after) => (after.all(), None),
            Err(why) => (self.agenda.all(), Some(why)),
        };
        pulse.reply(GoalsSurveyed { goals, refused });
    }
}

impl Hears<ReportStats> for Goals {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({
            "active": self.agenda.active().map(|goal| &goal.title),
            "suspended": self.agenda.suspended().len(),
            "proposed": self.agenda.proposed(),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}
