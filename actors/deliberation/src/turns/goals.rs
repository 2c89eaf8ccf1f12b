//! Goals in turns: the turn of a suspended goal keeps its steps, and a person is asked before it resumes if something may
//! have changed.
//!
//! Law: a running step comes to its end. While the turn is parked, the next one isn't begun. `goal_words` of the speech crate reads
//! talk about goals: a goal is given or given up, or the goals are asked for. A yes or no to "shall I go on?" is for the goal
//! of that question.

use maxim_bus::MessageId;
use maxim_bus::Trust;
use maxim_bus::signals::goal::{Goal, GoalChanged, GoalState, GoalWish, GoalWished};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::region::{Turns, TurnsEvent};
use super::settings::TurnsSettings;
use super::turn::{Turn, who};
use maxim_region::{Hears, Pulse};
use maxim_speech::Understanding;
use maxim_speech::talk::goal_words::{GivenUp, asked_for, given, given_up};

/// Open questions "shall I go on?", at most.
const QUESTIONS: usize = 16;

/// The goals, as the goals room told them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownGoals {
    active: Option<String>,
    suspended: Vec<String>,
    /// Goals with an open question "shall I go on?", the newest last: `channel/person`, the goal and its words.
    questions: Vec<(String, MessageId, String)>,
    /// All open goals, in the order of their last change.
    #[serde(default)]
    open: Vec<OpenGoal>,
}

/// An open goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OpenGoal {
    id: MessageId,
    title: String,
    state: GoalState,
    turn: Option<MessageId>,
}

impl KnownGoals {
    fn after(&self, changed: &GoalChanged) -> Self {
        let goal = &changed.goal;
        let mut questions = self.questions.clone();
        questions.retain(|(_, id, _)| *id != goal.id);
        if goal.is_in_question() {
            questions.push((who(&goal.channel, &goal.sender), goal.id, goal.title.clone()));
            if questions.len() > QUESTIONS {
                questions.remove(0);
            }
        }
        let mut open = self.open.clone();
        open.retain(|known| known.id != goal.id);
        if !goal.state.is_over() {
            let (id, title, state, turn) = (goal.id, goal.title.clone(), goal.state, goal.turn);
            open.push(OpenGoal { id, title, state, turn });
        }
        Self { active: changed.active.clone(), suspended: changed.suspended.clone(), questions, open }
    }

    /// The active goal.
    pub fn active(&self) -> Option<String> {
        self.active.clone()
    }

    /// Whether this turn's goal was suspended for another before the turn had begun.
    pub fn is_laid_aside(&self, turn: MessageId) -> bool {
        self.open.iter().any(|goal| goal.turn == Some(turn) && goal.state == GoalState::Suspended)
    }

    /// Whether this person was asked "shall I go on?".
    pub fn asks(&self, who: &str) -> bool {
        self.questions.iter().any(|(asked, ..)| asked == who)
    }

    fn words(&self) -> String {
        let told = |what: &str, titles: Vec<&String>| match titles.is_empty() {
            true => String::new(),
            false => format!(" {what}: {}.", quoted(titles)),
        };
        let waiting = self.open.iter().filter(|goal| goal.state == GoalState::Proposed).map(|goal| &goal.title);
        let rest = told("Laid aside", self.suspended.iter().rev().collect()) + &told("Waiting", waiting.collect());
        match &self.active {
            Some(active) => format!("My goal is “{active}”.{rest}"),
            None => format!("I pursue no goal at present.{rest}"),
        }
    }

