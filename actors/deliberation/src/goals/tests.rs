//! Goals in their room: one at a time, laid aside and taken up again, over crashes.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use maxim_bus::latch::StopDetail;
use maxim_bus::signals::goal::{Goal, GoalChanged, GoalPursued, GoalState, GoalWish, GoalsSurveyed, SurveyGoals};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use maxim_bus::signals::thought::{ActionSummary, TurnEnded};
use maxim_bus::{Clock, MessageId};

use super::Goals;
use maxim_region::rig::{Rig, ear};

struct Bench {
    rig: Rig<Goals>,
    /// Goals whose pursuit began.
    begun: Vec<String>,
}

impl Deref for Bench {
    type Target = Rig<Goals>;

    fn deref(&self) -> &Rig<Goals> {
        &self.rig
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Rig<Goals> {
        &mut self.rig
    }
}

fn rig() -> Bench {
    let rig = Rig::new((), |bus, probe| {
        ear::<GoalChanged>(bus, probe);
        ear::<GoalPursued>(bus, probe);
        ear::<GoalsSurveyed>(bus, probe);
    });
    Bench { rig, begun: Vec::new() }
}

impl Bench {
    fn survey(&mut self, wish: Option<GoalWish>) -> GoalsSurveyed {
        self.rig.send(SurveyGoals { wish, by: "anna".into() });
        let mut told = None;
        for heard in self.rig.heard_all() {
            self.begun.extend(heard.get::<GoalPursued>().map(|pursued| pursued.title.clone()));
            told = heard.get::<GoalsSurveyed>().cloned().or(told);
        }
        told.expect("answered")
    }

