//! What the gate has learned to fear, and a person's word that pins or forgives it.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::gate::fear_agent::FearAgent;
use maxim_actors::region::Region;
use maxim_bus::signals::fear::{FearWish, FearsSurveyed, SurveyFears};
use serde_json::json;

use super::fields::{Field, Kind, body_fields, query_fields};
use super::problem::{Answer, ok};
use super::{Problem, Served};

pub const WISH: &[Field] = &[Field::needed("wish", Kind::Text, "pin or forgive")];

async fn survey(served: &Served, change: Option<(String, FearWish)>) -> Result<FearsSurveyed, Problem> {
    let survey = SurveyFears { change, by: "http".into() };
    Ok(served.agent.outside.door.ask(FearAgent::NAME, survey).await?)
}

/// `GET /v1/fears`.
pub async fn fears(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    ok(&json!(survey(&served, None).await?))
}

/// `GET /v1/fears/{tool}`: the fear of one tool, and what experience expects of it.
pub async fn fear(State(served): State<Arc<Served>>, Path(tool): Path<String>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let surveyed = survey(&served, None).await?;
    let expected = served.agent.outside.door.inquire("predict_outcome", json!({"tool_name": tool})).await?;
    let fear = surveyed.fears.into_iter().find(|fear| fear.tool == tool);
    let veto = json!({"confidence": surveyed.veto_confidence, "value": surveyed.veto_value});
    ok(&json!({"tool": tool, "fear": fear, "expected": expected, "veto": veto}))
}

/// `POST /v1/fears/{tool}`.
pub async fn change(State(served): State<Arc<Served>>, Path(tool): Path<String>, request: Request) -> Answer {
    let given = body_fields(&served, request, WISH).await?;
    let wish = match given.text("wish") {
        Some("pin") => FearWish::Pin,
        Some("forgive") => FearWish::Forgive,
        other => {
            return Err(Problem::bad(
                format!("wish {:?} is not known", other.unwrap_or_default()),
                "give pin or forgive",
            ));
        }
    };
    let surveyed = survey(&served, Some((tool, wish))).await?;
    match &surveyed.refused {
        Some(why) => {
            let (found, fix) = why.split_once("; ").unwrap_or((why, "see GET /v1/fears for what is feared"));
            Err(Problem::new(StatusCode::CONFLICT, found, fix))
        }
        None => ok(&json!(surveyed)),
    }
}
