//! What the agent may do now, and a person's request to restore what it has lowered.

use std::sync::Arc;

use axum::extract::{Request, State};
use maxim_actors::gate::autonomy::Autonomy;
use maxim_actors::region::Region;
use maxim_bus::signals::powers::{ReportPowers, RestorePowers};
use serde_json::json;

use super::Served;
use super::fields::{body_fields, query_fields};
use super::problem::{Answer, ok};

/// `GET /v1/powers`.
pub async fn powers(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    ok(&json!(served.agent.outside.door.ask(Autonomy::NAME, ReportPowers {}).await?))
}

/// `POST /v1/powers/restore`.
pub async fn restore(State(served): State<Arc<Served>>, request: Request) -> Answer {
    body_fields(&served, request, &[]).await?;
    ok(&json!(served.agent.outside.door.ask(Autonomy::NAME, RestorePowers { by: "http".into() }).await?))
}