    /// Goals whose pursuit began since the last time.
    fn begun(&mut self) -> Vec<String> {
        self.survey(None);
        std::mem::take(&mut self.begun)
    }
}

fn wish(rig: &mut Bench, wish: GoalWish) -> GoalsSurveyed {
    rig.survey(Some(wish))
}

fn propose(rig: &mut Bench, title: &str) {
    let told = wish(rig, GoalWish::Propose { title: title.into(), channel: "http".into(), sender: "anna".into() });
    assert_eq!(told.refused, None);
}

fn preempt(rig: &mut Bench, request: PreemptionRequested) {
    rig.send(PreemptionChanged { request, cancelled_turns: Vec::new() });
}

fn redirect(rig: &mut Bench, goal: &str) {
    let (goal, by, channel) = (goal.into(), "anna".into(), "http".into());
    preempt(rig, PreemptionRequested::Redirect { goal, by, channel, turn: None, is_threat: false });
}

fn goals(rig: &mut Bench) -> Vec<Goal> {
    rig.survey(None).goals
}

fn standing(rig: &mut Bench) -> Vec<(String, GoalState)> {
    goals(rig).into_iter().map(|goal| (goal.title, goal.state)).collect()
}

fn named(rig: &mut Bench, title: &str) -> Goal {
    goals(rig).into_iter().find(|goal| goal.title == title).expect("it is known")
}

fn act(tool: &str, status: &str) -> ActionSummary {
    let (id, params) = (MessageId::from_parts(1, 42), serde_json::Value::Null);
    ActionSummary { id, tool: tool.into(), params, status: status.into(), reason: None }
}

/// The turn of the active goal ends with this action.
fn end(rig: &mut Bench, status: &str) {
    let turn = goals(rig).iter().find(|goal| goal.state == GoalState::Active).and_then(|goal| goal.turn);
    let turn = turn.expect("a goal is pursued");
    let actions = vec![act("write_file", status)];
    rig.send(TurnEnded {
        turn,
        channel: "http".into(),
        reply: None,
        spoken: true,
        actions,
        lost: false,
        decided: None,
        rests_on: Vec::new(),
    });
}

fn stop(rig: &mut Bench) {
    let detail = StopDetail { reason: "test".into(), by: "anna".into(), at: Some(rig.clock.now()) };
    preempt(rig, PreemptionRequested::Stop(detail));
}

#[test]
fn one_goal_is_pursued_at_a_time_in_the_order_in_which_they_came() {
    use GoalState::{Active, Done, Failed, Proposed};
    let mut rig = rig();
    for title in ["one", "two", "three"] {
        propose(&mut rig, title);
        rig.crash();
    }
    let of = |name: &str, state| (name.to_owned(), state);
    assert_eq!(standing(&mut rig), [of("one", Active), of("two", Proposed), of("three", Proposed)]);
    end(&mut rig, "done");
    rig.crash();
    end(&mut rig, "failed");
    assert_eq!(standing(&mut rig), [of("three", Active), of("two", Failed), of("one", Done)]);
    assert_eq!(named(&mut rig, "one").told.as_deref(), Some("http/anna"));
    assert_eq!(rig.begun(), ["one", "two", "three"], "each is begun once");
}

#[test]
fn what_is_laid_aside_goes_on_with_its_own_turn() {
    let mut rig = rig();
    propose(&mut rig, "tidy up");
    let turn = named(&mut rig, "tidy up").turn;
    redirect(&mut rig, "fetch water");
    redirect(&mut rig, "close the tap");
    rig.crash();
    let now = standing(&mut rig);
    assert_eq!(now[0], ("close the tap".into(), GoalState::Active));
    assert_eq!(now[1], ("fetch water".into(), GoalState::Suspended), "the last laid aside goes on first");
    end(&mut rig, "done");
    end(&mut rig, "done");
    let tidy = named(&mut rig, "tidy up");
    assert_eq!((tidy.state, tidy.turn), (GoalState::Active, turn));
    let begun = rig.begun();
    assert_eq!(begun.iter().filter(|title| *title == "tidy up").count(), 1, "its turn goes on; it isn't begun anew");
}

#[test]
fn a_redirection_on_hold_is_taken_up_first_when_the_hold_ends() {
    let mut rig = rig();
    propose(&mut rig, "tidy up");
    rig.begun();
    preempt(&mut rig, PreemptionRequested::Hold { until: None, by: "anna".into() });
    redirect(&mut rig, "fetch water");
    rig.crash();
    assert!(rig.begun().is_empty(), "on hold nothing is begun");
    assert_eq!(standing(&mut rig)[0], ("fetch water".into(), GoalState::Suspended));
    rig.pass(Duration::from_secs(1_200));
    preempt(&mut rig, PreemptionRequested::Resume { by: "anna".into() });
    assert_eq!(rig.begun(), ["fetch water"]);
    assert_eq!(named(&mut rig, "tidy up").state, GoalState::Suspended);
}

#[test]
fn what_is_proposed_while_it_is_stopped_is_refused_and_not_done_later() {
    let mut rig = rig();
    propose(&mut rig, "tidy up");
    redirect(&mut rig, "fetch water");
    stop(&mut rig);
    rig.begun();
    let wish = |title: &str| GoalWish::Propose { title: title.into(), channel: "http".into(), sender: "anna".into() };
    let refused = rig.survey(Some(wish("feed the cat"))).refused.expect("refused");
    assert!(refused.contains("maxim reset"), "{refused}");
    let goal = named(&mut rig, "tidy up").id;
    assert!(rig.survey(Some(GoalWish::GoOn { goal })).refused.is_some());
    preempt(&mut rig, PreemptionRequested::Reset { by: "anna".into() });
    preempt(&mut rig, PreemptionRequested::Resume { by: "anna".into() });
    assert!(rig.begun().is_empty());
    assert!(goals(&mut rig).iter().all(|goal| goal.title != "feed the cat"));
}

#[test]
fn what_lay_aside_for_long_is_asked_about() {
    for agrees in [true, false] {
        let mut rig = rig();
        propose(&mut rig, "tidy up");
        redirect(&mut rig, "fetch water");
        propose(&mut rig, "feed the cat");
        rig.pass(Duration::from_secs(1_200));
        end(&mut rig, "done");
        rig.crash();
        let tidy = named(&mut rig, "tidy up");
        assert!(tidy.is_in_question(), "{tidy:?}");
        assert_eq!(named(&mut rig, "feed the cat").state, GoalState::Active, "others need not wait for the answer");
        let goal = tidy.id;
        wish(&mut rig, if agrees { GoalWish::GoOn { goal } } else { GoalWish::Drop { goal } });
        end(&mut rig, "done");
        let state = named(&mut rig, "tidy up").state;
        assert_eq!(state, if agrees { GoalState::Active } else { GoalState::Dropped });
    }
}

#[test]
fn a_stop_gives_up_what_is_pursued_and_nothing_goes_on_before_a_person_resumes() {
    let mut rig = rig();
    propose(&mut rig, "tidy up");
    redirect(&mut rig, "fetch water");
    propose(&mut rig, "feed the cat");
    rig.begun();
    stop(&mut rig);
    rig.crash();
    assert_eq!(named(&mut rig, "fetch water").state, GoalState::Dropped);
    preempt(&mut rig, PreemptionRequested::Resume { by: "anna".into() });
    assert!(rig.begun().is_empty(), "resume alone is no reset");
    preempt(&mut rig, PreemptionRequested::Reset { by: "anna".into() });
    assert!(rig.begun().is_empty(), "a reset begins nothing");
    preempt(&mut rig, PreemptionRequested::Resume { by: "anna".into() });
    assert!(named(&mut rig, "tidy up").is_in_question());
    assert_eq!(rig.begun(), ["feed the cat"]);
}

#[test]
fn nothing_is_taken_up_while_it_is_held() {
    let mut rig = rig();
    preempt(&mut rig, PreemptionRequested::Hold { until: None, by: "anna".into() });
    propose(&mut rig, "tidy up");
    rig.crash();
    assert!(rig.begun().is_empty());
    preempt(&mut rig, PreemptionRequested::Resume { by: "anna".into() });
    assert_eq!(rig.begun().len(), 1);
}

#[test]
fn what_hangs_on_an_answer_ends_with_it() {
    use maxim_bus::signals::intent::{IntentRefused, Refusal};
    for allowed in [true, false] {
        let mut rig = rig();
        propose(&mut rig, "tidy up");
        propose(&mut rig, "feed the cat");
        end(&mut rig, "asked");
        rig.crash();
        assert_eq!(named(&mut rig, "tidy up").state, GoalState::Active, "it waits");
        let (intent, turn, tool) = (MessageId::from_parts(1, 42), MessageId::from_parts(1, 7), "write_file".to_owned());
        if allowed {
            rig.send(maxim_bus::signals::outcome::ToolResult {
                action: MessageId::from_parts(1, 43),
                intent,
                turn,
                tool,
                params: serde_json::Value::Null,
                success: Some(true),
                output: serde_json::Value::Null,
                error: None,
                failure: None,
                duration_us: 1,
                side_effects: Vec::new(),
                reward: None,
            });
        } else {
            let (rule, reason) = ("approval.denied".into(), "anna said no".into());
            rig.send(IntentRefused {
                intent,
                turn,
                tool,
                refusal: Refusal::Denied,
                rule,
                reason,
                approval: None,
                until: None,
                always: None,
            });
        }
        let state = named(&mut rig, "tidy up").state;
        assert_eq!(state, if allowed { GoalState::Done } else { GoalState::Failed });
        assert_eq!(named(&mut rig, "feed the cat").state, GoalState::Active);
    }
}

#[test]
fn goals_are_bounded_and_a_wish_that_can_not_be_done_says_why() {
    let mut rig = rig();
    for n in 0..70 {
        propose(&mut rig, &format!("goal {n}"));
    }
    let all = goals(&mut rig);
    assert_eq!(all.iter().filter(|goal| goal.state == GoalState::Proposed).count(), 64);
    assert!(all.iter().any(|goal| goal.state == GoalState::Dropped && goal.reason.contains("64")), "it is told");
    for n in 0..20 {
        redirect(&mut rig, &format!("urgent {n}"));
    }
    assert_eq!(goals(&mut rig).iter().filter(|goal| goal.state == GoalState::Suspended).count(), 16);
    let refused = wish(&mut rig, GoalWish::Drop { goal: MessageId::from_parts(9, 9) }).refused.expect("refused");
    assert!(refused.contains("no goal"), "{refused}");
    let goal = goals(&mut rig).iter().find(|goal| goal.state == GoalState::Dropped).expect("one").id;
    assert!(wish(&mut rig, GoalWish::GoOn { goal }).refused.is_some_and(|why| why.contains("over")));
    let blank = GoalWish::Propose { title: "  ".into(), channel: "http".into(), sender: "anna".into() };
    assert!(wish(&mut rig, blank).refused.is_some());
}
