//! Goals: the pursued one, those that wait, the suspended ones, and those that have ended.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::deliberation::goals::Goals;
use maxim_actors::region::Region;
use maxim_bus::MessageId;
use maxim_bus::signals::goal::{GoalWish, GoalsSurveyed, SurveyGoals};
use serde_json::json;

use super::fields::{Field, Kind, body_fields, query_fields};
use super::percepts::{OWNER, checked_text};
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// The channel on which the giver of a goal hears of it.
const CHANNEL: &str = "http";

pub const GOAL: &[Field] = &[Field::needed("goal", Kind::Spoken, "what to reach, in words as for the agent")];
pub const WISH: &[Field] = &[Field::needed("go_on", Kind::Flag, "true resumes it, false gives it up")];

pub(super) async fn survey(served: &Served, wish: Option<GoalWish>) -> Result<GoalsSurveyed, Problem> {
    Ok(served.agent.outside.door.ask(Goals::NAME, SurveyGoals { wish, by: OWNER.into() }).await?)
}

/// `GET /v1/goals`.
pub async fn goals(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    ok(&json!({"goals": survey(&served, None).await?.goals}))
}

/// `POST /v1/goals`: adds a goal behind the existing ones.
pub async fn propose(State(served): State<Arc<Served>>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = body_fields(&served, request, GOAL).await?;
    let title = checked_text(&served, "goal", given.text("goal").unwrap_or_default())?;
    served.refuse_while_stopped()?;
    let wish = GoalWish::Propose { title, channel: CHANNEL.into(), sender: OWNER.into() };
    done(survey(&served, Some(wish)).await?)
}

/// `POST /v1/goals/{id}`: a person changes one of the goals.
pub async fn decide(State(served): State<Arc<Served>>, Path(id): Path<String>, request: Request) -> Answer {
    served.refuse_while_draining()?;
    let given = body_fields(&served, request, WISH).await?;
    let known = survey(&served, None).await?.goals;
    let goal: Option<MessageId> = id.parse().ok().filter(|id| known.iter().any(|goal| goal.id == *id));
    let Some(goal) = goal else {
        let found = format!("there is no goal {id:?}");
        return Err(Problem::new(StatusCode::NOT_FOUND, found, "see GET /v1/goals for the existing ones"));
    };
    let wish = if given.flag("go_on").unwrap_or(false) {
        served.refuse_while_stopped()?;
        GoalWish::GoOn { goal }
    } else {
        GoalWish::Drop { goal }
    };
    done(survey(&served, Some(wish)).await?)
}

fn done(told: GoalsSurveyed) -> Answer {
    match told.refused {
        None => ok(&json!({"goals": told.goals})),
        Some(why) => Err(Problem::new(StatusCode::CONFLICT, why, "see GET /v1/goals for where each goal stands")),
    }
}
