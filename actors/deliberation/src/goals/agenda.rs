//! The law of goals: which one is pursued, which wait, and which are over.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::signals::goal::{Goal, GoalOrigin, GoalState};
use serde::{Deserialize, Serialize};

/// Goals below the present one. Deeper than any person keeps in mind; beyond it the oldest is given up.
const SUSPENDED: usize = 16;
/// Goals that wait for their turn.
const PROPOSED: usize = 64;
/// Goals that are over and still told of.
const ENDED: usize = 32;
/// What lay aside for longer is asked about before it goes on: what it was for may have passed.
const FRESH: SignedDuration = SignedDuration::from_mins(5);

/// All goals. One is active at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Agenda {
    active: Option<Goal>,
    /// A stack: the last goes on first.
    suspended: Vec<Goal>,
    proposed: VecDeque<Goal>,
    /// The newest last.
    ended: VecDeque<Goal>,
    pub pause: Pause,
}

/// Why nothing is taken up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pause {
    #[default]
    None,
    Held,
    Stopped,
    /// The stop was cleared; a person has yet to resume.
    Reset,
}

/// What a move did: each goal as it came to be, in order.
pub(super) type Moves = Vec<Goal>;

impl Agenda {
    /// Puts a goal where its state belongs, out of wherever it was.
    pub fn put(&mut self, goal: Goal) {
        let id = goal.id;
        self.active.take_if(|goal| goal.id == id);
        match goal.state {
            GoalState::Active => {
                self.forget(id);
                self.active = Some(goal);
            }
            // A change of what lies or waits keeps its place.
            GoalState::Suspended => match self.suspended.iter_mut().find(|goal| goal.id == id) {
                Some(place) => *place = goal,
                None => {
                    self.forget(id);
                    self.suspended.push(goal);
                }
            },
            GoalState::Proposed => {
                self.forget(id);
                self.proposed.push_back(goal);
            }
            GoalState::Done | GoalState::Failed | GoalState::Dropped => {
                self.forget(id);
                self.ended.push_back(goal);
                if self.ended.len() > ENDED {
                    self.ended.pop_front();
                }
            }
        }
    }

    fn forget(&mut self, id: MessageId) {
        self.suspended.retain(|goal| goal.id != id);
        self.proposed.retain(|goal| goal.id != id);
        self.ended.retain(|goal| goal.id != id);
    }

    pub fn active(&self) -> Option<&Goal> {
        self.active.as_ref()
    }

    pub fn suspended(&self) -> &[Goal] {
        &self.suspended
    }

    /// Whether a goal is open, whosever it is.
    pub fn has_any(&self) -> bool {
        self.active.is_some() || !self.suspended.is_empty() || !self.proposed.is_empty()
    }

    /// Whether one of this origin is open.
    pub fn has_open(&self, origin: &GoalOrigin) -> bool {
        self.active.iter().chain(&self.suspended).chain(&self.proposed).any(|goal| goal.origin == *origin)
    }

    pub fn proposed(&self) -> usize {
        self.proposed.len()
    }

    /// In the order of `GoalsSurveyed`.
    pub fn all(&self) -> Vec<Goal> {
        let Self { active, suspended, proposed, ended, .. } = self;
        let open = active.iter().chain(suspended.iter().rev()).chain(proposed);
        open.chain(ended.iter().rev()).cloned().collect()
    }

    fn set(&mut self, goal: Goal, moves: &mut Moves) {
        self.put(goal.clone());
        moves.push(goal);
    }

    /// A further goal, behind the others.
    pub fn propose(&mut self, goal: Goal, now: Timestamp) -> Moves {
        let mut moves = Moves::new();
        self.set(goal, &mut moves);
        if self.proposed.len() > PROPOSED
            && let Some(last) = self.proposed.back().cloned()
        {
            let reason = format!("{PROPOSED} goals wait already");
            self.set(entering(last, GoalState::Dropped, now, reason), &mut moves);
        }
        self.take_up(now, &mut moves);
        moves
    }

    /// Puts a goal before the present one, which is laid aside. On hold it lies on top of that one, to be taken up first.
    pub fn redirect(&mut self, goal: Goal, is_threat: bool, now: Timestamp) -> Moves {
        let mut moves = Moves::new();
        if let Some(former) = self.active.clone() {
            let mut former = entering(former, GoalState::Suspended, now, format!("“{}” came in between", goal.title));
            former.is_stale |= is_threat;
            self.set(former, &mut moves);
            if self.suspended.len() > SUSPENDED {
                let oldest = self.suspended[0].clone();
                self.set(entering(oldest, GoalState::Dropped, now, "too much was laid aside".into()), &mut moves);
            }
        }
        let goal = match self.pause {
            Pause::Held if goal.turn.is_none() => {
                entering(goal, GoalState::Suspended, now, "on hold: it is taken up first when that ends".into())
            }
            _ => Goal { state: GoalState::Active, ..goal },
        };
        self.set(goal, &mut moves);
        moves
    }

    /// The active goal has ended.
    pub fn end(&mut self, state: GoalState, reason: String, told: Option<String>, now: Timestamp) -> Moves {
        let mut moves = Moves::new();
        if let Some(goal) = self.active.clone() {
            // The turn of what is given up still has to end.
            let turn = goal.turn.filter(|_| state == GoalState::Dropped);
            let goal = Goal { told, turn, waits_for: None, ..entering(goal, state, now, reason) };
            self.set(goal, &mut moves);
        }
        self.take_up(now, &mut moves);
        moves
    }

