//! What goals mean for turns: what is laid aside keeps its steps until its time comes, and a person is asked where something
//! has changed meanwhile.
//!
//! Law: a step that is out comes to its end; the next one is not begun while the turn is parked. "Your next goal is to …"
//! gives a goal, "what is your goal" is answered from what the goals room told, a yes or no to the question whether to go on
//! is for that goal.

use maxim_bus::MessageId;
use maxim_bus::Trust;
use maxim_bus::signals::goal::{Goal, GoalChanged, GoalState, GoalWish, GoalWished};
use serde::{Deserialize, Serialize};

use super::counsel::who;
use super::plan::Plan;
use super::region::{Habit, HabitEvent};
use super::tokens::Utterance;
use super::turn::Turn;
use super::{Understanding, answer, courtesy};
use crate::region::{Hears, Pulse};

/// Questions whether to go on that are kept.
const QUESTIONS: usize = 16;

/// What the goals room told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownGoals {
    active: Option<String>,
    suspended: Vec<String>,
    /// Goals that have not ended, with their words, the newest last.
    #[serde(default)]
    open: Vec<(MessageId, String)>,
    /// Goals whose person was asked whether to go on, the newest last: `channel/person`, the goal and its words.
    questions: Vec<(String, MessageId, String)>,
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
        open.retain(|(id, _)| *id != goal.id);
        if !matches!(goal.state, GoalState::Done | GoalState::Failed | GoalState::Dropped) {
            open.push((goal.id, goal.title.clone()));
            if open.len() > QUESTIONS {
                open.remove(0);
            }
        }
        Self { active: changed.active.clone(), suspended: changed.suspended.clone(), open, questions }
    }

    /// What is pursued.
    pub fn active(&self) -> Option<String> {
        self.active.clone()
    }

    /// Whether this person was asked whether to go on.
    pub fn asks(&self, who: &str) -> bool {
        self.questions.iter().any(|(asked, ..)| asked == who)
    }

    fn words(&self) -> String {
        let aside = match &self.suspended[..] {
            [] => String::new(),
            aside => {
                let aside: Vec<String> = aside.iter().rev().map(|title| format!("“{title}”")).collect();
                format!(" Laid aside: {}.", aside.join(", "))
            }
        };
        match &self.active {
            Some(active) => format!("My goal is “{active}”.{aside}"),
            None => format!("I pursue no goal at present.{aside}"),
        }
    }
}

/// The goal in "your next goal is to tidy up", "new goal: tidy up".
fn given(text: &str) -> Option<&str> {
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return None; // cut at bytes of another text
    }
    let mut at = 0;
    let mut eat = |words: &[&str]| {
        let rest = lower.get(at..)?;
        let skipped = rest.len() - rest.trim_start_matches([' ', ',']).len();
        let word = words.iter().find(|word| rest[skipped..].starts_with(**word))?;
        at += skipped + word.len();
        Some(())
    };
    let _ = eat(&["please"]);
    let owned = eat(&["your "]).is_some();
    let next = eat(&["next ", "new "]).is_some();
    eat(&["goal"])?;
    if !owned && !next {
        return None;
    }
    eat(&["is now to ", "is now ", "is to ", "is ", "to ", ": to ", ":"])?;
    let title = text.get(at..)?.trim().trim_end_matches('.');
    (!title.is_empty() && !title.ends_with('?')).then_some(title)
}

/// What "drop that goal" or "forget the goal to tidy up" says of the goal: nothing, or its words.
fn dropped(text: &str) -> Option<String> {
    const VERBS: [&str; 9] =
        ["drop", "forget", "forget about", "cancel", "abandon", "give up", "give up on", "stop pursuing", "scrap"];
    let said = Utterance::read(text);
    let (lo, hi) = (courtesy::lead(&said, &[]).lo, said.len());
    let verb = VERBS.iter().filter_map(|verb| said.starts(lo, hi, verb)).max()?;
    let mut at = lo + verb;
    while ["that", "this", "the", "your", "my", "last", "current", "present"].contains(&said.word(at)) {
        at += 1;
    }
    let is_asked = said.tokens.last().and_then(|last| last.closes) == Some('?');
    (said.word(at) == "goal" && !is_asked).then(|| said.span(at + 1, hi).to_owned())
}

