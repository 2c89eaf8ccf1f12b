//! Stop, reset, resume, hold and redirect.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::SignedDuration;
use maxim_actors::effectors::door::Unanswered;
use maxim_bus::bounds;
use maxim_bus::clock::Reckoned;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{LatchError, LatchState, StopDetail, StopLatch};
use maxim_bus::signals::goal::{Goal, GoalOrigin, GoalState};
use maxim_bus::signals::lifecycle::{PreemptionChanged, PreemptionRequested};
use serde_json::{Value, json};

use super::fields::{Field, Given, Kind, body_fields};
use super::goals::survey;
use super::percepts::{OWNER, checked_text};
use super::problem::{Answer, ok};
use super::{Problem, Served};
use crate::stopping::{stop_by, stop_document};

/// The author, in the latch and in records.
const BY: &str = stop_by::HTTP;
/// How long a stop waits for its body before it is carried out. A body that is sent together with the head arrives in
/// this time.
const AT_ONCE: Duration = Duration::from_millis(2);
/// How long a stop that is already carried out waits for its body, which may give the reason.
const BODY: Duration = Duration::from_millis(250);
/// How long a stop waits for the rooms before it answers.
const CONFIRMATION: Duration = Duration::from_millis(50);
/// How long a reset or resume waits for the rooms. The latch has changed before.
const ROOMS: Duration = Duration::from_secs(2);
/// The longest hold in seconds: a year.
const LONGEST_HOLD: f64 = 31_536_000.0;

pub const STOP: &[Field] = &[Field::optional("reason", Kind::Words(&bounds::REASON), "why; kept with the latch")];
pub const HOLD: &[Field] =
    &[Field::optional("duration_s", Kind::Number(0.0, LONGEST_HOLD), "for how many seconds; without it until resumed")];
pub const REDIRECT: &[Field] = &[Field::needed("goal", Kind::Spoken, "what to do first")];

/// `POST /v1/stop`. Works while rooms are down: the handler sets the latch itself and also sends the stop to the rooms.
pub async fn stop(State(served): State<Arc<Served>>, request: Request) -> Answer {
    // Runs on its own task: the stop is carried out even if the caller hangs up, or if its connection has to make
    // place.
    let carried = tokio::spawn(carry_out(served, request));
    let broken = |error| Problem::later(format!("the stop failed: {error}"), "stop it with `maxim stop`");
    carried.await.map_err(broken)?
}

/// A call of this path is a stop, whatever else is wrong with it, and whether its body comes or not.
async fn carry_out(served: Arc<Served>, request: Request) -> Answer {
    let mut body = pin!(body_fields(&served, request, STOP));
    let early = tokio::time::timeout(AT_ONCE, body.as_mut()).await.ok();
    let reason_of = |given: &Result<Given, Problem>| given.as_ref().ok()?.text("reason").map(str::to_owned);
    let frame = &served.agent.frame;
    let reason = early.as_ref().and_then(reason_of).unwrap_or_else(|| "POST /v1/stop".to_owned());
    let mut detail = StopDetail { reason, by: BY.into(), at: Some(frame.clock.now()) };
    let (raised, durable) = frame.latch.raise(detail.clone());
    let given = match early {
        Some(given) => given,
        None => {
            let late = || Err(Problem::bad("the body of the stop didn't arrive", "send it at once"));
            let given = tokio::time::timeout(BODY, body).await.unwrap_or_else(|_| late());
            if let Some(reason) = reason_of(&given) {
                detail = frame.latch.explain(&detail, reason).unwrap_or(detail);
            }
            given
        }
    };
    // The circuit may answer later than this may wait, so it is asked on its own task.
    let door = Arc::clone(&served.agent.outside.door);
    let told = tokio::spawn(async move { door.preempt(PreemptionRequested::Stop(detail)).await });
    let durable = tokio::task::spawn_blocking(move || durable.confirm());
    let (durable, told) = tokio::join!(durable, tokio::time::timeout(CONFIRMATION, told));
    let changed = told.ok().and_then(Result::ok).and_then(Result::ok);
    let cancelled = changed.map(|changed| changed.cancelled_turns).unwrap_or_default();
    if let Err(mut problem) = given {
        problem.detail.push_str("; it is stopped all the same");
        problem.more.insert("latched".into(), true.into());
        return Err(problem);
    }
    ok(&stop_document(&raised, durable.unwrap_or(false), Some(&cancelled)))
}

/// `POST /v1/reset`.
pub async fn reset(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    release(&served, StopLatch::reset, PreemptionRequested::Reset { by: BY.into() }).await
}

/// `POST /v1/resume`.
pub async fn resume(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    let answer = release(&served, StopLatch::resume, PreemptionRequested::Resume { by: BY.into() }).await?;
    served.agent.supervision.release_held();
    Ok(answer)
}