    /// The goals to give up, with their words. `Err`: what to say instead.
    fn meant(&self, wanted: &GivenUp) -> Result<Vec<(MessageId, String)>, String> {
        let is_meant = |goal: &&OpenGoal| match wanted {
            GivenUp::Present => goal.state == GoalState::Active,
            GivenUp::That | GivenUp::All => true,
            GivenUp::Named(words) => goal.title.to_lowercase().contains(&words.to_lowercase()),
        };
        let found: Vec<(MessageId, String)> =
            self.open.iter().filter(is_meant).map(|goal| (goal.id, goal.title.clone())).collect();
        match (found.len(), wanted) {
            (0, GivenUp::Named(words)) => Err(format!("I have no goal “{words}”. {}", self.words())),
            (0, _) => Err(self.words()),
            (1, _) | (_, GivenUp::All) => Ok(found),
            _ => {
                let titles = quoted(found.iter().map(|(_, title)| title).collect());
                Err(format!("Which one shall I give up: {titles}? Say “give up the goal to …” with its words."))
            }
        }
    }
}

fn quoted(titles: Vec<&String>) -> String {
    titles.into_iter().map(|title| format!("“{title}”")).collect::<Vec<_>>().join(", ")
}

impl Turns {
    /// Whether no further step of the turn is begun.
    pub(super) fn is_parked(&self, turn: &Turn) -> bool {
        self.held || turn.aside
    }

