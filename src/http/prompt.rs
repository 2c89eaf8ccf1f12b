//! `GET /v1/prompt`: the last prompt that a model was shown.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::deliberation::prefrontal_cortex::{LAST_PROMPT, LastPrompt, PrefrontalCortex};
use maxim_actors::region::Region;
use serde_json::json;

use super::fields::query_fields;
use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// `GET /v1/prompt`.
pub async fn prompt(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let store = served.agent.frame.store.clone();
    let found = blocking(move || store.record(PrefrontalCortex::NAME, LAST_PROMPT.as_bytes())).await?;
    let last = found.and_then(|bytes| serde_json::from_slice::<LastPrompt>(&bytes).ok());
    match last {
        Some(last) => ok(&json!(last)),
        None => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "no model was asked yet",
            "configure llm.base_url and llm.model, and say something that is no plain command",
        )),
    }
}