    /// The active goal hangs on a person's answer.
    pub fn wait_for(&mut self, question: MessageId, reason: String) -> Moves {
        let mut moves = Moves::new();
        if let Some(goal) = self.active.clone() {
            self.set(Goal { waits_for: Some(question), turn: None, reason, ..goal }, &mut moves);
        }
        moves
    }

    /// The turn of what was laid aside is over: it can't simply go on.
    pub fn lost(&mut self, turn: MessageId) -> Moves {
        let mut moves = Moves::new();
        if let Some(goal) = self.suspended.iter().find(|goal| goal.turn == Some(turn)).cloned() {
            self.set(Goal { turn: None, is_stale: true, ..goal }, &mut moves);
        }
        moves
    }

    /// Whoever the turn of what was given up was for has heard of it.
    pub fn heard(&mut self, turn: MessageId) -> Moves {
        let mut moves = Moves::new();
        let is_it = |goal: &&Goal| goal.state == GoalState::Dropped && goal.turn == Some(turn);
        if let Some(goal) = self.ended.iter().find(is_it).cloned() {
            let told = Some(format!("{}/{}", goal.channel, goal.sender));
            self.set(Goal { turn: None, told, ..goal }, &mut moves);
        }
        moves
    }

    /// A stop: what is pursued is given up, and what was laid aside is asked about before it goes on.
    pub fn stop(&mut self, reason: &str, now: Timestamp) -> Moves {
        let mut moves = Moves::new();
        self.pause = Pause::Stopped;
        if let Some(goal) = self.active.clone() {
            let goal = entering(goal, GoalState::Dropped, now, format!("stopped: {reason}"));
            self.set(Goal { turn: None, waits_for: None, ..goal }, &mut moves);
        }
        for goal in self.suspended.clone() {
            self.set(Goal { turn: None, is_stale: true, is_asked: false, ..goal }, &mut moves);
        }
        moves
    }

    /// A person gives one up.
    ///
    /// # Errors
    /// There is no such goal, or it is over; in words.
    pub fn give_up(&mut self, id: MessageId, by: &str, now: Timestamp) -> Result<Moves, String> {
        let goal = self.open(id)?;
        // Who gives their own goal up knows of it.
        let told = (goal.sender == by).then(|| format!("{}/{}", goal.channel, goal.sender));
        let reason = format!("given up by {by}");
        if self.active.as_ref().is_some_and(|active| active.id == id) {
            return Ok(self.end(GoalState::Dropped, reason, told, now));
        }
        let mut moves = Moves::new();
        self.set(Goal { told, ..entering(goal, GoalState::Dropped, now, reason) }, &mut moves);
        Ok(moves)
    }

    /// A person lets go on what was laid aside; it does as soon as nothing else is pursued.
    ///
    /// # Errors
    /// There is no such goal, or it isn't laid aside; in words.
    pub fn go_on(&mut self, id: MessageId, by: &str, now: Timestamp) -> Result<Moves, String> {
        let goal = self.open(id)?;
        if goal.state != GoalState::Suspended {
            return Err(format!("“{}” is not laid aside", goal.title));
        }
        let mut moves = Moves::new();
        let (state, reason) = match (&self.active, self.pause) {
            (None, Pause::None) => (GoalState::Active, format!("{by} said to go on")),
            _ => (GoalState::Proposed, format!("{by} said to go on; it does when its turn has come")),
        };
        let goal = Goal { is_stale: false, is_asked: false, ..entering(goal, state, now, reason) };
        self.set(goal, &mut moves);
        Ok(moves)
    }

    fn open(&self, id: MessageId) -> Result<Goal, String> {
        let goal = self.all().into_iter().find(|goal| goal.id == id);
        let goal = goal.ok_or_else(|| format!("there is no goal {id}; see `maxim goals`"))?;
        if goal.state.is_over() { Err(format!("“{}” is over: {}", goal.title, goal.reason)) } else { Ok(goal) }
    }

    /// Takes up the next goal, if nothing is pursued and nothing is in the way: what was laid aside first, and where that
    /// has to be asked about, what was proposed meanwhile.
    pub fn take_up(&mut self, now: Timestamp, moves: &mut Moves) {
        if self.active.is_some() || self.pause != Pause::None {
            return;
        }
        for goal in self.suspended.clone().into_iter().rev().filter(|goal| !goal.is_asked) {
            // What was never begun doesn't grow stale.
            let is_begun = goal.turn.is_some() || goal.waits_for.is_some();
            if !goal.is_stale && (!is_begun || now.duration_since(goal.since) <= FRESH) {
                self.set(entering(goal, GoalState::Active, now, "it goes on".into()), moves);
                return;
            }
            let reason = "something has changed since it was laid aside: a person is asked".into();
            self.set(Goal { is_stale: true, is_asked: true, reason, ..goal }, moves);
        }
        if let Some(goal) = self.proposed.front().cloned() {
            self.set(entering(goal, GoalState::Active, now, "its turn has come".into()), moves);
        }
    }
}

/// The goal in another state.
fn entering(goal: Goal, state: GoalState, now: Timestamp, reason: String) -> Goal {
    Goal { state, since: now, reason, ..goal }
}