    /// The plan for talk about goals. `None`: the words are about something else.
    pub(super) fn about_goals(&self, turn: &Turn, said: bool, pulse: &mut Pulse<'_, Self>) -> Option<Plan> {
        if !said {
            return None;
        }
        let words = |say: String, thought: &str| {
            Some(Plan { say: Some(say), thought: thought.into(), settled: true, ..Plan::default() })
        };
        if asked_for(&turn.text) {
            return words(self.goals.words(), "I am asked for my goals.");
        }
        if turn.trust < Trust::Listed {
            return None;
        }
        let wish = |wish: GoalWish, pulse: &mut Pulse<'_, Self>| {
            pulse.emit_trusted(turn.id, turn.trust, GoalWished { wish, by: turn.sender.clone() });
        };
        if let Some(title) = given(&turn.text) {
            if let Some(instead) = self.not_understood(title, pulse.settings()) {
                return words(instead, "I am given a goal that I don't understand.");
            }
            let (channel, sender) = (turn.channel.clone(), turn.sender.clone());
            wish(GoalWish::Propose { title: title.into(), channel, sender }, pulse);
            let when =
                if self.goals.active.is_some() { "I take it up when the present one has ended" } else { "I begin" };
            return words(format!("Understood, a goal: “{title}”. {when}."), "I am given a goal.");
        }
        if let Some(wanted) = given_up(&turn.text) {
            let found = match self.goals.meant(&wanted) {
                Ok(found) => found,
                Err(instead) => return words(instead, "I am to give up a goal, and don't know which."),
            };
            found.iter().for_each(|(goal, _)| wish(GoalWish::Drop { goal: *goal }, pulse));
            let titles = quoted(found.iter().map(|(_, title)| title).collect());
            return words(format!("I give up {titles}."), "I am told to give up a goal.");
        }
        let who = who(&turn.channel, &turn.sender);
        let (_, goal, title) = self.goals.questions.iter().rev().find(|(asked, ..)| *asked == who)?.clone();
        let Understanding::Acknowledgement { agrees: Some(agrees) } = pulse.settings().grammar.understand(&turn.text)
        else {
            return None;
        };
        if agrees {
            wish(GoalWish::GoOn { goal }, pulse);
            return words(format!("I go on with “{title}”."), "I am told to go on.");
        }
        wish(GoalWish::Drop { goal }, pulse);
        words(format!("I leave it at that: “{title}” is given up."), "I am told not to go on.")
    }

    /// The reply to a goal that can't be understood. It comes while the person listens, not when the goal's turn comes.
    /// `None`: the goal is understood, or a model may understand it.
    fn not_understood(&self, title: &str, settings: &TurnsSettings) -> Option<String> {
        let is_practised = self.programs.called(title).is_some() || self.programs.serving(title).is_some();
        if settings.model || is_practised {
            return None;
        }
        let because = match settings.grammar.understand(title) {
            Understanding::Command { .. } | Understanding::Question { .. } | Understanding::Remember { .. } => return None,
            Understanding::Ambiguous { question, .. } => question,
            Understanding::Unsupported { reply, .. } => reply,
            _ => "Say it as a request, such as “create a file notes.txt with the text hello”; “help” tells what I can do.".into(),
        };
        Some(format!("I have not taken “{title}” as a goal, because I don't understand how to do it. {because}"))
    }

    /// Parks every turn with the steps that it still has.
    pub(super) fn hold(&self, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(TurnsEvent::Held(true));
        let held = Self { held: true, ..Self::default() };
        let turns: Vec<MessageId> = self.turns.keys().copied().collect();
        for turn in turns.into_iter().filter_map(|id| self.turn(id, pulse)).collect::<Vec<_>>() {
            held.keep(&turn, pulse);
        }
    }

    pub(super) fn release(&self, pulse: &mut Pulse<'_, Self>) {
        if !self.held {
            return;
        }
        pulse.keep(TurnsEvent::Held(false));
        let free = Self::default();
        for id in self.turns.keys().copied() {
            if let Some(turn) = self.turn(id, pulse) {
                free.take_up(turn, pulse);
            }
        }
    }

    /// Resumes a parked turn. If a step is running or a question is open, that is waited for.
    fn take_up(&self, turn: Turn, pulse: &mut Pulse<'_, Self>) {
        let is_out = turn.current.is_some() || turn.thinking || turn.waiting.is_some();
        if is_out || self.is_parked(&turn) {
            return self.keep(&turn, pulse);
        }
        match turn.wish.clone() {
            Some(wish) if turn.steps.is_empty() && turn.said.is_empty() => self.deliberate(turn, *wish, pulse),
            _ => self.go_on(turn, pulse),
        }
    }

    /// Asks the goal's person in a separate turn.
    fn ask_whether(&self, goal: &Goal, pulse: &mut Pulse<'_, Self>) {
        let minutes = pulse.now().duration_since(goal.since).as_mins();
        let ago = match minutes {
            0 => "just now".into(),
            1 => "a minute ago".into(),
            2..=119 => format!("{minutes} minutes ago"),
            _ => format!("{} hours ago", minutes / 60),
        };
        let question = format!(
            "I laid “{}” aside {ago}, and something may have changed since. Shall I go on with it? Say “yes” or “no”.",
            goal.title
        );
        // The turn has the id of the message that led to it.
        let Some(id) = pulse.cause().map(|meta| meta.id) else { return };
        self.asks_otherwise(who(&goal.channel, &goal.sender), pulse);
        let turn = Turn::new(id, goal.trust, &goal.channel, &goal.sender);
        let thought = format!("“{}” was laid aside; whether it still holds, a person knows better than I.", goal.title);
        self.begin(turn, Plan { say: Some(question), thought, settled: true, ..Plan::default() }, pulse);
    }
}

impl Hears<GoalChanged> for Turns {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        let goal = &changed.goal;
        let known = self.goals.after(changed);
        if goal.is_in_question() && !self.goals.questions.iter().any(|(_, id, _)| *id == goal.id) {
            self.ask_whether(goal, pulse);
        }
        if known != self.goals {
            pulse.keep(TurnsEvent::Goals(known));
        }
        let Some(mut turn) = goal.turn.and_then(|turn| self.turn(turn, pulse)) else { return };
        match goal.state {
            GoalState::Suspended if !turn.aside => {
                turn.aside = true;
                self.keep(&turn, pulse);
            }
            GoalState::Active if turn.aside => {
                turn.aside = false;
                self.take_up(turn, pulse);
            }
            GoalState::Dropped => {
                turn.said = vec![format!("I have left “{}”: {}.", goal.title, goal.reason)];
                turn.reply = None;
                if goal.told.is_some() {
                    return self.end(turn, false, pulse);
                }
                // The goal's person hears of it. A running step or thought leads to nothing more.
                turn.steps.clear();
                (turn.current, turn.waiting, turn.wish) = (None, None, None);
                (turn.thinking, turn.aside) = (false, false);
                self.go_on(turn, pulse);
            }
            _ => {}
        }
    }
}