fn asked_for(text: &str) -> bool {
    const QUESTIONS: [&str; 6] = [
        "what is your goal",
        "what's your goal",
        "what are your goals",
        "what goal do you have",
        "what goals do you have",
        "what are you working on",
    ];
    let lower = text.to_lowercase();
    let asked = lower.trim().trim_end_matches(['?', '!', '.', ' ']);
    QUESTIONS.iter().any(|question| asked == *question || asked == format!("{question} now"))
}

impl Habit {
    /// No further step of it is begun.
    pub(super) fn is_parked(&self, turn: &Turn) -> bool {
        self.held || turn.aside
    }

    /// What is said of goals, if it is of goals.
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
            let (channel, sender) = (turn.channel.clone(), turn.sender.clone());
            wish(GoalWish::Propose { title: title.into(), channel, sender }, pulse);
            let when =
                if self.goals.active.is_some() { "I take it up when the present one has ended" } else { "I begin" };
            return words(format!("Understood, a goal: “{title}”. {when}."), "I am given a goal.");
        }
        if let Some(which) = dropped(&turn.text) {
            let meant: Vec<&(MessageId, String)> =
                self.goals.open.iter().filter(|(_, title)| answer::bears_on(&which, title)).collect();
            return match &meant[..] {
                [] => words(
                    format!("There is no such goal, so I drop none. {}", self.goals.words()),
                    "I am told to drop a goal.",
                ),
                [(goal, title)] => {
                    wish(GoalWish::Drop { goal: *goal }, pulse);
                    words(format!("I leave it at that: “{title}” is given up."), "I am told to drop a goal.")
                }
                several => {
                    let titles: Vec<String> = several.iter().map(|(_, title)| format!("“{title}”")).collect();
                    words(format!("Which goal shall I drop: {}?", titles.join(", ")), "I am told to drop a goal.")
                }
            };
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

    /// Every turn keeps what it still has to do.
    pub(super) fn hold(&self, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(HabitEvent::Held(true));
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
        pulse.keep(HabitEvent::Held(false));
        let free = Self::default();
        for id in self.turns.keys().copied() {
            if let Some(turn) = self.turn(id, pulse) {
                free.take_up(turn, pulse);
            }
        }
    }

    /// Goes on where it was parked; what is out, or asked of somebody, is waited for.
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

    /// Asks whoever the goal is for, in a turn of its own.
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
        // The question is a turn of its own, named by the message that led to it.
        let Some(id) = pulse.cause().map(|meta| meta.id) else { return };
        self.asks_otherwise(who(&goal.channel, &goal.sender), pulse);
        let turn = Turn::new(id, goal.trust, &goal.channel, &goal.sender);
        let thought = format!("“{}” was laid aside; whether it still holds, a person knows better than I.", goal.title);
        self.begin(turn, Plan { say: Some(question), thought, settled: true, ..Plan::default() }, pulse);
    }
}

impl Hears<GoalChanged> for Habit {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        let goal = &changed.goal;
        let known = self.goals.after(changed);
        if goal.is_in_question() && !self.goals.questions.iter().any(|(_, id, _)| *id == goal.id) {
            self.ask_whether(goal, pulse);
        }
        if known != self.goals {
            pulse.keep(HabitEvent::Goals(known));
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
                self.end(turn, false, pulse);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_given_in_plain_words_and_nothing_else_gives_one() {
        for (text, goal) in [
            ("your next goal is to tidy up", Some("tidy up")),
            ("Your goal is to create a file a.txt with the text x", Some("create a file a.txt with the text x")),
            ("New goal: find the key.", Some("find the key")),
            ("please, your new goal is now to rest", Some("rest")),
            ("what is your goal?", None),
            ("the goal is to win", None),
            ("your goal is what?", None),
            ("your goal", None),
            ("goals are good", None),
            ("İ your goal is x", None),
        ] {
            assert_eq!(given(text), goal, "{text}");
        }
        assert!(asked_for("What is your goal?"));
        assert!(asked_for("what are you working on now?"));
        assert!(!asked_for("what is your goal keeper called?"));
    }
}