/// Changes the latch first, which decides, and then tells the rooms, as far as they answer.
async fn release(
    served: &Arc<Served>,
    leave: fn(&StopLatch) -> Result<LatchState, LatchError>,
    request: PreemptionRequested,
) -> Answer {
    let watch = Stopwatch::start();
    let latch = served.agent.frame.latch.clone();
    let left = tokio::task::spawn_blocking(move || leave(&latch)).await;
    let left = left.map_err(|error| Problem::later(format!("the latch was not reached: {error}"), "try again"))?;
    left.map_err(|error| {
        let fix = match error {
            LatchError::NotReset => "reset it first: POST /v1/reset",
            LatchError::StoppedAgain => "see who stops it in GET /v1/status, then reset it again",
            LatchError::NotDurable { .. } => "make room on the disk, then reset it again",
        };
        Problem::new(StatusCode::CONFLICT, error.to_string(), fix)
    })?;
    let latency = watch.elapsed();
    let door = Arc::clone(&served.agent.outside.door);
    let told = tokio::spawn(async move { door.preempt(request).await });
    let changed = tokio::time::timeout(ROOMS, told).await.ok().and_then(Result::ok).and_then(Result::ok);
    ok(&document(served, latency, changed.as_ref()))
}

/// `POST /v1/hold`.
pub async fn hold(State(served): State<Arc<Served>>, request: Request) -> Answer {
    let given = body_fields(&served, request, HOLD).await?;
    let now = served.agent.frame.clock.now();
    // At most a year, so it fits.
    let until =
        given.number("duration_s").map(|seconds| now.later(SignedDuration::from_millis((seconds * 1000.0) as i64)));
    let watch = Stopwatch::start();
    let changed = told(&served, PreemptionRequested::Hold { until, by: BY.into() }).await?;
    let mut body = document(&served, watch.elapsed(), Some(&changed));
    body["until"] = json!(until);
    ok(&body)
}

/// `POST /v1/redirect`: the present goal is suspended, and this one is pursued instead.
pub async fn redirect(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = body_fields(&served, request, REDIRECT).await?;
    let goal = checked_text(&served, "goal", given.text("goal").unwrap_or_default())?;
    served.refuse_while_stopped()?;
    let watch = Stopwatch::start();
    let redirect = PreemptionRequested::Redirect {
        goal: goal.clone(),
        by: OWNER.into(),
        channel: BY.into(),
        turn: None,
        is_threat: false,
    };
    let changed = told(&served, redirect).await?;
    let mut body = document(&served, watch.elapsed(), Some(&changed));
    // The goals room gets the redirect before it gets this question.
    let told = survey(&served, None).await?;
    let own = redirected(&told.goals, &goal);
    body["goal"] = json!(own.map_or(goal.as_str(), |own| own.title.as_str()));
    body["id"] = json!(own.and_then(|own| own.turn));
    body["state"] = json!(own.map(|own| own.state));
    body["reason"] = json!(own.map(|own| &own.reason));
    let is_own = |goal: &Goal| own.is_some_and(|own| own.id == goal.id);
    let suspended = told.goals.iter().filter(|goal| goal.state == GoalState::Suspended && !is_own(goal));
    body["suspended"] = json!(suspended.map(|goal| &goal.title).collect::<Vec<_>>());
    ok(&body)
}

/// The goal that a redirect made: by now another may be pursued, or it may have ended.
fn redirected<'a>(goals: &'a [Goal], wanted: &str) -> Option<&'a Goal> {
    let own = goals.iter().filter(|goal| goal.origin == GoalOrigin::Person && goal.channel == BY);
    // Titles are cut to their bound.
    let own = own.filter(|goal| !goal.title.is_empty() && wanted.trim().starts_with(&goal.title));
    own.max_by_key(|goal| goal.id)
}

async fn told(served: &Served, request: PreemptionRequested) -> Result<PreemptionChanged, Unanswered> {
    served.agent.outside.door.preempt(request).await
}

fn document(served: &Served, latency: Duration, changed: Option<&PreemptionChanged>) -> Value {
    let latch = served.agent.frame.latch.state();
    let mut body = json!({
        "latched": latch == LatchState::Stopped,
        "motion": if latch == LatchState::Clear { "free" } else { "held" },
        "latency_us": u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
        "rooms_told": changed.is_some(),
    });
    if let Some(changed) = changed {
        body["cancelled"] = json!(changed.cancelled_turns);
    }
    body
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use maxim_bus::{MessageId, Trust};

    use super::*;

    #[test]
    fn a_redirect_is_answered_by_its_own_goal_whatever_is_pursued_by_then() {
        let goal = |number: u64, title: &str, state| {
            let (id, at) = (MessageId::from_parts(number, 0), Timestamp::UNIX_EPOCH);
            let turn = Some(MessageId::from_parts(number, 1));
            let goal = Goal::new(id, title, GoalOrigin::Person, (BY, OWNER), Trust::Owner, at);
            Goal { state, turn, ..goal }
        };
        let (former, own) = (goal(1, "say hello", GoalState::Done), goal(2, "say hello", GoalState::Done));
        let other = Goal { channel: "console".into(), ..goal(3, "fetch the cup", GoalState::Active) };
        assert_eq!(redirected(&[other.clone(), former, own.clone()], " say hello "), Some(&own));
        assert_eq!(redirected(&[other], "say hello"), None);
    }
}
